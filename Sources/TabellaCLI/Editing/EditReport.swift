import Tabella
import TabellaTerminal

/// What became of edits, as lines on standard error or as JSON on standard output.
struct EditReport {
  struct Item {
    /// The edit; nil for what was taken back.
    let edit: PlannedEdit?
    let outcome: EditResult.Outcome
    /// The row as it was.
    let before: RowCells?

    var name: String { edit?.name ?? "all" }

    /// Whether all cells that are set are so already.
    var changesNothing: Bool {
      guard let edit, edit.kind == .set, let before else { return false }
      return edit.cells.allSatisfy { before.cells[$0.key] == $0.value }
    }
  }

  /// How many edits a message names.
  private static let most = 20

  let subject: String
  let provider: String
  let from: String?
  let to: String?
  let items: [Item]
  let columns: [Column]
  let receipt: Receipt?
  let isDryRun: Bool
  /// Whether what was done can be taken back; for a dry run not known.
  let isUndoable: Bool
  /// Whether anything is other than before.
  let hasChangedSomething: Bool
  /// What a dry run of an undo would take back.
  var summary: String?

  /// Writes it and returns the exit status; throws if something was not done.
  func write(
    _ output: Output, asJSON: Bool, diagnosticsOf source: any TableDataSource
  ) throws(Failure) -> ExitStatus {
    do throws(Failure) {
      if asJSON {
        try output.write(json: json)
      } else if isDryRun {
        for item in items { try output.write(line(item)) }
        if items.isEmpty { try output.write("nothing to do\n") }
      }
      try output.finish()
    } catch {
      throw Failure(
        status: error.status, subject: error.subject, code: error.code,
        message: "\(error.message)\(doneNote)")
    }
    if !asJSON, !isDryRun { writeLines() }
    Messages.writeDiagnostics(of: source, location: subject)
    if let failure { throw failure }
    return .done
  }

  /// What one must know when the report itself is lost.
  private var doneNote: String {
    guard let receipt else { return "" }
    return "; the edit of \(subject) was done (\(receipt.summary); receipt:\(receipt.id))"
  }

  private var done: [Item] { items.filter { $0.outcome.code == nil } }
  private var notDone: [Item] { items.filter { $0.outcome.code != nil } }

  /// The error if not everything was done.
  private var failure: Failure? {
    guard let first = notDone.first, let code = first.outcome.code else { return nil }
    func list(_ items: [Item], _ describe: (Item) -> String) -> String {
      let rest = items.count - EditReport.most
      return items.prefix(EditReport.most).map(describe).joined(separator: "; ")
        + (rest > 0 ? "; and \(rest) more" : "")
    }
    let reasons = list(notDone) { "\($0.name): \($0.outcome.message ?? $0.outcome.code!.name)" }
    let isSame = notDone.allSatisfy { $0.outcome.code == code }
    if done.isEmpty, hasChangedSomething, !isDryRun {
      return Failure(
        status: .failed, subject: subject, code: code.name, message: "done, but \(reasons)")
    }
    if done.isEmpty {
      return Failure(
        status: isSame ? .of(TableError(code, "")) : .failed, subject: subject, code: code.name,
        message: "nothing \(isDryRun ? "would be" : "was") done: \(reasons)")
    }
    let (not, yes) = isDryRun ? ("would fail", "would be done") : ("failed", "done")
    return Failure(
      status: .failed, subject: subject, code: isSame ? code.name : "partial",
      message:
        "\(notDone.count) of \(items.count) edits \(not): \(reasons); \(yes): \(list(done, \.name))"
    )
  }

  // For people

  /// An edit of a dry run and what the provider says of it.
  private func line(_ item: Item) -> SafeText {
    var line = item.edit.map { description(of: $0, item.before) } ?? summary ?? subject
    if item.outcome.code == nil, item.changesNothing { line += " (it is so already)" }
    if let message = item.outcome.message ?? item.outcome.code?.name {
      line += item.outcome.code == nil ? " (\(message))" : " (refused: \(message))"
    }
    let safe = SafeText(line)
    return "\(safe)\n"
  }

  private func description(of edit: PlannedEdit, _ before: RowCells?) -> String {
    switch edit.kind {
    case .set:
      let changes = edit.cells.sorted { $0.key < $1.key }.map { column, cell in
        let old = before.map { cellJSON($0.cells[column]).text } ?? "?"
        return "\(columns[column].name) \(old) -> \(cellJSON(cell).text)"
      }
      return "set \(edit.name): \(changes.joined(separator: ", "))"
    case .insert:
      let cells = edit.cells.sorted { $0.key < $1.key }.map {
        "\(columns[$0.key].name) \(cellJSON($0.value).text)"
      }
      return "insert \(edit.name)\(cells.isEmpty ? "" : ": \(cells.joined(separator: ", "))")"
    case .delete: return "delete \(edit.name)\(content(before))"
    case .move:
      return "move \(edit.name) to \(edit.target?.description ?? "?")\(content(before))"
    }
  }

  private func content(_ row: RowCells?) -> String {
    guard let row else { return "" }
    let cells = zip(columns, row.cells).map { "\($0.name) \(cellJSON($1).text)" }
    return cells.isEmpty ? "" : ": \(cells.joined(separator: ", "))"
  }

  /// What was done, what the provider says of each edit, and the receipt.
  private func writeLines() {
    guard let receipt else {
      if items.isEmpty {
        Messages.write("nothing to do", about: subject)
      } else if !done.isEmpty {
        Messages.write("done: nothing had to be changed, it is so already", about: subject)
      }
      return
    }
    let isEdit = receipt.undoes == nil
    Messages.write(isEdit ? "done: \(receipt.summary)" : receipt.summary, about: subject)
    let remarks = done.filter { $0.outcome.message != nil }
    for item in remarks.prefix(1000) {
      Messages.write("\(item.name): \(item.outcome.message ?? "")", about: subject)
    }
    if remarks.count > 1000 {
      Messages.write("and \(remarks.count - 1000) remarks more", about: subject)
    }
    Messages.write(
      isUndoable
        ? "receipt: \(receipt.id) (tabella undo receipt:\(receipt.id))"
        : "receipt: \(receipt.id) (cannot be taken back)", about: subject)
  }

  // For programs

  private var json: JSONValue {
    func text(_ string: String?) -> JSONValue { string.map { .string($0) } ?? .null }
    var members: [String: JSONValue] = [
      "receipt": text(receipt?.id.text), "location": .string(subject),
      "provider": .string(provider),
      "version": .object(["from": text(from), "to": text(to)]),
      "outcomes": .array(items.map { json(of: $0) }), "undoable": .boolean(isUndoable),
    ]
    if isDryRun { members["dryRun"] = .boolean(true) }
    return .object(members)
  }

  private func json(of item: Item) -> JSONValue {
    let outcome = item.outcome
    var members: [String: JSONValue] = [
      "op": .string(item.edit?.kind.rawValue ?? "undo"),
      "row": item.edit.map { .string($0.path.description) } ?? .null,
      "code": outcome.code.map { .string($0.name) } ?? .null,
      "message": outcome.message.map { .string($0) } ?? .null,
      "id": (outcome.id ?? item.edit?.id).map { .string($0) } ?? .null,
    ]
    if item.edit?.kind == .move {
      members["to"] = item.edit?.target.map { .string($0.description) } ?? .null
    }
    if isDryRun {
      let names = uniqueNames(columns.map(\.name))
      if let cells = item.edit?.cells, !cells.isEmpty {
        members["cells"] = .object(
          Dictionary(uniqueKeysWithValues: cells.map { (names[$0.key], cellJSON($0.value)) }))
      }
      if let before = item.before {
        members["before"] = .object(
          Dictionary(uniqueKeysWithValues: zip(names, before.cells.map { cellJSON($0) })))
      }
    }
    return .object(members)
  }
}
