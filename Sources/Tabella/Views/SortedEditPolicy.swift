/// The rules for edits of a sorted view.
///
/// The sort determines the position of a row within its section. Rows can be moved only over groups, to another
/// group.
struct SortedEditPolicy: EditPolicy {
  let view: SortedSource

  var allowsMoves: Bool { hasGroups && base.moving != nil }

  func movable(_ paths: [IndexPath], elsewhere: Bool) throws(TableError) -> [Bool] {
    try movableInBase(paths, elsewhere: true)
  }

  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget {
    guard changes[rows.arrivals[index].change].source?.section != section else {
      throw TableError(
        .constraint, "rows cannot be moved within a section of a sorted table")
    }
    return .before(try baseEnd(ofSection: section))
  }
}
