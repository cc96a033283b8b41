import Tabella
import TabellaFiles

/// A folder of receipts, and the edits that it records. With the standard folder, the program `tabella` lists and
/// undoes the same edits.
///
///     let store = try ReceiptStore()
///     let edit = try store.commit(batch, to: table)
///     for entry in try store.log(of: table.location, host: host).entries { print(entry.receipt) }
///     if let receipt = edit.receipt { try store.undo(receipt, host: host) }
///
/// The store is a path. Any thread may use it, but a table and its host belong to one thread at a time. Each operation
/// checks anew that only root and the user can write to the folder; otherwise it throws ``ReceiptError`` with the kind
/// ``ReceiptError/Kind/folder`` and the code `.denied`.
public struct ReceiptStore: Sendable {
  /// The absolute path of the folder.
  public let folder: [UInt8]

  /// A store in a folder of the caller. `folder` is an absolute path of any bytes. The first edit creates the folder.
  public init(folder: [UInt8]) { self.folder = folder }

  /// A store in a folder of the caller. `folder` is an absolute path. The first edit creates the folder.
  public init(folder: String) { self.init(folder: Array(folder.utf8)) }

  /// The store of the user, `$XDG_STATE_HOME/tabella/receipts`, which the program `tabella` uses.
  ///
  /// Throws ``ReceiptError`` with the kind ``ReceiptError/Kind/folder`` if the environment names no folder.
  public init() throws(ReceiptError) {
    guard let state = stateFolder() else {
      throw ReceiptError(
        .folder, "receipts",
        TableError(
          .io,
          "there is no folder for receipts, because neither XDG_STATE_HOME nor HOME is an absolute path; set one of them"
        ))
    }
    folder = state + Array("/receipts".utf8)
  }

  /// The files, for one operation.
  var files: ReceiptFolder { ReceiptFolder(folder) }

  // Reading

  /// The receipt with an id.
  ///
  /// Throws ``ReceiptError`` with the kind ``ReceiptError/Kind/noReceipt(_:)`` or
  /// ``ReceiptError/Kind/unreadable(_:)``.
  public func receipt(id: ReceiptID) throws(ReceiptError) -> Receipt { try files.receipt(id) }

  /// All edits, newest first. The time is proportional to the number of receipts, which is at most 1,000.
  ///
  /// Throws ``ReceiptError`` if the folder cannot be read. Receipts that cannot be read are in
  /// ``ReceiptLog/errors``.
  public func log() throws(ReceiptError) -> ReceiptLog { try log(of: nil) }

  /// The edits of a location, newest first, under any of its names. A relative path is relative to the working
  /// directory. The host's catalogue tells schemes from paths.
  ///
  /// Throws ``ReceiptError`` if the folder cannot be read, or if the absolute path of the location cannot be found.
  public func log(of location: Location, host: Host) throws(ReceiptError) -> ReceiptLog {
    try log(of: place(of: location, host))
  }

  /// The edit of a location to undo next: the newest one in force, or the rest of a partial undo. Nil if there is none.
  ///
  /// Throws ``ReceiptError`` if an older edit would be skipped: with the kind
  /// ``ReceiptError/Kind/unknownNewest(_:)``, ``ReceiptError/Kind/unfinished(_:)`` or
  /// ``ReceiptError/Kind/remaining(_:)``.
  public func newestEdit(of location: Location, host: Host) throws(ReceiptError) -> Receipt? {
    try newestEdit(of: place(of: location, host), subject: location.description)
  }

  // Editing

  /// Commits a batch to a table, and stores its receipt. `view` is the view of the table's source that the batch edits;
  /// nil for the source itself.
  ///
  /// The call reserves disk space for the receipt before the commit, and returns when the receipt is durable. If the
  /// process ends in between, the edit is made and has no receipt. A program that can delay its own end does so in
  /// `willCommit`, which runs right before the commit. For a dry run, the call checks the folder and writes nothing.
  ///
  /// Throws ``ReceiptError``. Its kind says whether the edit was made. With the kind ``ReceiptError/Kind/table``, the
  /// error is that of the source.
  @discardableResult
  public func commit(
    _ batch: EditBatch, to table: OpenedTable, through view: (any TableDataSource)? = nil,
    willCommit: () -> Void = {}
  ) throws(ReceiptError) -> RecordedEdit {
    let source = view ?? table.source
    let name = table.location.description
    let place = try ReceiptError.about(name) { () throws(TableError) in
      guard table.access == .editing else {
        throw TableError(.readOnly, "is open for reading only; open it with access: .editing")
      }
      try table.location.refuseStream()
      return try Receipt.Place(
        table.location.bytes, of: [table.manifest], in: table.folder)
    }
    let subject = ReceiptSubject(
      name: name, provider: table.manifest.id, place: place, options: table.options)
    let summary = batch.isDryRun ? EditSummary() : EditSummary(batch, on: source)
    return try commit(batch, on: source, of: subject, summary, willCommit: willCommit)
  }

  /// Commits collected edits of a table, or of a view of it, and stores their receipt.
  ///
  /// Like ``commit(_:to:through:willCommit:)``. With `isDryRun`, the table only returns the result that the edits would
  /// have.
  @discardableResult
  public func commit(
    _ edits: TableEdits, to table: OpenedTable, isDryRun: Bool = false,
    willCommit: () -> Void = {}
  ) throws(ReceiptError) -> RecordedEdit {
    let batch = try ReceiptError.about(table.location.description) { () throws(TableError) in
      try edits.batch(isDryRun: isDryRun)
    }
    return try commit(batch, to: table, through: edits.source, willCommit: willCommit)
  }

  /// Undoes an edit, and stores the receipt of the undo. Undo that receipt to make the edit again.
  ///
  /// The host opens the table as the edit opened it; `options` replace options of the provider. If the receipt has a
  /// ``Receipt/workingDirectory``, it must be the current one. The receipt and `willCommit` are treated as in
  /// ``commit(_:to:through:willCommit:)``.
  ///
  /// Throws ``ReceiptError``, with the kind ``ReceiptError/Kind/table`` and the code `.conflict` if the table is no
  /// longer as the edit left it. If ``Receipt/trouble`` of the returned receipt is not nil, a part was undone, and the
  /// returned receipt undoes the rest.
  @discardableResult
  public func undo(
    _ receipt: Receipt, host: Host, options: [String: String] = [:], isDryRun: Bool = false,
    willCommit: () -> Void = {}
  ) throws(ReceiptError) -> RecordedEdit {
    let undo = try undo(of: receipt)
    try ReceiptError.about(receipt.location.description) { () throws(TableError) in
      if let folder = receipt.workingDirectory, try workingDirectory() != folder {
        throw TableError(
          .invalidState,
          "the location depends on the working directory, which is no longer \(String(decoding: folder, as: UTF8.self))"
        )
      }
      try receipt.location.refuseStream()
    }
    let options = receipt.options.merging(options) { $1 }
    let source = try undo.open(by: host, options: options)
    return try undo.run(on: source, options: options, isDryRun: isDryRun, willCommit: willCommit)
  }

  // Steps

  /// The log of a place, or of all places.
  package func log(of place: Receipt.Place?) throws(ReceiptError) -> ReceiptLog {
    try ReceiptLog(History(files), of: place)
  }

  /// The edit of a place to undo next. Errors are about `subject`.
  package func newestEdit(
    of place: Receipt.Place, subject: String
  ) throws(ReceiptError) -> Receipt? {
    try History(files).newestEdit(of: place, subject: subject)
  }

  /// The newest receipts, as far as they can be read.
  package func newest(_ count: Int) -> [Receipt] {
    let files = files
    guard let ids = try? files.ids() else { return [] }
    return ids.prefix(count).compactMap { try? files.receipt($0) }
  }

  /// Commits a batch to a source that can be edited, with a summary of the caller.
  package func commit(
    _ batch: EditBatch, on source: any TableDataSource, of subject: ReceiptSubject,
    _ summary: EditSummary, willCommit: () -> Void
  ) throws(ReceiptError) -> RecordedEdit {
    guard let editing = source.editing else {
      throw ReceiptError(
        .table, subject.name,
        TableError(.readOnly, "is read-only: provider \(subject.provider) cannot edit it"))
    }
    return try CommitWithReceipt(
      subject: subject, source: source, folder: files, isDryRun: batch.isDryRun
    ).run(
      willCommit: willCommit,
      commit: { () throws(TableError) in try editing.commit(batch) },
      summary: summary.text(of:), remainder: summary.remainder(of:))
  }

  /// The first step of an undo.
  package func undo(of receipt: Receipt) throws(ReceiptError) -> UndoWithReceipt {
    try UndoWithReceipt(receipt, in: self)
  }

  private func place(of location: Location, _ host: Host) throws(ReceiptError) -> Receipt.Place {
    try ReceiptError.about(location.description) { () throws(TableError) in
      try Receipt.Place(location.bytes, of: host.catalogue.entries.map(\.manifest))
    }
  }
}
