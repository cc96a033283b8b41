import Synchronization
import Tabella

/// The server in a worker. It answers calls of the host on the worker's sources, one after the other.
public final class SourceServer {
  /// The functions of the worker itself. Each throws ``TableError``.
  public struct Handlers {
    /// Loads the library.
    public var load: (LoadRequest) throws(TableError) -> LoadedProvider
    /// Opens a location.
    public var open: (OpenRequest) throws(TableError) -> any TableDataSource
    /// Returns the resources that the worker uses.
    public var statistics: () -> WorkerStatistics
    /// Runs a probe.
    public var probe: (ProbeRequest) throws(TableError) -> ProbeAnswer

    /// Creates handlers.
    public init(
      load: @escaping (LoadRequest) throws(TableError) -> LoadedProvider,
      open: @escaping (OpenRequest) throws(TableError) -> any TableDataSource,
      statistics: @escaping () -> WorkerStatistics,
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
  public final class RunningCall: Sendable {
    private let call = Mutex<(number: UInt64, cancellation: (@Sendable () -> Void)?)>((0, nil))

    /// Cancels the call with this number if it is running. Any thread may call it.
    public func cancel(_ number: UInt64) {
      call.withLock { if $0.number == number { $0.cancellation?() } }
    }

    fileprivate func begin(_ number: UInt64, _ cancellation: (@Sendable () -> Void)?) {
      call.withLock { $0 = (number, cancellation) }
    }

    fileprivate func end() { call.withLock { $0 = (0, nil) } }
  }

  /// The running call.
  public let running = RunningCall()
  private let channel: Channel
  private let side: Int32
  private let handlers: Handlers
  private var sources: [Int: any TableDataSource] = [:]
  private var lastSource = 0

  /// Creates a server on a connected socket. `side` is the socket for notifications.
  public init(socket: Int32, side: Int32, arena: SharedMemory, token: Token, handlers: Handlers) {
    channel = Channel(socket: socket, arena: arena, token: token)
    self.side = side
    self.handlers = handlers
  }

  /// Answers calls until the host is gone. Throws ``TableError`` for a message that no host sends.
  public func run() throws(TableError) {
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
    switch operation {
    case .rows:
      return outgoing(try source.rows(try reader.get(RowRequest.self)), behind: success().head)
    case .gather:
      let (paths, columns) = (try reader.get([IndexPath].self), try reader.get([Int].self))
      let batch = try ability(source.gathering).rows(
        at: paths, columns: columns, includesIDs: try reader.get(Bool.self))
      return outgoing(batch, behind: success().head)
    case .listen, .pull, .editability, .editableColumns, .commit, .sectionEditability,
      .canInsertSections, .movability, .target, .undo:
      return try edit(operation, source, number, &reader)
    default: return try look(operation, source, &reader)
    }
  }

  /// Answers operations that only read.
  private func look(
    _ operation: Operation, _ source: any TableDataSource, _ reader: inout WireReader
  ) throws(TableError) -> OutgoingMessage {
    switch operation {
    case .version: return success(try source.version())
    case .numberOfRows:
      let section = try reader.get(Int.self)
      return success(try source.numberOfRows(inSection: section, knowing: try reader.get(Int.self)))
    case .numberOfSections:
      return success(
        try ability(source.sections).numberOfSections(knowing: try reader.get(Int.self)))
    case .title:
      let place = try reader.get(TitlePlace.self)
      return success(try ability(source.sections).title(place, ofSection: try reader.get(Int.self)))
    case .sectionIndexTitles:
      return success(try ability(source.sectionIndex).sectionIndexTitles())
    case .indexPathForTitle:
      let title = try reader.get(String.self)
      return success(
        try ability(source.sectionIndex).indexPath(
          forIndexTitle: title, at: try reader.get(Int.self)))
    case .indexPathForID:
      return success(try ability(source.identity).indexPath(forID: try reader.get(String.self)))
    case .supplementaryKinds:
      return success(try ability(source.supplementary).supplementaryKinds())
    case .supplementaryElement:
      let kind = try reader.get(String.self)
      let element = try ability(source.supplementary).supplementaryElement(
        ofKind: kind, at: try reader.get(IndexPath.self))
      return success(element.map(form))
    case .location:
      let location = try ability(source.accessories).location(
        forRowAt: try reader.get(IndexPath.self))
      return success(location.map { WireBytes($0) })
    case .nextDiagnostic: return success(try ability(source.diagnostics).nextDiagnostic())
    case .willDisplay, .didEndDisplaying, .prefetch, .cancelPrefetching:
      let section = try reader.get(Int.self)
      let rows = try rowRange(&reader)
      switch operation {
      case .willDisplay: source.display?.willDisplay(rows: rows, inSection: section)
      case .didEndDisplaying: source.display?.didEndDisplaying(rows: rows, inSection: section)
      case .prefetch: source.prefetching?.prefetch(rows: rows, inSection: section)
      default: source.prefetching?.cancelPrefetching(rows: rows, inSection: section)
      }
      return success()
    default: throw .malformed("it asks for \(operation.name)")
    }
  }

  /// Answers operations that edit, that return editability, and that return changes.
  private func edit(
    _ operation: Operation, _ source: any TableDataSource, _ number: Int,
    _ reader: inout WireReader
  ) throws(TableError) -> OutgoingMessage {
    switch operation {
    case .listen:
      let isOn = try reader.get(Bool.self)
      let side = side
      let notify: @Sendable () -> Void = { SideMessage.notify(number).send(to: side) }
      try ability(source.changes).listen(isOn ? notify : nil)
      return success(true)
    case .pull: return success(try ability(source.changes).pull(), source.columns)
    case .editability:
      let section = try reader.get(Int.self)
      let rows = try rowRange(&reader)
      let answers = try ability(source.editing).editability(ofRows: rows, inSection: section)
      return success(WireBytes(answers.map { $0.rawValue }))
    case .editableColumns: return success(try ability(source.editing).editableColumns())
    case .commit:
      let result = try ability(source.editing).commit(try reader.get(EditBatch.self))
      return success(result, source.columns)
    case .sectionEditability:
      let sections = try rowRange(&reader)
      let answers = try ability(source.sectionEditing).editability(ofSections: sections)
      return success(WireBytes(answers.map { $0.rawValue }))
    case .canInsertSections:
      return success(try ability(source.sectionEditing).canInsertSections())
    case .movability:
      let section = try reader.get(Int.self)
      let rows = try rowRange(&reader)
      let answers = try ability(source.moving).movability(ofRows: rows, inSection: section)
      return success(WireBytes(answers.map { $0 ? 1 : 0 }))
    case .target:
      let from = try reader.get(IndexPath.self)
      return success(
        try ability(source.moving).target(ofMoveFrom: from, to: try reader.get(IndexPath.self)))
    case .undo:
      let receipt = try reader.get(WireBytes.self).bytes
      let result = try ability(source.undoing).undo(receipt, isDryRun: try reader.get(Bool.self))
      return success(result, source.columns)
    default: throw .malformed("it asks for \(operation.name)")
    }
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

  private func success(_ value: some WireValue, _ columns: [Column]) -> OutgoingMessage {
    var writer = WireWriter()
    writer.put(true)
    writer.put(value)
    writer.put(columns)
    return OutgoingMessage(writer.bytes)
  }

  private func describe(_ source: any TableDataSource) -> SourceDescription {
    lastSource += 1
    sources[lastSource] = source
    return SourceDescription(source, number: lastSource)
  }

  private func form(_ element: SupplementaryElement) -> WireElement {
    switch element {
    case .text(let text): .text(text)
    case .table(let table): .table(describe(table))
    }
  }

  private func ability<A>(_ ability: A?) throws(TableError) -> A {
    guard let ability else { throw TableError(.notSupported, "the source has no such ability") }
    return ability
  }

  private func rowRange(_ reader: inout WireReader) throws(TableError) -> Range<Int> {
    let (first, count) = (try reader.get(Int.self), try reader.get(Int.self))
    guard first >= 0, count >= 0, first <= Int.max - count else {
      throw TableError(.invalidArgument, "\(count) rows from row \(first) cannot be requested")
    }
    return first..<first + count
  }
}
