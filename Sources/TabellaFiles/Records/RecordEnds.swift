import CTabellaScan
import Tabella

/// Where records begin and end, a window of the text at a time: what gathering needs of those that it
/// passes, without their fields.
struct RecordEnds {
  private let source: any ByteSource
  private let index: RecordIndex
  private let rules: RecordRules
  /// The window, which begins with a record.
  private var text: [UInt8]
  private var filled = 0
  private var offset: Int
  /// The records that end in the window, and the place of each one's last byte.
  private var numbers: Range<Int>
  private var ends: [UInt32]

  init(_ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, window: Int) {
    self.source = source
    self.index = index
    self.rules = rules
    text = Array(repeating: 0, count: max(window, 512))
    ends = Array(repeating: 0, count: max(window / 16, 1024))
    numbers = 0..<0
    offset = index.position(before: 0).offset
  }

  /// Calls `body` with the bytes of a record, without its line end, and where it begins in the text. The
  /// index knows the record; false if the text ends before it does, with no line end.
  ///
  /// - Complexity: O(bytes from the record before, or from the index's last position).
  mutating func with(
    _ number: Int, _ body: (UnsafeRawBufferPointer, _ offset: Int) -> Void
  ) throws(TableError) -> Bool {
    while !numbers.contains(number) {
      guard try move(towards: number) else { return false }
    }
    text.withUnsafeBytes { text in
      let place = number - numbers.lowerBound
      let start = place == 0 ? 0 : Int(ends[place - 1]) + 1
      var end = Int(ends[place])
      if text[end] == 10, end > start, text[end - 1] == 13, !isEscaped(end - 1, from: start, text) {
        end -= 1
      }
      body(UnsafeRawBufferPointer(rebasing: text[start..<end]), offset + start)
    }
    return true
  }

  private func isEscaped(_ at: Int, from start: Int, _ text: UnsafeRawBufferPointer) -> Bool {
    guard let escape = rules.escape else { return false }
    var first = at
    while first > start, text[first - 1] == escape { first -= 1 }
    return !(at - first).isMultiple(of: 2)
  }

  /// Moves the window to a record, or on towards it; false if no more records end.
  private mutating func move(towards number: Int) throws(TableError) -> Bool {
    var next = numbers.upperBound
    var start = numbers.isEmpty ? offset : offset + Int(ends[numbers.count - 1]) + 1
    let position = index.position(before: number)
    if position.number > next || number < next { (next, start) = position }
    offset = start
    while true {
      let wanted = text.count
      let at = offset
      let got = try text.withUnsafeMutableBytes { text in
        Result { () throws(TableError) in try source.fill(text, at: at) }
      }.get()
      let isEnd = got < wanted || offset + got == source.size
      // A CR at the border may be half of a CRLF.
      let usable = isEnd || text[got - 1] != 13 ? got : got - 1
      var state = tabella_scan_start()
      let found = tabella_scan_ends(text, usable, rules.scan, &state, &ends, ends.count)
      numbers = next..<next + found.records
      if found.records > 0 { return true }
      if isEnd { return false }
      // One record is larger than the window.
      guard text.count < Int(Int32.max) else { throw rules.tooLarge(next, at: offset) }
      text = Array(repeating: 0, count: 2 * text.count)
    }
  }
}
