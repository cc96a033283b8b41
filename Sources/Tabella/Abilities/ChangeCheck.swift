/// How many sections and rows a table has at one version, as far as that is known.
public struct KnownCounts: Hashable, Sendable {
  public var sections: Count
  /// The number of rows by section; of a section that is not here nothing is known.
  public var rows: [Int: Count]

  /// Without arguments: nothing is known.
  public init(sections: Count = .atLeast(0), rows: [Int: Count] = [:]) {
    self.sections = sections
    self.rows = rows
  }

  /// What a source knows of some sections now. For each it must know at least the number of rows that
  /// is given; 0 asks for no work.
  public init(of source: any TableDataSource, knowing rows: [Int: Int]) throws(TableError) {
    sections = try source.numberOfSections(knowing: 0)
    self.rows = [:]
    for (section, minimum) in rows where sections.mayHave(section) {
      self.rows[section] = try source.numberOfRows(inSection: section, knowing: minimum)
    }
  }

}

extension ChangeBatch {
  /// What the changes come to in a table of which so much was known; nil if they list nothing.
  ///
  /// Throws ``TableError`` with `.misbehaved` if they cannot be of such a table: ``BatchPlan`` has the
  /// rules. The time grows with the changes, not with the table.
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
      throw lie(error.message)
    }
  }
}

extension BatchPlan {
  /// Throws ``TableError`` with `.misbehaved` if the changes cannot lead from a table of some size to
  /// one of another.
  ///
  /// The sections, and the rows of each that remains and is not reloaded, are as many as before plus
  /// those that came minus those that went. What is not known is not judged. The time grows with the
  /// changes and the sections known.
  public func check(before: KnownCounts, after: KnownCounts) throws(TableError) {
    try ListPlan.check(sections, of: before.sections, became: after.sections, "sections")
    let named = Set(before.rows.keys).union(rows.keys).subtracting(reloadedSections)
    for section in named.sorted() {
      guard let now = place(ofSection: section), let found = after.rows[now] else { continue }
      try ListPlan.check(
        rows[section], of: before.rows[section] ?? .atLeast(0), became: found,
        "rows in section \(now)")
    }
  }
}

extension ListPlan {
  /// Throws if a list of so many elements does not become one of so many others by a plan, or by none.
  fileprivate static func check(
    _ plan: ListPlan?, of before: Count, became after: Count, _ what: String
  ) throws(TableError) {
    guard after.isExact else { return }
    let expected = plan?.countAfter ?? before
    if let last = plan?.arrivals.last?.place, !after.mayHave(last) {
      throw lie("something comes to place \(last), but there are \(after.value) \(what)")
    }
    guard !expected.isExact || expected.value == after.value else {
      throw lie("they lead to \(expected.value) \(what), but there are \(after.value)")
    }
  }
}

extension Count {
  fileprivate func mayHave(_ number: Int) -> Bool { number >= 0 && (!isExact || number < value) }

  /// The count; where it is not known, at least so many.
  fileprivate func assumed(toReach minimum: Int) -> Count {
    isExact ? self : .atLeast(max(value, minimum))
  }
}

private func lie(_ what: String) -> TableError {
  TableError(.misbehaved, "the changes make no sense: \(what)")
}
