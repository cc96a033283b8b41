import Tabella
import TabellaTerminal

extension Command {
  static let count = Command(
    name: "count", operands: "LOCATION…", operandValues: [.location],
    summary: "prints the number of rows",
    discussion: """
      Rows are counted after the options have chosen them, as `show` would print them. With `--section-by` \
      there is a line for each section: its title, a tab, its rows.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [.columns, .json],
    examples: [
      ("tabella count data.csv", "the rows of a file, its header apart"),
      ("tabella count data.csv --section-by city", "the rows of each city: TITLE, a tab, ROWS"),
      ("tabella count src/ -o recursive=true --filter 'kind = file'", "the files in a tree"),
    ], seeAlso: ["show"]
  ) { invocation, output throws(Failure) in
    let table = try ShapedTable(invocation, command: "count")
    let counts = try Failure.about(table.subject) { () throws(TableError) in
      try countSections(table, invocation.range)
    }
    let total = counts.reduce(0) { $0 + $1.rows }
    if invocation.isJSON {
      var document: [String: JSONValue] = ["rows": .number("\(total)")]
      if invocation.sectionBy != nil {
        let sections = counts.map { count in
          JSONValue.object([
            "title": count.title.map { JSONValue.string($0) } ?? .null,
            "rows": .number("\(count.rows)"),
          ])
        }
        document["sections"] = .array(sections)
      }
      try output.write(json: .object(document))
    } else if invocation.sectionBy != nil {
      for count in counts {
        // A title is data; a line end or a tab in it would make two of a line.
        let title = count.title.map { SafeText($0) } ?? output.screen.missing
        try output.write("\(title)\t\(count.rows)\n")
      }
    } else {
      try output.write("\(total)\n")
    }
    try output.finish()
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    return .done
  }

  /// The sections that a range of rows reaches, and how many of its rows are in each.
  private static func countSections(
    _ table: ShapedTable, _ range: Range<Int>
  ) throws(TableError) -> [(title: String?, rows: Int)] {
    var counts: [(title: String?, rows: Int)] = []
    var total = 0
    var runs = ChosenRows(table, range: range).makeIterator()
    while let run = try runs.run() {
      let (sum, overflow) = total.addingReportingOverflow(run.rows.count)
      guard !overflow else { throw TableError(.misbehaved, "there are more than 2^63 rows") }
      total = sum
      counts.append(
        (try table.source.sections?.title(.header, ofSection: run.section), run.rows.count))
    }
    return counts
  }
}
