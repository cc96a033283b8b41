/// The columns that a view needs, which it knows by number.
///
/// When the file of a table gets another header, the numbers lead to other columns. The view must not use them.
struct UsedColumns {
  private let names: [Int: String]

  init(_ numbers: [Int], of columns: [Column]) {
    names = Dictionary(
      numbers.filter(columns.indices.contains).map { ($0, columns[$0].name) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Throws ``TableError`` with `.conflict` if one of the columns has another name.
  ///
  /// A table without columns has no rows: its file is empty while another program writes it.
  func check(_ columns: [Column]) throws(TableError) {
    if columns.isEmpty { return }
    for (number, name) in names
    where !columns.indices.contains(number) || columns[number].name != name {
      throw TableError(.conflict, "the columns of the table changed; open it again")
    }
  }
}
