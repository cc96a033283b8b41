import Tabella

// The providers and the log as tables that cannot be edited.

extension ReceiptLog {
  /// The edits as a table: the columns `id`, `time`, `location`, `provider`, `edits`, `undoable` and `undone`, newest
  /// first. The program `tabella log` prints it.
  ///
  /// The table holds its rows, and never changes. Its diagnostics are the receipts that cannot be read (``errors``).
  public var table: any TableDataSource {
    ReadOnlyTable(
      [
        // A narrow terminal shows the whole id, because `undo` needs it.
        Column("id", rank: 0), Column("time", .date, rank: 1), Column("location", rank: 1),
        Column("provider"), Column("edits", rank: 1), Column("undoable", .boolean),
        Column("undone", .boolean),
      ],
      rows: entries.map { entry in
        let receipt = entry.receipt
        return [
          .text(receipt.id.text), receipt.id.time.map { .date($0) } ?? .missing,
          .text(receipt.location.bytes), .text(receipt.provider), .text(receipt.description),
          .boolean(receipt.isUndoable), .boolean(entry.isUndone),
        ]
      }, diagnostics: errors.map { Diagnostic(.warning, $0.description) })
  }
}

extension Host {
  /// The providers as a table: the columns `provider`, `version`, `library` and `problem`. First the providers that can
  /// be used, without a problem. Then the refused candidates, each with the reason, and with its path as the library.
  ///
  /// The call checks whether the libraries are trusted. It runs no code of providers. The table holds its rows.
  public var providersTable: any TableDataSource {
    var usable: [[Cell]] = []
    var refused: [[Cell]] = []
    for entry in catalogue.entries {
      let row: [Cell] = [
        .text(entry.manifest.id), .text(entry.manifest.version), .text(entry.library),
      ]
      do throws(TableError) {
        _ = try report(on: entry)
        usable.append(row + [.missing])
      } catch {
        refused.append(row + [.text(error.description)])
      }
    }
    refused += catalogue.refusals.map { refusal in
      let manifest = refusal.manifest
      return [
        manifest.map { .text($0.id) } ?? .missing, manifest.map { .text($0.version) } ?? .missing,
        .text(refusal.path), .text(refusal.reason),
      ]
    }
    let columns = ["provider", "version", "library", "problem"].map { Column($0) }
    return ReadOnlyTable(columns, rows: usable + refused)
  }
}

/// A table that holds its rows and cannot be edited.
private final class ReadOnlyTable: TableDataSource, TableDiagnostics {
  let columns: [Column]
  private let base: InMemorySource
  private var rest: ArraySlice<Diagnostic>

  init(_ columns: [Column], rows: [[Cell]], diagnostics: [Diagnostic] = []) {
    self.columns = columns
    base = InMemorySource(columns, rows: rows)
    rest = diagnostics[...]
  }

  var diagnostics: (any TableDiagnostics)? { self }

  func nextDiagnostic() -> Diagnostic? { rest.popFirst() }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    return try base.rows(request)
  }
}
