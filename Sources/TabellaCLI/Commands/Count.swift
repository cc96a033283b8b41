import Tabella
import TabellaHost

extension Command {
  static let count = Command(
    name: "count", operands: "LOCATION", summary: "prints the number of rows",
    options: OptionSpec.opening + [.columns, .rows, .limit, .json],
    examples: [("tabella count data.csv", "the rows of a file, its header apart")]
  ) { invocation, output throws(Failure) in
    let table = try openTable(invocation, command: "count")
    // They do not change the count, but a wrong name is a mistake here too.
    _ = try columnNumbers(invocation.columns, of: table.source, command: "count")
    let total = try Failure.about(table.location.description) { () throws(TableError) in
      try countRows(table.source)
    }
    let range = invocation.range
    let count = max(0, min(total, range.upperBound) - min(total, range.lowerBound))
    try output.write(invocation.isJSON ? "{\"rows\":\(count)}\n" : "\(count)\n")
    try output.flush()
    Messages.writeDiagnostics(of: table.source, location: table.location.description)
    return .done
  }

  private static func countRows(_ source: any TableDataSource) throws(TableError) -> Int {
    var total = 0
    for section in 0..<(try source.numberOfSections(knowing: .max)).value {
      let (sum, overflow) = total.addingReportingOverflow(
        try source.exactNumberOfRows(inSection: section))
      guard !overflow else { throw TableError(.misbehaved, "there are more than 2^63 rows") }
      total = sum
    }
    return total
  }
}
