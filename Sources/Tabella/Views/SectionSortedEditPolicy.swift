/// The rules for edits of a view that orders the sections.
///
/// Rows can be moved as in the base. Sections cannot be edited, because their order is not that of the base.
struct SectionSortedEditPolicy: EditPolicy {
  let view: SectionSortedSource

  var allowsMoves: Bool { base.moving != nil }

  var sectionRefusal: TableError? {
    TableError(
      .notSupported, "the sections are not in the order of the table and cannot be edited here")
  }

  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget {
    let baseSection = try view.baseSection(of: section) ?? section
    return .before(IndexPath(section: baseSection, row: rows.arrivals[index].nextSurvivor))
  }

  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    IndexPath(section: try view.section(ofBase: target.section), row: target.row)
  }
}
