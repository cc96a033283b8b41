import Tabella

/// A row as it was read.
struct EditedRow {
  var cells: [Cell]
  var id: String?

  /// A text that is equal for equal cells.
  var text: String { "\(cells)" }
}

/// An editable table, with its rows from the last reading.
final class EditedTable {
  static let rowLimit = 5000

  let source: any TableDataSource
  let editing: any TableEditing
  let open: () throws(TableError) -> any TableDataSource
  private let trial: Trial
  private(set) var rows: [[EditedRow]] = []

  init(
    _ trial: Trial, _ open: @escaping () throws(TableError) -> any TableDataSource
  ) throws {
    self.trial = trial
    self.open = open
    source = try open()
    guard let editing = source.editing else { throw Skipped(reason: "read-only") }
    self.editing = editing
    rows = try read(source)
  }

  var count: Int { rows.joined().count }

  /// The titles of all sections.
  func titles() throws -> [String?] {
    try rows.indices.map { try source.sections?.title(.header, ofSection: $0) }
  }

  func attempt(_ batch: EditBatch) throws -> Result<EditResult, TableError> {
    do throws(TableError) { return .success(try editing.commit(batch)) } catch {
      guard error.code != .misbehaved else { throw LawBroken("\(batch.edits): \(error.message)") }
      return .failure(error)
    }
  }

  func reread() throws -> [[EditedRow]] {
    rows = try read(source)
    return rows
  }

  func reopened() throws -> [[EditedRow]] { try read(try open()) }

  func expectUnchanged(_ what: String) throws {
    for (read, how) in [(try read(source), ""), (try reopened(), " when opened again")] {
      try require(same(rows, read), "\(what) changed the table\(how)")
    }
  }

  func read(_ source: any TableDataSource) throws -> [[EditedRow]] {
    try EditedTable.read(source, trial)
  }

  /// All rows of a table. Skips the law if there are too many.
  static func read(_ source: any TableDataSource, _ trial: Trial) throws -> [[EditedRow]] {
    var sections: [[EditedRow]] = []
    let hasIDs = source.identity != nil
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      let count = try source.numberOfRows(inSection: section, knowing: .max).value
      guard count <= EditedTable.rowLimit else {
        throw Skipped(
          reason:
            "a section has more than \(EditedTable.rowLimit) rows, and checks of edits read all rows: they need a smaller table"
        )
      }
      let cells = try trial.read(source, section: section, rows: 0..<count)
      let ids = hasIDs ? try trial.ids(source, section: section, rows: 0..<count) : []
      sections.append(
        cells.enumerated().map { EditedRow(cells: $1, id: hasIDs ? ids[$0] : nil) })
    }
    return sections
  }
}

func same(_ left: [[EditedRow]], _ right: [[EditedRow]]) -> Bool {
  left.count == right.count
    && zip(left, right).allSatisfy { sections in
      sections.0.count == sections.1.count
        && zip(sections.0, sections.1).allSatisfy { same($0.cells, $1.cells) && $0.id == $1.id }
    }
}
