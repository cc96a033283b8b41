import Tabella

// The options of `diff`.

extension OptionSpec {
  static let key = OptionSpec(
    names: ["--key"], argument: "COLUMN,…",
    summary: "rows with equal cells in these columns are versions of one row",
    detail: """
      Without keys, a row is changed if a row between the same equal rows has at least half of its cells. All other \
      rows are deleted or inserted
      """, values: .columns
  ) { invocation, value throws(Failure) in invocation.keys.add(list: value) }

  static let exitCode = OptionSpec(
    names: ["--exit-code"], argument: nil, summary: "end with status 1 if there are differences"
  ) { invocation, _ throws(Failure) in invocation.exitsByDifference = true }

  static let diffFormat = OptionSpec(
    names: ["--format"], argument: "FORMAT",
    summary: "\(DiffFormats.names.joined(separator: ", ")); the default is text",
    detail: """
      `json` is one document. `apply` is a batch of edits for `tabella apply A -`
      """,
    values: .choices(DiffFormats.names)
  ) { invocation, value throws(Failure) in
    guard DiffFormats.names.contains(value.text) else {
      throw .usage("must be one of \(DiffFormats.names.joined(separator: ", "))")
    }
    invocation.format = value.text
  }
}
