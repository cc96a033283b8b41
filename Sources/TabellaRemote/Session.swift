import Glibc
import Synchronization
import Tabella
import TabellaSystem
import TabellaThreads

/// Watches a worker during calls of a session.
///
/// The calling thread calls all methods, except ``cancel(_:)``, which any thread may call.
package protocol WorkerSupervisor: AnyObject, Sendable {
  /// Reports that a call begins. Each call ends with ``callEnded()``.
  func callBegan(_ operation: Operation, number: UInt64)
  /// Reports that the running call has ended.
  func callEnded()
  /// Returns when a packet can be read, or when the worker is gone. Throws an error to report instead of waiting.
  func waitForPacket() throws(TableError)
  /// Ends the worker after an invalid message or a closed connection. Returns the error to report.
  func end(because error: TableError) -> TableError
  /// Returns the error to report for an error in the worker's answer.
  func explain(_ error: TableError) -> TableError
  /// Asks the worker to stop the call with this number.
  func cancel(_ number: UInt64)
}

/// A session of calls to one worker. Any thread may use it.
///
/// It makes one call at a time. Every call is answered exactly once. If the worker ends, the answer is an error.
package final class RemoteSession: @unchecked Sendable {
  /// A request that was sent in advance, so that the worker prepares the next rows while the caller uses the
  /// current ones.
  private struct Ahead {
    let source: Int
    let request: RowRequest
    let number: UInt64
    /// The answer, if it was received before another call.
    var answer: Result<IncomingMessage, TableError>?
  }

  private let transport: any Transport
  private let supervisor: any WorkerSupervisor
  private let limit: Int
  private let lock = Lock()
  // Protected by the lock:
  private var lastNumber: UInt64 = 0
  private var ending: TableError?
  private var ahead: Ahead?
  /// The running call, for cancellation; 0 for none. The lock does not protect it, because the call holds the lock.
  private let running = Mutex<(source: Int, number: UInt64)>((0, 0))
  private let listeners = Mutex<[Int: @Sendable () -> Void]>([:])

  /// Creates a session over a connected socket. `limit` is the maximum number of bytes of an answer.
  package convenience init(
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

  // Calls.

  /// Makes the worker load its library.
  package func load(_ request: LoadRequest) throws(TableError) -> LoadedProvider {
    try call(.load, [request]) { reader, _ throws(TableError) in
      try reader.get(LoadedProvider.self)
    }
  }

  /// Opens a location. The source in the worker is released together with the returned object.
  package func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let description: SourceDescription = try call(.open, [request]) {
      reader, _ throws(TableError) in try reader.get(SourceDescription.self)
    }
    return RemoteSource(description, in: self)
  }

  /// Returns the resources that the worker uses.
  package func statistics() throws(TableError) -> ResourceUse {
    try call(.statistics, []) { reader, _ throws(TableError) in
      try reader.get(ResourceUse.self)
    }
  }

  /// Makes the worker check the library that it loaded for a probe.
  package func probe(_ request: ProbeRequest) throws(TableError) -> ProbeAnswer {
    try call(.probe, [request]) { reader, _ throws(TableError) in
      try reader.get(ProbeAnswer.self)
    }
  }

  /// The reason why the session ended; nil while it continues.
  package var ended: TableError? { lock.withLock { ending } }

  /// Makes a call and reads the answer. An unreadable answer ends the session.
  func call<R>(
    _ operation: Operation, of source: Int = 0, _ arguments: [any WireValue],
    _ read: (inout WireReader, IncomingMessage) throws(TableError) -> R
  ) throws(TableError) -> R {
    try lock.withLock { () throws(TableError) in
      try settleAhead()
      let message = try exchange(operation, source, request(operation, source, arguments))
      return try answer(message, read)
    }
  }

  /// Sends a notice. Its result is ignored. If the session ends, the next call reports it.
  func notify(
    _ operation: Operation, of source: Int, _ arguments: [any WireValue]
  ) {
    _ = try? call(operation, of: source, arguments) { _, _ throws(TableError) in () }
  }

  /// Requests rows. If `following` is true, also requests the rows after them in advance.
  func rows(
    _ request: RowRequest, of source: Int, following: Bool
  ) throws(TableError) -> Batch {
    try lock.withLock { () throws(TableError) in
      // The advance request is sent when the number of rows is known. The worker continues while this end copies
      // the rows.
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
    }
  }

  /// The number of rows in an answer; nil if the answer contains none.
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
      // A failed advance request is repeated, so that the error goes to the caller who needs the rows.
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

  /// Receives the answer of the advance request, so that another call can be made.
  private func settleAhead() throws(TableError) {
    guard let waiting = ahead, waiting.answer == nil else { return }
    let answer = Result { () throws(TableError) in
      try receive(.rows, waiting.source, waiting.number)
    }
    ahead?.answer = answer
    if let ending { throw ending }
  }

  /// Forgets the advance request, because the source has changed.
  private func forgetAhead() { ahead = nil }

  // The exchange.

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

  /// Reads an answer: the result, or the error that the provider reported.
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

  // Callable from any thread.

  /// Cancels the running call of this source, if there is one.
  func cancel(_ source: Int) {
    let call = running.withLock { $0 }
    if call.number != 0, call.source == source { supervisor.cancel(call.number) }
  }

  /// Sets the function to call when the source has changes to pull. When this method returns, the previous listener
  /// is not running and will not be called again.
  func setListener(_ notify: (@Sendable () -> Void)?, of source: Int) {
    listeners.withLock { $0[source] = notify }
  }

  /// Calls the listener of a source, because the worker reported changes to pull.
  package func sourceNotified(_ source: Int) { listeners.withLock { $0[source]?() } }

  /// Calls the listeners of all sources, because the worker ended. Their next pull throws the reason.
  package func workerEnded() { listeners.withLock { for notify in $0.values { notify() } } }
}
