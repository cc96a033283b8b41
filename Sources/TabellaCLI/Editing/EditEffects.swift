import Tabella

/// The positions and cells of rows after they were inserted or moved.
///
/// A view, or a source that orders its rows itself, may place a row elsewhere than the edit asked for.
struct EditEffects {
  let table: ShapedTable
  let chosen: ChosenRows
  let isDryRun: Bool

  private var source: any TableDataSource { table.source }

  /// Whether rows stand where they were asked for.
  private var keepsPlaces: Bool {
    !source.hasVolatileOrder && table.tables.count == 1 && table.tables[0].source === source
  }

  /// The place of an edit's row in the table that the options show, after a dry run the foreseen one; nil if
  /// it cannot be told.
  func place(of edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    tablePlace(of: edit, outcome).flatMap(onShow)
  }

  /// The same in the whole table.
  private func tablePlace(of edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    guard outcome.code == nil, let target = edit.target else { return nil }
    if edit.isOfSection { return target }
    if isDryRun { return keepsPlaces || edit.isTargetSure ? target : nil }
    guard let id = outcome.id, let identity = source.identity else {
      return keepsPlaces ? target : nil
    }
    return try? identity.indexPath(forID: id)
  }

  /// A place as it counts in the rows that the options show; nil if they do not show it.
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

  /// The place of an edit's row, and the cells that the move changed in it: `to Berlin:3 (city: Rome → Berlin)`;
  /// empty if that cannot be told. `before` is the row as it was.
  func effect(
    of edit: PlannedEdit, _ outcome: EditResult.Outcome, before: RowCells?
  ) -> String {
    guard let place = tablePlace(of: edit, outcome), let shown = onShow(place) else { return "" }
    let title = title(of: place)
    var text =
      " \(edit.kind == .insert ? "at" : "to") \(name(of: shown, inSectionTitled: title))"
    // The place that was asked for counts in the whole table.
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

  /// A place with the title of its section, if it has one.
  private func name(of place: IndexPath, inSectionTitled title: String?) -> String {
    if place.isSection { return "position \(place.section) of the sections" }
    let section = title.map { SectionArgument.text(ofTitle: $0) } ?? "\(place.section)"
    return "\(section):\(place.row)"
  }
}

extension PlannedEdit {
  /// Whether a row that stands here stands where it was asked for. A title decides which section was meant, as
  /// far as it was looked at: sections may have other numbers after the edit.
  func isAsAsked(_ place: IndexPath, inSectionTitled title: String? = nil) -> Bool {
    guard let asked else { return true }
    let isInSection = askedTitle.map { $0 == title } ?? (place.section == asked.section)
    return isInSection && (asksForEnd || place.row == asked.row)
  }
}
