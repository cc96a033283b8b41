import Tabella

/// Prints the rows of a followed table, and then its changes.
///
/// The methods that throw any error throw ``Failure`` for the output, and ``TableError`` for the source. After an error
/// with the code `.conflict`, the rows that were not printed are printed after the next changes.
protocol ChangePrinter {
  /// Whether changes need the ids of rows that are gone.
  var needsOldIDs: Bool { get }
  /// Begins the format, and prints the rows in a range.
  mutating func begin(_ range: Range<Int>) throws(Failure)
  /// Prints changes. The source already shows the version after them.
  mutating func print(_ changes: TableFollower.Changes) throws
  /// Notes changes that are printed later.
  mutating func note(_ plan: BatchPlan, _ changes: [ChangeBatch.Change])
  /// Notes that any row may have changed. Returns false if the changes cannot be printed later.
  mutating func noteAll() -> Bool
}

/// Prints rows that arrive, and no other changes.
struct ArrivalPrinter: ChangePrinter {
  /// The maximum number of rows per request.
  private static let chunk = 1 << 12

  private let shown: ShownTable
  private let output: Output
  private var format: ArrivingFormat
  private var facts: RowFacts?
  /// The only section to print, by its name and its present number.
  private let section: SectionArgument?
  private var number: Int?
  /// The rows to print, in ascending order.
  private var owed: [IndexPath] = []

  init(_ format: any Format, _ shown: ShownTable, section: SectionArgument?, _ output: Output) {
    self.format = ArrivingFormat(format)
    self.shown = shown
    self.section = section
    self.output = output
    number = shown.table.section
  }

  var needsOldIDs: Bool { false }
  private var source: any TableDataSource { shown.table.source }

  mutating func begin(_ range: Range<Int>) throws(Failure) {
    try format.begin(shown)
    var viewer = Viewer(shown, range, output)
    var inner: any Format = format
    let failure = try viewer.show(in: &inner)
    if let inner = inner as? ArrivingFormat { format = inner }
    if let failure { throw failure }
    try format.pause()
  }

  mutating func note(_ plan: BatchPlan, _ changes: [ChangeBatch.Change]) {
    format.renumber(plan)
    var rows = owed.compactMap { plan.path(of: $0) }
    for change in changes {
      switch change {
      case .insert(let path): rows.append(path)
      case .reload(let path): if let path = plan.path(of: path) { rows.append(path) }
      case .delete, .move, .reconfigure: break
      }
    }
    owed = rows.ascending
  }

  mutating func noteAll() -> Bool { false }

  mutating func print(_ changes: TableFollower.Changes) throws {
    guard !changes.list.isEmpty || !owed.isEmpty else { return }
    if !changes.list.isEmpty {
      let plan = try changes.batch.plan(before: KnownCounts())
      note(plan!, changes.list)
      if let section, changes.list.contains(where: \.isOfSection) {
        number = try? source.number(of: section)
      }
    }
    try expandSections()
    if section != nil { owed.removeAll { [number] in $0.section != number } }
    if facts == nil { facts = try RowFacts(of: shown, for: format, output.screen) }
    try facts?.forget()
    try printOwed()
    try format.pause()
  }

  /// Replaces new sections by their rows.
  private mutating func expandSections() throws(TableError) {
    let sections = owed.filter(\.isSection)
    guard !sections.isEmpty else { return }
    var rows: [IndexPath] = []
    for path in sections {
      let count = try source.exactNumberOfRows(inSection: path.section)
      rows += (0..<count).map { IndexPath(section: path.section, row: $0) }
    }
    owed = (owed.filter { !$0.isSection } + rows).ascending
  }

  private mutating func printOwed() throws {
    guard var facts else { return }
    defer { self.facts = facts }
    var rest = owed[...]
    defer { owed = Array(rest) }
    while !rest.isEmpty {
      let paths = Array(rest.prefix(Self.chunk))
      let batch = try source.gather(
        paths, columns: facts.columns, includesIDs: facts.includesIDs)
      for rows in Array(paths.prefix(batch.rowCount)).runs {
        let first = paths[rows.lowerBound]
        format.beginSection(try facts.section(first.section, .atLeast(0)))
        try format.write(try facts.rows(batch[rows], at: first, shownAt: first))
      }
      rest.removeFirst(batch.rowCount)
    }
  }
}

extension [IndexPath] {
  /// The paths in ascending order, each once.
  fileprivate var ascending: [IndexPath] {
    var paths: [IndexPath] = []
    paths.reserveCapacity(count)
    for path in sorted() where path != paths.last { paths.append(path) }
    return paths
  }

  /// The ranges of indices whose paths are consecutive rows of one section.
  var runs: [Range<Int>] {
    var runs: [Range<Int>] = []
    for index in indices {
      if let last = runs.last, self[index - 1].section == self[index].section,
        self[index - 1].row + 1 == self[index].row
      {
        runs[runs.count - 1] = last.lowerBound..<index + 1
      } else {
        runs.append(index..<index + 1)
      }
    }
    return runs
  }
}
