import Tabella

/// The positions and cells of rows after they were inserted or moved.
///
/// A view, or a source that orders its rows itself, may put a row at another position than the requested one.
struct EditEffects {
  let table: ShapedTable
  let chosen: ChosenRows
  let isDryRun: Bool

  private var source: any TableDataSource { table.source }

  /// Whether rows always get the requested positions.
  private var keepsPlaces: Bool {
    !source.hasVolatileOrder && table.tables.count == 1 && table.tables[0].source === source
  }

  /// The position of an edit's row in the table that the options show. After a dry run it is the expected
  /// position. Nil if it is not known.
  func place(of edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    tablePlace(of: edit, outcome).flatMap(onShow)
  }

  /// The position in the whole table.
  private func tablePlace(of edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    guard outcome.code == nil, let target = edit.target else { return nil }
    if edit.isOfSection { return target }
    if isDryRun { return keepsPlaces || edit.isTargetSure ? target : nil }
    // A move that left its row in place has no new id.
    guard let id = outcome.id ?? (edit.kind == .move ? edit.id : nil),
      let identity = source.identity
    else { return keepsPlaces ? target : nil }
    return try? identity.indexPath(forID: id)
  }

  /// Converts a position of the table to one in the shown rows; nil if the row is not shown.
  private func onShow(_ path: IndexPath) -> IndexPath? {
    guard !chosen.isEverything, !path.isSection else { return path }
    var runs = chosen.makeIterator()
    var number = 0
    while let run = try? runs.run(), run.section <= path.section {
      if run.section == path.section {
        return run.rows.contains(path.row)
          ? IndexPath(section: number, row: path.row - run.rows.lowerBound) : nil
      }
      number += 1
    }
    return nil
  }

  /// The new position of an edit's row, and the cells that the move changed: `to Berlin:3 (city: Rome → Berlin)`.
  /// Empty if the position is not known. `before` is the row before the edit.
  func effect(
    of edit: PlannedEdit, _ outcome: EditResult.Outcome, before: RowCells?
  ) -> String {
    guard let place = tablePlace(of: edit, outcome), let shown = onShow(place) else { return "" }
    let title = title(of: place)
    var text =
      " \(edit.kind == .insert ? "at" : "to") \(name(of: shown, inSectionTitled: title))"
    // The requested position is one in the whole table.
    if chosen.isEverything, let asked = edit.asked, !edit.isAsAsked(place, inSectionTitled: title) {
      let name = name(of: asked, inSectionTitled: edit.askedTitle)
      text += ", not \(edit.kind == .insert ? "at" : "to") \(name) as requested"
    }
    guard edit.kind == .move, !edit.isOfSection, let before,
      let after = try? source.wholeRows(at: [place]).first
    else { return text }
    let changes = zip(source.columns, zip(before.cells, after.cells)).filter { $1.0 != $1.1 }
      .map { "\($0.name): \($1.0) → \($1.1)" }
    return changes.isEmpty ? text : "\(text) (\(changes.joined(separator: ", ")))"
  }

  private func title(of place: IndexPath) -> String? {
    try? source.sections?.title(.header, ofSection: place.section)
  }

  /// A position with the title of its section, if there is one.
  private func name(of place: IndexPath, inSectionTitled title: String?) -> String {
    if place.isSection { return "position \(place.section) of the sections" }
    let section = title.map { SectionArgument.text(ofTitle: $0) } ?? "\(place.section)"
    return "\(section):\(place.row)"
  }
}

extension PlannedEdit {
  /// Whether this is the requested position. If the title of the requested section is known, it decides, because
  /// sections can have other numbers after the edit.
  func isAsAsked(_ place: IndexPath, inSectionTitled title: String? = nil) -> Bool {
    guard let asked else { return true }
    let isInSection = askedTitle.map { $0 == title } ?? (place.section == asked.section)
    return isInSection && (asksForEnd || place.row == asked.row)
  }
}
