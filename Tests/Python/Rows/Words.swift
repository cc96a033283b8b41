import TabellaProviders

/// The command line: `COMMAND [-o NAME=VALUE] [-f FILTER] [-g COLUMNS] [-s COLUMNS] [-c NUMBER] [-b 1] [-r 1] LOCATION
/// [ARGUMENT]`. `-b` reads text as bytes, and `-r` opens the location for reading only.
struct Words {
  let command: String
  private(set) var location = ""
  private(set) var argument = ""
  private(set) var readsBytes = false
  private(set) var isReadOnly = false
  private var options: [String: String] = [:]
  private var filters: [String] = []
  private var sectionBy: String?
  private var sort: String?
  private var columns: [Int] = []

  init(_ words: ArraySlice<String>) throws(TableError) {
    var rest = words
    command = rest.popFirst() ?? ""
    while let word = rest.popFirst() {
      let value = rest.popFirst() ?? ""
      guard word.hasPrefix("-") else {
        (location, argument) = (word, value)
        return
      }
      try take(word, value)
    }
    throw TableError(.invalidArgument, "the location is missing")
  }

  private mutating func take(_ word: String, _ value: String) throws(TableError) {
    switch word {
    case "-o":
      let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      options[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
    case "-f": filters.append(value)
    case "-g": sectionBy = value
    case "-s": sort = value
    case "-c": columns.append(Int(value) ?? -1)
    case "-b": readsBytes = true
    case "-r": isReadOnly = true
    default: throw TableError(.invalidArgument, "there is no option \(word)")
    }
  }

  /// A host with the shipped providers inside this program. Others run in the worker next to it.
  static func host() -> Host {
    let host = Host(linked: .shipped)
    host.acceptsWeakIsolation = true
    return host
  }

  /// Opens the location, and shapes it as the command line says.
  func open() throws(TableError) -> OpenedTable {
    let table = try Words.host().open(
      Location(location), options: options, access: isReadOnly ? .reading : .editing)
    return try table.shaped(
      by: TableShape(
        filters: filters, search: nil, sectionBy: sectionBy, sort: sort, sectionsBy: nil,
        ColumnNames(table.columns)))
  }

  /// The numbers of the columns to read.
  func numbers(in table: OpenedTable) -> [Int] {
    columns.isEmpty ? table.columns.usualNumbers : columns
  }
}
