import CTabella
import Synchronization
import Tabella

nonisolated(unsafe) let changesTable = immortal(
  tabella_changes_table(
    listen: { source, notify, context, error in
      answer(source, error, for: .anyVersion) { box throws(TableError) in
        guard let changes = box.base.changes else { throw TableError(.notSupported, "no changes") }
        let own = notify.map { TabellaBridge.listener($0, context) }
        if let gate = box.gate {
          try gate.listen(own)
        } else {
          try changes.listen(own)
        }
      }
    },
    pull: { source, out, error in
      answer(source, error, for: .anyVersion) { box throws(TableError) in
        guard let changes = box.base.changes else { throw TableError(.notSupported, "no changes") }
        let pull = { () throws(TableError) in try changes.pull() }
        let change = if let gate = box.gate { try gate.pulling(pull) } else { try pull() }
        exportChanges(change, to: out)
      }
    }))

/// The Swift form of a C listener.
package func listener(
  _ notify: tabella_notify, _ context: UnsafeMutableRawPointer?
) -> @Sendable () -> Void {
  let address = UInt(bitPattern: context)
  return { notify(UnsafeMutableRawPointer(bitPattern: address)) }
}

/// Fills C changes, whose receiver releases them.
package func exportChanges(_ batch: ChangeBatch, to out: UnsafeMutablePointer<tabella_changes>) {
  let arena = ExportedMemory()
  out.pointee = exportChanges(batch, arena)
  out.pointee.private_data = arena.retained()
  out.pointee.release = { changes in
    ExportedMemory.release(changes.pointee.private_data)
    changes.pointee.release = nil
  }
}

/// The C form of a change batch, without a release. `arena` owns its memory.
func exportChanges(_ batch: ChangeBatch, _ arena: ExportedMemory) -> tabella_changes {
  let none = tabella_index_path(section: -1, row: -1)
  let changes = (batch.changes ?? []).map { change in
    switch change {
    case .insert(let to):
      tabella_change(kind: TABELLA_CHANGE_INSERT, reserved: 0, from: none, to: to.raw)
    case .delete(let from):
      tabella_change(kind: TABELLA_CHANGE_DELETE, reserved: 0, from: from.raw, to: none)
    case .move(let from, let to):
      tabella_change(kind: TABELLA_CHANGE_MOVE, reserved: 0, from: from.raw, to: to.raw)
    case .reload(let from):
      tabella_change(kind: TABELLA_CHANGE_RELOAD, reserved: 0, from: from.raw, to: none)
    case .reconfigure(let from):
      tabella_change(kind: TABELLA_CHANGE_RECONFIGURE, reserved: 0, from: from.raw, to: none)
    }
  }
  return tabella_changes(
    from_version: arena.string(batch.from?.token), to_version: arena.string(batch.to?.token),
    changes: arena.array(changes), change_count: Int64(changes.count),
    flags: batch.changes == nil ? TABELLA_CHANGES_RELOAD : 0, reserved: 0, release: nil,
    private_data: nil)
}

/// The Swift form of a change batch.
func importChangeBatch(_ raw: tabella_changes) throws(TableError) -> ChangeBatch {
  guard (0...Int64(Int32.max)).contains(raw.change_count),
    raw.change_count == 0 || raw.changes != nil
  else { throw TableError(.misbehaved, "returned \(raw.change_count) changes") }
  var changes: [ChangeBatch.Change] = []
  for index in 0..<Int(raw.change_count) {
    guard let change = raw.changes?[index] else { break }
    let (from, to) = (IndexPath(change.from), IndexPath(change.to))
    switch change.kind {
    case TABELLA_CHANGE_INSERT: changes.append(.insert(to))
    case TABELLA_CHANGE_DELETE: changes.append(.delete(from))
    case TABELLA_CHANGE_MOVE: changes.append(.move(from: from, to: to))
    case TABELLA_CHANGE_RELOAD: changes.append(.reload(from))
    case TABELLA_CHANGE_RECONFIGURE: changes.append(.reconfigure(from))
    default:
      throw TableError(.misbehaved, "change \(index) is of the unknown kind \(change.kind)")
    }
  }
  return ChangeBatch(
    from: try importVersion(raw.from_version), to: try importVersion(raw.to_version),
    changes: raw.flags & TABELLA_CHANGES_RELOAD != 0 ? nil : changes)
}

func importChanges(
  _ foreign: ForeignSource, _ moved: @escaping (ChangeBatch) throws(TableError) -> Void
) throws(TableError) -> (any TableChanges)? {
  let table = try foreign.ability(TABELLA_CHANGES_ID, tabella_changes_table.self) {
    [("listen", $0.listen != nil), ("pull", $0.pull != nil)]
  }
  return table.map { ImportedChanges(foreign: foreign, table: $0, moved: moved) }
}

private final class ImportedChanges: TableChanges {
  let foreign: ForeignSource
  let table: tabella_changes_table
  let moved: (ChangeBatch) throws(TableError) -> Void
  private var listener: Unmanaged<Listener>?

  init(
    foreign: ForeignSource, table: tabella_changes_table,
    moved: @escaping (ChangeBatch) throws(TableError) -> Void
  ) {
    self.foreign = foreign
    self.table = table
    self.moved = moved
  }

  /// The object that a C listener's context points to.
  private final class Listener: Sendable {
    let notify: @Sendable () -> Void

    init(_ notify: @escaping @Sendable () -> Void) { self.notify = notify }
  }

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    // When the call returns, the old listener is not running and will not be called again.
    try foreign.call("changes.listen") { table.listen!(foreign.source, nil, nil, $0) }
    listener?.release()
    listener = nil
    guard let notify else { return }
    let next = Unmanaged.passRetained(Listener(notify))
    listener = next
    try foreign.call("changes.listen") { error in
      table.listen!(
        foreign.source,
        { context in
          if let context { Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().notify() }
        }, next.toOpaque(), error)
    }
  }

  func pull() throws(TableError) -> ChangeBatch {
    var raw = tabella_changes()
    try foreign.call("changes.pull") { table.pull!(foreign.source, &raw, $0) }
    defer {
      raw.release?(&raw)
      foreign.witness.released("changes", isCleared: raw.release == nil)
    }
    let change = try foreign.checking("changes.pull") { () throws(TableError) in
      try importChangeBatch(raw)
    }
    try moved(change)
    return change
  }

  deinit {
    guard listener != nil else { return }
    // A provider that failed to stop can still call the listener, so the listener must then live forever.
    if (try? foreign.call("changes.listen") { table.listen!(foreign.source, nil, nil, $0) }) != nil
    {
      listener?.release()
    }
  }
}
