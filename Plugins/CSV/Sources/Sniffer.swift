import Tabella
import TabellaFiles

/// What is found out from the start of a text, once: where the records begin, the delimiter, the width.
struct Sniffer {
  /// How much of the text decides.
  static let sampleSize = 1 << 20

  /// The bytes from `sampleStart` on, and whether they are all.
  private let sample: [UInt8]
  private let isWhole: Bool
  private let sampleStart: Int
  /// Where the first record begins.
  private(set) var start: Int

  /// Steps over `skip` lines and reads the sample that follows.
  init(_ source: any ByteSource, from start: Int, skip: Int) throws(TableError) {
    self.start = try Sniffer.skipLines(skip, from: start, source)
    let start = self.start
    sampleStart = start
    // One byte more tells whether the sample is all there is.
    let bytes = try source.bytes(at: start, count: Sniffer.sampleSize + 1)
    isWhole = bytes.count <= Sniffer.sampleSize
    sample = Array(bytes.prefix(Sniffer.sampleSize))
  }

  /// The offset behind a number of lines, or the end of the text.
  private static func skipLines(
    _ count: Int, from offset: Int, _ source: any ByteSource
  ) throws(TableError) -> Int {
    guard count > 0 else { return offset }
    let rules = RecordRules(endsAtCarriageReturn: true)
    let lines = RecordReader(source, RecordIndex(source, from: offset, rules: rules), rules: rules)
    if let page = try lines.page(with: count) { return page.offset(of: count) }
    guard let last = try lines.page(with: count - 1) else {
      // There are fewer lines: nothing is left.
      return try lines.page(with: max(0, lines.index.known - 1))?.end ?? offset
    }
    return last.end
  }

  /// Steps over a first line `sep=X` and returns X.
  mutating func takeSeparatorLine() -> UInt8? {
    let line = sample.prefix { $0 != 10 && $0 != 13 }
    guard line.count == 5, line.starts(with: Array("sep=".utf8)), let separator = line.last,
      separator < 0x80
    else { return nil }
    let end = sample[line.endIndex...]
    start += line.count + (end.starts(with: [13, 10]) ? 2 : min(1, end.count))
    return separator
  }

  /// The delimiter that splits the first records most evenly, else the comma.
  func delimiter(_ rules: RecordRules) throws(TableError) -> UInt8 {
    var best = (delimiter: UInt8(ascii: ","), even: 0, cells: 1)
    let candidates = [",", ";", "\t", "|"].map { (c: Unicode.Scalar) in UInt8(ascii: c) }
    for candidate in candidates where candidate != rules.quote && candidate != rules.escape {
      var candidateRules = rules
      candidateRules.delimiter = candidate
      var tally: [Int: Int] = [:]
      try forEachRecord(candidateRules, limit: 100) { tally[$0, default: 0] += 1 }
      // The most common count; of equally common ones the larger.
      guard let common = tally.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
        common.key > 1
      else { continue }
      if (common.value, common.key) > (best.even, best.cells) {
        best = (candidate, common.value, common.key)
      }
    }
    return best.delimiter
  }

  /// The number of cells in the widest record that the sample holds whole; 0 if it holds none.
  func width(_ rules: RecordRules) throws(TableError) -> Int {
    var widest = 0
    try forEachRecord(rules, limit: .max) { widest = max(widest, $0) }
    return widest
  }

  /// Calls `body` with the number of cells of each record that the sample holds whole.
  private func forEachRecord(
    _ rules: RecordRules, limit: Int, _ body: (Int) -> Void
  ) throws(TableError) {
    let text = MemoryBytes(sample)
    let index = RecordIndex(text, from: start - sampleStart, rules: rules)
    let reader = RecordReader(text, index, rules: rules)
    var number = 0
    while number < limit, let page = try reader.page(with: number) {
      for record in page.numbers.prefix(limit - number) {
        // What ends with the sample may go on behind it.
        if page.end == sample.count, record == page.numbers.last, !isWhole { return }
        body(page.fields(of: record).count)
      }
      number = page.numbers.upperBound
    }
  }
}
