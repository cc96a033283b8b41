import Tabella

extension Command {
  static let summarize = Command(
    name: "summarize", operands: "LOCATION…", operandValues: [.location],
    summary: "print one row per group, with sums, means and other aggregates",
    discussion: """
      The rows with the same values in the columns of `--by` are a group. The result is a table with one row per \
      group: first the columns of `--by`, then one column per aggregate of `--compute`, named as written: \
      `sum amount`. The groups are in the order of their values, and the group of missing cells is last. Without \
      `--by` the result is one row for the whole table.

      `--filter` and `--search` choose the rows that count. `--having`, `--sort`, `--rows`, `-n` and `--columns` work \
      on the result, and use its column names.

        rows          the number of rows
        empty C       the number of missing and empty cells
        distinct C    the number of different values
        sum C         the sum of the numbers
        mean C        the sum, divided by the number of values
        median C      the middle number, or the mean of the two middle ones
        p95 C         the percentile by nearest rank, from `p1` to `p99`
        min C, max C  the first and the last value in the order of `--sort`
        first C, last C  the value of the first or last row that has one

      Missing and empty cells count for `rows` and `empty` only. Numbers in text count; other text is an error that \
      names the line and the row. Sums, medians and percentiles of integers and decimal numbers are exact. A mean is \
      rounded to \(Aggregate.significantDigits) digits if it needs more. Tables for people cut a fraction of more than \
      six digits to two decimals, or to three digits below 1.
      """,
    options: OptionSpec.opening + [
      .filter, .search, .by, .compute, .having,
      .ofResult(.sort, "sort the groups, ascending or descending", .resultSort), .rows, .limit,
      .ofResult(.columns, "show these columns of the result, in this order", .resultColumns),
      .format, .json, .noHeader, .utc, .watch,
    ] + OptionSpec.display,
    examples: [
      (
        "tabella summarize sales.csv --by region --compute 'rows, sum amount, mean amount' --sort 'sum amount:desc'",
        "compute totals per region, the largest first"
      ),
      ("tabella summarize data.csv --by name --having 'rows > 1'", "find values that occur twice"),
      (
        "tabella summarize src/ -o recursive=true --by name:extension --compute 'rows, sum size'",
        "count files and bytes per extension"
      ),
      (
        "tabella summarize sales.csv --by region,date:month --compute 'sum amount' --format csv",
        "write the amount per region and month as csv"
      ),
      (
        "tabella summarize processes: --by user --compute 'rows, sum memory' -n 5",
        "sum up memory per user"
      ),
      (
        "tabella summarize data.csv --compute 'distinct *'", "describe every column"
      ),
    ], seeAlso: ["show", "count"]
  ) { invocation, output throws(Failure) in
    let arguments = invocation.summary
    try Failure.usage(command: "summarize") { () throws(TableError) in
      if let text = arguments.compute { try Aggregate.check(text) }
      for condition in arguments.conditions { try Condition.check(condition.bytes) }
    }
    let name = invocation.format ?? "table"
    var opening = invocation
    // These options are about the result.
    (opening.columns, opening.sort) = (nil, nil)
    let unshaped = opening
    let open = { () throws(Failure) -> (table: ShapedTable, summary: ShapedTable) in
      let table = try ShapedTable(unshaped, command: "summarize")
      return (
        table,
        try ofCommand { () throws(Failure) in
          let (summary, means) = try summarized(table, invocation)
          return try shaped(summary, means, of: table, invocation)
        }
      )
    }
    try invocation.checkLive(name, output.screen, command: "summarize")
    if case .watch(let interval)? = invocation.live {
      return try Watching.run(invocation, output, interval: interval) { () throws(Failure) in
        try open().summary
      }
    }
    let (table, summary) = try open()
    let invocation = try invocation.resolved(in: summary)
    let shown = ShownTable(summary, hasHeader: invocation.hasHeader)
    var format = Formats.make(name, output, invocation, of: summary)
    try write(shown, in: &format, invocation, output)
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    return .done
  }

  /// Runs `body`. Errors of the command line refer to the help of the command.
  private static func ofCommand<R>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
    do throws(Failure) { return try body() } catch {
      throw error.status == .usage && error.subject == nil
        ? error.about(command: "summarize") : error
    }
  }

  /// One row per group of a table, and the numbers of the columns that are means.
  private static func summarized(
    _ table: ShapedTable, _ invocation: Invocation
  ) throws(Failure) -> (SummarizedSource, means: Set<Int>) {
    let (names, arguments) = (ColumnNames(table.source.columns), invocation.summary)
    let (groupings, aggregates) = try Failure.usage { () throws(TableError) in
      (
        try arguments.by.map { text throws(TableError) in try Grouping.list(text, names) } ?? [],
        try arguments.compute.map { text throws(TableError) in try Aggregate.list(text, names) }
          ?? [.rows]
      )
    }
    let means = aggregates.indices.filter { aggregates[$0].function == .mean }
    let summary = try Failure.about(table.subject) { () throws(TableError) in
      try table.source.summarized(
        by: groupings, computing: aggregates, in: invocation.dates.zone,
        onProgress: Progress.arranged)
    }
    return (summary, Set(means.map { groupings.count + $0 }))
  }

  /// The error for a condition that is none about the result. If it names an aggregate that could be computed, the
  /// message says so.
  private static func missing(
    _ condition: Argument, _ table: ShapedTable, _ error: TableError
  ) -> TableError {
    let name = condition.text.prefix { !"=!<>~".contains($0) }
    let names = ColumnNames(table.source.columns)
    guard let aggregates = try? Aggregate.list(String(name), names), aggregates.count == 1 else {
      return error
    }
    let text = aggregates[0].name(names)
    return TableError(
      .invalidArgument, "the result has no column \(text); add it to --compute")
  }

  /// The groups that the options choose, in the order that they request.
  private static func shaped(
    _ summary: SummarizedSource, _ means: Set<Int>, of table: ShapedTable, _ invocation: Invocation
  ) throws(Failure) -> ShapedTable {
    let names = ColumnNames(summary.columns)
    let (shape, columns) = try Failure.usage { () throws(TableError) in
      var shape = TableShape()
      for condition in invocation.summary.conditions {
        do throws(TableError) {
          shape.conditions.append(try Condition(condition.bytes, names))
        } catch {
          throw missing(condition, table, error)
        }
      }
      if let text = invocation.sort { shape.order = try SortDescriptor.list(text, names) }
      let columns = try invocation.columns.map { text throws(TableError) in
        try names.shown(text)
      }
      return (shape, columns)
    }
    guard Set(columns ?? []).count == columns?.count ?? 0 else {
      throw .usage("--columns names a column twice")
    }
    let source = try Failure.about(table.subject) { () throws(TableError) in
      try summary.shaped(by: shape, dates: invocation.dates)
    }
    return ShapedTable(summary: source, of: table, columns: columns, means: means)
  }
}
