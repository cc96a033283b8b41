import CTabella
import Tabella

nonisolated(unsafe) let editingTable = immortal(
  tabella_editing(
    editable: { source, section, first, count, out, error in
      answer(source, error) { box throws(TableError) in
        let rows = try range(first, count)
        let answers = try box.base.editing?.editability(ofRows: rows, inSection: Int(section)) ?? []
        for (index, answer) in answers.prefix(rows.count).enumerated() {
          out[index] = answer.rawValue
        }
      }
    },
    editable_columns: { source, out, error in
      answer(source, error) { box throws(TableError) in
        let answers = try box.base.editing?.editableColumns()
        for index in box.base.columns.indices {
          out[index] = answers.map { $0.indices.contains(index) && $0[index] } ?? true ? 1 : 0
        }
      }
    },
    commit: { source, batch, out, error in
      answer(source, error) { box throws(TableError) in
        guard let editing = box.base.editing else { throw TableError(.readOnly, "read-only") }
        let batch = try importEdits(batch.pointee)
        let result = try box.editing(isDryRun: batch.isDryRun) { () throws(TableError) in
          try editing.commit(batch)
        }
        exportResult(result, to: out)
      }
    }))

nonisolated(unsafe) let undoTable = immortal(
  tabella_undo(undo: { source, receipt, flags, out, error in
    answer(source, error) { box throws(TableError) in
      guard let undoing = box.base.undoing else { throw TableError(.notSupported, "no undo") }
      let receipt = try receipt.copied("the receipt") ?? []
      let isDryRun = flags & TABELLA_EDITS_DRY_RUN != 0
      let result = try box.editing(isDryRun: isDryRun) { () throws(TableError) in
        try undoing.undo(receipt, isDryRun: isDryRun)
      }
      exportResult(result, to: out)
    }
  }))

// Values and edits.

private func exportCell(_ cell: Cell, _ arena: ExportedMemory) -> tabella_value {
  var value = tabella_value()
  value.type = cell.type?.rawValue ?? 0
  switch cell {
  case .missing: break
  case .text(let bytes), .binary(let bytes): value.bytes = arena.string(bytes)
  case .integer(let integer): value.integer = integer
  case .real(let real): value.real = real
  case .boolean(let boolean): value.integer = boolean ? 1 : 0
  case .date(let date): value.integer = date.nanoseconds
  }
  return value
}

private func importCell(_ value: tabella_value) throws(TableError) -> Cell {
  if value.type == 0 { return .missing }
  switch ColumnType(rawValue: value.type) {
  case .text: return .text(try value.bytes.copied("a value") ?? [])
  case .binary: return .binary(try value.bytes.copied("a value") ?? [])
  case .integer: return .integer(value.integer)
  case .real: return .real(value.real)
  case .boolean: return .boolean(value.integer != 0)
  case .date: return .date(Timestamp(nanoseconds: value.integer))
  case nil: throw TableError(.invalidArgument, "a value has the unknown type \(value.type)")
  }
}

private func exportCells(
  _ cells: [Int: Cell], _ arena: ExportedMemory
) -> (UnsafePointer<tabella_cell>, Int64) {
  let raw = cells.sorted { $0.key < $1.key }.map { column, cell in
    tabella_cell(column: Int64(column), value: exportCell(cell, arena))
  }
  return (arena.array(raw), Int64(raw.count))
}

private func exportEdits(_ batch: EditBatch, _ arena: ExportedMemory) -> tabella_edit_batch {
  // Successive edits with the same cells share one array. Thousands of rows often receive the same value.
  var last: (cells: [Int: Cell], raw: (UnsafePointer<tabella_cell>, Int64))?
  func export(_ cells: [Int: Cell]) -> (UnsafePointer<tabella_cell>, Int64) {
    if let last, last.cells == cells { return last.raw }
    let raw = exportCells(cells, arena)
    last = (cells, raw)
    return raw
  }
  let edits = batch.edits.map { edit in
    var raw = tabella_edit()
    raw.from = tabella_index_path(section: -1, row: -1)
    raw.target = raw.from
    func name(_ reference: RowReference) {
      switch reference {
      case .path(let path): raw.from = path.raw
      case .id(let id): raw.id = arena.string(id.utf8)
      }
    }
    switch edit {
    case .insert(let target, let cells):
      raw.kind = TABELLA_EDIT_INSERT
      raw.target = target.raw
      (raw.cells, raw.cell_count) = export(cells)
    case .delete(let reference):
      raw.kind = TABELLA_EDIT_DELETE
      name(reference)
    case .set(let reference, let cells):
      raw.kind = TABELLA_EDIT_SET
      name(reference)
      (raw.cells, raw.cell_count) = export(cells)
    case .move(let reference, let target):
      raw.kind = TABELLA_EDIT_MOVE
      name(reference)
      raw.target = target.raw
    }
    return raw
  }
  return tabella_edit_batch(
    version: arena.string(batch.version?.token), edits: arena.array(edits),
    edit_count: Int64(edits.count), flags: batch.isDryRun ? TABELLA_EDITS_DRY_RUN : 0, reserved: 0)
}

/// The Swift form of a batch of edits from the other side of the contract.
///
/// Throws ``TableError`` with `.invalidArgument` for a batch that makes no sense.
package func importEdits(_ raw: tabella_edit_batch) throws(TableError) -> EditBatch {
  do throws(TableError) { return try edits(of: raw) } catch {
    // A caller made the batch, and not a provider.
    guard error.code == .misbehaved else { throw error }
    throw TableError(.invalidArgument, error.message)
  }
}

private func edits(of raw: tabella_edit_batch) throws(TableError) -> EditBatch {
  guard (0...Int64(Int32.max)).contains(raw.edit_count), raw.edit_count == 0 || raw.edits != nil
  else { throw TableError(.invalidArgument, "a batch of \(raw.edit_count) edits") }
  var edits: [EditBatch.Edit] = []
  // Successive edits can share one array of cells.
  var last: (raw: UnsafeBufferPointer<tabella_cell>, cells: [Int: Cell])?
  for index in 0..<Int(raw.edit_count) {
    guard let edit = raw.edits?[index] else { break }
    let id = try edit.id.text("an id")
    let reference = id.map { RowReference.id($0) } ?? .path(IndexPath(edit.from))
    guard (0...Int64(Int32.max)).contains(edit.cell_count),
      edit.cell_count == 0 || edit.cells != nil
    else { throw TableError(.invalidArgument, "edit \(index) has \(edit.cell_count) cells") }
    let rawCells = UnsafeBufferPointer(start: edit.cells, count: Int(edit.cell_count))
    var cells: [Int: Cell] = [:]
    if let last, last.raw.baseAddress == rawCells.baseAddress, last.raw.count == rawCells.count {
      cells = last.cells
    } else {
      for cell in rawCells {
        guard cells.updateValue(try importCell(cell.value), forKey: Int(cell.column)) == nil else {
          throw TableError(.invalidArgument, "edit \(index) names column \(cell.column) twice")
        }
      }
      last = (rawCells, cells)
    }
    switch edit.kind {
    case TABELLA_EDIT_INSERT: edits.append(.insert(at: IndexPath(edit.target), cells: cells))
    case TABELLA_EDIT_DELETE: edits.append(.delete(reference))
    case TABELLA_EDIT_SET: edits.append(.set(reference, cells: cells))
    case TABELLA_EDIT_MOVE: edits.append(.move(reference, to: IndexPath(edit.target)))
    default:
      throw TableError(.invalidArgument, "edit \(index) is of the unknown kind \(edit.kind)")
    }
  }
  return EditBatch(
    edits, version: try importVersion(raw.version),
    isDryRun: raw.flags & TABELLA_EDITS_DRY_RUN != 0)
}

// Results.

/// Fills the C form of a result, whose receiver releases it. Returns the memory that lives until then.
@discardableResult
package func exportResult(
  _ result: EditResult, to out: UnsafeMutablePointer<tabella_edit_result>
) -> ExportedMemory {
  let arena = ExportedMemory()
  let outcomes = result.outcomes.map { outcome in
    tabella_edit_outcome(
      code: outcome.code?.crossing ?? TABELLA_OK,
      flags: outcome.isFinal ? TABELLA_OUTCOME_FINAL : 0,
      message: arena.string(outcome.message), id: arena.string(outcome.id))
  }
  out.pointee = tabella_edit_result(
    outcomes: arena.array(outcomes), outcome_count: Int64(outcomes.count),
    receipt: result.receipt.map { arena.string($0) } ?? tabella_string(),
    changes: exportChanges(result.changes, arena),
    release: { result in
      ExportedMemory.release(result.pointee.private_data)
      result.pointee.release = nil
    }, private_data: arena.retained())
  return arena
}

private func importResult(
  _ raw: tabella_edit_result, of count: Int
) throws(TableError) -> EditResult {
  guard raw.outcome_count == count, count == 0 || raw.outcomes != nil else {
    throw TableError(.misbehaved, "returned \(raw.outcome_count) outcomes for \(count) edits")
  }
  guard raw.changes.release == nil else {
    throw TableError(.misbehaved, "the changes in a result have a release of their own")
  }
  var outcomes: [EditResult.Outcome] = []
  for outcome in UnsafeBufferPointer(start: raw.outcomes, count: count) {
    outcomes.append(
      .init(
        code: outcome.code == TABELLA_OK ? nil : TableError.Code(fromProvider: outcome.code),
        message: try outcome.message.text("an outcome's message"),
        id: try outcome.id.text("an outcome's id"),
        isFinal: outcome.flags & TABELLA_OUTCOME_FINAL != 0))
  }
  return EditResult(
    outcomes: outcomes, changes: try importChangeBatch(raw.changes),
    receipt: try raw.receipt.copied("the receipt"))
}

// Import.

func importEditing(_ foreign: ForeignSource) throws(TableError) -> tabella_editing? {
  try foreign.ability(TABELLA_EDITING_ID, tabella_editing.self) {
    [("editable", $0.editable != nil), ("commit", $0.commit != nil)]
  }
}

func importUndo(_ foreign: ForeignSource) throws(TableError) -> tabella_undo? {
  try foreign.ability(TABELLA_UNDO_ID, tabella_undo.self) { [("undo", $0.undo != nil)] }
}

extension ImportedSource: TableEditing, TableUndoing {
  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try importBytes(foreign, "editing.editable", rows) { out, error in
      editor!.editable!(
        foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count), out, error)
    }.map { RowEditability(rawValue: $0) }
  }

  func editableColumns() throws(TableError) -> [Bool]? {
    guard let function = editor?.editable_columns else { return nil }
    try refreshColumns()
    return try importBytes(foreign, "editing.editable_columns", columns.indices) { out, error in
      function(foreign.source, out, error)
    }.map { $0 != 0 }
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    let arena = ExportedMemory()
    var edits = exportEdits(batch, arena)
    return try edit("editing.commit", outcomes: batch.edits.count) { raw, error in
      withExtendedLifetime(arena) { editor!.commit!(foreign.source, &edits, &raw, error) }
    }
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try edit("undo.undo", outcomes: 1) { raw, error in
      receipt.withUnsafeBytes { bytes in
        undoer!.undo!(
          foreign.source,
          tabella_string(
            bytes: bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) },
            length: Int64(bytes.count)),
          isDryRun ? TABELLA_EDITS_DRY_RUN : 0, &raw, error)
      }
    }
  }

  /// Calls a function that edits, and converts its report.
  ///
  /// After the provider has reported success, the method only throws `.misbehaved`, with the receipt.
  private func edit(
    _ what: String, outcomes: Int,
    _ body: (inout tabella_edit_result, UnsafeMutablePointer<tabella_error>) -> Int32
  ) throws(TableError) -> EditResult {
    var raw = tabella_edit_result()
    var code = TABELLA_INTERNAL
    defer {
      if code == TABELLA_OK {
        raw.release?(&raw)
        foreign.witness.released("a result", isCleared: raw.release == nil)
      }
    }
    return try foreign.checking(what) { () throws(TableError) in
      do throws(TableError) {
        try foreign.call(what) {
          code = body(&raw, $0)
          return code
        }
        let result = try importResult(raw, of: outcomes)
        do throws(TableError) {
          try follow(result.changes)
        } catch {
          // The edit is done. The next request for rows tries again to read the columns.
          if error.code == .misbehaved, !error.isProviderGone { throw error }
        }
        return result
      } catch {
        guard code == TABELLA_OK else { throw error }
        var error = error
        error.code = .misbehaved
        error.receipt = try? raw.receipt.copied("the receipt")
        throw error
      }
    }
  }
}

/// Calls a C function that fills one byte for each row of a range.
func importBytes(
  _ foreign: ForeignSource, _ what: String, _ rows: Range<Int>,
  _ body: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<tabella_error>) -> Int32
) throws(TableError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: rows.count)
  try foreign.call(what) { error in
    bytes.withUnsafeMutableBufferPointer { buffer in
      var nothing: UInt8 = 0
      guard let start = buffer.baseAddress else { return body(&nothing, error) }
      return body(start, error)
    }
  }
  return bytes
}
