import Tabella
import TabellaFiles

/// What is found out from the start of a text, once: where the records begin, the dialect, the width.
struct Sniffer {
  /// How much of the text decides.
  static let sampleSize = 1 << 20

  /// The bytes from `sampleStart` on, and whether they are all.
  private let sample: [UInt8]
  private let isWhole: Bool
  private let sampleStart: Int
  /// Where the first record begins.
  private(set) var start: Int

  /// Steps over a byte order mark and `skip` lines and reads the sample that follows.
  init(_ source: any ByteSource, skip: Int) throws(TableError) {
    let hasMark = try source.bytes(at: 0, count: 3) == [0xEF, 0xBB, 0xBF]
    start = try Sniffer.skipLines(skip, from: hasMark ? 3 : 0, Window(source))
    sampleStart = start
    // One byte more tells whether the sample is all there is.
    let bytes = try source.bytes(at: start, count: Sniffer.sampleSize + 1)
    isWhole = bytes.count <= Sniffer.sampleSize
    sample = Array(bytes.prefix(Sniffer.sampleSize))
  }

  /// The offset behind a number of lines, or the end of the text.
  private static func skipLines(
    _ count: Int, from offset: Int, _ window: Window
  ) throws(TableError) -> Int {
    var at = offset
    var left = count
    while left > 0 {
      let (bytes, isLast) = try window.bytes(from: at)
      guard let end = bytes.firstIndex(where: { $0 == 10 || $0 == 13 }) else {
        if isLast { return at + bytes.count }
        at += bytes.count
        continue
      }
      at += end + 1
      // The second half of a CRLF may lie in the next window.
      if bytes[end] == 13, try window.bytes(from: at).bytes.first == 10 { at += 1 }
      left -= 1
    }
    return at
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
  func delimiter(_ dialect: Dialect) -> UInt8 {
    var best = (delimiter: UInt8(ascii: ","), even: 0, cells: 1)
    let candidates = [",", ";", "\t", "|"].map { (c: Unicode.Scalar) in UInt8(ascii: c) }
    for candidate in candidates where candidate != dialect.quote && candidate != dialect.escape {
      var candidateDialect = dialect
      candidateDialect.delimiter = candidate
      var tally: [Int: Int] = [:]
      forEachRecord(candidateDialect, limit: 100) { fields in tally[fields, default: 0] += 1 }
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
  func width(_ dialect: Dialect) -> Int {
    var widest = 0
    forEachRecord(dialect, limit: .max) { widest = max(widest, $0) }
    return widest
  }

  private func forEachRecord(_ dialect: Dialect, limit: Int, _ body: (Int) -> Void) {
    var parser = RecordParser(dialect)
    sample.withUnsafeBytes { sample in
      var at = start - sampleStart
      for _ in 0..<limit {
        let rest = UnsafeRawBufferPointer(rebasing: sample[at...])
        guard case .record(_, let next) = parser.parse(rest, isLast: isWhole, wantsFields: true)
        else { return }
        body(parser.fields.count)
        at += next
      }
    }
  }
}
