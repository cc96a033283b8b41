import Tabella
import Testing

/// A sequence of random batches, performed on a table and on an array model. Both are compared after each batch.
struct EditTrial {
  struct Wrong: Error, CustomStringConvertible {
    var description: String
  }

  let subject: EditSubject
  let shape: EditShape
  private var generator: SeededGenerator
  private var nextKey = 1
  private var nextSection = 1
  private var model = EditModel([])
  private var open: EditSubject.Open
  private var source: any TableDataSource
  private var history: [String] = []

  /// Runs a sequence. Records an issue with the seed if it fails.
  static func run(
    _ subject: EditSubject, _ shape: EditShape, seed: UInt64, operations: Int = 20
  ) -> Bool {
    var history: [String] = []
    do {
      var trial = try EditTrial(subject, shape, seed: seed)
      for _ in 0..<operations {
        do { try trial.step() } catch {
          history = trial.history
          throw error
        }
      }
      return true
    } catch {
      Issue.record(
        "\(subject.name), \(shape.name), seed \(seed): \(error)\n\(history.suffix(3).joined(separator: "\n"))"
      )
      return false
    }
  }

  private init(_ subject: EditSubject, _ shape: EditShape, seed: UInt64) throws {
    self.subject = subject
    self.shape = shape
    generator = SeededGenerator(seed: seed)
    open = { throw Wrong(description: "not made") }
    source = InMemorySource([], sections: [])
    let sections = subject.sections == .one ? 1 : Int.random(in: 0..<4, using: &generator)
    for _ in 0..<sections {
      var section = newSection()
      if subject.sections != .one { section.title = newTitle() }
      for _ in 0..<Int.random(in: 0..<5, using: &generator) { section.rows.append(newRow()) }
      model.sections.append(section)
    }
    open = try subject.make(model.sections, &generator)
    source = try shape.wrap(open())
  }

  private mutating func chance(_ sides: Int) -> Bool {
    Int.random(in: 0..<sides, using: &generator) == 0
  }

  private mutating func newSection() -> EditModel.Section {
    defer { nextSection += 1 }
    return EditModel.Section(key: nextSection, title: nil)
  }

  /// A title for a section. Only some subjects have sections without titles.
  private mutating func newTitle() -> String? {
    defer { nextSection += 1 }
    if subject.sections == .edited, chance(2) { return nil }
    return ["s\(nextSection)", "\(nextSection) é; a, b"].randomElement(using: &generator)
  }

  private mutating func newRow() -> EditModel.Row {
    defer { nextKey += 1 }
    return EditModel.Row(
      key: nextKey, cells: [.integer(Int64(nextKey)), newNote(), newKind()])
  }

  private mutating func newNote() -> Cell {
    .text("\(subject.notes.randomElement(using: &generator)!) \(nextKey)")
  }

  private mutating func newKind() -> Cell { subject.kinds.randomElement(using: &generator)! }

  // A step

  private mutating func step() throws {
    let shown = shape.shown(model)
    let edits = edits(of: shown).shuffled(using: &generator)
    if edits.isEmpty { return }
    let version = try source.version()
    let batch = EditBatch(
      try edits.map { try edit($0, shown) }, version: chance(2) ? version : nil)
    history.append("\(shown.content)\n\(batch.edits)")
    guard let editing = source.editing else { throw Wrong(description: "not editable") }
    if chance(10) { try refuse(spoiled(batch, shown), shown, editing) }
    guard let own = shape.translated(edits, model) else {
      return try refuse(batch, shown, editing)
    }
    if subject.isFile, chance(20) { return try commitTooLate(batch, editing) }
    let after = model.applying(own)
    var dry: EditResult?
    if chance(4) {
      var batch = batch
      batch.isDryRun = true
      dry = try editing.commit(batch)
      try compare(model, "a dry run changed something")
      try require(try source.version() == version, "a dry run made another version")
    }
    let result = try editing.commit(batch)
    try require(result.outcomes.count == batch.edits.count, "\(result.outcomes)")
    try require(result.outcomes.allSatisfy { $0.code == nil }, "\(result.outcomes)")
    if let dry { try checkDry(dry.outcomes, result.outcomes) }
    try require(result.changes.from == version, "from \(version, default: "none")")
    try require(try result.changes.to == source.version(), "to another version")
    let before = model
    model = after
    try compare(after, "after the batch")
    try replay(result.changes, from: shown, to: shape.shown(after))
    try checkIDs(of: edits, batch, result, shape.shown(after))
    if chance(6), let undoing = source.undoing, let receipt = result.receipt {
      _ = try undoing.undo(receipt, isDryRun: true)
      try compare(after, "a dry run of taking back changed something")
      let undone = try undoing.undo(receipt, isDryRun: false)
      model = before
      try compare(before, "after taking back")
      try require(undone.changes.from == result.changes.to, "taken back from another version")
      try require(try undone.changes.to == source.version(), "taken back to another version")
    }
    if chance(5) { source = try shape.wrap(open()) }
  }

  private func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Wrong(description: what()) }
  }

  /// Compares the source and a new opening with the model.
  private func compare(_ model: EditModel, _ when: String) throws {
    let shown = shape.shown(model).content
    let read = try EditModel(reading: source, of: subject).content
    try require(read == shown, "\(when):\n\(read), not\n\(shown)")
    let table = try open()
    let fresh = try EditModel(reading: table, of: subject).content
    try require(fresh == model.content, "\(when), anew:\n\(fresh), not\n\(model.content)")
    let columns = try shape.wrap(table).columns
    try require(source.columns == columns, "\(when): columns \(source.columns), not \(columns)")
  }

  private func refuse(
    _ batch: EditBatch, _ shown: EditModel, _ editing: any TableEditing
  ) throws {
    let version = try source.version()
    do throws(TableError) {
      _ = try editing.commit(batch)
    } catch {
      try require(try source.version() == version, "a refused batch made another version")
      try require(error.code != .misbehaved && error.code != .internal, "\(error.code) \(error)")
      try require(batch.version != Version("stale") || error.code == .conflict, "\(error)")
      return try compare(model, "after a refused batch")
    }
    throw Wrong(description: "was not refused: \(batch)")
  }

  /// Commits a batch after a change by another opening. Nothing of the batch may be done.
  private mutating func commitTooLate(_ batch: EditBatch, _ editing: any TableEditing) throws {
    guard let row = model.rows.randomElement(using: &generator), let path = model.path(of: row.key)
    else { return }
    _ = try open().editing?.commit(EditBatch([.delete(.path(path))]))
    model = model.applying([.delete(row.key)])
    do throws(TableError) {
      _ = try editing.commit(batch)
    } catch {
      try require(error.code == .conflict, "\(error.code) \(error)")
      source = try shape.wrap(open())
      return try compare(model, "after a conflict")
    }
    throw Wrong(description: "came too late and was not refused: \(batch)")
  }

  /// Checks that the changes lead from the old shown rows to the new ones.
  private func replay(_ changes: ChangeBatch, from old: EditModel, to new: EditModel) throws {
    guard let changes = changes.changes else { return }
    var edits: [EditModel.Edit] = []
    var fresh: Set<Int> = []
    var freshSections: Set<Int> = []
    func key(_ path: IndexPath) -> Int { old.sections[path.section].rows[path.row].key }
    for change in changes {
      switch change {
      case .insert(let path) where path.isSection:
        edits.append(.insertSection(new.sections[path.section], path.section))
      case .delete(let path) where path.isSection:
        edits.append(.deleteSection(old.sections[path.section].key))
      case .move(let path, let target) where path.isSection:
        edits.append(.moveSection(old.sections[path.section].key, target.section))
      case .reconfigure(let path) where path.isSection:
        let key = old.sections[path.section].key
        edits.append(.renameSection(key, new.sections.first { $0.key == key }!.title))
      case .reload(let path) where path.isSection:
        freshSections.insert(old.sections[path.section].key)
      case .insert(let path):
        edits.append(.insert(new.sections[path.section].rows[path.row], path))
      case .delete(let path): edits.append(.delete(key(path)))
      case .move(let path, let target): edits.append(.move(key(path), target))
      case .reload(let path), .reconfigure(let path): fresh.insert(key(path))
      }
    }
    var replayed = old.applying(edits)
    for section in replayed.sections.indices {
      if freshSections.contains(replayed.sections[section].key),
        new.sections.indices.contains(section)
      {
        replayed.sections[section] = new.sections[section]
      }
      for row in replayed.sections[section].rows.indices {
        let key = replayed.sections[section].rows[row].key
        guard fresh.contains(key), let path = new.path(of: key) else { continue }
        replayed.sections[section].rows[row] = new.sections[path.section].rows[path.row]
      }
    }
    try require(
      replayed.content == new.content,
      "the changes \(changes) lead to\n\(replayed.content), not\n\(new.content)")
  }

  /// A dry run predicts the real outcomes, but may lack ids.
  private func checkDry(_ dry: [EditResult.Outcome], _ real: [EditResult.Outcome]) throws {
    let isSame =
      dry.count == real.count
      && zip(dry, real).allSatisfy { dry, real in
        dry.code == real.code && dry.message == real.message && dry.id ?? real.id == real.id
      }
    try require(isSame, "a dry run said \(dry), then came \(real)")
  }

  /// Checks that outcomes name the rows that the view shows, and that no id passes from one row to another.
  private func checkIDs(
    of edits: [EditModel.Edit], _ batch: EditBatch, _ result: EditResult, _ shown: EditModel
  ) throws {
    guard let identity = source.identity else { return }
    for (number, edit) in edits.enumerated() {
      guard let row = edit.row else { continue }
      let place = shown.path(of: row)
      if let id = result.outcomes[number].id {
        let found = try? identity.indexPath(forID: id)
        try require(
          found == place, "the id \(id) of row \(row) is not that of \(place, default: "none")")
      } else if case .delete = edit {
        continue
      } else {
        let isNothing = result.changes.from == result.changes.to
        try require(isNothing, "edit \(number) says no id")
      }
      if let id = batch.edits[number].id, let found = try? identity.indexPath(forID: id) {
        try require(found == place, "the id \(id) of row \(row) passed to \(found)")
      }
    }
  }

  // Batches

  private mutating func edit(
    _ edit: EditModel.Edit, _ shown: EditModel
  ) throws -> EditBatch.Edit {
    func number(_ key: Int) -> Int { shown.sections.firstIndex { $0.key == key }! }
    switch edit {
    case .set(let key, let cells):
      let path = shown.path(of: key)!
      let old = shown.sections[path.section].rows[path.row].cells
      let line = EditSubject.line(old.indices.map { cells[$0] ?? old[$0] })
      return .set(
        try reference(key, shown), cells: subject.isLine && !cells.isEmpty ? [0: line] : cells)
    case .delete(let key): return .delete(try reference(key, shown))
    case .move(let key, let target): return .move(try reference(key, shown), to: target)
    case .insert(let row, let target):
      if subject.isLine { return .insert(at: target, cells: [0: EditSubject.line(row.cells)]) }
      let isText = source.columns[0].type == .text
      var cells = [0: isText ? .text("\(row.key)") : row.cells[0], EditModel.note: row.cells[1]]
      if !row.leavesKindOut { cells[EditModel.kind] = row.kind }
      return .insert(at: target, cells: cells)
    case .deleteSection(let key): return .delete(.path(.section(number(key))))
    case .insertSection(let section, let target):
      return .insertSection(at: target, title: section.title)
    case .renameSection(let key, let title): return .renameSection(number(key), title: title)
    case .moveSection(let key, let target):
      return .move(.path(.section(number(key))), to: .section(target))
    }
  }

  private mutating func reference(_ key: Int, _ shown: EditModel) throws -> RowReference {
    let path = shown.path(of: key)!
    guard source.identity != nil, chance(2) else { return .path(path) }
    let batch = try source.rows(
      RowRequest(
        section: path.section, first: path.row, count: 1, columns: [], includesIDs: true))
    return .id(batch.id(0) ?? "")
  }

  /// One to four valid edits within the subject's part of the shown table.
  private mutating func edits(of shown: EditModel) -> [EditModel.Edit] {
    let others = shown.sections.count { $0.key >= 1_000_000 && $0.title == "y" }
    let part = EditModel(Array(shown.sections.dropFirst(shape.offset).dropLast(others)))
    var edits =
      subject.sections != .one && shape.hasSectionEdits && chance(3)
      ? sectionEdits(of: part) : []
    let changed = part.applying(edits)
    // Sections whose rows can be named, and that accept arrivals.
    let sections = part.sections.filter { section in
      changed.sections.contains { $0.key == section.key }
    }
    var rows = sections.flatMap { section in section.rows.map { (section.key, $0.key) } }
      .shuffled(using: &generator)
    var left = Dictionary(uniqueKeysWithValues: sections.map { ($0.key, $0.rows.count) })
    var arrivals: [(section: Int, make: (IndexPath) -> EditModel.Edit)] = []
    let isFull = part.rows.count > 12
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      switch Int.random(in: isFull ? 2..<8 : 0..<8, using: &generator) {
      case 0, 1, 2:
        guard !isFull, let section = sections.randomElement(using: &generator)?.key else {
          continue
        }
        var row = newRow()
        // A row of another group is refused.
        if shape.hasGroups, !chance(4) {
          row.kind = sections.first { $0.key == section }?.rows.first?.kind ?? row.kind
        }
        if let kind = subject.kindLeftOut, chance(4) {
          row.leavesKindOut = true
          row.kind = kind
        }
        arrivals.append((section, { [row] in .insert(row, $0) }))
      case 3, 4:
        guard let (section, key) = rows.popLast() else { continue }
        left[section, default: 0] -= 1
        edits.append(.delete(key))
      case 5:
        guard let (_, key) = rows.popLast() else { continue }
        edits.append(.set(key, newCells()))
      default:
        guard shape.moves != .none, let (section, key) = rows.popLast(),
          let target = sections.filter({ shape.moves != .elsewhere || $0.key != section })
            .randomElement(using: &generator)?.key
        else { continue }
        left[section, default: 0] -= 1
        arrivals.append((target, { .move(key, $0) }))
        if chance(3) { edits.append(.set(key, newCells())) }
      }
    }
    for section in sections.map(\.key) {
      let arriving = arrivals.filter { $0.section == section }
      let number = changed.sections.firstIndex { $0.key == section }!
      let places = (0..<left[section, default: 0] + arriving.count).shuffled(using: &generator)
      for (arrival, place) in zip(arriving, places) {
        edits.append(arrival.make(IndexPath(section: number, row: place)))
      }
    }
    return edits.map { $0.shifted(by: shape.offset) }
  }

  private mutating func newCells() -> [Int: Cell] {
    defer { nextKey += 1 }
    if chance(8) { return [:] }
    return chance(3) ? [EditModel.kind: newKind()] : [EditModel.note: newNote()]
  }

  private mutating func sectionEdits(of part: EditModel) -> [EditModel.Edit] {
    var edits: [EditModel.Edit] = []
    var sections = part.sections.map(\.key).shuffled(using: &generator)
    var arrivals: [(Int) -> EditModel.Edit] = []
    var left = sections.count
    for _ in 0..<Int.random(in: 1...2, using: &generator) {
      switch Int.random(in: 0..<5, using: &generator) {
      case 0:
        guard part.sections.count < 6 else { continue }
        var section = newSection()
        section.title = newTitle()
        arrivals.append { .insertSection(section, $0) }
      case 3:
        guard let key = sections.popLast() else { continue }
        edits.append(.renameSection(key, newTitle()))
      case 4:
        guard let key = sections.popLast() else { continue }
        left -= 1
        arrivals.append { .moveSection(key, $0) }
        edits.append(.renameSection(key, newTitle()))
      case 1:
        guard let key = sections.popLast() else { continue }
        left -= 1
        edits.append(.deleteSection(key))
      default:
        guard let key = sections.popLast() else { continue }
        left -= 1
        arrivals.append { .moveSection(key, $0) }
      }
    }
    let places = (0..<left + arrivals.count).shuffled(using: &generator)
    for (arrival, place) in zip(arrivals, places) { edits.append(arrival(place)) }
    return edits
  }

  /// The batch with an additional invalid edit.
  private mutating func spoiled(_ batch: EditBatch, _ shown: EditModel) -> EditBatch {
    var batch = batch
    if chance(5) {
      batch.version = Version("stale")
      return batch
    }
    let section = max(shown.sections.count - 1, 0)
    let count = shown.sections.isEmpty ? 0 : shown.sections[section].rows.count
    let beyond = IndexPath(section: section, row: count + 9)
    let place = IndexPath(section: section, row: 0)
    let spoilers: [[EditBatch.Edit]] = [
      [.delete(.path(beyond))], [.set(.path(beyond), cells: [:])],
      [.insert(at: beyond, cells: [:])],
      [.delete(.path(IndexPath(section: section + 9, row: 0)))], [.delete(.id("no such id"))],
      [.insert(at: place, cells: [:]), .insert(at: place, cells: [:])],
      [.delete(.path(place)), .delete(.path(place))],
      [.set(.path(place), cells: [:]), .delete(.path(place))],
      [.set(.path(place), cells: [2: "x"]), .set(.path(place), cells: [2: "y"])],
      [.delete(.path(.section(section))), .set(.path(place), cells: [2: "x"])],
      [
        .insert(at: .section(0), cells: [:]),
        .insert(at: IndexPath(section: 0, row: 0), cells: [:]),
      ],
      [.move(.path(place), to: .section(0))], [.insert(at: place, cells: [9: "x"])],
      [.insert(at: .section(section + 9), cells: [:])], [.delete(.path(.section(section + 9)))],
      [.set(.path(.section(section)), cells: [:])], [.renameSection(section + 9, title: "x")],
      [.renameSection(section, title: "x"), .renameSection(section, title: "y")],
      [.renameSection(section, title: "x"), .deleteSection(section)],
      [.set(.path(.section(section)), cells: [0: "x"])],
      [.set(.path(.section(section)), cells: [EditBatch.sectionTitle: 1])],
      [.set(.path(place), cells: [EditBatch.sectionTitle: "x"])],
      [.insert(at: .section(0), cells: [EditBatch.sectionTitle: "x", 0: "y"])],
      [.insert(at: place, cells: [EditBatch.sectionTitle: "x"])],
      [.insert(at: IndexPath(section: 0, row: -2), cells: [:])],
      [.delete(.path(IndexPath(section: -1, row: 0)))],
      [.insert(at: IndexPath(section: 0, row: .max), cells: [:])],
      [.move(.path(IndexPath(section: .max, row: .max)), to: place)],
    ]
    batch.edits += spoilers.randomElement(using: &generator)!
    return batch
  }
}

extension EditBatch.Edit {
  /// The id with which the edit names a row.
  fileprivate var id: String? {
    switch self {
    case .delete(.id(let id)), .set(.id(let id), _), .move(.id(let id), _): id
    default: nil
    }
  }
}
