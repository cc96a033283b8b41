import CTabellaSystem
import Glibc
import Tabella

/// What tells a process from every other since the boot.
struct ProcessIdentity: Hashable {
  var pid: Int32
  /// In ticks since the boot.
  var start: Int64

  /// The error for a process that is no more.
  var ended: TableError { TableError(.notFound, "the process \(pid) has ended") }
}

/// A process held by a descriptor, which stays this process's however its pid is used again.
final class OpenProcess {
  let identity: ProcessIdentity
  /// What `stat` said once it was clear that it is this process's.
  let stat: StatLine
  let owner: uid_t
  private let procfs: Procfs
  private let descriptor: Int32

  /// Opens a process, if it is still the one that is meant.
  ///
  /// Throws ``TableError`` with `.notFound` if that has ended, whoever may have its pid by now, with
  /// `.io` if the host lacks descriptors, with `.notSupported` if the system cannot do it.
  init(_ identity: ProcessIdentity, in procfs: Procfs) throws(TableError) {
    let descriptor = tabella_system_open_process(identity.pid)
    guard descriptor >= 0 else { throw OpenProcess.notOpened(identity, -descriptor) }
    var isTaken = false
    defer { if !isTaken { close(descriptor) } }
    guard let folder = try ProcessFolder(identity.pid, in: procfs), let owner = folder.owner,
      let stat = try folder.withContents(of: "stat", { StatLine($0) }),
      stat.start == identity.start,
      // It had its pid when it was opened and has it still: then the folder read meanwhile, too, was
      // this process's. It also shows that procfs counts pids as the system calls do.
      try procfs.pid(ofDescriptor: descriptor) == identity.pid
    else { throw identity.ended }
    self.identity = identity
    self.stat = stat
    self.owner = owner
    self.procfs = procfs
    self.descriptor = descriptor
    isTaken = true
    guard !hasEnded else {
      throw TableError(
        .notFound,
        "the process \(identity.pid) has ended and waits for its parent \(stat.parent) to notice")
    }
  }

  deinit { close(descriptor) }

  private static func notOpened(_ identity: ProcessIdentity, _ number: Int32) -> TableError {
    let reason = String(cString: strerror(number))
    switch number {
    // EINVAL: what has the pid by now is a thread, and no process.
    case ESRCH, EINVAL: return identity.ended
    case EMFILE, ENFILE, ENOMEM:
      return TableError(.io, "process \(identity.pid) cannot be opened: \(reason)")
    default:
      return TableError(
        .notSupported, "process \(identity.pid) cannot be opened, so it is not touched: \(reason)")
    }
  }

  /// Whether it has ended, also if its parent has not noticed yet.
  var hasEnded: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Sends a signal; 0 only asks whether it might be sent. Throws ``TableError`` with `.notFound` or
  /// `.denied`.
  func send(_ signal: Int32, ownedBy name: () -> [UInt8]) throws(TableError) {
    let result = tabella_system_signal_process(descriptor, signal)
    switch -result {
    case 0: break
    case ESRCH: throw identity.ended
    case EPERM, EACCES:
      throw TableError(
        .denied,
        "process \(identity.pid) is \(String(decoding: name(), as: UTF8.self))'s: you may not signal it"
      )
    default: throw .system(-result, "process \(identity.pid) cannot be signalled")
    }
  }

  /// Sets the nice value of its main thread, as renice does. Throws ``TableError`` with `.notFound`
  /// or `.denied`.
  ///
  /// There is no such call that takes a descriptor, so the pid must do: docs/providers/processes.md,
  /// "Setting nice", says what that means.
  func setNice(_ value: Int32, ownedBy name: () -> [UInt8]) throws(TableError) {
    let which = __priority_which_t(PRIO_PROCESS.rawValue)
    guard setpriority(which, id_t(identity.pid), value) == 0 else {
      switch errno {
      case ESRCH: throw identity.ended
      case EACCES: throw mayNotLower(to: value)
      case EPERM: throw isOfOther(name())
      case let number: throw .system(number, "nice of process \(identity.pid) cannot be set")
      }
    }
    guard try procfs.pid(ofDescriptor: descriptor) == identity.pid else { throw identity.ended }
  }

  /// Throws ``TableError`` with `.denied` where it is clear beforehand that ``setNice(_:ownedBy:)`` would, to
  /// one who may not renice any process: setpriority(2).
  func checkNice(_ value: Int32, ownedBy name: () -> [UInt8]) throws(TableError) {
    guard let folder = try ProcessFolder(identity.pid, in: procfs) else { throw identity.ended }
    // Its real and its effective one.
    let users = try folder.withContents(of: "status") { Fields($0).numbers("Uid") }?.prefix(2)
    let limit = try folder.withContents(of: "limits") { OpenProcess.lowestNice($0) }
    guard try procfs.pid(ofDescriptor: descriptor) == identity.pid else { throw identity.ended }
    if let users, !users.isEmpty, !users.contains(geteuid()) { throw isOfOther(name()) }
    if let limit, value < stat.nice, value < limit { throw mayNotLower(to: value) }
  }

  /// The lowest nice value that `limits` allows; nil if it says nothing of that.
  private static func lowestNice(_ file: UnsafeRawBufferPointer) -> Int64? {
    let name = "Max nice priority"
    guard let line = file.split(separator: 10).first(where: { $0.starts(with: name.utf8) }) else {
      return nil
    }
    var words = Words(UnsafeRawBufferPointer(rebasing: line.dropFirst(name.utf8.count)))
    guard let word = words.next() else { return nil }
    if word.elementsEqual("unlimited".utf8) { return .min }
    // 1 to 40, as nice values cannot be negative there; 0 for none.
    return decimal(word).map { 20 - min(max($0, 0), 40) }
  }

  private func mayNotLower(to value: Int32) -> TableError {
    TableError(
      .denied,
      "process \(identity.pid) has nice \(stat.nice), which only root may lower to \(value)")
  }

  private func isOfOther(_ name: [UInt8]) -> TableError {
    TableError(
      .denied,
      "process \(identity.pid) is \(String(decoding: name, as: UTF8.self))'s: you may not set its nice"
    )
  }

  /// Waits until all have ended, at most for some seconds and until the flag is raised.
  static func wait(for processes: [OpenProcess], seconds: Int, _ cancel: CancelFlag) {
    // The flag is looked at every so often.
    let slice: Int64 = 50
    let deadline = milliseconds() + Int64(seconds) * 1000
    var entries = processes.map {
      pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
    }
    while !entries.isEmpty, !cancel.isSet {
      let rest = deadline - milliseconds()
      guard rest > 0 else { break }
      if poll(&entries, nfds_t(entries.count), Int32(min(rest, slice))) > 0 {
        entries.removeAll { $0.revents != 0 }
      }
    }
  }

  private static func milliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
