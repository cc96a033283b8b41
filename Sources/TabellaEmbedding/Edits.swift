// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names of the functions are those of the header.

import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge
import TabellaHost

// The functions that edit, undo and list edits.

@c @implementation
public func tabella_embed_commit(
  _ table: OpaquePointer, _ batch: UnsafePointer<tabella_edit_batch>,
  _ out: UnsafeMutablePointer<tabella_embed_edit>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  out.pointee = tabella_embed_edit()
  let table: EmbeddedTable = object(table)
  let count = table.cancellations.count
  // Errors of receipts name the table.
  return answer(error, on: table.host) { () throws(TableError) in
    guard table.isEditable, let opened = table.opened else {
      throw TableError(
        .readOnly,
        table.opened == nil
          ? "\(table.name): a table of several or of no locations is read-only; edit the tables of the locations"
          : "\(table.name): is open for reading only; open it with TABELLA_EMBED_EDITING")
    }
    defer { table.cancellations.endCall() }
    try about(table.name) { () throws(TableError) in
      try table.cancellations.beginCall(since: count)
      try table.position.check()
    }
    let batch = try about(table.name) { () throws(TableError) in
      try importEdits(batch.pointee).storing(in: table.source.columns)
    }
    let edit = try ofReceipts { () throws(ReceiptError) in
      do throws(ReceiptError) {
        return try table.host.store().commit(batch, to: opened, through: table.source)
      } catch {
        if error.isPerhapsDone { table.position.move() }
        throw error
      }
    }
    if !batch.isDryRun { table.position.move() }
    export(edit, to: out)
  }
}

extension ReceiptError {
  /// Whether the edit was made, or may have been made.
  fileprivate var isPerhapsDone: Bool {
    switch kind {
    case .perhapsDone, .notKept: true
    default: code == .misbehaved
    }
  }
}

@c @implementation
public func tabella_embed_undo(
  _ host: OpaquePointer, _ location: tabella_string, _ flags: UInt32,
  _ out: UnsafeMutablePointer<tabella_embed_edit>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  out.pointee = tabella_embed_edit()
  let host: EmbeddedHost = object(host)
  return answer(error, on: host) { () throws(TableError) in
    try flags.check(onlyBits: TABELLA_EDITS_DRY_RUN)
    let location = try location.locationArgument()
    let store = try ofReceipts(host.store)
    let receipt = try store.wanted(location, host.host)
    let edit = try ofReceipts { () throws(ReceiptError) in
      try store.undo(receipt, host: host.host, isDryRun: flags & TABELLA_EDITS_DRY_RUN != 0)
    }
    export(edit, to: out)
  }
}

extension ReceiptStore {
  /// The edit that a location, `receipt:ID` or an id of the log names.
  fileprivate func wanted(_ location: Location, _ host: Host) throws(TableError) -> Receipt {
    let text = location.description
    let isReceipt = text.hasPrefix("receipt:")
    if let id = ReceiptID(isReceipt ? String(text.dropFirst("receipt:".count)) : text) {
      return try ofReceipts { () throws(ReceiptError) in try receipt(id: id) }
    }
    guard !isReceipt else {
      throw TableError(.invalidArgument, "\(text): this is not the name of a receipt")
    }
    let newest = try ofReceipts { () throws(ReceiptError) in
      try newestEdit(of: location, host: host)
    }
    guard let newest else {
      throw TableError(.notFound, "\(text): no receipt of an edit that is not yet undone")
    }
    return newest
  }
}

private func export(_ edit: RecordedEdit, to out: UnsafeMutablePointer<tabella_embed_edit>) {
  let memory = withUnsafeMutablePointer(to: &out.pointee.result) { result in
    exportResult(edit.result, to: result)
  }
  out.pointee.receipt = memory.string(edit.receipt?.id.text)
}

@c @implementation
public func tabella_embed_log(
  _ host: OpaquePointer, _ location: tabella_string, _ out: UnsafeMutablePointer<OpaquePointer?>,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let host: EmbeddedHost = object(host)
  return answer(error, on: host, into: out) { () throws(TableError) in
    let location = try location.argument("the location").map { Location($0) }
    let log = try ofReceipts { () throws(ReceiptError) in
      let store = try host.store()
      guard let location else { return try store.log() }
      return try store.log(of: location, host: host.host)
    }
    return EmbeddedTable(log.table, provider: "tabella", name: "log", of: host)
  }
}
