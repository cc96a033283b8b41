import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The processes at the time of the listing, with everything read since. A shown row never changes.
final class Snapshot {
  /// The range of a text within the stored bytes.
  typealias Text = Range<Int>

  /// A value that is read at first use.
  enum LazyValue<Value> {
    case unread
    case missing
    case read(Value)

    init(_ value: Value?) { self = value.map { .read($0) } ?? .missing }

    var value: Value? {
      guard case .read(let value) = self else { return nil }
      return value
    }

    var isUnread: Bool {
      if case .unread = self { true } else { false }
    }
  }

  struct Process {
    var parent: Int64
    var user: uid_t
    var state: UInt8
    var nice: Int64
    /// The processor usage in percent.
    var cpu: Double
    /// The start time in ticks since the boot.
    var start: Int64
    var command: Text
    /// The resident memory in bytes.
    var memory = LazyValue<Int64>.unread
    var arguments = LazyValue<Text>.unread
    /// Whether a caller may have seen the cells.
    var isShown = true

    /// The files that were read.
    var readFiles: NeededFiles {
      var files = NeededFiles.process
      if !memory.isUnread { files.insert(.memory) }
      if !arguments.isUnread { files.insert(.arguments) }
      return files
    }

    func has(_ neededFiles: NeededFiles) -> Bool {
      !(neededFiles.contains(.memory) && memory.isUnread)
        && !(neededFiles.contains(.arguments) && arguments.isUnread)
    }
  }

  /// The relation of a row to the row with the same pid in an earlier snapshot.
  enum Succession {
    case same
    /// The same process with other cells.
    case changed
    /// Another process.
    case other
  }

  /// The pids at the time of the listing, in ascending order.
  private(set) var pids: [Int32]
  /// The digest of all ids, once it was computed.
  var version: Version?
  /// The tick in which the listing began. A process that has a listed pid and began before this tick is the listed one.
  let tick: Int64
  private let procfs: Procfs
  private let ticksPerSecond: Int64
  private let pageSize: Int64
  /// The processes by row. A missing one ended before its first read.
  private var processes: [LazyValue<Process>]
  private var text: [UInt8] = []
  private var users = AccountNames(.user)

  private var bootDigits: [UInt8]?
  private var bootSecond = LazyValue<Int64>.unread

  init(_ procfs: Procfs) throws(TableError) {
    self.procfs = procfs
    ticksPerSecond = max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))
    tick = currentTick(ticksPerSecond)
    pids = try procfs.pids()
    processes = Array(repeating: .unread, count: pids.count)
    pageSize = max(1, Int64(sysconf(Int32(_SC_PAGESIZE))))
  }

  /// Lists the processes again, and reads of each one the files that were read for the earlier snapshot.
  ///
  /// A process that ends in the meantime is left out. Rows that the earlier snapshot never read get the values read now.
  init(_ procfs: Procfs, after old: Snapshot) throws(TableError) {
    self.procfs = procfs
    (ticksPerSecond, pageSize) = (old.ticksPerSecond, old.pageSize)
    (users, bootDigits, bootSecond) = (old.users, old.bootDigits, old.bootSecond)
    tick = currentTick(ticksPerSecond)
    let listed = try procfs.pids()
    (pids, processes) = ([], [])
    pids.reserveCapacity(listed.count)
    processes.reserveCapacity(listed.count)
    text.reserveCapacity(old.text.count)
    for pid in listed {
      let row = old.row(ofPID: pid)
      let neededFiles = row.map { old.processes[$0].value?.readFiles ?? .process } ?? .process
      let process = try first(pid, neededFiles)
      guard process != nil || procfs.has(pid) else { continue }
      pids.append(pid)
      processes.append(LazyValue(process))
    }
    for row in old.pids.indices where old.processes[row].isUnread { old.adopt(row, from: self) }
  }

  /// Reads a row that was never read from a later snapshot. The row is missing if its process has ended.
  private func adopt(_ row: Int, from later: Snapshot) {
    processes[row] = .missing
    guard let other = later.row(ofPID: pids[row]), let process = later.processes[other].value,
      process.start < tick
    else { return }
    var own = process
    own.isShown = false
    (own.memory, own.arguments) = (.unread, .unread)
    own.command = later.text.withUnsafeBytes { keep($0[process.command]) }
    processes[row] = .read(own)
  }

  /// Compares a row with the row of the same pid in an earlier snapshot. Only `columns` count.
  func succession(
    of row: Int, to old: Snapshot, _ oldRow: Int, _ columns: Set<ProcessColumn>
  ) -> Succession {
    let (new, before) = (processes[row].value, old.processes[oldRow].value)
    guard new?.start == before?.start else { return .other }
    guard let new, let before, before.isShown else { return .same }
    let isChanged = columns.contains { column in
      switch column {
      case .pid, .started: false
      case .parent: new.parent != before.parent
      case .user: new.user != before.user
      case .state: new.state != before.state
      case .nice: new.nice != before.nice
      case .cpu: new.cpu != before.cpu
      case .memory: !before.memory.isUnread && new.memory.value != before.memory.value
      case .command: !isSame(new.command, old, before.command)
      case .arguments:
        !before.arguments.isUnread && !isSame(new.arguments.value, old, before.arguments.value)
      }
    }
    return isChanged ? .changed : .same
  }

  /// Whether a text equals a text of another snapshot.
  private func isSame(_ own: Text?, _ other: Snapshot, _ text: Text?) -> Bool {
    guard let own, let text else { return own == nil && text == nil }
    return self.text[own] == other.text[text]
  }

  /// The row of a pid; nil if there was no such process.
  func row(ofPID pid: Int32) -> Int? {
    let row = pids.partitioningIndex { $0 >= pid }
    return row < pids.count && pids[row] == pid ? row : nil
  }

  func name(of user: uid_t) -> [UInt8] { users[user] }

  func withBytes(of text: Text, _ body: (UnsafeRawBufferPointer) -> Void) {
    self.text.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[text])) }
  }

  /// The digits of the boot in ids.
  func boot() throws(TableError) -> [UInt8] {
    if let bootDigits { return bootDigits }
    let digits = try procfs.bootDigits()
    bootDigits = digits
    return digits
  }

  /// The time of a tick; nil if the kernel does not report the boot time.
  func moment(ofTick tick: Int64) throws(TableError) -> Timestamp? {
    if bootSecond.isUnread { bootSecond = LazyValue(try procfs.bootSecond()) }
    guard let bootSecond = bootSecond.value else { return nil }
    let (second, isTooLarge) = bootSecond.addingReportingOverflow(tick / ticksPerSecond)
    if isTooLarge { return nil }
    return Timestamp(
      seconds: second, nanoseconds: tick % ticksPerSecond * (1_000_000_000 / ticksPerSecond))
  }

  // Reading

  /// The process of a row with at least the needed values. Returns nil if it ended before its first read, or if
  /// `neededFiles` is empty.
  ///
  /// A value that is first needed after the end of the process is missing. Throws ``TableError`` with `.io` if the host
  /// lacks descriptors or memory, which says nothing about the process.
  func process(_ row: Int, _ neededFiles: NeededFiles) throws(TableError) -> Process? {
    if neededFiles.isEmpty { return nil }
    switch processes[row] {
    case .missing: return nil
    case .unread: processes[row] = LazyValue(try first(pids[row], neededFiles))
    case .read(var process):
      if process.has(neededFiles), process.isShown { return process }
      process.isShown = true
      if !process.has(neededFiles) { try complete(&process, pids[row], neededFiles) }
      processes[row] = .read(process)
    }
    return processes[row].value
  }

  /// Reads the present details of a row's process. Returns nil if the process ended before its first read.
  ///
  /// Throws ``TableError`` with `.conflict` if the process has ended since, and `.io` if resources are short.
  func details(_ row: Int) throws(TableError) -> Details? {
    guard let process = try process(row, .process) else { return nil }
    let ended = TableError(.conflict, "the process \(pids[row]) has ended")
    guard let folder = try ProcessFolder(pids[row], in: procfs) else { throw ended }
    let details = try Details(of: folder, parent: parent(of: folder))
    // This read comes after all others. If it succeeds, they belonged to the process.
    let start = try folder.withContents(of: "stat") { StatLine($0)?.start }
    guard start == process.start else { throw ended }
    return details
  }

  /// The pid and the name of the parent; nil if there is none, or if the parent changes during the read.
  private func parent(
    of folder: borrowing ProcessFolder
  ) throws(TableError) -> (pid: Int64, name: [UInt8])? {
    let parent = try folder.withContents(of: "stat") { StatLine($0)?.parent }
    guard let parent, parent > 0, let pid = Int32(exactly: parent),
      let other = try ProcessFolder(pid, in: procfs)
    else { return nil }
    let name = try other.withContents(of: "stat") { line in
      StatLine(line).map { Array(line[$0.command]) }
    }
    let later = try folder.withContents(of: "stat") { StatLine($0)?.parent }
    return later == parent ? name.map { (parent, $0) } : nil
  }

  private func first(_ pid: Int32, _ neededFiles: NeededFiles) throws(TableError) -> Process? {
    guard let folder = try ProcessFolder(pid, in: procfs), let user = folder.owner else {
      return nil
    }
    let tick = currentTick(ticksPerSecond)
    // This read comes after that of the owner. If it succeeds, the owner belongs to the process.
    let process = try folder.withContents(of: "stat") { line in
      StatLine(line).map { keep($0, line, user) }
    }
    guard var process else { return nil }
    if process.start == tick {
      // During the tick of its start, another process could still get the same pid and start time.
      while currentTick(ticksPerSecond) == tick { usleep(1000) }
      let start = try folder.withContents(of: "stat") { StatLine($0)?.start }
      guard start == process.start else { return nil }
    }
    try read(neededFiles, of: &process, in: folder)
    return process
  }

  private func keep(
    _ stat: StatLine, _ line: UnsafeRawBufferPointer, _ user: uid_t
  ) -> Process {
    var process = Process(
      parent: stat.parent, user: user, state: stat.state, nice: stat.nice,
      cpu: stat.cpu(at: secondsSinceBoot(), ticksPerSecond: ticksPerSecond), start: stat.start,
      command: keep(line[stat.command]))
    // A kernel thread has no memory of its own, and the kernel writes 0 pages and no arguments.
    if stat.isKernelThread { (process.memory, process.arguments) = (.read(0), .missing) }
    return process
  }

  private func complete(
    _ process: inout Process, _ pid: Int32, _ neededFiles: NeededFiles
  ) throws(TableError) {
    guard let folder = try ProcessFolder(pid, in: procfs),
      try folder.withContents(of: "stat", { StatLine($0)?.start }) == process.start
    else {
      if neededFiles.contains(.memory), process.memory.isUnread { process.memory = .missing }
      if neededFiles.contains(.arguments), process.arguments.isUnread {
        process.arguments = .missing
      }
      return
    }
    try read(neededFiles, of: &process, in: folder)
  }

  private func read(
    _ neededFiles: NeededFiles, of process: inout Process, in folder: borrowing ProcessFolder
  ) throws(TableError) {
    if neededFiles.contains(.memory), process.memory.isUnread {
      process.memory = LazyValue(try folder.withContents(of: "statm", residentBytes))
    }
    if neededFiles.contains(.arguments), process.arguments.isUnread {
      process.arguments = LazyValue(try folder.withContents(of: "cmdline", keepArguments))
    }
  }

  /// The resident set from `statm`. The value in `stat` is only an estimate, whose error grows with the number of
  /// processors.
  private func residentBytes(_ line: UnsafeRawBufferPointer) -> Int64? {
    var words = Words(line)
    _ = words.next()
    guard let pages = words.next().flatMap({ decimal($0) }) else { return nil }
    let (bytes, isTooLarge) = pages.multipliedReportingOverflow(by: pageSize)
    return isTooLarge || bytes < 0 ? nil : bytes
  }

  /// The arguments, separated by spaces. They are nil for kernel threads and zombies, whose command line is empty.
  private func keepArguments(_ line: UnsafeRawBufferPointer) -> Text? {
    if line.isEmpty { return nil }
    let end = line.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    let kept = keep(line[..<end])
    text.withUnsafeMutableBytes { bytes in
      for index in kept where bytes[index] == 0 { bytes[index] = UInt8(ascii: " ") }
    }
    return kept
  }

  private func keep(_ bytes: Slice<UnsafeRawBufferPointer>) -> Text {
    let start = text.count
    text.append(contentsOf: bytes)
    return start..<text.count
  }
}

/// The time since the boot, on the clock of start times.
private func timeSinceBoot() -> timespec { timespec(on: CLOCK_BOOTTIME) }

private func secondsSinceBoot() -> Double { timeSinceBoot().seconds }

private func currentTick(_ ticksPerSecond: Int64) -> Int64 {
  let time = timeSinceBoot()
  return Int64(time.tv_sec) * ticksPerSecond
    + Int64(time.tv_nsec) / (1_000_000_000 / ticksPerSecond)
}
