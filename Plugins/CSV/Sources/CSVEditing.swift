import Tabella
import TabellaFiles

// Edits of rows, as splices of the file.

extension CSVSource: RecordEditing {
  var editing: (any TableEditing)? { file.version != nil ? self : nil }
  var moving: (any TableMoving)? { editing == nil ? nil : self }
  var undoing: (any TableUndoing)? { editing == nil ? nil : self }

  var recordsStart: (offset: Int, prefixEnd: LineEnd?) { (text.start, text.prefixEnd) }

  func checkEditable() throws(TableError) {
    try shownFile.checkEditable(text.decoded)
    switch text.headerEnd {
    case nil: return
    case .quote:
      throw TableError(.readOnly, "the header has a quote that is never closed; close it first")
    case .escape:
      throw TableError(
        .readOnly, "the header ends in an escape with nothing behind it; take it out first")
    }
  }

  var keepsSections: Bool { true }

  func record(at path: IndexPath) -> Int { path.row }

  // Cells into bytes

  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8] {
    try check(setting: cells)
    guard let delimiter = text.rules.delimiter, !columns.isEmpty else {
      throw TableError(.constraint, "there are no columns; the file has no header")
    }
    // Missing cells can only be left out at the end.
    let last = columns.indices.last { !isLeftOut($0, cells) } ?? 0
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
    // Taken down at once: writing a field may look at another page.
    let span = page.span(of: number)
    let old = cells.keys.sorted().compactMap { column in
      text.bounds(column, page, number).map { bounds in
        (column: column, place: page.place(bounds), cell: text.cell(column, page, number))
      }
    }
    let fields = page.fields(of: number)
    let count = min(fields.count, columns.count)
    // What is missing at the end goes with its delimiters.
    var end = count
    while end > 1, isLeftOut(end - 1, cells) { end -= 1 }
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

  /// Whether a cell is to be missing and so has no field; where the column is not text, it is empty.
  private func isLeftOut(_ column: Int, _ cells: [Int: Cell]) -> Bool {
    columns[column].type == .text && cells[column] == .some(.missing)
  }

  private func mustNotBeMissing(_ column: Int) -> TableError {
    TableError(
      .constraint,
      "\(columns[column].name) cannot be missing before other cells; set it to empty text",
      column: column)
  }

  /// A cell as the file is to have it, written in the way of the first of some records that tells.
  private func field(
    _ cell: Cell, _ column: Int, like records: [Int]
  ) throws(TableError) -> [UInt8] {
    let bytes: [UInt8]
    switch cell {
    case .missing:
      guard columns[column].type != .text else { throw mustNotBeMissing(column) }
      bytes = []
    case .text(let text): bytes = text
    case .real(let number) where !number.isFinite:
      throw TableError(
        .constraint, "\(columns[column].name) must be a finite number", column: column)
    case .date(let moment):
      let hasTime = try first(of: records, column) { CellTypes.hasTime($0) } ?? false
      let text = Array("\(moment)".utf8)
      bytes = moment.isMidnight && !hasTime ? Array(text.prefix { $0 != UInt8(ascii: "T") }) : text
    default: bytes = Array(cell.description.utf8)
    }
    let fields = Fields(text.rules)
    let isQuoted = try first(of: records, column) { fields.isQuoted($0) }
    do throws(TableError) {
      return try fields.field(bytes, isQuoted: isQuoted ?? false)
    } catch {
      throw TableError(error.code, "\(columns[column].name): \(error.message)", column: column)
    }
  }

  /// What the first field of a column that tells, of some records, tells.
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
    let new = try DelimitedText(bytes, options, cancel: cancel)
    guard new.decoded.start == text.decoded.start, new.rules == text.rules else {
      throw TableError(
        .constraint,
        "the file would be read by other rules then; say which with -o delimiter, -o quote, -o header, -o encoding"
      )
    }
    guard try new.start == start(in: bytes) else {
      throw TableError(
        .constraint,
        "a row would be taken for the header, or for a line before it; write the header first, or say -o header=false, or a smaller -o skip"
      )
    }
    let names = zip(new.columns, text.columns).allSatisfy { $0.name == $1.name }
    guard names else {
      throw TableError(.constraint, "the columns would have other names then")
    }
  }

  /// Where the first row must begin in the new bytes: a header that had no line end got one.
  private func start(in bytes: any ByteSource) throws(TableError) -> Int {
    guard text.prefixEnd == LineEnd.none else { return text.start }
    let end = try bytes.bytes(at: text.start, count: 2)
    return text.start + (end == [13, 10] ? 2 : min(1, end.count))
  }

  func check(_ page: RecordPage, has cells: [Int: Cell]) throws(TableError) {
    for (column, cell) in cells {
      guard text.cell(column, page, 0) == cell else {
        throw TableError(
          .constraint,
          "\(columns[column].name) would not read back as it was set; nothing was changed",
          column: column)
      }
    }
  }
}

extension RecordPage {
  /// A range of ``bytes`` as a range of the text.
  func place(_ range: Range<Int>) -> Range<Int> {
    offset + range.lowerBound..<offset + range.upperBound
  }

  /// Some of the bytes.
  fileprivate func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count)
  }
}

extension Timestamp {
  /// Whether it is the beginning of a day in UTC, and so what a date without a time means.
  fileprivate var isMidnight: Bool { nanoseconds.isMultiple(of: 86_400_000_000_000) }
}
