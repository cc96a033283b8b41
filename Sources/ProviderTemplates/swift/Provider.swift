import TabellaSDK

/// A provider of tables. `@NAME@:` shows the sample below; `@NAME@:FILE` and `FILE.@NAME@` show a file.
///
/// A row is a line: a name, a tab, and a year. For other data, change `columns` and `row`.
struct TableProvider: Provider {
  static let id = "@NAME@"
  static let version = "1.0"

  static let sample = "Ada\t1815\nGrace\t1906\nMargaret\t1936\n"

  static let columns = [Column("name"), Column("year", .integer)]

  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let bytes =
      request.location.isEmpty
      ? Array(TableProvider.sample.utf8) : try EditableFile(path: request.location).bytes
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return InMemorySource(
      TableProvider.columns, rows: lines.map(TableProvider.row),
      ids: lines.enumerated().map { TableProvider.id(ofRow: $0, $1) })
  }

  /// The cells of a line. The year is missing if there is no number.
  static func row(_ line: ArraySlice<UInt8>) -> [Cell] {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    let parts = line.split(separator: UInt8(ascii: "\t"), maxSplits: 1, omittingEmptySubsequences: false)
    let year = parts.count > 1 ? Int64(String(decoding: parts[1], as: UTF8.self)) : nil
    return [.text(Array(parts[0])), year.map { .integer($0) } ?? .missing]
  }

  /// The id of a row: its number, and a digest of its line. It never names another line.
  static func id(ofRow number: Int, _ line: ArraySlice<UInt8>) -> String {
    "\(number).\(String(line.withUnsafeBytes { digest64($0) }, radix: 16))"
  }
}

// The contract fixes this name.
@c @implementation
public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
  TableProvider.export(to: entry)
}
