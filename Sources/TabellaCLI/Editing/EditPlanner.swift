import Tabella

/// Finds the rows, sections and positions that edits name, in the table that the options show.
struct EditPlanner {
  let table: ShapedTable
  private let chosen: ChosenRows
  /// Whether positions decide which rows are chosen.
  private let choosesByPosition: Bool
  private var finder: RowFinder
  /// The number of rows that are read at once.
  private static let chunk = 1 << 16

  init(table: ShapedTable, chosen: ChosenRows, choosesByPosition: Bool) {
    self.choosesByPosition = choosesByPosition
    self.table = table
    self.chosen = chosen
    finder = RowFinder(source: table.source, chosen: chosen)
  }

  private var source: any TableDataSource { table.source }

  mutating func plan(_ requests: [RequestedEdit]) throws(TableError) -> [PlannedEdit] {
    var edits: [PlannedEdit] = []
    var places: [NamedPlace] = []
    if requests.contains(where: { $0.kind == .insert && !$0.isOfSection }) {
      try checkHasSections()
    }
    let movesSections = requests.contains { $0.isOfSection && $0.kind != .set }
    for request in requests {
      if request.isOfSection {
        edits.append(try planSection(request))
        continue
      }
      var target: IndexPath?
      var isDecided = false
      switch request.place {
      case nil: break
      case .end(let section)?:
        let countsAfter = movesSections ? countsAfterBatch(section) : nil
        let number: Int
        if let countsAfter {
          number = countsAfter
        } else {
          number = try sectionNumber(ofPlace: section)
        }
        places.append(
          NamedPlace(edit: edits.count, isOldSection: countsAfter == nil, isEnd: true, shown: nil))
        target = IndexPath(section: number, row: 0)
        isDecided = try isPosition(section)
      case .place(let section, let row)?:
        let (path, shown) = try place(section, row)
        target = path
        if countsAfterBatch(section ?? .number(0)) == nil {
          places.append(
            NamedPlace(edit: edits.count, isOldSection: true, isEnd: false, shown: shown))
        }
        if case .title? = section { isDecided = false } else { isDecided = true }
      case .id(let id)?: target = try finder.path(forID: id)
      case .rows?, .section?:
        throw TableError(
          .invalidArgument,
          "move a row to the position of a row, or a section to the position of a section")
      }
      // If the order changes by itself, some of several rows can vanish at any time.
      let mayBeGone = requests.count > 1 && request.place == nil
      try eachRow(request, mayBeGone: mayBeGone) { path, id, refersByID in
        var edit = PlannedEdit(
          request.kind, source: path, target: target, cells: request.cells, id: id,
          refersByID: refersByID, namesPlaceByPosition: isDecided)
        edit.givesValues = request.givesValues
        edits.append(edit)
      }
    }
    try placeSections(&edits)
    try placeRows(places, &edits)
    try keepEqualText(&edits)
    try addIDs(&edits)
    try checkTwice(edits)
    if let edit = edits.first, edits.count == 1 {
      try checkPlace(edit)
      if let target = edit.target, !target.isSection {
        edits[0].askedTitle = try source.sections?.title(.header, ofSection: target.section)
      }
    }
    return edits
  }

  /// Whether an argument names a section by its position. A title is not a position, and neither is the only
  /// section of a table.
  private func isPosition(_ section: SectionArgument?) throws(TableError) -> Bool {
    if case .title? = section { return false }
    return try source.numberOfSections(knowing: 2) != .exact(1)
  }

  // Rows

  /// Calls `body` with each row of a request. For an insertion, calls it once without a row.
  private mutating func eachRow(
    _ request: RequestedEdit, mayBeGone: Bool,
    _ body: (_ path: IndexPath?, _ id: String?, _ refersByID: Bool) throws(TableError) -> Void
  ) throws(TableError) {
    switch request.row {
    case nil where request.kind == .insert: try body(nil, nil, false)
    case nil: try eachChosenRow(body)
    case .id(let id)?:
      do throws(TableError) {
        try body(try finder.path(forID: id), id, true)
      } catch {
        // The source gets the id and decides about the other edits.
        guard mayBeGone, error.code == .notFound, source.hasVolatileOrder else { throw error }
        try body(nil, id, true)
      }
    case .place(let section, let row)?:
      try body(try finder.path(ofRow: row, in: section), nil, false)
    case .rows(let section, let rows)?:
      // If the last row exists, all of them exist.
      let last = try finder.path(ofRow: rows.upperBound, in: section)
      for row in last.row - (rows.count - 1)...last.row {
        try body(IndexPath(section: last.section, row: row), nil, false)
      }
    case .end?, .section?: throw TableError(.invalidArgument, "a row name is expected")
    }
  }

  /// All rows that the options choose. If the order changes by itself, they are named by id.
  private func eachChosenRow(
    _ body: (_ path: IndexPath?, _ id: String?, _ refersByID: Bool) throws(TableError) -> Void
  ) throws(TableError) {
    // There can be thousands of short sections, so rows of several ones are read together.
    var paths: [IndexPath] = []
    func visit() throws(TableError) {
      var rest = paths[...]
      while let first = rest.first {
        let batch = try source.gather(
          Array(rest), columns: [], includesIDs: source.identity != nil)
        guard batch.rowCount > 0 else {
          throw .noRow(first.row, inSection: first.section, of: first.row)
        }
        for (row, path) in rest.prefix(batch.rowCount).enumerated() {
          let id = batch.id(row)
          try body(path, id, id != nil && source.hasVolatileOrder && !choosesByPosition)
        }
        rest.removeFirst(batch.rowCount)
      }
      paths.removeAll(keepingCapacity: true)
    }
    var runs = chosen.makeIterator()
    while let run = try runs.run() {
      for row in run.rows {
        paths.append(IndexPath(section: run.section, row: row))
        if paths.count == EditPlanner.chunk { try visit() }
      }
    }
    try visit()
  }

  /// Replaces each JSON value by the text of the cell, if that text reads as the same value: `1.50` stays if the batch
  /// sets 1.5, and `TRUE` stays if it sets true.
  private func keepEqualText(_ edits: inout [PlannedEdit]) throws(TableError) {
    let reading = source.columns.indices.filter { source.columns[$0].reads != nil }
    let numbers = edits.indices.filter { number in
      edits[number].givesValues && edits[number].kind == .set && edits[number].source != nil
        && reading.contains { edits[number].cells[$0] != nil }
    }
    guard !numbers.isEmpty else { return }
    let rows = try source.wholeRows(at: numbers.map { edits[$0].source! }, columns: reading)
    for (number, row) in zip(numbers, rows) {
      for (index, column) in reading.enumerated() {
        guard let new = edits[number].cells[column],
          source.columns[column].readsEqual(new, row.cells[index])
        else { continue }
        edits[number].cells[column] = row.cells[index]
      }
    }
  }

  /// The ids of rows that were named by their positions, for messages.
  private func addIDs(_ edits: inout [PlannedEdit]) throws(TableError) {
    guard source.identity != nil else { return }
    let numbers = edits.indices.filter {
      edits[$0].id == nil && edits[$0].source.map { !$0.isSection } ?? false
    }
    let rows = try source.wholeRows(at: numbers.map { edits[$0].source! }, columns: [])
    for (number, row) in zip(numbers, rows) { edits[number].id = row.id }
  }

  // Positions

  /// A place whose section, or whose row, is known only when all edits are planned.
  private struct NamedPlace {
    var edit: Int
    /// Whether the target has the number of its section before the batch.
    var isOldSection: Bool
    /// Whether the place is the end of the section.
    var isEnd: Bool
    /// The rows of the section that are shown, if options hide others.
    var shown: Range<Int>?
  }

  /// The number of a section if it counts after the batch, as targets do; nil if the argument names an existing section.
  private func countsAfterBatch(_ section: SectionArgument?) -> Int? {
    if chosen.isEverything, case .number(let number)? = section { number } else { nil }
  }

  /// The path of a position, and the shown rows of its section if options hide others.
  private mutating func place(
    _ section: SectionArgument?, _ row: Int
  ) throws(TableError) -> (IndexPath, shown: Range<Int>?) {
    if chosen.isEverything, case .number(let number) = section ?? .number(0) {
      // Sections can have other numbers after the batch, so this one need not exist yet.
      return (IndexPath(section: number, row: row), nil)
    }
    let run = try finder.run(section, upTo: row)
    // `placeRows` checks the position among the shown rows, and `checkPlace` that in the table.
    let path = IndexPath(section: run.section, row: run.rows.lowerBound.advancedUp(by: row))
    return (path, chosen.isEverything ? nil : run.rows)
  }

  /// Throws if the table has sections and none exists, so that a row has no place.
  private func checkHasSections() throws(TableError) {
    guard let sections = source.sections, try sections.numberOfSections(knowing: 1).value == 0
    else { return }
    let canInsert = try source.sectionEditing?.canInsertSections() ?? false
    throw TableError(
      .notFound,
      "there is no section yet for a new row; "
        + (canInsert
          ? "insert a section first, with the place 0: and title=TEXT"
          : "leave out the option that makes sections"))
  }

  /// The section to whose end a row is added.
  private mutating func sectionNumber(ofPlace section: SectionArgument?) throws(TableError) -> Int {
    try finder.run(section, upTo: 0).section
  }

  /// Computes the places of rows that name a section by its title, or the end of a section. Ends are in the order of the
  /// edits.
  private func placeRows(
    _ places: [NamedPlace], _ edits: inout [PlannedEdit]
  ) throws(TableError) {
    if places.isEmpty { return }
    let numbers = try SectionRenumbering(edits.compactMap(\.sectionChange), of: source)
    for place in places where place.isOldSection {
      let section = try numbers.after(edits[place.edit].target?.section ?? 0)
      edits[place.edit].target?.section = section
      edits[place.edit].asked = edits[place.edit].target
    }
    // The rows that the edits add to a section, or remove from it.
    var added: [Int: Int] = [:]
    for edit in edits where !edit.isOfSection {
      if edit.kind != .set, let section = edit.source.flatMap({ numbers.survivor($0.section) }) {
        added[section, default: 0] -= 1
      }
      if let section = edit.target?.section { added[section, default: 0] += 1 }
    }
    for place in places {
      guard let shown = place.shown, let target = edits[place.edit].target else { continue }
      // The position after the last shown row is valid, too.
      let row = target.row - shown.lowerBound
      let others = max(0, added[target.section, default: 0] - 1)
      guard row <= shown.count + others else {
        throw .noPlace(row, inSection: target.section, of: shown.count)
      }
    }
    let ends = places.filter(\.isEnd).map(\.edit)
    for (section, ends) in Dictionary(grouping: ends, by: { edits[$0].target?.section ?? 0 }) {
      let old = try numbers.before(section)
      let count = try source.exactNumberOfRows(inSection: old) + added[section, default: 0]
      for (number, edit) in ends.enumerated() {
        edits[edit].target?.row = max(0, count - ends.count + number)
        edits[edit].asked = edits[edit].target
        edits[edit].asksForEnd = true
      }
    }
  }

  /// Computes the places of new sections in front of a section that is named by its title, if the batch also inserts,
  /// deletes or moves other sections.
  private func placeSections(_ edits: inout [PlannedEdit]) throws(TableError) {
    let numbers = edits.indices.filter { edits[$0].isOfSection && edits[$0].kind != .set }
    let titled = numbers.filter { edits[$0].target != nil && !edits[$0].namesPlaceByNumber }
    guard numbers.count > 1, !titled.isEmpty else { return }
    guard numbers.allSatisfy({ edits[$0].kind == .delete || titled.contains($0) }),
      titled.allSatisfy({ edits[$0].kind == .insert })
    else {
      throw TableError(
        .invalidArgument,
        "name the place of each section by its number after the batch, because the batch moves several sections"
      )
    }
    let deleted = numbers.compactMap { edits[$0].source?.section }.sorted()
    // New sections in front of the same section are in the order of the edits.
    let inOrder = titled.sorted {
      (edits[$0].target!.section, $0) < (edits[$1].target!.section, $1)
    }
    for (earlier, number) in inOrder.enumerated() {
      let old = edits[number].target!.section
      let deletedBefore = deleted.partitioningIndex { $0 >= old }
      guard deletedBefore == deleted.count || deleted[deletedBefore] != old else {
        throw TableError(
          .invalidArgument,
          "there is no place in front of section \(old), because the batch deletes it")
      }
      let target = IndexPath.section(old - deletedBefore + earlier)
      edits[number].target = target
      edits[number].asked = target
    }
  }

  /// A row can be deleted or moved once, and not both.
  private func checkTwice(_ edits: [PlannedEdit]) throws(TableError) {
    var gone: Set<IndexPath> = []
    for edit in edits where edit.kind == .delete || edit.kind == .move {
      guard let path = edit.source, !gone.insert(path).inserted else { continue }
      throw TableError(.invalidArgument, "\(edit.name) is named twice")
    }
  }

  /// Throws if the target position of a single edit does not exist.
  private func checkPlace(_ edit: PlannedEdit) throws(TableError) {
    guard let target = edit.target else { return }
    if target.isSection {
      let count = try source.numberOfSections(knowing: target.section + 1).value
      guard target.section <= count - (edit.kind == .move ? 1 : 0) else {
        throw TableError(
          .notFound,
          "there is no position \(target): for a section; the table has \(count) section\(count == 1 ? "" : "s")"
        )
      }
      return
    }
    // A moved row leaves its section, so the section needs one row more. A source may count only as far as it must.
    let leaving = edit.kind == .move && edit.source?.section == target.section ? 1 : 0
    let needed = target.row.advancedUp(by: leaving)
    let count = try source.numberOfRows(inSection: target.section, knowing: needed).value
    guard target.row <= count - leaving else {
      throw .noPlace(target.row, inSection: target.section, of: count)
    }
  }

  // Sections

  private mutating func planSection(_ request: RequestedEdit) throws(TableError) -> PlannedEdit {
    var path: IndexPath?
    var isNumber = false
    if case .section(let section)? = request.row {
      if case .number = section { isNumber = true }
      path = .section(try wholeSection(section, mustShowRows: request.kind == .delete))
    } else if request.row != nil {
      throw TableError(
        .invalidArgument,
        "move a section to the position of a section, or a row to the position of a row")
    }
    var target: IndexPath?
    var isDecided = false
    if case .section(let section)? = request.place {
      switch section {
      case .number(let number):
        guard chosen.isEverything else {
          throw TableError(
            .notSupported, "to insert or move sections, leave out the options that hide rows")
        }
        target = .section(number)
        // A new section does not change other sections, at any position.
        isDecided = request.kind == .move
      case .title(let title):
        do throws(TableError) {
          target = .section(try finder.number(of: section))
        } catch {
          guard error.code == .notFound, title == "end" else { throw error }
          let count = try source.numberOfSections(knowing: .max).value
          let last = request.kind == .move ? count - 1 : count
          throw TableError(
            .notFound,
            "no section has the title end; use \(last): for the last position of a section")
        }
      }
    } else if request.place != nil {
      throw TableError(
        .invalidArgument,
        "move a section to the position of a section, or a row to the position of a row")
    }
    var edit = PlannedEdit(
      request.kind, source: path, target: target, newTitle: request.title,
      namesPlaceByPosition: isDecided)
    if case .section(.title)? = request.place { edit.namesPlaceByNumber = false }
    edit.namesRowByPosition = isNumber
    edit.label =
      try path.map { path throws(TableError) in
        let title = try source.sections?.title(.header, ofSection: path.section) ?? "untitled"
        guard request.kind == .delete else { return title }
        let count = try source.exactNumberOfRows(inSection: path.section)
        return "\(title) (\(count) row\(count == 1 ? "" : "s"))"
      } ?? request.title
    return edit
  }

  /// The number of a shown section. With `mustShowRows`, throws unless all its rows are shown, so that an edit of
  /// the section cannot change hidden rows.
  private mutating func wholeSection(
    _ section: SectionArgument, mustShowRows: Bool
  ) throws(TableError) -> Int {
    guard !chosen.isEverything else { return try finder.number(of: section) }
    let run = try finder.run(section, upTo: 0)
    let count = try source.exactNumberOfRows(inSection: run.section)
    guard !mustShowRows || run.rows.count == count else {
      throw TableError(
        .notSupported,
        "section \(section.text) has rows that these options hide; leave out the options to edit it"
      )
    }
    return run.section
  }
}

extension PlannedEdit {
  /// The edit as a change, if it inserts, deletes or moves a section.
  fileprivate var sectionChange: ChangeBatch.Change? {
    guard isOfSection else { return nil }
    return switch kind {
    case .insert: target.map { .insert($0) }
    case .delete: source.map { .delete($0) }
    case .move: source.flatMap { from in target.map { .move(from: from, to: $0) } }
    case .set: nil
    }
  }
}

extension TableError {
  fileprivate static func noPlace(
    _ row: Int, inSection section: Int, of count: Int
  ) -> TableError {
    TableError(
      .notFound,
      "there is no position \(section):\(row) for a row; section \(section) has \(count) row\(count == 1 ? "" : "s")"
    )
  }
}
