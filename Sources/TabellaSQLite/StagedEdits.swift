import Tabella

/// The edits of a transaction, before its commit.
///
/// Rows of the table have their paths in the version that the transaction edits. Inserted rows have numbers. A list of
/// steps allows to go back to any earlier state.
struct StagedEdits {
  /// A row that the transaction inserted.
  struct Inserted {
    var section: Int
    var cells: [Int: Cell]
  }

  /// The state of a row before a step.
  private enum Step {
    case row(IndexPath, cells: [Int: Cell]?, isDeleted: Bool)
    case inserted(Int, Inserted?)
  }

  /// The cells that were set, by row.
  private(set) var cells: [IndexPath: [Int: Cell]] = [:]
  private(set) var deleted: Set<IndexPath> = []
  private(set) var inserted: [Int: Inserted] = [:]
  private var steps: [Step] = []

  var isEmpty: Bool { cells.isEmpty && deleted.isEmpty && inserted.isEmpty }

  /// The number of steps, as the name of the present state.
  var state: Int { steps.count }

  /// Goes back to an earlier state.
  mutating func goBack(to state: Int) {
    while steps.count > state, let step = steps.popLast() {
      switch step {
      case .row(let path, let old, let wasDeleted):
        cells[path] = old
        if wasDeleted { deleted.insert(path) } else { deleted.remove(path) }
      case .inserted(let number, let old): inserted[number] = old
      }
    }
  }

  mutating func set(_ path: IndexPath, _ new: [Int: Cell]) {
    note(path)
    cells[path, default: [:]].merge(new) { $1 }
  }

  mutating func delete(_ path: IndexPath) {
    note(path)
    cells[path] = nil
    deleted.insert(path)
  }

  private mutating func note(_ path: IndexPath) {
    steps.append(.row(path, cells: cells[path], isDeleted: deleted.contains(path)))
  }

  /// Adds, changes or, with nil, removes an inserted row.
  mutating func replaceInserted(_ number: Int, by row: Inserted?) {
    steps.append(.inserted(number, inserted[number]))
    inserted[number] = row
  }

  /// The inserted rows of a section, in the order of their insertion.
  func insertedRows(inSection section: Int) -> [(number: Int, row: Inserted)] {
    inserted.filter { $0.value.section == section }.sorted { $0.key < $1.key }
      .map { (number: $0.key, row: $0.value) }
  }
}
