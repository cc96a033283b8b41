import Tabella

// The laws of editing. They run only where the suite was given data to edit.

extension Law {
  static let dryRunsChangeNothing = Law(
    "dry-runs-change-nothing", "A dry run changes nothing and says what the edits would come to.",
    hint: "commit with the dry-run flag makes every check and stops before the first change"
  ) { trial in
    try trial.forEachCommit { table, batch in
      var batch = batch
      batch.isDryRun = true
      let dry = table.attempt(batch)
      try table.expectUnchanged("a dry run")
      batch.isDryRun = false
      let real = table.attempt(batch)
      switch (dry, real) {
      case (.success(let dry), .success(let real)):
        try require(
          dry.outcomes.map(\.code) == real.outcomes.map(\.code),
          "a dry run of \(batch.edits) said \(dry.outcomes), then came \(real.outcomes)")
      case (.failure, .failure): break
      case (.success, .failure(let error)):
        throw LawBroken("a dry run did \(batch.edits), which is refused: \(error)")
      case (.failure(let error), .success):
        throw LawBroken("a dry run refused \(batch.edits), which is done: \(error)")
      }
      return real
    }
  }

  static let editsReplay = Law(
    "edits-replay", "What a commit says that it changed leads from the old rows to the new.",
    hint: "changes name old places of what goes and new places of what comes; else answer reload"
  ) { trial in
    try trial.forEachCommit { table, batch in
      let before = table.rows
      let version = try table.source.version()
      let result = table.attempt(batch)
      guard case .success(let result) = result else {
        try table.expectUnchanged("a refused batch")
        return .failure(TableError(.constraint, "refused"))
      }
      try require(
        result.outcomes.count == batch.edits.count,
        "\(batch.edits.count) edits have \(result.outcomes.count) outcomes")
      let after = try table.reread()
      let now = try table.source.version()
      try require(
        result.changes.from == version && result.changes.to == now,
        "the changes lead from \(result.changes.from?.token ?? "none") to "
          + "\(result.changes.to?.token ?? "none"), not from \(version?.token ?? "none") to "
          + "\(now?.token ?? "none")")
      if batch.edits.allSatisfy(\.isDelete), result.outcomes.allSatisfy({ $0.code == nil }) {
        let (old, new) = (before.joined().count, after.joined().count)
        try require(
          new == old - batch.edits.count, "\(batch.edits) led from \(old) rows to \(new)")
      }
      try requireOthersStay(batch, result, from: before, to: after)
      try requireInserted(batch, result, from: before, to: after)
      try replay(result.changes, from: before, to: after)
      let anew = try table.reopened()
      try require(
        same(after, anew), "after \(batch.edits) the table opened anew has other rows")
      // Where order is volatile a version knows rows by their ids: their cells may differ.
      try require(
        same(before, after) || now == nil || now != version || table.source.hasVolatileOrder,
        "\(batch.edits) changed rows, and the version is \(version?.token ?? "none") as before")
      let opened = try table.open().version()
      try require(
        opened == now,
        "the version of the same rows opened anew is \(opened?.token ?? "none"), not "
          + "\(now?.token ?? "none")")
      return .success(result)
    }
  }

  static let staleVersionsConflict = Law(
    "stale-versions-conflict", "An edit sent with a version that is not the source's is refused.",
    hint: "commit compares the version that the batch names before anything else"
  ) { trial in
    try trial.forEachCommit { table, batch in
      guard let version = try table.source.version() else { throw Skipped(reason: "no versions") }
      for wrong in [Version("no-such-version"), Version("\(version.token.dropLast())")] {
        for isDryRun in [true, false] {
          let stale = EditBatch(batch.edits, version: wrong, isDryRun: isDryRun)
          try trial.expectRefusal("an edit of version \(wrong)", [.conflict]) {
            _ = try table.editing.commit(stale)
          }
          try table.expectUnchanged("an edit of version \(wrong)")
        }
      }
      var batch = batch
      batch.version = version
      let result = table.attempt(batch)
      _ = try table.reread()
      let now = try table.source.version()
      if case .success = result, now != version {
        try trial.expectRefusal("an edit of the version before", [.conflict]) {
          _ = try table.editing.commit(batch)
        }
        try table.expectUnchanged("an edit of the version before")
      }
      return result
    }
  }

  static let refusedEditsChangeNothing = Law(
    "refused-edits-change-nothing",
    "A batch that names what is not there, or anything twice, is refused and nothing of it is done.",
    hint: "judge the whole batch (BatchPlan does) before the first change"
  ) { trial in
    try trial.forEachCommit { table, batch in
      for bad in try trial.badEdits(table) {
        try trial.expectRefusal("the batch \(bad)", [.notFound, .invalidArgument]) {
          _ = try table.editing.commit(EditBatch(bad))
        }
        // Together with good edits other rules may be broken too.
        let codes: [TableError.Code] = [
          .notFound, .invalidArgument, .notSupported, .constraint, .readOnly,
        ]
        try trial.expectRefusal("the batch \(batch.edits + bad)", codes) {
          _ = try table.editing.commit(EditBatch(batch.edits + bad))
        }
      }
      for forbidden in try trial.forbiddenEdits(table) {
        let result = table.attempt(EditBatch([forbidden]))
        if case .success(let result) = result {
          try require(
            result.outcomes.first?.code != nil,
            "\(forbidden) is done, which was said not to be possible")
        }
      }
      try table.expectUnchanged("a refused batch")
      let result = table.attempt(batch)
      _ = try table.reread()
      return result
    }
  }

  static let setReadsBack = Law(
    "set-reads-back", "A cell that was set has the value that it was set to, and its row its id.",
    hint: "commit answers with an outcome that has a code for what was not done"
  ) { trial in
    let table = try trial.editedTable()
    var done = 0
    for _ in 0..<20 {
      guard let (path, column, cell) = try trial.drawSet(table) else { break }
      let batch = EditBatch([.set(.path(path), cells: [column: cell])])
      guard case .success(let result) = table.attempt(batch), result.outcomes.first?.code == nil
      else {
        try table.expectUnchanged("a refused batch")
        continue
      }
      done += 1
      let (before, old, count) = (table.rows, table.rows[path.section][path.row], table.count)
      if let id = result.outcomes[0].id, id != old.id {
        try require(
          !before.joined().contains { $0.id == id },
          "row \(path) was set, and its id is said to be \(id), which is another row's")
      }
      let rows = try table.reread()
      // It may stand elsewhere by now, in a sorted view for one, or be shown no longer.
      let candidates = rows.joined().filter { row in
        row.id == result.outcomes[0].id ?? old.id
      }
      try require(
        candidates.contains { same([$0.cells[column]], [cell]) }
          || table.count < count,
        "column \(column) of row \(path) was set to \(cell) and no row has it")
      guard let changes = result.changes.changes,
        let place = try? BatchPlan(changes, of: before).path(of: path)
      else { continue }
      let row = rows[place.section][place.row]
      try require(
        same([row.cells[column]], [cell]), "row \(path) has \(row.cells[column]), not \(cell)")
      if changes == [.reconfigure(path)] {
        try require(row.id == old.id, "the id of row \(path) changed when it was set")
      }
    }
    if done == 0 { throw Skipped(reason: "no cell could be set") }
  }

  static let undoRestores = Law(
    "undo-restores", "What was committed can be taken back as its receipt says, once, and wholly.",
    hint: "undo checks that the source is as the batch left it; else it is a conflict"
  ) { trial in
    guard try trial.editedTable().source.undoing != nil else { throw Skipped(reason: "no undo") }
    try trial.forEachCommit { table, batch in
      let before = table.rows
      let result = table.attempt(batch)
      let after = try table.reread()
      guard case .success(let done) = result, let receipt = done.receipt,
        let undoing = table.source.undoing
      else { return result }
      for bytes in [[], [0xFF], Array(receipt.dropLast()), receipt + [0x30]] where bytes != receipt
      {
        try trial.expectRefusal(
          "a damaged receipt", [.conflict, .invalidArgument, .notFound, .notSupported, .io]
        ) { _ = try undoing.undo(bytes, isDryRun: false) }
        try table.expectUnchanged("a damaged receipt")
      }
      _ = try undoing.undo(receipt, isDryRun: true)
      try table.expectUnchanged("a dry run of undo")
      _ = try undoing.undo(receipt, isDryRun: false)
      let restored = try table.reread()
      try require(
        same(before, restored), "undo of \(batch.edits) did not bring back the rows of before")
      let anew = try table.reopened()
      try require(same(before, anew), "after undo the table opened anew has other rows")
      if !same(before, after) {
        try trial.expectRefusal("a receipt that was used", [.conflict, .notFound]) {
          _ = try undoing.undo(receipt, isDryRun: false)
        }
        try table.expectUnchanged("a receipt that was used")
      }
      return result
    }
    // Undo is for another day: the source that gave the receipt is no more.
    let table = try trial.editedTable()
    guard let batch = try trial.drawBatch(table), case .success(let done) = table.attempt(batch),
      let receipt = done.receipt
    else { return }
    _ = try table.open().undoing?.undo(receipt, isDryRun: false)
    try require(
      same(table.rows, try table.reopened()),
      "undo of \(batch.edits) by a source opened anew did not bring back the rows of before")
  }
}

/// A row as it was read.
struct EditedRow {
  var cells: [Cell]
  var id: String?

  /// The same for the same cells.
  fileprivate var text: String { "\(cells)" }
}

/// A table that may be edited, and what was read of it last.
final class EditedTable {
  static let rowLimit = 5000

  let source: any TableDataSource
  let editing: any TableEditing
  let open: () throws(TableError) -> any TableDataSource
  private let trial: Trial
  private(set) var rows: [[EditedRow]] = []

  init(
    _ trial: Trial, _ open: @escaping () throws(TableError) -> any TableDataSource
  ) throws {
    self.trial = trial
    self.open = open
    source = try open()
    guard let editing = source.editing else { throw Skipped(reason: "read-only") }
    self.editing = editing
    rows = try read(source)
  }

  var count: Int { rows.joined().count }

  func attempt(_ batch: EditBatch) -> Result<EditResult, TableError> {
    do throws(TableError) { return .success(try editing.commit(batch)) } catch {
      return .failure(error)
    }
  }

  func reread() throws -> [[EditedRow]] {
    rows = try read(source)
    return rows
  }

  func reopened() throws -> [[EditedRow]] { try read(try open()) }

  func expectUnchanged(_ what: String) throws {
    for (read, how) in [(try read(source), ""), (try reopened(), " when opened anew")] {
      try require(same(rows, read), "\(what) changed the table\(how)")
    }
  }

  private func read(_ source: any TableDataSource) throws -> [[EditedRow]] {
    var sections: [[EditedRow]] = []
    let hasIDs = source.identity != nil
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      let count = try source.numberOfRows(inSection: section, knowing: .max).value
      guard count <= EditedTable.rowLimit else { throw Skipped(reason: "too many rows") }
      let cells = try trial.read(source, section: section, rows: 0..<count)
      let ids = hasIDs ? try trial.ids(source, section: section, rows: 0..<count) : []
      sections.append(
        cells.enumerated().map { EditedRow(cells: $1, id: hasIDs ? ids[$0] : nil) })
    }
    return sections
  }
}

func same(_ left: [[EditedRow]], _ right: [[EditedRow]]) -> Bool {
  left.count == right.count
    && zip(left, right).allSatisfy { sections in
      sections.0.count == sections.1.count
        && zip(sections.0, sections.1).allSatisfy { same($0.cells, $1.cells) && $0.id == $1.id }
    }
}

extension BatchPlan {
  /// The plan for changes of rows as they were read.
  fileprivate init(_ changes: [ChangeBatch.Change], of rows: [[EditedRow]]) throws(TableError) {
    try self.init(
      changes, numberOfSections: { _ in .exact(rows.count) },
      numberOfRows: { section, _ throws(TableError) in
        guard rows.indices.contains(section) else { throw .noSection(section) }
        return .exact(rows[section].count)
      })
  }
}

/// Throws unless every row that the batch does not name is there as it was: by its id, or by its cells.
private func requireOthersStay(
  _ batch: EditBatch, _ result: EditResult, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  let named = Set(batch.edits.compactMap { $0.reference })
  var left: [String: Int] = [:]
  for row in new.joined() { left[row.text, default: 0] += 1 }
  let ids = Set(new.joined().compactMap(\.id))
  var gone: [IndexPath] = []
  for (section, rows) in old.enumerated() {
    for (number, row) in rows.enumerated() {
      let path = IndexPath(section: section, row: number)
      guard !named.contains(.path(path)), row.id.map({ !named.contains(.id($0)) }) ?? true else {
        continue
      }
      if left[row.text, default: 0] > 0 {
        left[row.text, default: 0] -= 1
      } else if row.id.map({ !ids.contains($0) }) ?? true {
        gone.append(path)
      }
    }
  }
  try require(
    gone.isEmpty,
    "\(batch.edits) does not name row \(gone.first.map { "\($0)" } ?? ""), which is there no longer"
  )
}

/// Throws unless what was inserted is there, once more than before.
private func requireInserted(
  _ batch: EditBatch, _ result: EditResult, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  for (edit, outcome) in zip(batch.edits, result.outcomes) {
    guard case .insert(let path, let cells) = edit, outcome.code == nil, outcome.message == nil
    else {
      continue
    }
    func has(_ row: EditedRow) -> Bool {
      cells.allSatisfy { row.cells.indices.contains($0) && same([row.cells[$0]], [$1]) }
    }
    // A view may not show it.
    if let id = outcome.id, let row = new.joined().first(where: { $0.id == id }) {
      try require(has(row), "the inserted row \(id) is \(row), not \(cells)")
    }
    if result.changes.changes?.contains(.insert(path)) == true {
      let row =
        new.indices.contains(path.section) ? new[path.section].dropFirst(path.row).first : nil
      try require(
        row.map(has) == true, "\(cells) were inserted at \(path), where is \(row as Any)")
    }
  }
}

/// Throws unless the changes lead from the old rows to the new.
private func replay(
  _ batch: ChangeBatch, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  guard let changes = batch.changes else { return }
  let plan: BatchPlan
  do throws(TableError) { plan = try BatchPlan(changes, of: old) } catch {
    throw LawBroken("the changes \(changes) are not possible: \(error)")
  }
  // Nil where the changes say that anything may stand.
  var replayed: [[EditedRow?]?] = old.map { $0.map { $0 } }
  for (section, rows) in plan.rows {
    let list = old[section].map { Optional($0) }
    replayed[section] = rows.applied(to: list) { arrival in
      guard case .move(let from, _) = changes[arrival.change] else { return nil }
      return changes.contains(.reconfigure(from)) ? nil : old[from.section][from.row]
    }
  }
  for change in changes {
    switch change {
    case .reload(let path) where path.isSection: replayed[path.section] = nil
    case .reload(let path), .reconfigure(let path):
      guard !path.isSection, let row = plan.rows[path.section]?.place(of: path.row) else {
        continue
      }
      replayed[path.section]?[row] = nil
    default: break
    }
  }
  if let sections = plan.sections {
    let whole = replayed
    replayed = sections.applied(to: whole) { arrival in
      guard case .move(let from, _) = changes[arrival.change] else { return [] }
      return whole[from.section]
    }
  }
  try require(
    replayed.count == new.count, "the changes lead to \(replayed.count) sections, not \(new.count)")
  let heirs = Dictionary(
    new.joined().compactMap { row in row.id.map { ($0, row) } }, uniquingKeysWith: { row, _ in row }
  )
  for (section, pair) in zip(replayed, new).enumerated() {
    guard let rows = pair.0 else { continue }
    try require(
      rows.count == pair.1.count,
      "the changes \(changes) lead to \(rows.count) rows in section \(section), not \(pair.1.count)"
    )
    for (row, pair) in zip(rows, pair.1).enumerated() {
      guard let replayed = pair.0 else { continue }
      try require(
        same(replayed.cells, pair.1.cells),
        "row \(section):\(row) is \(pair.1), which the changes \(changes) do not say")
      // An id may say where a row stands, so that it ends with the version; it must not pass to
      // another row.
      guard let id = replayed.id, let heir = heirs[id] else { continue }
      try require(
        same(heir.cells, replayed.cells),
        "the id \(id) named \(replayed) and now names \(heir); an id must not pass to another row")
    }
  }
}

extension Trial {
  /// A table of its own to edit.
  func editedTable() throws -> EditedTable { try EditedTable(self, try scratch()) }

  /// Draws batches and has each tried; a law says nothing if all are refused.
  func forEachCommit(
    _ body: (EditedTable, EditBatch) throws -> Result<EditResult, TableError>
  ) throws {
    let table = try editedTable()
    var done = 0
    for _ in 0..<6 {
      guard let batch = try drawBatch(table) else { break }
      if case .success = try body(table, batch) { done += 1 }
      _ = try table.reread()
    }
    if done == 0 { throw Skipped(reason: "no edit could be made") }
  }

  /// A batch of edits that the source says can be made; nil if there are none.
  func drawBatch(_ table: EditedTable) throws -> EditBatch? {
    var paths = table.rows.enumerated().flatMap { section, rows in
      rows.indices.map { IndexPath(section: section, row: $0) }
    }
    var edits: [EditBatch.Edit] = []
    for _ in 0..<draw(1..<4) {
      guard !paths.isEmpty else { break }
      let path = paths.remove(at: draw(0..<paths.count))
      let rows = path.row..<path.row + 1
      let id = table.rows[path.section][path.row].id
      let reference = draw(0..<2) == 0 ? id.map { RowReference.id($0) } ?? .path(path) : .path(path)
      let style = try table.editing.editability(ofRows: rows, inSection: path.section)[0]
      if draw(0..<3) == 0, style.contains(.delete) {
        edits.append(.delete(reference))
      } else if let (_, column, cell) = try drawSet(table, of: path) {
        edits.append(.set(reference, cells: [column: cell]))
      }
    }
    if let arrival = try drawArrival(table, paths, edits) { edits.append(arrival) }
    return edits.isEmpty ? nil : EditBatch(edits)
  }

  /// A move or an insert besides other edits, its target counted as all of them leave the table; or nil.
  private func drawArrival(
    _ table: EditedTable, _ free: [IndexPath], _ edits: [EditBatch.Edit]
  ) throws -> EditBatch.Edit? {
    guard !table.rows.isEmpty else { return nil }
    let section = draw(0..<table.rows.count)
    var staying = table.rows[section].count
    for edit in edits {
      guard case .delete(let reference) = edit else { continue }
      let isHere =
        switch reference {
        case .path(let path): path.section == section
        case .id(let id): table.rows[section].contains { $0.id == id }
        }
      if isHere { staying -= 1 }
    }
    switch draw(0..<3) {
    case 0:
      guard let moving = table.source.moving, !free.isEmpty else { return nil }
      let from = free[draw(0..<free.count)]
      let rows = from.row..<from.row + 1
      guard try moving.movability(ofRows: rows, inSection: from.section)[0] else { return nil }
      if from.section == section { staying -= 1 }
      var target = IndexPath(section: section, row: draw(0..<staying + 1))
      // With others that go, what the source would say of the move alone is no answer.
      if edits.allSatisfy(\.isSet) {
        do throws(TableError) {
          target = try moving.target(ofMoveFrom: from, to: target)
        } catch {
          try require(error.code == .constraint, "a move is vetoed as \(error.code.name): \(error)")
          return nil
        }
      }
      return .move(.path(from), to: target)
    case 1:
      guard let model = table.rows.joined().first else { return nil }
      let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
      var cells: [Int: Cell] = [:]
      for (column, cell) in model.cells.enumerated() where mayBeSet[column] && cell != .missing {
        cells[column] = cell
      }
      return .insert(at: IndexPath(section: section, row: draw(0..<staying + 1)), cells: cells)
    default: return nil
    }
  }

  /// A cell to set, and a value that some row has there.
  func drawSet(
    _ table: EditedTable, of wanted: IndexPath? = nil
  ) throws -> (path: IndexPath, column: Int, cell: Cell)? {
    let paths = table.rows.enumerated().flatMap { section, rows in
      rows.indices.map { IndexPath(section: section, row: $0) }
    }
    let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
    let columns = mayBeSet.indices.filter { mayBeSet[$0] }
    guard !paths.isEmpty, !columns.isEmpty else { return nil }
    for _ in 0..<10 {
      let path = wanted ?? paths[draw(0..<paths.count)]
      let editability = try table.editing.editability(
        ofRows: path.row..<path.row + 1, inSection: path.section)
      guard editability[0].contains(.editable) else { continue }
      let other = paths[draw(0..<paths.count)]
      let column = columns[draw(0..<columns.count)]
      let cell = table.rows[other.section][other.row].cells[column]
      if cell != .missing { return (path, column, cell) }
    }
    return nil
  }

  /// Edits of what the source says cannot be edited.
  func forbiddenEdits(_ table: EditedTable) throws -> [EditBatch.Edit] {
    guard let section = table.rows.indices.first(where: { !table.rows[$0].isEmpty }) else {
      return []
    }
    let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
    let styles = try table.editing.editability(
      ofRows: table.rows[section].indices, inSection: section)
    var edits: [EditBatch.Edit] = []
    func path(_ row: Int) -> RowReference { .path(IndexPath(section: section, row: row)) }
    if let column = mayBeSet.firstIndex(of: false) {
      edits.append(.set(path(0), cells: [column: table.rows[section][0].cells[column]]))
    }
    if let row = styles.firstIndex(where: { !$0.contains(.delete) }) {
      edits.append(.delete(path(row)))
    }
    if let row = styles.firstIndex(where: { !$0.contains(.editable) }),
      let column = mayBeSet.firstIndex(of: true)
    {
      edits.append(.set(path(row), cells: [column: table.rows[section][row].cells[column]]))
    }
    return edits
  }

  /// Batches of which each breaks a rule.
  func badEdits(_ table: EditedTable) throws -> [[EditBatch.Edit]] {
    let end = IndexPath(section: 0, row: table.rows.first?.count ?? 0)
    var bad: [[EditBatch.Edit]] = [
      [.delete(.path(end))], [.set(.path(end), cells: [:])],
      [.delete(.path(IndexPath(section: table.rows.count, row: 0)))],
    ]
    if table.source.identity != nil { bad.append([.delete(.id("no-such-id"))]) }
    if let section = table.rows.firstIndex(where: { !$0.isEmpty }) {
      let row = RowReference.path(IndexPath(section: section, row: 0))
      bad.append([.delete(row), .delete(row)])
      bad.append([.set(row, cells: [:]), .delete(row)])
      bad.append([.set(row, cells: [table.source.columns.count: .missing])])
    }
    return bad
  }
}

extension EditBatch.Edit {
  /// The row that it names, where it names one.
  fileprivate var reference: RowReference? {
    switch self {
    case .insert: nil
    case .delete(let reference), .set(let reference, _), .move(let reference, _): reference
    }
  }

  fileprivate var isDelete: Bool {
    if case .delete = self { true } else { false }
  }

  fileprivate var isSet: Bool {
    if case .set = self { true } else { false }
  }
}
