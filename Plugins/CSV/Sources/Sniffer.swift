import Tabella
import TabellaFiles

/// What is found out from the start of a text, once: where the records begin, the dialect, the width.
struct Sniffer {
  /// How much of the text decides.
  static let sampleSize = 1 << 20

  private let sample: [UInt8]
  private let isWhole: Bool
  /// Where the first record begins.
  private(set) var start = 0

  /// Reads the sample and steps over a byte order mark and `skip` lines.
  init(_ source: any ByteSource, skip: Int) throws(TableError) {
    (sample, isWhole) = try Sniffer.readSample(source)
    if sample.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
    for _ in 0..<skip { start = endOfLine(from: start) }
  }

  /// The first bytes, and whether they are all.
  static func readSample(
    _ source: any ByteSource, size: Int = sampleSize
  ) throws(TableError) -> ([UInt8], Bool) {
    let window = Window(source, capacity: size)
    let (bytes, isLast) = try window.bytes(from: 0)
    return (Array(bytes), isLast)
  }

  private func endOfLine(from offset: Int) -> Int {
    guard let end = sample[offset...].firstIndex(where: { $0 == 10 || $0 == 13 }) else {
      return sample.count
    }
    return sample[end...].starts(with: [13, 10]) ? end + 2 : end + 1
  }

  /// Steps over a first line `sep=X` and returns X.
  mutating func takeSeparatorLine() -> UInt8? {
    let line = sample[start...].prefix { $0 != 10 && $0 != 13 }
    guard line.count == 5, line.starts(with: Array("sep=".utf8)), let separator = line.last,
      separator < 0x80
    else { return nil }
    start = endOfLine(from: start)
    return separator
  }

  /// The delimiter that splits the first records most evenly, else the comma.
  func delimiter(_ dialect: Dialect) -> UInt8 {
    var best = (delimiter: UInt8(ascii: ","), even: 0, cells: 1)
    for candidate in [",", ";", "\t", "|"].map({ (c: Unicode.Scalar) in UInt8(ascii: c) }) {
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
      var at = start
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
