import Tabella

/// A way to write the changes of a comparison.
protocol DiffFormat {
  /// Whether it writes the ids of rows.
  var usesIDs: Bool { get }

  /// Writes the text in front of the changes.
  mutating func begin() throws(Failure)

  mutating func write(_ detail: TableComparison.Detail) throws(Failure)

  /// Writes the text after the changes. With a failure, they are incomplete.
  mutating func end(_ counts: DiffCounts, failure: Failure?) throws(Failure)
}

/// The formats of `diff`.
enum DiffFormats {
  static let names = ["text", "json", "apply"]

  static func make(
    _ run: DiffRun, _ comparison: TableComparison, _ output: Output
  ) -> any DiffFormat {
    switch run.invocation.format {
    case "json": DiffJSON(run, comparison, output)
    case "apply": DiffEdits(run, comparison, output)
    default: DiffText(run, comparison, output)
    }
  }
}

extension IndexPath {
  /// The name of the row or section in all commands: `0:5`, or `2:` for a section.
  var name: String { isSection ? "\(section):" : description }
}

extension ComparedColumns {
  /// The indices of the pairs whose cells differ.
  func changed(_ detail: TableComparison.Detail) -> [Int] {
    pairs.indices.filter {
      !detail.oldCells.isSame($0, as: detail.newCells, asText: pairs[$0].isText)
    }
  }
}
