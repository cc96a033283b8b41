import Tabella

/// The mark of a row that differs from the table before.
enum RowMark: Hashable {
  case inserted
  case changed
}

/// The marks of the rows after a batch of changes.
struct RowMarks {
  private var inserted: Set<IndexPath> = []
  private var changed: Set<IndexPath> = []
  /// The sections in which every row is new.
  private var newSections: Set<Int> = []
  /// The number of new rows, also of those in new sections.
  private(set) var insertedCount = 0
  /// The number of deleted rows, also of those in deleted sections.
  private(set) var removedCount = 0

  /// No marks.
  init() {}

  /// The marks of changes, with the number of rows of each section before and after them.
  ///
  /// Throws ``TableError`` with `.misbehaved` if no table can have such changes.
  init(
    _ changes: [ChangeBatch.Change], rowsBefore: [Int], rowsAfter: [Int]
  ) throws(TableError) {
    func count(_ counts: [Int], _ section: Int) -> Int {
      counts.indices.contains(section) ? counts[section] : 0
    }
    guard
      let plan = try ChangeBatch(from: nil, to: nil, changes: changes).plan(before: KnownCounts())
    else { return }
    for change in changes {
      switch change {
      case .insert(let path) where path.isSection: newSections.insert(path.section)
      case .insert(let path): inserted.insert(path)
      case .delete(let path):
        removedCount += path.isSection ? count(rowsBefore, path.section) : 1
      case .reload(let path) where path.isSection:
        removedCount += count(rowsBefore, path.section)
        if let section = plan.sectionAfter(of: path.section) { newSections.insert(section) }
      case .reload(let path), .reconfigure(let path):
        // An edited line of a file is another row at the same position.
        if let path = plan.path(of: path), !path.isSection { changed.insert(path) }
      case .move: break
      }
    }
    insertedCount = inserted.count + newSections.reduce(0) { $0 + count(rowsAfter, $1) }
  }

  /// The mark of a row, by its path in the new version.
  subscript(path: IndexPath) -> RowMark? {
    if inserted.contains(path) || newSections.contains(path.section) { return .inserted }
    return changed.contains(path) ? .changed : nil
  }

  var changedCount: Int { changed.count }
}
