import Tabella

/// The options of `summarize`.
struct SummaryArguments {
  /// `COLUMN[:CLASS],…`
  var by: String?
  /// `rows, sum C, …`
  var compute: String?
  /// Each `COLUMN OP VALUE` about the groups.
  var conditions: [Argument] = []
}

extension OptionSpec {
  static let by = OptionSpec(
    names: ["--by"], argument: "COLUMN[:CLASS],…",
    summary:
      "make a group per value of COLUMN, or per class of values; without it, all rows are one",
    detail: classes, values: .groupings, repeats: true
  ) { invocation, value throws(Failure) in invocation.summary.by.add(list: value) }

  static let compute = OptionSpec(
    names: ["--compute"], argument: "'AGGREGATE, …'",
    summary: "compute these from the rows of each group; the default is rows",
    detail: aggregates, values: .aggregates, repeats: true
  ) { invocation, value throws(Failure) in invocation.summary.compute.add(list: value) }

  static let having = OptionSpec(
    names: ["--having"], argument: "'COLUMN OP VALUE'",
    summary: "keep groups that match, such as 'rows > 1' or 'sum amount >= 100'; can be repeated",
    values: .resultFilter, repeats: true
  ) { invocation, value throws(Failure) in invocation.summary.conditions.append(value) }

  static let footer = OptionSpec(
    names: ["--footer"], argument: "'AGGREGATE, …'",
    summary: "compute these for each section and the table",
    values: .aggregates, repeats: true
  ) { invocation, value throws(Failure) in invocation.footer.add(list: value) }

  /// The description of the aggregates.
  private static let aggregates = """
    AGGREGATE is `rows`, or another one with a column: `sum amount`. `distinct *` means every column, and `sum *` \
    every column that has a type of numbers
    """

  /// The same option, for columns of the result.
  static func ofResult(_ spec: OptionSpec, _ summary: String, _ values: Completion) -> OptionSpec {
    OptionSpec(
      names: spec.names, argument: spec.argument, summary: summary, values: values,
      apply: spec.apply)
  }
}
