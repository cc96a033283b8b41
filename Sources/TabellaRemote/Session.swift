import Glibc
import Synchronization
import Tabella

/// Who watches a worker while a session with it waits.
///
/// Called by the thread that calls, but for ``cancel(_:)``, which any thread may call.
public protocol WorkerSupervisor: AnyObject, Sendable {
  /// A call begins; each is ended by ``callEnded()``.
  func callBegan(_ operation: Operation, number: UInt64)
  func callEnded()
  /// Returns when there is a packet to be read, or when the worker is gone. Throws what is to be told of
  /// the call instead of waiting on.
  func waitForPacket() throws(TableError)
  /// The session is over: something came that cannot be, or nothing comes any more. Ends the worker and
  /// returns what is to be told of it.
  func end(because error: TableError) -> TableError
  /// What is to be told of an error that the worker answered with.
  func explain(_ error: TableError) -> TableError
  /// Asks the worker to stop the call with this number.
  func cancel(_ number: UInt64)
}

/// A session of calls with one worker: one call at a time, each answered once, be it with how the worker
/// ended. May be used by any thread.
public final class RemoteSession: @unchecked Sendable {
  /// A request that was sent before anyone asked, so that the worker makes the next rows while these are
  /// used.
  private struct Ahead {
    let source: Int
    let request: RowRequest
    let number: UInt64
    /// What came, if something else was called meanwhile.
    var answer: Result<IncomingMessage, TableError>?
  }

  private let transport: any Transport
  private let supervisor: any WorkerSupervisor
  private let limit: Int
  private let lock = Lock()
  // Under the lock:
  private var lastNumber: UInt64 = 0
  private var ending: TableError?
  private var ahead: Ahead?
  /// The call that runs, for cancelling; 0 for none. Not under the lock, which the call holds.
  private let running = Mutex<(source: Int, number: UInt64)>((0, 0))
  private let listeners = Mutex<[Int: @Sendable () -> Void]>([:])

  /// A session over a connected socket. `limit` is the most bytes that an answer may have.
  public convenience init(
    socket: Int32, arena: SharedMemory, token: Token, limit: Int, supervisor: any WorkerSupervisor
  ) {
    let channel = Channel(socket: socket, arena: arena, token: token) { () throws(TableError) in
      try supervisor.waitForPacket()
    }
    self.init(transport: channel, limit: limit, supervisor: supervisor)
  }

  init(transport: any Transport, limit: Int, supervisor: any WorkerSupervisor) {
    self.transport = transport
    self.limit = limit
    self.supervisor = supervisor
  }

  // Calls

  /// Has the worker load the library that it was given.
  public func load(_ request: LoadRequest) throws(TableError) -> LoadedProvider {
    try call(.load, [request]) { reader, _ throws(TableError) in
      try reader.get(LoadedProvider.self)
    }
  }

  /// Opens a location; the source lives in the worker as long as this form of it.
  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let description: SourceDescription = try call(.open, [request]) {
      reader, _ throws(TableError) in try reader.get(SourceDescription.self)
    }
    return RemoteSource(description, in: self)
  }

  public func statistics() throws(TableError) -> WorkerStatistics {
    try call(.statistics, []) { reader, _ throws(TableError) in
      try reader.get(WorkerStatistics.self)
    }
  }

  /// Has the worker check the library that it loaded for a probe.
  public func probe(_ request: ProbeRequest) throws(TableError) -> ProbeAnswer {
    try call(.probe, [request]) { reader, _ throws(TableError) in
      try reader.get(ProbeAnswer.self)
    }
  }

  /// How the session ended; nil while it goes on.
  public var ended: TableError? {
    guard case .success(let ending) = lock.withLock({ () throws(TableError) in ending }) else {
      return nil
    }
    return ending
  }

  /// Calls, and reads the answer; whatever cannot be read ends the session.
  func call<R>(
    _ operation: Operation, of source: Int = 0, _ arguments: [any WireValue],
    _ read: (inout WireReader, IncomingMessage) throws(TableError) -> R
  ) throws(TableError) -> R {
    try lock.withLock { () throws(TableError) in
      try settleAhead()
      let message = try exchange(operation, source, request(operation, source, arguments))
      return try answer(message, read)
    }.get()
  }

  /// A notice: nobody waits for its answer, and what goes wrong is told of the next call.
  func notify(
    _ operation: Operation, of source: Int, _ arguments: [any WireValue]
  ) {
    _ = try? call(operation, of: source, arguments) { _, _ throws(TableError) in () }
  }

  /// Rows; if `following` is set, those behind them are asked for before anyone wants them.
  func rows(
    _ request: RowRequest, of source: Int, following: Bool
  ) throws(TableError) -> Batch {
    try lock.withLock { () throws(TableError) in
      // As soon as it is known how many rows there are: the worker goes on while they are copied here.
      var hasAsked = !following
      func askAhead(_ front: UnsafeRawBufferPointer) {
        guard !hasAsked, ending == nil, let count = rowCount(front), count > 0 else { return }
        hasAsked = true
        guard request.first <= Int.max - count else { return }
        var next = request
        next.first += count
        sendAhead(next, source)
      }
      let message = try rowsMessage(request, source, arrived: askAhead)
      let batch = try answer(message) { reader, message throws(TableError) in
        try incomingBatch(&reader, in: message)
      }
      askAhead(message.bytes)
      return batch
    }.get()
  }

  /// How many rows an answer says that it has; nil if it has none.
  private func rowCount(_ front: UnsafeRawBufferPointer) -> Int? {
    var reader = WireReader(front)
    guard (try? reader.get(Bool.self)) == true else { return nil }
    return try? batchRowCount(&reader)
  }

  private func rowsMessage(
    _ wanted: RowRequest, _ source: Int, arrived: (UnsafeRawBufferPointer) -> Void
  ) throws(TableError) -> IncomingMessage {
    if let ahead, ahead.source == source, ahead.request == wanted {
      self.ahead = nil
      let answer: Result<IncomingMessage, TableError>
      if let came = ahead.answer {
        answer = came
      } else {
        answer = Result { () throws(TableError) in
          try receive(.rows, source, ahead.number, arrived: arrived)
        }
      }
      // What failed while nobody waited is tried again, so that it fails for the one who asks.
      if case .success(let message) = answer, isSuccess(message) { return message }
      if let ending { throw ending }
    }
    try settleAhead()
    return try exchange(.rows, source, request(.rows, source, [wanted]), arrived: arrived)
  }

  private func sendAhead(_ request: RowRequest, _ source: Int) {
    lastNumber += 1
    do throws(TableError) {
      try transport.send(self.request(.rows, source, [request]), number: lastNumber)
      ahead = Ahead(source: source, request: request, number: lastNumber)
    } catch {
      end(error)
    }
  }

  /// Takes the answer to what was asked ahead, so that another call can be made.
  private func settleAhead() throws(TableError) {
    guard let waiting = ahead, waiting.answer == nil else { return }
    let answer = Result { () throws(TableError) in
      try receive(.rows, waiting.source, waiting.number)
    }
    ahead?.answer = answer
    if let ending { throw ending }
  }

  /// Forgets what was asked ahead: the source is another now.
  private func forgetAhead() { ahead = nil }

  // The exchange

  private func request(
    _ operation: Operation, _ source: Int, _ arguments: [any WireValue]
  ) -> OutgoingMessage {
    var writer = WireWriter()
    writer.put(operation)
    writer.put(source)
    for argument in arguments { argument.write(to: &writer) }
    return OutgoingMessage(writer.bytes)
  }

  private func exchange(
    _ operation: Operation, _ source: Int, _ request: OutgoingMessage,
    arrived: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(TableError) -> IncomingMessage {
    if let ending { throw ending }
    if operation.edits || operation == .pull || operation == .release { forgetAhead() }
    lastNumber += 1
    return try receive(operation, source, lastNumber, sending: request, arrived: arrived)
  }

  /// Receives the answer with this number; sends its request first, if it was not sent ahead.
  private func receive(
    _ operation: Operation, _ source: Int, _ number: UInt64,
    sending request: OutgoingMessage? = nil,
    arrived: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(TableError) -> IncomingMessage {
    running.withLock { $0 = (source, number) }
    supervisor.callBegan(operation, number: number)
    defer {
      supervisor.callEnded()
      running.withLock { $0 = (0, 0) }
    }
    do throws(TableError) {
      if let request { try transport.send(request, number: number) }
      return try transport.receive(number, limit: limit, arrived: arrived).message
    } catch {
      throw end(error)
    }
  }

  /// Reads an answer: what was asked for, or the error that the provider reported.
  private func answer<R>(
    _ message: IncomingMessage,
    _ read: (inout WireReader, IncomingMessage) throws(TableError) -> R
  ) throws(TableError) -> R {
    var reported: TableError?
    do throws(TableError) {
      var reader = WireReader(message.bytes)
      if try reader.get(Bool.self) {
        let result = try read(&reader, message)
        try reader.end()
        return result
      }
      reported = try reader.get(TableError.self)
      try reader.end()
    } catch {
      throw end(error)
    }
    throw supervisor.explain(reported ?? .malformed("it has no answer"))
  }

  private func isSuccess(_ message: IncomingMessage) -> Bool {
    var reader = WireReader(message.bytes)
    return (try? reader.get(Bool.self)) ?? false
  }

  @discardableResult
  private func end(_ error: TableError) -> TableError {
    ahead = nil
    if let ending { return ending }
    let told = supervisor.end(because: error)
    ending = told
    return told
  }

  // From any thread

  /// Cancels the call that runs on this source, if one does.
  func cancel(_ source: Int) {
    let call = running.withLock { $0 }
    if call.number != 0, call.source == source { supervisor.cancel(call.number) }
  }

  /// Has `notify` called when the source has something to pull. When this returns, the listener before is
  /// neither running nor called again.
  func setListener(_ notify: (@Sendable () -> Void)?, of source: Int) {
    listeners.withLock { $0[source] = notify }
  }

  /// The worker says that a source has something to pull.
  public func sourceNotified(_ source: Int) { listeners.withLock { $0[source]?() } }
}

/// A lock that a call may hold as long as it takes.
final class Lock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func withLock<R>(_ body: () throws(TableError) -> R) -> Result<R, TableError> {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    do throws(TableError) { return .success(try body()) } catch { return .failure(error) }
  }
}
