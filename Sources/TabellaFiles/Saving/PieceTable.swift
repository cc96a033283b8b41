import Tabella

/// The new bytes of a file, as an ordered list of ranges of the old bytes and of new bytes.
///
/// An unedited range is one piece, whatever its length. Memory and time thus depend on the size of the edit, and
/// unedited bytes cannot change.
public struct PieceTable: Hashable, Sendable {
  /// A piece of the new bytes.
  public enum Piece: Hashable, Sendable {
    /// A range of the old file.
    case old(Range<Int>)
    case new([UInt8])

    var count: Int {
      switch self {
      case .old(let range): range.count
      case .new(let bytes): bytes.count
      }
    }
  }

  /// The pieces. None is empty, and adjacent pieces cannot be merged.
  public private(set) var pieces: [Piece] = []
  /// The total number of bytes.
  public private(set) var size = 0

  /// Creates an empty table.
  public init() {}

  /// Appends a piece.
  mutating func append(_ piece: Piece) {
    switch piece {
    case .old(let range): append(old: range)
    case .new(let bytes): append(new: bytes)
    }
  }

  /// Appends bytes of the old file.
  public mutating func append(old range: Range<Int>) {
    guard !range.isEmpty else { return }
    size += range.count
    if case .old(let last) = pieces.last, last.upperBound == range.lowerBound {
      pieces[pieces.count - 1] = .old(last.lowerBound..<range.upperBound)
    } else {
      pieces.append(.old(range))
    }
  }

  /// Appends new bytes.
  public mutating func append(new bytes: some Collection<UInt8>) {
    guard !bytes.isEmpty else { return }
    size += bytes.count
    // Removing the piece first avoids a copy of its bytes at each call.
    if case .new(var last) = pieces.last {
      pieces.removeLast()
      last.append(contentsOf: bytes)
      pieces.append(.new(last))
    } else {
      pieces.append(.new(Array(bytes)))
    }
  }

  /// Whether the table describes the unchanged old file of this size, judged by the ranges only.
  public func isIdentity(ofSize size: Int) -> Bool {
    size == 0 ? pieces.isEmpty : pieces == [.old(0..<size)]
  }

  /// The number of bytes at the front that stay at their offset.
  var keptPrefix: Int {
    guard case .old(let range) = pieces.first, range.lowerBound == 0 else { return 0 }
    return range.upperBound
  }

  /// The table that restores the old bytes from the new ones.
  ///
  /// Returns nil if it would hold more than `mostBytes` old bytes, or if this table has more than `mostPieces` pieces.
  func inverse(
    of old: any ByteSource, size: Int, mostBytes: Int, mostPieces: Int
  ) throws(TableError) -> PieceTable? {
    guard pieces.count <= mostPieces else { return nil }
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
      guard literal <= mostBytes else { return false }
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

/// The bytes that a table describes, read from the old bytes and the table.
final class PieceBytes: ByteSource {
  private let table: PieceTable
  private let old: any ByteSource
  /// The offset of each piece.
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

  /// A version, as if the bytes were stored.
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
