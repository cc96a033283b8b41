import CTabellaScan
import Tabella

extension ByteSource {
  /// Returns the number of the line that contains the byte at `offset`, counted from 1.
  ///
  /// The first line begins at `start`. A line ends at LF, CRLF or CR.
  /// - Complexity: O(bytes from `start` to `offset`).
  public func lineNumber(at offset: Int, from start: Int = 0) throws(TableError) -> Int {
    let lines = RecordRules(endsAtCarriageReturn: true).scan
    let block = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(1 << 20, max(1, offset - start)), alignment: 64)
    defer { block.deallocate() }
    var (number, at) = (1, start)
    var state = tabella_scan_start()
    while at < offset {
      let got = try fill(
        UnsafeMutableRawBufferPointer(rebasing: block[..<min(block.count, offset - at)]), at: at)
      // A CR at the end of the block can be half of a CRLF. It is read again with the next block.
      let isSplit = got > 1 && at + got < offset && block[got - 1] == 13
      let count = isSplit ? got - 1 : got
      guard count > 0, let bytes = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
        break
      }
      var last = 0
      number += tabella_scan_count(bytes, count, lines, &state, &last)
      at += count
    }
    return number
  }
}

/// Finds the line numbers of many offsets of the same bytes. It remembers the line of one offset per 256 KiB or more.
public struct LineNumbers {
  private static let distance = 1 << 18

  /// Offsets in ascending order, and the line that begins at each of them.
  private var marks: [(offset: Int, line: Int)]
  /// The last result.
  private var last: (offset: Int, line: Int)

  /// Creates an empty memory for bytes whose first line begins at `start`.
  public init(from start: Int = 0) {
    last = (start, 1)
    marks = [last]
  }

  /// Returns the number of the line that begins at `offset`, counted from 1. A line ends at LF, CRLF or CR.
  /// - Complexity: O(bytes from the last offset in front of this one that is remembered).
  public mutating func line(startingAt offset: Int, in bytes: any ByteSource) throws(TableError)
    -> Int
  {
    let next = marks.partitioningIndex { $0.offset > offset }
    guard next > 0 else { return 1 }
    var nearest = marks[next - 1]
    let behind = offset - nearest.offset
    if last.offset <= offset, last.offset > nearest.offset { nearest = last }
    last = (
      offset, nearest.line - 1 + (try bytes.lineNumber(at: offset, from: nearest.offset))
    )
    if behind >= LineNumbers.distance { marks.insert(last, at: next) }
    return last.line
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are UTF-8. Outside ASCII, this is several times as fast as the standard library.
  public var isScannedUTF8: Bool {
    guard let base = baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
    return tabella_scan_is_utf8(base, count) != 0
  }

  /// The number of line ends: LF, CRLF and CR.
  public var lineEndCount: Int {
    guard let base = baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    var state = tabella_scan_start()
    var last = 0
    return tabella_scan_count(
      base, count, RecordRules(endsAtCarriageReturn: true).scan, &state, &last)
  }
}
