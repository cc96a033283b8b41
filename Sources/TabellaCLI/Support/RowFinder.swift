import Tabella

/// Finds rows by their positions and ids among those that the options of a command line choose.
struct RowFinder {
  private let source: any TableDataSource
  private let chosen: ChosenRows
  /// The runs of rows that were read so far, and the iterator over the next ones.
  private var runs: [ChosenRows.Run] = []
  private var nextRuns: ChosenRows.Iterator
  /// The sections with each title, as ``bytewise(_:)`` gives it. They are read when a second title is looked for.
  private var titled: [String: [Int]]?
  private var hasSoughtTitle = false

  init(source: any TableDataSource, chosen: ChosenRows) {
    self.source = source
    self.chosen = chosen
    nextRuns = chosen.makeIterator()
  }

  /// The number of the section that an argument names; throws like ``TableDataSource/number(of:)``.
  mutating func number(of section: SectionArgument) throws(TableError) -> Int {
    guard case .title(let title) = section else { return try source.number(of: section) }
    guard hasSoughtTitle else {
      hasSoughtTitle = true
      return try source.number(of: section)
    }
    if titled == nil { titled = try source.sectionsByTitle() }
    if let found = titled?[bytewise(title)], found.count == 1 { return found[0] }
    return try source.number(of: section)
  }

  /// The shown rows of a section. If no option hides rows, the run reaches at least up to a number.
  mutating func run(
    _ section: SectionArgument?, upTo row: Int
  ) throws(TableError) -> ChosenRows.Run {
    if chosen.isEverything {
      let number = try section.map { section throws(TableError) in
        // Counting the rows of the section detects a wrong number.
        if case .number(let number) = section { return number }
        return try self.number(of: section)
      }
      let count = try source.numberOfRows(inSection: number ?? 0, knowing: row + 1)
      return ChosenRows.Run(section: number ?? 0, rows: 0..<count.value)
    }
    switch section ?? .number(0) {
    case .number(let number):
      while runs.count <= number {
        guard let run = try nextRuns.run() else {
          throw TableError(
            .notFound,
            "there is no section \(number) among the \(runs.count) sections that these options show"
          )
        }
        runs.append(run)
      }
      return runs[number]
    case .title:
      let number = try number(of: section!)
      guard let run = try run(ofSection: number) else {
        throw TableError(.notFound, "these options do not show section \(number)")
      }
      return run
    }
  }

  /// The shown rows of a section of the table; nil if none are shown.
  private mutating func run(ofSection number: Int) throws(TableError) -> ChosenRows.Run? {
    while runs.last?.section ?? -1 < number, let run = try nextRuns.run() { runs.append(run) }
    let index = runs.partitioningIndex { $0.section >= number }
    return index < runs.count && runs[index].section == number ? runs[index] : nil
  }

  /// Finds the row that an argument names. The argument must name one row.
  mutating func path(of argument: RowArgument) throws(TableError) -> IndexPath {
    switch argument {
    case .place(let section, let row): return try path(ofRow: row, in: section)
    case .id(let id): return try path(forID: id)
    case .rows, .end, .section:
      throw TableError(.invalidArgument, "the name of one row is expected")
    }
  }

  /// Finds the row with a number in a section.
  mutating func path(
    ofRow row: Int, in section: SectionArgument?
  ) throws(TableError) -> IndexPath {
    let run = try run(section, upTo: row)
    guard row < run.rows.count else {
      var error = TableError.noRow(row, inSection: run.section, of: run.rows.count)
      error.message += ", counted from 0"
      if source.identity != nil { error.message += "; row names are positions and id:ID" }
      throw error
    }
    return IndexPath(section: run.section, row: run.rows.lowerBound + row)
  }

  /// Finds the row with an id; throws if the options do not show it.
  mutating func path(forID id: String) throws(TableError) -> IndexPath {
    guard let identity = source.identity else {
      throw TableError(.notSupported, "the rows have no ids")
    }
    let path = try identity.indexPath(forID: id)
    guard !chosen.isEverything else { return path }
    guard try run(ofSection: path.section)?.rows.contains(path.row) == true else {
      throw TableError(.notFound, "row id:\(id) is not among the rows that these options show")
    }
    return path
  }
}
