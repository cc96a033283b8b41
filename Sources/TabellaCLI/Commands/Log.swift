import Tabella
import TabellaHost
import TabellaTerminal

extension Command {
  static let log = Command(
    name: "log", operands: "[LOCATION]", operandValues: [.location],
    summary: "lists the edits that were done, the newest first",
    discussion: """
      Each has a receipt: its id, when and where it was done, by which provider, what it was, and whether it \
      can be taken back. The last 1,000 are kept, in `tabella/receipts` under XDG_STATE_HOME.
      """,
    options: [.columns, .rows, .limit, .format, .json, .noHeader] + OptionSpec.display,
    examples: [
      ("tabella log", "all of them"),
      ("tabella log data.csv -n 5", "the last five of a file"),
      ("tabella log --format jsonl", "for programs"),
    ], seeAlso: ["undo"]
  ) { invocation, output throws(Failure) in
    guard invocation.operands.count <= 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "log")
    }
    let place = try invocation.operands.first.map { operand throws(Failure) in
      let schemes = Host().catalogue.entries.flatMap(\.manifest.schemes)
      return try Failure.about(operand.text) { () throws(TableError) in
        try Receipt.Place(operand.bytes, schemes: schemes)
      }
    }
    let (receipts, damaged) = try allReceipts(of: place)
    let shown = ShownTable(
      try ShapedTable(LogSource(receipts), name: "log", invocation), hasHeader: invocation.hasHeader
    )
    var format = Formats.make(invocation.format ?? "table", output, invocation.display)
    try format.begin(shown)
    let failure = try Viewer(shown, invocation.range, output).show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    for note in format.notes { Messages.write(note, about: "log") }
    for failure in damaged { Messages.write(failure, asJSON: invocation.isJSON) }
    if let failure { throw failure }
    return damaged.isEmpty ? .done : .failed
  }

  /// The receipts of a place, or all, and what is wrong with those that cannot be read.
  private static func allReceipts(
    of place: Receipt.Place?
  ) throws(Failure) -> ([Receipt], [Failure]) {
    let store = try ReceiptStore()
    var receipts: [Receipt] = []
    var damaged: [Failure] = []
    for id in try store.ids() {
      do throws(Failure) {
        var receipt = try store.receipt(id)
        guard place == nil || receipt.place.key == place?.key else { continue }
        // It may be large, and only its presence is shown.
        receipt.receipt = receipt.receipt.map { _ in [] }
        receipts.append(receipt)
      } catch {
        damaged.append(error)
      }
    }
    return (receipts, damaged)
  }
}

/// Receipts as a table that cannot be edited.
private final class LogSource: TableDataSource {
  let columns = [
    Column("id"), Column("time", .date), Column("location"), Column("provider"), Column("edits"),
    Column("undoable", .boolean),
  ]
  private let base: InMemorySource

  init(_ receipts: [Receipt]) {
    base = InMemorySource(
      columns,
      rows: receipts.map { receipt in
        [
          .text(receipt.id.text), receipt.id.time.map { .date($0) } ?? .missing,
          .text(receipt.place.location), .text(receipt.provider), .text(receipt.summary),
          .boolean(receipt.receipt != nil),
        ]
      })
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    return try base.rows(request)
  }
}
