/// The changes that lead from the rows of one table to those of another, as a batch of edits counts them.
///
/// Rows belong together if they are equal, or if they have the same key. A key occurs once in a section. Without a key,
/// a deleted and an inserted row in the same gap between equal rows also belong together if at least half of their cells,
/// rounded down, are equal. Sections belong together if they have the same title and rows, or else the same title, or
/// else the same position in a gap between such sections.
///
/// A comparison reads both tables once, and the rows between equal rows again. It keeps no cells. Its memory is about
/// 64 bytes per row, whatever the size of the rows.
/// - Complexity: nearly O(cells) for tables that differ little; see ``ListDifference``.
public struct TableComparison {
  /// The rules of a comparison.
  public struct Options: Hashable, Sendable {
    /// The columns of the key, as indices into ``ComparedColumns/pairs``. Without any, rows are compared as a whole.
    public var keys: [Int] = []
    /// Whether the order of rows and sections is compared. If not, there are no moves within a section.
    public var comparesOrder = true
    /// Whether rows that change their position are moved. If not, they are deleted and inserted.
    public var movesRows = true

    /// Creates options.
    public init() {}
  }

  /// One change of a row or of a section. Old paths count as in the old table, new paths as in the new one.
  public enum Change: Hashable, Sendable {
    /// Rows of a deleted section have no changes of their own.
    case delete(IndexPath)
    case insert(IndexPath)
    /// Some cells differ, or the title of a section.
    case set(IndexPath, to: IndexPath)
    case move(IndexPath, to: IndexPath)
  }

  /// The rows before the changes.
  public let old: ComparedRows
  /// The rows after the changes.
  public let new: ComparedRows
  /// The columns of both tables, paired by name.
  public let columns: ComparedColumns
  private let options: Options
  private var sections: SectionMatching
  /// The rows, numbered across all sections.
  private var rows: RowMatching

  /// Compares rows of two tables.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if two rows of a section have the same key, and the errors of the
  /// tables.
  public init(
    from old: ComparedRows, to new: ComparedRows, columns: ComparedColumns,
    options: Options = .init()
  ) throws(TableError) {
    self.old = old
    self.new = new
    self.columns = columns
    self.options = options
    let digests = try TableDigests(old, new, columns, keys: options.keys)
    sections = try SectionMatching(old, new, digests)
    rows = RowMatching(old, new)
    if options.keys.isEmpty {
      rows.matchEqualRows(sections, digests)
      if options.movesRows || !options.comparesOrder {
        rows.matchMovedRows(sections, digests, movesRows: options.movesRows)
      }
      try pairChangedRows()
    } else {
      try checkKeys(digests)
      rows.matchKeys(
        sections, digests, reordersRows: options.movesRows || !options.comparesOrder,
        movesRows: options.movesRows)
    }
    rows.noteChanges(digests)
  }

  // The changes

  /// Calls `body` with all changes, section by section, in the order of the rows.
  public func forEachChange(
    _ body: (Change) throws(TableError) -> Void
  ) throws(TableError) {
    var nextOld = 0
    func deleteSections(to end: Int) throws(TableError) {
      while nextOld < end {
        if sections.newSection[nextOld] == nil { try body(.delete(.section(nextOld))) }
        nextOld += 1
      }
    }
    for section in new.sections.indices {
      guard let partner = sections.oldSection[section] else {
        try body(.insert(.section(section)))
        try forEachChange(ofRowsIn: section, from: nil, body)
        continue
      }
      if sections.isInOrder[section] { try deleteSections(to: partner) }
      if sections.isRenamed[section] {
        try body(.set(.section(partner), to: .section(section)))
      }
      if options.comparesOrder, !sections.isInOrder[section] {
        try body(.move(.section(partner), to: .section(section)))
      }
      try forEachChange(ofRowsIn: section, from: partner, body)
    }
    try deleteSections(to: old.sections.count)
  }

  private func forEachChange(
    ofRowsIn section: Int, from oldSection: Int?,
    _ body: (Change) throws(TableError) -> Void
  ) throws(TableError) {
    let oldRange = oldSection.map { old.range(ofSection: $0) } ?? 0..<0
    var nextOld = oldRange.lowerBound
    /// Passes the old rows up to the next one that keeps its order.
    func deleteRows() throws(TableError) {
      while nextOld < oldRange.upperBound, !rows.staysInOrder(old: nextOld) {
        if rows.newRow[nextOld] < 0, let oldSection {
          try body(.delete(IndexPath(section: oldSection, row: nextOld - oldRange.lowerBound)))
        }
        nextOld += 1
      }
    }
    let newRange = new.range(ofSection: section)
    for row in newRange {
      try deleteRows()
      let path = IndexPath(section: section, row: row - newRange.lowerBound)
      guard rows.oldRow[row] >= 0 else {
        try body(.insert(path))
        continue
      }
      let source = oldPath(of: Int(rows.oldRow[row]))
      if rows.isChanged[row] { try body(.set(source, to: path)) }
      if rows.isInOrder[row] {
        nextOld += 1
      } else if options.comparesOrder || source.section != oldSection {
        try body(.move(source, to: path))
      }
    }
    try deleteRows()
  }

  private func oldPath(of row: Int) -> IndexPath {
    let section = old.starts.partitioningIndex { $0 > row } - 1
    return IndexPath(section: section, row: row - old.starts[section])
  }

  private func newPath(of row: Int) -> IndexPath {
    let section = new.starts.partitioningIndex { $0 > row } - 1
    return IndexPath(section: section, row: row - new.starts[section])
  }

  // Keys

  /// Throws if two rows of a section have the same key.
  private func checkKeys(_ digests: TableDigests) throws(TableError) {
    for (isNew, numbers) in [(false, digests.oldKeys), (true, digests.newKeys)] {
      var last = [Int32](repeating: -1, count: digests.keyCount)
      let side = isNew ? new : old
      for section in side.sections.indices {
        let range = side.range(ofSection: section)
        for row in range {
          let number = Int(numbers[row])
          if range.contains(Int(last[number])) {
            throw try twice(Int(last[number]), row, isNew: isNew)
          }
          last[number] = Int32(truncatingIfNeeded: row)
        }
      }
    }
  }

  private func twice(_ row: Int, _ other: Int, isNew: Bool) throws(TableError) -> TableError {
    let side = isNew ? new : old
    let paths = [row, other].map { isNew ? newPath(of: $0) : oldPath(of: $0) }
    let numbers = options.keys.map { isNew ? columns.pairs[$0].new : columns.pairs[$0].old }
    var cells: [String] = []
    try side.read([paths[0]], columns: numbers) { batch in
      cells = zip(options.keys, batch.columns).map { "\(columns.pairs[$0].name)=\($1[0])" }
    }
    return TableError(
      .invalidArgument,
      "the rows \(paths[0]) and \(paths[1]) of the \(isNew ? "second" : "first") table have the same key: \(cells.joined(separator: ", ")); choose columns that differ in all rows"
    )
  }

  // Changed rows

  /// Pairs rows between equal rows if at least half of their cells, rounded down, are equal.
  private mutating func pairChangedRows() throws(TableError) {
    guard columns.pairs.count > 1 else { return }
    var windows: [ChangedRows.Window] = []
    var count = 0
    for section in new.sections.indices {
      guard let partner = sections.oldSection[section] else { continue }
      let gaps = rows.gaps(
        old.range(ofSection: partner), new.range(ofSection: section))
      for gap in gaps {
        for window in ChangedRows.windows(gap.old, gap.new) {
          windows.append(window)
          count += window.old.count + window.new.count
          if count >= 1 << 13 {
            try pair(windows)
            (windows, count) = ([], 0)
          }
        }
      }
    }
    try pair(windows)
  }

  private mutating func pair(_ windows: [ChangedRows.Window]) throws(TableError) {
    let oldCells = try cells(of: old, windows.flatMap(\.old).map { oldPath(of: $0) }, \.old)
    let newCells = try cells(of: new, windows.flatMap(\.new).map { newPath(of: $0) }, \.new)
    var (firstOld, firstNew) = (0, 0)
    for window in windows {
      let pairs = ChangedRows(columnCount: columns.pairs.count).pairs(
        oldCells, firstOld..<firstOld + window.old.count,
        newCells, firstNew..<firstNew + window.new.count)
      for pair in pairs { rows.pair(window.old[pair.old], window.new[pair.new]) }
      firstOld += window.old.count
      firstNew += window.new.count
    }
  }

  /// A digest for each cell of some rows, row by row.
  private func cells(
    of side: ComparedRows, _ paths: [IndexPath], _ number: (ComparedColumns.Pair) -> Int
  ) throws(TableError) -> [RowDigest] {
    let width = columns.pairs.count
    var cells = [RowDigest](repeating: .empty, count: paths.count * width)
    var first = 0
    try side.read(paths, columns: columns.pairs.map(number)) { batch in
      for (index, (pair, column)) in zip(columns.pairs, batch.columns).enumerated() {
        var digests = [RowDigest](repeating: .empty, count: batch.rowCount)
        side.source.columns[number(pair)].add(column, to: &digests, asText: pair.isText)
        for row in digests.indices { cells[(first + row) * width + index] = digests[row] }
      }
      first += batch.rowCount
    }
    return cells
  }
}

extension TableComparison.Change {
  /// The path in the old table; nil for an insertion.
  public var old: IndexPath? {
    switch self {
    case .insert: nil
    case .delete(let path), .set(let path, _), .move(let path, _): path
    }
  }

  /// The path in the new table; nil for a deletion.
  public var new: IndexPath? {
    switch self {
    case .delete: nil
    case .insert(let path), .set(_, let path), .move(_, let path): path
    }
  }

  /// Whether it is a change of a section.
  public var isOfSection: Bool { (old ?? new)?.isSection ?? false }
}
