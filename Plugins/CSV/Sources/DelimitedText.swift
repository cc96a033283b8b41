import Tabella
import TabellaFiles

/// One reading of a file as delimited text: its rules, its columns and its records.
final class DelimitedText: RecordText {
  /// The limit exists because each column needs a name, and memory in every batch.
  private static let mostColumns = 1_000_000

  let file: any ByteSource
  let decoded: DecodedText
  /// The text without comments; nil if there are no comments to remove.
  private let uncommented: UncommentedBytes?
  private let hasTypes: Bool
  /// The offset of the first record or comment, after a byte order mark and skipped lines.
  let contentStart: Int
  let rules: RecordRules
  /// Whether runs of blanks separate the cells. Then a record is one field for ``rules``.
  let splitsAtBlanks: Bool
  let cells: Cells
  let reader: RecordReader
  /// The offset of the first row.
  let start: Int
  var columns: [Column]
  /// The span of the header and the number of its columns. The value is nil if the options exclude a header. The span
  /// is nil if the text ends before a header.
  private(set) var header: (span: RecordSpan?, width: Int)?
  /// The names of columns that the header lacks. An edit adds them.
  let addedNames: [String]
  /// The line end in front of the first row, after a header or skipped lines; nil if the first row begins the text.
  let prefixEnd: LineEnd?
  /// The reason why the header is incomplete at the end of the text.
  private(set) var headerEnd: OpenEnd?
  /// The lines of records that were asked for.
  private var lines = LineNumbers()
  /// Diagnostics, one per kind.
  private(set) var diagnostics: [(kind: String, message: String)] = []

  init(_ file: any ByteSource, _ options: Options, cancel: CancelFlag) throws(TableError) {
    self.file = file
    hasTypes = options.types != .text || !options.columnTypes.isEmpty
    decoded = try DecodedText(file, encoding: options.encoding)
    var sniffer = try Sniffer(decoded.bytes, from: decoded.start, options)
    var rules = RecordRules(
      quote: options.quote, escape: options.escape, endsAtCarriageReturn: true)
    // Spreadsheet programs write such a line. `tsv` and `plain` output never has it.
    let separator =
      options.hasEscapes || options.splitsAtBlanks ? nil : try sniffer.takeSeparatorLine()
    // A detected delimiter must differ from the quote and the escape.
    let usable = separator.flatMap { $0 == rules.quote || $0 == rules.escape ? nil : $0 }
    rules.delimiter = options.delimiter ?? usable
    splitsAtBlanks = options.splitsAtBlanks
    if rules.delimiter == nil, !splitsAtBlanks { rules.delimiter = try sniffer.delimiter(rules) }
    var survey = try sniffer.survey(rules)
    if !options.hasQuote, survey.hasStrayQuote {
      rules.quote = nil
      survey = try sniffer.survey(rules)
    }
    rules.reading = decoded.reading ^ (options.comment.map { UInt64($0) << 32 } ?? 0)
    self.rules = rules
    let cells = Cells(rules, hasEscapes: options.hasEscapes)
    self.cells = cells
    contentStart = sniffer.start
    uncommented = options.uncommented(decoded.bytes, from: sniffer.start, rules)
    let text: any ByteSource = uncommented ?? decoded.bytes

    // The header is a record. The rows begin after it.
    let first = sniffer.reader(
      of: text, RecordIndex(text, from: sniffer.start, rules: rules), rules)
    let header = try first.page(with: 0)
    var names: [String] = []
    var start = sniffer.start
    var prefixEnd: LineEnd?
    if start > decoded.start {
      let last = try text.bytes(at: start - min(2, start), count: min(2, start))
      prefixEnd = LineEnd(last == [13, 10] ? last[...] : last.suffix(1))
    }
    if let header, options.hasHeader {
      let fields = header.fields(of: 0)
      let width = splitsAtBlanks ? BlankFields.count(header, 0) : fields.count
      guard width <= DelimitedText.mostColumns else {
        throw TableError(
          .constraint,
          "the header has \(width) cells; a table has at most \(DelimitedText.mostColumns) columns (if the delimiter is wrong, see -o delimiter, -o header=false)"
        )
      }
      names =
        splitsAtBlanks
        ? BlankFields.words(header, 0)
        : fields.map { cells.name(header, $0, isLast: $0 == fields.last) }
      start = header.numbers.count > 1 ? header.offset(of: 1) : header.end
      prefixEnd = header.span(of: 0).lineEnd
      if !isUTF8(header, upTo: start) {
        diagnostics.append(
          (
            "UTF-8",
            "the header is not UTF-8, so invalid bytes in its names are replaced; \(DelimitedText.encodingHint)"
          ))
      }
      if header.numbers.count == 1 { headerEnd = header.openEnd }
      if headerEnd == .quote {
        let quote = header.start(ofField: fields.upperBound - 1)
        diagnostics.append(
          (
            "quote",
            try DelimitedText.unclosed(
              inLine: DelimitedText.lineNumber(at: header.offset + quote, decoded, uncommented),
              "the header")
          ))
      }
    }
    self.prefixEnd = prefixEnd
    if options.hasHeader { self.header = (header?.span(of: 0), names.count) }
    // A name from the option that the header contains is the header's column.
    addedNames = options.hasHeader ? options.names.filter { !names.contains($0) } : []
    names += options.hasHeader ? addedNames : options.names
    let width = min(
      DelimitedText.mostColumns,
      DelimitedText.width(header, survey, names: names.count, options))
    columns = (0..<width).map { index in
      Column(
        index < names.count && !names[index].isEmpty ? names[index] : "column \(index + 1)",
        hasDecimalComma: options.hasDecimalComma)
    }
    let hasFileOffsets = decoded.isAsStored && uncommented == nil
    self.hasFileOffsets = hasFileOffsets
    guard let bytes = options.bytes else {
      self.start = start
      let index = RecordIndex(text, from: start, rules: rules, cancel: cancel)
      // The page of the header is not used from now on.
      reader = RecordReader(
        text, index, rules: rules, sizes: .init(fields: width), replacing: first)
      return
    }
    guard hasFileOffsets else {
      throw TableError(
        .invalidArgument,
        "option bytes needs a stored file whose text is neither converted nor has comments")
    }
    let range = try BytesUpTo(bytes.upperBound, of: text)
    self.start = max(start, bytes.lowerBound)
    if bytes.lowerBound > start { try text.checkRecordStart(bytes.lowerBound) }
    if bytes.upperBound > start { try text.checkRecordStart(bytes.upperBound) }
    let index = RecordIndex(range, from: self.start, rules: rules, cancel: cancel)
    reader = RecordReader(range, index, rules: rules, sizes: .init(fields: width), replacing: first)
  }

  /// Whether the offsets of rows are offsets in the file.
  let hasFileOffsets: Bool

  /// Types are inferred from cells, and comments and conversions shift offsets. Such a text is read again.
  var isExtensible: Bool {
    decoded.isAsStored && uncommented == nil && !hasTypes
  }

  /// Whether the same bytes with more at their end have the same rules and columns. `count` is the number of bytes that
  /// this reading examined.
  func keepsRules(afterGrowthFrom count: Int, _ options: Options) throws(TableError) -> Bool {
    // Only the header and the sample decide.
    if count > contentStart + Sniffer.sampleSize, count > start, prefixEnd != LineEnd.none {
      return true
    }
    let other = try DelimitedText(file, options, cancel: CancelFlag())
    return other.contentStart == contentStart && other.start == start
      && other.decoded.start == decoded.start && other.decoded.isAsStored
      && other.rules == rules && other.columns == columns && other.prefixEnd == prefixEnd
  }

  /// The number of columns. Longer rows have the rest in the last cell.
  private static func width(
    _ first: RecordPage?, _ survey: Sniffer.Survey, names: Int, _ options: Options
  ) -> Int {
    let named = max(names, options.columns)
    // Without a header, the width comes from the sample.
    guard options.splitsAtBlanks else {
      return max(first?.fields(of: 0).count ?? 0, survey.width, named)
    }
    guard let first else { return named }
    // The last column takes the rest of each line, so the names alone determine the width.
    if named > 0 { return named }
    return max(1, survey.width, BlankFields.count(first, 0))
  }

  /// The advice for text that is not UTF-8.
  static let encodingHint = "if it is Latin-1, use -o encoding=latin1"

  /// The diagnostic for a quote that is never closed.
  static func unclosed(inLine line: Int, _ row: String) -> String {
    "line \(line) (\(row)): a quote is never closed, so the cell ends at the end of the file (if the quote is a plain character, use -o quote=none)"
  }

  /// The line number of a byte of the text, counted from 1.
  func lineNumber(at offset: Int) throws(TableError) -> Int {
    try DelimitedText.lineNumber(at: offset, decoded, uncommented)
  }

  /// The line number of a byte with which a line begins, counted from 1.
  func line(startingAt offset: Int) throws(TableError) -> Int {
    try lines.line(
      startingAt: uncommented?.wholeOffset(of: offset) ?? offset, in: decoded.bytes)
  }

  private static func lineNumber(
    at offset: Int, _ decoded: DecodedText, _ uncommented: UncommentedBytes?
  ) throws(TableError) -> Int {
    try decoded.bytes.lineNumber(at: uncommented?.wholeOffset(of: offset) ?? offset)
  }

  /// The range of a column's field in a page; nil if the record has no such field.
  func bounds(_ column: Int, _ page: RecordPage, _ record: Int) -> Range<Int>? {
    splitsAtBlanks
      ? BlankFields.range(column, page, record, width: columns.count)
      : page.bounds(column, record, width: columns.count)?.range
  }

  /// Whether the field of a column is UTF-8.
  func holdsUTF8(_ column: Int, _ page: RecordPage, _ record: Int) -> Bool {
    bounds(column, page, record).map {
      UnsafeRawBufferPointer(start: page.bytes + $0.lowerBound, count: $0.count).isScannedUTF8
    } ?? true
  }

  /// A cell as its row shows it.
  func cell(_ column: Int, _ page: RecordPage, _ record: Int) -> Cell {
    if splitsAtBlanks {
      return bounds(column, page, record).map { range in
        .text(Array(UnsafeRawBufferPointer(start: page.bytes, count: range.upperBound)[range]))
      } ?? .missing
    }
    return cells.withCell(column, page, record, width: columns.count) { cell in
      cell.map { .text(Array($0)) } ?? .missing
    }
  }
}

extension RecordPage {
  /// The range of a column's field in ``bytes``; nil if the record has no such field. `width` is the number of columns.
  ///
  /// If a record is too long, the last column contains the undecoded surplus.
  @inline(__always)
  func bounds(
    _ column: Int, _ record: Int, width: Int
  ) -> (range: Range<Int>, isSurplus: Bool)? {
    let fields = fields(of: record)
    let field = fields.lowerBound &+ column
    guard field < fields.upperBound else { return nil }
    let isLast = field &+ 1 == fields.upperBound
    let isSurplus = !isLast && column &+ 1 == width
    let end =
      isLast || isSurplus ? end(ofLastField: fields.upperBound &- 1) : end(ofField: field)
    return (Range(uncheckedBounds: (start(ofField: field), end)), isSurplus)
  }
}

extension Options {
  /// The text without its comments; nil if the options name no comment mark.
  func uncommented(
    _ bytes: any ByteSource, from start: Int, _ rules: RecordRules
  ) -> UncommentedBytes? {
    comment.map { UncommentedBytes(bytes, from: start, rules: rules, mark: $0) }
  }
}

/// Whether the bytes of a page in front of `end`, an offset in the file, are UTF-8.
private func isUTF8(_ page: RecordPage, upTo end: Int) -> Bool {
  UnsafeRawBufferPointer(start: page.bytes, count: end - page.offset).isUTF8
}

extension Cells {
  /// A field decoded as a column name: invalid UTF-8 and NUL become replacement characters.
  fileprivate func name(_ page: RecordPage, _ field: Int, isLast: Bool) -> String {
    let start = page.start(ofField: field)
    let count = (isLast ? page.end(ofLastField: field) : page.end(ofField: field)) - start
    var name = [UInt8](repeating: 0, count: count + RecordPage.slack)
    let written = name.withUnsafeMutableBytes {
      write(page.bytes + start, count, to: $0.baseAddress!)
    }
    return String(decoding: name[..<max(0, written)].map { $0 == 0 ? 0xFF : $0 }, as: UTF8.self)
  }
}
