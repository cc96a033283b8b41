import Tabella

/// An edit as a command line or a batch asks for it.
struct RequestedEdit {
  enum Kind: String, CaseIterable {
    case set
    case insert
    case delete
    case move
  }

  var kind: Kind
  /// The row that is set, deleted or moved.
  var row: RowArgument?
  /// Where a row is inserted or moved to.
  var place: RowArgument?
  var cells: [Int: Cell] = [:]
}

/// An edit whose row and place were found.
struct PlannedEdit {
  let kind: RequestedEdit.Kind
  /// Where the row is that is set, deleted or moved; nil if it is named by an id and was not found.
  let source: IndexPath?
  /// Where a row ends up that is inserted or moved.
  var target: IndexPath?
  let cells: [Int: Cell]
  /// The row's id, if it was named by it or is to be committed by it.
  var id: String?
  /// Whether the source was named by its position.
  let namesRowByPosition: Bool
  /// Whether a position decides where the row ends up.
  let namesPlaceByPosition: Bool
  /// Whether the source said that the row will stand at ``target``.
  var isTargetSure = false
  /// What people know the row by; nil if that was not looked at.
  var title: String?

  /// The edit as the source takes it.
  var edit: EditBatch.Edit {
    // Each kind has what it needs: `EditPlanner` makes no others.
    switch kind {
    case .insert: .insert(at: target!, cells: cells)
    case .set: .set(reference, cells: cells)
    case .delete: .delete(reference)
    case .move: .move(reference, to: target!)
    }
  }

  private var reference: RowReference { id.map { .id($0) } ?? .path(source!) }

  /// The row or place that messages are about: where it was, or where it is to be inserted.
  var name: String {
    switch (source ?? target, id) {
    case (let path?, let id?): "row \(path) (id:\(id))"
    case (let path?, nil): "row \(path)"
    case (nil, let id): "row id:\(id ?? "")"
    }
  }
}

/// Finds the rows and places that edits name, in a table as it is shown.
struct EditPlanner {
  let table: ShapedTable

  private var source: any TableDataSource { table.source }

  func plan(_ requests: [RequestedEdit]) throws(TableError) -> [PlannedEdit] {
    var edits: [PlannedEdit] = []
    var ends: [(edit: Int, section: Int)] = []
    let hasOneSection = try source.numberOfSections(knowing: 2) == .exact(1)
    for request in requests {
      let (path, id) =
        try request.row.map { row throws(TableError) in
          try find(row, mayBeGone: requests.count > 1 && request.place == nil)
        } ?? (nil, nil)
      var target: IndexPath?
      var isDecided = false
      switch request.place {
      case nil: break
      case .end(let section)?:
        let section = section ?? table.firstRow.section
        ends.append((edits.count, section))
        target = IndexPath(section: section, row: 0)
        isDecided = !hasOneSection
      case .place(let section, let row)?:
        target = try place(section, row)
        isDecided = true
      case .id(let id)?: target = try self.path(forID: id)
      }
      edits.append(
        PlannedEdit(
          kind: request.kind, source: path, target: target, cells: request.cells, id: id,
          namesRowByPosition: path != nil && id == nil, namesPlaceByPosition: isDecided))
    }
    try placeAtEnds(ends, &edits)
    try checkTwice(edits)
    if let edit = edits.first, edits.count == 1 { try checkPlace(edit) }
    return edits
  }

  /// Where a row is that exists, and its id if that names it.
  ///
  /// `mayBeGone`: of several rows some may vanish at any time where the order changes by itself; what
  /// becomes of the others is for the source to say, which gets the id.
  private func find(
    _ row: RowArgument, mayBeGone: Bool
  ) throws(TableError) -> (IndexPath?, String?) {
    switch row {
    case .id(let id):
      do throws(TableError) {
        return (try path(forID: id), id)
      } catch {
        guard mayBeGone, error.code == .notFound, source.hasVolatileOrder else { throw error }
        return (nil, id)
      }
    case .place(let section, let row):
      let path = try place(section, row)
      let count = try source.numberOfRows(inSection: path.section, knowing: path.row + 1)
      guard count.value > path.row else {
        var error = TableError.noRow(path.row, inSection: path.section, of: count.value)
        if source.identity != nil { error.message += "; a row is named by its place or as id:ID" }
        throw error
      }
      return (path, nil)
    case .end:
      throw TableError(.invalidArgument, "end is no row")
    }
  }

  private func path(forID id: String) throws(TableError) -> IndexPath {
    guard let identity = source.identity else {
      throw TableError(.notSupported, "rows have no ids here")
    }
    return try shown(identity.indexPath(forID: id))
  }

  /// The path, if its section is the one that was chosen or all are shown.
  private func shown(_ path: IndexPath) throws(TableError) -> IndexPath {
    guard let section = table.section, path.section != section else { return path }
    throw TableError(
      .invalidArgument,
      "row \(path) is not in the section that --section chose: that is section \(section)")
  }

  /// A row alone is counted from where the table is shown from.
  private func place(_ section: Int?, _ row: Int) throws(TableError) -> IndexPath {
    if let section { return try shown(IndexPath(section: section, row: row)) }
    let first = table.firstRow
    return IndexPath(section: first.section, row: first.row + row)
  }

  /// Puts edits at the ends of sections as they will be, in order.
  private func placeAtEnds(
    _ ends: [(edit: Int, section: Int)], _ edits: inout [PlannedEdit]
  ) throws(TableError) {
    for section in Set(ends.map(\.section)) {
      let places = ends.filter { $0.section == section }.map(\.edit)
      var count = try source.exactNumberOfRows(inSection: section)
      for edit in edits {
        if edit.kind != .set, edit.source?.section == section { count -= 1 }
        if edit.target?.section == section { count += 1 }
      }
      for (number, edit) in places.enumerated() {
        edits[edit].target?.row = max(0, count - places.count + number)
      }
    }
  }

  /// A row can be deleted or moved once, and not both.
  private func checkTwice(_ edits: [PlannedEdit]) throws(TableError) {
    var gone: Set<IndexPath> = []
    for edit in edits where edit.kind == .delete || edit.kind == .move {
      guard let path = edit.source, !gone.insert(path).inserted else { continue }
      throw TableError(.invalidArgument, "row \(path) is named twice")
    }
  }

  /// The place of a single edit must be there.
  private func checkPlace(_ edit: PlannedEdit) throws(TableError) {
    guard let target = edit.target else { return }
    let count = try source.numberOfRows(inSection: target.section, knowing: target.row).value
    let isTaken = edit.kind == .move && edit.source?.section == target.section
    guard target.row <= count - (isTaken ? 1 : 0) else {
      throw TableError(
        .notFound, "there is no place \(target) for a row; section \(target.section) has \(count)")
    }
  }
}

extension ShapedTable {
  /// The row that 0 is when no section is named: where showing starts.
  var firstRow: IndexPath {
    guard let section else { return start }
    return section == start.section ? start : IndexPath(section: section, row: 0)
  }
}
