import CTabellaSystem
import Synchronization
import Tabella
import TabellaFiles
import TabellaRemote
import TabellaSystem

/// The process of a worker: starting, observing and ending it.
///
/// It has its own session and process group, so that its child processes end with it.
final class WorkerProcess: @unchecked Sendable {
  let id: pid_t
  private let handle: Descriptor?
  /// The status from waitpid(2); nil until it is known. Sending a signal holds the lock, so that the pid still belongs
  /// to this process.
  private let status = Mutex<Int32?>(nil)

  /// Starts `program` with the given descriptors as 0, 1, 2 and so on. `dataFolder` is ``Host/dataFolder``. Throws
  /// `.noProvider` if that fails, or `.io` if the machine has no room for another process.
  init(program: String, files: [Int32], dataFolder: [UInt8]?) throws(TableError) {
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
    let environment: [UnsafeMutablePointer<CChar>?] =
      WorkerProcess.environment(dataFolder).map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    let started = tabella_system_spawn(
      program, arguments, environment, files, Int32(files.count))
    guard started > 0 else {
      let what = "the worker \(program) cannot be started"
      // The machine or a limit of this process is at fault, so another provider does not help.
      if [EAGAIN, EMFILE, ENFILE, ENOMEM].contains(-started) { throw .system(-started, what) }
      throw TableError(.noProvider, "\(what): \(errorText(-started))")
    }
    id = started
    handle = Descriptor(tabella_system_open_process(started))
  }

  /// A pidfd, which becomes readable when the process ends; negative if the kernel has none. It stays valid if the pid
  /// is reused.
  var descriptor: Int32 { handle.raw }

  /// The environment of a worker: the user's folders, language and time zone. It has no secrets and nothing that
  /// changes which code is loaded.
  private static func environment(_ dataFolder: [UInt8]?) -> [String] {
    let names = ["HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "PATH", "TMPDIR"]
    let prefixes = ["LC_", "XDG_", "ASAN_", "TSAN_", "UBSAN_"]
    var kept = ["SWIFT_BACKTRACE=enable=no"]
    var at = environ
    while let entry = at.pointee {
      let text = String(cString: entry)
      let name = text.prefix { $0 != "=" }
      if names.contains(String(name)) || prefixes.contains(where: name.hasPrefix) {
        kept.append(text)
      }
      at += 1
    }
    if let dataFolder {
      let name = UserFolders.Kind.data.rawValue + "="
      kept.removeAll { $0.hasPrefix(name) }
      kept.append(name + String(decoding: dataFolder, as: UTF8.self))
    }
    return kept
  }

  /// A number that grows whenever the process reads or writes; nil if it is unavailable.
  var traffic: UInt64? {
    TransferredBytes(of: id).map { $0.read &+ $0.written }
  }

  /// The number of threads; nil if it is unavailable. Any thread may call this.
  var threadCount: Int? {
    let count = Int(tabella_system_thread_count(id))
    return count > 0 ? count : nil
  }

  /// Sends a signal to the process and its group. It does nothing after the end of the process was noticed. Any thread
  /// may call this.
  func signal(_ number: Int32) {
    status.withLock { status in
      guard status == nil else { return }
      // Nobody has waited for the process yet, so neither its id nor the id of its group can be reused.
      kill(-id, number)
      kill(id, number)
    }
  }

  /// Waits for the end of the process, up to a number of seconds. Returns its status, or nil.
  func wait(_ seconds: Double) -> Int32? {
    let deadline = now() + seconds
    while true {
      if let status = look() { return status }
      let left = deadline - now()
      guard left > 0 else { return nil }
      var ended = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Without a pidfd, this is just a pause.
      poll(&ended, 1, Int32(min(left * 1000, descriptor >= 0 ? 1000 : 5).rounded(.up)))
    }
  }

  /// The status if the process has ended.
  private func look() -> Int32? {
    status.withLock { status in
      if status != nil { return status }
      var raw: Int32 = 0
      let got = tabella_system_wait(id, &raw)
      if got == id { status = raw }
      // Other code in this process has waited for all children, so the status is lost.
      if got < 0 { status = WorkerProcess.unknownStatus }
      return status
    }
  }

  static let unknownStatus: Int32 = -1

  /// Kills the process and its group and waits up to two seconds. A process that the kernel blocks longer is abandoned.
  @discardableResult
  func end() -> Int32? {
    signal(SIGKILL)
    return wait(2)
  }

  /// A description of the status: "by SIGSEGV", "with exit status 1".
  static func describe(_ status: Int32) -> String {
    if status == unknownStatus { return "in an unknown way" }
    let number = status & 0x7F
    if number == 0 { return "with exit status \(status >> 8 & 0xFF)" }
    return "by "
      + (tabella_system_signal_name(number).map { "SIG" + String(cString: $0) }
        ?? "signal \(number)")
  }
}
