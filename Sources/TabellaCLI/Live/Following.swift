import Tabella
import TabellaHost
import TabellaSystem

/// `show --follow`: prints the rows of a table, and then rows or changes as they arrive.
///
/// Between changes it waits without work. It ends with a failure: the source fails, the reader of the output leaves, or
/// a signal ends the program.
struct Following {
  /// The minimum time between two pulls, and the time before a conflict is tried again, in seconds.
  private static let spacing = (pulls: 0.01, conflicts: 0.1)
  /// The time during which conflicts are tried again, in seconds.
  private static let patience = 10.0

  private let shown: ShownTable
  private let output: Output
  private let wakeUp: WakeUp
  /// The columns of the source when it was opened.
  private let columns: [Column]
  private var printer: any ChangePrinter
  private var follower: TableFollower?
  /// The time of the next pull; nil if nothing is known to have changed.
  private var due: Double?
  private var lastPull = 0.0
  /// Whether it is unknown which rows arrived while the existing rows were printed.
  private var hasLostRows = false
  /// The time of the first conflict since the last success.
  private var firstConflict: Double?

  /// Prepares to follow a table. `format` has not begun. `section` names the only section to follow.
  init(
    _ shown: ShownTable, in format: any Format, section: SectionArgument?, _ output: Output,
    _ wakeUp: WakeUp
  ) {
    var shown = shown
    shown.isFollowed = true
    self.shown = shown
    self.output = output
    self.wakeUp = wakeUp
    columns = shown.table.source.columns
    printer =
      if let lines = format as? ChangeLinesFormat {
        ChangeLinesPrinter(lines, shown, output)
      } else {
        ArrivalPrinter(format, shown, section: section, output)
      }
  }

  private var table: ShapedTable { shown.table }

  /// Follows the table that a command line describes.
  static func run(
    _ invocation: Invocation, _ output: Output, format name: String
  ) throws(Failure) -> ExitStatus {
    let wakeUp = try WakeUp()
    while true {
      let table = try ShapedTable(invocation, command: "show")
      var shown = try ShownTable(
        table, invocation, command: "show", format: name, output.screen)
      shown.isWhole = false
      var format =
        name == "jsonl"
        ? ChangeLinesFormat(output) : Formats.make(name, output, invocation, of: table)
      // The rows of a stream arrive anyway, and the table ends with the stream.
      if table.source.changes == nil, let stream = RowStream(table.tables.map(\.location)) {
        shown.stream = stream
        try Command.write(shown, in: &format, invocation, output)
        Messages.writeDiagnostics(of: table.source, location: table.subject)
        return .done
      }
      try checkChanges(of: table)
      var following = Following(
        shown, in: format, section: invocation.section.map { SectionArgument($0) }, output, wakeUp)
      try following.run(last: invocation.limit)
    }
  }

  /// Throws if a location does not report changes.
  private static func checkChanges(of table: ShapedTable) throws(Failure) {
    for part in table.tables where part.source.changes == nil {
      throw Failure(
        status: .refused, subject: part.location.description,
        code: TableError.Code.notSupported.name,
        message:
          "the provider \(part.manifest.id) reports no changes, so the table cannot be followed; use --watch"
      )
    }
  }

  /// Prints the last `limit` rows, or all rows. Then prints changes until a failure.
  ///
  /// Returns if the table had no columns and now has some. It must then be opened again, and nothing was printed yet.
  mutating func run(last limit: Int?) throws(Failure) {
    let source = table.source
    try Failure.about(table.subject) { [wakeUp] () throws(TableError) in
      try source.changes?.listen { wakeUp.notify() }
    }
    defer { try? source.changes?.listen(nil) }
    let range = try Failure.about(table.subject) { () throws(TableError) in
      try limit.map { limit throws(TableError) in
        max(0, try source.rowCount(section: table.section) - limit)..<Int.max
      } ?? 0..<Int.max
    }
    try printer.begin(range)
    Progress.end()
    try output.sendNow()
    writeDiagnostics()
    due = now()
    while true {
      let reasons = wakeUp.wait(until: due, output: output.reader)
      if reasons.contains(.readerLeft) { throw .readerLeft(.brokenPipe) }
      if reasons.contains(.changes) {
        due = min(due ?? .infinity, max(now(), lastPull + Self.spacing.pulls))
      }
      guard let time = due, now() >= time else { continue }
      due = nil
      lastPull = now()
      guard try advance() else { return }
    }
  }

  /// Pulls and prints changes. Returns false if the table must be opened again.
  private mutating func advance() throws(Failure) -> Bool {
    defer { writeDiagnostics() }
    do {
      let changes = try pull()
      try printer.print(changes)
      firstConflict = nil
    } catch let error as TableError where error.code == .conflict {
      return try settle(error)
    } catch {
      throw .of(error, in: table)
    }
    try output.sendNow()
    return true
  }

  /// The changes since the last pull. The first call reads the table, to recognise changes later.
  private mutating func pull() throws(TableError) -> TableFollower.Changes {
    if let follower { return try follower.pull() }
    if table.source.columns != columns {
      try noteUnseen()
      throw TableError(.conflict, "the columns changed")
    }
    do throws(TableError) {
      follower = try TableFollower(
        table.source, columns: table.columns, keepsIDs: printer.needsOldIDs)
    } catch {
      // The table changed while or after its rows were printed.
      if error.code == .conflict { try noteUnseen() }
      throw error
    }
    return try pull()
  }

  /// Notes the changes since the opening of a table whose rows cannot be read any more.
  private mutating func noteUnseen() throws(TableError) {
    guard let batch = try table.source.changes?.pull() else { return }
    if let plan = try batch.plan(before: KnownCounts()), let list = batch.changes {
      printer.note(plan, list)
    } else {
      hasLostRows = !printer.noteAll()
    }
  }

  /// Decides what follows a conflict: another attempt soon, another opening, or a failure.
  private mutating func settle(_ error: TableError) throws(Failure) -> Bool {
    let columns = table.source.columns
    if columns != self.columns {
      // A file is empty for a moment while another program writes it again.
      if columns.isEmpty { return true }
      if self.columns.isEmpty { return false }
      throw Failure(
        status: .conflict, subject: table.subject, code: TableError.Code.conflict.name,
        message: "the columns of the table changed; run the command again")
    }
    let first = firstConflict ?? now()
    firstConflict = first
    guard now() - first < Self.patience, !hasLostRows else { throw .of(error, in: table) }
    due = now() + Self.spacing.conflicts
    return true
  }

  private func writeDiagnostics() {
    Messages.writeDiagnostics(of: table.source, location: table.subject)
  }
}

extension TableDataSource {
  /// The number of rows of a section, or of all sections.
  fileprivate func rowCount(section: Int?) throws(TableError) -> Int {
    if let section { return try exactNumberOfRows(inSection: section) }
    return try exactNumberOfRows()
  }
}
