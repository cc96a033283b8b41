import CTabellaSystem
import Glibc
import Tabella

/// Editing. A batch is checked completely and then performed act by act. The result reports every act that was done,
/// also if a later one fails.
extension DirectorySource: TableEditing, TableSectionEditing {
  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try check(rows: rows, inSection: section)
    return [RowEditability](repeating: [.editable, .delete], count: rows.count)
  }

  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    try sections.map { section throws(TableError) in
      try folder(ofSection: section) == 0 ? [] : [.title, .delete]
    }
  }

  func canInsertSections() -> Bool { true }

  func editableColumns() -> [Bool]? {
    DirectoryColumn.allCases.map { [.name, .mode, .modified].contains($0) }
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    let before = try version()
    if let version = batch.version, version != before {
      throw TableError(
        .conflict, "the folder has version \(before?.token ?? "none"), not \(version)")
    }
    let plan = try EditPlan(
      EditRequests(batch.edits, self), self, isDryRun: batch.isDryRun)
    if batch.isDryRun || plan.steps.isEmpty {
      let progress = rehearse(plan.steps, plan.folders)
      return EditResult(
        outcomes: outcomes(of: plan, batch.edits, progress, nil),
        changes: ChangeBatch(from: before, to: before, changes: []))
    }
    let executor = Executor(plan.folders, plan.cans, cancel)
    let progress = run(plan.steps, executor)
    var outcomes = outcomes(of: plan, batch.edits, progress, executor)
    guard progress.hasChanged else {
      return EditResult(
        outcomes: outcomes, changes: ChangeBatch(from: before, to: before, changes: []))
    }
    let receipt = receipt(of: plan, executor)
    // The batch is done, so a failed listing must not throw.
    if let failure = reload() {
      for index in outcomes.indices where outcomes[index].code == nil {
        outcomes[index].append(note: "the folder could not be listed again: \(failure.reason)")
        outcomes[index].id = nil
      }
    }
    return EditResult(
      outcomes: outcomes,
      changes: ChangeBatch(from: before, to: versionAfterEdit(), changes: nil), receipt: receipt)
  }

  // Performing

  /// The progress of a plan.
  struct Progress {
    /// The indices of the steps that were done.
    var done: Set<Int> = []
    /// The errors of failed steps.
    var failures: [Int: TableError] = [:]
    /// The diagnostics of steps.
    var diagnostics: [Int: [ActDiagnostic]] = [:]
    /// The folders whose changes may not be durable.
    var unsynced: [Int: Failure] = [:]
    /// The steps that changed something and left no record to undo it.
    var final: Set<Int> = []
    /// Whether the batch changed anything.
    var hasChanged = false
  }

  /// Runs `perform` for each step and stops at the first failure. `perform` receives the index of a step and returns
  /// its diagnostics. With `leavingOutConflicts`, a conflict skips only its own step.
  private func run(
    _ steps: [Step], leavingOutConflicts: Bool, perform: (Int) throws(TableError) -> [ActDiagnostic]
  ) -> Progress {
    var progress = Progress()
    for index in steps.indices {
      do throws(TableError) {
        progress.diagnostics[index] = try perform(index)
        progress.done.insert(index)
      } catch {
        progress.failures[index] = error
        guard leavingOutConflicts, error.code == .conflict else { break }
      }
    }
    return progress
  }

  /// Performs steps and makes them durable.
  func run(_ steps: [Step], _ executor: Executor, leavingOutConflicts: Bool = false) -> Progress {
    var final: Set<Int> = []
    var progress = run(steps, leavingOutConflicts: leavingOutConflicts) {
      index throws(TableError) in
      let (records, hadTraces) = (executor.records.count, executor.hasLeftTraces)
      do throws(TableError) {
        let diagnostics = try executor.perform(steps[index].act)
        if executor.records.count == records { final.insert(index) }
        return diagnostics
      } catch {
        if executor.hasLeftTraces, !hadTraces { final.insert(index) }
        throw error
      }
    }
    progress.final = final
    progress.unsynced = executor.sync()
    progress.hasChanged = !progress.done.isEmpty || executor.hasLeftTraces
    return progress
  }

  /// Tries steps without leaving a trace.
  func rehearse(
    _ steps: [Step], _ folders: OpenFolders, leavingOutConflicts: Bool = false
  ) -> Progress {
    let rehearsal = Rehearsal(folders, cancel)
    var progress = run(steps, leavingOutConflicts: leavingOutConflicts) {
      index throws(TableError) in try rehearsal.perform(steps[index].act)
    }
    progress.final = progress.done.filter {
      if case .remove = steps[$0].act { true } else { false }
    }
    return progress
  }

  // Reporting

  private func outcomes(
    of plan: EditPlan, _ edits: [EditBatch.Edit], _ progress: Progress, _ executor: Executor?
  ) -> [EditResult.Outcome] {
    var steps = [[Int]](repeating: [], count: plan.requests.subjects.count)
    for (index, step) in plan.steps.enumerated() {
      for edit in step.edits { steps[edit].append(index) }
    }
    var outcomes = steps.indices.map { edit in
      var outcome = outcome(steps[edit], plan, progress)
      outcome.isFinal = steps[edit].contains(where: progress.final.contains)
      if outcome.code == nil {
        note(edit, &outcome, plan, executor)
        // A section has no id. The row of its folder has one.
        if edits[edit].isOfSection { outcome.id = nil }
        for text in otherForms(edits[edit], edit, plan) { outcome.append(note: text) }
        if let text = departure(edits[edit], edit, plan) { outcome.append(note: text) }
      }
      return outcome
    }
    for (edit, by) in plan.included {
      outcomes[edit] = outcomes[by]
      outcomes[edit].message = outcomes[by].message ?? "deleted with its folder"
    }
    return outcomes
  }

  /// The outcome of an edit, from its steps.
  private func outcome(
    _ indices: [Int], _ plan: EditPlan, _ progress: Progress
  ) -> EditResult.Outcome {
    let done = indices.filter { progress.done.contains($0) }
    let said = done.map { plan.steps[$0].result }.joined(separator: ", ")
    let diagnostics = done.flatMap { progress.diagnostics[$0] ?? [] }
    if done.count < indices.count {
      let own = indices.lazy.compactMap { progress.failures[$0] }.first
      let reasons =
        diagnostics.map(\.text) + [
          own?.message ?? "not done, because an earlier edit failed"
        ]
      let reason = reasons.joined(separator: "; ")
      return .init(
        code: own?.code ?? .cancelled, message: said.isEmpty ? reason : "\(said), but \(reason)")
    }
    for index in done {
      var folders = plan.steps[index].folders
      if case .trash = plan.steps[index].act { folders.append(Executor.trash) }
      guard let failure = folders.lazy.compactMap({ progress.unsynced[$0] }).first else {
        continue
      }
      return .init(diagnostics + [.notDurable(failure)], said)
    }
    return .init(diagnostics, said)
  }

  /// Sets the id that the row of an edit has afterwards, or a message why it has none.
  private func note(
    _ edit: Int, _ outcome: inout EditResult.Outcome, _ plan: EditPlan, _ executor: Executor?
  ) {
    let place: FolderEntry
    var inode: UInt64?
    switch plan.requests.subjects[edit] {
    case .entry(let entry):
      if plan.requests.changes[entry]?.deletion != nil {
        if settings.deletesForGood {
          outcome.message = "deleted permanently; this cannot be undone"
        }
        return
      }
      place = plan.finalPlace(entry)
      inode = executor?.copies[place]?.inode ?? listing.inode(entry)
    case .new(let number):
      place = plan.requests.creations[number].place
      inode = executor?.created[place]?.inode
    }
    if place.name.first == UInt8(ascii: "."), !showsHidden {
      outcome.append(note: "\(readable(place.name)) is hidden; use -o hidden=true to show it")
    } else if let inode {
      outcome.id = id(inode: inode, path: isRecursive ? path(of: place, plan) : place.name)
    }
  }

  /// The path that an entry has below the root after the batch.
  private func path(of place: FolderEntry, _ plan: EditPlan) -> [UInt8] {
    finalPath(ofFolder: place.folder, plan.targets).flatMap { $0 + [UInt8(ascii: "/")] }
      + place.name
  }

  /// The cells that will read differently than the edit wrote them.
  private func otherForms(_ edit: EditBatch.Edit, _ number: Int, _ plan: EditPlan) -> [String] {
    guard case .set(_, let cells) = edit, case .entry(let entry) = plan.requests.subjects[number],
      let change = plan.requests.changes[entry]
    else { return [] }
    var shown: [(DirectoryColumn, [UInt8])] = []
    if let mode = change.mode?.value {
      let text = permissions(mode)
      shown.append((.mode, text.indices.map { text[$0] }))
    }
    let place = plan.finalPlace(entry)
    shown.append((.name, showsPaths ? path(of: place, plan) : place.name))
    return shown.compactMap { column, text in
      guard let cell = cells[column.rawValue], cell != .text(text) else { return nil }
      return "the \(column) is \(readable(text))"
    }
  }

  /// A note if a new path has no folder, because the user may have meant a name in the same folder.
  private func departure(
    _ edit: EditBatch.Edit, _ number: Int, _ plan: EditPlan
  ) -> String? {
    guard showsPaths, case .set(_, let cells) = edit,
      case .entry(let entry) = plan.requests.subjects[number],
      case .text(let path)? = cells[DirectoryColumn.name.rawValue],
      !path.contains(UInt8(ascii: "/")), plan.place(entry).folder != 0
    else { return nil }
    return "moved out of its folder, because in a tree the name is a path"
  }

  /// The names on the way to a folder after the renames in `targets`.
  private func finalPath(ofFolder folder: Int, _ targets: [Int: FolderEntry]) -> [[UInt8]] {
    var path: [[UInt8]] = []
    var folder = folder
    while let entry = listing.folders[folder].entry {
      path.append(targets[entry]?.name ?? listing.withName(entry) { Array($0) })
      folder = targets[entry]?.folder ?? listing.folders[folder].parent
    }
    return path.reversed()
  }

  private func receipt(of plan: EditPlan, _ executor: Executor) -> [UInt8]? {
    if executor.records.isEmpty { return nil }
    // Only the renames that were really done count.
    let done = Set(
      executor.records.compactMap { record in
        if case .relocated(let from, _, _, _) = record { from } else { nil as FolderEntry? }
      })
    let targets = plan.targets.filter { entry, _ in done.contains(plan.place(entry)) }
    var folders: [Int: Receipt.Folder] = [
      0: Receipt.Folder(path: [], inode: listing.folders[0].inode)
    ]
    for number in executor.records.flatMap(\.folders) where folders[number] == nil {
      folders[number] = Receipt.Folder(
        path: finalPath(ofFolder: number, targets), inode: listing.folders[number].inode)
    }
    return Receipt(folders: folders, records: executor.records).bytes
  }
}

extension EditResult.Outcome {
  /// The outcome of a completed edit with its diagnostics.
  init(_ diagnostics: [ActDiagnostic], _ done: String) {
    let text = diagnostics.map(\.text).joined(separator: "; ")
    if let code = diagnostics.lazy.compactMap(\.code).first {
      self.init(code: code, message: "\(done), but \(text)")
    } else {
      self.init(message: diagnostics.isEmpty ? nil : text)
    }
  }

  /// Adds a note to the message.
  fileprivate mutating func append(note text: String) {
    message = message.map { "\($0); \(text)" } ?? text
  }
}
