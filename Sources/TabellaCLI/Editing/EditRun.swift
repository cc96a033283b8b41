import Glibc
import Tabella
import TabellaFiles
import TabellaHost
import TabellaTerminal

/// One run of a command that edits: finds the rows, asks if it must, commits, keeps the receipt, reports.
struct EditRun {
  let invocation: Invocation
  let table: ShapedTable
  private let command: String
  private let output: Output
  /// The version that rows are found at.
  private let version: Version?
  /// The receipt's place, found before anything is done.
  private let place: Receipt.Place

  private var source: any TableDataSource { table.source }
  private var subject: String { table.subject }

  /// Opens the table in the shape that the options ask for.
  init(
    _ invocation: Invocation, _ location: Argument, command: String, output: Output
  ) throws(Failure) {
    guard location.text != "-" else {
      throw Failure(
        status: .refused, subject: "-", code: "read-only",
        message: "standard input cannot be edited; nothing was done")
    }
    try EditRun.refusePipe(location.bytes)
    try EditRun.checkSavingOptions(invocation, location, command)
    self.invocation = invocation
    self.command = command
    self.output = output
    var shape = invocation
    shape.operands = [location]
    let table = try ShapedTable(shape, command: command)
    self.table = table
    let opened = table.tables[0]
    (version, place) = try Failure.about(table.subject) { () throws(TableError) in
      guard table.source.editing != nil else {
        throw TableError(.readOnly, "is read-only: provider \(table.provider) does not edit it")
      }
      let version = try table.source.version()
      if let wanted = invocation.ifVersion {
        guard let version else {
          throw TableError(.notSupported, "has no versions, so that --if-version cannot be kept")
        }
        guard version.token == wanted else {
          throw TableError(
            .conflict,
            "is at version \(version), not \(wanted), in this shape (--filter, --sort and the like are part of a version); nothing was done"
          )
        }
      }
      return (
        version, try Receipt.Place(opened.location.bytes, schemes: opened.manifest.schemes)
      )
    }
  }

  /// To look into a pipe would be to wait for its writer.
  static func refusePipe(_ path: [UInt8]) throws(Failure) {
    var status = stat()
    guard path.withCString({ stat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      return
    }
    throw Failure(
      status: .refused, subject: String(decoding: path, as: UTF8.self), code: "read-only",
      message: "is a pipe and cannot be edited; nothing was done")
  }

  /// `--in-place` and `--backup` are options of the provider, where it has them.
  private static func checkSavingOptions(
    _ invocation: Invocation, _ location: Argument, _ command: String
  ) throws(Failure) {
    guard !invocation.savingOptions.isEmpty else { return }
    let manifest = try Failure.about(location.text) { () throws(TableError) in
      try Host().manifest(for: Location(location.bytes), provider: invocation.provider)
    }
    for (name, flag) in invocation.savingOptions.sorted(by: { $0.key < $1.key })
    where !manifest.options.contains(where: { $0.name == name }) {
      throw .usage("\(flag): provider \(manifest.id) has no such way of saving", command: command)
    }
  }

  /// The cells that arguments or JSON give for the table's columns.
  var cells: CellArguments { CellArguments(source.columns) }

  /// Does what is asked for. `asks` says whether a person confirms it first.
  func run(_ requests: [RequestedEdit], asks: Bool) throws(Failure) -> ExitStatus {
    guard !requests.isEmpty else {
      return try report([], nil, nil, before: [])
    }
    var edits = try Failure.about(subject) { () throws(TableError) in
      try plan(requests)
    }
    try confirm(&edits, asks: asks && !invocation.isConfirmed)
    return try commit(edits, invocation.isDryRun ? try rows(edits) : [])
  }

  private func plan(_ requests: [RequestedEdit]) throws(TableError) -> [PlannedEdit] {
    if requests.contains(where: { $0.kind == .move }), source.moving == nil {
      throw TableError(
        .notSupported,
        invocation.sort != nil || invocation.sectionBy != nil
          ? "rows cannot be moved where the order is not the table's own"
          : "its rows cannot be moved: provider \(table.provider) does not reorder them")
    }
    var edits = try EditPlanner(table: table).plan(requests)
    if edits.count == 1, edits[0].kind == .move { try retarget(&edits[0]) }
    return edits
  }

  /// The source may forbid a move, or lead it elsewhere.
  private func retarget(_ edit: inout PlannedEdit) throws(TableError) {
    guard let moving = source.moving, let path = edit.source, let target = edit.target else {
      return
    }
    let movable = try moving.movability(ofRows: path.row..<path.row + 1, inSection: path.section)
    guard movable == [true] else {
      // The source may know why.
      _ = try source.editing?.commit(EditBatch([edit.edit], isDryRun: true))
      throw TableError(.readOnly, "row \(path) cannot be moved")
    }
    edit.target = try moving.target(ofMoveFrom: path, to: target)
  }

  /// The rows that edits are about, as they are; nil for what is inserted.
  private func rows(_ edits: [PlannedEdit]) throws(Failure) -> [RowCells?] {
    let found = try Failure.about(subject) { () throws(TableError) in
      try source.wholeRows(at: edits.compactMap(\.source))
    }
    var rest = found[...]
    return edits.map { $0.source == nil ? nil : rest.popFirst() }
  }

  // Confirmation

  /// Asks where one must: before rows are deleted, and where positions may name other rows by now. From
  /// then on the rows that were shown are known by their ids.
  private func confirm(_ edits: inout [PlannedEdit], asks: Bool) throws(Failure) {
    let isUncertain =
      source.hasVolatileOrder && invocation.ifVersion == nil
      && edits.contains { $0.namesRowByPosition || $0.namesPlaceByPosition }
    guard isUncertain || (asks && !invocation.isDryRun) else { return }
    guard Confirmation.isPossible else {
      throw Failure(
        status: .refused, subject: subject, code: "denied",
        message:
          "its order changes by itself, so that a position may be another row's by now: insert at end, name rows by id:ID (show --with-row prints it) or say --if-version (show --json prints it); nothing was done"
      )
    }
    if invocation.isDryRun { return }
    let rows = try rows(edits)
    if isUncertain {
      for (number, row) in rows.enumerated() where edits[number].source != nil {
        if edits[number].id == nil { edits[number].id = row?.id }
      }
    }
    let shown = zip(edits, rows).compactMap { edit, row in
      row.map { (edit.path.description, $0) }
    }
    try Confirmation.ask(
      question(edits), rows: shown, of: edits.count, columns: source.columns,
      display: invocation.display, subject: subject)
  }

  private func question(_ edits: [PlannedEdit]) -> String {
    let kinds = Set(edits.map(\.kind))
    let rows = edits.count == 1 ? "1 row" : "\(edits.count) rows"
    guard kinds.count == 1, let kind = kinds.first else {
      return "Do these \(edits.count) edits of \(subject)?"
    }
    return switch kind {
    case .set: "Change \(rows) of \(subject)?"
    case .insert: "Insert \(rows) into \(subject) at \(edits[0].path)?"
    case .delete: "Delete \(rows) of \(subject)?"
    case .move: "Move \(rows) of \(subject)?"
    }
  }

  // Doing it

  private func commit(_ edits: [PlannedEdit], _ before: [RowCells?]) throws(Failure) -> ExitStatus {
    guard let editing = source.editing else { return .failed }
    // Ids hold whatever the version; in an order that changes by itself it would rarely be the same.
    let countsOnPlaces = edits.contains {
      ($0.source != nil && $0.id == nil) || $0.namesPlaceByPosition
    }
    let isPinned = invocation.ifVersion != nil || !source.hasVolatileOrder || countsOnPlaces
    let batch = EditBatch(
      edits.map(\.edit), version: isPinned ? version : nil, isDryRun: invocation.isDryRun)
    let titled = invocation.isDryRun ? edits : entitled(edits)
    let kept = KeptCommit(
      subject: subject, source: source, provider: table.tables[0].manifest.id, place: place,
      options: invocation.options, isDryRun: invocation.isDryRun)
    let (result, receipt) = try kept.run(
      commit: { () throws(TableError) in try editing.commit(batch) },
      summary: { result in
        var done = result.map { zip(titled, $0.outcomes).filter { $1.code == nil }.map(\.0) } ?? []
        // Done, with some trouble afterwards.
        if done.isEmpty { done = titled }
        return EditRun.summary(done, source.columns)
      })
    return try report(edits, result, receipt, before: before)
  }

  /// The edits, the first few with titles, as far as those can be had.
  private func entitled(_ edits: [PlannedEdit]) -> [PlannedEdit] {
    let some = edits.prefix(EditRun.titles)
    guard !source.columns.isEmpty,
      var rows = (try? source.wholeRows(at: some.compactMap(\.source)))?[...]
    else { return edits }
    var edits = edits
    for number in some.indices {
      let cell =
        edits[number].source == nil ? edits[number].cells[0] : rows.popFirst()?.cells[0]
      guard let cell, cell != .missing else { continue }
      let text = "\(cell)"
      edits[number].title = text.count > 40 ? "\(text.prefix(39))…" : text
    }
    return edits
  }

  /// How many rows a summary names at most.
  private static let titles = 3

  /// `change 1 row (price): Ada`; `delete 2 rows, insert 1 row: a.txt, b.txt, c.txt`.
  static func summary(_ edits: [PlannedEdit], _ columns: [Column]) -> String {
    let kinds = RequestedEdit.Kind.allCases.compactMap { kind -> String? in
      let some = edits.filter { $0.kind == kind }
      guard !some.isEmpty else { return nil }
      let rows = some.count == 1 ? "1 row" : "\(some.count) rows"
      guard kind == .set else { return "\(kind.rawValue) \(rows)" }
      let names = Set(some.flatMap(\.cells.keys)).sorted().map { columns[$0].name }
      let more = names.count > 5 ? ", …" : ""
      return "change \(rows) (\(names.prefix(5).joined(separator: ", "))\(more))"
    }.joined(separator: ", ")
    let titles = edits.compactMap(\.title).filter { !$0.isEmpty }
    guard !titles.isEmpty else { return kinds }
    return "\(kinds): \(titles.joined(separator: ", "))\(edits.count > titles.count ? ", …" : "")"
  }

  private func report(
    _ edits: [PlannedEdit], _ result: EditResult?, _ receipt: Receipt?, before: [RowCells?]
  ) throws(Failure) -> ExitStatus {
    let version = version?.token
    let report = EditReport(
      subject: subject, provider: table.provider,
      from: result?.changes.from?.token ?? version, to: result?.changes.to?.token ?? version,
      items: edits.indices.map { number in
        EditReport.Item(
          edit: edits[number], outcome: result!.outcomes[number],
          before: before.indices.contains(number) ? before[number] : nil)
      }, columns: source.columns, receipt: receipt, isDryRun: invocation.isDryRun,
      isUndoable: receipt?.receipt != nil,
      hasChangedSomething: result?.hasChangedSomething ?? false)
    return try report.write(output, asJSON: invocation.isJSON, diagnosticsOf: source)
  }
}

extension EditResult {
  /// Whether anything is other than before, as far as the result tells: that edits were done to what was
  /// so already is no change, and one that failed may have failed when it was done.
  var hasChangedSomething: Bool {
    if receipt != nil { return true }
    if let from = changes.from, let to = changes.to, from != to { return true }
    let isNothing = changes.changes == [] && changes.from != nil && changes.from == changes.to
    return !isNothing && outcomes.contains { $0.code == nil }
  }
}
