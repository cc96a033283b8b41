import CTabellaSystem
import Synchronization
import Tabella
import TabellaFiles
import TabellaRemote
import TabellaSystem

/// The supervised process of one provider.
///
/// The process ends with its last source. A separate thread reads the worker's messages outside of calls. The calling
/// thread waits for answers and ends a worker that does not answer.
final class Worker: WorkerSupervisor, @unchecked Sendable {
  /// The steps of ending a worker that does not answer.
  private enum Step: Int, Comparable {
    case waiting
    case asked
    case terminated
    case killed

    static func < (left: Step, right: Step) -> Bool { left.rawValue < right.rawValue }
  }

  /// The reason for ending a worker.
  private enum Reason {
    case silence
    case duration
    case cancellation
  }

  /// The running call. Only the calling thread uses it; other threads use ``cancelled``.
  private struct Call {
    var operation = Operation.load
    var number: UInt64 = 0
    var began = 0.0
    var lastSign = 0.0
    var traffic: UInt64?
    var signs = 0
    var step = Step.waiting
    var stepBegan = 0.0
    var reason = Reason.silence
  }

  let name: String
  private let limits: WorkerLimits
  private let process: WorkerProcess
  /// The socket for calls. It is closed first at the end.
  private var main: Descriptor?
  private let listener: SideListener
  private let onPacket: (@Sendable (pid_t) -> Void)?
  private let onFailure: @Sendable (TableError) -> Void
  private var call = Call()
  /// The running call that the caller asked to stop, and the time of the request; 0 if there is none.
  private let cancelled = Mutex<(number: UInt64, at: Double)>((0, 0))
  private let threads: ThreadLimit

  /// Starts a worker for a library. Throws `.noProvider` if that fails.
  ///
  /// `library` is the descriptor of the checked library, and `input` is the provider's standard input. The caller keeps
  /// both.
  static func start(
    program: String, provider name: String, library: Int32, input: Int32,
    dataFolder: [UInt8]? = nil,
    limits: WorkerLimits,
    onOutput: (@Sendable (WorkerOutput) -> Void)?,
    onPacket: (@Sendable (pid_t) -> Void)? = nil,
    onFailure: @escaping @Sendable (TableError) -> Void = { _ in }
  ) throws(TableError) -> RemoteSession {
    let arena = try SharedMemory()
    let token = Token.random()
    let ends = try WorkerConnection()
    let socket = ends.host.main.raw
    let process = try ends.worker.start(
      program, input: input, arena: arena, library: library, dataFolder: dataFolder)
    let worker = Worker(name, process, ends.host, limits, onOutput, onPacket, onFailure)
    let session = RemoteSession(
      socket: socket, arena: arena, token: token, limit: limits.answer, supervisor: worker)
    worker.listener.begin(session)
    // The first packet contains the token of all later packets.
    withUnsafeBytes(of: token.words) { bytes in
      _ = Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }
    return session
  }

  private init(
    _ name: String, _ process: WorkerProcess, _ ends: consuming WorkerEnds, _ limits: WorkerLimits,
    _ onOutput: (@Sendable (WorkerOutput) -> Void)?,
    _ onPacket: (@Sendable (pid_t) -> Void)?,
    _ onFailure: @escaping @Sendable (TableError) -> Void
  ) {
    self.name = name
    self.process = process
    self.limits = limits
    self.onPacket = onPacket
    self.onFailure = onFailure
    main = consume ends.main
    threads = ThreadLimit(process, limits.threads)
    listener = SideListener(
      side: ends.side, output: ends.output, errors: ends.errors,
      capture: OutputCapture(provider: name, limit: limits.output, pass: onOutput),
      watch: threads.check)
  }

  deinit {
    // All sources are released. The worker sees both sockets close and exits; otherwise it is killed.
    main = nil
    shutdown(listener.socket, Int32(SHUT_WR))
    if process.wait(1) == nil { process.end() }
    listener.stop()
  }

  // The calls

  func callBegan(_ operation: Operation, number: UInt64) {
    onPacket?(process.id)
    let time = now()
    call = Call(
      operation: operation, number: number, began: time, lastSign: time, traffic: nil,
      signs: listener.signs, stepBegan: time)
  }

  func callEnded() { cancelled.withLock { $0 = (0, 0) } }

  func cancel(_ number: UInt64) {
    cancelled.withLock { if $0.number != number { $0 = (number, now()) } }
    SideMessage.cancel(number).send(to: listener.socket)
  }

  func waitForPacket() throws(TableError) {
    onPacket?(process.id)
    defer { onPacket?(process.id) }
    while true {
      var files = [
        pollfd(fd: main.raw, events: Int16(POLLIN), revents: 0),
        pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&files, 2, 100)
      // Data that was sent before the end is still read.
      if files[0].revents != 0 { return }
      if ready > 0 { throw .closed }
      try look()
    }
  }

  /// Checks for signs of life. Without them, takes the next step of ending the worker.
  private func look() throws(TableError) {
    let time = now()
    let signs = listener.signs
    let traffic = process.traffic
    if signs != call.signs || traffic != call.traffic {
      if call.traffic != nil || signs != call.signs { call.lastSign = time }
      call.signs = signs
      call.traffic = traffic
    }
    switch call.step {
    case .waiting:
      let cancelledAt = cancelled.withLock { $0.number == call.number ? $0.at : 0 }
      if time - call.began > limits.total {
        call.reason = .duration
      } else if time - call.lastSign > limits.silence {
        call.reason = .silence
      } else if cancelledAt > 0, !call.operation.edits, time - cancelledAt > limits.grace {
        // A cancelled edit is not killed, because its outcome must be known.
        call.reason = .cancellation
      } else {
        return
      }
      call.step = .asked
      SideMessage.cancel(call.number).send(to: listener.socket)
    case .asked where time - call.stepBegan > limits.grace:
      call.step = .terminated
      process.signal(SIGTERM)
    case .terminated where time - call.stepBegan > limits.grace:
      call.step = .killed
      process.signal(SIGKILL)
    case .killed where time - call.stepBegan > 5 * limits.grace:
      // The kernel blocks the process, so waiting longer is useless.
      throw .closed
    default: return
    }
    call.stepBegan = time
  }

  func explain(_ error: TableError) -> TableError {
    // The worker's own errors count as errors of the host. All other errors come from the provider.
    if error.code == .misbehaved || error.code == .noProvider { return attributed(error) }
    guard error.code == .cancelled, call.step == .asked, call.reason != .cancellation else {
      return error
    }
    return attributed(TableError(.timeout, "provider \(name) \(waited) and was cancelled"))
  }

  func end(because error: TableError) -> TableError {
    // A worker that closes the connection is about to exit, and its exit status is the most useful information.
    var status = error == .closed ? process.wait(call.step == .waiting ? 0.5 : 0.1) : nil
    let endedItself = status != nil
    if status == nil { status = process.end() }
    listener.stop()
    var attributed = attributed(ending(error, status, endedItself))
    let isByItself = threads.exceeded == nil && call.step <= .waiting && error == .closed
    attributed.providerEnd = isByItself ? .byItself : .byHost
    if call.operation.edits { attributed.aftermath = .unknown }
    if attributed.code != .cancelled { onFailure(attributed) }
    if call.operation == .release { listener.report(.ended, Array(attributed.message.utf8)) }
    return attributed
  }

  private func ending(
    _ error: TableError, _ status: Int32?, _ endedItself: Bool
  ) -> TableError {
    let place = call.operation.name
    if let count = threads.exceeded {
      return TableError(
        .misbehaved,
        "provider \(name) had \(count) threads in \(place) and was ended; \(limits.threads) are allowed"
      )
    }
    if call.step > .waiting {
      return call.reason == .cancellation
        ? TableError(.cancelled, "cancelled; provider \(name) did not stop \(place) and was ended")
        : TableError(.timeout, "provider \(name) \(waited) and was ended")
    }
    if error != .closed {
      return TableError(
        error.code, "provider \(name) broke the contract in \(place): \(error.message)")
    }
    guard let status, endedItself else {
      return TableError(.misbehaved, "provider \(name) closed its connection in \(place)")
    }
    return TableError(
      .misbehaved, "provider \(name) ended \(WorkerProcess.describe(status)) in \(place)")
  }

  private var waited: String {
    call.reason == .silence
      ? "was silent for \(seconds(limits.silence)) in \(call.operation.name)"
      : "took more than \(seconds(limits.total)) for \(call.operation.name)"
  }

  private func attributed(_ error: TableError) -> TableError {
    var attributed = error
    attributed.provider = name
    return attributed
  }

  private func seconds(_ value: Double) -> String {
    "\(value == value.rounded() ? "\(Int(value))" : "\(value)") s"
  }
}

/// Kills a worker that has too many threads.
private final class ThreadLimit: Sendable {
  private let process: WorkerProcess
  private let limit: Int
  private let found = Atomic(0)

  init(_ process: WorkerProcess, _ limit: Int) {
    self.process = process
    self.limit = limit
  }

  /// The number of threads when the limit was exceeded; nil if it never was.
  var exceeded: Int? {
    let count = found.load(ordering: .relaxed)
    return count > 0 ? count : nil
  }

  @Sendable func check() {
    guard exceeded == nil, let count = process.threadCount, count > limit else { return }
    found.store(count, ordering: .relaxed)
    process.signal(SIGKILL)
  }
}
