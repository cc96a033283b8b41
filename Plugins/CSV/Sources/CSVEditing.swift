import Tabella
import TabellaFiles

// Edits of rows, as splices of the file.

extension CSVSource: RecordEditing {
  var editing: (any TableEditing)? { file.version != nil ? self : nil }
  var moving: (any TableMoving)? { editing == nil ? nil : self }
  var undoing: (any TableUndoing)? { editing == nil ? nil : self }

  var recordsStart: (offset: Int, hasPrefix: Bool) { (text.start, text.hasPrefix) }

  func checkEditable() throws(TableError) {
    guard text.isAsStored else {
      throw TableError(
        .readOnly,
        "is not stored as UTF-8 or a like encoding, and what is converted cannot be edited; convert the file with iconv"
      )
    }
    guard !text.hasUnclosedHeader else {
      throw TableError(.readOnly, "the header has a quote that is never closed; close it first")
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
    let last = columns.indices.last { cells[$0] != .some(.missing) } ?? 0
    var record: [UInt8] = []
    for column in 0...last {
      if column > 0 { record.append(delimiter) }
      record += try field(cells[column] ?? .text([]), column, near: [place - 1, place])
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
        (
          column: column, place: page.place(bounds), cell: text.cell(column, page, number),
          field: Array(page.part(bounds))
        )
      }
    }
    let fields = page.fields(of: number)
    let count = min(fields.count, columns.count)
    let isMissing = { (column: Int) in cells[column] == .some(.missing) }
    // What is missing at the end goes with its delimiters.
    var end = count
    while end > 1, isMissing(end - 1) { end -= 1 }
    let kept = end < count ? page.offset + page.end(ofField: fields.lowerBound + end - 1) : 0

    var splices: [RecordPlan.Splice] = []
    for old in old where old.column < end {
      let new = cells[old.column] ?? .missing
      guard old.cell != bytes(of: new) else { continue }
      let field = try field(
        new, old.column, replacing: old.field, near: [number - 1, number + 1])
      splices.append(.init(old.place, field))
    }
    if end < count { splices.append(.init(kept..<span.content.upperBound, [])) }
    let beyond = cells.keys.filter { $0 >= count && !isMissing($0) }.max()
    if let beyond {
      guard end == count else {
        throw TableError(
          .constraint, "a cell before others cannot be missing; set it to empty text")
      }
      var added: [UInt8] = []
      for column in count...beyond {
        added.append(delimiter)
        added += try field(cells[column] ?? .text([]), column, near: [number - 1, number + 1])
      }
      splices.append(.init(span.content.upperBound..<span.content.upperBound, added))
    }
    return splices
  }

  /// A cell as the file has it, but for quotes; nil if it is missing.
  private func bytes(of cell: Cell) -> [UInt8]? {
    switch cell {
    case .missing: nil
    case .text(let text): text
    default: Array(cell.description.utf8)
    }
  }

  private func field(
    _ cell: Cell, _ column: Int, replacing old: [UInt8]? = nil, near neighbours: [Int]
  ) throws(TableError) -> [UInt8] {
    guard let bytes = bytes(of: cell) else {
      throw TableError(
        .constraint, "a cell before others cannot be missing; set it to empty text",
        column: column)
    }
    if case .real(let number) = cell, !number.isFinite {
      throw TableError(
        .constraint, "\(columns[column].name) must be a finite number", column: column)
    }
    let fields = Fields(text.rules)
    var isQuoted = old.flatMap { $0.withUnsafeBytes { fields.isQuoted($0) } }
    for neighbour in neighbours where isQuoted == nil && neighbour >= 0 {
      guard let page = try reader.page(with: neighbour) else { continue }
      isQuoted = text.bounds(column, page, neighbour).flatMap {
        fields.isQuoted(page.part($0))
      }
    }
    return try fields.field(bytes, isQuoted: isQuoted ?? false)
  }

  // Reading back

  func checkReads(_ bytes: any ByteSource) throws(TableError) {
    let new = try DelimitedText(bytes, options, cancel: cancel)
    // A header without a line end may have got one.
    guard new.isAsStored, new.decoded.start == text.decoded.start, new.rules == text.rules,
      text.start...text.start + 2 ~= new.start
    else {
      throw TableError(
        .constraint,
        "the file would be read by other rules then; say which with -o delimiter, -o header, -o encoding"
      )
    }
    let names = zip(new.columns, text.columns).allSatisfy { $0.name == $1.name }
    guard names else {
      throw TableError(.constraint, "the columns would have other names then")
    }
  }

  func check(_ page: RecordPage, has cells: [Int: Cell]) throws(TableError) {
    for (column, cell) in cells {
      guard text.cell(column, page, 0) == bytes(of: cell) else {
        throw TableError(
          .constraint, "the cell would not read back as it was set; nothing was changed",
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
