/// The rules for edits of a filtered view.
///
/// Rows can be moved as in the base. A row that arrives in front of a shown row arrives directly in front of it in the
/// base. A section can be deleted only if the view hides none of its rows.
struct FilteredEditPolicy: EditPolicy {
  let view: FilteredSource

  var showsEveryRow: Bool { false }
  var allowsMoves: Bool { base.moving != nil }

  func checkShowsAll(ofSection section: Int) throws(TableError) {
    guard try !view.hidesRows(ofSection: section) else {
      throw TableError(
        .constraint,
        "section \(section) contains rows that the filter hides, and deleting a section deletes all its rows; "
          + "delete it without the filter", section: section)
    }
    try basePolicy?.checkShowsAll(ofSection: section)
  }

  /// The base path directly in front of the next shown row, or the end of the base's section.
  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget {
    let next = IndexPath(section: section, row: rows.arrivals[index].nextSurvivor)
    if let path = try view.shownBasePath(of: next) { return .before(path) }
    return .before(try baseEnd(ofSection: section))
  }

  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let isBehind = target.section == source.section && target.row >= source.row
    // The first base row after the target, and the number of shown rows in front of that row.
    let next = IndexPath(section: target.section, row: target.row + (isBehind ? 1 : 0))
    return IndexPath(
      section: target.section, row: try view.shownCount(before: next) - (isBehind ? 1 : 0))
  }
}
