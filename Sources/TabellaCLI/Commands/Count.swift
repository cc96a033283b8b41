import Tabella
import TabellaTerminal

extension Command {
  static let count = Command(
    name: "count", operands: "LOCATION…", operandValues: [.location],
    summary: "print the number of rows",
    discussion: """
      Counts the rows that the options choose, which are the rows that `show` would print. With `--section-by` or \
      `--sections-by` the output has one line per section: its title, a tab, and its number of rows.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [.columns, .utc, .json],
    examples: [
      ("tabella count data.csv", "count the rows of a file, without its header"),
      (
        "tabella count data.csv --section-by city",
        "count the rows of each city; a line is TITLE, a tab, ROWS"
      ),
      (
        "tabella count src/ -o recursive=true --filter 'kind = file'",
        "count the files in a folder and its subfolders"
      ),
      (
        "tabella count src/ -o recursive=true -o sections=folder --sections-by rows:desc",
        "count the entries of each folder, the largest first"
      ),
    ], seeAlso: ["show", "filter", "sections"]
  ) { invocation, output throws(Failure) in
    let table = try ShapedTable(invocation, command: "count")
    let invocation = try invocation.resolved(in: table)
    let counts = try Failure.about(table.subject) { () throws(TableError) in
      try countSections(table, invocation.range)
    }
    let isPerSection = invocation.sectionBy != nil || invocation.sectionsBy != nil
    let total = counts.reduce(0) { $0 + $1.rows }
    if invocation.isJSON {
      var document: [String: JSONValue] = ["rows": .number("\(total)")]
      if isPerSection {
        let sections = counts.map { count in
          JSONValue.object([
            "title": count.title.map { JSONValue.string($0) } ?? .null,
            "rows": .number("\(count.rows)"),
          ])
        }
        document["sections"] = .array(sections)
      }
      try output.write(json: .object(document))
    } else if isPerSection {
      let (tab, lineEnd): (SafeText, SafeText) = ("\t", "\n")
      let rules = WidthRules.current
      for count in counts {
        // Titles are data. A line end or tab in a title would break the output format.
        try output.write(count.title.map { SafeText($0, by: rules) } ?? output.screen.missing)
        try output.write(tab)
        try output.write(count.rows)
        try output.write(lineEnd)
      }
    } else {
      try output.write("\(total)\n")
    }
    try output.finish()
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    return .done
  }

  /// The sections that a range of rows reaches, each with the number of its rows in the range.
  private static func countSections(
    _ table: ShapedTable, _ range: Range<Int>
  ) throws(TableError) -> [(title: String?, rows: Int)] {
    var counts: [(title: String?, rows: Int)] = []
    var total = 0
    let sections = table.source.sections
    var runs = ChosenRows(table, range: range).makeIterator()
    while let run = try runs.run() {
      let (sum, overflow) = total.addingReportingOverflow(run.rows.count)
      guard !overflow else { throw TableError(.misbehaved, "there are more than 2^63 rows") }
      total = sum
      counts.append((try sections?.title(.header, ofSection: run.section), run.rows.count))
    }
    return counts
  }
}
