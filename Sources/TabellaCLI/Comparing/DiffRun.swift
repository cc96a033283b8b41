import Tabella
import TabellaHost

/// One run of `diff`: opens both tables, compares them, and writes the changes.
struct DiffRun {
  let invocation: Invocation
  let old: ShapedTable
  let new: ShapedTable
  let columns: ComparedColumns
  /// The columns of the key, as indices into the pairs of ``columns``.
  let keys: [Int]

  init(_ invocation: Invocation) throws(Failure) {
    self.invocation = invocation
    var own = try invocation.dividedByLocation(Host(invocation))
    // Dry runs tell which edits are possible. A worker that only reads could not make them.
    if invocation.format == "apply" { own[0].access = .editing }
    (old, new) = (
      try ShapedTable(own[0], command: "diff"), try ShapedTable(own[1], command: "diff")
    )
    columns = ComparedColumns(
      old.source.columns, new.source.columns, only: old.columns, new.columns)
    let pairs = columns.pairs
    let oldColumns = old.source.columns
    keys =
      try invocation.keys.map { text throws(Failure) in
        let numbers = try Failure.usage { () throws(TableError) in
          try ColumnNames(oldColumns).list(text).map(\.column)
        }
        return try numbers.map { number throws(Failure) in
          guard let index = pairs.firstIndex(where: { $0.old == number }) else {
            let name = ColumnNames(oldColumns).names[number]
            throw .usage("--key \(text): the column \(name) is not compared")
          }
          return index
        }
      } ?? []
    if isForApply { try checkForApply() }
  }

  private var isForApply: Bool { invocation.format == "apply" }

  /// Whether the rows of the old table are named by ids in lines for `apply`, because their order changes by itself.
  var namesRowsByID: Bool { old.source.hasVolatileOrder && old.source.identity != nil }

  /// Whether the order of rows is compared. It is not if something else than the table decides it.
  private var comparesOrder: Bool {
    invocation.sort == nil && !old.source.hasVolatileOrder && !new.source.hasVolatileOrder
  }

  var subject: String { "\(old.subject) \(new.subject)" }

  /// Throws for options and columns with which the lines could not lead from one table to the other.
  private func checkForApply() throws(Failure) {
    let refused = namesRowsByID ? ["--section-by"] : Invocation.shapingNames.sorted()
    if let name = refused.first(where: { name in invocation.given.contains { $0.name == name } }) {
      throw .usage(
        "--format apply: with \(name), positions are not those that apply counts; leave \(name) out"
      )
    }
    let single =
      columns.deleted.first.map { (old, $0) } ?? columns.inserted.first.map { (new, $0) }
    guard let (table, number) = single else { return }
    let name = ColumnNames(table.source.columns).names[number]
    let common = columns.pairs.map(\.name)
    let remedy =
      common.isEmpty || common.contains { $0.contains(",") }
      ? "" : "; compare the others: --columns \(common.joined(separator: ","))"
    throw .usage(
      "--format apply: only \(table.subject) has the column \(name), and apply cannot edit columns\(remedy)"
    )
  }

  private func rows(of table: ShapedTable) throws(Failure) -> ComparedRows {
    let invocation = try invocation.resolved(in: table)
    return try Failure.about(table.subject) { () throws(TableError) in
      var runs: [(section: Int, rows: Range<Int>)] = []
      var iterator = ChosenRows(table, range: invocation.range).makeIterator()
      while let run = try iterator.run() { runs.append((run.section, run.rows)) }
      return try ComparedRows(table.source, runs: runs)
    }
  }

  /// Compares the tables and writes the changes.
  func write(_ output: Output) throws(Failure) -> ExitStatus {
    let (oldRows, newRows) = (try rows(of: old), try rows(of: new))
    var options = TableComparison.Options()
    options.keys = keys
    options.comparesOrder = comparesOrder
    options.movesRows = !isForApply || old.source.moving != nil
    let comparison = try Failure.about(subject) { () throws(TableError) in
      try TableComparison(from: oldRows, to: newRows, columns: columns, options: options)
    }
    var format = DiffFormats.make(self, comparison, output)
    try format.begin()
    var counts = DiffCounts(columns)
    let failure = try write(comparison, to: &format, &counts)
    try format.end(counts, failure: failure)
    if let failure { throw failure }
    try output.finish()
    for table in [old, new] {
      Messages.writeDiagnostics(of: table.source, location: table.subject)
    }
    return invocation.exitsByDifference && !counts.areZero ? .failed : .done
  }

  /// Writes all changes. Returns the failure of a table; throws only errors of the output.
  private func write(
    _ comparison: TableComparison, to format: inout any DiffFormat, _ counts: inout DiffCounts
  ) throws(Failure) -> Failure? {
    var broken: Failure?
    do throws(TableError) {
      try comparison.forEachDetail(includesIDs: format.usesIDs) { detail throws(TableError) in
        counts.add(detail.change)
        do throws(Failure) {
          try format.write(detail)
        } catch {
          broken = error
          throw TableError(.cancelled, "the output ended")
        }
      }
    } catch {
      if let broken { throw broken }
      return .of(error, subject: subject)
    }
    return nil
  }
}

/// The numbers of changes of a comparison.
struct DiffCounts {
  /// The changes of one kind of thing.
  struct Kinds {
    var deleted = 0
    var inserted = 0
    var changed = 0
    var moved = 0

    /// The counts with their names, in the order of reports.
    var list: [(count: Int, verb: String)] {
      [(deleted, "deleted"), (inserted, "inserted"), (changed, "changed"), (moved, "moved")]
    }
  }

  private(set) var rows = Kinds()
  private(set) var sections = Kinds()
  private(set) var columns = Kinds()

  init(_ columns: ComparedColumns) {
    self.columns.deleted = columns.deleted.count
    self.columns.inserted = columns.inserted.count
    self.columns.changed = columns.pairs.count(where: \.isText)
  }

  mutating func add(_ change: TableComparison.Change) {
    if change.isOfSection { Self.add(change, to: &sections) } else { Self.add(change, to: &rows) }
  }

  private static func add(_ change: TableComparison.Change, to kinds: inout Kinds) {
    switch change {
    case .delete: kinds.deleted += 1
    case .insert: kinds.inserted += 1
    case .set: kinds.changed += 1
    case .move: kinds.moved += 1
    }
  }

  /// Whether the tables are equal.
  var areZero: Bool {
    [rows, sections, columns].allSatisfy { $0.list.allSatisfy { $0.count == 0 } }
  }

  /// `deleted 2 rows, inserted 1 row, changed 1 column`.
  var text: String {
    if areZero { return "no differences" }
    let kinds = [(columns, "column"), (sections, "section"), (rows, "row")]
    return kinds.flatMap { kinds, noun in
      kinds.list.filter { $0.count > 0 }.map {
        "\($0.verb) \($0.count) \(noun)\($0.count == 1 ? "" : "s")"
      }
    }.joined(separator: ", ")
  }

  var json: JSONValue {
    func object(_ kinds: Kinds) -> JSONValue {
      .object(JSONObject(kinds.list.map { ($0.verb, .number("\($0.count)")) }))
    }
    return .object([
      "rows": object(rows), "sections": object(sections), "columns": object(columns),
    ])
  }
}
