import CTabella
import Tabella

/// Makes a C source from a Swift source. The C source retains the Swift source until it is released.
///
/// A source whose edits are not stored (``TableDataSource/storesEdits``) is exported as read-only. Otherwise a host
/// would report an edit as done and keep a receipt, although the edit is lost when the process ends.
package func exportSource(_ source: any TableDataSource) -> tabella_source {
  let box = SourceBox(source)
  return tabella_source(
    table: box.cancellation == nil ? sourceTable : cancellableSourceTable,
    source: Unmanaged.passRetained(box).toOpaque())
}

/// Owns a Swift source while C uses it.
final class SourceBox {
  let base: any TableDataSource
  let cancellation: (@Sendable () -> Void)?
  /// The abilities that C may use. The box looks them up once.
  private let abilities: AbilitySet
  /// The memory that the last answer borrows from.
  private var borrowed: ExportedMemory?

  init(_ base: any TableDataSource) {
    self.base = base
    cancellation = base.cancellation
    let abilities = AbilitySet(of: base)
    self.abilities =
      base.storesEdits
      ? abilities
      : abilities.subtracting(AbilitySet(.editing, .sectionEditing, .moving, .undoing))
  }

  /// Returns new memory for an answer that the caller borrows until the next call.
  func lend() -> ExportedMemory {
    let memory = ExportedMemory()
    borrowed = memory
    return memory
  }

  fileprivate func table(for id: tabella_string) -> UnsafeRawPointer? {
    let crossing = CrossingAbility.all.first { id.holds($0.id) }
    return crossing.flatMap { abilities.contains($0.ability) ? $0.table : nil }
  }
}

/// Runs `body` with the Swift source of a C pointer, and converts a thrown error to a C error.
func answer(
  _ source: UnsafeMutableRawPointer, _ error: UnsafeMutablePointer<tabella_error>,
  _ body: (SourceBox) throws(TableError) -> Void
) -> Int32 {
  // The closure form does not rethrow typed errors, so a typed do-catch is inside the closure.
  var failure: TableError?
  Unmanaged<SourceBox>.fromOpaque(source)._withUnsafeGuaranteedRef { box in
    do throws(TableError) {
      try body(box)
    } catch {
      failure = error
    }
  }
  return failure.map { report($0, to: error) } ?? TABELLA_OK
}

/// Runs `body` with the Swift source of a C pointer, for a function that cannot fail.
func withBox<R>(_ source: UnsafeMutableRawPointer, _ body: (SourceBox) -> R) -> R {
  Unmanaged<SourceBox>.fromOpaque(source)._withUnsafeGuaranteedRef(body)
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
  makeSourceTable(cancel: { source in withBox(source) { $0.cancellation?() } }))

private func makeSourceTable(
  cancel: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> tabella_source_table {
  tabella_source_table(
    release: { Unmanaged<SourceBox>.fromOpaque($0).release() },
    cancel: cancel,
    ability: { source, id in withBox(source) { $0.table(for: id) } },
    flags: { source in
      withBox(source) { $0.base.hasVolatileOrder ? TABELLA_SOURCE_VOLATILE_ORDER : 0 }
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
