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

  /// The edited rows of a section. All lists are ascending.
  struct Section {
    /// The numbers of the deleted rows.
    var deleted: [Int] = []
    /// The numbers of the rows with other cells.
    var changed: [Int] = []
    /// The numbers of the inserted rows, which are also their order.
    var inserted: [Int] = []

    var isEmpty: Bool { deleted.isEmpty && changed.isEmpty && inserted.isEmpty }
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
  /// The sections with edited rows.
  private(set) var sections: [Int: Section] = [:]
  private var steps: [Step] = []

  var isEmpty: Bool { sections.isEmpty }

  /// The number of steps, as the name of the present state.
  var state: Int { steps.count }

  /// Goes back to an earlier state.
  mutating func goBack(to state: Int) {
    while steps.count > state, let step = steps.popLast() {
      switch step {
      case .row(let path, let old, let wasDeleted): put(path, old, isDeleted: wasDeleted)
      case .inserted(let number, let old): putInserted(number, old)
      }
    }
  }

  mutating func set(_ path: IndexPath, _ new: [Int: Cell]) {
    note(path)
    put(path, (cells[path] ?? [:]).merging(new) { $1 }, isDeleted: deleted.contains(path))
  }

  mutating func delete(_ path: IndexPath) {
    note(path)
    put(path, nil, isDeleted: true)
  }

  /// Adds, changes or, with nil, removes an inserted row.
  mutating func replaceInserted(_ number: Int, by row: Inserted?) {
    steps.append(.inserted(number, inserted[number]))
    putInserted(number, row)
  }

  private mutating func note(_ path: IndexPath) {
    steps.append(.row(path, cells: cells[path], isDeleted: deleted.contains(path)))
  }

  /// Gives a row of the table another state.
  private mutating func put(_ path: IndexPath, _ new: [Int: Cell]?, isDeleted: Bool) {
    cells[path] = new
    if isDeleted { deleted.insert(path) } else { deleted.remove(path) }
    change(path.section) { section in
      section.changed.put(path.row, isMember: new != nil)
      section.deleted.put(path.row, isMember: isDeleted)
    }
  }

  private mutating func putInserted(_ number: Int, _ new: Inserted?) {
    guard let section = (new ?? inserted[number])?.section else { return }
    inserted[number] = new
    change(section) { $0.inserted.put(number, isMember: new != nil) }
  }

  private mutating func change(_ number: Int, _ body: (inout Section) -> Void) {
    body(&sections[number, default: Section()])
    if sections[number]?.isEmpty == true { sections[number] = nil }
  }
}

extension [Int] {
  /// Adds a number to an ascending list, or removes it.
  fileprivate mutating func put(_ number: Int, isMember: Bool) {
    let index = partitioningIndex { $0 >= number }
    let wasMember = index < count && self[index] == number
    if isMember, !wasMember { insert(number, at: index) }
    if !isMember, wasMember { remove(at: index) }
  }
}
