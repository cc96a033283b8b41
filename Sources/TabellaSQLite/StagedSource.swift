import Tabella

/// A table with the staged edits of a transaction: without deleted rows, with other cells, and with the inserted rows at
/// the end of their sections.
///
/// It shows the edits at the moment of its creation. Views can filter and sort it as any source.
final class StagedSource: TableDataSource {
  /// The row that is shown at a path.
  enum Row {
    case base(IndexPath)
    case inserted(Int)
  }

  private let base: any TableDataSource
  private let edits: StagedEdits

  init(_ base: any TableDataSource, _ edits: StagedEdits) {
    self.base = base
    self.edits = edits
  }

  var columns: [Column] { base.columns }
  var sections: (any TableSections)? { base.sections }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard let edited = edits.sections[section] else {
      return try base.numberOfRows(inSection: section, knowing: minimum)
    }
    let deleted = edited.deleted.count
    let wanted = edited.inserted.isEmpty && minimum < .max - deleted ? minimum + deleted : .max
    // The deleted rows exist, so they are asked for, too.
    let last = (edited.deleted.last ?? -1) + 1
    let count = try base.numberOfRows(inSection: section, knowing: max(wanted, last))
    let shown = max(0, count.value - deleted) + edited.inserted.count
    return count.isExact ? .exact(shown) : .atLeast(shown)
  }

  /// The row at a path, which must exist.
  func row(at path: IndexPath) throws(TableError) -> Row {
    guard let edited = edits.sections[path.section] else { return .base(path) }
    let row = edited.baseRow(of: path.row)
    let count = try base.numberOfRows(inSection: path.section, knowing: row + 1).value
    if row < count { return .base(IndexPath(section: path.section, row: row)) }
    let place = row - count
    guard edited.inserted.indices.contains(place) else {
      throw .noRow(path.row, inSection: path.section, of: count)
    }
    return .inserted(edited.inserted[place])
  }

  /// The path of a row of the base; nil if the row is deleted.
  func path(ofBase path: IndexPath) -> IndexPath? {
    guard let edited = edits.sections[path.section] else { return path }
    let before = partition(edited.deleted.count) { edited.deleted[$0] >= path.row }
    guard !edits.deleted.contains(path) else { return nil }
    return IndexPath(section: path.section, row: path.row - before)
  }

  /// The path of an inserted row; nil if the row is gone.
  func path(ofInserted number: Int) throws(TableError) -> IndexPath? {
    guard let row = edits.inserted[number], let edited = edits.sections[row.section],
      case let place = partition(edited.inserted.count, { edited.inserted[$0] >= number }),
      place < edited.inserted.count, edited.inserted[place] == number
    else { return nil }
    let count = try base.exactNumberOfRows(inSection: row.section)
    return IndexPath(section: row.section, row: count - edited.deleted.count + place)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard let edited = edits.sections[request.section] else { return try base.rows(request) }
    var request = request
    let first = edited.baseRow(of: request.first)
    let count = try base.numberOfRows(inSection: request.section, knowing: first + 1).value
    guard first < count else { return try inserted(request, edited, from: first - count, count) }
    let next = edited.nextEdited(from: first)
    request.first = first
    if next > first {
      request.count = min(request.count, next - first)
      return try base.rows(request)
    }
    request.count = 1
    let cells = edits.cells[IndexPath(section: request.section, row: first)] ?? [:]
    return try base.rows(request).setting(cells, request.columns)
  }

  private func inserted(
    _ request: RowRequest, _ edited: StagedEdits.Section, from place: Int, _ count: Int
  ) throws(TableError) -> Batch {
    guard place <= edited.inserted.count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let rows = edited.inserted[place...].prefix(request.count)
    let builder = BatchBuilder(for: request, of: columns)
    for number in rows {
      let cells = edits.inserted[number]?.cells ?? [:]
      for (place, column) in request.columns.enumerated() {
        builder.columns[place].append(cells[column] ?? .missing)
      }
    }
    return builder.finish(rowCount: rows.count)
  }
}

extension StagedEdits.Section {
  /// The number in the base of a shown row, which need not exist.
  fileprivate func baseRow(of row: Int) -> Int {
    // The number of deleted rows in front of the row.
    let count = partition(deleted.count) { deleted[$0] - $0 > row }
    return row + count
  }

  /// The first row from `row` on that is deleted or changed.
  fileprivate func nextEdited(from row: Int) -> Int {
    let next = [deleted, changed].compactMap { rows -> Int? in
      let index = partition(rows.count) { rows[$0] >= row }
      return index < rows.count ? rows[index] : nil
    }
    return next.min() ?? .max
  }
}

extension Batch {
  /// A batch of one row with other cells, by the numbers of columns.
  fileprivate func setting(_ cells: [Int: Cell], _ numbers: [Int]) -> Batch {
    let columns = zip(columns, numbers).map { column, number in
      guard let cell = cells[number] else { return column }
      let builder = BatchBuilder([column.type])
      builder.columns[0].append(cell)
      return builder.finish().columns[0]
    }
    return Batch(rowCount: rowCount, columns: columns, ids: nil, isUTF8: false)
  }
}

/// The first number below `count` for which `isBehind` is true, or `count`. The numbers before it are those for which it is
/// false.
func partition(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
  var (low, high) = (0, count)
  while low < high {
    let middle = low + (high - low) / 2
    if isBehind(middle) { high = middle } else { low = middle + 1 }
  }
  return low
}

func partition(
  _ count: Int, throwing isBehind: (Int) throws(TableError) -> Bool
) throws(TableError) -> Int {
  var (low, high) = (0, count)
  while low < high {
    let middle = low + (high - low) / 2
    if try isBehind(middle) { high = middle } else { low = middle + 1 }
  }
  return low
}
