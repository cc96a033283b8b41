import Tabella

// The laws of calls: any order, any size, senseless calls, cancelled calls.

extension Law {
  static let oddSizesAgree = Law(
    "odd-sizes-agree",
    "The cells are the same for any number of requested rows, from one to more than exist.",
    hint: "compute the end as first + min(count, rows - first): first + count can overflow"
  ) { trial in
    let source = try trial.open()
    let columns = Array(source.columns.indices)
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let whole = try trial.read(source, section: section, rows: 0..<count)
      let starts = Set([0, count / 2, max(0, count - 1), count].filter { $0 <= count }).sorted()
      for first in starts {
        for size in [1, 2, 3, 7, 31, 127, 251, 65_537, 1 << 31, 1 << 32 + 1, .max - first, .max] {
          let request = RowRequest(section: section, first: first, count: size, columns: columns)
          let batch = try trial.fetch(source, request)
          try require(
            batch.rowCount > 0 || first == count,
            "\(size) rows from row \(first) of section \(section) were requested, and none were returned"
          )
          // The source may have more rows than the model.
          let known = min(batch.rowCount, count - first)
          let (rows, expected) = (
            (0..<known).map { batch.row($0) }, Array(whole[first..<first + known])
          )
          try require(
            same(rows, expected),
            "\(size) rows from row \(first) of section \(section) differ: \(firstDifference(expected, rows))"
          )
        }
      }
    }
  }

  static let anyCallsAgree = Law(
    "any-calls-agree",
    "Each call returns the same result in any sequence of calls.",
    hint: "keep no cursor that one call sets and another call uses"
  ) { trial in
    let source = try trial.open()
    let recorded = try Recorded(source, trial)
    var last = "they were read in order"
    for _ in 0..<300 {
      last = try trial.makeAnyCall(source, recorded, after: last)
    }
  }

  static let senselessCallsRefused = Law(
    "senseless-calls-refused",
    "Calls for rows, sections or ids that do not exist are refused each time with the right code "
      + "and one line.",
    hint: "check sections, rows and ids before you use them; return not-found if they do not exist"
  ) { trial in
    let source = try trial.open()
    let recorded = try Recorded(source, trial)
    for _ in 0..<120 {
      try trial.makeSenselessCall(source, recorded)
      if trial.draw(0..<4) == 0, let path = recorded.drawRow(trial) {
        try recorded.requireRows(from: path, of: source, trial, after: "a refused call")
      }
    }
  }

  static let cancelIsHarmless = Law(
    "cancel-is-harmless",
    "Cancelling can stop only the running call, with cancelled; later calls are not affected.",
    hint: "clear the cancel flag at the start of each call (in Swift, CancelFlag.begin)"
  ) { trial in
    let source = try trial.open()
    guard let cancel = source.cancellation else { throw Skipped(reason: "cannot be cancelled") }
    cancel()
    let recorded = try Recorded(source, trial)
    var last = "cancelling"
    for _ in 0..<60 {
      cancel()
      last = try trial.makeAnyCall(source, recorded, after: last)
      cancel()
    }
    // Now another thread cancels at arbitrary moments.
    try Repeater.repeating(cancel) {
      for _ in 0..<60 {
        do {
          last = try trial.makeAnyCall(source, recorded, after: last)
        } catch let error as TableError where error.code == .cancelled {
          last = "a call that was cancelled"
        }
      }
    }
    for _ in 0..<20 {
      last = try trial.makeAnyCall(source, recorded, after: last)
    }
  }
}

/// A call that every source must answer. If a source lacks the ability for a call, the law reads rows instead.
private enum AnyCall: CaseIterable {
  case sectionCount, rowCount, title, version, id, indexTitle, location, element, editability,
    movability
  case notices, gathering, rows
}

/// A call that every source must refuse.
private enum SenselessCall: CaseIterable {
  case rowCount, title, editability, movability, gathering, id, indexTitle, rows, column
}

extension Trial {
  /// Performs a random valid call and compares the answer with the model. Returns a description of the call. `last`
  /// describes the previous call.
  fileprivate func makeAnyCall(
    _ source: any TableDataSource, _ recorded: Recorded, after last: String
  ) throws -> String {
    guard !recorded.sections.isEmpty else {
      _ = try source.numberOfSections(knowing: draw(0..<3))
      return "sections were counted"
    }
    let section = draw(0..<recorded.sections.count)
    let path = recorded.drawRow(self)
    func agrees<A: Equatable>(_ now: A, _ before: A, _ what: String) throws {
      try require(now == before, "\(what) was \(before), and after \(last) it is \(now)")
    }
    switch draw(AnyCall.self) {
    case .sectionCount:
      let count = try source.numberOfSections(knowing: draw(0..<4))
      try require(
        !count.isExact || count.value >= recorded.sections.count,
        "there were \(recorded.sections.count) sections, and after \(last) there are \(count)")
      return "sections were counted"
    case .rowCount:
      let count = try source.numberOfRows(inSection: section, knowing: draw(0..<300))
      let rows = recorded.sections[section].rows.count
      try require(
        !count.isExact || count.value >= rows,
        "section \(section) had \(rows) rows, and after \(last) it has \(count)")
      return "rows were counted"
    case .title:
      guard let sections = source.sections else { break }
      let place = draw(0..<2) == 0 ? TitlePlace.header : .footer
      try agrees(
        try sections.title(place, ofSection: section),
        recorded.sections[section].titles[place] ?? nil, "the \(place) of section \(section)")
      return "a title was asked for"
    case .version:
      try agrees(try source.version(), recorded.version, "the version")
      return "the version was asked for"
    case .id:
      guard let identity = source.identity, let path, let id = recorded[path].id else { break }
      try agrees(try identity.indexPath(forID: id), path, "the position of the id \(id)")
      return "an id was looked for"
    case .indexTitle:
      guard !recorded.index.isEmpty else { break }
      let number = draw(0..<recorded.index.count)
      let (title, place) = recorded.index[number]
      try agrees(
        try source.sectionIndex?.indexPath(forIndexTitle: title, at: number), place,
        "where the index title \(title) leads")
      return "the index was asked"
    case .location:
      guard let accessories = source.accessories, let path else { break }
      let locations = recorded.sections[path.section].locations
      guard locations.indices.contains(path.row) else { break }
      try agrees(
        try accessories.location(forRowAt: path), locations[path.row], "where row \(path) leads")
      return "where a row leads was asked"
    case .element:
      guard let supplementary = source.supplementary, let path, !recorded.kinds.isEmpty else {
        break
      }
      // An element may show the present moment, and the object behind the row may have vanished.
      do throws(TableError) {
        _ = try supplementary.supplementaryElement(
          ofKind: recorded.kinds[draw(0..<recorded.kinds.count)], at: path)
      } catch {
        guard error.code == .conflict else { throw error }
      }
      return "an element was asked for"
    case .editability:
      guard let editing = source.editing, let path else { break }
      try agrees(
        try editing.editability(ofRows: path.row..<path.row + 1, inSection: path.section),
        [recorded[path].editability ?? []], "how row \(path) may be edited")
      return "whether a row may be edited was asked"
    case .movability:
      guard let moving = source.moving, let path else { break }
      try agrees(
        try moving.movability(ofRows: path.row..<path.row + 1, inSection: path.section),
        [recorded[path].isMovable ?? false], "whether row \(path) may be moved")
      return "whether a row may be moved was asked"
    case .notices:
      guard let path else { break }
      let rows = path.row..<recorded.sections[path.section].rows.count
      source.prefetching?.prefetch(rows: rows, inSection: path.section)
      source.prefetching?.cancelPrefetching(rows: rows, inSection: path.section)
      source.display?.willDisplay(rows: rows, inSection: path.section)
      source.display?.didEndDisplaying(rows: rows, inSection: path.section)
      return "notices were given"
    case .gathering:
      guard let gathering = source.gathering else { break }
      let paths = (0..<draw(1..<8)).compactMap { _ in recorded.drawRow(self) }
      guard !paths.isEmpty else { break }
      let batch = try gather(
        gathering, source, paths, Array(source.columns.indices), ids: source.identity != nil)
      for row in 0..<batch.rowCount {
        try require(
          same(batch.row(row), recorded[paths[row]].cells)
            && (source.identity == nil || batch.id(row) == recorded[paths[row]].id),
          "row \(paths[row]), gathered after \(last), is \(batch.row(row)), not \(recorded[paths[row]].cells)"
        )
      }
      return "rows were gathered"
    case .rows: break
    }
    if let path { try recorded.requireRows(from: path, of: source, self, after: last) }
    return "rows were read"
  }

  /// An index path that does not exist, in an existing section or not.
  private func drawNowhere(_ recorded: Recorded, _ source: any TableDataSource) throws -> IndexPath?
  {
    let far = [Int.max, .max - 1, .max / 2, 1 << 40, -1, -2, .min]
    if draw(0..<2) == 0 {
      let count = try source.numberOfSections(knowing: 1 << 16)
      let section = draw(0..<2) == 0 ? count.value : far[draw(0..<far.count)]
      guard count.isExact, !(0..<count.value).contains(section) else { return nil }
      return IndexPath(section: section, row: 0)
    }
    guard !recorded.sections.isEmpty else { return nil }
    let section = draw(0..<recorded.sections.count)
    let count = try source.numberOfRows(inSection: section, knowing: 1 << 16)
    let row = draw(0..<2) == 0 ? count.value : far[draw(0..<far.count)]
    // Row -1 is the section itself.
    guard count.isExact, !(0..<count.value).contains(row), row != -1 else { return nil }
    return IndexPath(section: section, row: row)
  }

  /// Performs a random call that must be refused, and checks the refusal.
  fileprivate func makeSenselessCall(
    _ source: any TableDataSource, _ recorded: Recorded
  ) throws {
    let columns = Array(source.columns.indices)
    // Beyond the end is `not-found`; negative numbers may also be `invalid-argument`.
    let absent: [TableError.Code] = [.notFound, .invalidArgument]
    guard let path = try drawNowhere(recorded, source) else { return }
    let rows = path.row..<path.row.advancedUp(by: 1)
    switch draw(SenselessCall.self) {
    case .rowCount:
      guard recorded.sections.isEmpty || !recorded.sections.indices.contains(path.section) else {
        break
      }
      try expectRefusal("row_count of section \(path.section)", absent) {
        _ = try source.numberOfRows(inSection: path.section, knowing: draw(0..<9))
      }
    case .title:
      guard let sections = source.sections, !recorded.sections.indices.contains(path.section)
      else { break }
      try expectRefusal("the title of section \(path.section)", absent) {
        _ = try sections.title(.header, ofSection: path.section)
      }
    case .editability:
      guard let editing = source.editing, !rows.isEmpty else { break }
      try expectRefusal("whether row \(path) may be edited", absent) {
        _ = try editing.editability(ofRows: rows, inSection: path.section)
      }
    case .movability:
      guard let moving = source.moving, !rows.isEmpty else { break }
      try expectRefusal("whether row \(path) may be moved", absent) {
        _ = try moving.movability(ofRows: rows, inSection: path.section)
      }
    case .gathering:
      guard let gathering = source.gathering else { break }
      let paths = [recorded.drawRow(self), path, recorded.drawRow(self)].compactMap { $0 }
      try expectRefusal("gathering row \(path) among others", absent) {
        // A batch may end before the missing row.
        let batch = try gathering.rows(at: paths, columns: columns, includesIDs: false)
        if batch.rowCount < paths.count, batch.rowCount > 0 {
          _ = try gathering.rows(at: [path], columns: columns, includesIDs: false)
        }
      }
    case .id:
      guard let identity = source.identity else { break }
      let ids = ["", " ", "no-such-id", "\u{1B}[31m", "é", String(repeating: "x", count: 20_000)]
      let id = ids[draw(0..<ids.count)]
      guard !recorded.sections.contains(where: { $0.rows.contains { $0.id == id } }) else { break }
      try expectRefusal("the id \(id.prefix(20).debugDescription)", absent) {
        _ = try identity.indexPath(forID: id)
      }
    case .indexTitle:
      guard let index = source.sectionIndex else { break }
      try expectRefusal("index title \(recorded.index.count + 3)", absent) {
        _ = try index.indexPath(forIndexTitle: "no such title", at: recorded.index.count + 3)
      }
    case .rows:
      var first = path.row
      // The end of an existing section is a valid start.
      if recorded.sections.indices.contains(path.section),
        first == (try source.numberOfRows(inSection: path.section, knowing: 1 << 16).value)
      {
        first += 1
      }
      try expectRefusal("rows from \(path.section):\(first)", absent) {
        _ = try source.rows(
          RowRequest(section: path.section, first: first, count: 3, columns: columns))
      }
    case .column:
      let column = [columns.count, .max, -1][draw(0..<3)]
      try expectRefusal("column \(column)", [.invalidArgument]) {
        _ = try source.rows(
          RowRequest(section: 0, first: 0, count: 1, columns: columns + [column]))
      }
    }
  }
}
