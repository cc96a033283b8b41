import CTabella
import Tabella

/// Makes a C source from a Swift source. The C source retains the Swift source until it is released.
///
/// A source whose edits are not stored (``TableDataSource/storesEdits``) is exported as read-only. Otherwise a host
/// would report an edit as done and keep a receipt, although the edit is lost when the process ends.
///
/// `isReadOnly` exports any source so. All calls but cancellations pass `gate`, also those to the tables of elements.
package func exportSource(
  _ source: any TableDataSource, isReadOnly: Bool = false, through gate: (any ExportGate)? = nil
) -> tabella_source {
  let box = SourceBox(source, isReadOnly: isReadOnly || !source.storesEdits, gate)
  return tabella_source(
    table: box.cancellation == nil ? sourceTable : cancellableSourceTable,
    source: Unmanaged.passRetained(box).toOpaque())
}

/// A gate in front of an exported source, which lets one call at a time pass.
package protocol ExportGate: AnyObject {
  /// Waits until the call may run. Throws ``TableError`` if it must not run; then ``leave()`` is not called.
  func enter(for call: ExportedCall) throws(TableError)
  /// Ends the call.
  func leave()
  /// Notes, within a call, that the source shows another version now.
  func hasMoved()
  /// Runs a pull of the source, within a call, and notes the version that the source then shows.
  func pulling(_ pull: () throws(TableError) -> ChangeBatch) throws(TableError) -> ChangeBatch
  /// Sets or removes the listener of the source, within a call.
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError)
}

/// A kind of call to an exported source.
package enum ExportedCall {
  /// The call needs the version that the source showed last.
  case usual
  /// The call is possible in any version.
  case anyVersion
  /// The source ends. The gate must let it pass, or the source is never freed.
  case release
}

/// Owns a Swift source while C uses it.
final class SourceBox {
  let base: any TableDataSource
  let gate: (any ExportGate)?
  let cancellation: (@Sendable () -> Void)?
  /// The abilities that C may use. The box looks them up once.
  private let abilities: AbilitySet
  /// The memory that the last answer borrows from.
  private var borrowed: ExportedMemory?
  /// The titles of the section index that were returned last.
  var indexTitles: [String] = []

  init(_ base: any TableDataSource, isReadOnly: Bool, _ gate: (any ExportGate)?) {
    self.base = base
    self.gate = gate
    cancellation = base.cancellation
    let abilities = AbilitySet(of: base)
    self.abilities =
      isReadOnly
      ? abilities.subtracting(AbilitySet(.editing, .sectionEditing, .moving, .undoing))
      : abilities
  }

  /// Returns new memory for an answer that the caller borrows until the next call.
  func lend() -> ExportedMemory {
    let memory = ExportedMemory()
    borrowed = memory
    return memory
  }

  /// Runs `body` behind the gate.
  fileprivate func pass(
    _ call: ExportedCall, _ body: (SourceBox) throws(TableError) -> Void
  ) throws(TableError) {
    guard let gate else { return try body(self) }
    try gate.enter(for: call)
    defer { gate.leave() }
    try body(self)
  }

  /// Runs an edit of the source, and tells the gate whether the source moved on.
  func editing(
    isDryRun: Bool, _ edit: () throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    do throws(TableError) {
      let result = try edit()
      if !isDryRun { gate?.hasMoved() }
      return result
    } catch {
      // All other errors mean that nothing was changed.
      if error.code == .misbehaved { gate?.hasMoved() }
      throw error
    }
  }

  fileprivate func table(for id: tabella_string) -> UnsafeRawPointer? {
    let crossing = CrossingAbility.all.first { id.holds($0.id) }
    guard let crossing else {
      return searchingTable(for: id) ?? sharingTable(for: id) ?? digestingTable(for: id)
    }
    return abilities.contains(crossing.ability) ? crossing.table : nil
  }
}

/// Runs `body` with the Swift source of a C pointer, and converts a thrown error to a C error.
func answer(
  _ source: UnsafeMutableRawPointer, _ error: UnsafeMutablePointer<tabella_error>,
  for call: ExportedCall = .usual, _ body: (SourceBox) throws(TableError) -> Void
) -> Int32 {
  // The closure form does not rethrow typed errors, so a typed do-catch is inside the closure.
  var failure: TableError?
  Unmanaged<SourceBox>.fromOpaque(source)._withUnsafeGuaranteedRef { box in
    do throws(TableError) {
      try box.pass(call, body)
    } catch {
      failure = error
    }
  }
  return failure.map { report($0, to: error) } ?? TABELLA_OK
}

/// Runs `body` with the Swift source of a C pointer, for a function that cannot fail. Returns nil if the gate is shut.
func withBox<R>(_ source: UnsafeMutableRawPointer, _ body: (SourceBox) -> R) -> R? {
  Unmanaged<SourceBox>.fromOpaque(source)._withUnsafeGuaranteedRef { box in
    guard let gate = box.gate else { return body(box) }
    guard (try? gate.enter(for: .anyVersion)) != nil else { return nil }
    defer { gate.leave() }
    return body(box)
  }
}

/// Ends a Swift source that C used. If the gate is shut, the source lives on.
private func release(_ source: UnsafeMutableRawPointer) {
  let box = Unmanaged<SourceBox>.fromOpaque(source)
  guard let gate = box.takeUnretainedValue().gate else { return box.release() }
  guard (try? gate.enter(for: .release)) != nil else { return }
  box.release()
  gate.leave()
}

/// A C table that lives until the process ends.
func immortal<T>(_ table: T) -> UnsafePointer<T> {
  let pointer = UnsafeMutablePointer<T>.allocate(capacity: 1)
  pointer.initialize(to: table)
  return UnsafePointer(pointer)
}

/// A number from the other side of the contract. Throws if it is negative.
func natural(_ value: Int64, _ what: String) throws(TableError) -> Int {
  guard value >= 0 else { throw TableError(.invalidArgument, "\(what) is \(value)") }
  return Int(value)
}

/// A range from the other side of the contract. Throws if it is invalid.
func range(_ first: Int64, _ count: Int64) throws(TableError) -> Range<Int> {
  guard first >= 0, count >= 0, count <= Int64(Int32.max), first <= Int64.max - count else {
    throw TableError(.invalidArgument, "\(count) rows from row \(first) cannot be requested")
  }
  return Int(first)..<Int(first + count)
}

/// Column numbers from the other side of the contract. Throws if the list is invalid.
func columnNumbers(
  _ columns: UnsafePointer<Int64>?, _ count: Int64
) throws(TableError) -> [Int] {
  guard (0...Int64(Int32.max)).contains(count), count == 0 || columns != nil else {
    throw TableError(.invalidArgument, "\(count) columns cannot be requested")
  }
  return UnsafeBufferPointer(start: columns, count: Int(count)).map { Int($0) }
}

nonisolated(unsafe) private let sourceTable = immortal(makeSourceTable(cancel: nil))
nonisolated(unsafe) private let cancellableSourceTable = immortal(
  makeSourceTable(cancel: { source in
    // A cancellation does not wait for the call that it stops.
    Unmanaged<SourceBox>.fromOpaque(source)._withUnsafeGuaranteedRef { $0.cancellation?() }
  }))

private func makeSourceTable(
  cancel: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> tabella_source_table {
  tabella_source_table(
    release: { release($0) },
    cancel: cancel,
    ability: { source, id in withBox(source) { $0.table(for: id) } ?? nil },
    flags: { source in
      withBox(source) { $0.base.hasVolatileOrder ? TABELLA_SOURCE_VOLATILE_ORDER : 0 } ?? 0
    },
    version: { source, out, error in
      answer(source, error) { box throws(TableError) in
        let version = try box.base.version()
        out.pointee = box.lend().string(version?.token)
      }
    },
    schema: { source, out, error in
      answer(source, error) { box throws(TableError) in exportSchema(box.base.columns, to: out) }
    },
    row_count: { source, section, atLeast, out, error in
      answer(source, error) { box throws(TableError) in
        let minimum = try natural(atLeast, "the number of rows to know")
        let count = try box.base.numberOfRows(inSection: Int(section), knowing: minimum)
        out.pointee = tabella_count(count)
      }
    },
    rows: { source, request, out, error in
      answer(source, error) { box throws(TableError) in
        let asked = request.pointee
        let batch = try box.base.rows(
          RowRequest(
            section: Int(asked.section), first: Int(asked.first), count: Int(asked.count),
            columns: try columnNumbers(asked.columns, asked.column_count),
            includesIDs: asked.flags & TABELLA_ROWS_IDS != 0))
        exportBatch(batch, to: out)
      }
    })
}
