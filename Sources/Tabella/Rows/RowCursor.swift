/// Reads the rows of a table one after the other, in batches.
///
/// ```swift
/// var rows = try table.rows(columns: ["city", "amount"])
/// while let row = try rows.next() {
///   print(try row["city", as: String.self], try row["amount", as: Int.self])
/// }
/// ```
///
/// A cursor is a value: a copy continues on its own. It reads only as far as it is asked, with the first rows in a small
/// batch. It belongs to the thread of its source. An edit, or a pull, moves the source to another version; make another
/// cursor then.
public struct RowCursor {
  /// The columns of the table.
  public var columns: [Column] { read.columns }

  private let source: any TableDataSource
  private var read: ReadColumns
  private let isForEditing: Bool
  private let hasIDs: Bool
  private let version: Version?
  private let asked: AskedColumns?
  /// The only section to read; nil for all sections.
  private let onlySection: Int?
  private var rows: ReadRows?
  private var index = 0
  /// The row after the last one that was read.
  private var end: IndexPath
  private var isAtEnd = false
  private var isStarted = false
  private var size: Int

  /// The number of rows in the first and in the largest batch.
  private static let firstSize = 256
  private static let largestSize = 1 << 14

  init(
    _ source: any TableDataSource, numbers: [Int]?, section: Int?, forEditing: Bool,
    asked: AskedColumns? = nil
  ) throws(TableError) {
    self.source = source
    let columns = source.columns
    read = ReadColumns(
      columns, ColumnNames(columns), numbers: numbers ?? columns.usualNumbers)
    isForEditing = forEditing
    hasIDs = forEditing && source.identity != nil
    version = forEditing && !hasIDs ? try source.version() : nil
    self.asked = asked
    // One row shows which columns a decoder asks for.
    size = asked == nil || numbers != nil ? Self.firstSize : 1
    onlySection = section
    end = IndexPath(section: section ?? 0, row: 0)
  }

  /// The number of a column, for the subscript of ``TableRow``.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if there is no column with this name.
  public func column(_ name: String) throws(TableError) -> Int { try read.names.number(name) }

  /// The next row; nil after the last one. Throws the errors of the source.
  public mutating func next() throws(TableError) -> TableRow? {
    while true {
      if let rows, index < rows.batch.rowCount {
        defer { index += 1 }
        return TableRow(rows: rows, index: index)
      }
      guard try readOn() else { return nil }
    }
  }

  /// Reads more columns from now on, and returns to a row.
  mutating func add(_ numbers: [Int], rereading row: TableRow) {
    read = ReadColumns(
      read.columns, read.names, numbers: Set(numbers).union(read.numbers).sorted())
    (rows, index, end, isAtEnd) = (nil, 0, row.path, false)
  }

  /// Reads only these columns from now on, and returns to a row.
  mutating func reduce(to numbers: [Int], rereading row: TableRow) {
    read = ReadColumns(read.columns, read.names, numbers: [])
    add(numbers, rereading: row)
    size = Self.firstSize
  }

  /// Reads the next batch. Returns false at the end of the table.
  private mutating func readOn() throws(TableError) -> Bool {
    if !isStarted {
      isStarted = true
      if onlySection == nil { isAtEnd = try source.numberOfSections(knowing: 1).value == 0 }
    }
    rows = nil
    while !isAtEnd {
      let start = end
      if try !isAtEndOfSection() {
        let batch = try source.rows(
          RowRequest(
            section: start.section, first: start.row, count: size, columns: read.numbers,
            includesIDs: hasIDs))
        if batch.rowCount > 0 {
          size = min(size * 4, Self.largestSize)
          end.row += batch.rowCount
          index = 0
          rows = ReadRows(
            batch, read, start: start, version: version, isForEditing: isForEditing, asked: asked)
          return true
        }
      }
      try startNextSection()
    }
    return false
  }

  /// Whether the source knows, without work, that the section has no more rows.
  private func isAtEndOfSection() throws(TableError) -> Bool {
    guard end.row > 0 else { return false }
    return try source.numberOfRows(inSection: end.section, knowing: 0) == .exact(end.row)
  }

  private mutating func startNextSection() throws(TableError) {
    let next = end.section + 1
    guard onlySection == nil, try source.numberOfSections(knowing: next + 1).value > next else {
      isAtEnd = true
      return
    }
    end = IndexPath(section: next, row: 0)
  }
}

extension TableDataSource {
  /// A cursor for the rows of the table, section by section. `columns` are the names of the columns to read; nil means
  /// all columns except those on request. `section` is the only section to read; nil means all sections.
  ///
  /// With `forEditing`, ``TableEdits`` accepts the rows: each row gets its id, or its version if the table has no ids.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if there is no column with a name. No row is read yet.
  public func rows(
    columns: [String]? = nil, inSection section: Int? = nil, forEditing: Bool = false
  ) throws(TableError) -> RowCursor {
    try RowCursor(
      self, numbers: try numbers(ofColumns: columns), section: section, forEditing: forEditing)
  }

  /// Calls `body` with each row of the table, section by section. The parameters are those of
  /// ``rows(columns:inSection:forEditing:)``.
  ///
  /// Throws ``TableError`` of the source, and the errors of `body`. `body` must not edit the table.
  public func forEachRow(
    columns: [String]? = nil, inSection section: Int? = nil, forEditing: Bool = false,
    _ body: (TableRow) throws -> Void
  ) throws {
    var rows = try rows(columns: columns, inSection: section, forEditing: forEditing)
    while let row = try rows.next() { try body(row) }
  }

  /// The numbers of columns by their names; nil for nil.
  package func numbers(ofColumns names: [String]?) throws(TableError) -> [Int]? {
    guard let names else { return nil }
    let known = ColumnNames(columns)
    var numbers: [Int] = []
    for name in names {
      let number = try known.number(name)
      guard !numbers.contains(number) else {
        throw TableError(.invalidArgument, "column \(name) is named twice", column: number)
      }
      numbers.append(number)
    }
    return numbers
  }
}
