import Tabella
import TabellaFiles

// Edits of rows, as splices of the file.

extension CSVSource: RecordEditing {
  var editing: (any TableEditing)? { file.hasVersion ? self : nil }
  var moving: (any TableMoving)? { editing == nil ? nil : self }
  var undoing: (any TableUndoing)? { editing == nil ? nil : self }

  var recordsStart: (offset: Int, prefixEnd: LineEnd?) { (text.start, text.prefixEnd) }

  func checkEditable() throws(TableError) {
    try shownFile.checkEditable(text.decoded)
    guard options.bytes == nil else {
      throw TableError(
        .readOnly, "only some bytes of the file are shown (-o bytes), so the file is read-only")
    }
    guard !text.splitsAtBlanks else {
      throw TableError(
        .readOnly,
        "blanks separate the cells (-o delimiter=whitespace), so the file is read-only: a new cell could shift the others"
      )
    }
    switch text.headerEnd {
    case nil: return
    case .quote:
      throw TableError(.readOnly, "the header has a quote that is never closed; close it first")
    case .escape:
      throw TableError(
        .readOnly, "the header ends in an escape with nothing after it; remove it first")
    }
  }

  var keepsSections: Bool { true }

  func record(at path: IndexPath) -> Int { path.row }

  func uncommented(_ bytes: any ByteSource) -> UncommentedBytes? {
    options.uncommented(bytes, from: text.contentStart, text.rules)
  }

  // The header

  /// The number of columns in the header, including the names that an edit can add; nil if rows need no header.
  private var namedWidth: Int? { text.header.map { $0.width + text.addedNames.count } }

  /// The splices of the header: if an edit sets a cell of an added column, the header gets the names of all added
  /// columns.
  func prefix(
    for edits: RecordEdits
  ) throws(TableError) -> (splices: [RecordPlan.Splice], edited: [EditedRange]) {
    guard let header = text.header, !text.addedNames.isEmpty, let delimiter = text.rules.delimiter
    else { return ([], []) }
    func setsAdded(_ cells: [Int: Cell]) -> Bool {
      cells.contains { $0.key >= header.width && $0.value != .missing }
    }
    guard
      edits.sets.contains(where: { setsAdded($0.cells) })
        || edits.arrivals.contains(where: { setsAdded($0.cells) })
    else { return ([], []) }
    let encoder = FieldEncoder(text.rules, options)
    var bytes: [UInt8] = []
    for (number, name) in text.addedNames.enumerated() {
      let isFirst = header.width == 0 && number == 0
      if !isFirst { bytes.append(delimiter) }
      bytes += try encoder.field(Array(name.utf8), isQuoted: false, isFirst: isFirst)
    }
    guard let span = header.span else {
      // The text is empty after the skipped lines, so it has no header.
      if text.prefixEnd == LineEnd.none { bytes.insert(10, at: 0) }
      return ([.init(text.start..<text.start, bytes + [10])], [])
    }
    if span.lineEnd == .none { bytes.append(10) }
    let end = span.content.upperBound
    return ([.init(end..<end, bytes)], [EditedRange(span)])
  }

  /// Throws if a cell would make a row longer than the header.
  private func check(_ column: Int?) throws(TableError) {
    guard let column, let namedWidth, column >= namedWidth else { return }
    throw TableError(
      .constraint,
      "\(columns[column].name) is not in the header, which has \(namedWidth) columns, and a row must not be longer; to add a column to the header, use -o columns=NAME and set NAME",
      column: column)
  }

  // Encoding of cells

  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8] {
    try check(setting: cells)
    guard let delimiter = text.rules.delimiter, !columns.isEmpty else {
      throw TableError(
        .constraint, "the table has no columns yet; add columns with -o columns=NAME,NAME")
    }
    let beyond = cells.keys.filter { cells[$0] != .some(.missing) }.max()
    try check(beyond)
    // A new row is as long as the header. Only missing cells at the end can be left out.
    let width = text.header.map { max($0.width, (beyond ?? -1) + 1, 1) } ?? columns.count
    let last = (0..<width).last { cells[$0] != .some(.missing) } ?? 0
    var record: [UInt8] = []
    for column in 0...last {
      if column > 0 { record.append(delimiter) }
      record += try field(cells[column] ?? .text([]), column, like: [place - 1, place])
    }
    return record
  }

  func splices(
    inRecord number: Int, setting cells: [Int: Cell]
  ) throws(TableError) -> [RecordPlan.Splice] {
    try check(setting: cells)
    guard let page = try reader.page(with: number), let delimiter = text.rules.delimiter else {
      return []
    }
    // Collected in advance, because writing a field may load another page.
    let span = page.span(of: number)
    let old = cells.keys.sorted().compactMap { column in
      text.bounds(column, page, number).map { bounds in
        (column: column, place: page.place(bounds), cell: text.cell(column, page, number))
      }
    }
    let fields = page.fields(of: number)
    let count = min(fields.count, columns.count)
    // Missing cells at the end are removed with their delimiters.
    var end = count
    while end > 1, cells[end - 1] == .some(.missing) { end -= 1 }
    let kept = end < count ? page.offset + page.end(ofField: fields.lowerBound + end - 1) : 0

    let models = [number, number - 1, number + 1]
    var splices: [RecordPlan.Splice] = []
    for old in old where old.column < end {
      let new = cells[old.column] ?? .missing
      guard old.cell != new else { continue }
      splices.append(.init(old.place, try field(new, old.column, like: models)))
    }
    if end < count { splices.append(.init(kept..<span.content.upperBound, [])) }
    let beyond = cells.keys.filter { $0 >= count && cells[$0] != .some(.missing) }.max()
    if let beyond {
      try check(beyond)
      guard end == count else { throw mustNotBeMissing(end) }
      var added: [UInt8] = []
      for column in count...beyond {
        added.append(delimiter)
        added += try field(cells[column] ?? .text([]), column, like: models)
      }
      splices.append(.init(span.content.upperBound..<span.content.upperBound, added))
    }
    return splices
  }

  private func mustNotBeMissing(_ column: Int) -> TableError {
    TableError(
      .constraint,
      "\(columns[column].name) cannot be missing before other cells; set it to empty text",
      column: column)
  }

  /// The field for a cell, in the style of the first of `records` whose field shows a style.
  private func field(
    _ cell: Cell, _ column: Int, like records: [Int]
  ) throws(TableError) -> [UInt8] {
    let encoder = FieldEncoder(text.rules, options)
    guard case .text(let bytes) = cell else {
      guard let missing = encoder.missing else { throw mustNotBeMissing(column) }
      return missing
    }
    let isQuoted = try first(of: records, column) { encoder.isQuoted($0) }
    do throws(TableError) {
      return try encoder.field(bytes, isQuoted: isQuoted ?? false, isFirst: column == 0)
    } catch {
      throw TableError(error.code, "\(columns[column].name): \(error.message)", column: column)
    }
  }

  /// The first non-nil result of `tells` for a column's fields in `records`.
  private func first<R>(
    of records: [Int], _ column: Int, tells: (UnsafeRawBufferPointer) -> R?
  ) throws(TableError) -> R? {
    for record in records where record >= 0 {
      guard let page = try reader.page(with: record),
        let bounds = text.bounds(column, page, record)
      else { continue }
      if let found = tells(page.part(bounds)) { return found }
    }
    return nil
  }

  // Reading back

  func checkReads(_ bytes: any ByteSource) throws(TableError) {
    try checkReads(bytes, prefix: [])
  }

  func checkReads(
    _ bytes: any ByteSource, prefix: [RecordPlan.Splice]
  ) throws(TableError) {
    let new = try DelimitedText(bytes, options, cancel: cancel)
    guard new.decoded.start == text.decoded.start, new.rules == text.rules else {
      throw TableError(
        .constraint,
        "after this edit the file would be read with other rules; set the rules with -o delimiter, -o quote, -o header, -o encoding"
      )
    }
    let added = prefix.reduce(0) { $0 + $1.bytes.count - $1.range.count }
    let start = prefix.isEmpty ? try start(in: bytes) : text.start + added
    guard new.start == start else {
      throw TableError(
        .constraint,
        "a row would become the header, or a skipped line; insert the header first, or use -o header=false, or a smaller -o skip"
      )
    }
    let names = zip(new.columns, text.columns).allSatisfy { $0.name == $1.name }
    guard names else {
      throw TableError(.constraint, "the columns would then have other names")
    }
  }

  /// The offset at which the first row must begin in the new bytes. It moves if a header without a line end received
  /// one.
  private func start(in bytes: any ByteSource) throws(TableError) -> Int {
    guard text.prefixEnd == LineEnd.none else { return text.start }
    let end = try (uncommented(bytes) ?? bytes).bytes(at: text.start, count: 2)
    return text.start + (end == [13, 10] ? 2 : min(1, end.count))
  }

  func check(_ number: Int, of page: RecordPage, has cells: [Int: Cell]) throws(TableError) {
    for (column, cell) in cells {
      guard text.cell(column, page, number) == cell else {
        throw TableError(
          .constraint,
          "\(columns[column].name) would be read back with another value; nothing was changed",
          column: column)
      }
    }
  }
}

extension RecordPage {
  /// Converts a range of ``bytes`` into a range of the text.
  func place(_ range: Range<Int>) -> Range<Int> {
    offset + range.lowerBound..<offset + range.upperBound
  }

  /// The bytes of a range.
  fileprivate func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count)
  }
}
