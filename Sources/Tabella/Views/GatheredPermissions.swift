// Questions about the edits and moves of rows of many sections.
//
// Rows that follow each other in a view can be anywhere in its base. So a view passes all of them to its base at once,
// and the source below the views is asked about runs of rows.

extension TableDataSource {
  /// Whether each of these existing rows can be edited and deleted.
  /// - Complexity: O(n log n). The source below the views is also asked about rows between these.
  package func editability(at paths: [IndexPath]) throws(TableError) -> [RowEditability] {
    if let view = self as? MappedSource {
      return try view.base.editability(at: view.basePaths(of: paths))
    }
    guard let editing else { return paths.map { _ in [] } }
    return try answers(at: paths, []) { rows, section throws(TableError) in
      try editing.editability(ofRows: rows, inSection: section)
    }
  }

  /// Whether each of these existing rows can be moved.
  /// - Complexity: like ``editability(at:)``.
  package func movability(at paths: [IndexPath]) throws(TableError) -> [Bool] {
    guard let moving else { return paths.map { _ in false } }
    if let view = self as? MappedSource {
      return try view.editPolicy.movable(paths, elsewhere: false)
    }
    return try answers(at: paths, false) { rows, section throws(TableError) in
      try moving.movability(ofRows: rows, inSection: section)
    }
  }

  /// Asks about rows, one run at a time. `none` fills missing answers.
  private func answers<Answer>(
    at paths: [IndexPath], _ none: Answer,
    _ ask: (Range<Int>, Int) throws(TableError) -> [Answer]
  ) throws(TableError) -> [Answer] {
    var answers = [Answer](repeating: none, count: paths.count)
    let plan = RunPlan(paths, joiningOver: RunPlan.answerableGap)
    for run in plan.runs {
      let some = try ask(run.rows, run.section)
      for member in plan.order[run.members] {
        let index = paths[member].row - run.rows.lowerBound
        if some.indices.contains(index) { answers[member] = some[index] }
      }
    }
    return answers
  }
}
