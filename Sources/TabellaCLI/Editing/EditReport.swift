import Tabella
import TabellaHost
import TabellaTerminal

/// The report of edits, as lines on standard error or as JSON on standard output.
struct EditReport {
  struct Item {
    /// The edit; nil for an undo.
    let edit: PlannedEdit?
    let outcome: EditResult.Outcome
    /// The row before the edit.
    let before: RowCells?

    /// Whether all cells already have the new values.
    var changesNothing: Bool {
      guard let edit, edit.kind == .set, let before else { return false }
      return edit.cells.allSatisfy { before.cells[$0.key] == $0.value }
    }
  }

  /// The maximum number of edits in a message.
  private static let most = 20

  let subject: String
  let provider: String
  let from: String?
  let to: String?
  let items: [Item]
  let columns: [Column]
  let receipt: Receipt?
  let isDryRun: Bool
  let extent: EditExtent
  /// A warning after the lines of a dry run.
  var warning: String?
  /// The receipt of the edit to undo, if this is an undo.
  var undoing: Receipt?
  /// Finds the positions of inserted and moved rows; nil for an undo. This can be expensive, so it is used only
  /// for rows in the report.
  var effects: EditEffects?

  private func place(_ edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    effects?.place(of: edit, outcome)
  }

  /// Whether the edits can be undone. Not known after a dry run.
  private var isUndoable: Bool { receipt?.isUndoable == true }

  /// The text about the part that an undo cannot undo; nil if there is none.
  private var notTakenBack: String? {
    undoing?.remainderOfOpposite.map { "this cannot be undone: \($0)" }
  }

  /// Writes the report and returns the exit status. Throws if something was not done.
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
      if error.isSilent { throw error }
      throw Failure(
        status: error.status, subject: error.subject, code: error.code,
        message: "\(error.message)\(doneNote)")
    }
    if !asJSON, !isDryRun { writeLines() }
    if !asJSON, let warning { Messages.write("dry run: \(warning)", about: subject) }
    Messages.writeDiagnostics(of: source, location: subject)
    if let failure { throw failure }
    return .done
  }

  /// The text for an error that prevents the report itself.
  private var doneNote: String {
    guard let receipt else { return "" }
    return "; the edit of \(subject) was done (\(receipt.description); receipt:\(receipt.id))"
  }

  /// The indices of the edits that were done. There can be very many, so their items are not copied.
  private var done: LazyFilterSequence<Range<Int>> {
    items.indices.lazy.filter { items[$0].outcome.code == nil }
  }
  private var notDone: [Item] { items.filter { $0.outcome.code != nil } }

  /// The error if not everything was done.
  private var failure: Failure? {
    // An edit that was not tried because an earlier one failed does not contain the reason.
    let tried = notDone.filter { $0.outcome.code != .cancelled }
    let failed = tried.isEmpty ? notDone : tried
    guard let first = failed.first, let code = first.outcome.code else {
      return notTakenBack.map {
        Failure(
          status: .failed, subject: subject, code: "partial",
          message: "\(isDryRun ? "would be done" : "done") in part: \($0)")
      }
    }
    func list(_ items: [Item], _ describe: (Item) -> String) -> String {
      let rest = items.count - EditReport.most
      return items.prefix(EditReport.most).map(describe).joined(separator: "; ")
        + (rest > 0 ? "; and \(rest) more" : "")
    }
    var reasons = list(failed) { item in
      let reason = item.outcome.message ?? item.outcome.code!.name
      return item.edit == nil ? reason : "\(name(of: item)): \(reason)"
    }
    if failed.count < notDone.count {
      reasons +=
        "; not tried because of that: \(list(notDone.filter { $0.outcome.code == .cancelled }, name))"
    }
    let isSame = failed.allSatisfy { $0.outcome.code == code }
    func failure(_ status: ExitStatus, _ code: String, _ message: String) -> Failure {
      Failure(status: status, subject: subject, code: code, message: message)
    }
    if done.isEmpty {
      let status: ExitStatus = isSame ? .of(TableError(code, "")) : .failed
      switch extent {
      case _ where isDryRun:
        // The reason of an undo says how much would be undone.
        let what = undoing == nil ? "nothing would be done" : "would fail"
        return failure(status, code.name, "\(what): \(reasons)")
      case .nothing: return failure(status, code.name, "nothing was done: \(reasons)")
      case .unclear:
        return failure(status, code.name, "failed, and may be done in part: \(reasons)")
      case .something:
        let again = receipt.map { undoing == nil || !$0.isUndoable ? "" : wayOn($0) } ?? ""
        let reasons = [reasons, notTakenBack].compactMap(\.self).joined(separator: "; ")
        return failure(.failed, code.name, "done, but \(reasons)\(again)")
      }
    }
    let (not, yes) = isDryRun ? ("would fail", "would be done") : ("failed", "done")
    return failure(
      .failed, isSame ? code.name : "partial",
      "\(notDone.count) of \(items.count) edits \(not): \(reasons); \(yes): \(list(done.map { items[$0] }, name))"
    )
  }

  /// The next step after a partial undo.
  private func wayOn(_ receipt: Receipt) -> String {
    "; for the rest: tabella undo receipt:\(receipt.id)"
  }

  // For people

  /// The name of the row or position that a message is about.
  private func name(of item: Item) -> String {
    guard let edit = item.edit else { return "all" }
    guard edit.kind == .insert, item.outcome.code == nil else { return edit.name }
    if edit.isOfSection { return "the new \(edit.name)" }
    if let id = item.outcome.id { return "row id:\(id)" }
    return place(edit, item.outcome).map { "row \($0)" } ?? "the new row"
  }

  /// The line of a dry run for one edit, with the message of the provider.
  private func line(_ item: Item) -> SafeText {
    var line =
      item.edit.map {
        $0.description(columns, before: item.before, place: place($0, item.outcome))
      } ?? undoing.map { "\($0.opposite.rawValue): \($0.summary)" } ?? subject
    if item.outcome.code == nil, item.changesNothing { line += " (no change)" }
    if let message = item.outcome.message ?? item.outcome.code?.name {
      line += item.outcome.code == nil ? " (\(message))" : " (refused: \(message))"
    }
    if item.edit == nil, item.outcome.code == nil, let rest = notTakenBack {
      line += " (in part: \(rest))"
    }
    let safe = SafeText(line)
    return "\(safe)\n"
  }

  /// Writes the summary, the messages of the provider, and the receipt.
  private func writeLines() {
    guard let receipt else {
      if items.isEmpty {
        Messages.write("nothing to do", about: subject)
      } else if !done.isEmpty {
        Messages.write("done: nothing to change", about: subject)
      }
      return
    }
    let isEdit = receipt.kind == .edit
    // The line of the receipt, or the failure, contains the rest of the description.
    let kind = isEdit ? "done" : receipt.kind.rawValue
    let trouble = receipt.trouble == nil ? "" : " (with errors)"
    Messages.write("\(kind): \(receipt.summary)\(trouble)", about: subject)
    let remarks = done.filter { items[$0].outcome.message != nil }
    for item in remarks.prefix(1000).map({ items[$0] }) {
      Messages.write("\(name(of: item)): \(item.outcome.message ?? "")", about: subject)
    }
    // For a single edit the summary contains the position.
    if items.count > 1, effects?.chosen.isEverything == true {
      let arrived = done.filter { items[$0].edit?.target != nil }
      for item in arrived.prefix(EditReport.most).map({ items[$0] }) {
        guard let edit = item.edit, let place = place(edit, item.outcome), !edit.isAsAsked(place),
          let asked = edit.asked
        else { continue }
        Messages.write(
          "\(name(of: item)): is at \(place), not at \(asked) as requested", about: subject)
      }
    }
    if remarks.count > 1000 {
      Messages.write("and \(remarks.count - 1000) more remarks", about: subject)
    }
    let way = "tabella undo receipt:\(receipt.id)"
    let extent =
      !isUndoable
      ? "cannot be undone"
      : receipt.remainderOfOpposite.map { "can be undone in part: \(way); not: \($0)" } ?? way
    Messages.write("receipt: \(receipt.id) (\(extent))", about: subject)
  }

  // For programs

  private var json: JSONValue {
    func text(_ string: String?) -> JSONValue { string.map { .string($0) } ?? .null }
    var members: JSONObject = [
      "receipt": text(receipt?.id.text), "location": .string(subject),
      "provider": .string(provider),
      "version": .object(["from": text(from), "to": text(to)]),
      "outcomes": .array(items.map { json(of: $0) }), "undoable": .boolean(isUndoable),
    ]
    if isDryRun { members["dryRun"] = .boolean(true) }
    return .object(members)
  }

  /// The name of the row of an edit; nil for a new row without a name yet.
  private func row(
    _ edit: PlannedEdit, _ outcome: EditResult.Outcome, _ target: IndexPath?
  ) -> String? {
    guard edit.kind == .insert else { return edit.rowName }
    if edit.isOfSection { return target.map { "\($0.section):" } }
    return outcome.id.map { "id:\($0)" } ?? (isDryRun ? nil : target?.description)
  }

  private func json(of item: Item) -> JSONValue {
    let outcome = item.outcome
    func text(_ path: IndexPath?) -> JSONValue { path.map { .string($0.description) } ?? .null }
    func text(_ string: String?) -> JSONValue { string.map { .string($0) } ?? .null }
    let target = item.edit.flatMap { $0.target == nil ? nil : place($0, outcome) }
    // For an undo that undid everything that can be undone.
    let rest = item.edit == nil && outcome.code == nil ? notTakenBack : nil
    var members: JSONObject = [
      "op": .string(item.edit?.kind.rawValue ?? "undo"),
      "row": text(item.edit.flatMap { row($0, outcome, target) }),
      "code": text(outcome.code?.name ?? rest.map { _ in "partial" }),
      "message": text(rest ?? outcome.message),
      "id": (outcome.id ?? item.edit?.id).map { .string($0) } ?? .null,
    ]
    if item.edit?.target != nil { members["to"] = text(target) }
    if outcome.isFinal, item.edit != nil { members["final"] = .boolean(true) }
    if isDryRun {
      let names = uniqueNames(columns.map(\.name))
      if let cells = item.edit?.cells, !cells.isEmpty {
        members["cells"] = .object(
          JSONObject(cells.map { (names[$0.key], cellJSON($0.value)) }))
      }
      if let before = item.before {
        members["before"] = .object(
          JSONObject(columns.usualNumbers.map { (names[$0], cellJSON(before.cells[$0])) }))
      }
    }
    return .object(members)
  }
}
