/// One row of a table, with typed access to its cells by the names of their columns.
///
/// ```swift
/// let amount = try row["amount", as: Int.self]
/// let paid = try row["paid", as: Timestamp?.self]
/// ```
///
/// A row shares the memory of the batch in which it was read. It can outlive its cursor and its source, and any number
/// of rows can be kept. Reading a cell creates no other values than the result.
public struct TableRow {
  @usableFromInline let rows: ReadRows
  @usableFromInline let index: Int

  /// The path of the row when it was read.
  public var path: IndexPath {
    IndexPath(section: rows.start.section, row: rows.start.row + index)
  }

  /// The id of the row; nil if it was not read for editing, or if the table has no ids.
  public var id: String? { rows.batch.id(index) }

  /// The value of a cell.
  ///
  /// Throws ``TableError``: `.invalidArgument` if there is no such column or the cursor does not read it, and
  /// `.constraint` with the row and the column if the cell has no such value.
  /// - Complexity: O(columns) to find the name. For many rows, find it once with ``RowCursor/column(_:)``.
  @inlinable public subscript<V: CellValue>(name: String, as type: V.Type) -> V {
    get throws(TableError) { try self[try number(name), as: type] }
  }

  /// The value of the cell in the column with this number. Otherwise like the subscript with a name.
  @inlinable public subscript<V: CellValue>(column: Int, as type: V.Type) -> V {
    get throws(TableError) {
      let cells = try cells(ofColumn: column)
      guard let value = V.value(ofRow: index, in: cells, rows.columns.columns[column]) else {
        throw unreadable(cells, column, V.cellDescription, acceptsEmptyText: V.acceptsEmptyText)
      }
      return value
    }
  }

  /// A cell, whatever its type is.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if there is no such column or the cursor does not read it.
  public subscript(name: String) -> Cell {
    get throws(TableError) { try self[name, as: Cell.self] }
  }

  /// The columns of the table.
  public var columns: [Column] { rows.columns.columns }

  /// The cells of the columns that the cursor reads, in their order. Creates a value per cell.
  public var cells: [Cell] { rows.batch.row(index) }

  // Steps

  /// The number of the column with this name.
  @usableFromInline func number(_ name: String) throws(TableError) -> Int {
    guard let number = find(name) else { throw rows.columns.names.unknown(name) }
    return number
  }

  /// The number of the column with this name; nil if there is none.
  func find(_ name: String) -> Int? {
    guard let asked = rows.asked else { return rows.columns.names.find(name) }
    return asked.find(name)
  }

  /// The cells of a column of the table.
  @usableFromInline func cells(ofColumn column: Int) throws(TableError) -> ColumnBatch {
    rows.asked?.insert(column)
    if let index = rows.columns.index(of: column) { return rows.batch.columns[index] }
    rows.asked?.missesOne = true
    let columns = rows.columns
    guard columns.columns.indices.contains(column) else {
      throw TableError(
        .invalidArgument, "there is no column \(column); there are \(columns.columns.count)")
    }
    throw TableError(
      .invalidArgument,
      "column \(columns.names.names[column]) is not among the columns that are read", column: column
    )
  }

  /// The error for a cell that has no value of a type.
  @usableFromInline func unreadable(
    _ cells: ColumnBatch, _ column: Int, _ wanted: String, acceptsEmptyText: Bool
  ) -> TableError {
    if cells.isMissing(index) { return error("is missing", column) }
    let text = cells[index].description
    if text.isEmpty, !acceptsEmptyText { return error("is empty", column) }
    let shown = text.utf8.count > 60 ? String(text.prefix(60)) + "…" : text
    return error("\(shown) is not \(wanted)", column)
  }

  /// An error about a cell of the row.
  func error(
    _ problem: String, _ column: Int, code: TableError.Code = .constraint
  ) -> TableError {
    TableError(
      code, "\(rows.columns.names.names[column]): \(problem)", section: path.section,
      row: path.row, column: column)
  }
}
