import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem

/// The properties that identify a process since the boot.
struct ProcessIdentity: Hashable {
  var pid: Int32
  /// The start time in ticks since the boot.
  var start: Int64

  /// The error for a process that has ended.
  var ended: TableError { TableError(.notFound, "the process \(pid) has ended") }
}

/// A process held by a descriptor (pidfd). The descriptor stays with the process even if its pid is reused.
final class OpenProcess {
  let identity: ProcessIdentity
  /// The content of `stat`, read and verified to belong to this process.
  let stat: StatLine
  let owner: uid_t
  private let procfs: Procfs
  private let handle: Descriptor

  /// Opens a process and verifies its identity.
  ///
  /// Throws ``TableError`` with `.notFound` if the process has ended, even if its pid is reused. Throws `.io` if the
  /// host lacks descriptors, and `.notSupported` if the kernel lacks pidfds.
  init(_ identity: ProcessIdentity, in procfs: Procfs) throws(TableError) {
    let result = tabella_system_open_process(identity.pid)
    guard let handle = Descriptor(result) else { throw OpenProcess.notOpened(identity, -result) }
    guard let folder = try ProcessFolder(identity.pid, in: procfs), let owner = folder.owner,
      let stat = try folder.withContents(of: "stat", { StatLine($0) }),
      stat.start == identity.start,
      // The process had its pid at the time of opening and has it still, so the folder read in between belongs to it.
      // The comparison also proves that procfs and system calls use the same pid namespace.
      try procfs.pid(ofDescriptor: handle.raw) == identity.pid
    else { throw identity.ended }
    self.identity = identity
    self.stat = stat
    self.owner = owner
    self.procfs = procfs
    self.handle = handle
    guard !hasEnded else {
      throw TableError(
        .notFound,
        "the process \(identity.pid) has ended; its parent \(stat.parent) has not collected its status yet"
      )
    }
  }

  private var descriptor: Int32 { handle.raw }

  private static func notOpened(_ identity: ProcessIdentity, _ number: Int32) -> TableError {
    let reason = errorText(number)
    switch number {
    // `EINVAL` means that the pid now belongs to a thread.
    case ESRCH, EINVAL: return identity.ended
    case EMFILE, ENFILE, ENOMEM:
      return TableError(.io, "process \(identity.pid) cannot be opened: \(reason)")
    default:
      return TableError(
        .notSupported,
        "process \(identity.pid) cannot be opened, so nothing was done to it: \(reason)")
    }
  }

  /// Whether the process has ended, including zombies.
  var hasEnded: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Sends a signal. With 0, only checks the permission. Throws ``TableError`` with `.notFound` or `.denied`.
  func send(_ signal: Int32, ownedBy name: () -> [UInt8]) throws(TableError) {
    let result = tabella_system_signal_process(descriptor, signal)
    switch -result {
    case 0: break
    case ESRCH: throw identity.ended
    case EPERM, EACCES:
      throw TableError(
        .denied,
        "process \(identity.pid) belongs to \(String(decoding: name(), as: UTF8.self)): you may not send signals to it"
      )
    default: throw .system(-result, "process \(identity.pid) cannot be signalled")
    }
  }

  /// Sets the nice value of the main thread, as renice does. Throws ``TableError`` with `.notFound` or `.denied`.
  ///
  /// The kernel has no such call for descriptors, so this uses the pid. The section "Setting nice" of
  /// docs/providers/processes.md describes the consequences.
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

  /// Throws ``TableError`` with `.denied` if ``setNice(_:ownedBy:)`` is certain to fail, according to setpriority(2).
  ///
  /// Only for users who may not renice arbitrary processes.
  func checkNice(_ value: Int32, ownedBy name: () -> [UInt8]) throws(TableError) {
    guard let folder = try ProcessFolder(identity.pid, in: procfs) else { throw identity.ended }
    // The real and the effective user.
    let users = try folder.withContents(of: "status") { DetailFields($0).numbers("Uid") }?.prefix(2)
    let limit = try folder.withContents(of: "limits") { OpenProcess.lowestNice($0) }
    guard try procfs.pid(ofDescriptor: descriptor) == identity.pid else { throw identity.ended }
    if let users, !users.isEmpty, !users.contains(geteuid()) { throw isOfOther(name()) }
    if let limit, value < stat.nice, value < limit { throw mayNotLower(to: value) }
  }

  /// The lowest nice value that the `limits` file allows; nil if the file does not contain it.
  private static func lowestNice(_ file: UnsafeRawBufferPointer) -> Int64? {
    let name = "Max nice priority"
    guard let line = file.split(separator: 10).first(where: { $0.starts(with: name.utf8) }) else {
      return nil
    }
    var words = Words(UnsafeRawBufferPointer(rebasing: line.dropFirst(name.utf8.count)))
    guard let word = words.next() else { return nil }
    if word.elementsEqual("unlimited".utf8) { return .min }
    // The file has 1 to 40, because limits cannot be negative; 0 means none.
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
      "process \(identity.pid) belongs to \(String(decoding: name, as: UTF8.self)): you may not set its nice"
    )
  }

  /// Waits until all processes have ended, the time is over or the flag is raised.
  static func wait(for processes: [OpenProcess], seconds: Int, _ cancel: CancelFlag) {
    // The interval in milliseconds between two checks of the flag.
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
    let time = timespec(on: CLOCK_MONOTONIC)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
