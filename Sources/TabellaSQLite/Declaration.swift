import Tabella

/// The columns of a virtual table, as SQLite numbers them.
struct Declaration {
  /// The meaning of a column.
  enum Slot: Hashable {
    /// The cells of a column of the source.
    case cell(Int)
    /// The number of the row's section.
    case section
    case sectionTitle
    /// The arguments of the table function.
    case location
    case option(Int)
  }

  var slots: [Slot]
  /// The statement that describes the columns to SQLite.
  var sql: String

  /// The number of columns of the table function `tabella()`.
  static let genericColumns = 32
  /// The number of options that the table function takes.
  static let genericOptions = 8

  /// The columns of a source. Those on request are hidden, so `SELECT *` leaves them out.
  init(of columns: [Column]) {
    slots = columns.indices.map { .cell($0) } + [.section, .sectionTitle]
    let names = Declaration.sqlNames(columns.map(\.name) + ["section", "section_title"])
    let parts = names.enumerated().map { number, name in
      let quoted =
        "\""
        + name.split(separator: "\"", omittingEmptySubsequences: false)
        .joined(separator: "\"\"") + "\""
      guard number < columns.count else {
        return quoted + (number == columns.count ? " INTEGER HIDDEN" : " TEXT HIDDEN")
      }
      return quoted + " " + columns[number].sqlType + (columns[number].isOnRequest ? " HIDDEN" : "")
    }
    sql = "CREATE TABLE x(\(parts.joined(separator: ", ")))"
  }

  /// The columns of the table function: SQLite fixes them before it knows the location.
  static let generic = Declaration()

  private init() {
    let options = 1...Declaration.genericOptions
    slots =
      (0..<Declaration.genericColumns).map { .cell($0) } + [.location]
      + options.map { .option($0) } + [.section, .sectionTitle]
    let parts =
      (1...Declaration.genericColumns).map { "c\($0)" } + ["location TEXT HIDDEN"]
      + options.map { "option\($0) TEXT HIDDEN" }
      + ["section INTEGER HIDDEN", "section_title TEXT HIDDEN"]
    sql = "CREATE TABLE x(\(parts.joined(separator: ", ")))"
  }

  /// Names that SQLite can tell apart: it ignores the case of ASCII letters. A column without a name gets one.
  private static func sqlNames(_ names: [String]) -> [String] {
    uniqueNames(names.enumerated().map { $1.isEmpty ? "column \($0 + 1)" : $1 }) { name in
      name.utf8.map { $0 &- 65 < 26 ? $0 | 0x20 : $0 }
    }
  }
}

extension Column {
  /// The declared type of SQL.
  ///
  /// A date is text. Any other type would let SQLite take the text of a date in a comparison as a number.
  fileprivate var sqlType: String {
    switch valueType {
    case .text, .date: "TEXT"
    case .integer: "INTEGER"
    case .real: "REAL"
    case .boolean: "BOOLEAN"
    case .binary: "BLOB"
    }
  }

  /// The type whose values SQL sees. Text that reads as dates stays as it is written.
  var shownType: ColumnType { type == .text && reads == .date ? .text : valueType }
}
