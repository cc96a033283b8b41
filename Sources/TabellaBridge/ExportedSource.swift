import CTabella
import Tabella

/// Makes a C source from a Swift source. The C source retains the Swift source until it is released.
///
/// A source whose edits are not stored (``TableDataSource/storesEdits``) is exported as read-only. Otherwise a host
/// would report an edit as done and keep a receipt, although the edit is lost when the process ends.
public func exportSource(_ source: any TableDataSource) -> tabella_source {
  let box = SourceBox(source)
  return tabella_source(
    table: box.cancellation == nil ? sourceTable : cancellableSourceTable,
    source: Unmanaged.passRetained(box).toOpaque())
}

/// Owns a Swift source while C uses it. It looks up the abilities once.
final class SourceBox {
  let base: any TableDataSource
  let cancellation: (@Sendable () -> Void)?
  let sections: (any TableSections)?
  let sectionIndex: (any TableSectionIndex)?
  let identity: (any TableIdentity)?
  let gathering: (any TableGathering)?
  let changes: (any TableChanges)?
  let editing: (any TableEditing)?
  let sectionEditing: (any TableSectionEditing)?
  let moving: (any TableMoving)?
  let undoing: (any TableUndoing)?
  let supplementary: (any TableSupplementary)?
  let accessories: (any TableAccessories)?
  let display: (any TableDisplay)?
  let prefetching: (any TablePrefetching)?
  let diagnostics: (any TableDiagnostics)?

  /// The memory that the last answer borrows from.
  private var borrowed: ExportedMemory?

  init(_ base: any TableDataSource) {
    self.base = base
    cancellation = base.cancellation
    sections = base.sections
    sectionIndex = base.sectionIndex
    identity = base.identity
    gathering = base.gathering
    changes = base.changes
    let isEdited = base.storesEdits
    editing = isEdited ? base.editing : nil
    sectionEditing = isEdited ? base.sectionEditing : nil
    moving = isEdited ? base.moving : nil
    undoing = isEdited ? base.undoing : nil
    supplementary = base.supplementary
    accessories = base.accessories
    display = base.display
    prefetching = base.prefetching
    diagnostics = base.diagnostics
  }

  /// Returns new memory for an answer that the caller borrows until the next call.
  func lend() -> ExportedMemory {
    let arena = ExportedMemory()
    borrowed = arena
    return arena
  }

  fileprivate func table(for id: tabella_string) -> UnsafeRawPointer? {
    if id.holds(TABELLA_SECTIONS_ID) {
      return sections.map { _ in UnsafeRawPointer(sectionsTable) }
    }
    if id.holds(TABELLA_SECTION_INDEX_ID) {
      return sectionIndex.map { _ in UnsafeRawPointer(sectionIndexTable) }
    }
    if id.holds(TABELLA_IDENTITY_ID) {
      return identity.map { _ in UnsafeRawPointer(identityTable) }
    }
    if id.holds(TABELLA_GATHERING_ID) {
      return gathering.map { _ in UnsafeRawPointer(gatheringTable) }
    }
    if id.holds(TABELLA_CHANGES_ID) { return changes.map { _ in UnsafeRawPointer(changesTable) } }
    if id.holds(TABELLA_EDITING_ID) { return editing.map { _ in UnsafeRawPointer(editingTable) } }
    if id.holds(TABELLA_SECTION_EDITING_ID) {
      return sectionEditing.map { _ in UnsafeRawPointer(sectionEditingTable) }
    }
    if id.holds(TABELLA_MOVING_ID) { return moving.map { _ in UnsafeRawPointer(movingTable) } }
    if id.holds(TABELLA_UNDO_ID) { return undoing.map { _ in UnsafeRawPointer(undoTable) } }
    if id.holds(TABELLA_SUPPLEMENTARY_ID) {
      return supplementary.map { _ in UnsafeRawPointer(supplementaryTable) }
    }
    if id.holds(TABELLA_ACCESSORIES_ID) {
      return accessories.map { _ in UnsafeRawPointer(accessoriesTable) }
    }
    if id.holds(TABELLA_DISPLAY_ID) { return display.map { _ in UnsafeRawPointer(displayTable) } }
    if id.holds(TABELLA_PREFETCHING_ID) {
      return prefetching.map { _ in UnsafeRawPointer(prefetchingTable) }
    }
    if id.holds(TABELLA_DIAGNOSTICS_ID) {
      return diagnostics.map { _ in UnsafeRawPointer(diagnosticsTable) }
    }
    return nil
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
