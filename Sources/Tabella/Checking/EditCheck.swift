/// The state of a source before an edit. It is used to verify the provider's report of the edit.
///
/// The provider is not trusted. Its report must fit the counts and versions before and after the edit. The edited
/// rows must have the reported cells. The check only uses counts that were already known, and reads only rows that
/// the edits name.
struct EditCheck {
  /// The maximum number of sections up to which all are checked. With more sections, only those in the edits are
  /// checked.
  private static let fewSections = 64
  /// The approximate maximum number of edited rows that are read again.
  private static let mostRows = 1000

  private let source: CheckedSource
  private let columnsBefore: [Column]
  /// The version before the edit; nil if the source failed to return it.
  private let version: Version??
  private let counts: KnownCounts

  init(_ source: CheckedSource, before batch: EditBatch) {
    self.source = source
    columnsBefore = source.columns
    version = knownVersion(of: source)
    guard !batch.isDryRun else {
      counts = KnownCounts()
      return
    }
    var needs = needsOfAll(EditCheck.fewSections, in: source)
    for edit in batch.edits {
      switch edit {
      case .set(.path(let path), _), .delete(.path(let path)), .move(.path(let path), _):
        needs.need(path)
      case .set, .delete, .move, .insert: break
      }
    }
    counts = (try? KnownCounts(of: source, knowing: needs)) ?? KnownCounts()
  }

  // The table as a whole.

  /// The plan of the changes; nil if the changes are not listed.
  ///
  /// Throws ``TableError`` with `.misbehaved` if the changes or the versions do not fit the source.
  @discardableResult
  func check(_ changes: ChangeBatch) throws(TableError) -> BatchPlan? {
    if let version, changes.from != version {
      throw lie("the edit led from version \(name(changes.from)), but it was \(name(version))")
    }
    if let now = knownVersion(of: source), changes.to != now {
      throw lie("the edit led to version \(name(changes.to)), but it is \(name(now))")
    }
    guard let plan = try changes.plan(before: counts) else { return nil }
    var needs: [Int: Int] = [:]
    for section in counts.rows.keys {
      if let now = plan.sectionAfter(of: section) { needs[now] = 0 }
    }
    for change in changes.changes ?? [] {
      switch change {
      case .insert(let path), .move(_, let path): needs.need(path)
      case .delete, .reload, .reconfigure: break
      }
    }
    if let after = try? KnownCounts(of: source, knowing: needs) {
      try plan.check(before: counts, after: after)
    }
    return plan
  }

  /// Verifies a refusal. Returns the error itself, or another one if the version changed in spite of the refusal.
  func judge(_ refusal: TableError) -> TableError {
    guard refusal.code != .misbehaved, let version, let now = knownVersion(of: source),
      now != version
    else { return refusal }
    return lie(
      "nothing was done (\(refusal.message)), but the version went from \(name(version)) to "
        + name(now))
  }

  /// Throws ``TableError`` with `.misbehaved` if the version changed in a dry run.
  func checkDryRun() throws(TableError) {
    guard let version, let now = knownVersion(of: source), now != version else { return }
    throw TableError(
      .misbehaved,
      "a dry run changed the table: the version went from \(name(version)) to \(name(now))")
  }

  // The edited rows.

  /// Verifies the cells of the edited rows.
  ///
  /// Throws ``TableError`` with `.misbehaved` if a set or inserted row has other cells, or if a row that was
  /// deleted by id still exists. A row that an id names now can be another one (``PassedIDs``). Outcomes with a message
  /// are not verified. If there are many edits, only about a thousand of them are verified, evenly distributed, because
  /// the caller has no receipt until the check ends.
  func checkRows(
    _ result: EditResult, of batch: EditBatch, _ plan: BatchPlan?
  ) throws(TableError) {
    let inserted = Set(
      (result.changes.changes ?? []).compactMap { change in
        if case .insert(let path) = change { path } else { nil }
      })
    lazy var passed = PassedIDs(source, result, of: batch, plan, comparing: sameColumns)
    lazy var isSmaller = hasFewerRows(after: result, of: batch)
    var expected: [IndexPath: ExpectedRow] = [:]
    let step = max(1, batch.edits.count / EditCheck.mostRows)
    for number in stride(from: 0, to: batch.edits.count, by: step) {
      let (edit, outcome) = (batch.edits[number], result.outcomes[number])
      guard outcome.code == nil else { continue }
      let isJudged = outcome.message == nil
      if edit.isOfSection, edit.givesTitle {
        if isJudged { try checkTitle(edit, plan, inserted) }
        continue
      }
      switch edit {
      case .set(let reference, let cells):
        guard let path = place(of: reference, outcome, plan) else { continue }
        if outcome.id == nil, isJudged, let id = reference.id, batch.edits.count > 1,
          !isSet(path, to: cells), passed.canHavePassed(id, fromEdit: number, to: path)
        {
          continue
        }
        expected[path, default: ExpectedRow(what: "row \(reference.text) was set")]
          .expect(cells, isJudged)
      case .insert(let path, let cells) where inserted.contains(path) && !path.isSection:
        // A source with its own order can put each of two inserted rows where the other one was expected.
        let named = outcome.id.flatMap { try? source.identity?.indexPath(forID: $0) } ?? path
        expected[
          inserted.contains(named) ? named : path,
          default: ExpectedRow(what: "row \(path) was inserted")
        ]
        .expect(cells, isJudged)
      case .delete(.id(let id)) where isJudged:
        guard let path = try? source.identity?.indexPath(forID: id), !isSmaller,
          !passed.canHavePassed(id, fromEdit: number, to: path)
        else { continue }
        throw lie("row id:\(id) was deleted, but it still exists")
      case .delete(.path(let path)) where isJudged:
        if let place = plan?.path(of: path) {
          throw lie("row \(path) was deleted, but according to the changes it is at \(place)")
        }
      case .insert, .delete, .move: break
      }
    }
    for (path, row) in expected.sorted(by: { $0.key < $1.key }) { try check(row, at: path) }
  }

  /// Throws if an inserted or renamed section does not have the requested title.
  private func checkTitle(
    _ edit: EditBatch.Edit, _ plan: BatchPlan?, _ inserted: Set<IndexPath>
  ) throws(TableError) {
    var section: Int?
    switch edit {
    case .insert(let path, _) where inserted.contains(path): section = path.section
    case .set(.path(let path), _): section = plan?.sectionAfter(of: path.section)
    default: break
    }
    guard let section else { return }
    let title: String?
    do throws(TableError) {
      title = try source.sections?.title(.header, ofSection: section)
    } catch {
      if error.code == .misbehaved, !error.isProviderGone { throw error }
      // If the title cannot be read, it cannot be verified.
      guard error.code == .notFound else { return }
      throw lie("section \(section) has a new title, but there is no section \(section)")
    }
    guard title != edit.title else { return }
    func text(_ title: String?) -> String {
      title.map { self.text(.text(Array($0.utf8))) } ?? "nothing"
    }
    throw lie(
      "section \(section) has a new title, but its title is \(text(title)), not \(text(edit.title))"
    )
  }

  /// The path of a row after the edits; nil if it cannot be determined.
  private func place(
    of reference: RowReference, _ outcome: EditResult.Outcome, _ plan: BatchPlan?
  ) -> IndexPath? {
    if let plan, case .path(let path) = reference {
      return path.isSection ? nil : plan.path(of: path)
    }
    guard let id = outcome.id ?? reference.id else { return nil }
    return try? source.identity?.indexPath(forID: id)
  }

  /// The columns that are as before. A column that has changed can show the same value in another form.
  private var sameColumns: Set<Int> {
    Set(
      zip(source.columns, columnsBefore).enumerated().compactMap { $1.0 == $1.1 ? $0 : nil })
  }

  /// Whether the row at a path has these cells.
  private func isSet(_ path: IndexPath, to cells: [Int: Cell]) -> Bool {
    (try? check(ExpectedRow(what: "", cells: cells), at: path)) != nil
  }

  private func check(_ row: ExpectedRow, at path: IndexPath) throws(TableError) {
    let columns = row.cells.keys.filter(sameColumns.contains).sorted()
    guard !columns.isEmpty else { return }
    let batch: Batch
    do throws(TableError) {
      batch = try source.rows(
        RowRequest(section: path.section, first: path.row, count: 1, columns: columns))
    } catch {
      if error.code == .misbehaved, !error.isProviderGone { throw error }
      // If the row cannot be read, it cannot be verified.
      guard error.code == .notFound else { return }
      throw lie("\(row.what), but there is no row \(path)")
    }
    guard batch.rowCount > 0 else { throw lie("\(row.what), but there is no row \(path)") }
    for (cell, column) in zip(batch.row(0), columns) {
      guard let wanted = row.cells[column], !cell.isSame(wanted) else { continue }
      throw lie(
        "\(row.what), but its \(source.columns[column].name) is \(text(cell)), not "
          + text(wanted))
    }
  }

  /// Whether the table has fewer rows than the insertions of a batch explain.
  ///
  /// If ids are made from content, the id of a deleted row can now belong to an equal row. If the number of rows is
  /// unknown, the new version must suffice.
  private func hasFewerRows(after result: EditResult, of batch: EditBatch) -> Bool {
    guard let old = counts.exactTotal,
      let new =
        (try? KnownCounts(
          of: source, knowing: needsOfAll(EditCheck.fewSections, in: source)))?.exactTotal
    else {
      guard let version, let later = knownVersion(of: source) else { return false }
      return later != version
    }
    let insertions = zip(batch.edits, result.outcomes).count { edit, outcome in
      if case .insert = edit { outcome.code == nil && !edit.isOfSection } else { false }
    }
    return new < old + insertions
  }

  // Texts.

  private func lie(_ what: String) -> TableError {
    TableError(.misbehaved, "reported that \(what)")
  }

  private func name(_ version: Version?) -> String { version.map { "\($0)" } ?? "none" }

  private func text(_ cell: Cell) -> String {
    if cell == .missing { return "nothing" }
    let text = "\(cell)"
    return "\"\(text.prefix(60))\(text.count > 60 ? "…" : "")\""
  }
}

/// The cells that an edited row must have.
private struct ExpectedRow {
  var what: String
  var cells: [Int: Cell] = [:]

  /// Adds the cells of an edit. Later edits of a batch replace the cells of earlier ones.
  mutating func expect(_ cells: [Int: Cell], _ isJudged: Bool) {
    for (column, cell) in cells {
      // An assignment of nil would store a missing cell.
      if isJudged { self.cells[column] = cell } else { self.cells.removeValue(forKey: column) }
    }
  }
}

/// The needs for the counts that a source knows of all its sections; empty if there are more than `most`.
private func needsOfAll(_ most: Int, in source: any TableDataSource) -> [Int: Int] {
  guard let sections = try? source.numberOfSections(knowing: 0), sections.isExact,
    sections.value <= most
  else { return [:] }
  return Dictionary(uniqueKeysWithValues: (0..<sections.value).map { ($0, 0) })
}

extension KnownCounts {
  /// The number of all rows; nil unless all counts are exact.
  fileprivate var exactTotal: Int? {
    guard sections.isExact, rows.count == sections.value, rows.values.allSatisfy(\.isExact) else {
      return nil
    }
    return rows.values.reduce(0) { $0 + $1.value }
  }
}

extension [Int: Int] {
  /// Requires that the row of a path is counted in its section.
  fileprivate mutating func need(_ path: IndexPath) {
    guard path.section >= 0 else { return }
    let rows = path.row < 0 ? 0 : path.row < .max ? path.row + 1 : path.row
    self[path.section] = Swift.max(self[path.section] ?? 0, rows)
  }
}

extension RowReference {
  fileprivate var id: String? { if case .id(let id) = self { id } else { nil } }

  fileprivate var text: String {
    switch self {
    case .path(let path): "\(path)"
    case .id(let id): "id:\(id)"
    }
  }
}

/// The version of a source; nil if it cannot be determined. A plain `try?` would not distinguish that from a source
/// without versions.
private func knownVersion(of source: any TableDataSource) -> Version?? {
  do { return .some(try source.version()) } catch { return nil }
}
