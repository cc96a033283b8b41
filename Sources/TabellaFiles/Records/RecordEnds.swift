import CTabellaScan
import Tabella

/// Finds the ends of records, one window of the text at a time. Gathering uses it to skip records without their
/// fields.
///
/// A window is the amount of one read, which is larger than the processor's cache. The ends are therefore located
/// in smaller pieces. A piece is still in the cache when records are copied out of it.
struct RecordEnds {
  private let source: any ByteSource
  private let index: RecordIndex
  private let rules: RecordRules
  private let piece: Int
  /// The window, its size so far, its offset in the text, and whether the text ends with it.
  private var text: [UInt8]
  private var filled = 0
  private var offset: Int
  private var isEnd = false
  /// The records that end in the piece, the offset of the piece in the window, and the offset of each record's last
  /// byte in the piece.
  private var numbers = 0..<0
  private var start = 0
  private var ends: [UInt32]

  init(_ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, window: Int, piece: Int)
  {
    self.source = source
    self.index = index
    self.rules = rules
    self.piece = piece
    offset = index.position(before: 0).offset
    // A short text needs less memory. There can be thousands of such texts.
    let most = min(window, (source.size ?? .max) - offset)
    text = Array(repeating: 0, count: max(most, 512))
    ends = Array(repeating: 0, count: max(min(piece, most) / 16, 1024))
  }

  /// Calls `body` with the bytes of a record, without its line end, and with its offset in the text.
  ///
  /// The index must know the record. Returns false if the text ends before the record has a line end.
  /// - Complexity: O(bytes from the previous record, or from the index's last position).
  mutating func with(
    _ number: Int, _ body: (UnsafeRawBufferPointer, _ offset: Int) -> Void
  ) throws(TableError) -> Bool {
    while !numbers.contains(number) {
      guard try move(towards: number) else { return false }
    }
    text.withUnsafeBytes { text in
      let place = number - numbers.lowerBound
      let first = start + (place == 0 ? 0 : Int(ends[place - 1]) + 1)
      var end = start + Int(ends[place])
      if text[end] == 10, end > first, text[end - 1] == 13, !isEscaped(end - 1, from: first, text) {
        end -= 1
      }
      body(UnsafeRawBufferPointer(rebasing: text[first..<end]), offset + first)
    }
    return true
  }

  private func isEscaped(_ at: Int, from start: Int, _ text: UnsafeRawBufferPointer) -> Bool {
    guard let escape = rules.escape else { return false }
    var first = at
    while first > start, text[first - 1] == escape { first -= 1 }
    return !(at - first).isMultiple(of: 2)
  }

  /// Moves forward or back to a record. Returns false if no more records end.
  private mutating func move(towards number: Int) throws(TableError) -> Bool {
    var next = (
      number: numbers.upperBound,
      offset: offset + start + (numbers.isEmpty ? 0 : Int(ends[numbers.count - 1]) + 1)
    )
    let position = index.position(before: number)
    let jumps = position.number > next.number || number < next.number
    if jumps { next = position }
    if !(offset..<offset + filled).contains(next.offset) {
      // Records that lie far apart need not be read with all that lies behind them.
      let end = jumps ? index.offset(behind: number) : nil
      try fill(from: next.offset, most: end.map { $0 - next.offset } ?? .max)
    }
    while true {
      let rest = next.offset - offset..<filled
      if find(next.number, in: rest.prefix(piece)) || find(next.number, in: rest) { return true }
      if isEnd { return false }
      // The record is larger than the window.
      if rest.lowerBound == 0, filled == text.count {
        guard text.count < Int(Int32.max) else { throw rules.tooLarge(next.number, at: offset) }
        text = Array(repeating: 0, count: 2 * text.count)
      }
      try fill(from: next.offset, least: rest.count + 1)
    }
  }

  /// Reads the window at `start`: at least `least` bytes if there are so many, and at most `most`.
  private mutating func fill(
    from start: Int, least: Int = 1, most: Int = .max
  ) throws(TableError) {
    (filled, isEnd) = try text.withUnsafeMutableBytes { [source] text in
      Result { () throws(TableError) in
        try source.fillArrived(
          UnsafeMutableRawBufferPointer(rebasing: text.prefix(most)), at: start, least: least)
      }
    }.get()
    offset = start
  }

  /// Finds the records that end in a part of the window. `number` is the first of them. Returns false if none ends
  /// there.
  private mutating func find(_ number: Int, in part: Range<Int>) -> Bool {
    var end = part.upperBound
    // A CR at the end of the part can be half of a CRLF.
    if !part.isEmpty, text[end - 1] == 13, !(isEnd && end == filled) { end -= 1 }
    var state = tabella_scan_start()
    let found = text.withUnsafeBufferPointer { text in
      tabella_scan_ends(
        text.baseAddress! + part.lowerBound, end - part.lowerBound, rules.scan, &state, &ends,
        ends.count)
    }
    numbers = number..<number + found.records
    start = part.lowerBound
    return found.records > 0
  }
}
