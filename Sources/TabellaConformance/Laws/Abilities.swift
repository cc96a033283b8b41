import Tabella

// The laws of the optional abilities.

extension Trial {
  /// Checks that missing rows cannot be gathered.
  fileprivate func refuseGathering(
    _ gathering: any TableGathering, _ source: any TableDataSource, _ columns: [Int]
  ) throws {
    for section in try sections(source) {
      guard case .exact(let count) = try source.numberOfRows(inSection: section, knowing: 1 << 16)
      else { continue }
      for row in [count, .max] {
        let path = IndexPath(section: section, row: row)
        try expectRefusal("gathering row \(path)", [.notFound]) {
          _ = try gathering.rows(at: [path], columns: columns, includesIDs: false)
        }
      }
    }
    try expectRefusal("gathering a section", [.notFound, .invalidArgument]) {
      _ = try gathering.rows(at: [.section(0)], columns: columns, includesIDs: false)
    }
    try expectRefusal("gathering column \(source.columns.count)", [.invalidArgument]) {
      _ = try gathering.rows(at: [], columns: [source.columns.count], includesIDs: false)
    }
  }
}

extension Trial {
  /// Checks that an element of a kind is well-formed, if there is one.
  fileprivate func checkElement(
    _ kind: String, at path: IndexPath, _ supplementary: any TableSupplementary
  ) throws {
    let element: SupplementaryElement?
    do throws(TableError) {
      element = try supplementary.supplementaryElement(ofKind: kind, at: path)
    } catch {
      // The object behind the row may have changed or vanished.
      try require(error.code == .conflict, "the \(kind) of \(path) is refused: \(error)")
      return
    }
    switch element {
    case nil: break
    case .text(let text):
      var end = 0
      for span in text.spans {
        try require(
          span.bytes.lowerBound >= end && span.bytes.upperBound <= text.bytes.count,
          "a span of the \(kind) of \(path), \(span.bytes), is before or beyond others' end, \(end), or the text's, \(text.bytes.count)"
        )
        end = span.bytes.upperBound
      }
    case .table(let table):
      for section in try sections(table) {
        _ = try read(table, section: section, rows: 0..<rowCount(table, section))
      }
    }
  }

  /// Checks that missing rows have no elements.
  fileprivate func expectNoElements(
    _ kinds: [String], at path: IndexPath, _ supplementary: any TableSupplementary
  ) throws {
    for kind in kinds {
      var element: SupplementaryElement?
      do throws(TableError) {
        element = try supplementary.supplementaryElement(ofKind: kind, at: path)
      } catch {
        try require(
          error.code == .notFound || error.code == .invalidArgument,
          "the \(kind) at \(path), where nothing is, is refused as \(error.code.name)")
      }
      try require(element == nil, "there is a \(kind) at \(path), where nothing is")
    }
  }
}

extension Law {
  static let titlesInBounds = Law(
    "titles-in-bounds",
    "Every section has its titles, the same at every look, and no other has any.",
    hint: "sections.title refuses a section that is not there as not-found"
  ) { trial in
    let source = try trial.open()
    guard let sections = source.sections else { throw Skipped(reason: "no sections") }
    for section in try trial.sections(source) {
      for place in TitlePlace.allCases {
        let title = try sections.title(place, ofSection: section)
        let again = try sections.title(place, ofSection: section)
        try require(
          title == again, "the \(place) of section \(section) is \(title ?? "none"), then another")
      }
    }
    let count = try sections.numberOfSections(knowing: 1 << 16)
    if count.isExact {
      try trial.expectRefusal("the title of section \(count.value)", [.notFound]) {
        _ = try sections.title(.header, ofSection: count.value)
      }
    }
    try trial.expectRefusal("the title of section -1", [.notFound, .invalidArgument]) {
      _ = try sections.title(.footer, ofSection: -1)
    }
  }

  static let indexInBounds = Law(
    "index-in-bounds", "Every title of the section index leads to a place that is there.",
    hint: "section-index.path must name an existing section, and a row of it or -1"
  ) { trial in
    let source = try trial.open()
    guard let index = source.sectionIndex else { throw Skipped(reason: "no section index") }
    let titles = try index.sectionIndexTitles()
    try require(
      try index.sectionIndexTitles() == titles, "the titles of the index change between two looks")
    for (number, title) in titles.enumerated() {
      let path = try index.indexPath(forIndexTitle: title, at: number)
      let sections = try source.numberOfSections(knowing: path.section + 1).value
      try require(
        (0..<sections).contains(path.section),
        "the title \(title) leads to section \(path.section) of \(sections)")
      let rows = try source.numberOfRows(inSection: path.section, knowing: path.row + 1).value
      try require(
        path.isSection || path.row < rows, "the title \(title) leads to row \(path.row) of \(rows)")
    }
    try trial.expectRefusal("index title \(titles.count)", [.notFound, .invalidArgument]) {
      _ = try index.indexPath(forIndexTitle: "", at: titles.count)
    }
  }

  static let idsIdentify = Law(
    "ids-identify", "Ids are unique, the same at every look, and lead back to their rows.",
    hint: "an id must come from what makes the row itself, not from where it stands or a counter"
  ) { trial in
    let source = try trial.open()
    guard let identity = source.identity else { throw Skipped(reason: "no ids") }
    var seen: [String: IndexPath] = [:]
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let ids = try trial.ids(source, section: section, rows: 0..<count)
      let again = try trial.ids(source, section: section, rows: 0..<count, size: 3)
      try require(ids == again, "the ids of section \(section) changed between two looks")
      for (row, id) in ids.enumerated() {
        let path = IndexPath(section: section, row: row)
        if let other = seen.updateValue(path, forKey: id) {
          throw LawBroken("rows \(other) and \(path) have the same id \(id)")
        }
      }
      for row in Set((0..<10).compactMap { _ in count > 0 ? trial.draw(0..<count) : nil }) {
        let found = try identity.indexPath(forID: ids[row])
        try require(
          found == IndexPath(section: section, row: row),
          "the id of row \(section):\(row) leads to \(found)")
      }
    }
    for stranger in ["no-such-id", "0", "~"] where seen[stranger] == nil {
      try trial.expectRefusal("the id \(stranger)", [.notFound]) {
        _ = try identity.indexPath(forID: stranger)
      }
    }
  }

  static let idsOnlyWhenAsked = Law(
    "ids-only-when-asked", "Ids come exactly when they are asked for.",
    hint: "a source without tabella.identity/1 refuses ids as not-supported"
  ) { trial in
    let source = try trial.open()
    guard try source.numberOfSections(knowing: 1).value > 0 else {
      throw Skipped(reason: "no sections")
    }
    let request = RowRequest(first: 0, count: 3, columns: [], includesIDs: true)
    if source.identity == nil {
      try trial.expectRefusal("a request for ids", [.notSupported]) { _ = try source.rows(request) }
      return
    }
    // `fetch()` checks that ids are present exactly when requested.
    _ = try trial.fetch(source, request)
    _ = try trial.fetch(source, RowRequest(first: 0, count: 3, columns: []))
  }

  static let gatherAgrees = Law(
    "gather-agrees",
    "Rows gathered from anywhere are the rows that stand there, in the order asked.",
    hint: "gathering.rows must not sort its paths nor leave out what is named twice"
  ) { trial in
    let source = try trial.open()
    guard let gathering = source.gathering else { throw Skipped(reason: "no gathering") }
    var rows: [(path: IndexPath, cells: [Cell], id: String?)] = []
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let cells = try trial.read(source, section: section, rows: 0..<count)
      let ids =
        source.identity == nil ? [] : try trial.ids(source, section: section, rows: 0..<count)
      for (row, cells) in cells.enumerated() {
        let id = ids.isEmpty ? nil : ids[row]
        rows.append((IndexPath(section: section, row: row), cells, id))
      }
    }
    let all = Array(source.columns.indices)
    try require(
      try trial.gather(gathering, source, [], all, ids: false).rowCount == 0,
      "rows were gathered without a path")
    for round in 0..<12 where !rows.isEmpty {
      let columns = round % 2 == 0 ? all : all.reversed().filter { _ in trial.draw(0..<3) > 0 }
      let wanted = (0..<trial.draw(1..<60)).map { _ in trial.draw(0..<rows.count) }
      var next = 0
      while next < wanted.count {
        let paths = wanted[next...].map { rows[$0].path }
        let ids = source.identity != nil && round % 3 == 0
        let batch = try trial.gather(gathering, source, paths, columns, ids: ids)
        try require(batch.rowCount > 0, "nothing was gathered of the rows \(paths)")
        for row in 0..<batch.rowCount {
          let expected = rows[wanted[next + row]]
          let (found, cells) = (batch.row(row), columns.map { expected.cells[$0] })
          try require(
            same(found, cells),
            "gathered number \(row) of \(paths), columns \(columns), is \(found), not \(cells)")
          try require(
            !ids || batch.id(row) == expected.id,
            "gathered row \(expected.path) has the id \(batch.id(row) ?? "none"), not \(expected.id ?? "none")"
          )
        }
        next += batch.rowCount
      }
    }
    try trial.refuseGathering(gathering, source, all)
  }

  static let versionHolds = Law(
    "version-holds", "The version is printable and the same until something changes.",
    hint: "a version names the data, not the moment"
  ) { trial in
    let source = try trial.open()
    let version = try source.version()
    if let version {
      try require(
        (1...Version.maximumLength).contains(version.token.utf8.count)
          && version.token.utf8.allSatisfy { 0x21...0x7E ~= $0 },
        "the version \(version) is not printable ASCII")
    }
    for section in try trial.sections(source) {
      _ = try trial.read(source, section: section, rows: 0..<trial.rowCount(source, section))
    }
    let later = try source.version()
    try require(
      version == later,
      "the version went from \(version?.token ?? "none") to \(later?.token ?? "none") without a change"
    )
  }

  static let permissionsAnswer = Law(
    "permissions-answer",
    "Whether rows and sections may be edited and moved is answered for ranges, in bounds.",
    hint: "editable and movable fill exactly the rows asked, and refuse rows that are not there"
  ) { trial in
    let source = try trial.open()
    guard source.editing != nil || source.moving != nil else { throw Skipped(reason: "read-only") }
    try require(
      source.moving == nil || source.editing != nil, "rows can be moved but not committed")
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      if let editing = source.editing {
        let all = try editing.editability(ofRows: 0..<count, inSection: section)
        try require(all.count == count, "\(all.count) answers for \(count) rows")
        for _ in 0..<5 where count > 0 {
          let row = trial.draw(0..<count)
          let one = try editing.editability(ofRows: row..<row + 1, inSection: section)
          try require(one == [all[row]], "row \(row) alone may be edited otherwise than in a range")
        }
      }
      if let moving = source.moving {
        let all = try moving.movability(ofRows: 0..<count, inSection: section)
        try require(all.count == count, "\(all.count) answers for \(count) rows")
      }
    }
    if let editing = source.sectionEditing {
      try require(source.editing != nil, "titles of sections can be edited but not committed")
      let sections = try trial.sections(source)
      let all = try editing.editability(ofSections: sections)
      try require(
        all.count == sections.count, "\(all.count) answers for \(sections.count) sections")
      for section in sections {
        let one = try editing.editability(ofSections: section..<section + 1)
        try require(
          one == [all[section]], "section \(section) alone may be edited otherwise than in a range")
      }
      _ = try editing.canInsertSections()
      if case .exact(let end) = try source.numberOfSections(knowing: 0) {
        try trial.expectRefusal("whether section \(end) may be edited", [.notFound]) {
          _ = try editing.editability(ofSections: end..<end + 1)
        }
      }
    }
    let columns = try source.editing?.editableColumns()
    try require(
      columns.map { $0.count == source.columns.count } ?? true,
      "\(columns?.count ?? 0) answers for \(source.columns.count) columns")
  }

  static let supplementsAnswer = Law(
    "supplements-answer",
    "Supplementary elements are whole, and given for the kinds listed at paths that are there.",
    hint: "an unknown kind has no element and is no error; a path that is not there is not-found"
  ) { trial in
    let source = try trial.open()
    guard let supplementary = source.supplementary else {
      throw Skipped(reason: "no supplementary elements")
    }
    let kinds = try supplementary.supplementaryKinds()
    try require(
      try supplementary.supplementaryKinds() == kinds, "the kinds change between two looks")
    try require(Set(kinds).count == kinds.count, "a kind is listed twice in \(kinds)")
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let paths = [.section(section)] + (0..<count).map { IndexPath(section: section, row: $0) }
      for path in paths {
        for kind in kinds { try trial.checkElement(kind, at: path, supplementary) }
        let stranger = try supplementary.supplementaryElement(ofKind: "no such kind", at: path)
        try require(stranger == nil, "there is an element of a kind that is not listed")
      }
      let end = try source.numberOfRows(inSection: section, knowing: 1 << 16)
      for row in [end.value, .max] where end.isExact {
        try trial.expectNoElements(
          kinds, at: IndexPath(section: section, row: row), supplementary)
      }
    }
    let end = try source.numberOfSections(knowing: 1 << 16)
    for section in [-1, end.value, .max] where section < 0 || end.isExact {
      try trial.expectNoElements(kinds, at: IndexPath(section: section, row: 0), supplementary)
      try trial.expectNoElements(kinds, at: .section(section), supplementary)
    }
  }

  static let accessoriesAnswer = Law(
    "accessories-answer", "Rows lead to the same location at every look, or nowhere.",
    hint: "accessories.location must not depend on what was asked before"
  ) { trial in
    let source = try trial.open()
    guard let accessories = source.accessories else { throw Skipped(reason: "no accessories") }
    for section in try trial.sections(source) {
      for row in 0..<min(try trial.rowCount(source, section), 20) {
        let path = IndexPath(section: section, row: row)
        let location = try accessories.location(forRowAt: path)
        try require(
          try accessories.location(forRowAt: path) == location, "row \(path) leads elsewhere now")
        try require(location?.contains(0) != true, "row \(path) leads to a location with a NUL")
      }
    }
  }

  static let noticesAreHarmless = Law(
    "notices-are-harmless", "Display and prefetch notices change nothing that can be seen.",
    hint: "notices are advice"
  ) { trial in
    let source = try trial.open()
    guard source.display != nil || source.prefetching != nil else {
      throw Skipped(reason: "no notices")
    }
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let before = try trial.read(source, section: section, rows: 0..<count)
      source.prefetching?.prefetch(rows: 0..<count, inSection: section)
      source.display?.willDisplay(rows: 0..<count, inSection: section)
      let during = try trial.read(source, section: section, rows: 0..<count)
      source.display?.didEndDisplaying(rows: 0..<count, inSection: section)
      source.prefetching?.cancelPrefetching(rows: 0..<count, inSection: section)
      try require(
        same(before, during), "notices changed rows: \(firstDifference(before, during))")
    }
  }

  static let diagnosticsEnd = Law(
    "diagnostics-end", "Diagnostics are given once each, in one line, and come to an end.",
    hint: "diagnostics.next must take what it gives"
  ) { trial in
    let source = try trial.open()
    guard let diagnostics = source.diagnostics else { throw Skipped(reason: "no diagnostics") }
    for section in try trial.sections(source) {
      _ = try trial.read(source, section: section, rows: 0..<trial.rowCount(source, section))
    }
    var taken = 0
    while let diagnostic = diagnostics.nextDiagnostic() {
      taken += 1
      try require(taken < 100_000, "remarks do not end")
      try require(
        !diagnostic.message.isEmpty
          && !diagnostic.message.utf8.contains { $0 == 10 || $0 == 13 },
        "a remark is empty or has several lines")
    }
  }
}
