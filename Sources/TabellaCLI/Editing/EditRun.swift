import Glibc
import Tabella
import TabellaFiles
import TabellaHost
import TabellaTerminal

/// One run of a command that edits. It finds the rows, asks for confirmation if required, commits, keeps the
/// receipt, and reports.
struct EditRun {
  let invocation: Invocation
  let table: ShapedTable
  private let command: String
  private let output: Output
  /// The version of the table in which rows are found.
  private let version: Version?
  /// The location for the receipt, found before the edit.
  private let place: Receipt.Place

  /// Whether the edits apply to all rows that the options choose.
  private var takesAll = false

  private var source: any TableDataSource { table.source }
  private var subject: String { table.subject }

  /// Opens the table with the shaping options.
  init(
    _ invocation: Invocation, _ location: Argument, command: String, output: Output
  ) throws(Failure) {
    try EditRun.refuseStream(Location(location.bytes))
    try EditRun.checkSavingOptions(invocation, location, command)
    self.command = command
    self.output = output
    var shape = invocation
    shape.operands = [location]
    shape.access = .editing
    let table = try ShapedTable(shape, command: command)
    self.table = table
    self.invocation = try invocation.resolved(in: table)
    let opened = table.tables[0]
    (version, place) = try Failure.about(table.subject) { () throws(TableError) in
      guard table.source.editing != nil else {
        throw TableError(.readOnly, "is read-only: provider \(table.provider) cannot edit it")
      }
      let version = try table.source.version()
      if let wanted = invocation.ifVersion {
        guard let version else {
          throw TableError(
            .notSupported, "has no versions, so --if-version cannot be checked; leave it out")
        }
        guard version.token == wanted else {
          throw TableError(
            .conflict,
            "is at version \(version), not \(wanted) with these options (-o, --filter, --sort and others are part of a version); nothing was done"
          )
        }
      }
      return (
        version, try Receipt.Place(opened.location.bytes, of: [opened.manifest])
      )
    }
  }

  /// Throws for standard input and for a pipe. Opening a pipe would wait for its writer.
  static func refuseStream(_ location: Location) throws(Failure) {
    try Failure.about(location.description) { () throws(TableError) in
      try location.refuseStream()
    }
  }

  /// Throws if the provider does not have the options of `--in-place` and `--backup`.
  private static func checkSavingOptions(
    _ invocation: Invocation, _ location: Argument, _ command: String
  ) throws(Failure) {
    guard !invocation.savingOptions.isEmpty else { return }
    let manifest = try Failure.about(location.text) { () throws(TableError) in
      try Host().manifest(for: Location(location.bytes), provider: invocation.provider)
    }
    for (name, flag) in invocation.savingOptions.sorted(by: { $0.key < $1.key })
    where !manifest.options.contains(where: { $0.name == name }) {
      throw .usage(
        "\(flag): provider \(manifest.id) does not support this option; leave it out",
        command: command)
    }
  }

  /// The parser of cells for the columns of the table.
  var cells: CellArguments {
    let canAdd = table.tables.allSatisfy { table in
      table.manifest.options.contains { $0.name == "columns" && $0.kind == .text }
    }
    return CellArguments(
      source.columns, addedColumns: canAdd ? invocation.options["columns"] ?? "" : nil,
      section: invocation.section.map { SectionArgument($0) })
  }

  /// Throws for a `COLUMN=VALUE` that is also the name of a row: `k=z:0`, if a section has the title `k=z`.
  func refuseRow(_ word: Argument) throws(Failure) {
    guard let section = RowArgument(word.text)?.section, case .title = section,
      (try? source.number(of: section)) != nil
    else { return }
    throw .usage(
      "\"\(word.text)\" can mean a cell or a row of a section; write title:\(word.text) for the row, or set the cell with tabella apply"
    )
  }

  /// Makes the edits, after confirmation if required.
  mutating func run(_ requests: [RequestedEdit]) throws(Failure) -> ExitStatus {
    let asks = try asksFirst(requests)
    let edits = try Failure.about(subject) { () throws(TableError) in try plan(requests) }
    return try make(edits, asks: asks)
  }

  /// Makes edits whose rows are known, after confirmation.
  func make(_ edits: [PlannedEdit]) throws(Failure) -> ExitStatus {
    let edits = try Failure.about(subject) { () throws(TableError) in
      var edits = edits
      try checkAbilities(
        movesRows: edits.contains { $0.kind == .move && !$0.isOfSection },
        editsSections: edits.contains(where: \.isOfSection))
      try checkMoves(&edits)
      return edits
    }
    return try make(edits, asks: !invocation.isConfirmed && !invocation.isDryRun)
  }

  private func make(_ edits: [PlannedEdit], asks: Bool) throws(Failure) -> ExitStatus {
    var edits = edits
    try Failure.about(subject) { () throws(TableError) in
      try source.checkStyles(edits, of: subject)
    }
    guard !edits.isEmpty else {
      return try report([], nil, nil, before: [], source.columns.withUniqueNames)
    }
    try confirm(&edits, asks: asks)
    return try commit(edits, invocation.isDryRun ? try rows(edits) : [])
  }

  /// Whether the options show all sections of the table, and the table can edit them.
  var editsAllSections: Bool {
    source.sectionEditing != nil && invocation.sectionBy == nil
      && ChosenRows(table, range: invocation.range).isEverything
  }

  /// Whether the user must confirm: for `delete`, and for `set` of all rows that the options choose.
  ///
  /// Throws if nothing chooses rows.
  private mutating func asksFirst(_ requests: [RequestedEdit]) throws(Failure) -> Bool {
    takesAll = requests.contains { $0.row == nil && $0.kind != .insert }
    guard !takesAll || invocation.choosesRows else {
      let line = invocation.line(command, adding: ["--filter", "COLUMN OP VALUE"])
      throw .usage(
        "name a ROW, or choose rows with --filter, --search, --section, --at-index, --per-section, --rows or -n: \(line)"
      )
    }
    return (command == "delete" || takesAll) && !invocation.isConfirmed && !invocation.isDryRun
  }

  /// Throws if the table lacks an ability that edits need.
  private func checkAbilities(movesRows: Bool, editsSections: Bool) throws(TableError) {
    if movesRows, source.moving == nil {
      let hasOtherOrder = invocation.sort != nil || invocation.sectionBy != nil
      throw TableError(
        .notSupported,
        hasOtherOrder
          ? "rows cannot be moved in a sorted or grouped table; leave out --sort and --section-by, and name the row by its id, which show --with-row prints"
          : "its rows cannot be moved: provider \(table.provider) cannot change their order")
    }
    if invocation.sectionBy != nil, editsSections {
      throw TableError(
        .notSupported,
        "the groups of --section-by are not sections of the table; set the cells that the groups depend on"
      )
    }
    if invocation.sectionsBy != nil, editsSections {
      throw TableError(
        .notSupported,
        "--sections-by changes the order of the sections; leave it out to edit them")
    }
    if source.sectionEditing == nil, editsSections { throw noSectionEditing }
  }

  private func plan(_ requests: [RequestedEdit]) throws(TableError) -> [PlannedEdit] {
    try checkAbilities(
      movesRows: requests.contains { $0.kind == .move && !$0.isOfSection },
      editsSections: requests.contains(where: \.isOfSection))
    if source.identity == nil, invocation.givesOtherPositions {
      try refusePositions(requests)
    }
    var planner = EditPlanner(
      table: table, chosen: ChosenRows(table, range: invocation.range),
      choosesByPosition: invocation.choosesByPosition)
    var edits = try planner.plan(requests)
    try checkMoves(&edits)
    return edits
  }

  /// The error for an edit of a section. It contains the command line with the option that makes sections, if the
  /// provider can edit those sections.
  private var noSectionEditing: TableError {
    let manifest = table.tables[0].manifest
    let edits = manifest.capabilities.contains(Ability.sectionEditing.name)
    let option = manifest.options.first { $0.name == "sections" }
    guard edits, let choice = option?.choices.last,
      invocation.options["sections"] != choice
    else {
      return TableError(
        .notSupported,
        "its sections cannot be edited: provider \(table.provider) does not support this")
    }
    let line = invocation.line(
      command, withoutProviderOption: "sections", adding: ["-o", "sections=\(choice)"])
    return TableError(
      .notSupported,
      "these sections cannot be edited; provider \(table.provider) can edit others: \(line)")
  }

  /// Throws for a row that is named by its position where rows have no ids and other options would show
  /// another row there: `show` names rows by positions too, of the table as it is.
  private func refusePositions(_ requests: [RequestedEdit]) throws(TableError) {
    func isPosition(_ row: RowArgument?) -> Bool {
      switch row {
      case .place, .rows: true
      case .end, .section, .id, nil: false
      }
    }
    guard requests.contains(where: { isPosition($0.row) || isPosition($0.place) }) else { return }
    let line = invocation.line(
      "show", operands: [invocation.operands[0]],
      without: Invocation.shapingNames.union(Invocation.editNames), adding: ["--with-row"])
    throw TableError(
      .notSupported,
      "its rows have no ids, and these options change the positions of rows. To name a row, leave the options out and run: \(line). To edit all rows that the options show, leave ROW out"
    )
  }

  /// Checks the moves. The source may forbid a single move, or lead it elsewhere.
  ///
  /// The source answers for one move alone. It checks the moves of a larger batch when it commits the batch, because
  /// another edit can make room, or free a name.
  private func checkMoves(_ edits: inout [PlannedEdit]) throws(TableError) {
    let moves = edits.filter { $0.kind == .move && !$0.isOfSection && $0.source != nil }
    guard let moving = source.moving, !moves.isEmpty else { return }
    var asked = Set(edits.filter { $0.kind == .insert }.compactMap(\.target))
    for target in moves.compactMap(\.target) where !asked.insert(target).inserted {
      throw TableError(.invalidArgument, "\(target.noun) is the target of two edits of the batch")
    }
    let paths = moves.compactMap(\.source)
    for (edit, isMovable) in zip(moves, try source.movability(at: paths)) where !isMovable {
      // The source may know why.
      _ = try source.editing?.commit(EditBatch([edit.edit], isDryRun: true))
      throw TableError(.readOnly, "\(edit.name) cannot be moved")
    }
    guard edits.count == 1, let path = edits[0].source, let target = edits[0].target else { return }
    let count = try source.numberOfRows(
      inSection: target.section, knowing: target.row.advancedUp(by: 2)
    ).value
    let last = max(0, path.section == target.section ? count - 1 : count)
    let single = IndexPath(section: target.section, row: min(target.row, last))
    let proposed = try moving.target(ofMoveFrom: path, to: single)
    if proposed != single { edits[0].target = proposed }
    // In a sorted view the new position is known only after the edit.
    if invocation.sort == nil {
      edits[0].isTargetSure = try keepsGroup(of: path, movedTo: target)
    }
  }

  /// Whether the group of a row still exists after the row has moved to another group.
  private func keepsGroup(of path: IndexPath, movedTo target: IndexPath) throws(TableError) -> Bool
  {
    guard invocation.sectionBy != nil, path.section != target.section else { return true }
    return try source.numberOfRows(inSection: path.section, knowing: 2).value > 1
  }

  /// The current rows of the edits; nil for insertions.
  private func rows(_ edits: some Sequence<PlannedEdit>) throws(Failure) -> [RowCells?] {
    try Failure.about(subject) { () throws(TableError) in
      try source.wholeRows(of: edits)
    }
  }

  // Confirmation

  /// Asks for confirmation if required: before rows are deleted, and if positions may belong to other rows now.
  /// After that the edits name the shown rows by their ids.
  private func confirm(_ edits: inout [PlannedEdit], asks: Bool) throws(Failure) {
    let isUncertain =
      source.hasVolatileOrder && invocation.ifVersion == nil
      && edits.contains { $0.namesRowByPosition || $0.namesPlaceByPosition }
    guard isUncertain || asks else { return }
    guard Confirmation.isPossible else {
      guard isUncertain else {
        let line = invocation.line(command, adding: ["--yes"])
        throw .usage("there is no terminal for the confirmation; to edit without it: \(line)")
      }
      throw Failure(
        status: .refused, subject: subject, code: "denied",
        message: try uncertainty(edits, asks: asks))
    }
    if invocation.isDryRun { return }
    let rows = try rows(edits.prefix(Confirmation.shownRows))
    if isUncertain {
      for number in edits.indices where edits[number].id != nil {
        edits[number].refersByID = true
      }
    }
    // A dry run before the question adds the messages of the source, such as the signal to send.
    let foreseen = try Failure.about(subject) { () throws(TableError) in
      try source.editing?.commit(batch(edits, isDryRun: true)).outcomes ?? []
    }
    guard foreseen.contains(where: { $0.code == nil }) else { return }
    try Confirmation(
      question: question(edits), edits: edits, rows: rows, outcomes: foreseen,
      warning: warning(foreseen), columns: source.columns.withUniqueNames, subject: subject
    ).ask(display: invocation.display)
  }

  /// A warning about edits that cannot be undone, from the outcomes of a dry run; nil if there are none.
  private func warning(_ foreseen: [EditResult.Outcome]) -> String? {
    let count = foreseen.count(where: \.isFinal)
    guard count > 0 else { return nil }
    let whole =
      foreseen.count == 1
      ? "the edit cannot be undone"
      : "\(count == foreseen.count ? "the" : "\(count) of \(foreseen.count)") edits cannot be undone"
    let takesBackup = table.tables[0].manifest.options.contains { $0.name == "backup" }
    return takesBackup && invocation.options["backup"] == nil
      ? "\(whole); --backup keeps the old file" : whole
  }

  /// The message that refuses edits by position, with the alternatives.
  private func uncertainty(_ edits: [PlannedEdit], asks: Bool) throws(Failure) -> String {
    let row = edits.first { $0.namesRowByPosition && !$0.isOfSection }
    let section = edits.first { $0.namesRowByPosition && $0.isOfSection }
    let place = edits.first(where: \.namesPlaceByPosition)
    var ways: [String] = []
    if row != nil { ways.append("name the row by its id (show --with-row prints it)") }
    if section != nil {
      ways.append("name the section by its title")
    } else if let target = place?.target {
      let title = try title(ofSection: target.section)
      // If there are several sections, their numbers can change.
      if title != nil {
        ways.append("name the section by its title")
      } else if place?.isOfSection == false {
        ways.append("use the position end")
      }
    }
    let version = "\(ways.isEmpty ? "" : ", or ")use --if-version (show --json prints the version)"
    let what =
      row.map { "position \($0.source?.description ?? "") may belong to another row" }
      ?? section.map { "section number \($0.source?.section ?? 0) may belong to another section" }
      ?? "position \(place?.target?.description ?? "") may have changed"
    let line = try workingLine(edits, asks: asks).map { "; for the current table: \($0)" } ?? ""
    return
      "its order changes by itself, so \(what) now: \(ways.joined(separator: " and "))\(version)\(line); nothing was done"
  }

  private func title(ofSection section: Int) throws(Failure) -> String? {
    try Failure.about(subject) { () throws(TableError) in
      guard try source.numberOfSections(knowing: section + 1).value > section else { return nil }
      return try source.sections?.title(.header, ofSection: section)
    }
  }

  /// The command line that names a row by its id and a section by its title; nil if there is none.
  private func workingLine(_ edits: [PlannedEdit], asks: Bool) throws(Failure) -> String? {
    guard command != "apply", command != "edit", edits.count == 1, let edit = edits.first else {
      return nil
    }
    var operands = invocation.operands
    var without: Set<String> = []
    if edit.kind != .insert {
      var name = edit.id.map { "id:\($0)" }
      if edit.isOfSection {
        name = try edit.source.flatMap { path throws(Failure) in
          try title(ofSection: path.section).map { "\(SectionArgument.text(ofTitle: $0)):" }
        }
      }
      guard let name else { return nil }
      let word = Argument(Array(name.utf8))
      if takesAll {
        // The name replaces the options that choose rows by position.
        operands.insert(word, at: 1)
        without = ["--rows", "-n", "--section", "--at-index"]
      } else {
        guard operands.count >= 2 else { return nil }
        operands[1] = word
      }
    }
    if let target = edit.target {
      let number = edit.kind == .insert ? 1 : 2
      guard operands.indices.contains(number), !target.isSection else { return nil }
      let section = try title(ofSection: target.section).map {
        "\(SectionArgument.text(ofTitle: $0)):"
      }
      operands[number] = Argument(Array("\(section ?? "")end".utf8))
    }
    return invocation.line(
      command, operands: operands, without: without, adding: asks ? ["--yes"] : [])
  }

  private func question(_ edits: [PlannedEdit]) -> String {
    let kinds = Set(edits.map(\.kind))
    let rows = EditSummary.counted(edits.count, sections: edits.count { $0.isOfSection })
    guard kinds.count == 1, let kind = kinds.first else {
      return "Make these \(edits.count) edits of \(subject)?"
    }
    return switch kind {
    case .set: "Change \(rows) of \(subject)?"
    case .insert: "Insert \(rows) into \(subject)?"
    case .delete: "Delete \(rows) of \(subject)?"
    case .move: "Move \(rows) of \(subject)?"
    }
  }

  // The commit

  private func batch(_ edits: [PlannedEdit], isDryRun: Bool) -> EditBatch {
    // Ids are valid in any version. If the order changes by itself, the version would rarely be the same.
    let countsOnPlaces = edits.contains {
      ($0.source != nil && !$0.refersByID) || $0.namesPlaceByPosition
    }
    let isPinned = invocation.ifVersion != nil || !source.hasVolatileOrder || countsOnPlaces
    return EditBatch(edits.map(\.edit), version: isPinned ? version : nil, isDryRun: isDryRun)
  }

  private func commit(_ edits: [PlannedEdit], _ before: [RowCells?]) throws(Failure) -> ExitStatus {
    // Read before the edit, because there may be fewer afterwards.
    let columns = source.columns.withUniqueNames
    let first =
      invocation.isDryRun ? nil : try? source.wholeRows(of: edits.prefix(EditSummary.mostRows))
    let batch = batch(edits, isDryRun: invocation.isDryRun)
    var labels: [Int: String] = [:]
    for number in edits.indices { if let label = edits[number].label { labels[number] = label } }
    var summary = EditSummary(
      batch.edits, labels: labels, rows: first?.map { $0?.cells } ?? [],
      ids: first?.map { $0?.id } ?? [], columns)
    let effects = effects
    summary.effect = { effects.effect(of: edits[0], $0, before: first?.first ?? nil) }
    let origin = ReceiptSubject(
      name: subject, provider: table.tables[0].manifest.id, place: place,
      options: invocation.options)
    let done = try Failure.ofReceipts { () throws(ReceiptError) in
      try ReceiptStore().commit(
        batch, on: source, of: origin, summary,
        willCommit: { holdSignals(cancelling: source) })
    }
    return try report(edits, done.result, done.receipt, before: before, columns)
  }

  private var effects: EditEffects {
    EditEffects(
      table: table, chosen: ChosenRows(table, range: invocation.range),
      isDryRun: invocation.isDryRun)
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
      warning: invocation.isDryRun ? warning(result?.outcomes ?? []) : nil, effects: effects)
    return try report.write(output, asJSON: invocation.isJSON, diagnosticsOf: source)
  }
}
