/// The rows that can have an id which belonged to another row before the batch.
///
/// Ids that are made from keys pass on within a batch: it deletes the row `k` and inserts another row `k`, or it renames
/// `a` to `b` and `b` to `c`. The id then belongs to a row that another edit inserts, sets or moves, or that lies in a
/// section with a new title. The outcome of that edit has the id, or none.
struct PassedIDs {
  /// An edit that was done, without an id in its outcome.
  private struct Heir {
    var number: Int
    /// The path of its row after the batch; nil if it is not known.
    var path: IndexPath?
    /// Whether the batch brings the row to its path.
    var arrives: Bool
    /// The cells that its row must have.
    var cells: [Int: Cell]
    /// Whether the outcome promises these cells. With a message, it does not.
    let isJudged: Bool

    init(_ number: Int, _ edit: EditBatch.Edit, _ plan: BatchPlan?, isJudged: Bool) {
      self.number = number
      self.isJudged = isJudged
      switch edit {
      case .insert(_, let cells):
        // A source with its own order can put the row elsewhere.
        (path, arrives, self.cells) = (nil, true, cells)
      case .move, .delete: (path, arrives, cells) = (nil, true, [:])
      case .set(.path(let old), let cells):
        (path, arrives, self.cells) = (plan?.path(of: old), false, cells)
      case .set(.id, let cells): (path, arrives, self.cells) = (nil, false, cells)
      }
    }
  }

  /// The maximum number of heirs whose cells are compared. With more heirs, the comparison would cost more than the
  /// commit.
  private static let mostHeirs = 1000

  private let source: CheckedSource
  /// The edits that were done and report this id.
  private var named: [String: [Int]] = [:]
  private var unnamed: [Heir] = []
  /// The paths at which rows arrive; nil if the changes are not listed.
  private let arrivals: Set<IndexPath>?
  /// The sections with a new title, numbered as after the batch; nil if their numbers are not known.
  private var retitled: Set<Int>? = []
  /// The columns that some edit sets.
  private var columns: [Int] = []

  /// `columns` are the columns that still show a cell as before the batch.
  init(
    _ source: CheckedSource, _ result: EditResult, of batch: EditBatch, _ plan: BatchPlan?,
    comparing columns: Set<Int>
  ) {
    self.source = source
    arrivals = result.changes.changes.map { Set($0.compactMap(\.target)) }
    var set: Set<Int> = []
    for (number, (edit, outcome)) in zip(batch.edits, result.outcomes).enumerated()
    where outcome.code == nil {
      guard !edit.isOfSection else {
        if edit.givesTitle { retitle(edit, plan) }
        continue
      }
      if case .delete = edit { continue }
      if let id = outcome.id {
        named[id, default: []].append(number)
        continue
      }
      var heir = Heir(number, edit, plan, isJudged: outcome.message == nil)
      heir.cells = heir.isJudged ? heir.cells.filter { columns.contains($0.key) } : [:]
      set.formUnion(heir.cells.keys)
      unnamed.append(heir)
    }
    self.columns = set.sorted()
  }

  private mutating func retitle(_ edit: EditBatch.Edit, _ plan: BatchPlan?) {
    guard case .set(.path(let path), _) = edit else { return }
    guard let section = plan?.sectionAfter(of: path.section) else {
      retitled = nil
      return
    }
    retitled?.insert(section)
  }

  /// Whether the id of the row that edit `number` names can belong to another row now, the one at `path`.
  func canHavePassed(_ id: String, fromEdit number: Int, to path: IndexPath) -> Bool {
    if retitled.map({ $0.contains(path.section) }) ?? true { return true }
    if named[id, default: []].contains(where: { $0 != number }) { return true }
    let heirs = unnamed.filter { $0.number != number && canBe($0, at: path) }
    guard heirs.count <= PassedIDs.mostHeirs else { return true }
    guard heirs.contains(where: { !$0.cells.isEmpty }) else { return !heirs.isEmpty }
    guard
      let rows = try? source.rows(
        RowRequest(section: path.section, first: path.row, count: 1, columns: columns)),
      rows.rowCount == 1
    else { return false }
    let cells = Dictionary(uniqueKeysWithValues: zip(columns, rows.row(0)))
    return heirs.contains { heir in
      heir.cells.allSatisfy { column, cell in cells[column].map(cell.isSame) ?? false }
    }
  }

  private func canBe(_ heir: Heir, at path: IndexPath) -> Bool {
    if let known = heir.path { return known == path }
    // Without a path, only the cells tell which row was set.
    return heir.arrives
      ? arrivals?.contains(path) ?? true : !heir.cells.isEmpty || !heir.isJudged
  }
}

extension Cell {
  /// Whether two cells have the same value; NaN has the value of NaN.
  func isSame(_ other: Cell) -> Bool {
    if case .real(let left) = self, case .real(let right) = other, left.isNaN, right.isNaN {
      return true
    }
    return self == other
  }
}
