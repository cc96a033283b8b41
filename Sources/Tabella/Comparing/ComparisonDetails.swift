import Glibc

extension TableComparison {
  /// A change with its cells.
  public struct Detail {
    /// The change.
    public let change: Change
    /// The row in the old table: the cells of ``ComparedColumns/pairs``, then those of ``ComparedColumns/deleted``.
    /// Without cells for an insertion and a section.
    public let oldCells: Row
    /// The row in the new table: the cells of ``ComparedColumns/pairs``, then those of ``ComparedColumns/inserted``.
    /// Without cells unless the row is inserted or set.
    public let newCells: Row

    /// The id of the row in the old table; nil for an insertion, a section, a table without ids, and if no ids were
    /// requested.
    public var id: String? { oldCells.id }
  }

  /// The cells of a row. Rows that were read together share their memory.
  public struct Row: RandomAccessCollection {
    /// Rows that were read together. A row refers to them, because a copy of the batch per row would take longer.
    fileprivate final class Block {
      let batch: Batch
      /// The columns as the table stores them.
      let stored: [ColumnBatch]
      /// Whether the numbers in the text of each column have a decimal comma.
      let hasComma: [Bool]

      init(_ batch: Batch, stored: [ColumnBatch], hasComma: [Bool]) {
        (self.batch, self.stored, self.hasComma) = (batch, stored, hasComma)
      }
    }

    private let block: Block
    private let row: Int

    fileprivate init(_ block: Block, _ row: Int) {
      self.block = block
      self.row = row
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { block.batch.columns.count }

    /// A cell. Each access creates a value.
    public subscript(index: Int) -> Cell { block.batch.columns[index][row] }

    fileprivate var id: String? { block.batch.id(row) }

    /// The exact text of a cell that the table stores as text, also if it reads as a value of another type. Nil for other
    /// cells and for a missing one.
    public func storedText(_ index: Int) -> [UInt8]? {
      let cells = block.stored[index]
      guard cells.type == .text, !cells.isMissing(row) else { return nil }
      return cells.withBytes(at: row) { Array($0) }
    }

    /// Calls `body` with the bytes of a text. Returns nil if the cell is missing or of another type. The bytes are
    /// valid only during the call.
    public func withText<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
      // A constant for the column would count a reference to its memory.
      guard block.batch.columns[index].type == .text, !block.batch.columns[index].isMissing(row)
      else { return nil }
      return block.batch.columns[index].withBytes(at: row, body)
    }

    /// The number in the stored text of a cell that reads as a real; nil for other cells.
    private func withNumber<R>(
      _ index: Int, _ body: (NumberText, UnsafeRawBufferPointer) -> R
    ) -> R? {
      guard block.batch.columns[index].type == .real, block.stored[index].type == .text,
        !block.batch.columns[index].isMissing(row)
      else { return nil }
      return block.stored[index].withBytes(at: row) { text in
        NumberText(text, hasComma: block.hasComma[index]).map { body($0, text) }
      }
    }

    /// Whether a cell has the same value as the cell of another row. Numbers in text have the same value if all their
    /// digits are the same; see ``Cell/isSame(as:asText:)`` for other cells.
    public func isSame(_ index: Int, as other: Row, asText: Bool) -> Bool {
      let isSameText = withText(index) { text in
        other.withText(index) { other in
          text.count == other.count
            && (text.isEmpty || memcmp(text.baseAddress!, other.baseAddress!, text.count) == 0)
        }
      }
      if let isSameText, let isSameText { return isSameText }
      let isSameNumber = withNumber(index) { number, text in
        other.withNumber(index) { NumberText.compare(number, text, $0, $1) == 0 }
      }
      if let isSameNumber, let isSameNumber { return isSameNumber }
      return self[index].isSame(as: other[index], asText: asText)
    }
  }

  /// Calls `body` with all changes and their cells. Reads the rows of a few thousand changes at a time.
  public func forEachDetail(
    includesIDs: Bool = true, _ body: (Detail) throws(TableError) -> Void
  ) throws(TableError) {
    var changes: [Change] = []
    try forEachChange { change throws(TableError) in
      changes.append(change)
      guard changes.count == 1 << 14 else { return }
      try details(changes, includesIDs, body)
      changes.removeAll(keepingCapacity: true)
    }
    try details(changes, includesIDs, body)
  }

  private func details(
    _ changes: [Change], _ includesIDs: Bool, _ body: (Detail) throws(TableError) -> Void
  ) throws(TableError) {
    var oldRows = try rows(
      of: old, changes.compactMap(\.oldRow), columns.pairs.map(\.old) + columns.deleted,
      includesIDs: includesIDs && old.source.identity != nil
    ).makeIterator()
    var newRows = try rows(
      of: new, changes.compactMap(\.filledRow), columns.pairs.map(\.new) + columns.inserted,
      includesIDs: false
    ).makeIterator()
    let none = Row(Row.Block(Batch(rowCount: 0, columns: []), stored: [], hasComma: []), 0)
    for change in changes {
      try body(
        Detail(
          change: change,
          oldCells: change.oldRow.flatMap { _ in oldRows.next() } ?? none,
          newCells: change.filledRow.flatMap { _ in newRows.next() } ?? none))
    }
  }

  /// Reads rows, in the order of the paths. `numbers` begins with the columns of the pairs. Cells that are compared as
  /// text stay the exact text of the table.
  private func rows(
    of side: ComparedRows, _ paths: [IndexPath], _ numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> [Row] {
    let all = side.source.columns
    let pairs = columns.pairs
    var rows: [Row] = []
    rows.reserveCapacity(paths.count)
    try side.read(paths, columns: numbers, includesIDs: includesIDs) { batch in
      let values = batch.columns.enumerated().map { index, cells in
        index < pairs.count && pairs[index].isText ? cells : all[numbers[index]].values(of: cells)
      }
      let block = Row.Block(
        Batch(rowCount: batch.rowCount, columns: values, ids: batch.ids), stored: batch.columns,
        hasComma: numbers.map { all[$0].hasDecimalComma })
      for row in 0..<batch.rowCount { rows.append(Row(block, row)) }
    }
    return rows
  }
}

extension TableComparison.Change {
  /// The path of a row in the old table; nil for an insertion and for a section.
  fileprivate var oldRow: IndexPath? { old.flatMap { $0.isSection ? nil : $0 } }

  /// The path in the new table of a row that is inserted or set; nil for other changes.
  fileprivate var filledRow: IndexPath? {
    switch self {
    case .insert(let path), .set(_, let path): path.isSection ? nil : path
    case .delete, .move: nil
    }
  }
}
