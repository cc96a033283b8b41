import Tabella

/// Notes for people whose filters keep no row: which values a column has, and how to compare with a column.
enum EmptyResult {
  /// The maximum number of values that a note lists.
  private static let mostValues = 12
  /// The maximum number of rows that are read for a note.
  private static let mostRows = 100_000

  /// The notes about a table; none if it has rows.
  static func notes(about table: ShapedTable) -> [String] {
    guard !table.shape.conditions.isEmpty, (try? table.source.hasAtMost(0)) == true else {
      return []
    }
    let names = ColumnNames(table.base.columns)
    return table.shape.conditions.compactMap { condition in
      guard condition.otherColumn == nil, condition.comparison != .matches,
        condition.comparison != .doesNotMatch
      else { return nil }
      let name = names.names[condition.column]
      let value = String(decoding: condition.value, as: UTF8.self)
      if let other = try? names.number(value), other != condition.column {
        return
          "note: \(value) is a text here; '\(name) \(condition.comparison.rawValue) {\(value)}' compares with the column \(value)"
      }
      guard condition.comparison == .equal,
        let values = try? values(of: condition.column, in: table.base),
        !values.contains(condition.value)
      else { return nil }
      let list = values.map { String(decoding: $0, as: UTF8.self) }.sorted()
      return
        "note: no row has \(name) = \(value); the values of \(name) are \(list.joined(separator: ", "))"
    }
  }

  /// The values of a column of text; nil if there are none or many.
  private static func values(
    of column: Int, in source: any TableDataSource
  ) throws(TableError) -> Set<[UInt8]>? {
    guard source.columns[column].valueType == .text, !source.columns[column].isOnRequest else {
      return nil
    }
    var (values, rows, section): (Set<[UInt8]>, Int, Int) = ([], 0, 0)
    while try source.numberOfSections(knowing: section + 1).value > section {
      var first = 0
      while rows < mostRows {
        let batch = try source.rows(
          RowRequest(
            section: section, first: first, count: 4096, columns: [column], includesIDs: false))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount where !batch.columns[0].isMissing(row) {
          batch.columns[0].withBytes(at: row) { text in
            if !text.isEmpty { values.insert(Array(text.prefix(41))) }
          }
          guard values.count <= mostValues else { return nil }
        }
        first += batch.rowCount
        rows += batch.rowCount
      }
      section += 1
    }
    // A long text is no name of a kind.
    return rows < mostRows && !values.isEmpty && values.allSatisfy { $0.count <= 40 } ? values : nil
  }
}
