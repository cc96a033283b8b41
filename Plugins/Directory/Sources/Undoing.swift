import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// Undoing a batch. It requires that everything is still as the batch left it, and it never replaces an entry.
extension DirectorySource: TableUndoing {
  /// Undoes a batch. If only a part could be undone, the outcome has a code and the new receipt undoes the rest.
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let receipt = try Receipt(bytes: receipt)
    let before = try version()
    let plan = try UndoPlan(receipt, root: root, settings.trash)
    let unchanged = ChangeBatch(from: before, to: before, changes: [])
    if isDryRun {
      let progress = rehearse(plan.steps, plan.folders, leavingOutConflicts: true)
      return EditResult(
        outcomes: [outcome(progress, of: plan, isDryRun: true)], changes: unchanged)
    }
    let executor = Executor(plan.folders, plan.cans, cancel)
    let progress = run(plan.steps, executor, leavingOutConflicts: true)
    var outcome = outcome(progress, of: plan)
    if !progress.failures.isEmpty, !progress.hasChanged {
      return EditResult(outcomes: [outcome], changes: unchanged)
    }
    let next =
      outcome.code == nil
      ? redo(of: plan, executor) : rest(of: receipt, plan, progress, executor)
    // The undo is done, so a failed listing must not throw.
    if let failure = reload(), outcome.code == nil {
      outcome.message = "the folder could not be listed again: \(failure.reason)"
    }
    return EditResult(
      outcomes: [outcome],
      changes: ChangeBatch(from: before, to: versionAfterEdit(), changes: nil), receipt: next)
  }

  /// The receipt that repeats the batch. It is nil if the undo removed a created entry or restored one from the trash,
  /// because neither can be repeated.
  private func redo(
    of plan: UndoPlan, _ executor: Executor
  ) -> [UInt8]? {
    for step in plan.steps {
      switch step.act {
      case .remove, .restore: return nil
      case .trash, .relocate, .create, .setMode, .setModified: break
      }
    }
    // Modes were set before the entries moved, so their records need the present paths.
    let early = executor.records.prefix { if case .mode = $0 { true } else { false } }
    let moves = executor.moves
    return receipt(
      of: early.map { $0.following(moves) } + executor.records.dropFirst(early.count), plan)
  }

  /// The receipt that undoes the rest of a batch; nil if nothing remains.
  private func rest(
    of receipt: Receipt, _ plan: UndoPlan, _ progress: Progress, _ executor: Executor
  ) -> [UInt8]? {
    let done = Set(progress.done.flatMap { plan.steps[$0].edits })
    let moves = executor.moves
    let records = receipt.records.indices.filter { !done.contains($0) }.map {
      receipt.records[$0].following(moves)
    }
    return self.receipt(of: records, plan)
  }

  /// Encodes records with the present paths of their folders, because a folder on the way may have another name now.
  private func receipt(of records: [Receipt.Record], _ plan: UndoPlan) -> [UInt8]? {
    if records.isEmpty { return nil }
    guard let root = try? absolutePath(of: root) else { return nil }
    var folders: [Int: Receipt.Folder] = [:]
    for number in Set(records.flatMap(\.folders)).union([0]) where plan.folders.contains(number) {
      let folder = plan.folders[number]
      guard let path = try? absolutePath(of: folder.descriptor), path.starts(with: root) else {
        return nil
      }
      folders[number] = Receipt.Folder(
        path: path.dropFirst(root.count).split(separator: UInt8(ascii: "/")).map { Array($0) },
        inode: folder.status.inode)
    }
    return Receipt(folders: folders, records: records).bytes
  }

  /// The maximum number of acts that an outcome lists.
  private static let namedActs = 20

  private func outcome(
    _ progress: Progress, of plan: UndoPlan, isDryRun: Bool = false
  ) -> EditResult.Outcome {
    if let failure = progress.failures.max(by: { $0.key < $1.key }) {
      let failed = progress.failures.sorted { $0.key < $1.key }.map(\.value.message)
      var message = DirectorySource.list(failed, "; ")
      // An error other than a conflict ended the undo here.
      let rest = plan.steps[(failure.key + 1)...].map { $0.subject(plan.folders) }
      if failure.value.code != .conflict, !rest.isEmpty {
        message += "; not tried: \(DirectorySource.list(rest, ", "))"
      }
      var code = failure.value.code
      if !progress.done.isEmpty {
        let were = isDryRun ? "would be" : "were"
        let count = "\(progress.done.count) of \(plan.steps.count) changes \(were) undone"
        message = "\(count): \(message)"
        // A partial undo is not refused, whatever its reason.
        if isDryRun { code = .io }
      }
      return .init(code: code, message: message)
    }
    var diagnostics = progress.diagnostics.sorted { $0.key < $1.key }.flatMap(\.value)
    if let failure = progress.unsynced.values.first { diagnostics.append(.notDurable(failure)) }
    return .init(diagnostics, "undone")
  }

  private static func list(_ texts: [String], _ separator: String) -> String {
    let more = texts.count - namedActs
    return texts.prefix(namedActs).joined(separator: separator)
      + (more > 0 ? "\(separator)and \(more) more" : "")
  }
}

extension Step {
  /// The subject of a step as text for people.
  fileprivate func subject(_ folders: OpenFolders) -> String {
    switch act {
    case .trash(let place, _), .remove(let place, _), .create(let place, _),
      .restore(_, to: let place):
      folders.text(place)
    case .relocate(let relocations):
      relocations.map { folders.text($0.from) }.joined(separator: ", ")
    case .setMode(let place, _, _, _): "the mode of \(folders.text(place))"
    case .setModified(let place, _, _, _, _): "the time of \(folders.text(place))"
    }
  }
}

extension Executor {
  /// The new path and identity of each renamed or moved entry, by its old path.
  fileprivate var moves: [FolderEntry: (place: FolderEntry, identity: LastingIdentity)] {
    Dictionary(
      records.compactMap { record in
        if case .relocated(let from, let to, let identity, _) = record {
          (from, (to, identity))
        } else {
          nil
        }
      }, uniquingKeysWith: { $1 })
  }
}

extension Receipt.Record {
  /// The same record with the new path of its entry.
  fileprivate func following(
    _ moves: [FolderEntry: (place: FolderEntry, identity: LastingIdentity)]
  ) -> Receipt.Record {
    switch self {
    case .mode(let place, _, let old, let new):
      guard let move = moves[place] else { return self }
      return .mode(move.place, move.identity, old: old, new: new)
    case .modified(let place, _, let old, let new):
      guard let move = moves[place] else { return self }
      return .modified(move.place, move.identity, old: old, new: new)
    case .trashed, .relocated, .created: return self
    }
  }
}

/// The plan of an undo, with all checks passed.
private struct UndoPlan {
  private(set) var steps: [Step] = []
  let folders = OpenFolders()
  let cans: TrashCans

  private var names = PlannedNames()

  init(_ receipt: Receipt, root: Int32, _ trash: Trash) throws(TableError) {
    cans = TrashCans(trash, makes: false)
    for (number, folder) in receipt.folders { try open(number, folder, root) }
    var relocations: [Relocation] = []
    var modes: [Step] = []
    var removals: [Step] = []
    var restorations: [Step] = []
    var times: [Setting<Moment>] = []
    var closings: [Setting<UInt32>] = []
    for (number, record) in receipt.records.enumerated().reversed() {
      switch record {
      case .mode(let place, let identity, let old, let new):
        let status = try expect(place, identity)
        try folders.checkSettable(place, status, "mode")
        guard status.mode & permissionBits == new else { throw changed(place) }
        // A folder loses access only after all other acts in it.
        if identity.kind == .directory, new & ~old & 0o700 != 0 {
          closings.append(Setting(number, place, Identity(status), old, new))
        } else {
          modes.append(
            Step(
              act: .setMode(place, Identity(status), old, ifStill: new), edits: [number]))
        }
      case .modified(let place, let identity, let old, let new):
        let status = try expect(place, identity)
        try folders.checkSettable(place, status, "time")
        guard status.moment == new else { throw changed(place) }
        times.append(Setting(number, place, Identity(status), old, new))
      case .created(let place, let identity, let contents):
        let status = try expect(place, identity)
        try expectUntouched(place, status, contents)
        try checkLeaving(place, status)
        removals.append(
          Step(act: .remove(place, Removal.Expected(status, .content)), edits: [number]))
      case .relocated(let from, let to, let identity, let isAcross):
        let status = try expect(to, identity)
        try folders.checkWritable(from.folder)
        try checkLeaving(to, status)
        if isAcross {
          try CopyAcross.check(status, folders.text(to), into: folders[from.folder])
        }
        if to.folder != from.folder {
          try folders.checkMovable(
            to, Identity(status), "cannot be moved back, because it is not writable")
        }
        relocations.append(
          Relocation(
            from: to, to: from, identity: Identity(status), edits: [number], isAcross: isAcross))
      case .trashed(let place, let trashed):
        try expect(trashed, for: place)
        try folders.checkWritable(place.folder)
        restorations.append(Step(act: .restore(trashed, to: place), edits: [number]))
      }
    }
    for case .restore(_, let place) in restorations.map(\.act) { try take(place) }
    for relocation in relocations { try take(relocation.to) }
    let moves = inOrder(relocations)
    guard moves.allSatisfy({ $0.count == 1 || !$0.contains(where: \.isAcross) }) else {
      throw UndoPlan.damaged
    }
    var origins: [FolderEntry: FolderEntry] = [:]
    for relocation in relocations { origins[relocation.from] = relocation.to }
    steps = modes + removals
    steps += moves.map { Step(act: .relocate($0), edits: $0.flatMap(\.edits)) }
    steps += restorations
    // Settings come last, because all other acts change the times of folders.
    steps += closings.map {
      Step(
        act: .setMode(
          origins[$0.place] ?? $0.place, $0.identity, $0.old, ifStill: $0.new),
        edits: [$0.record])
    }
    steps += times.map {
      Step(
        act: .setModified(
          origins[$0.place] ?? $0.place, $0.identity, $0.old, was: $0.new,
          // The undo itself changes the times of folders.
          ifStill: $0.identity.kind == .directory ? nil : $0.new),
        edits: [$0.record])
    }
  }

  /// A value to restore after all entries have moved back.
  private struct Setting<Value> {
    let record: Int
    let place: FolderEntry
    let identity: Identity
    let old: Value
    let new: Value

    init(_ record: Int, _ place: FolderEntry, _ identity: Identity, _ old: Value, _ new: Value) {
      self.record = record
      self.place = place
      self.identity = identity
      self.old = old
      self.new = new
    }
  }

  /// Opens a folder step by step from the root, without following links.
  private func open(
    _ number: Int, _ folder: Receipt.Folder, _ root: Int32
  ) throws(TableError) {
    let path = folder.path.flatMap { $0 + [UInt8(ascii: "/")] }
    do throws(Failure) {
      var opened = try Descriptor(opened: tabella_system_open_directory(root, ".", 0))
      for name in folder.path {
        let next = name.withCString { tabella_system_open_directory(opened.raw, $0, 0) }
        opened = try Descriptor(opened: next)
      }
      try folders.add(number, opened, path: path)
    } catch {
      if error.isOfCall { throw error.error("folder \(readable(path)) cannot be opened") }
      throw conflict("folder \(readable(path)): \(error.reason)")
    }
    guard folders[number].status.inode == folder.inode else {
      throw conflict(path.isEmpty ? "it is another folder" : "\(readable(path)) is another folder")
    }
  }

  // Expected state

  private func conflict(_ what: String) -> TableError {
    TableError(.conflict, "cannot be undone: \(what)")
  }

  private func changed(_ place: FolderEntry) -> TableError {
    conflict("\(folders.text(place)) was changed after the edit")
  }

  private static let damaged = TableError(.invalidArgument, "the receipt is damaged")

  private func expect(
    _ place: FolderEntry, _ identity: LastingIdentity
  ) throws(TableError) -> tabella_status {
    guard let status = try folders.status(place), identity.isSame(as: status) else {
      throw conflict("\(folders.text(place)) was replaced or has vanished")
    }
    return status
  }

  /// Throws unless a created entry is as empty as the batch made it.
  private func expectUntouched(
    _ place: FolderEntry, _ status: tabella_status, _ contents: Receipt.Contents
  ) throws(TableError) {
    switch EntryKind(mode: status.mode) {
    case .directory:
      guard let names = try? folders.names(in: place) else { throw changed(place) }
      guard names.isEmpty else { throw conflict("\(folders.text(place)) is not empty") }
    case .file:
      guard status.size == 0, contents.size == 0, status.moment == contents.modified else {
        throw changed(place)
      }
    case .link:
      let target = readLink(folders[place.folder].descriptor, place.name)
      guard target == contents.target else { throw changed(place) }
    default: throw changed(place)
    }
  }

  private func expect(_ trashed: Trashed, for place: FolderEntry) throws(TableError) {
    let status: tabella_status
    do throws(Failure) {
      guard let can = try cans.can(for: folders[place.folder], trashed.kind),
        try can.infoIdentity(of: trashed) != nil
      else { throw Failure.vanished }
      status = try tabella_status(can.files, trashed.name)
    } catch {
      throw conflict("\(folders.text(place)) is no longer in the trash")
    }
    try folders.checkFlags(place, status)
  }

  /// Checks that an entry may lose its name, and marks the name as free.
  private mutating func checkLeaving(
    _ place: FolderEntry, _ status: tabella_status
  ) throws(TableError) {
    try folders.checkWritable(place.folder)
    try folders.checkRemovable(place, status)
    guard names.free(place) else { throw UndoPlan.damaged }
  }

  private mutating func take(_ place: FolderEntry) throws(TableError) {
    switch try names.take(place, in: folders) {
    case nil: return
    case .planned: throw UndoPlan.damaged
    case .entry: throw conflict("\(folders.text(place)) exists now")
    }
  }
}
