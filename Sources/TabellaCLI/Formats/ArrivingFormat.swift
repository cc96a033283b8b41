import Tabella

/// A format for rows that keep arriving in any section.
///
/// A section begins with its first row. It ends when a row of another section arrives, so more rows can follow until
/// then. After rows of another section, its title appears again. Sections without rows do not appear.
struct ArrivingFormat: Format {
  private var base: any Format
  /// The section of the rows that follow.
  private var next: ShownSection?
  /// The section that has begun. Its number is -1 if the table has it no more.
  private var open: ShownSection?
  private var hasRows = false

  init(_ base: any Format) { self.base = base }

  var needs: FormatNeeds { base.needs }
  var columnLimit: Int? { base.columnLimit }
  var shownColumnCount: Int? { base.shownColumnCount }
  var notes: [String] { base.notes }

  mutating func begin(_ table: ShownTable) throws(Failure) { try base.begin(table) }

  mutating func beginSection(_ section: ShownSection) { next = section }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    if let next, open?.number != next.number || open?.header != next.header {
      if let open { try base.endSection(open) }
      try base.beginSection(next)
      open = next
    }
    hasRows = true
    try base.write(rows)
  }

  /// Gives the begun section its number after a batch of changes.
  mutating func renumber(_ plan: BatchPlan) {
    guard let number = open?.number, number >= 0 else { return }
    open?.number = plan.sectionAfter(of: number) ?? -1
  }

  // A table whose first rows have not arrived has nothing to measure.
  mutating func pause() throws(Failure) { if hasRows { try base.pause() } }
}
