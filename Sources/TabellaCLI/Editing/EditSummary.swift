import Tabella

/// What was done, in a line: for who did it, and for the log.
enum EditSummary {
  /// The edits, the first few with titles, as far as those can be had.
  static func entitled(
    _ edits: [PlannedEdit], of source: any TableDataSource
  ) -> [PlannedEdit] {
    var some = Array(edits.prefix(titles))
    guard let rows = try? source.wholeRows(of: some) else { return edits }
    for (number, row) in rows.enumerated() {
      let cells = row?.cells ?? source.columns.indices.map { some[number].cells[$0] ?? .missing }
      some[number].title = title(of: cells, source.columns)
    }
    return some + edits.dropFirst(some.count)
  }

  /// What people know a row by: its first cell, or if that is no text (a number that may be another's
  /// later) all of its texts behind it.
  private static func title(of cells: [Cell], _ columns: [Column]) -> String? {
    let isText = columns.first?.type == .text
    let known = cells.indices.filter {
      $0 == 0 || (!isText && columns[$0].type == .text && !cells[$0].description.isEmpty)
    }
    let text = known.filter { cells[$0] != .missing }.map { "\(cells[$0])" }.joined(separator: " ")
    return text.isEmpty ? nil : shortened(text, to: isText ? 40 : 60)
  }

  private static func shortened(_ text: String, to length: Int) -> String {
    text.count > length ? "\(text.prefix(length - 1))…" : text
  }

  /// How many rows a summary names at most.
  private static let titles = 3

  /// `change 1 row (price): Ada`; `delete 2 rows, insert 1 row: a.txt, b.txt, c.txt`; what the source says of
  /// all alike is behind it: `delete 1 row: 4711 root sleep (sent TERM)`.
  static func text(
    _ done: [(edit: PlannedEdit, outcome: EditResult.Outcome)], _ columns: [Column]
  ) -> String {
    let kinds = RequestedEdit.Kind.allCases.compactMap { kind -> String? in
      let some = done.map(\.edit).filter { $0.kind == kind }
      guard !some.isEmpty else { return nil }
      let rows = some.count == 1 ? "1 row" : "\(some.count) rows"
      guard kind == .set else { return "\(kind.rawValue) \(rows)" }
      let names = Set(some.flatMap(\.cells.keys)).sorted().map {
        shortened(columns[$0].name, to: 40)
      }
      let more = names.count > 5 ? ", …" : ""
      return "change \(rows) (\(names.prefix(5).joined(separator: ", "))\(more))"
    }.joined(separator: ", ")
    let titles = done.compactMap(\.edit.title)
    var summary = kinds
    if !titles.isEmpty {
      summary +=
        ": \(titles.joined(separator: ", "))\(done.count > titles.count ? ", …" : "")"
    }
    if let remark = done.first?.outcome.message, done.allSatisfy({ $0.outcome.message == remark }) {
      summary += " (\(shortened(remark, to: 60)))"
    }
    return summary
  }
}
