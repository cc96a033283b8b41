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
    try EditRun.refuseStream(location.bytes)
    try EditRun.checkSavingOptions(invocation, location, command)
    self.invocation = invocation
    self.command = command
    self.output = output
    var shape = invocation
    shape.operands = [location]
    shape.access = .editing
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
            "is at version \(version), not \(wanted), in this shape (-o, --filter, --sort and the like are part of a version); nothing was done"
          )
        }
      }
      return (
        version, try Receipt.Place(opened.location.bytes, of: [opened.manifest])
      )
    }
  }

  /// Throws for standard input and for a pipe: to look into one would be to wait for its writer.
  static func refuseStream(_ location: [UInt8]) throws(Failure) {
    func isPipe(_ path: some Collection<UInt8>) -> Bool {
      var status = stat()
      return Array(path).withCString { stat($0, &status) } == 0
        && status.st_mode & S_IFMT == S_IFIFO
    }
    let isInput = location == [UInt8(ascii: "-")]
    // Behind a scheme, too.
    let path = location.drop { $0 != UInt8(ascii: ":") }.dropFirst()
    guard isInput || isPipe(location) || isPipe(path) else { return }
    let what = isInput ? "standard input" : "is a pipe and"
    throw Failure(
      status: .refused, subject: String(decoding: location, as: UTF8.self), code: "read-only",
      message: "\(what) cannot be edited; nothing was done")
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
      return try report([], nil, nil, before: [], source.columns)
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
    // Where a sorted view puts it, only reading it again tells.
    edit.isTargetSure = invocation.sort == nil
  }

  /// The rows that edits are about, as they are; nil for what is inserted.
  private func rows(_ edits: [PlannedEdit]) throws(Failure) -> [RowCells?] {
    try Failure.about(subject) { () throws(TableError) in
      try source.wholeRows(of: edits)
    }
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
        status: .refused, subject: subject, code: "denied", message: try uncertainty(edits))
    }
    if invocation.isDryRun { return }
    let rows = try rows(edits)
    if isUncertain {
      for (number, row) in rows.enumerated() where edits[number].source != nil {
        if edits[number].id == nil { edits[number].id = row?.id }
      }
    }
    // Checked before the question, which the source knows more of: a signal, say.
    let foreseen = try Failure.about(subject) { () throws(TableError) in
      try source.editing?.commit(batch(edits, isDryRun: true)).outcomes ?? []
    }
    guard foreseen.contains(where: { $0.code == nil }) else { return }
    try Confirmation(
      question: question(edits), edits: edits, rows: rows, outcomes: foreseen,
      columns: source.columns, subject: subject
    ).ask(display: invocation.display)
  }

  /// Why edits are refused that count on positions, and what to say instead.
  private func uncertainty(_ edits: [PlannedEdit]) throws(Failure) -> String {
    let row = edits.first(where: \.namesRowByPosition)?.source
    let place = edits.first(where: \.namesPlaceByPosition)
    var ways: [String] = []
    if row != nil { ways.append("name rows by id:ID (show --with-row prints it)") }
    if place != nil {
      let sections = try Failure.about(subject) { () throws(TableError) in
        try source.numberOfSections(knowing: 2)
      }
      // Of several sections none is sure to keep its number.
      if sections == .exact(1) {
        ways.append("put it at end")
      }
    }
    let version = "\(ways.isEmpty ? "" : ", or ")say --if-version (show --json prints it)"
    let what =
      row.map { "row \($0) may be another" }
      ?? "the place \(place?.target?.description ?? "") may be another"
    return
      "its order changes by itself, so that \(what) by now: \(ways.joined(separator: " and "))\(version); nothing was done"
  }

  private func question(_ edits: [PlannedEdit]) -> String {
    let kinds = Set(edits.map(\.kind))
    let rows = edits.count == 1 ? "1 row" : "\(edits.count) rows"
    guard kinds.count == 1, let kind = kinds.first else {
      return "Do these \(edits.count) edits of \(subject)?"
    }
    return switch kind {
    case .set: "Change \(rows) of \(subject)?"
    case .insert: "Insert \(rows) into \(subject)?"
    case .delete: "Delete \(rows) of \(subject)?"
    case .move: "Move \(rows) of \(subject)?"
    }
  }

  // Doing it

  private func batch(_ edits: [PlannedEdit], isDryRun: Bool) -> EditBatch {
    // Ids hold whatever the version; in an order that changes by itself it would rarely be the same.
    let countsOnPlaces = edits.contains {
      ($0.source != nil && $0.id == nil) || $0.namesPlaceByPosition
    }
    let isPinned = invocation.ifVersion != nil || !source.hasVolatileOrder || countsOnPlaces
    return EditBatch(edits.map(\.edit), version: isPinned ? version : nil, isDryRun: isDryRun)
  }

  private func commit(_ edits: [PlannedEdit], _ before: [RowCells?]) throws(Failure) -> ExitStatus {
    guard let editing = source.editing else { return .failed }
    let batch = batch(edits, isDryRun: invocation.isDryRun)
    // Taken down before: there may be fewer afterwards.
    let columns = source.columns
    let titled = invocation.isDryRun ? edits : EditSummary.entitled(edits, of: source)
    let kept = KeptCommit(
      subject: subject, source: source, provider: table.tables[0].manifest.id, place: place,
      options: invocation.options, isDryRun: invocation.isDryRun)
    let (result, receipt) = try kept.run(
      commit: { () throws(TableError) in try editing.commit(batch) },
      summary: { result in
        var done = result.map { zip(titled, $0.outcomes).filter { $1.code == nil } } ?? []
        // Done, with some trouble afterwards.
        if done.isEmpty { done = titled.map { ($0, .init()) } }
        return EditSummary.text(done, columns)
      },
      remainder: { result in
        // What became of each is in the summary.
        let final = zip(titled, result.outcomes).filter { $1.isFinal }
        return final.isEmpty
          ? nil : EditSummary.text(final.map { edit, _ in (edit, EditResult.Outcome()) }, columns)
      })
    return try report(edits, result, receipt, before: before, columns)
  }

  private func report(
    _ edits: [PlannedEdit], _ result: EditResult?, _ receipt: Receipt?, before: [RowCells?],
    _ columns: [Column]
  ) throws(Failure) -> ExitStatus {
    let version = version?.token
    let report = EditReport(
      subject: subject, provider: table.provider,
      from: result?.changes.from?.token ?? version, to: result?.changes.to?.token ?? version,
      items: edits.indices.map { number in
        EditReport.Item(
          edit: edits[number], outcome: result!.outcomes[number],
          before: before.indices.contains(number) ? before[number] : nil)
      }, columns: columns, receipt: receipt, isDryRun: invocation.isDryRun,
      extent: result?.extent ?? .nothing,
      place: EditLanding(table: table, isDryRun: invocation.isDryRun).place)
    return try report.write(output, asJSON: invocation.isJSON, diagnosticsOf: source)
  }
}
