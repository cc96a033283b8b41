import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The plan of a batch: all rules checked against the current files, and the acts in an order that works.
///
/// Deletions come first, then renames and moves, then creations, then modes and times. Times come last because all
/// other acts change the time of their folder.
struct EditPlan {
  private(set) var steps: [Step] = []
  /// The new folder and name of each entry that is renamed or moved.
  private(set) var targets: [Int: FolderEntry] = [:]
  /// Deletions that need no act, because the deletion `by` of a containing folder includes them.
  private(set) var included: [(edit: Int, by: Int)] = []
  let folders = OpenFolders()
  let requests: EditRequests
  let cans: TrashCans

  private let source: DirectorySource
  private var statuses: [Int: tabella_status] = [:]
  private var names = PlannedNames()

  init(_ requests: EditRequests, _ source: DirectorySource, isDryRun: Bool) throws(TableError) {
    self.requests = requests
    self.source = source
    cans = TrashCans(source.settings.trash, makes: !isDryRun)
    try openFolders()
    try examine()
    let deletions = try planDeletions()
    let relocations = try planRelocations()
    let creations = try planCreations()
    steps = deletions
    for group in inOrder(relocations) {
      steps.append(Step(act: .relocate(group), edits: group.flatMap(\.edits)))
    }
    steps += creations
    steps += try planSettings()
    // This check comes last, because it can create a trash.
    if !source.settings.deletesForGood { try checkTrash(deletions) }
  }

  private var listing: Listing { source.listing }

  /// The current folder and name of an entry.
  func place(_ entry: Int) -> FolderEntry {
    FolderEntry(folder: listing.folder(of: entry), name: listing.withName(entry) { Array($0) })
  }

  /// The folder and name of an entry after all renames and moves.
  func finalPlace(_ entry: Int) -> FolderEntry { targets[entry] ?? place(entry) }

  private func status(_ entry: Int) -> tabella_status {
    guard let status = statuses[entry] else { preconditionFailure("a plan examines its entries") }
    return status
  }

  // Current state

  private mutating func examine() throws(TableError) {
    let entries = requests.entries
    for (entry, examined) in zip(entries, try source.examine(entries, where: { _ in true })) {
      guard examined.isGood else {
        throw Failure(examined.error).error(of: source.text(entry), "cannot be examined")
      }
      statuses[entry] = examined.status
    }
  }

  private func openFolders() throws(TableError) {
    var numbers = requests.creations.map(\.place.folder)
    for entry in requests.entries {
      numbers.append(listing.folder(of: entry))
      if let folder = requests.changes[entry]?.folder { numbers.append(folder.value) }
    }
    let opener = FolderOpener(root: source.root, listing)
    for number in numbers where !folders.contains(number) {
      let path = listing.path(ofFolder: number)
      do throws(Failure) {
        let opened = tabella_system_open_directory(try opener.descriptor(number), ".", 0)
        try folders.add(number, Descriptor(opened: opened), path: path)
      } catch {
        throw error.error(of: "folder \(readable(path))", "cannot be opened")
      }
    }
  }

  /// The entries of all folders that contain `folder`, and its own, from the innermost to the outermost.
  private func folderEntries(above folder: Int) -> [Int] {
    var entries: [Int] = []
    var folder = folder
    while let entry = listing.folders[folder].entry {
      entries.append(entry)
      folder = listing.folders[folder].parent
    }
    return entries
  }

  private func depth(_ place: FolderEntry) -> Int {
    folders[place.folder].path.count { $0 == UInt8(ascii: "/") }
  }

  // Deletions

  private mutating func planDeletions() throws(TableError) -> [Step] {
    let isForGood = source.settings.deletesForGood
    let deleted = requests.entries.filter { requests.changes[$0]?.deletion != nil }
    let all = Set(deleted)
    try checkNothingElse(in: all)
    var steps: [(depth: Int, step: Step)] = []
    for entry in deleted {
      guard let edit = requests.changes[entry]?.deletion?.edit else { continue }
      let place = place(entry)
      let above = folderEntries(above: place.folder).last { all.contains($0) }
      if !isForGood, let above, let by = requests.changes[above]?.deletion?.edit {
        included.append((edit, by))
        continue
      }
      try folders.checkWritable(place.folder)
      try folders.checkRemovable(place, status(entry))
      try checkDeletable(entry, all)
      names.free(place)
      let identity = Identity(status(entry))
      if !isForGood {
        try folders.checkMovable(
          place, identity, "cannot be put in the trash, because it is not writable")
      }
      // The edit names the row, not its content, so a changed content does not matter.
      let act =
        isForGood
        ? Step.Act.remove(place, Removal.Expected(status(entry), .entry)) : .trash(place, identity)
      steps.append((depth(place), Step(act: act, edits: [edit])))
    }
    // Entries of a folder come before the folder.
    return steps.sorted { $0.depth > $1.depth }.map(\.step)
  }

  /// Throws if the batch keeps or creates something in a folder that it deletes.
  private func checkNothingElse(in deleted: Set<Int>) throws(TableError) {
    if deleted.isEmpty { return }
    func check(_ folder: Int, _ what: String) throws(TableError) {
      guard let above = folderEntries(above: folder).first(where: { deleted.contains($0) }) else {
        return
      }
      throw TableError(
        .constraint, "\(what): the folder \(source.text(above)) is deleted in the same batch")
    }
    for entry in requests.entries where requests.changes[entry]?.deletion == nil {
      let text = "\(source.text(entry)) cannot be changed"
      try check(listing.folder(of: entry), text)
      if let folder = requests.changes[entry]?.folder?.value { try check(folder, text) }
    }
    for new in requests.creations {
      try check(new.place.folder, "\(folders.text(new.place)) cannot be created")
    }
  }

  private func checkDeletable(_ entry: Int, _ deleted: Set<Int>) throws(TableError) {
    func refuse(_ reason: String) -> TableError {
      TableError(.constraint, "\(source.text(entry)) cannot be deleted: \(reason)")
    }
    let status = status(entry)
    if status.is_mounted { throw refuse("something is mounted there") }
    let identity = Identity(status)
    if let reason = cans.reasonToKeep(identity) { throw refuse("it \(reason)") }
    guard identity.kind == .directory else { return }
    if source.settings.deletesForGood {
      guard try willBeEmpty(entry, deleted) else {
        throw refuse("it is not empty: delete its entries first")
      }
    } else if let point = try mountPoint(below: entry) {
      throw refuse("something is mounted at \(readable(point))")
    }
  }

  /// Whether the batch deletes everything that a folder contains now.
  private func willBeEmpty(_ entry: Int, _ deleted: Set<Int>) throws(TableError) -> Bool {
    let names: [[UInt8]]
    do throws(Failure) {
      names = try folders.names(in: place(entry))
    } catch {
      throw error.error(of: source.text(entry), "cannot be read")
    }
    let folder = try source.index().folder(of: entry)
    return names.allSatisfy { name in
      folder.flatMap { listing.entry(named: name, in: $0) }.map(deleted.contains) == true
    }
  }

  private func mountPoint(below entry: Int) throws(TableError) -> [UInt8]? {
    let place = place(entry)
    do throws(Failure) {
      return try cans.mountPoint(below: place.name, in: folders[place.folder])
    } catch {
      throw error.error("the mount points in \(source.text(entry)) cannot be listed")
    }
  }

  private func checkTrash(_ deletions: [Step]) throws(TableError) {
    var checked: Set<Int> = []
    for case .trash(let place, let identity) in deletions.lazy.map(\.act) {
      func refuse(_ reason: String) -> TableError {
        TableError(
          .constraint,
          "\(folders.text(place)) cannot be put in the trash: \(reason); use -o permanent=true to delete it permanently"
        )
      }
      guard checked.insert(place.folder).inserted else {
        if let reason = cans.reasonToKeep(identity) { throw refuse("it \(reason)") }
        continue
      }
      do throws(Failure) {
        // The trash is known only after `can(for:)` returns.
        _ = try cans.can(for: folders[place.folder])
        _ = try absolutePath(of: folders[place.folder].descriptor)
      } catch {
        let reason = error.detail ?? errorText(error.number)
        throw refuse("no trash folder can be used: \(reason)")
      }
      if cans.isInTrash(folders[place.folder].descriptor) { throw refuse("it is in the trash") }
      if let reason = cans.reasonToKeep(identity) { throw refuse("it \(reason)") }
    }
  }

  // Renames and moves

  private mutating func planRelocations() throws(TableError) -> [Relocation] {
    var relocations: [Relocation] = []
    var movedFolders: Set<Int> = []
    for entry in requests.entries {
      guard let change = requests.changes[entry] else { continue }
      let from = place(entry)
      let to = FolderEntry(
        folder: change.folder?.value ?? from.folder, name: change.name?.value ?? from.name)
      if to == from { continue }
      let status = status(entry)
      if status.is_mounted {
        throw TableError(
          .constraint, "\(source.text(entry)) cannot be renamed: something is mounted there")
      }
      try folders.checkWritable(from.folder)
      try folders.checkWritable(to.folder)
      try folders.checkRemovable(from, status)
      var relocation = Relocation(
        from: from, to: to, identity: Identity(status),
        edits: Set([change.name?.edit, change.folder?.edit].compactMap { $0 }).sorted())
      relocation.isAcross = try isAcross(relocation, status)
      if to.folder != from.folder {
        try folders.checkMovable(
          from, relocation.identity,
          "cannot be moved to another folder, because it is not writable")
      }
      if to.folder != from.folder, relocation.identity.kind == .directory {
        movedFolders.insert(entry)
      }
      targets[entry] = to
      names.free(from)
      relocations.append(relocation)
    }
    for relocation in relocations { try check(relocation, movedFolders) }
    try checkCircles(relocations)
    return relocations
  }

  /// Whether an entry must be copied to its new folder. Throws if it cannot be copied.
  private func isAcross(
    _ relocation: Relocation, _ status: tabella_status
  ) throws(TableError) -> Bool {
    let (from, to) = (folders[relocation.from.folder], folders[relocation.to.folder])
    if from.status.isOnFileSystem(of: to.status) { return false }
    let text = folders.text(relocation.from)
    guard source.settings.movesAcross else {
      throw TableError(
        .constraint,
        "\(text) cannot be moved to another file system; use -o across=true to copy it there and delete it here"
      )
    }
    guard [.file, .link].contains(relocation.identity.kind) else {
      throw TableError(
        .constraint,
        "\(text) cannot be moved to another file system: only files and links can be copied")
    }
    try CopyAcross.check(status, text, into: to)
    if relocation.identity.kind == .file {
      try folders.checkAccess(relocation.from, R_OK, "cannot be read, so it cannot be copied")
    }
    return true
  }

  private mutating func check(
    _ relocation: Relocation, _ movedFolders: Set<Int>
  ) throws(TableError) {
    if relocation.identity.kind == .directory, relocation.from.folder != relocation.to.folder {
      for above in folderEntries(above: relocation.to.folder) where movedFolders.contains(above) {
        let text = folders.text(relocation.from)
        let reason =
          place(above) == relocation.from
          ? "into itself" : "into \(source.text(above)), which is moved in the same batch"
        throw TableError(.constraint, "\(text) cannot be moved \(reason)")
      }
    }
    try take(relocation.to, relocation.from, relocation.identity)
  }

  /// Reserves a name for the result of the batch. Throws if the name is not free.
  private mutating func take(
    _ place: FolderEntry, _ origin: FolderEntry? = nil, _ identity: Identity? = nil
  ) throws(TableError) {
    let text = folders.text(place)
    switch try names.take(place, in: folders) {
    case nil: return
    case .planned: throw TableError(.constraint, "two entries would have the name \(text)")
    case .entry(let status):
      // The same entry under a name in another case does not matter. Another hard link of the entry does.
      if origin?.folder == place.folder, Identity(status) == identity, status.links == 1 { return }
      let subject = origin.map { "\(folders.text($0)): " } ?? ""
      throw TableError(
        .constraint,
        "\(subject)a \(EntryKind(mode: status.mode).name) named \(text) exists already")
    }
  }

  /// Throws if a cycle contains entries of different file systems, since copies cannot be exchanged.
  private func checkCircles(_ relocations: [Relocation]) throws(TableError) {
    for group in inOrder(relocations) where group.count > 1 {
      guard let across = group.first(where: \.isAcross) else { continue }
      throw TableError(
        .constraint,
        "\(folders.text(across.from)) cannot be exchanged with an entry of another file system")
    }
  }

  // Creations and settings

  private mutating func planCreations() throws(TableError) -> [Step] {
    var steps: [Step] = []
    for new in requests.creations {
      try folders.checkWritable(new.place.folder)
      try take(new.place)
      steps.append(Step(act: .create(new.place, new.creation), edits: [new.edit]))
    }
    return steps
  }

  private func planSettings() throws(TableError) -> [Step] {
    var steps: [(depth: Int, step: Step)] = []
    // The entries of folders whose times change during the batch.
    let busy = Set(self.steps.flatMap(\.folders).compactMap { listing.folders[$0].entry })
    for entry in requests.entries {
      guard let change = requests.changes[entry] else { continue }
      let status = status(entry)
      let identity = Identity(status)
      let place = finalPlace(entry)
      if let mode = change.mode, mode.value != status.mode & permissionBits {
        if identity.kind == .link {
          throw TableError(
            .constraint, "\(source.text(entry)) is a link, which has no mode",
            column: DirectoryColumn.mode.rawValue)
        }
        try folders.checkSettable(self.place(entry), status, "mode")
        let step = Step(act: .setMode(place, identity, mode.value), edits: [mode.edit])
        steps.append((depth(place), step))
      }
      if let modified = change.modified,
        modified.value != status.moment || busy.contains(entry)
      {
        try folders.checkSettable(self.place(entry), status, "time")
        try checkTime(of: entry, identity)
        let step = Step(
          act: .setModified(place, identity, modified.value, was: status.moment),
          edits: [modified.edit])
        steps.append((depth(place), step))
      }
    }
    // A new mode can make a folder inaccessible, so its entries come first.
    return steps.enumerated().sorted {
      ($1.element.depth, $0.offset) < ($0.element.depth, $1.offset)
    }.map(\.element.step)
  }

  /// Throws if this process cannot set the time of a link, a FIFO or a device: a worker sets times of opened files only.
  private func checkTime(of entry: Int, _ identity: Identity) throws(TableError) {
    if [.file, .directory].contains(identity.kind) { return }
    let place = place(entry)
    do throws(Failure) {
      let opened = try Descriptor(
        opened: place.name.withCString {
          tabella_system_open_entry(folders[place.folder].descriptor, $0)
        })
      // `UTIME_OMIT`, which is not imported, leaves the time as it is.
      let result = tabella_system_set_modified(opened.raw, 0, (1 << 30) - 2)
      if result < 0 { throw Failure(-result) }
    } catch {
      throw error.error(of: source.text(entry), "cannot get a new time")
    }
  }
}
