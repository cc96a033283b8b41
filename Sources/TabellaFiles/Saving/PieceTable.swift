import Tabella

/// The new bytes of a file, as pieces of its old bytes and of new ones, in order.
///
/// What an edit does not touch is a piece of the old file however long it is, so that memory and
/// work follow the edit; and what is not touched cannot change.
public struct PieceTable: Hashable, Sendable {
  public enum Piece: Hashable, Sendable {
    /// Bytes of the old file.
    case old(Range<Int>)
    case new([UInt8])

    var count: Int {
      switch self {
      case .old(let range): range.count
      case .new(let bytes): bytes.count
      }
    }
  }

  /// None is empty, and no two neighbours could be one.
  public private(set) var pieces: [Piece] = []
  /// How many bytes there are in all.
  public private(set) var size = 0

  public init() {}

  /// Adds bytes of the old file.
  public mutating func append(old range: Range<Int>) {
    guard !range.isEmpty else { return }
    size += range.count
    if case .old(let last) = pieces.last, last.upperBound == range.lowerBound {
      pieces[pieces.count - 1] = .old(last.lowerBound..<range.upperBound)
    } else {
      pieces.append(.old(range))
    }
  }

  /// Adds new bytes.
  public mutating func append(new bytes: some Collection<UInt8>) {
    guard !bytes.isEmpty else { return }
    size += bytes.count
    // Taken out, lest the bytes be copied at each addition.
    if case .new(var last) = pieces.last {
      pieces.removeLast()
      last.append(contentsOf: bytes)
      pieces.append(.new(last))
    } else {
      pieces.append(.new(Array(bytes)))
    }
  }

  /// Whether the new bytes are those of an old file of this size, by their places alone.
  public func isIdentity(ofSize size: Int) -> Bool {
    size == 0 ? pieces.isEmpty : pieces == [.old(0..<size)]
  }

  /// How many bytes at the front are the old file's, where they were.
  var keptPrefix: Int {
    guard case .old(let range) = pieces.first, range.lowerBound == 0 else { return 0 }
    return range.upperBound
  }

  /// The table that leads from the new bytes back to the old ones; nil if it would hold more than
  /// `limit` bytes, or too many pieces for that.
  func inverse(
    of old: any ByteSource, size: Int, limit: Int
  ) throws(TableError) -> PieceTable? {
    guard pieces.count <= limit / 64 else { return nil }
    var kept: [(old: Range<Int>, new: Int)] = []
    var position = 0
    for piece in pieces {
      if case .old(let range) = piece { kept.append((range, position)) }
      position += piece.count
    }
    kept.sort { $0.old.lowerBound < $1.old.lowerBound }
    var inverse = PieceTable()
    var literal = 0
    func gap(from start: Int, to end: Int) throws(TableError) -> Bool {
      guard start < end else { return true }
      literal += end - start
      guard literal <= limit else { return false }
      inverse.append(new: try old.bytes(at: start, count: end - start))
      return true
    }
    for (range, place) in kept {
      guard try gap(from: inverse.size, to: range.lowerBound) else { return nil }
      inverse.append(old: place..<place + range.count)
    }
    guard try gap(from: inverse.size, to: size) else { return nil }
    return inverse
  }
}

/// The bytes that a table makes of a file's, read from where they are.
final class PieceBytes: ByteSource {
  private let table: PieceTable
  private let old: any ByteSource
  /// Where each piece begins.
  private let starts: [Int]

  init(_ table: PieceTable, of old: any ByteSource) {
    self.table = table
    self.old = old
    var start = 0
    starts = table.pieces.map { piece in
      defer { start += piece.count }
      return start
    }
  }

  /// As if they were stored.
  var version: Version? { Version("planned") }
  var size: Int? { table.size }

  func checkUnchanged() throws(TableError) { try old.checkUnchanged() }

  func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    guard offset < table.size, !buffer.isEmpty else { return 0 }
    let index = starts.partitioningIndex { $0 > offset } - 1
    let (piece, skipped) = (table.pieces[index], offset - starts[index])
    let count = min(buffer.count, piece.count - skipped)
    switch piece {
    case .old(let range):
      return try old.read(
        at: range.lowerBound + skipped,
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    case .new(let bytes):
      bytes.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[skipped..<skipped + count]))
      }
      return count
    }
  }
}
