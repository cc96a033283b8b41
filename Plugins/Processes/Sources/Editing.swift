import Tabella

extension ProcessesSource: TableEditing {
  /// A checked edit, ready to be performed.
  private enum Step {
    /// The edit changes nothing. `note` is for the user.
    case nothing(OpenProcess, note: String?)
    case signal(OpenProcess)
    case renice(OpenProcess, Int32)
    /// The process ended before anything was done.
    case ended(TableError)
  }

  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]
  {
    try check(rows: rows, inSection: section)
    let protection = try Protection(procfs)
    return rows.map { row in
      protection.reason(snapshot.pids[row]) == nil ? [.editable, .delete] : .editable
    }
  }

  func editableColumns() -> [Bool]? { ProcessColumn.allCases.map { $0 == .nice } }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    cancel.begin()
    let old = try version()
    if let wanted = batch.version, wanted != old {
      throw TableError(.conflict, "the running processes have changed since version \(wanted)")
    }
    let steps = try plan(batch.edits)
    let boot = try snapshot.boot()
    if batch.isDryRun {
      return EditResult(
        outcomes: steps.map { foreseen($0, boot) },
        changes: ChangeBatch(from: old, to: old, changes: []))
    }
    var outcomes = steps.map { step -> EditResult.Outcome in
      switch step {
      case .ended(let error): .init(error)
      case .nothing(let process, let note): .init(message: note, id: id(of: process, boot))
      case .signal, .renice: .init()
      }
    }
    // Nice values come first, because they can be undone.
    let (receipt, hasFailed) = renice(steps, &outcomes, boot)
    signal(steps, &outcomes, hasFailed: hasFailed)
    if let error = errorIfNothingWasDone(outcomes) { throw error }
    let hasActed = zip(steps, outcomes).contains { step, outcome in
      switch step {
      case .signal, .renice: outcome.code == nil
      case .nothing, .ended: false
      }
    }
    let changes = hasActed ? readAgain(from: old) : ChangeBatch(from: old, to: old, changes: [])
    return EditResult(outcomes: outcomes, changes: changes, receipt: receipt)
  }

  // Checks

  /// Opens all processes and checks all edits before anything is done.
  private func plan(_ edits: [EditBatch.Edit]) throws(TableError) -> [Step] {
    try checkBoot()
    let protection = try Protection(procfs)
    let mayReniceAny = try procfs.mayReniceAny()
    var opened: [ProcessIdentity: OpenProcess] = [:]
    var (signalled, reniced): (Set<ProcessIdentity>, Set<ProcessIdentity>) = ([], [])
    /// Opens the process of an edit. A process is opened only once, and not if it has ended.
    func open(
      _ reference: RowReference, unlessIn done: inout Set<ProcessIdentity>
    ) throws(TableError) -> Result<OpenProcess, TableError> {
      let identity: ProcessIdentity
      switch try self.identity(of: reference) {
      case .failure(let error): return .failure(error)
      case .success(let found): identity = found
      }
      guard done.insert(identity).inserted else {
        throw TableError(
          .invalidArgument, "process \(identity.pid) occurs twice with the same edit")
      }
      if let process = opened[identity] { return .success(process) }
      do throws(TableError) {
        let process = try OpenProcess(identity, in: procfs)
        opened[identity] = process
        return .success(process)
      } catch {
        if error.code == .notFound { return .failure(error) }
        guard error.code == .io else { throw error }
        throw TableError(
          .io,
          "too many processes at once, so nothing was done (\(error.message)); choose fewer, or raise the "
            + "limit of open files (ulimit -n)")
      }
    }
    return try edits.map { edit throws(TableError) in
      switch edit {
      case .insert:
        throw TableError(.notSupported, "a new row cannot start a process")
      case .move:
        throw TableError(
          .notSupported, "processes are in the order of their pids and cannot be moved")
      case .delete(let reference):
        switch try open(reference, unlessIn: &signalled) {
        case .failure(let error): return .ended(error)
        case .success(let process):
          try check(process, protection)
          return .signal(process)
        }
      case .set(let reference, let cells):
        let value = try nice(cells)
        switch try open(reference, unlessIn: &reniced) {
        case .failure(let error): return .ended(error)
        case .success(let process):
          guard let value, value != process.stat.nice else {
            return .nothing(process, note: try note(value, process))
          }
          if !mayReniceAny {
            try process.checkNice(value) { snapshot.name(of: process.owner) }
          }
          return .renice(process, value)
        }
      }
    }
  }

  /// A note if the process already has the nice value but the table shows another one.
  private func note(_ value: Int32?, _ process: OpenProcess) throws(TableError) -> String? {
    guard let value, let row = snapshot.row(ofPID: process.identity.pid),
      let shown = try snapshot.process(row, .process)?.nice, shown != value
    else { return nil }
    return "its nice is now \(value)"
  }

  /// The process of a row; a failure if it has ended.
  private func identity(
    of reference: RowReference
  ) throws(TableError) -> Result<ProcessIdentity, TableError> {
    let row: Int
    switch reference {
    case .path(let path):
      guard !path.isSection else {
        throw TableError(.notSupported, "the only section, of all processes, cannot be edited")
      }
      guard path.section == 0 else { throw .noSection(path.section) }
      guard snapshot.pids.indices.contains(path.row) else {
        throw .noRow(path.row, inSection: 0, of: snapshot.pids.count)
      }
      row = path.row
    case .id(let id):
      do throws(TableError) {
        row = try indexPath(forID: id).row
      } catch {
        guard error.code == .notFound else { throw error }
        return .failure(error)
      }
    }
    let pid = snapshot.pids[row]
    guard let process = try snapshot.process(row, .process) else {
      return .failure(
        TableError(
          .notFound, "the process \(pid) has ended or cannot be read, so nothing was done to it")
      )
    }
    if case .path = reference, process.start >= snapshot.tick {
      return .failure(
        TableError(
          .notFound,
          "the process \(pid) may have started after the table was read; name it by its id"))
    }
    return .success(ProcessIdentity(pid: pid, start: process.start))
  }

  /// Throws if the system was booted after the listing. A program restored from a checkpoint can survive a boot.
  private func checkBoot() throws(TableError) {
    guard try procfs.bootDigits() == snapshot.boot() else {
      throw TableError(.conflict, "the system was booted after the table was read; open it again")
    }
  }

  private func check(_ process: OpenProcess, _ protection: Protection) throws(TableError) {
    let pid = process.identity.pid
    if let reason = protection.reason(pid) { throw TableError(.constraint, reason) }
    if process.stat.isKernelThread {
      throw TableError(
        .constraint,
        "process \(pid) is a kernel thread, and signals do not end it"
      )
    }
    try process.send(0) { snapshot.name(of: process.owner) }
  }

  /// The nice value among the cells to set; nil if there is none.
  private func nice(_ cells: [Int: Cell]) throws(TableError) -> Int32? {
    for number in cells.keys.sorted() where number != ProcessColumn.nice.rawValue {
      guard columns.indices.contains(number) else {
        throw TableError(.invalidArgument, "there is no column \(number)", column: number)
      }
      throw TableError(
        .readOnly, "\(columns[number].name) of a process cannot be set; only nice can",
        column: number)
    }
    guard let cell = cells[ProcessColumn.nice.rawValue] else { return nil }
    guard case .integer(let value) = cell, niceValues.contains(value) else {
      throw TableError(
        .constraint, "nice must be an integer from -20 (highest priority) to 19, not \(cell)",
        column: ProcessColumn.nice.rawValue)
    }
    return Int32(value)
  }

  // Performing

  private func foreseen(_ step: Step, _ boot: [UInt8]) -> EditResult.Outcome {
    switch step {
    case .ended(let error): .init(error)
    case .signal: .init(message: "would send \(termination.signal.name)", isFinal: true)
    case .nothing(let process, let note): .init(message: note, id: id(of: process, boot))
    case .renice(let process, _): .init(id: id(of: process, boot))
    }
  }

  /// Sets nice values up to the first failure. Returns the receipt, and whether an edit failed.
  private func renice(
    _ steps: [Step], _ outcomes: inout [EditResult.Outcome], _ boot: [UInt8]
  ) -> (receipt: [UInt8]?, hasFailed: Bool) {
    var receipt = NiceReceipt()
    var hasFailed = false
    for (number, step) in steps.enumerated() {
      guard case .renice(let process, let value) = step else { continue }
      if hasFailed {
        outcomes[number] = ProcessesSource.notDone
        continue
      }
      let id = id(of: process, boot)
      do throws(TableError) {
        try process.setNice(value) { snapshot.name(of: process.owner) }
        outcomes[number].id = id
        receipt.entries.append(.init(id: id, old: Int32(process.stat.nice), new: value))
      } catch {
        outcomes[number] = .init(error)
        hasFailed = error.code != .notFound
      }
    }
    return (receipt.bytes, hasFailed)
  }

  private static let notDone = EditResult.Outcome(
    code: .cancelled, message: "not done, because another edit failed")

  private func id(of process: OpenProcess, _ boot: [UInt8]) -> String {
    let (pid, start) = (process.identity.pid, process.identity.start)
    return "\(pid).\(start).\(String(decoding: boot, as: UTF8.self))"
  }

  private func signal(
    _ steps: [Step], _ outcomes: inout [EditResult.Outcome], hasFailed: Bool
  ) {
    var sent: [(number: Int, process: OpenProcess)] = []
    for (number, step) in steps.enumerated() {
      guard case .signal(let process) = step else { continue }
      if hasFailed {
        outcomes[number] = ProcessesSource.notDone
        continue
      }
      do throws(TableError) {
        try process.send(termination.signal.number) { snapshot.name(of: process.owner) }
        sent.append((number, process))
      } catch {
        outcomes[number] = .init(error)
      }
    }
    if termination.wait > 0 {
      OpenProcess.wait(for: sent.map(\.process), seconds: termination.wait, cancel)
    }
    for (number, process) in sent {
      outcomes[number].message = "sent \(termination.signal.name)\(ending(process))"
      outcomes[number].isFinal = true
    }
  }

  private func ending(_ process: OpenProcess) -> String {
    if termination.wait == 0 { return "" }
    if process.hasEnded { return ", ended" }
    return cancel.isSet
      ? ", still running when the wait was cancelled"
      : ", still running after \(termination.wait) s"
  }

  private func errorIfNothingWasDone(_ outcomes: [EditResult.Outcome]) -> TableError? {
    guard outcomes.allSatisfy({ $0.code != nil }),
      let first = outcomes.first(where: { $0.code != .cancelled }), let code = first.code
    else { return nil }
    return TableError(code, first.message ?? "nothing was done")
  }

  /// Lists the processes again. The edits are done, so if the listing fails, the old table stays.
  private func readAgain(from old: Version?) -> ChangeBatch {
    guard let fresh = try? Snapshot(procfs) else {
      return ChangeBatch(from: old, to: old, changes: nil)
    }
    snapshot = fresh
    return ChangeBatch(from: old, to: try? version(), changes: nil)
  }
}

extension ProcessesSource: TableUndoing {
  /// Restores nice values of processes that still have the value from the receipt.
  ///
  /// If only some can be restored, the outcome has a code and the new receipt undoes the rest.
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try checkBoot()
    let old = try version()
    let all = try NiceReceipt(bytes: receipt).entries
    let mayReniceAny = try procfs.mayReniceAny()
    var entries: [NiceReceipt.Entry] = []
    var processes: [OpenProcess] = []
    for entry in all {
      // A process that has ended has no value to restore. It must not prevent the undo of the others.
      guard let process = try open(entry, endedIsConflict: all.count == 1) else { continue }
      if !mayReniceAny {
        try process.checkNice(entry.old) { snapshot.name(of: process.owner) }
      }
      entries.append(entry)
      processes.append(process)
    }
    guard !processes.isEmpty else {
      throw TableError(.conflict, "all \(all.count) processes have ended")
    }
    let ended = all.count - entries.count
    var outcome = EditResult.Outcome(
      message: ended == 0 ? nil : "\(ended) of \(all.count) processes have ended")
    if isDryRun {
      return EditResult(
        outcomes: [outcome], changes: ChangeBatch(from: old, to: old, changes: []))
    }
    var next = NiceReceipt(entries.map { .init(id: $0.id, old: $0.new, new: $0.old) })
    for (number, process) in processes.enumerated() {
      do throws(TableError) {
        try process.setNice(entries[number].old) { snapshot.name(of: process.owner) }
      } catch {
        if number == 0 { throw error }
        outcome = .init(error)
        outcome.message = "\(number) of \(processes.count) were restored, then: \(error.message)"
        next = NiceReceipt(Array(entries[number...]))
        break
      }
    }
    return EditResult(outcomes: [outcome], changes: readAgain(from: old), receipt: next.bytes)
  }

  /// Opens the process of an entry; nil if it has ended, unless that is a conflict.
  private func open(
    _ entry: NiceReceipt.Entry, endedIsConflict: Bool
  ) throws(TableError) -> OpenProcess? {
    do throws(TableError) {
      let row = try indexPath(forID: entry.id).row
      guard let process = try snapshot.process(row, .process) else {
        throw TableError(.notFound, "the process \(entry.id) has ended")
      }
      let open = try OpenProcess(
        ProcessIdentity(pid: snapshot.pids[row], start: process.start), in: procfs)
      guard open.stat.nice == entry.new else {
        throw TableError(
          .conflict,
          "process \(open.identity.pid) now has nice \(open.stat.nice), not \(entry.new)")
      }
      return open
    } catch {
      guard error.code == .notFound else { throw error }
      guard endedIsConflict else { return nil }
      throw TableError(.conflict, error.message)
    }
  }
}

extension EditResult.Outcome {
  fileprivate init(_ error: TableError) { self.init(code: error.code, message: error.message) }
}
