import Tabella

/// A format with an additional first column: the number of the row in its source.
struct NumberColumn: Format {
  static let column = Column("number", .integer)

  private var base: any Format

  init(_ base: any Format) { self.base = base }

  // Links belong to the first cell, which is now the number.
  var needs: FormatNeeds { base.needs.subtracting(.links).union(.numbers) }
  /// One column of the base shows the numbers.
  var columnLimit: Int? { base.columnLimit.map { max(0, $0 - 1) } }
  var shownColumnCount: Int? { base.shownColumnCount.map { max(0, $0 - 1) } }
  var notes: [String] { base.notes }

  mutating func begin(_ table: ShownTable) throws(Failure) { try base.begin(table) }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try base.beginSection(section)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    var rows = rows
    rows.badges = nil
    let numbers = rows.numbers ?? []
    rows.putFirst(.integer) { .integer(Int64(numbers[$0])) }
    try base.write(rows)
  }

  mutating func pause() throws(Failure) { try base.pause() }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    try base.endSection(section)
  }

  mutating func end(failure: Failure?) throws(Failure) { try base.end(failure: failure) }
}
