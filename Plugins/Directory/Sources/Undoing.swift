import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// Taking a batch back: only if all that it did is still as it left it, and over nothing.
extension DirectorySource: TableUndoing {
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let receipt = try Receipt(bytes: receipt)
    let before = try version()
    let plan = try UndoPlan(receipt, root: root, settings.trash)
    if isDryRun {
      return EditResult(
        outcomes: [.init()], changes: ChangeBatch(from: before, to: before, changes: []))
    }
    let executor = Executor(plan.folders, plan.cans, cancel)
    let progress = run(plan.steps, executor)
    let redo = self.receipt(of: plan, progress, executor)
    var outcome = outcome(progress, of: plan.steps.count)
    // All is done: what cannot be listed now is no reason to throw.
    if let failure = reload(), outcome.code == nil {
      outcome.message = "the folder could not be listed again: \(failure.reason)"
    }
    return EditResult(
      outcomes: [outcome],
      changes: ChangeBatch(from: before, to: versionAfterEdit(), changes: nil), receipt: redo)
  }

  /// What does again all that was taken back; nil if something that was created went, or something came
  /// back from the trash, for which there is no way.
  private func receipt(
    of plan: UndoPlan, _ progress: Progress, _ executor: Executor
  ) -> [UInt8]? {
    for step in plan.steps.prefix(progress.done) {
      switch step.act {
      case .remove, .restore: return nil
      case .trash, .relocate, .create, .setMode, .setModified: break
      }
    }
    if executor.records.isEmpty { return nil }
    var records = executor.records
    // What was set before entries moved on is where they are now.
    let moves = Dictionary(
      records.compactMap { record in
        if case .relocated(let from, let to, _, _, _) = record { (from, to) } else { nil }
      }, uniquingKeysWith: { $1 })
    for index in records.indices {
      guard case .mode(let place, let inode, let kind, let old, let new) = records[index] else {
        break
      }
      records[index] = .mode(moves[place] ?? place, inode: inode, kind: kind, old: old, new: new)
    }
    guard let root = try? absolutePath(of: root) else { return nil }
    var folders: [Int: Receipt.Folder] = [:]
    for number in Set(records.flatMap(\.folders)).union([0]) where plan.folders.contains(number) {
      let folder = plan.folders[number]
      // Where it is now: a folder on the way to it may have another name than before.
      guard let path = try? absolutePath(of: folder.descriptor), path.starts(with: root) else {
        return nil
      }
      folders[number] = Receipt.Folder(
        path: path.dropFirst(root.count).split(separator: UInt8(ascii: "/")).map { Array($0) },
        inode: folder.status.inode)
    }
    return Receipt(folders: folders, records: records).bytes
  }

  private func outcome(_ progress: Progress, of count: Int) -> EditResult.Outcome {
    if let failure = progress.failure {
      let message = "\(progress.done) of \(count) changes were taken back: \(failure.message)"
      return .init(code: failure.code, message: message)
    }
    var remarks = progress.remarks.sorted { $0.key < $1.key }.flatMap(\.value)
    if let failure = progress.unsynced.values.first { remarks.append(.notDurable(failure)) }
    return .init(remarks, "taken back")
  }
}

/// What taking back a batch comes to, checked.
private struct UndoPlan {
  private(set) var steps: [Step] = []
  let folders = OpenFolders()
  let cans: TrashCans

  private var freed: Set<Place> = []
  private var taken: Set<Place> = []

  init(_ receipt: Receipt, root: Int32, _ trash: Trash) throws(TableError) {
    cans = TrashCans(trash, makes: false)
    for (number, folder) in receipt.folders { try open(number, folder, root) }
    var relocations: [Relocation] = []
    var modes: [Step] = []
    var removals: [Step] = []
    var restorations: [Step] = []
    var times: [(place: Place, identity: Identity, old: Moment)] = []
    var closings: [(place: Place, identity: Identity, old: UInt32)] = []
    for record in receipt.records.reversed() {
      switch record {
      case .mode(let place, let inode, let kind, let old, let new):
        let status = try expect(place, inode, kind)
        try folders.checkSettable(place)
        guard status.mode & permissionBits == new else { throw changed(place) }
        // A folder is closed when there is nothing more to do in it.
        if kind == .directory, new & ~old & 0o700 != 0 {
          closings.append((place, Identity(status), old))
        } else {
          modes.append(step(.setMode(place, Identity(status), old)))
        }
      case .modified(let place, let inode, let kind, let old, let new):
        let status = try expect(place, inode, kind)
        try folders.checkSettable(place)
        guard status.moment == new else { throw changed(place) }
        times.append((place, Identity(status), old))
      case .created(let place, let inode, let kind, let size, let modified):
        let status = try expect(place, inode, kind)
        try expectUntouched(place, status, kind, size, modified)
        try folders.checkWritable(place.folder)
        freed.insert(place)
        removals.append(step(.remove(place, Identity(status))))
      case .relocated(let from, let to, let inode, let kind, let isAcross):
        let status = try expect(to, inode, kind)
        try folders.checkWritable(to.folder)
        try folders.checkWritable(from.folder)
        if to.folder != from.folder {
          try folders.checkMovable(
            to, Identity(status), "cannot be moved back, since it may not be written")
        }
        freed.insert(to)
        relocations.append(
          Relocation(
            from: to, to: from, identity: Identity(status), edits: [0], isAcross: isAcross))
      case .trashed(let place, let trashed):
        try expect(trashed, for: place)
        try folders.checkWritable(place.folder)
        restorations.append(step(.restore(trashed, to: place)))
      }
    }
    for case .restore(_, let place) in restorations.map(\.act) { try take(place) }
    for relocation in relocations { try take(relocation.to) }
    let moves = inOrder(relocations)
    guard moves.allSatisfy({ $0.count == 1 || !$0.contains(where: \.isAcross) }) else {
      throw TableError(.invalidArgument, "the receipt is damaged")
    }
    var origins: [Place: Place] = [:]
    for relocation in relocations { origins[relocation.from] = relocation.to }
    steps = modes + removals
    steps += moves.map { Step(act: .relocate($0), edits: [0]) }
    steps += restorations
    // Last, since all the others change the times of folders.
    steps += closings.map { step(.setMode(origins[$0.place] ?? $0.place, $0.identity, $0.old)) }
    steps += times.map { step(.setModified(origins[$0.place] ?? $0.place, $0.identity, $0.old)) }
  }

  private func step(_ act: Step.Act) -> Step { Step(act: act, edits: [0]) }

  /// Opens a folder step by step from the root, without following links.
  private func open(
    _ number: Int, _ folder: Receipt.Folder, _ root: Int32
  ) throws(TableError) {
    var descriptor = tabella_system_open_directory(root, ".", 0)
    for name in folder.path where descriptor >= 0 {
      let next = name.withCString { tabella_system_open_directory(descriptor, $0, 0) }
      close(descriptor)
      descriptor = next
    }
    let path = folder.path.flatMap { $0 + [UInt8(ascii: "/")] }
    do throws(Failure) {
      guard descriptor >= 0 else { throw Failure(-descriptor) }
      try folders.add(number, descriptor, path: path)
    } catch {
      if error.isOfCall { throw error.error("folder \(readable(path)) cannot be opened") }
      throw conflict("folder \(readable(path)): \(error.reason)")
    }
    guard folders[number].status.inode == folder.inode else {
      throw conflict(path.isEmpty ? "it is another folder" : "\(readable(path)) is another folder")
    }
  }

  // What must be as it was left

  private func conflict(_ what: String) -> TableError {
    TableError(.conflict, "cannot be taken back: \(what)")
  }

  private func changed(_ place: Place) -> TableError {
    conflict("\(folders.text(place)) was changed since")
  }

  private func expect(
    _ place: Place, _ inode: UInt64, _ kind: EntryKind
  ) throws(TableError) -> tabella_status {
    guard let status = try folders.status(place), status.inode == inode,
      EntryKind(mode: status.mode) == kind
    else { throw conflict("\(folders.text(place)) was replaced or has vanished") }
    return status
  }

  /// Only what is as empty as it was made is removed.
  private func expectUntouched(
    _ place: Place, _ status: tabella_status, _ kind: EntryKind, _ size: UInt64, _ modified: Moment
  ) throws(TableError) {
    switch kind {
    case .directory:
      let own = Listing(showsHidden: true)
      let descriptor = place.name.withCString {
        tabella_system_open_directory(folders[place.folder].descriptor, $0, 0)
      }
      guard descriptor >= 0 else { throw changed(place) }
      defer { close(descriptor) }
      guard (try? own.add(descriptor, parent: nil, entry: nil)) != nil, own.count == 0 else {
        throw conflict("\(folders.text(place)) is not empty")
      }
    case .file:
      guard status.size == size, size == 0, status.moment == modified else { throw changed(place) }
    case .link: break
    default: throw changed(place)
    }
  }

  private func expect(_ trashed: Trashed, for place: Place) throws(TableError) {
    do throws(Failure) {
      guard let can = try cans.can(for: folders[place.folder], trashed.kind) else {
        throw Failure.vanished
      }
      guard trashed.isSame(as: try tabella_status(can.files, trashed.name)) else {
        throw Failure.vanished
      }
    } catch {
      throw conflict("\(folders.text(place)) is no longer in the trash")
    }
  }

  private mutating func take(_ place: Place) throws(TableError) {
    guard taken.insert(place).inserted else {
      throw TableError(.invalidArgument, "the receipt is damaged")
    }
    if freed.contains(place) { return }
    if try folders.status(place) != nil {
      throw conflict("there is something named \(folders.text(place)) now")
    }
  }
}
