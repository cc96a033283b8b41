import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge
import TabellaHost

/// A table behind a `tabella_embed_table`.
final class EmbeddedTable {
  let host: EmbeddedHost
  let source: any TableDataSource
  /// The version of the table among those that share its sources.
  let position: Position
  /// The opened location; nil for a table that has none, or several.
  let opened: OpenedTable?
  /// Whether the table may be edited.
  let isEditable: Bool
  /// The table's name in errors.
  let name: String
  /// The provider's id, which C may read as long as the table lives.
  let provider: tabella_string
  let cancellations: Cancellations
  private let memory = ExportedMemory()

  /// Creates a table of an opened location.
  init(_ opened: OpenedTable, isEditable: Bool, of host: EmbeddedHost) {
    self.host = host
    source = opened.source
    position = Position([SharedSource(opened.source)])
    self.opened = opened
    self.isEditable = isEditable
    name = opened.location.description
    provider = memory.string(opened.manifest.id.utf8)
    cancellations = Cancellations(of: source)
  }

  /// Creates a table over a source of the library.
  init(
    _ source: any TableDataSource, provider: String, name: String? = nil,
    sharing sources: [SharedSource] = [], of host: EmbeddedHost
  ) {
    self.host = host
    self.source = source
    position = Position(sources)
    opened = nil
    isEditable = false
    self.name = name ?? provider
    self.provider = memory.string(provider.utf8)
    cancellations = Cancellations(of: source)
  }

  /// Creates a view of a table.
  init(_ view: any TableDataSource, of table: EmbeddedTable) {
    host = table.host
    source = view
    position = Position(table.position.sources)
    opened = table.opened
    isEditable = table.isEditable
    name = table.name
    provider = memory.string(table.providerID.utf8)
    cancellations = Cancellations(of: source)
  }

  private var providerID: String {
    String(
      decoding: UnsafeRawBufferPointer(start: provider.bytes, count: Int(provider.length)),
      as: UTF8.self)
  }

  /// The source of the contract, which keeps the table alive.
  ///
  /// A table that is behind has a source, too: a pull shows the table again.
  func exported() -> tabella_source {
    exportSource(source, isReadOnly: !isEditable, through: SourceGate(self))
  }
}

/// The calls to one exported source of a table. They wait for other calls on the host.
private final class SourceGate: ExportGate {
  private let host: EmbeddedHost
  private let position: Position
  private let cancellations: Cancellations
  /// Keeps the table alive.
  private var table: EmbeddedTable?
  private var listening: Listening?

  init(_ table: EmbeddedTable) {
    host = table.host
    position = table.position
    cancellations = table.cancellations
    self.table = table
  }

  deinit {
    // The last reference to the table can end its source, which others may use at this moment.
    host.lock.lock()
    listening = nil
    table = nil
    host.lock.unlock()
  }

  func enter(for call: ExportedCall) throws(TableError) {
    try ProcessUse.check()
    let count = cancellations.count
    host.lock.lock()
    guard call != .release else { return }
    do throws(TableError) {
      try cancellations.beginCall(since: count)
      if call == .usual { try position.check() }
    } catch {
      cancellations.endCall()
      host.lock.unlock()
      throw error
    }
  }

  func leave() {
    cancellations.endCall()
    host.lock.unlock()
  }

  func hasMoved() { position.move() }

  func pulling(
    _ pull: () throws(TableError) -> ChangeBatch
  ) throws(TableError) -> ChangeBatch {
    let wasCurrent = position.isCurrent
    let batch = try position.pulling(pull)
    // Another table moved the sources, so the list does not begin with the rows that this table showed.
    return wasCurrent ? batch : ChangeBatch(from: nil, to: batch.to, changes: nil)
  }

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    listening = nil
    listening = try notify.map { notify throws(TableError) in
      try Listening(to: position, notify)
    }
  }
}

/// A listener of all sources of a table. It ends with the last reference, under the lock of the host.
final class Listening {
  private var numbers: [(source: SharedSource, number: Int)] = []

  init(to position: Position, _ notify: @escaping @Sendable () -> Void) throws(TableError) {
    for source in position.sources { numbers.append((source, try source.add(notify))) }
  }

  deinit {
    for (source, number) in numbers { source.remove(number) }
  }
}
