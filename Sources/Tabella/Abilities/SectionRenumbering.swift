/// The numbers of sections before and after a batch.
///
/// A section that a user names keeps its rows, whatever number it gets. So its old number leads to its new one.
package struct SectionRenumbering {
  private let changes: [ChangeBatch.Change]
  /// Nil if no section is inserted, deleted or moved.
  private let plan: BatchPlan?

  /// `changes` are the insertions, deletions and moves of sections. Throws the errors of ``BatchPlan``.
  package init(
    _ changes: [ChangeBatch.Change], of source: any TableDataSource
  ) throws(TableError) {
    self.changes = changes
    plan = changes.isEmpty ? nil : try BatchPlan(changes, of: source)
  }

  /// The number of a section after the batch. Throws ``TableError`` with `.invalidArgument` if the batch deletes it.
  package func after(_ section: Int) throws(TableError) -> Int {
    guard let number = survivor(section) else {
      throw TableError(
        .invalidArgument, "section \(section) cannot take a row, because the batch deletes it")
    }
    return number
  }

  /// The number of a section after the batch; nil if the batch deletes it.
  package func survivor(_ section: Int) -> Int? {
    plan.map { $0.sectionAfter(of: section) } ?? section
  }

  /// The number before the batch of a section that is numbered as after it. Throws ``TableError`` with `.notFound` if
  /// there is no such section, and with `.invalidArgument` if the batch inserts it.
  package func before(_ section: Int) throws(TableError) -> Int {
    guard let sections = plan?.sections else { return section }
    switch sections.origin(of: section) {
    case .survivor(let section): return section
    case .arrival(let arrival):
      if case .move(let from, _) = changes[arrival.change] { return from.section }
      throw TableError(
        .invalidArgument,
        "section \(section) is new; insert it first, and its rows with another command")
    case nil: throw .noSection(section)
    }
  }
}
