import Glibc
import Tabella
import TabellaFiles
import TabellaHost
import TabellaTerminal

extension Command {
  static let undo = Command(
    name: "undo", operands: "LOCATION|receipt:ID", operandValues: [.receipt],
    summary: "takes back an edit",
    discussion: """
      Of a location it takes back the newest edit that was not taken back yet, so that one after the other \
      goes; of `receipt:ID` the one with that receipt, which `tabella log` lists. That is done only while the \
      table still is as the edit left it (status 5): edits that came later are taken back before. What \
      cannot be taken back, as a signal, is refused (status 4). If a part of an edit cannot be taken back, the rest \
      is, and the part is named (status 1). Receipts that others may have written are refused (status 4).

      Taking back is an edit with a receipt of its own: to take that back is to do it again. If it was done in \
      part only (status 1), the next `undo` of the location takes back the rest. A file that is named like a receipt is written `./receipt:ID`.
      """,
    options: [.option, .inPlace, .backup, .needlessYes, .dryRun, .json] + OptionSpec.isolation,
    examples: [
      ("tabella undo data.csv", "the newest edit"),
      ("tabella undo data.csv --dry-run", "whether it could be taken back"),
    ], seeAlso: ["log", "set", "delete"]
  ) { invocation, output throws(Failure) in
    guard let operand = invocation.operands.first else {
      throw .usage("a location or a receipt is missing", command: "undo")
    }
    guard invocation.operands.count == 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "undo")
    }
    let receipt = try wantedReceipt(operand)
    let subject = String(decoding: receipt.place.location, as: UTF8.self)
    guard receipt.wayBack != nil else {
      throw Failure(
        status: .refused, subject: subject, code: "not-supported",
        message:
          "receipt:\(receipt.id) (\(receipt.description)) cannot be taken back: provider \(receipt.provider) knows no way back; what was done before can, by its receipt: tabella log"
      )
    }
    let bytes = try ReceiptStore().wayBack(of: receipt)
    // Perhaps it must be saved in another way by now.
    let options = receipt.options.merging(invocation.options) { $1 }
    let source = try open(receipt, subject, options, invocation)
    guard let undoing = source.undoing else {
      throw Failure(
        status: .refused, subject: subject, code: "not-supported",
        message: "provider \(receipt.provider) takes nothing back here; nothing was done")
    }
    let commit = CommitWithReceipt(
      subject: subject, source: source, provider: receipt.provider, place: receipt.place,
      options: options, undoing: receipt, isDryRun: invocation.isDryRun)
    let (result, kept) = try aboutReceipt(receipt) { () throws(Failure) in
      try commit.run(
        commit: { () throws(TableError) in
          try undoing.undo(bytes, isDryRun: invocation.isDryRun)
        }, summary: { _ in receipt.summary }, remainder: { _ in receipt.remainder })
    }
    let report = EditReport(
      subject: subject, provider: receipt.provider, from: result.changes.from?.token,
      to: result.changes.to?.token,
      items: result.outcomes.map { .init(edit: nil, outcome: $0, before: nil) },
      columns: source.columns, receipt: kept, isDryRun: invocation.isDryRun,
      extent: result.extent, undoing: receipt)
    return try report.write(output, asJSON: invocation.isJSON, diagnosticsOf: source)
  }

  /// The receipt that an operand names, or the newest of a location.
  private static func wantedReceipt(_ operand: Argument) throws(Failure) -> Receipt {
    let store = try ReceiptStore()
    if operand.text.hasPrefix("receipt:") {
      guard let id = ReceiptID(String(operand.text.dropFirst("receipt:".count))) else {
        throw .usage(
          "\(operand.text) is no receipt; tabella log lists them (./\(operand.text) is a file)",
          command: "undo")
      }
      return try store.receipt(id)
    }
    try EditRun.refuseStream(operand.bytes)
    let place = try Receipt.Location(operand)
    if let found = try History(store).newestEdit(of: place, named: operand.text) { return found }
    throw Failure(
      status: .failed, subject: operand.text, code: "not-found",
      message: "there is no receipt of an edit of it that was not taken back; tabella log lists all"
    )
  }

  /// Opens the table that a receipt is about, as it was opened for the edit but for these options.
  private static func open(
    _ receipt: Receipt, _ subject: String, _ options: [String: String], _ invocation: Invocation
  ) throws(Failure) -> any TableDataSource {
    if let folder = receipt.place.folder, folder.withCString({ chdir($0) }) != 0 {
      throw .of(
        .system(errno, "\(String(decoding: folder, as: UTF8.self)) cannot be gone to"),
        subject: subject)
    }
    try EditRun.refuseStream(receipt.place.location)
    return try aboutReceipt(receipt) { () throws(Failure) in
      try Failure.about(subject) { () throws(TableError) in
        try Host(invocation).open(
          Location(receipt.place.location), provider: receipt.provider, options: options
        ).source
      }
    }
  }

  /// What a provider cannot make sense of is not the command line's mistake, but the receipt's.
  private static func aboutReceipt<R>(
    _ receipt: Receipt, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    do throws(Failure) {
      return try body()
    } catch {
      guard error.status == .usage else { throw error }
      throw Failure(
        status: .failed, subject: error.subject, code: error.code,
        message: "receipt:\(receipt.id) cannot be used: \(error.message)")
    }
  }
}
