import Tabella

/// A format with an additional first column: the row's name for commands. The name is its id, or `SECTION:ROW` if rows
/// have no ids.
struct RowColumn: Format {
  static let column = Column("row")

  private var base: any Format
  private let namesIDs: Bool

  init(_ base: any Format, of source: any TableDataSource) {
    self.base = base
    namesIDs = source.identity != nil
  }

  var needs: FormatNeeds {
    // Badges and links belong to the first cell, which is now the row's name.
    base.needs.subtracting(.links).union(namesIDs ? .ids : [])
  }

  /// One column of the base shows the row names.
  var columnLimit: Int? { base.columnLimit.map { max(0, $0 - 1) } }
  var notes: [String] { base.notes }
  var shownColumnCount: Int? { base.shownColumnCount.map { max(0, $0 - 1) } }

  mutating func begin(_ table: ShownTable) throws(Failure) { try base.begin(table) }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try base.beginSection(section)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    var rows = rows
    rows.badges = nil
    let (batch, first) = (rows.batch, rows.first)
    rows.putFirst { [namesIDs] row in
      if namesIDs, let id = batch.id(row) { return "id:\(id)" }
      return "\(first.section):\(first.row + row)"
    }
    try base.write(rows)
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    try base.endSection(section)
  }

  mutating func pause() throws(Failure) { try base.pause() }

  mutating func end(failure: Failure?) throws(Failure) { try base.end(failure: failure) }
}
