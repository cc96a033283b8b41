import Tabella
import TabellaHost
import TabellaTerminal

extension Command {
  static let log = Command(
    name: "log", operands: "[LOCATION]", operandValues: [.location],
    summary: "list the edits that were made, newest first",
    discussion: """
      Each edit has a receipt. A line contains the id of the receipt, the time, the location, the provider, the \
      edits, whether `tabella undo` can undo them, and whether it has done so. The last 1,000 receipts are kept, with a \
      total size of at most 256 MiB.
      """,
    options: [.columns, .rows, .limit, .format, .json, .noHeader, .utc] + OptionSpec.display,
    examples: [
      ("tabella log", "list all edits"),
      ("tabella log data.csv -n 5", "list the last five edits of a file"),
      ("tabella log --format jsonl", "list the edits for a program"),
    ], seeAlso: ["undo", "formats"], group: .edits
  ) { invocation, output throws(Failure) in
    guard invocation.operands.count <= 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "log")
    }
    let place = try invocation.operands.first.map { operand throws(Failure) in
      try Receipt.Place(operand)
    }
    let log = try Failure.ofReceipts { () throws(ReceiptError) in
      try ReceiptStore().log(of: place)
    }
    let entries = log.entries
    let damaged = log.errors.map { Failure.of($0) }
    let isTable = (invocation.format ?? "table") == "table"
    if entries.isEmpty, damaged.isEmpty, !invocation.isJSON {
      Messages.write(
        "there is no receipt of an edit\(place == nil ? "" : " of it")",
        about: invocation.operands.first?.text ?? "log")
      if isTable { return .done }
    }
    let table = try ShapedTable(log.table, name: "log", invocation)
    let invocation = try invocation.resolved(in: table)
    let shown = ShownTable(table, hasHeader: invocation.hasHeader)
    var format = Formats.make(invocation.format ?? "table", output, invocation.display)
    try format.begin(shown)
    var viewer = Viewer(shown, invocation.range, output)
    let failure = try viewer.show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    for note in format.notes { Messages.write(note, about: "log") }
    for failure in damaged { Messages.write(failure, asJSON: invocation.isJSON) }
    if let failure { throw failure }
    return damaged.isEmpty ? .done : .failed
  }
}
