import Glibc
import Tabella
import TabellaFiles

/// Detects the format from the start of a text: the first record, the delimiter and the number of columns.
struct Sniffer {
  /// The size of the sample in bytes.
  static let sampleSize = 1 << 20
  /// If the records in so many bytes have the same number of cells, the rest of the sample is not read. The fourth read
  /// of 16 KiB reaches so many.
  private static let evenSize = 60_000
  /// The number of bytes at the start in which delimiters are looked for.
  private static let occurrenceSize = 64 << 10

  /// The text up to the end of the sample. Reading it again for each question costs less than keeping it in memory.
  private let sample: Prefix
  private let options: Options
  /// The offset of the first record.
  private(set) var start: Int
  /// The last reader. The next one takes its buffers.
  private var lastReader: RecordReader?

  /// Skips the lines that the option `skip` counts. The sample begins after them.
  init(_ source: any ByteSource, from start: Int, _ options: Options) throws(TableError) {
    self.options = options
    self.start = try Sniffer.skipLines(options.skip, from: start, source)
    sample = try Prefix(
      source, from: self.start, upTo: self.start + Sniffer.sampleSize)
  }

  /// The offset after `count` lines, or the end of the text.
  private static func skipLines(
    _ count: Int, from offset: Int, _ source: any ByteSource
  ) throws(TableError) -> Int {
    guard count > 0 else { return offset }
    let rules = RecordRules(endsAtCarriageReturn: true)
    let lines = RecordReader(source, RecordIndex(source, from: offset, rules: rules), rules: rules)
    if let page = try lines.page(with: count) { return page.offset(of: count) }
    guard let last = try lines.page(with: count - 1) else {
      // The text has fewer lines, so nothing remains.
      return try lines.page(with: max(0, lines.index.known - 1))?.end ?? offset
    }
    return last.end
  }

  /// Skips a first line `sep=X` and returns X.
  mutating func takeSeparatorLine() throws(TableError) -> UInt8? {
    let bytes = try sample.bytes(at: start, count: 7)
    let line = bytes.prefix { $0 != 10 && $0 != 13 }
    guard line.count == 5, line.starts(with: Array("sep=".utf8)), let separator = line.last,
      separator < 0x80
    else { return nil }
    let end = bytes[line.endIndex...]
    start += line.count + (end.starts(with: [13, 10]) ? 2 : min(1, end.count))
    return separator
  }

  /// The delimiter that splits the first records most evenly; the usual one if none does.
  ///
  /// Text with tabs is also tried without quotes if quotes make no sense there. If numbers have a decimal comma, a
  /// comma is tried only after all others.
  mutating func delimiter(_ rules: RecordRules) throws(TableError) -> UInt8 {
    let comma = UInt8(ascii: ",")
    let others = [";", "\t", "|"].map { (c: Unicode.Scalar) in UInt8(ascii: c) }
    let candidates = try occurring([comma] + others)
    if candidates == [options.usualDelimiter] { return options.usualDelimiter }
    guard options.hasDecimalComma else {
      return try delimiter(rules, among: candidates) ?? options.usualDelimiter
    }
    if let found = try delimiter(rules, among: candidates.filter { $0 != comma }) { return found }
    return try delimiter(rules, among: [comma]) ?? options.usualDelimiter
  }

  /// The candidates that occur near the start; all of them if none does.
  ///
  /// Most texts contain one of them. Dividing a text by a byte that it does not contain costs more than looking for it.
  private func occurring(_ candidates: [UInt8]) throws(TableError) -> [UInt8] {
    var missing = candidates
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 64)
    defer { piece.deallocate() }
    var offset = start
    while offset < start + Sniffer.occurrenceSize, !missing.isEmpty {
      let count = try sample.read(at: offset, into: piece)
      if count == 0 { break }
      missing.removeAll { memchr(piece.baseAddress!, Int32($0), count) != nil }
      offset += count
    }
    return missing.count == candidates.count
      ? candidates : candidates.filter { !missing.contains($0) }
  }

  private mutating func delimiter(
    _ rules: RecordRules, among candidates: [UInt8]
  ) throws(TableError) -> UInt8? {
    var best = (delimiter: nil as UInt8?, even: 0, cells: 1)
    for candidate in candidates
    where ![rules.quote, rules.escape, options.comment].contains(candidate) {
      var candidateRules = rules
      candidateRules.delimiter = candidate
      var first = try survey(candidateRules, limit: 100)
      if !options.hasQuote, first.hasStrayQuote {
        candidateRules.quote = nil
        first = try survey(candidateRules, limit: 100)
      }
      let counts = first.counts
      // The most common cell count; if several are equally common, the largest.
      let changes = counts.indices.filter { $0 == 0 || counts[$0] != counts[$0 - 1] }
      let common = changes.map { at in (even: counts.count { $0 == counts[at] }, cells: counts[at])
      }
      .max { $0 < $1 }
      guard let common, common.cells > 1 else { continue }
      if common > (best.even, best.cells) { best = (candidate, common.even, common.cells) }
    }
    return best.delimiter
  }

  /// The result of reading the sample with certain rules.
  struct Survey {
    /// The number of cells in each complete record, up to the limit of the survey. It stays empty without a limit.
    fileprivate(set) var counts: [Int] = []
    /// The number of cells in the widest complete record; 0 if there is none.
    fileprivate(set) var width = 0
    /// The number of cells in the narrowest complete record.
    fileprivate var leastWidth = Int.max
    /// Whether the delimiter is a tab and some quote cannot be a real quote.
    ///
    /// A real quoted cell is closed, and contains no tab together with a line end. A false quote would swallow rows.
    fileprivate(set) var hasStrayQuote = false
  }

  /// Reads up to `limit` records of the sample. Without a limit, it ends early if the first records are even.
  mutating func survey(_ rules: RecordRules, limit: Int = .max) throws(TableError) -> Survey {
    let uncommented = options.uncommented(sample, from: start, rules)
    let text: any ByteSource = uncommented ?? sample
    let index = RecordIndex(text, from: start, rules: rules)
    let reader = reader(of: text, index, rules)
    var survey = Survey()
    var number = 0
    while number < limit, let page = try reader.page(with: number) {
      let records = page.numbers.prefix(limit - number)
      if rules.delimiter == 9, let quote = rules.quote {
        survey.hasStrayQuote =
          survey.hasStrayQuote || isStray(quote, page, records, isWhole: sample.isWhole)
      }
      // A record at the end of the sample may continue after it.
      let isCut =
        !sample.isWhole && (uncommented?.wholeOffset(of: page.end) ?? page.end) == sample.end
      for record in records {
        if isCut, record == page.numbers.last { break }
        let count =
          options.splitsAtBlanks
          ? BlankFields.count(page, record) : page.fields(of: record).count
        survey.width = max(survey.width, count)
        survey.leastWidth = min(survey.leastWidth, count)
        if limit < .max { survey.counts.append(count) }
      }
      number = page.numbers.upperBound
      let isLarge = limit == .max && page.end - start >= Sniffer.evenSize
      if isLarge, survey.width == survey.leastWidth, !needsWholeSample(rules) { break }
    }
    return survey
  }

  /// A reader for a short look at a text. It ends the use of the last one, and takes its buffers.
  mutating func reader(
    of text: any ByteSource, _ index: RecordIndex, _ rules: RecordRules
  ) -> RecordReader {
    let reader =
      lastReader.map { RecordReader(text, index, rules: rules, sizes: .glance, replacing: $0) }
      ?? RecordReader(text, index, rules: rules, sizes: .glance)
    lastReader = reader
    return reader
  }

  /// Whether later records can tell more than the first ones, although those are even: a tab can stand between false
  /// quotes, and blanks can stand within the last cell.
  private func needsWholeSample(_ rules: RecordRules) -> Bool {
    options.splitsAtBlanks || rules.delimiter == 9 && rules.quote != nil
  }

  /// Whether a quoted cell is never closed, or contains a tab and a line end.
  private func isStray(
    _ quote: UInt8, _ page: RecordPage, _ records: Range<Int>, isWhole: Bool
  ) -> Bool {
    if isWhole, page.openEnd == .quote, records.last == page.numbers.last { return true }
    guard page.mostQuotedLineEnds > 0 else { return false }
    return records.contains { record in
      page.cells(of: record, quotedWith: quote).contains { cell in
        cell.contains(9) && cell.lineEndCount > 0
      }
    }
  }
}

extension RecordPage {
  /// The undecoded quoted fields of a record.
  func cells(of record: Int, quotedWith quote: UInt8) -> [UnsafeRawBufferPointer] {
    let fields = fields(of: record)
    return fields.compactMap { field in
      let start = start(ofField: field)
      let end = field == fields.last ? end(ofLastField: field) : end(ofField: field)
      let cell = UnsafeRawBufferPointer(start: bytes + start, count: end - start)
      return cell.first == quote ? cell : nil
    }
  }
}

/// The beginning of a text, presented as a complete text.
private final class Prefix: ByteSource {
  private let base: any ByteSource
  let end: Int
  /// Whether the text ends within the prefix.
  let isWhole: Bool

  /// The bytes up to `limit`. Of a stream, these are the bytes in front of its first pause, with a line at least.
  init(_ base: any ByteSource, from start: Int, upTo limit: Int) throws(TableError) {
    self.base = base
    (end, isWhole) = try base.sampleEnd(from: start, upTo: limit, includesLine: true)
  }

  var version: Version? { nil }
  var size: Int? { nil }

  func checkUnchanged() throws(TableError) { try base.checkUnchanged() }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int {
    let count = min(buffer.count, end - offset)
    guard count > 0 else { return 0 }
    return try base.read(at: offset, into: .init(rebasing: buffer[..<count]))
  }
}
