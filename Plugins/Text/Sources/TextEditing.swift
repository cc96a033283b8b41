import Tabella
import TabellaFiles

// Edits of lines, as splices of the file.

extension TextSource: RecordEditing {
  var editing: (any TableEditing)? { file.hasVersion ? self : nil }
  var moving: (any TableMoving)? { editing == nil ? nil : self }
  var undoing: (any TableUndoing)? { editing == nil ? nil : self }

  var recordsStart: (offset: Int, prefixEnd: LineEnd?) { (decoded.start, nil) }

  var sectionEditing: (any TableSectionEditing)? {
    sectioning == .headings && editing != nil ? self : nil
  }
  var sectionedRecords: (any SectionedRecords)? { sectioning == .headings ? self : nil }

  func checkEditable() throws(TableError) { try shownFile.checkEditable(decoded) }

  var keepsSections: Bool { sectioning == .none }

  func record(at path: IndexPath) throws(TableError) -> Int {
    guard sectioning != .none else { return path.row }
    return try lines(ofSection: path.section, knowing: path.row).lowerBound + path.row
  }

  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8] {
    try line(of: cells) ?? []
  }

  func splices(
    inRecord number: Int, setting cells: [Int: Cell]
  ) throws(TableError) -> [RecordPlan.Splice] {
    guard let line = try line(of: cells), let page = try reader.page(with: number),
      !page.bytes(of: number).elementsEqual(line)
    else { return [] }
    return [.init(page.span(of: number).content, line)]
  }

  /// Only lines can be edited: parts follow from the line.
  func editableColumns() -> [Bool]? {
    columns.count == 1 ? nil : columns.indices.map { $0 == 0 }
  }

  private func line(of cells: [Int: Cell]) throws(TableError) -> [UInt8]? {
    try check(setting: cells)
    if let part = cells.keys.filter({ $0 > 0 }).min() {
      throw TableError(
        .readOnly, "\(columns[part].name) is a part of the line; set line instead", column: part)
    }
    switch cells[0] {
    case nil: return nil
    case .text(let line):
      guard !line.contains(10), line.last != 13 else {
        throw TableError(.constraint, "a line cannot contain a line end", column: 0)
      }
      return line
    default: throw TableError(.constraint, "line must be text", column: 0)
    }
  }

  func checkReads(_ bytes: any ByteSource) throws(TableError) {
    guard try DecodedText(bytes, encoding: encoding).start == decoded.start else {
      throw TableError(.constraint, "the first line would be read as a byte order mark")
    }
  }

  func check(_ number: Int, of page: RecordPage, has cells: [Int: Cell]) throws(TableError) {
    guard try line(of: cells).map({ page.bytes(of: number).elementsEqual($0) }) ?? true else {
      throw TableError(
        .constraint, "the line would be read back with another value; nothing was changed",
        column: 0)
    }
  }
}
