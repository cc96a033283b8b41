/// The known numbers of sections and rows at one version of a table.
public struct KnownCounts: Hashable, Sendable {
  /// The number of sections.
  public var sections: Count
  /// The number of rows by section. Nothing is known of a section without an entry.
  public var rows: [Int: Count]

  /// Creates counts. Without arguments, nothing is known.
  public init(sections: Count = .atLeast(0), rows: [Int: Count] = [:]) {
    self.sections = sections
    self.rows = rows
  }

  /// Asks a source for the counts of some sections.
  ///
  /// The values of `rows` are the numbers of rows that the source must know at least. A value of 0 causes no work.
  public init(of source: any TableDataSource, knowing rows: [Int: Int]) throws(TableError) {
    sections = try source.numberOfSections(knowing: 0)
    self.rows = [:]
    for (section, minimum) in rows where sections.mayHave(section) {
      self.rows[section] = try source.numberOfRows(inSection: section, knowing: minimum)
    }
  }

}

extension ChangeBatch {
  /// The plan of the changes in a table with these counts; nil if the changes are not listed.
  ///
  /// Throws ``TableError`` with `.misbehaved` if a table with these counts cannot have such changes, by the rules
  /// of ``BatchPlan``. The time grows with the changes, not with the table.
  public func plan(before: KnownCounts) throws(TableError) -> BatchPlan? {
    guard let changes else { return nil }
    do throws(TableError) {
      return try BatchPlan(
        changes, numberOfSections: { before.sections.assumed(toReach: $0) },
        numberOfRows: { section, minimum throws(TableError) in
          guard before.sections.mayHave(section) else { throw .noSection(section) }
          return (before.rows[section] ?? .atLeast(0)).assumed(toReach: minimum)
        })
    } catch {
      throw misbehaviour(error.message)
    }
  }
}

extension BatchPlan {
  /// Throws ``TableError`` with `.misbehaved` if the changes cannot lead from the counts `before` to the counts
  /// `after`.
  ///
  /// The number of sections must be the old number plus the arrivals minus the departures. The same holds for the
  /// rows of each section that remains and is not reloaded. Unknown counts are not checked. The time grows with the
  /// changes and with the known sections.
  public func check(before: KnownCounts, after: KnownCounts) throws(TableError) {
    try ListPlan.check(sections, of: before.sections, became: after.sections, "sections")
    let named = Set(before.rows.keys).union(rows.keys).subtracting(reloadedSections)
    for section in named.sorted() {
      guard let now = sectionAfter(of: section), let found = after.rows[now] else { continue }
      try ListPlan.check(
        rows[section], of: before.rows[section] ?? .atLeast(0), became: found,
        "rows in section \(now)")
    }
  }
}

extension ListPlan {
  /// Throws if a plan does not turn a list of `before` elements into a list of `after` elements. Nil is the empty
  /// plan.
  fileprivate static func check(
    _ plan: ListPlan?, of before: Count, became after: Count, _ what: String
  ) throws(TableError) {
    guard after.isExact else { return }
    let expected = plan?.countAfter ?? before
    if let last = plan?.arrivals.last?.indexAfter, !after.mayHave(last) {
      throw misbehaviour(
        "something is inserted at position \(last), but there are \(after.value) \(what)")
    }
    guard !expected.isExact || expected.value == after.value else {
      throw misbehaviour("they lead to \(expected.value) \(what), but there are \(after.value)")
    }
  }
}

extension Count {
  fileprivate func mayHave(_ number: Int) -> Bool { number >= 0 && (!isExact || number < value) }

  /// An exact count as it is; otherwise a count of at least `minimum`.
  fileprivate func assumed(toReach minimum: Int) -> Count {
    isExact ? self : .atLeast(max(value, minimum))
  }
}

private func misbehaviour(_ what: String) -> TableError {
  TableError(.misbehaved, "the changes are not consistent: \(what)")
}
