import Tabella

/// A format with an additional first column: the title of the row's section.
struct SectionColumn: Format {
  static let column = Column("section")

  private var base: any Format
  private var title: String?

  init(_ base: any Format) { self.base = base }

  mutating func begin(_ table: ShownTable) throws(Failure) { try base.begin(table) }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    title = section.header
    try base.beginSection(section)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    var rows = rows
    rows.putFirst { [title] _ in title }
    try base.write(rows)
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    try base.endSection(section)
  }

  mutating func pause() throws(Failure) { try base.pause() }

  mutating func end(failure: Failure?) throws(Failure) { try base.end(failure: failure) }
}
