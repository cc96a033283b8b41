import Tabella

/// A summary of edits in one line, for reports and the log. It is made before the edits, because rows may be gone
/// afterwards.
package struct EditSummary {
  /// One edit.
  private struct Item {
    let edit: EditBatch.Edit
    /// The label of the row or section for people; nil if it was not read.
    var label: String?
  }

  private var items: [Item] = []
  private var columns: [Column] = []
  /// The effect of a single edit that was done, such as its new position: ` to 0:3`. Called after the edit.
  package var effect: (EditResult.Outcome) -> String = { _ in "" }

  /// The maximum number of rows that a summary names.
  package static let labels = 3

  /// An empty summary, for a dry run.
  package init() {}

  /// A summary of edits with labels of sections. `rows` are the current cells of the first few edits; nil for a row
  /// that does not exist yet. `ids` are the ids of these rows, as far as they are known.
  package init(
    _ edits: [(edit: EditBatch.Edit, label: String?)], rows: [[Cell]?], ids: [String?] = [],
    _ columns: [Column]
  ) {
    items = edits.map { Item(edit: $0.edit, label: $0.label) }
    self.columns = columns
    for (number, row) in rows.enumerated() where !items[number].edit.isOfSection {
      let cells = row ?? columns.indices.map { items[number].edit.cells[$0] ?? .missing }
      let id = ids.indices.contains(number) ? ids[number] : nil
      items[number].label = EditSummary.label(of: cells, columns) ?? id.map { "id:\($0)" }
    }
  }

  /// A summary of a batch. Reads the first few rows and sections from the source, as far as it can.
  init(_ batch: EditBatch, on source: any TableDataSource) {
    let first = batch.edits.prefix(EditSummary.labels)
    let rows = first.map { source.row(of: $0) }
    self.init(
      batch.edits.enumerated().map { number, edit in
        (edit, number < first.count ? source.sectionLabel(of: edit) : nil)
      }, rows: rows.map { $0?.cells }, ids: rows.map { $0?.id }, source.columns)
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
    var done = result.map { zip(items, $0.outcomes).filter { $1.code == nil } } ?? []
    let single = items.count == 1 ? done.first.map { effect($1) } : nil
    // The edit was made, but an error occurred afterwards.
    if done.isEmpty { done = items.map { ($0, .init()) } }
    return text(done, effect: single ?? "")
  }

  /// The edits of a result that have an effect that cannot be undone; nil if there are none.
  func remainder(of result: EditResult) -> String? {
    // The summary describes each edit.
    let final = zip(items, result.outcomes).filter { $1.isFinal }
    return final.isEmpty ? nil : text(final.map { item, _ in (item, EditResult.Outcome()) })
  }

  /// `changed 1 row (price): Ada`; `deleted 2 rows, inserted 1 row: a.txt, b.txt, c.txt`; `moved 1 row to
  /// Berlin:3 (city: Rome → Berlin): Ada`, with `effect` after the count. A message of the source about all rows
  /// is at the end: `deleted 1 row: 4711 root sleep (sent TERM)`.
  private func text(
    _ done: [(item: Item, outcome: EditResult.Outcome)], effect: String = ""
  ) -> String {
    let kinds = Kind.allCases.flatMap { kind in
      [false, true].compactMap { isOfSection -> String? in
        let some = done.map(\.item.edit).filter {
          $0.kind == kind && $0.isOfSection == isOfSection
        }
        guard !some.isEmpty else { return nil }
        let count = EditSummary.counted(some.count, sections: isOfSection ? some.count : 0)
        let what = "\(kind.past(isOfSection: isOfSection)) \(count)"
        guard kind == .set, !isOfSection else { return what }
        let numbers = Set(some.flatMap(\.cells.keys)).sorted()
        let names = numbers.filter(columns.indices.contains).map {
          EditSummary.shortened(columns[$0].name, to: 40)
        }
        let more = names.count > 5 ? ", …" : ""
        return "\(what) (\(names.prefix(5).joined(separator: ", "))\(more))"
      }
    }.joined(separator: ", ")
    let labels = done.compactMap(\.item.label)
    var summary = kinds + effect
    if !labels.isEmpty {
      summary +=
        ": \(labels.joined(separator: ", "))\(done.count > labels.count ? ", …" : "")"
    }
    if let remark = done.first?.outcome.message, done.allSatisfy({ $0.outcome.message == remark }) {
      summary += " (\(EditSummary.shortened(remark, to: 60)))"
    }
    return summary
  }
}

/// The kinds of edits, in the order of a summary.
private enum Kind: CaseIterable {
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
