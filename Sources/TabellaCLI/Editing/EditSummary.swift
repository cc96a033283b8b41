import Tabella

/// A summary of edits in one line, for the report and the log.
enum EditSummary {
  /// The edits, the first few of them with labels. `rows` are the current rows of these.
  static func labelled(
    _ edits: [PlannedEdit], _ rows: [RowCells?], _ columns: [Column]
  ) -> [PlannedEdit] {
    var edits = edits
    for (number, row) in rows.enumerated() where !edits[number].isOfSection {
      let cells = row?.cells ?? columns.indices.map { edits[number].cells[$0] ?? .missing }
      edits[number].label = label(of: cells, columns)
    }
    return edits
  }

  /// The label of a row: its first cell. If the first cell is not text (such as a number that another row can have
  /// later), all cells with text follow it.
  private static func label(of cells: [Cell], _ columns: [Column]) -> String? {
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

  /// The maximum number of rows that a summary names.
  static let labels = 3

  /// `1 row`, `3 sections`, or `4 edits` of both.
  static func counted(_ edits: some Collection<PlannedEdit>) -> String {
    let sections = edits.count { $0.isOfSection }
    let noun = sections == 0 ? "row" : sections == edits.count ? "section" : "edit"
    return "\(edits.count) \(noun)\(edits.count == 1 ? "" : "s")"
  }

  /// `changed 1 row (price): Ada`; `deleted 2 rows, inserted 1 row: a.txt, b.txt, c.txt`; `moved 1 row to
  /// Berlin:3 (city: Rome → Berlin): Ada`, with `effect` after the count. A message of the source about all rows
  /// is at the end: `deleted 1 row: 4711 root sleep (sent TERM)`.
  static func text(
    _ done: [(edit: PlannedEdit, outcome: EditResult.Outcome)], _ columns: [Column],
    effect: String = ""
  ) -> String {
    let kinds = RequestedEdit.Kind.allCases.flatMap { kind in
      [false, true].compactMap { isOfSection -> String? in
        let some = done.map(\.edit).filter { $0.kind == kind && $0.isOfSection == isOfSection }
        guard !some.isEmpty else { return nil }
        let what = "\(kind.past(isOfSection: isOfSection)) \(counted(some))"
        guard kind == .set, !isOfSection else { return what }
        let names = Set(some.flatMap(\.cells.keys)).sorted().map {
          shortened(columns[$0].name, to: 40)
        }
        let more = names.count > 5 ? ", …" : ""
        return "\(what) (\(names.prefix(5).joined(separator: ", "))\(more))"
      }
    }.joined(separator: ", ")
    let labels = done.compactMap(\.edit.label)
    var summary = kinds + effect
    if !labels.isEmpty {
      summary +=
        ": \(labels.joined(separator: ", "))\(done.count > labels.count ? ", …" : "")"
    }
    if let remark = done.first?.outcome.message, done.allSatisfy({ $0.outcome.message == remark }) {
      summary += " (\(shortened(remark, to: 60)))"
    }
    return summary
  }
}

extension RequestedEdit.Kind {
  fileprivate func past(isOfSection: Bool) -> String {
    switch self {
    case .set: isOfSection ? "renamed" : "changed"
    case .insert: "inserted"
    case .delete: "deleted"
    case .move: "moved"
    }
  }
}
