import CTabellaSystem
import Synchronization
import Tabella
import TabellaFiles
import TabellaRemote

/// A worker's process: how it is started, asked how it lives, and ended.
///
/// It is a session and a process group of its own, so that whatever it starts ends with it.
final class WorkerProcess: @unchecked Sendable {
  let id: pid_t
  /// Readable once the process has ended; stays this process's however pids are used again.
  let descriptor: Int32
  /// The status as waitpid(2) gives it; nil until it is known. Whoever signals holds the lock, so that the
  /// process is still this one.
  private let status = Mutex<Int32?>(nil)

  /// Starts `program` with these descriptors as 0, 1, 2, …; throws `.noProvider` if that cannot be.
  init(program: String, files: [Int32]) throws(TableError) {
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
    let environment: [UnsafeMutablePointer<CChar>?] =
      WorkerProcess.environment.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    let started = tabella_system_spawn(
      program, arguments, environment, files, Int32(files.count))
    guard started > 0 else {
      throw TableError(
        .noProvider,
        "the worker \(program) cannot be started: \(String(cString: strerror(-started)))")
    }
    id = started
    descriptor = tabella_system_open_process(started)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// What a worker gets of the environment: where the user's things are and how times and texts look; no
  /// secrets, and nothing that changes which code is loaded.
  private static var environment: [String] {
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
    return kept
  }

  /// A number that grows while the process reads or writes; nil if it cannot be had.
  var traffic: UInt64? {
    guard let text = readSmallFile("/proc/\(id)/io") else { return nil }
    var sum: UInt64 = 0
    for line in text.split(separator: "\n") where line.hasPrefix("rchar") || line.hasPrefix("wchar")
    {
      sum &+= line.split(separator: " ").last.flatMap { UInt64($0) } ?? 0
    }
    return sum
  }

  /// How many threads the process has; nil if that cannot be had. From any thread.
  var threadCount: Int? {
    let count = Int(tabella_system_thread_count(id))
    return count > 0 ? count : nil
  }

  /// Sends a signal to the process and all of its group; nothing once it was waited for. From any thread.
  func signal(_ number: Int32) {
    status.withLock { status in
      guard status == nil else { return }
      // The process is not waited for yet, so neither its id nor its group's can be another's.
      kill(-id, number)
      kill(id, number)
    }
  }

  /// Waits until the process has ended, so many seconds at most; its status, or nil.
  func wait(_ seconds: Double) -> Int32? {
    let deadline = now() + seconds
    while true {
      if let status = look() { return status }
      let left = deadline - now()
      guard left > 0 else { return nil }
      var ended = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Without a descriptor for the process this is only a pause.
      poll(&ended, 1, Int32(min(left * 1000, descriptor >= 0 ? 1000 : 5).rounded(.up)))
    }
  }

  /// The status, if the process has ended.
  private func look() -> Int32? {
    status.withLock { status in
      if status != nil { return status }
      var raw: Int32 = 0
      let got = tabella_system_wait(id, &raw)
      if got == id { status = raw }
      // Someone else in this process waits for all children: how it ended is not to be known.
      if got < 0 { status = WorkerProcess.unknownStatus }
      return status
    }
  }

  static let unknownStatus: Int32 = -1

  /// Ends the process and its group now and waits for it, two seconds at most: what the kernel holds
  /// longer is left to it.
  @discardableResult
  func end() -> Int32? {
    signal(SIGKILL)
    return wait(2)
  }

  /// How a process ended, in words: "by SIGSEGV", "with exit status 1".
  static func describe(_ status: Int32) -> String {
    if status == unknownStatus { return "in an unknown way" }
    let number = status & 0x7F
    if number == 0 { return "with exit status \(status >> 8 & 0xFF)" }
    return "by "
      + (tabella_system_signal_name(number).map { "SIG" + String(cString: $0) }
        ?? "signal \(number)")
  }
}

/// Seconds on a clock that only goes forward.
package func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// A file of the kernel that is shorter than a page.
private func readSmallFile(_ path: String) -> String? {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return nil }
  defer { close(file) }
  return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
    let count = read(file, buffer.baseAddress, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
  }
}
