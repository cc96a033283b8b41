import Tabella

/// The rows that the options of a command line choose in a shaped table: one run of rows per section
/// that `show` prints, in its order.
struct ChosenRows {
  /// Consecutive rows of one section of the table.
  struct Run: Hashable {
    let section: Int
    let rows: Range<Int>
  }

  private let source: any TableDataSource
  private let section: Int?
  private let start: IndexPath
  private let perSection: Int?
  /// Row numbers across all sections, from the start.
  private let range: Range<Int>

  init(_ table: ShapedTable, range: Range<Int>) {
    source = table.source
    section = table.section
    start = table.start
    perSection = table.perSection
    self.range = range
  }

  /// Whether every row of the table is chosen.
  var isEverything: Bool {
    section == nil && start == IndexPath(section: 0, row: 0) && perSection == nil
      && range == 0..<Int.max
  }

  /// The number of chosen rows. It counts all sections that are shown.
  fileprivate func count() throws(TableError) -> Int {
    var (count, iterator) = (0, makeIterator())
    while let run = try iterator.run() { count += run.rows.count }
    return count
  }

  /// The runs in order. The iterator counts a section when it reaches it, and only as far as the options
  /// choose rows there.
  func makeIterator() -> Iterator { Iterator(self) }

  struct Iterator {
    private let chosen: ChosenRows
    private var next: Int?
    /// The number of rows in the sections before, chosen or not.
    private var position = 0
    /// The number of sections; nil until it is known exactly.
    private var sectionCount: Int?

    fileprivate init(_ chosen: ChosenRows) {
      self.chosen = chosen
      next = chosen.section ?? chosen.start.section
    }

    private mutating func hasSection(_ number: Int) throws(TableError) -> Bool {
      if let sectionCount { return number < sectionCount }
      let count = try chosen.source.numberOfSections(knowing: number + 1)
      if count.isExact { sectionCount = count.value }
      return number < count.value
    }

    /// The next run; nil after the last one. Throws the errors of the table.
    mutating func run() throws(TableError) -> Run? {
      let (source, range) = (chosen.source, chosen.range)
      while let number = next, position < range.upperBound, try hasSection(number) {
        let skipped = number == chosen.start.section ? chosen.start.row : 0
        let most = chosen.perSection.map { skipped.advancedUp(by: $0) } ?? .max
        let first = skipped.advancedUp(by: max(0, range.lowerBound - position))
        // A range without an end asks for all rows, also behind other sections.
        let rest =
          range.upperBound == .max ? .max : range.upperBound - max(position, range.lowerBound)
        let end = min(most, first.advancedUp(by: rest))
        let known =
          end == .max
          ? try source.exactNumberOfRows(inSection: number)
          : try source.numberOfRows(inSection: number, knowing: end).value
        let count = min(known, most)
        let isReached = position >= range.lowerBound || count > first
        position = position.advancedUp(by: max(0, count - skipped))
        next = number == chosen.section ? nil : number + 1
        if isReached { return Run(section: number, rows: first..<max(first, min(count, end))) }
      }
      return nil
    }
  }
}

extension Invocation {
  /// The same command line, with the last rows of a table as positions.
  func resolved(in table: ShapedTable) throws(Failure) -> Invocation {
    guard let lastRows else { return self }
    let count = try Failure.about(table.subject) { () throws(TableError) in
      try ChosenRows(table, range: 0..<Int.max).count()
    }
    var resolved = self
    resolved.rows = max(0, count - lastRows)...TableLimits.rows
    resolved.lastRows = nil
    return resolved
  }
}
