// Edits and moves of a view, passed to its base.

extension MappedSource: TableEditing, TableMoving {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try begin()
    guard base.editing != nil else { throw .viewIsReadOnly }
    return try answers(for: rows, section) { paths throws(TableError) in
      try editability(at: paths)
    }
  }

  public func editableColumns() throws(TableError) -> [Bool]? {
    try base.editing?.editableColumns()
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try begin()
    guard moving != nil else { throw .viewHasOtherOrder }
    return try answers(for: rows, section) { paths throws(TableError) in
      try movability(at: paths)
    }
  }

  /// Answers about rows of a section, a part of them at a time.
  private func answers<Answer>(
    for rows: Range<Int>, _ section: Int, _ ask: ([IndexPath]) throws(TableError) -> [Answer]
  ) throws(TableError) -> [Answer] {
    try checkRows(rows, section)
    var answers: [Answer] = []
    answers.reserveCapacity(rows.count)
    for rows in rows.chunks {
      answers += try ask(rows.map { IndexPath(section: section, row: $0) })
    }
    return answers
  }

  /// Throws ``TableError`` with `.notFound` unless all rows of a range exist.
  func checkRows(_ rows: Range<Int>, _ section: Int) throws(TableError) {
    guard rows.lowerBound >= 0, section >= 0 else {
      throw TableError(.invalidArgument, "section \(section), rows \(rows) cannot be requested")
    }
    let count = try count(inSection: section, knowing: rows.upperBound).value
    guard rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
  }

  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    try begin()
    guard moving != nil else { throw .viewHasOtherOrder }
    let from = try basePath(of: source)
    let edits = try EditTranslation(for: self).baseEdits([.move(.path(source), to: proposed)]).edits
    guard case .move(_, let to) = edits[0], let moving = base.moving else {
      // The row keeps its position in the base and gets another value.
      return try editPolicy.path(ofBase: from, proposed: proposed)
    }
    let target = try moving.target(ofMoveFrom: from, to: to)
    guard target != to else { return proposed }
    return try editPolicy.path(ofBaseTarget: target, from: from, proposed: proposed)
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    try begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    var mapped = batch
    if let wanted = batch.version {
      mapped.version = try baseVersion()
      let token = try token(mapped.version)
      guard token == wanted else {
        throw TableError(
          .conflict, "the table is at version \(token?.token ?? "none"), not \(wanted)")
      }
    }
    let edits = try EditTranslation(for: self).baseEdits(batch.edits)
    mapped.edits = edits.edits
    // The translation is valid only for this version of the base.
    mapped.version = mapped.version ?? pin
    return try moving(on: batch.isDryRun) { () throws(TableError) in
      var result = try editing.commit(mapped)
      let outcomes = result.outcomes
      result.outcomes = edits.answers.compactMap {
        outcomes.indices.contains($0) ? outcomes[$0] : nil
      }
      return result
    }
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved in a sorted or grouped table")
}
