import Tabella

/// A summary of edits in one line, for reports and the log. It is made before the edits, because rows may be gone
/// afterwards.
package struct EditSummary {
  private var edits: [EditBatch.Edit] = []
  /// The labels of rows and sections for people, as far as they were read. The key is the index of the edit.
  private var labels: [Int: String] = [:]
  private var columns: [Column] = []
  /// The effect of a single edit that was done, such as its new position: ` to 0:3`. Called after the edit.
  package var effect: (EditResult.Outcome) -> String = { _ in "" }

  /// The maximum number of rows that a summary names.
  package static let mostRows = 3

  /// An empty summary, for a dry run.
  package init() {}

  /// A summary of edits. `labels` are those of sections, by the index of the edit. `rows` are the current cells of the
  /// first few edits; nil for a row that does not exist yet. `ids` are the ids of these rows, as far as they are known.
  package init(
    _ edits: [EditBatch.Edit], labels: [Int: String] = [:], rows: [[Cell]?], ids: [String?] = [],
    _ columns: [Column]
  ) {
    (self.edits, self.labels, self.columns) = (edits, labels, columns)
    for (number, row) in rows.enumerated() where !edits[number].isOfSection {
      let cells = row ?? columns.indices.map { edits[number].cells[$0] ?? .missing }
      let id = ids.indices.contains(number) ? ids[number] : nil
      self.labels[number] = EditSummary.label(of: cells, columns) ?? id.map { "id:\($0)" }
    }
  }

  /// A summary of a batch. Reads the first few rows and sections from the source, as far as it can.
  init(_ batch: EditBatch, on source: any TableDataSource) {
    let first = batch.edits.prefix(EditSummary.mostRows)
    let rows = first.map { source.row(of: $0) }
    var labels: [Int: String] = [:]
    for (number, edit) in first.enumerated() { labels[number] = source.sectionLabel(of: edit) }
    self.init(
      batch.edits, labels: labels, rows: rows.map { $0?.cells }, ids: rows.map { $0?.id },
      source.columns.withUniqueNames)
  }

  /// The label of a row: its first cell that is neither missing nor empty, nor binary. If that cell is not text (such as
  /// a number that another row can have later), all cells with text follow it. Nil if there is no such cell.
  private static func label(of cells: [Cell], _ columns: [Column]) -> String? {
    let present = cells.indices.filter {
      cells[$0] != .missing && cells[$0] != .text([]) && columns[$0].type != .binary
    }
    guard let first = present.first else { return nil }
    let isText = columns[first].type == .text
    let named = isText ? [first] : present.filter { $0 == first || columns[$0].type == .text }
    return shortened(named.map { "\(cells[$0])" }.joined(separator: " "), to: isText ? 40 : 60)
  }

  private static func shortened(_ text: String, to length: Int) -> String {
    text.count > length ? "\(text.prefix(length - 1))…" : text
  }

  /// `1 row`, `3 sections`, or `4 edits` of both.
  package static func counted(_ count: Int, sections: Int) -> String {
    let noun = sections == 0 ? "row" : sections == count ? "section" : "edit"
    return "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// The edits of a result that were done. Without a result, or if all failed: all edits.
  func text(of result: EditResult?) -> String {
    let outcomes = (result?.outcomes ?? []).prefix(edits.count)
    let done = outcomes.indices.filter { outcomes[$0].code == nil }
    // The edit was made, but an error occurred afterwards.
    guard let first = done.first else { return text(of: Array(edits.indices)) }
    return text(
      of: done, effect: edits.count == 1 ? effect(outcomes[first]) : "",
      remark: outcomes[first].message.flatMap { remark in
        done.allSatisfy { outcomes[$0].message == remark } ? remark : nil
      })
  }

  /// The edits of a result that have an effect that cannot be undone; nil if there are none.
  func remainder(of result: EditResult) -> String? {
    let outcomes = result.outcomes.prefix(edits.count)
    let final = outcomes.indices.filter { outcomes[$0].isFinal }
    return final.isEmpty ? nil : text(of: final)
  }

  /// `changed 1 row (price): Ada`; `deleted 2 rows, inserted 1 row: a.txt, b.txt, c.txt`; `moved 1 row to
  /// Berlin:3 (city: Rome → Berlin): Ada`, with `effect` after the count. A message of the source about all rows
  /// is at the end: `deleted 1 row: 4711 root sleep (sent TERM)`.
  private func text(of numbers: [Int], effect: String = "", remark: String? = nil) -> String {
    var counts = [Int](repeating: 0, count: 2 * Kind.allCases.count)
    var set: Set<Int> = []
    for number in numbers {
      let (kind, isOfSection) = (edits[number].kind, edits[number].isOfSection)
      counts[2 * kind.rawValue + (isOfSection ? 1 : 0)] += 1
      if kind == .set, !isOfSection { set.formUnion(edits[number].cells.keys) }
    }
    let kinds = Kind.allCases.flatMap { kind in
      [false, true].compactMap { isOfSection -> String? in
        let count = counts[2 * kind.rawValue + (isOfSection ? 1 : 0)]
        guard count > 0 else { return nil }
        let what =
          "\(kind.past(isOfSection: isOfSection)) \(EditSummary.counted(count, sections: isOfSection ? count : 0))"
        guard kind == .set, !isOfSection else { return what }
        let names = set.sorted().filter(columns.indices.contains).map {
          EditSummary.shortened(columns[$0].name, to: 40)
        }
        let more = names.count > 5 ? ", …" : ""
        return "\(what) (\(names.prefix(5).joined(separator: ", "))\(more))"
      }
    }.joined(separator: ", ")
    let labels: [String] = labels.isEmpty ? [] : numbers.compactMap { self.labels[$0] }
    var summary = kinds + effect
    if !labels.isEmpty {
      let more = numbers.count > labels.count ? ", …" : ""
      summary += ": \(labels.joined(separator: ", "))\(more)"
    }
    if let remark { summary += " (\(EditSummary.shortened(remark, to: 60)))" }
    return summary
  }
}

/// The kinds of edits, in the order of a summary.
private enum Kind: Int, CaseIterable {
  case set, insert, delete, move

  func past(isOfSection: Bool) -> String {
    switch self {
    case .set: isOfSection ? "renamed" : "changed"
    case .insert: "inserted"
    case .delete: "deleted"
    case .move: "moved"
    }
  }
}

extension EditBatch.Edit {
  fileprivate var kind: Kind {
    switch self {
    case .set: .set
    case .insert: .insert
    case .delete: .delete
    case .move: .move
    }
  }

  /// The row or section that exists before the edit; nil for an insertion.
  fileprivate var reference: RowReference? {
    switch self {
    case .insert: nil
    case .set(let row, _), .delete(let row), .move(let row, _): row
    }
  }

  fileprivate var cells: [Int: Cell] {
    switch self {
    case .insert(_, let cells), .set(_, let cells): cells
    case .delete, .move: [:]
    }
  }

  fileprivate var isOfSection: Bool {
    if case .insert(let path, _) = self { path.isSection } else { reference?.isSection ?? false }
  }
}

extension TableDataSource {
  /// The title of the section that an edit names or inserts; nil for a row, and if there is no title.
  fileprivate func sectionLabel(of edit: EditBatch.Edit) -> String? {
    guard edit.isOfSection else { return nil }
    guard case .path(let path)? = edit.reference else {
      return edit.cells[EditBatch.sectionTitle]?.string
    }
    return try? sections?.title(.header, ofSection: path.section)
  }

  /// The current cells and the id of the row that an edit names; nil for an insertion, a section, and a row that cannot
  /// be read.
  fileprivate func row(of edit: EditBatch.Edit) -> (cells: [Cell], id: String?)? {
    let path: IndexPath
    switch edit.reference {
    case .path(let row)? where !row.isSection: path = row
    case .id(let id)?:
      guard let row = try? identity?.indexPath(forID: id) else { return nil }
      path = row
    default: return nil
    }
    let numbers = columns.usualNumbers
    let batch = try? rows(
      RowRequest(
        section: path.section, first: path.row, count: 1, columns: numbers,
        includesIDs: identity != nil))
    return batch.flatMap { batch in
      batch.rowCount == 0 ? nil : (batch.row(0, of: numbers, in: columns), batch.id(0))
    }
  }
}
