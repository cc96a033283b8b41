import Glibc
import Tabella
import TabellaFiles
import TabellaHost
import TabellaSystem
import TabellaTerminal

extension Command {
  static let undo = Command(
    name: "undo", operands: "LOCATION|receipt:ID", operandValues: [.receipt],
    summary: "undo an edit",
    discussion: """
      For a location, undoes the newest edit that is not yet undone, so that repeated calls go back step by step. For \
      `receipt:ID`, undoes the edit with that receipt; `tabella log` lists the receipts. The table must still be as the \
      edit left it (status 5), so undo later edits first. The command refuses edits that cannot be undone, such as \
      signals (status 4). If a part of an edit cannot be undone, it undoes the rest and names that part (status 1). It \
      also refuses receipts that other users may have written (status 4).

      Undoing is itself an edit with a receipt. Undo that edit to restore the first one. If an edit was undone only in \
      part (status 1), the next `undo` of the location undoes the rest. Write `./receipt:ID` for a file with such a name.
      """,
    options: [.option, .inPlace, .needlessYes, .dryRun, .json] + OptionSpec.isolation,
    examples: [
      ("tabella undo data.csv", "undo the newest edit"),
      ("tabella undo data.csv --dry-run", "check whether the newest edit can be undone"),
    ], seeAlso: ["log", "edit"], group: .edits
  ) { invocation, output throws(Failure) in
    guard let operand = invocation.operands.first else {
      throw .usage("a location or a receipt is missing", command: "undo")
    }
    guard invocation.operands.count == 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "undo")
    }
    let store = try Failure.ofReceipts { () throws(ReceiptError) in try ReceiptStore() }
    let receipt = try wantedReceipt(operand, store)
    let subject = receipt.location.description
    let undo = try Failure.ofReceipts { () throws(ReceiptError) in try store.undo(of: receipt) }
    // The file may need other saving options now.
    let options = receipt.options.merging(invocation.options) { $1 }
    try enterFolder(of: receipt, subject)
    try EditRun.refuseStream(receipt.location)
    let source = try aboutReceipt(receipt) { () throws(ReceiptError) in
      try undo.open(by: Host(invocation), options: options)
    }
    let edit = try aboutReceipt(receipt) { () throws(ReceiptError) in
      try undo.run(
        on: source, options: options, isDryRun: invocation.isDryRun,
        willCommit: { holdSignals(cancelling: source) })
    }
    let result = edit.result
    let report = EditReport(
      subject: subject, provider: receipt.provider, from: result.changes.from?.token,
      to: result.changes.to?.token,
      items: result.outcomes.map { .init(edit: nil, outcome: $0, before: nil) },
      columns: source.columns.withUniqueNames, receipt: edit.receipt, isDryRun: invocation.isDryRun,
      extent: result.extent, undoing: receipt)
    return try report.write(output, asJSON: invocation.isJSON, diagnosticsOf: source)
  }

  /// The receipt that an operand names, or the newest of a location.
  private static func wantedReceipt(
    _ operand: Argument, _ store: ReceiptStore
  ) throws(Failure) -> Receipt {
    if operand.text.hasPrefix("receipt:") {
      guard let id = ReceiptID(String(operand.text.dropFirst("receipt:".count))) else {
        throw .usage(
          "\(operand.text) is not the name of a receipt; list them with: tabella log. Write ./\(operand.text) for a file",
          command: "undo")
      }
      return try Failure.ofReceipts { () throws(ReceiptError) in try store.receipt(id: id) }
    }
    try EditRun.refuseStream(Location(operand.bytes))
    let place = try Receipt.Place(operand)
    let found = try Failure.ofReceipts { () throws(ReceiptError) in
      try store.newestEdit(of: place, subject: operand.text)
    }
    if let found { return found }
    let meant = ReceiptID(operand.text).map { "; did you mean receipt:\($0)?" }
    throw Failure(
      status: .failed, subject: operand.text, code: "not-found",
      message:
        "no receipt of an edit that is not yet undone\(meant ?? "; tabella log lists all receipts")"
    )
  }

  /// Makes the working directory of the edit the current one, if the location may depend on it.
  private static func enterFolder(of receipt: Receipt, _ subject: String) throws(Failure) {
    guard let folder = receipt.workingDirectory, folder.withCString({ chdir($0) }) != 0 else {
      return
    }
    throw .of(
      .system(
        errno, "\(String(decoding: folder, as: UTF8.self)) cannot be made the current folder"),
      subject: subject)
  }

  /// Reports arguments that a provider rejects as an error of the receipt, not of the command line.
  private static func aboutReceipt<R>(
    _ receipt: Receipt, _ body: () throws(ReceiptError) -> R
  ) throws(Failure) -> R {
    do throws(Failure) {
      return try Failure.ofReceipts(body)
    } catch {
      guard error.status == .usage else { throw error }
      throw Failure(
        status: .failed, subject: error.subject, code: error.code,
        message: "receipt:\(receipt.id) cannot be used: \(error.message)")
    }
  }
}
