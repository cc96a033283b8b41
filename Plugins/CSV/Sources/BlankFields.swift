import Tabella
import TabellaFiles

/// The cells of lines whose columns are separated by runs of blanks (spaces and tabs).
///
/// Blanks at the start and the end of a line are ignored. The last column takes the rest of its line, with the blanks
/// in it. Nothing is quoted or escaped.
struct BlankFields {
  /// The start and the end of each cell in the page's bytes.
  private var bounds: [(start: UInt32, end: UInt32)] = []
  /// The number of cells up to the end of each record.
  private var ends: [Int] = []
  private let first: Int

  /// Divides records of a page into at most `width` cells each.
  /// - Complexity: O(bytes of the records)
  init(_ page: RecordPage, _ records: Range<Int>, width: Int) {
    first = records.lowerBound
    ends.reserveCapacity(records.count)
    for record in records {
      BlankFields.divide(page, record, width: width) { _, range in
        bounds.append(
          (
            UInt32(truncatingIfNeeded: range.lowerBound),
            UInt32(truncatingIfNeeded: range.upperBound)
          )
        )
      }
      ends.append(bounds.count)
    }
  }

  /// The range of a cell in the page's bytes; nil if the line has no such cell.
  func range(_ column: Int, _ record: Int) -> Range<Int>? {
    let number = record - first
    let cell = (number == 0 ? 0 : ends[number - 1]) + column
    guard cell < ends[number] else { return nil }
    return Int(bounds[cell].start)..<Int(bounds[cell].end)
  }

  /// The number of words in a line.
  static func count(_ page: RecordPage, _ record: Int) -> Int {
    var count = 0
    divide(page, record, width: .max) { _, _ in count += 1 }
    return count
  }

  /// The words of a line: the names of a header.
  static func words(_ page: RecordPage, _ record: Int) -> [String] {
    var words: [String] = []
    divide(page, record, width: .max) { _, range in
      let word = UnsafeRawBufferPointer(start: page.bytes + range.lowerBound, count: range.count)
      words.append(String(decoding: word.map { $0 == 0 ? 0xFF : $0 }, as: UTF8.self))
    }
    return words
  }

  /// The range of one cell in the page's bytes, for a few cells only.
  static func range(
    _ column: Int, _ page: RecordPage, _ record: Int, width: Int
  ) -> Range<Int>? {
    var found: Range<Int>?
    divide(page, record, width: width) { if $0 == column { found = $1 } }
    return found
  }

  /// Calls `body` with the number of each cell of a line and its range in the page's bytes.
  private static func divide(
    _ page: RecordPage, _ record: Int, width: Int, _ body: (Int, Range<Int>) -> Void
  ) {
    var (at, end) = (page.start(of: record), page.end(of: record))
    func isBlank(_ at: Int) -> Bool {
      let byte = page.bytes.load(fromByteOffset: at, as: UInt8.self)
      return byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
    while end > at, isBlank(end - 1) { end -= 1 }
    for column in 0..<width {
      while at < end, isBlank(at) { at += 1 }
      if at == end { return }
      let start = at
      if column == width - 1 { at = end }
      while at < end, !isBlank(at) { at += 1 }
      body(column, start..<at)
    }
  }
}
