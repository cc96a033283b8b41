import Glibc
import Tabella
import TabellaFiles

/// What has been read of each process; kept, so that a row once shown never changes.
final class Snapshot {
  /// Where a text lies among the bytes kept.
  typealias Text = Range<Int>

  /// Something that is read when it is first asked for.
  enum Later<Value> {
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
    /// In percent.
    var cpu: Double
    /// In ticks since the boot.
    var start: Int64
    var command: Text
    /// In bytes.
    var memory = Later<Int64>.unread
    var arguments = Later<Text>.unread

    func has(_ needs: Needs) -> Bool {
      !(needs.contains(.memory) && memory.isUnread)
        && !(needs.contains(.arguments) && arguments.isUnread)
    }
  }

  /// The processes that there were when the snapshot was made, in rising order.
  let pids: [Int32]
  /// The tick in which the listing began: what began earlier and has a listed pid was listed.
  let tick: Int64
  private let procfs: Procfs
  private let ticksPerSecond: Int64
  private let pageSize: Int64
  /// A process that is missing ended before it was read first.
  private var processes: [Later<Process>]
  private var text: [UInt8] = []
  private var users = AccountNames(.user)

  private var bootDigits: [UInt8]?
  private var bootSecond = Later<Int64>.unread

  init(_ procfs: Procfs) throws(TableError) {
    self.procfs = procfs
    ticksPerSecond = max(1, Int64(sysconf(Int32(_SC_CLK_TCK))))
    tick = currentTick(ticksPerSecond)
    pids = try procfs.pids()
    processes = Array(repeating: .unread, count: pids.count)
    pageSize = max(1, Int64(sysconf(Int32(_SC_PAGESIZE))))
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

  /// The digits that stand for the boot in ids.
  func boot() throws(TableError) -> [UInt8] {
    if let bootDigits { return bootDigits }
    let digits = try procfs.bootDigits()
    bootDigits = digits
    return digits
  }

  /// The moment of a tick; nil if the kernel does not say when it was booted.
  func moment(ofTick tick: Int64) throws(TableError) -> Timestamp? {
    if bootSecond.isUnread { bootSecond = Later(try procfs.bootSecond()) }
    guard let bootSecond = bootSecond.value else { return nil }
    let (second, isTooLarge) = bootSecond.addingReportingOverflow(tick / ticksPerSecond)
    if isTooLarge { return nil }
    return Timestamp(
      seconds: second, nanoseconds: tick % ticksPerSecond * (1_000_000_000 / ticksPerSecond))
  }

  // Reading

  /// Returns the process of a row with at least what is needed; nil if it had ended before it was
  /// read first, or if nothing needs to be read.
  ///
  /// What is asked for later is missing if the process has ended by then. Throws ``TableError`` with
  /// `.io` if the host lacks descriptors or memory, which says nothing about the process.
  func process(_ row: Int, _ needs: Needs) throws(TableError) -> Process? {
    if needs.isEmpty { return nil }
    switch processes[row] {
    case .missing: return nil
    case .unread: processes[row] = Later(try first(pids[row], needs))
    case .read(var process):
      if process.has(needs) { return process }
      try complete(&process, pids[row], needs)
      processes[row] = .read(process)
    }
    return processes[row].value
  }

  /// Returns what is told of the process of a row beyond the columns, as it is now; nil if the process
  /// was never read, and is missing in the columns too.
  ///
  /// Throws ``TableError`` with `.conflict` if the process has ended since, `.io` as above.
  func details(_ row: Int) throws(TableError) -> Details? {
    guard let process = try process(row, .process) else { return nil }
    let ended = TableError(.conflict, "the process \(pids[row]) has ended")
    guard let folder = try ProcessFolder(pids[row], in: procfs) else { throw ended }
    let details = try Details(of: folder, parent: parent(of: folder))
    // Later than all that was read: then it was this process's.
    let start = try folder.withContents(of: "stat") { StatLine($0)?.start }
    guard start == process.start else { throw ended }
    return details
  }

  /// The pid and the name of a process's parent; nil if it has none, or gets another meanwhile.
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

  private func first(_ pid: Int32, _ needs: Needs) throws(TableError) -> Process? {
    guard let folder = try ProcessFolder(pid, in: procfs), let user = folder.owner else {
      return nil
    }
    let tick = currentTick(ticksPerSecond)
    // Later than the owner: if the process still has a `stat`, then the owner was its own.
    let process = try folder.withContents(of: "stat") { line in
      StatLine(line).map { keep($0, line, user) }
    }
    guard var process else { return nil }
    if process.start == tick {
      // Until the tick of its beginning is over, another might yet get both its pid and its start.
      while currentTick(ticksPerSecond) == tick { usleep(1000) }
      let start = try folder.withContents(of: "stat") { StatLine($0)?.start }
      guard start == process.start else { return nil }
    }
    try read(needs, of: &process, in: folder)
    return process
  }

  private func keep(
    _ stat: StatLine, _ line: UnsafeRawBufferPointer, _ user: uid_t
  ) -> Process {
    Process(
      parent: stat.parent, user: user, state: stat.state, nice: stat.nice,
      cpu: stat.cpu(at: secondsSinceBoot(), ticksPerSecond: ticksPerSecond), start: stat.start,
      command: keep(line[stat.command]))
  }

  private func complete(
    _ process: inout Process, _ pid: Int32, _ needs: Needs
  ) throws(TableError) {
    guard let folder = try ProcessFolder(pid, in: procfs),
      try folder.withContents(of: "stat", { StatLine($0)?.start }) == process.start
    else {
      if needs.contains(.memory), process.memory.isUnread { process.memory = .missing }
      if needs.contains(.arguments), process.arguments.isUnread { process.arguments = .missing }
      return
    }
    try read(needs, of: &process, in: folder)
  }

  private func read(
    _ needs: Needs, of process: inout Process, in folder: borrowing ProcessFolder
  ) throws(TableError) {
    if needs.contains(.memory), process.memory.isUnread {
      process.memory = Later(try folder.withContents(of: "statm", residentBytes))
    }
    if needs.contains(.arguments), process.arguments.isUnread {
      process.arguments = Later(try folder.withContents(of: "cmdline", keepArguments))
    }
  }

  /// The resident set in `statm`. The one in `stat` is an estimate, off by a number of pages that
  /// grows with the processors.
  private func residentBytes(_ line: UnsafeRawBufferPointer) -> Int64? {
    var words = Words(line)
    _ = words.next()
    guard let pages = words.next().flatMap({ decimal($0) }) else { return nil }
    let (bytes, isTooLarge) = pages.multipliedReportingOverflow(by: pageSize)
    return isTooLarge || bytes < 0 ? nil : bytes
  }

  /// Kernel threads and zombies have an empty command line, and so no arguments.
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

/// The clock that start times are told by.
private func timeSinceBoot() -> timespec {
  var time = timespec()
  clock_gettime(CLOCK_BOOTTIME, &time)
  return time
}

private func secondsSinceBoot() -> Double {
  let time = timeSinceBoot()
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func currentTick(_ ticksPerSecond: Int64) -> Int64 {
  let time = timeSinceBoot()
  return Int64(time.tv_sec) * ticksPerSecond
    + Int64(time.tv_nsec) / (1_000_000_000 / ticksPerSecond)
}
