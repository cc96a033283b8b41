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
  let extent: EditExtent
  /// What is taken back, if something is.
  var undoing: Receipt?
  /// Tells where a row stands that was inserted or moved; nil for an undo. Finding it out may take work, so
  /// that it is asked only of what is said.
  var effects: EditEffects?

  private func place(_ edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    effects?.place(of: edit, outcome)
  }

  /// Whether what was done can be taken back; for a dry run not known.
  private var isUndoable: Bool { receipt?.wayBack != nil }

  /// The part that is not taken back with the rest, as a sentence's end; nil if all is, or nothing was to be.
  private var notTakenBack: String? {
    undoing?.remainderOfOpposite.map { "this cannot be undone: \($0)" }
  }

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
      if error.isSilent { throw error }
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
    return "; the edit of \(subject) was done (\(receipt.description); receipt:\(receipt.id))"
  }

  private var done: [Item] { items.filter { $0.outcome.code == nil } }
  private var notDone: [Item] { items.filter { $0.outcome.code != nil } }

  /// The error if not everything was done.
  private var failure: Failure? {
    // An edit that was not tried, since one before it failed, does not say why.
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
        return failure(status, code.name, "nothing would be done: \(reasons)")
      case .nothing: return failure(status, code.name, "nothing was done: \(reasons)")
      case .unclear:
        return failure(status, code.name, "failed, and may be done in part: \(reasons)")
      case .something:
        let again = receipt.map { undoing == nil || $0.wayBack == nil ? "" : wayOn($0) } ?? ""
        let reasons = [reasons, notTakenBack].compactMap(\.self).joined(separator: "; ")
        return failure(.failed, code.name, "done, but \(reasons)\(again)")
      }
    }
    let (not, yes) = isDryRun ? ("would fail", "would be done") : ("failed", "done")
    return failure(
      .failed, isSame ? code.name : "partial",
      "\(notDone.count) of \(items.count) edits \(not): \(reasons); \(yes): \(list(done, name))")
  }

  /// How to go on from an undo that was done in part.
  private func wayOn(_ receipt: Receipt) -> String {
    "; for the rest: tabella undo receipt:\(receipt.id)"
  }

  // For people

  /// The row or place that a message is about.
  private func name(of item: Item) -> String {
    guard let edit = item.edit else { return "all" }
    guard edit.kind == .insert, item.outcome.code == nil else { return edit.name }
    if edit.isOfSection { return "the new \(edit.name)" }
    if let id = item.outcome.id { return "row id:\(id)" }
    return place(edit, item.outcome).map { "row \($0)" } ?? "the new row"
  }

  /// An edit of a dry run and what the provider says of it.
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

  /// What was done, what the provider says of each edit, and the receipt.
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
    // The receipt's line, or the failure, says the rest of the description.
    let kind = isEdit ? "done" : receipt.kind.rawValue
    let trouble = receipt.trouble == nil ? "" : " (with errors)"
    Messages.write("\(kind): \(receipt.summary)\(trouble)", about: subject)
    let remarks = done.filter { $0.outcome.message != nil }
    for item in remarks.prefix(1000) {
      Messages.write("\(name(of: item)): \(item.outcome.message ?? "")", about: subject)
    }
    // Of one edit the summary says it.
    if items.count > 1, effects?.chosen.isEverything == true {
      for item in done.filter({ $0.edit?.target != nil }).prefix(EditReport.most) {
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
    var members: [String: JSONValue] = [
      "receipt": text(receipt?.id.text), "location": .string(subject),
      "provider": .string(provider),
      "version": .object(["from": text(from), "to": text(to)]),
      "outcomes": .array(items.map { json(of: $0) }), "undoable": .boolean(isUndoable),
    ]
    if isDryRun { members["dryRun"] = .boolean(true) }
    return .object(members)
  }

  /// The row of an edit as every command names it; of a new one once it has a name.
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
    // Of an undo that went as far as the way back leads.
    let rest = item.edit == nil && outcome.code == nil ? notTakenBack : nil
    var members: [String: JSONValue] = [
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
