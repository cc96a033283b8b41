import Glibc
import Tabella
import TabellaSystem
import TabellaTerminal

/// The rows of a table as text for an editor: a line per row with its number and its cells.
///
/// Tabs separate the cells, which have the escapes of the format `plain`. The numbers count from 1 over all sections.
/// A line in front of the rows of each section has the section's number in brackets and its title. It is left out for
/// a table of one section without a title, unless sections can be inserted. Lines that begin with `#` are comments.
struct RowBuffer {
  /// A section and its rows in the table.
  struct Section {
    let run: ChosenRows.Run
    let title: String?
    /// The title in the buffer, with escapes; nil if there is none.
    var text: ArraySlice<UInt8> = []
    /// The number of rows of the sections in front of it.
    let firstRow: Int
  }

  /// The maximum size of the text.
  static let mostBytes = 64 << 20

  let table: ShapedTable
  let sections: [Section]
  let hasSectionLines: Bool
  /// The ids of all rows; nil if rows have no ids.
  let ids: [String]?
  /// For each row its cells in the buffer.
  let rows: [ArraySlice<UInt8>]
  /// The whole text.
  let text: [UInt8]
  /// For each shown column whether its cells can be changed.
  let isEditable: [Bool]

  /// The shown columns.
  var columns: [Column] { table.columns.map { table.source.columns[$0] } }

  /// The path of a row in the table.
  func path(ofRow row: Int) -> IndexPath {
    let number = section(ofRow: row)
    let section = sections[number]
    return IndexPath(
      section: section.run.section, row: section.run.rows.lowerBound + row - section.firstRow)
  }

  /// The index of the section of a row.
  func section(ofRow row: Int) -> Int {
    sections.partitioningIndex { $0.firstRow + $0.run.rows.count > row }
  }

  /// Writes rows of a table to a file.
  init(
    _ table: ShapedTable, _ chosen: ChosenRows, to file: BufferFile,
    help: (RowBuffer.Facts) -> [String]
  ) throws(Failure) {
    self.table = table
    let source = table.source
    var sections: [Section] = []
    let (editable, hasIDs) = try Failure.about(table.subject) { () throws(TableError) in
      var firstRow = 0
      var runs = chosen.makeIterator()
      while let run = try runs.run() {
        let title = try source.sections?.title(.header, ofSection: run.section)
        sections.append(Section(run: run, title: title, firstRow: firstRow))
        firstRow = firstRow.advancedUp(by: run.rows.count)
      }
      return (try source.editing?.editableColumns(), source.identity != nil)
    }
    let hasSectionLines =
      sections.count != 1 || sections[0].title != nil || source.sectionEditing != nil
    isEditable = table.columns.map { editable?[$0] ?? true }
    self.hasSectionLines = hasSectionLines
    let facts = Facts(
      names: ColumnNames(source.columns).names, shown: table.columns, isEditable: isEditable,
      hasSectionLines: hasSectionLines,
      count: sections.last.map { $0.firstRow + $0.run.rows.count } ?? 0)
    let writer = BufferWriter(file)
    for line in help(facts) { try writer.write(comment: line) }
    try writer.write(["#"] + table.columns.map { facts.names[$0] })
    var ids: [String] = []
    for (index, section) in sections.enumerated() {
      if hasSectionLines { try writer.write(["[\(index)]"] + (section.title.map { [$0] } ?? [])) }
      try Self.write(section, of: table, writer) { ids.append($0) }
    }
    try writer.finish()
    self.ids = hasIDs ? ids : nil
    let text = try file.content()
    self.text = text
    (self.sections, rows) = Self.lines(text, sections, hasSectionLines: hasSectionLines)
  }

  /// The facts that the comment at the top explains.
  struct Facts {
    let names: [String]
    let shown: [Int]
    let isEditable: [Bool]
    let hasSectionLines: Bool
    let count: Int
  }

  private static func write(
    _ section: Section, of table: ShapedTable, _ writer: BufferWriter, _ id: (String) -> Void
  ) throws(Failure) {
    let source = table.source
    var next = section.run.rows.lowerBound
    while next < section.run.rows.upperBound {
      let batch = try Failure.about(table.subject) { () throws(TableError) in
        let batch = try source.rows(
          RowRequest(
            section: section.run.section, first: next,
            count: min(section.run.rows.upperBound - next, 1 << 14), columns: table.columns,
            includesIDs: source.identity != nil))
        guard batch.rowCount > 0 else {
          throw .noRow(next, inSection: section.run.section, of: next)
        }
        return batch
      }
      let first = section.firstRow + next - section.run.rows.lowerBound
      var rows = ShownRows(batch: batch, first: IndexPath(section: 0, row: first))
      for row in 0..<batch.rowCount { if let name = batch.id(row) { id(name) } }
      rows.putFirst { "\(first + $0 + 1)" }
      try writer.write(rows)
      next += batch.rowCount
    }
  }

  /// The titles and cells in a text that was just written.
  private static func lines(
    _ text: [UInt8], _ sections: [Section], hasSectionLines: Bool
  ) -> ([Section], [ArraySlice<UInt8>]) {
    var sections = sections
    var titles = 0
    var rows: [ArraySlice<UInt8>] = []
    for line in text.split(separator: 10) where line.first != UInt8(ascii: "#") {
      let cells = line.drop { $0 != 9 }.dropFirst()
      if line.first == UInt8(ascii: "[") {
        sections[titles].text = cells
        titles += 1
      } else {
        rows.append(cells)
      }
    }
    return (sections, rows)
  }
}

/// Writes lines of cells to the file of a buffer.
private struct BufferWriter {
  private let output: Output
  private let file: BufferFile

  init(_ file: BufferFile) {
    self.file = file
    output = Output(descriptor: file.descriptor)
  }

  func write(_ rows: ShownRows) throws(Failure) {
    var format = SeparatedFormat(.plain, output)
    try format.write(rows)
    try output.flush()
    guard file.size <= RowBuffer.mostBytes else {
      throw .usage(
        "the rows are more than \(RowBuffer.mostBytes >> 20) MiB of text; choose fewer with --filter, --rows or -n"
      )
    }
  }

  func write(_ cells: [String]) throws(Failure) {
    let builder = BatchBuilder(cells.map { _ in .text })
    for (column, cell) in zip(builder.columns, cells) { column.append(cell) }
    try write(
      ShownRows(batch: builder.finish(), first: IndexPath(section: 0, row: 0)))
  }

  func write(comment: String) throws(Failure) {
    try output.write("# \(SafeText(comment))\n")
  }

  func finish() throws(Failure) { try output.finish() }
}
