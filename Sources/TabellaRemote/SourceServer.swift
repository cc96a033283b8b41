import Synchronization
import Tabella
import TabellaSystem

/// The server in a worker. It answers calls of the host on the worker's sources, one after the other.
package final class SourceServer {
  /// The functions of the worker itself. Each throws ``TableError``.
  package struct Handlers {
    /// Loads the library.
    package var load: (LoadRequest) throws(TableError) -> LoadedProvider
    /// Opens a location.
    package var open: (OpenRequest) throws(TableError) -> any TableDataSource
    /// Returns the resources that the worker uses.
    package var statistics: () -> ResourceUse
    /// Runs a probe.
    package var probe: (ProbeRequest) throws(TableError) -> ProbeAnswer

    /// Creates handlers.
    package init(
      load: @escaping (LoadRequest) throws(TableError) -> LoadedProvider,
      open: @escaping (OpenRequest) throws(TableError) -> any TableDataSource,
      statistics: @escaping () -> ResourceUse,
      probe: @escaping (ProbeRequest) throws(TableError) -> ProbeAnswer = {
        _ throws(TableError) in throw TableError(.notSupported, "there are no probes here")
      }
    ) {
      self.load = load
      self.open = open
      self.statistics = statistics
      self.probe = probe
    }
  }

  /// The running call, so that another thread can cancel exactly this call.
  package final class RunningCall: Sendable {
    private let call = Mutex<(number: UInt64, cancellation: (@Sendable () -> Void)?)>((0, nil))

    /// Cancels the call with this number if it is running. Any thread may call it.
    package func cancel(_ number: UInt64) {
      call.withLock { if $0.number == number { $0.cancellation?() } }
    }

    fileprivate func begin(_ number: UInt64, _ cancellation: (@Sendable () -> Void)?) {
      call.withLock { $0 = (number, cancellation) }
    }

    fileprivate func end() { call.withLock { $0 = (0, nil) } }
  }

  /// The running call.
  package let running = RunningCall()
  private let channel: Channel
  private let side: Int32
  private let handlers: Handlers
  private var sources: [Int: any TableDataSource] = [:]
  private var lastSource = 0

  /// Creates a server on a connected socket. `side` is the socket for notifications.
  package init(socket: Int32, side: Int32, arena: SharedMemory, token: Token, handlers: Handlers) {
    channel = Channel(socket: socket, arena: arena, token: token)
    self.side = side
    self.handlers = handlers
  }

  /// Answers calls until the host is gone. Throws ``TableError`` for a message that no host sends.
  package func run() throws(TableError) {
    while true {
      let (number, message): (UInt64, IncomingMessage)
      do throws(TableError) {
        (number, message) = try channel.receive(nil, limit: .max)
      } catch {
        if error == .closed { return }
        throw error
      }
      try channel.send(try answer(message, number), number: number)
    }
  }

  func answer(
    _ message: IncomingMessage, _ number: UInt64
  ) throws(TableError) -> OutgoingMessage {
    var reader = WireReader(message.bytes)
    let (operation, source) = (try reader.get(Operation.self), try reader.get(Int.self))
    running.begin(number, sources[source]?.cancellation)
    defer { running.end() }
    do throws(TableError) {
      let answer = try perform(operation, source, &reader)
      try reader.end()
      return answer
    } catch {
      var writer = WireWriter()
      writer.put(false)
      writer.put(error)
      return OutgoingMessage(writer.bytes)
    }
  }

  private func perform(
    _ operation: Operation, _ number: Int, _ reader: inout WireReader
  ) throws(TableError) -> OutgoingMessage {
    switch operation {
    case .load: return success(try handlers.load(try reader.get(LoadRequest.self)))
    case .open: return success(describe(try handlers.open(try reader.get(OpenRequest.self))))
    case .statistics: return success(handlers.statistics())
    case .probe: return success(try handlers.probe(try reader.get(ProbeRequest.self)))
    case .release:
      sources[number] = nil
      return success()
    default: break
    }
    guard let source = sources[number] else {
      throw TableError(.invalidArgument, "there is no source \(number) in the worker")
    }
    if operation == .listen {
      let side = side
      let notify: @Sendable () -> Void = { SideMessage.notify(number).send(to: side) }
      let isOn = try reader.get(Bool.self)
      try Calls.ability(source.changes).listen(isOn ? notify : nil)
      return success(true)
    }
    guard let call = operation.call else { throw .malformed("it asks for \(operation.name)") }
    return try call.serve(source, &reader, head: success().head, in: self)
  }

  // Answers.

  private func success() -> OutgoingMessage {
    var writer = WireWriter()
    writer.put(true)
    return OutgoingMessage(writer.bytes)
  }

  private func success(_ value: some WireValue) -> OutgoingMessage {
    var writer = WireWriter()
    writer.put(true)
    writer.put(value)
    return OutgoingMessage(writer.bytes)
  }

  /// Enters a source, and describes it.
  func describe(_ source: any TableDataSource) -> SourceDescription {
    lastSource += 1
    sources[lastSource] = source
    return SourceDescription(source, number: lastSource)
  }
}
