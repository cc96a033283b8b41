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
  /// The number of deleted rows that the batch lists.
  private(set) var removedCount = 0

  /// No marks.
  init() {}

  /// The marks of changes. Throws ``TableError`` with `.misbehaved` if no table can have such changes.
  init(_ changes: [ChangeBatch.Change]) throws(TableError) {
    guard
      let plan = try ChangeBatch(from: nil, to: nil, changes: changes).plan(before: KnownCounts())
    else { return }
    for change in changes {
      switch change {
      case .insert(let path) where path.isSection: newSections.insert(path.section)
      case .insert(let path): inserted.insert(path)
      case .delete(let path): if !path.isSection { removedCount += 1 }
      case .reload(let path) where path.isSection:
        if let section = plan.sectionAfter(of: path.section) { newSections.insert(section) }
      case .reload(let path), .reconfigure(let path):
        // An edited line of a file is another row at the same position.
        if let path = plan.path(of: path), !path.isSection { changed.insert(path) }
      case .move: break
      }
    }
  }

  /// The mark of a row, by its path in the new version.
  subscript(path: IndexPath) -> RowMark? {
    if inserted.contains(path) || newSections.contains(path.section) { return .inserted }
    return changed.contains(path) ? .changed : nil
  }

  var insertedCount: Int { inserted.count }
  var changedCount: Int { changed.count }
}
