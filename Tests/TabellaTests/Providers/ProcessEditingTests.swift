import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaProcesses
@testable import TabellaTestSupport

/// Signals and nice values reach the listed process, or none.
@Suite struct ProcessEditingTests {
  /// A sleeping child, which is killed and reaped with the object.
  private final class Child {
    let pid: pid_t
    private var isReaped = false

    init(_ words: String...) throws {
      pid = try words.isEmpty ? spawn("/bin/sleep", "1000") : spawn(words)
    }

    deinit { end() }

    func end() {
      guard !isReaped else { return }
      isReaped = true
      kill(pid, SIGKILL)
      reap(pid)
    }

    /// The signal that ended it; nil while it runs.
    var endedBy: Int32? {
      var information = siginfo_t()
      guard waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT | WNOHANG) == 0,
        information.si_signo == SIGCHLD
      else { return nil }
      return information._sifields._sigchld.si_status
    }

    var nice: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(pid)) }
  }

  private static func termination(_ options: [String: String]) throws -> TerminationOptions {
    try TerminationOptions(options)
  }

  private static func delete(_ references: RowReference..., isDryRun: Bool = false) -> EditBatch {
    EditBatch(references.map { .delete($0) }, isDryRun: isDryRun)
  }

  /// The error of a commit that did nothing.
  private static func refusal(
    _ source: any TableDataSource, _ batch: EditBatch,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> TableError? {
    let editing = try #require(source.editing)
    return #expect(throws: TableError.self, sourceLocation: sourceLocation) {
      try editing.commit(batch)
    }
  }

  // Options

  @Test(arguments: [
    ("TERM", 15), ("term", 15), ("SIGTERM", 15), ("sigKill", 9), ("9", 9), ("1", 1), ("64", 64),
    ("rtmin+2", 36), ("SIGRTMIN", 34), ("usr1", 10),
    // Names that `kill -l` lists, but that were refused.
    ("RTMAX", 64), ("SIGRTMAX-1", 63), ("rtmax-14", 50), ("IO", 29), ("POLL", 29), ("CLD", 17),
    ("SIGIOT", 6), ("UNUSED", 31),
  ])
  func signalsHaveNamesAndNumbers(text: String, number: Int32) throws {
    #expect(try Signal(text).number == number)
    #expect(try Signal(Signal(number: number).name).number == number)
  }

  @Test func signalsThatKillLists() throws {
    let bash = try findProgram("bash")
    let listed = try run(bash, ["-c", "kill -l"]).text.split(whereSeparator: \.isWhitespace)
    let names = listed.filter { !$0.hasSuffix(")") }.map(String.init)
    #expect(names.count > 60)
    for name in names {
      let number = try run(bash, ["-c", "kill -l \(name)"]).text.filter(\.isNumber)
      #expect(try Signal(name).number == Int32(number), "\(name)")
    }
  }

  @Test(arguments: [
    "", "0", "65", "-9", "SIG", "TERMX", "SIGSIGTERM", "KILL ", "9x", "1e1", "+", "RTMAX-54",
    "RTMAX+1", "RTMIN-1",
  ])
  func unknownSignalsAreRefusedAtOnce(text: String) throws {
    let error = #expect(throws: TableError.self) {
      try ProcessesProvider().open(
        OpenRequest(location: [], scheme: "processes", options: ["signal": text]))
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("\"\(text)\"") == true)
    #expect(error?.message.contains("TERM, KILL") == true)
  }

  @Test(arguments: ["-1", "3601", "x", "", "1.5"])
  func waitsAreBounded(text: String) {
    let error = #expect(throws: TableError.self) { try Self.termination(["wait": text]) }
    #expect(error?.code == .invalidArgument && error?.message.contains("0 to 3600") == true)
  }

  @Test func declarationsAreThoseOfTheManifest() throws {
    let manifest = try Manifest(parsing: shippedManifest("Processes/tabella-processes.json"))
    #expect(manifest.options == ProcessesProvider.options)
    #expect(manifest.capabilities == ["ids", "changes", "edit", "undo", "supplementary"])
  }

  // Signals

  @Test(arguments: [("KILL", SIGKILL), ("usr1", SIGUSR1), ("15", SIGTERM), ("34", 34)])
  func theSignalIsSent(name: String, number: Int32) throws {
    let child = try Child()
    let source = try ProcessesSource(termination: Self.termination(["signal": name, "wait": "20"]))
    let result = try source.commit(Self.delete(.id(source.id(of: child.pid))))
    let sent = try Signal(name).name
    #expect(result.outcomes == [.init(message: "sent \(sent), ended", isFinal: true)])
    #expect(result.receipt == nil)
    #expect(child.endedBy == number)
  }

  @Test func withoutWaitingItIsOnlySent() throws {
    let child = try Child()
    // An index path alone does not identify a process that began during the listing.
    usleep(20_000)
    let source = try ProcessesSource(termination: Self.termination(["signal": "CONT"]))
    let row = try source.rowNumber(of: child.pid)
    _ = try source.row(row)
    let result = try source.commit(Self.delete(.path(IndexPath(section: 0, row: row))))
    #expect(result.outcomes == [.init(message: "sent CONT", isFinal: true)])
    #expect(child.endedBy == nil)
  }

  @Test func whoIgnoresTheSignalStillRuns() throws {
    let child = try Child("/bin/sh", "-c", "trap '' TERM; exec sleep 1000")
    let source = try ProcessesSource(termination: Self.termination(["wait": "1"]))
    try waitUntil {
      try String(contentsOfFile: "/proc/\(child.pid)/comm", encoding: .utf8) == "sleep\n"
    }
    let result = try source.commit(Self.delete(.id(source.id(of: child.pid))))
    #expect(
      result.outcomes == [.init(message: "sent TERM, still running after 1 s", isFinal: true)])
    #expect(child.endedBy == nil)
  }

  @Test func waitingCanBeCancelled() throws {
    let child = try Child()
    let source = try ProcessesSource(
      termination: Self.termination(["signal": "CONT", "wait": "3600"]))
    let cancel = try #require(source.cancellation)
    let id = try source.id(of: child.pid)
    let isDone = CancelFlag()
    let thread = Thread {
      // Before the wait has begun, there is nothing to cancel.
      while !isDone.isSet {
        usleep(100_000)
        cancel()
      }
    }
    thread.start()
    let result = try source.commit(Self.delete(.id(id)))
    isDone.raise()
    #expect(
      result.outcomes == [
        .init(message: "sent CONT, still running when the wait was cancelled", isFinal: true)
      ])
  }

  @Test func manyAreWaitedForTogether() throws {
    let children = try (0..<60).map { _ in try Child() }
    let stubborn = try Child("/bin/sh", "-c", "trap '' TERM; exec sleep 1000")
    try waitUntil {
      try String(contentsOfFile: "/proc/\(stubborn.pid)/comm", encoding: .utf8) == "sleep\n"
    }
    let source = try ProcessesSource(termination: Self.termination(["wait": "2"]))
    let ids = try (children + [stubborn]).map { try source.id(of: $0.pid) }
    let start = Date()
    let result = try source.commit(EditBatch(ids.map { .delete(.id($0)) }))
    #expect(Date().timeIntervalSince(start) < 10)
    #expect(
      result.outcomes
        == children.map { _ in .init(message: "sent TERM, ended", isFinal: true) }
        + [.init(message: "sent TERM, still running after 2 s", isFinal: true)])
    #expect(children.allSatisfy { $0.endedBy == SIGTERM })
  }

  @Test func dryRunDoesNothing() throws {
    let children = try [Child(), Child()]
    let source = try ProcessesSource(termination: Self.termination(["signal": "KILL"]))
    let ids = try children.map { try source.id(of: $0.pid) }
    let version = try source.version()
    let result = try source.commit(
      EditBatch(
        [.delete(.id(ids[0])), .set(.id(ids[1]), cells: [4: 7])], version: version, isDryRun: true))
    #expect(
      result.outcomes == [.init(message: "would send KILL", isFinal: true), .init(id: ids[1])])
    #expect(result.changes == ChangeBatch(from: version, to: version, changes: []))
    #expect(result.receipt == nil)
    usleep(50_000)
    #expect(children[0].endedBy == nil)
    #expect(children[1].nice == 0)
  }

  @Test func afterwardsTheTableIsNew() throws {
    let child = try Child()
    let source = try ProcessesSource(
      termination: Self.termination(["signal": "KILL", "wait": "20"]))
    let id = try source.id(of: child.pid)
    let old = try source.version()
    let later = try Child()
    let result = try source.commit(EditBatch([.delete(.id(id))], version: old))
    #expect(result.changes.from == old && result.changes.changes == nil)
    #expect(try result.changes.to == source.version() && result.changes.to != old)
    #expect(try source.row(forPID: child.pid)["state"] == "Z")
    _ = try source.row(forPID: later.pid)
    let stale = try Self.refusal(
      source, EditBatch([.delete(.id(source.id(of: later.pid)))], version: old))
    #expect(stale?.code == .conflict && later.endedBy == nil)
  }

  // Identity

  /// Reading a process waits until its first tick is over, so that no later process can have its id.
  @Test func idsAreOfOlderProcesses() throws {
    for _ in 0..<50 {
      let child = try Child("/bin/true")
      let id = try ProcessesSource().id(of: child.pid)
      let start = try #require(Int64(id.split(separator: ".")[1]))
      #expect(ticksSinceBoot() > start)
    }
  }

  @Test func processThatEndedIsNotSignalled() throws {
    let children = try (0..<3).map { _ in try Child() }
    usleep(20_000)
    let source = try ProcessesSource()
    let ids = try children.map { try source.id(of: $0.pid) }
    let row = try source.rowNumber(of: children[0].pid)
    children[0].end()
    let gone = "the process \(children[0].pid) has ended"
    for reference in [RowReference.id(ids[0]), .path(IndexPath(section: 0, row: row))] {
      let error = try Self.refusal(source, Self.delete(reference))
      #expect(error?.code == .notFound && error?.message == gone)
    }
    // A zombie counts as ended, too.
    kill(children[1].pid, SIGKILL)
    try waitUntil { children[1].endedBy != nil }
    let waiting =
      "the process \(children[1].pid) has ended; its parent \(getpid()) has not collected its status yet"
    #expect(try Self.refusal(source, Self.delete(.id(ids[1])))?.message == waiting)
    // The other processes of a batch are signalled.
    let result = try source.commit(Self.delete(.id(ids[0]), .id(ids[1]), .id(ids[2])))
    #expect(
      result.outcomes == [
        .init(code: .notFound, message: gone), .init(code: .notFound, message: waiting),
        .init(message: "sent TERM", isFinal: true),
      ])
  }

  /// In a view, a batch failed completely if one of its processes had ended.
  @Test func inAViewTheOthersAreSignalledToo() throws {
    for isSorted in [true, false] {
      let children = try [Child(), Child()]
      usleep(20_000)
      let ids = try children.map { try ProcessesSource().id(of: $0.pid) }
      children[0].end()
      let source = try ProcessesSource()
      let view: any TableDataSource =
        isSorted
        ? try source.sorted(by: [SortDescriptor(column: 0, isDescending: true)])
        : try source.filtered(by: [
          Condition(column: 0, comparison: .equal, value: Array("\(children[1].pid)".utf8))
        ])
      let result = try #require(view.editing).commit(Self.delete(.id(ids[0]), .id(ids[1])))
      #expect(result.outcomes[0].code == .notFound)
      #expect(result.outcomes[1] == .init(message: "sent TERM", isFinal: true))
      try waitUntil { children[1].endedBy == SIGTERM }
    }
  }

  /// A procfs in which a child's pid belonged to another process during the listing.
  @Test func laterProcessWithThePIDIsNotSignalled() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    let source = try procfs.open()
    let id = try source.id(0)
    try procfs.add(Int(child.pid), start: 101)
    let path = RowReference.path(IndexPath(section: 0, row: 0))
    for edit in [
      EditBatch.Edit.delete(.id(id)), .delete(path), .set(.id(id), cells: [4: 5]),
      .set(path, cells: [4: 5]),
    ] {
      let error = try Self.refusal(source, EditBatch([edit]))
      #expect(error?.code == .notFound)
      #expect(error?.message == "the process \(child.pid) has ended")
    }
    usleep(50_000)
    #expect(child.endedBy == nil && child.nice == 0)
    // With its present id, it is signalled.
    _ = try procfs.open().commit(Self.delete(path))
    try waitUntil { child.endedBy == SIGTERM }
  }

  /// A row that was not read yet may belong to a later process, so its index path alone does not identify it.
  @Test func rowsReadTooLateAreNamedByID() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    let source = try procfs.open()
    try procfs.add(Int(child.pid), start: Int(ticksSinceBoot()) + 1)
    let path = RowReference.path(IndexPath(section: 0, row: 0))
    let error = try Self.refusal(source, Self.delete(path))
    #expect(error?.code == .notFound && error?.message.hasSuffix("name it by its id") == true)
    #expect(child.endedBy == nil)
    _ = try source.commit(Self.delete(.id(source.id(0))))
    try waitUntil { child.endedBy == SIGTERM }
  }

  /// The pids of a procfs of another namespace differ from those of system calls.
  @Test func otherNamespacesAreNotTouched() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    unlink("\(procfs.root)/self/fdinfo")
    let source = try procfs.open()
    let id = try source.id(0)
    for (text, code) in [
      ("Pid:\t\(child.pid + 1)", TableError.Code.notFound), ("Pid:\t-1", .notFound),
      ("flags: 1", .notSupported),
    ] {
      for number in 0..<256 { try procfs.write("self/fdinfo/\(number)", Array("\(text)\n".utf8)) }
      #expect(try Self.refusal(source, Self.delete(.id(id)))?.code == code)
    }
    #expect(child.endedBy == nil)
  }

  @Test func otherBootsAreAConflict() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    let source = try procfs.open()
    _ = try source.version()
    try procfs.write("sys/kernel/random/boot_id", Array("00000000-0000-0000-0001".utf8))
    #expect(try Self.refusal(source, Self.delete(.id(source.id(0))))?.code == .conflict)
    #expect(child.endedBy == nil)
  }

  // Refusals

  @Test func ownAncestorsAndTheFirstAreRefused() throws {
    let child = try Child()
    let source = try ProcessesSource(termination: Self.termination(["signal": "CONT"]))
    for (pid, reason) in [
      (1, "is the init process"), (getpid(), "is tabella itself"),
      (getppid(), "is an ancestor of tabella"),
    ] where pid != 1 || getppid() != 1 {
      let id = try source.id(of: pid)
      let error = try Self.refusal(source, Self.delete(.id(source.id(of: child.pid)), .id(id)))
      #expect(error?.code == .constraint)
      #expect(error?.message.hasPrefix("process \(pid) \(reason)") == true)
      let row = try source.rowNumber(of: pid)
      #expect(try source.editability(ofRows: row..<row + 1, inSection: 0) == [.editable])
    }
    let row = try source.rowNumber(of: child.pid)
    #expect(try source.editability(ofRows: row..<row + 1, inSection: 0) == [[.editable, .delete]])
    let all = try source.exactNumberOfRows(inSection: 0)
    #expect(try source.editability(ofRows: 0..<all, inSection: 0).count == all)
    #expect(throws: TableError.self) {
      try source.editability(ofRows: all..<all + 1, inSection: 0)
    }
  }

  @Test func kernelThreadsAreRefused() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    try procfs.write(
      "\(child.pid)/stat", StatText(pid: Int(child.pid), flags: "2129984").bytes)
    let source = try procfs.open()
    let error = try Self.refusal(source, Self.delete(.id(source.id(0))))
    #expect(error?.code == .constraint)
    #expect(error?.message.contains("is a kernel thread") == true)
    #expect(child.endedBy == nil)
  }

  /// Only root may signal root's processes or lower nice values. Attempts by another user are refused.
  @Test(.needs(.root)) func strangersAreDenied() async {
    await #expect(processExitsWith: .success) {
      let victim = try Child()
      // The saved user stays root, for the cleanup.
      #expect(setreuid(65534, 0) == 0 && seteuid(65534) == 0)
      defer { seteuid(0) }
      let source = try ProcessesSource()
      let victimID = try source.id(of: victim.pid)
      let signal = try Self.refusal(source, Self.delete(.id(victimID)))
      #expect(signal?.code == .denied)
      #expect(
        signal?.message == "process \(victim.pid) belongs to root: you may not send signals to it")
      let nice = try Self.refusal(source, EditBatch([.set(.id(victimID), cells: [4: 5])]))
      #expect(nice?.code == .denied)
      #expect(nice?.message == "process \(victim.pid) belongs to root: you may not set its nice")

      let own = try Child()
      let later = try ProcessesSource()
      let result = try later.commit(EditBatch([.set(.id(later.id(of: own.pid)), cells: [4: 5])]))
      #expect(own.nice == 5)
      let undo = #expect(throws: TableError.self) {
        try later.undo(#require(result.receipt), isDryRun: false)
      }
      #expect(undo?.code == .denied)
      #expect(
        undo?.message == "process \(own.pid) has nice 5, which only root may lower to 0")
    }
  }

  /// A predictable refusal was reported only after the act: a dry run promised success, and of a batch some edits and
  /// all signals were done.
  @Test(.needs(.root)) func deniedReniceIsForeseen() async {
    await #expect(processExitsWith: .success) {
      let victim = try Child()
      // The saved user stays root, for the cleanup.
      #expect(setreuid(65534, 0) == 0 && seteuid(65534) == 0)
      defer { seteuid(0) }
      let (own, other) = (try Child(), try Child())
      let source = try ProcessesSource()
      let (ownID, otherID) = (try source.id(of: own.pid), try source.id(of: other.pid))
      let victimID = try source.id(of: victim.pid)
      for isDryRun in [true, false] {
        for edit in [
          EditBatch.Edit.set(.id(victimID), cells: [4: 4]), .set(.id(otherID), cells: [4: -1]),
        ] {
          let batch = EditBatch(
            [.set(.id(ownID), cells: [4: 4]), edit, .delete(.id(ownID))], isDryRun: isDryRun)
          #expect(try Self.refusal(source, batch)?.code == .denied)
        }
      }
      usleep(50_000)
      #expect(own.nice == 0 && other.nice == 0 && own.endedBy == nil)
      let result = try source.commit(EditBatch([.set(.id(ownID), cells: [4: 4])]))
      let receipt = try #require(result.receipt)
      for isDryRun in [true, false] {
        let undo = #expect(throws: TableError.self) {
          try source.undo(receipt, isDryRun: isDryRun)
        }
        #expect(undo?.code == .denied && undo?.message.contains("only root may lower") == true)
      }
    }
  }

  /// Prediction for users other than root: the users must be equal, and nice values may fall to the process's limit.
  @Test func whatMayBeReniced() throws {
    let child = try Child()
    let procfs = try FakeProcfs(actingOn: child.pid)
    try procfs.add(Int(child.pid), nice: 10)
    try procfs.write("thread-self/status", Array("Name:\tx\nCapEff:\t00000000a80425fb\n".utf8))
    let user = geteuid()
    func isAllowed(_ nice: Int64, limit: String, users: String) throws -> Bool {
      try procfs.write(
        "\(child.pid)/limits",
        Array("Limit  Soft Limit\nMax nice priority         \(limit)                   40\n".utf8))
      try procfs.write("\(child.pid)/status", Array("Uid:\t\(users)\n".utf8))
      let source = try procfs.open()
      let edit = EditBatch.Edit.set(.id(try source.id(0)), cells: [4: .integer(nice)])
      do throws(TableError) {
        _ = try source.commit(EditBatch([edit], isDryRun: true))
        return true
      } catch {
        #expect(error.code == .denied)
        return false
      }
    }
    let (own, other) = ("\(user)\t\(user)\t0\t0", "\(user + 1)\t\(user + 2)\t\(user)\t0")
    for (limit, lowest) in [("0", 10), ("17", 3), ("40", -20), ("unlimited", -20), ("5", 10)] {
      for nice in -20...19 as ClosedRange<Int64> {
        #expect(
          try isAllowed(nice, limit: limit, users: own) == (nice >= lowest), "\(limit) \(nice)")
      }
    }
    #expect(try isAllowed(12, limit: "0", users: "\(user + 1)\t\(user)\t0\t0"))
    #expect(try isAllowed(12, limit: "0", users: "\(user)\t\(user + 1)\t0\t0"))
    #expect(try !isAllowed(12, limit: "40", users: other))
    // A user who may renice any process is never refused.
    try procfs.write("thread-self/status", Array("CapEff:\t0000000000800000\n".utf8))
    #expect(try isAllowed(-20, limit: "0", users: other))
    #expect(child.nice == 0)
  }

  /// After an unpredictable failure of a renice, the signals were still sent, and the rest of a partial undo was
  /// unknown.
  @Test(.needs(.root)) func afterAFailureNothingMoreIsDone() async {
    await #expect(processExitsWith: .success) {
      let victim = try Child()
      let procfs = try FakeProcfs(actingOn: victim.pid)
      #expect(setreuid(65534, 0) == 0 && seteuid(65534) == 0)
      defer { seteuid(0) }
      let (own, other) = (try Child(), try Child())
      seteuid(0)
      for child in [own, other] { try procfs.add(Int(child.pid)) }
      seteuid(65534)
      // This procfs contains neither the rights of this process nor the owners of the others.
      let source = try procfs.open()
      let ids = try [own, victim, other].map { try source.id(of: $0.pid) }
      let result = try source.commit(
        EditBatch([
          .set(.id(ids[0]), cells: [4: 4]), .set(.id(ids[1]), cells: [4: 4]),
          .set(.id(ids[2]), cells: [4: 4]), .delete(.id(ids[2])),
        ]))
      #expect(result.outcomes.map(\.code) == [nil, .denied, .cancelled, .cancelled])
      usleep(50_000)
      #expect(own.nice == 4 && other.nice == 0 && other.endedBy == nil)
      let alone = try Self.refusal(
        source, EditBatch([.delete(.id(ids[2])), .set(.id(ids[1]), cells: [4: 4])]))
      #expect(alone?.code == .denied && other.endedBy == nil)

      let entries = zip(ids, [own, victim, other]).map { id, child in
        NiceReceipt.Entry(id: id, old: 7, new: 0)
      }
      let undone = try source.undo(#require(NiceReceipt(entries).bytes), isDryRun: false)
      #expect(undone.outcomes[0].code == .denied)
      #expect(undone.outcomes[0].message?.hasPrefix("1 of 3 were restored, then: ") == true)
      #expect(own.nice == 7 && other.nice == 0)
      let rest = try NiceReceipt(bytes: #require(undone.receipt)).entries
      #expect(rest.map(\.id) == Array(ids.dropFirst()) && rest.map(\.old) == [7, 7])
      // None of it can be done.
      let error = #expect(throws: TableError.self) {
        try source.undo(#require(undone.receipt), isDryRun: false)
      }
      #expect(error?.code == .denied)
    }
  }

  /// An edit without effect counted as an edit, because processes come and go all the time.
  @Test func settingWhatIsThereIsNoChange() throws {
    let child = try Child()
    let source = try ProcessesSource()
    let id = try source.id(of: child.pid)
    let version = try source.version()
    let later = try Child()
    for cells in [[4: 0], [:]] as [[Int: Cell]] {
      let result = try source.commit(EditBatch([.set(.id(id), cells: cells)]))
      #expect(result.outcomes == [.init(id: id)] && result.receipt == nil)
      #expect(result.changes == ChangeBatch(from: version, to: version, changes: []))
    }
    #expect(later.endedBy == nil)
    // Another program has set the value, and the table still shows the old one.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(child.pid), 3)
    let same = try source.commit(EditBatch([.set(.id(id), cells: [4: 3])]))
    #expect(same.outcomes == [.init(message: "its nice is now 3", id: id)])
    let result = try source.commit(EditBatch([.set(.id(id), cells: [4: 4])]))
    #expect(result.changes.changes == nil && result.receipt != nil)
  }

  @Test func otherEditsAreRefused() throws {
    let child = try Child()
    let source = try ProcessesSource(termination: Self.termination(["signal": "KILL"]))
    let row = RowReference.id(try source.id(of: child.pid))
    let place = IndexPath(section: 0, row: 0)
    let count = try source.exactNumberOfRows(inSection: 0)
    let cases: [([EditBatch.Edit], TableError.Code)] = [
      ([.insert(at: place, cells: [:])], .notSupported), ([.move(row, to: place)], .notSupported),
      ([.delete(.path(.section(0)))], .notSupported),
      ([.delete(.path(IndexPath(section: 1, row: 0)))], .notFound),
      ([.delete(.path(IndexPath(section: 0, row: count)))], .notFound),
      ([.delete(.id("1.2"))], .notFound), ([.delete(.id("-1.5.3f2a9c10deadbeef"))], .notFound),
      ([.delete(row), .delete(row)], .invalidArgument),
      ([.set(row, cells: [0: 1])], .readOnly), ([.set(row, cells: [4: 1, 8: "x"])], .readOnly),
      ([.set(row, cells: [10: 1])], .invalidArgument),
      ([.set(row, cells: [-1: 1])], .invalidArgument), ([.set(row, cells: [4: 20])], .constraint),
      ([.set(row, cells: [4: -21])], .constraint), ([.set(row, cells: [4: "5"])], .constraint),
      ([.set(row, cells: [4: .missing])], .constraint),
      ([.set(row, cells: [4: .integer(.max)])], .constraint),
    ]
    for (edits, code) in cases {
      #expect(try Self.refusal(source, EditBatch(edits))?.code == code, "\(edits)")
      // With one bad edit, nothing of the batch is done, unless a row has merely gone.
      if code != .notFound {
        #expect(try Self.refusal(source, EditBatch([.delete(row)] + edits)) != nil)
      }
    }
    usleep(50_000)
    #expect(child.endedBy == nil)
    #expect(source.editableColumns()?.indices.filter { source.editableColumns()![$0] } == [4])
    #expect(source.moving == nil)
    #expect(try source.commit(EditBatch([])).outcomes.isEmpty)
  }

  @Test func tooManyAtOnceTouchNone() async {
    await #expect(processExitsWith: .success) {
      let children = try (0..<80).map { _ in try Child() }
      let source = try ProcessesSource(termination: Self.termination(["signal": "KILL"]))
      let ids = try children.map { try source.id(of: $0.pid) }
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = 64
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      let error = try Self.refusal(source, EditBatch(ids.map { .delete(.id($0)) }))
      #expect(error?.code == .io && error?.message.contains("nothing was done") == true)
      usleep(50_000)
      #expect(children.allSatisfy { $0.endedBy == nil })
      let some = try source.commit(EditBatch(ids.prefix(20).map { .delete(.id($0)) }))
      #expect(some.outcomes.allSatisfy { $0.code == nil })
    }
  }

  // Nice

  @Test func niceIsSetAndTakenBack() throws {
    let children = try (0..<3).map { _ in try Child() }
    let source = try ProcessesSource(termination: Self.termination(["signal": "CONT"]))
    let ids = try children.map { try source.id(of: $0.pid) }
    let result = try source.commit(
      EditBatch([
        .set(.id(ids[0]), cells: [4: 5]), .delete(.id(ids[2])), .set(.id(ids[1]), cells: [4: 19]),
      ]))
    #expect(
      result.outcomes == [
        .init(id: ids[0]), .init(message: "sent CONT", isFinal: true), .init(id: ids[1]),
      ])
    #expect(children.map(\.nice) == [5, 19, 0])
    #expect(try source.row(forPID: children[1].pid)["nice"] == 19)
    let receipt = try #require(result.receipt)
    guard geteuid() == 0 else { return }  // Only root may lower it again.

    let later = try ProcessesSource()
    #expect(try later.undo(receipt, isDryRun: true).outcomes == [.init()])
    #expect(children.map(\.nice) == [5, 19, 0])
    let undone = try later.undo(receipt, isDryRun: false)
    #expect(undone.outcomes == [.init()])
    #expect(try undone.changes.to == later.version())
    #expect(children.map(\.nice) == [0, 0, 0])
    _ = try later.undo(#require(undone.receipt), isDryRun: false)
    #expect(children.map(\.nice) == [5, 19, 0])
  }

  @Test func undoTouchesNothingThatIsOtherwise() throws {
    let children = try [Child(), Child()]
    let source = try ProcessesSource()
    let receipt = try #require(
      source.commit(
        EditBatch(children.map { .set(.id(try source.id(of: $0.pid)), cells: [4: 5]) })
      ).receipt)
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(children[1].pid), 7)
    let changed = #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(changed?.code == .conflict)
    #expect(changed?.message == "process \(children[1].pid) now has nice 7, not 5")
    #expect(children.map(\.nice) == [5, 7])
    children[0].end()
    let other = #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(other?.message == changed?.message)
    #expect(children[1].nice == 7)
    children[1].end()
    let ended = #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(ended?.code == .conflict && ended?.message == "all 2 processes have ended")
  }

  /// A process that had ended prevented the undo for all others.
  @Test(.needs(.root)) func processesThatHaveEndedNeedNoUndo() throws {
    let children = try [Child(), Child(), Child()]
    let source = try ProcessesSource()
    let receipt = try #require(
      source.commit(
        EditBatch(children.map { .set(.id(try source.id(of: $0.pid)), cells: [4: 5]) })
      ).receipt)
    children[0].end()
    let expected = [EditResult.Outcome(message: "1 of 3 processes have ended")]
    #expect(try source.undo(receipt, isDryRun: true).outcomes == expected)
    #expect(children[1...].map(\.nice) == [5, 5])
    let undone = try source.undo(receipt, isDryRun: false)
    #expect(undone.outcomes == expected)
    #expect(children[1...].map(\.nice) == [0, 0])
    _ = try source.undo(#require(undone.receipt), isDryRun: false)
    #expect(children[1...].map(\.nice) == [5, 5])
  }

  /// Damaged receipts lead to errors, never to traps, and never set values that were not set before.
  @Test func damagedReceiptsAreErrors() throws {
    let child = try Child()
    let source = try ProcessesSource()
    let id = try source.id(of: child.pid)
    let receipt = try #require(
      source.commit(EditBatch([.set(.id(id), cells: [4: 5])])).receipt)
    let lines = receipt.split(separator: 10).map { Array($0) + [10] }
    for bytes in [
      [], [0], [10], Array("tabella-processes-2 0\n".utf8), Array("processes nice 1\n".utf8),
      lines[0], lines[1], receipt + lines[1], receipt + receipt, receipt + [10],
    ] {
      #expect(throws: TableError.self) { try source.undo(bytes, isDryRun: true) }
    }
    for count in receipt.indices {
      #expect(throws: TableError.self) {
        try source.undo(Array(receipt[..<count]), isDryRun: true)
      }
    }
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<2000 {
      var bytes = receipt
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let at = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[at] = .random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: at)
        default: bytes.insert(.random(in: 0...255, using: &generator), at: at)
        }
      }
      do throws(TableError) {
        _ = try source.undo(bytes, isDryRun: true)
      } catch {
        #expect([.invalidArgument, .conflict].contains(error.code), "\(error)")
      }
    }
    #expect(child.nice == 5)
  }

  @Test func editsCrossTheContract() throws {
    let children = try [Child(), Child()]
    let source = try importSource(
      exportSource(ProcessesSource(termination: Self.termination(["wait": "20"]))),
      provider: "processes")
    let ids = try children.map { try ProcessesSource().id(of: $0.pid) }
    let result = try #require(source.editing).commit(
      EditBatch([.delete(.id(ids[0])), .set(.id(ids[1]), cells: [4: 3])]))
    #expect(
      result.outcomes == [
        .init(message: "sent TERM, ended", isFinal: true), .init(id: ids[1]),
      ])
    #expect(children[0].endedBy == SIGTERM && children[1].nice == 3)
    #expect(source.undoing != nil && source.cancellation != nil)
  }
}

extension FakeProcfs {
  /// A procfs in which one process has the pid of a real one. Acts on it affect the real process.
  fileprivate init(actingOn pid: pid_t) throws {
    try self.init()
    try add(Int(pid))
    try FileManager.default.createDirectory(
      atPath: "\(root)/self", withIntermediateDirectories: true)
    try link("self/fdinfo", to: "/proc/self/fdinfo")
  }
}

extension ProcessesSource {
  fileprivate func rowNumber(of pid: pid_t) throws -> Int {
    try #require(try cells("pid").firstIndex(of: .integer(Int64(pid))))
  }

  fileprivate func id(of pid: pid_t) throws -> String { try id(rowNumber(of: pid)) }
}

private func waitUntil(_ isTrue: () throws -> Bool) throws {
  for _ in 0..<1000 {
    if try isTrue() { return }
    usleep(10_000)
  }
  throw MissingTool("what was waited for")
}
