/// A record of the rows that a batch names, taken before the commit.
///
/// If the provider ends during the commit, the host uses the record to find out whether the batch was applied. It
/// contains ids, because a row keeps its id when its position changes.
struct CommitRecord {
  /// The maximum number of recorded edits. For more edits, the record would cost more than the commit.
  private static let mostEdits = 1000

  private let version: Version??
  private let isVolatile: Bool
  private let counts: KnownCounts
  /// The index path of each id before the commit, and the reverse.
  private var places: [String: IndexPath] = [:]
  private var ids: [IndexPath: String] = [:]

  init(_ source: any TableDataSource, before batch: EditBatch) {
    version = (try? source.version()).map { .some($0) } ?? nil
    isVolatile = source.hasVolatileOrder
    var needs: [Int: Int] = [:]
    for edit in batch.edits {
      if let section = edit.target?.section ?? edit.path?.section, section >= 0 {
        needs[section] = 0
      }
    }
    counts = (try? KnownCounts(of: source, knowing: needs)) ?? KnownCounts()
    guard batch.edits.count <= CommitRecord.mostEdits, let identity = source.identity else {
      return
    }
    for edit in batch.edits {
      if let id = edit.id {
        if let path = try? identity.indexPath(forID: id) { note(id, path) }
      } else if let path = edit.path, !path.isSection,
        let rows = try? source.rows(
          RowRequest(
            section: path.section, first: path.row, count: 1, columns: [], includesIDs: true)),
        rows.rowCount > 0, let id = rows.id(0)
      {
        note(id, path)
      }
    }
  }

  private mutating func note(_ id: String, _ path: IndexPath) {
    places[id] = path
    ids[path] = id
  }

  /// Determines whether the batch was applied, from the current data of the location.
  ///
  /// Equal versions mean the same rows, so that nothing was applied. For a volatile table this does not suffice,
  /// because its cells change without a new version. Otherwise the batch was applied if every row reads as the
  /// batch requests, and if the number of rows fits.
  func find(_ batch: EditBatch, in source: any TableDataSource) -> TableError.Aftermath {
    let isSameVersion =
      if case .some(.some(let before)) = version, let now = try? source.version() {
        now == before
      } else { false }
    if isSameVersion, !isVolatile { return .nothingDone }
    guard !batch.edits.isEmpty, batch.edits.count <= CommitRecord.mostEdits else {
      return .unknown
    }
    let plan = plan(of: batch)
    let findings = batch.edits.map { found($0, in: source, plan) }
    if findings.allSatisfy({ $0 == .done }), plan.map({ fits($0, source) }) ?? isVolatile {
      return .done
    }
    // A different version means that someone changed the data, so the result is uncertain.
    if findings.allSatisfy({ $0 == .nothingDone }), isVolatile, !batch.canPassIDs {
      return .nothingDone
    }
    return .unknown
  }

  /// The plan of the new positions; nil if it cannot be computed.
  private func plan(of batch: EditBatch) -> BatchPlan? {
    let changes = try? batch.changes { id throws(TableError) in
      guard let path = places[id] else { throw TableError(.notFound, "no row id:\(id)") }
      return path
    }
    guard let changes else { return nil }
    return (try? ChangeBatch(from: nil, to: nil, changes: changes).plan(before: counts)) ?? nil
  }

  private func fits(_ plan: BatchPlan, _ source: any TableDataSource) -> Bool {
    var needs: [Int: Int] = [:]
    for section in counts.rows.keys {
      if let now = plan.sectionAfter(of: section) { needs[now] = 0 }
    }
    guard let after = try? KnownCounts(of: source, knowing: needs) else { return false }
    return (try? plan.check(before: counts, after: after)) != nil
  }

  /// Whether one edit was applied.
  private func found(
    _ edit: EditBatch.Edit, in source: any TableDataSource, _ plan: BatchPlan?
  ) -> TableError.Aftermath {
    let before = edit.path ?? edit.id.flatMap { places[$0] }
    let id = edit.id ?? edit.path.flatMap { ids[$0] }
    let now = id.flatMap { try? source.identity?.indexPath(forID: $0) }
    switch edit {
    case .insert(let path, let cells):
      if path.isSection || isVolatile { return .unknown }
      return reads(source, path, cells) ? .done : .nothingDone
    case .set(.path(let path), _) where path.isSection:
      guard let now = plan?.sectionAfter(of: path.section),
        let title = try? source.sections?.title(.header, ofSection: now)
      else { return .unknown }
      return title == edit.title ? .done : .unknown
    case .set(_, let cells):
      // The row can have another id now, and another row its id. A row of a volatile table has no fixed position.
      let planned = isVolatile ? nil : before.flatMap { plan?.path(of: $0) }
      let paths = [now, planned].compactMap { $0 }
      guard !paths.isEmpty else { return .unknown }
      return paths.contains { reads(source, $0, cells) } ? .done : .nothingDone
    case .delete:
      guard id != nil, source.identity != nil else { return .unknown }
      // The deleted object can exist for another moment, or can exist again under the same name.
      return now == nil ? .done : .nothingDone
    case .move(_, let target):
      guard let now, !isVolatile else { return .unknown }
      return now == target ? .done : .nothingDone
    }
  }

  private func reads(
    _ source: any TableDataSource, _ path: IndexPath, _ cells: [Int: Cell]
  ) -> Bool {
    let columns = cells.keys.sorted()
    guard columns.allSatisfy(source.columns.indices.contains),
      let rows = try? source.rows(
        RowRequest(section: path.section, first: path.row, count: 1, columns: columns)),
      rows.rowCount == 1
    else { return false }
    return zip(rows.row(0), columns).allSatisfy { $0 == cells[$1] }
  }
}

extension EditBatch {
  /// Whether an id of an edited row can belong to another row after the batch: one that is inserted, set or moved.
  fileprivate var canPassIDs: Bool {
    edits.count > 1
      && edits.contains { if case .delete = $0 { false } else { true } }
  }
}

extension EditBatch.Edit {
  /// The path by which the edit names its row; nil if it names none or uses an id.
  fileprivate var path: IndexPath? {
    switch self {
    case .set(.path(let path), _), .delete(.path(let path)), .move(.path(let path), _): path
    default: nil
    }
  }

  fileprivate var id: String? {
    switch self {
    case .set(.id(let id), _), .delete(.id(let id)), .move(.id(let id), _): id
    default: nil
    }
  }

  fileprivate var target: IndexPath? {
    switch self {
    case .insert(let path, _), .move(_, let path): path
    default: nil
    }
  }
}

extension TableError {
  /// The same error, with the result of the edit.
  func settled(_ aftermath: Aftermath) -> TableError {
    var error = self
    error.aftermath = aftermath
    let outcome =
      switch aftermath {
      case .nothingDone: "; nothing was done: the table is unchanged"
      case .done: "; the edit was made, but it cannot be undone because there is no receipt"
      case .unknown:
        "; it is not known whether the edit was made; read the table before you repeat it"
      }
    error.message += outcome
    return error
  }
}
