import Tabella
import TabellaHost

/// How a table is written: what comes is told in order, and each step is written at once.
protocol Format {
  /// Writes what stands before everything.
  mutating func begin(_ table: ShownTable) throws(Failure)
  mutating func beginSection(_ section: ShownSection) throws(Failure)
  /// Whether it says of rows what may be done with them.
  var wantsPermissions: Bool { get }
  mutating func write(_ rows: ShownRows) throws(Failure)
  mutating func endSection(_ section: ShownSection) throws(Failure)
  /// Writes what stands behind everything; `failure` is why the rows ended early.
  mutating func end(failure: Failure?) throws(Failure)
}

extension Format {
  var wantsPermissions: Bool { false }
}

/// What a format knows of the table that it writes.
struct ShownTable {
  let table: ShapedTable
  /// The columns shown.
  let columns: [Column]
  let hasHeader: Bool
  /// Whether a section without rows is not worth a line: where rows are searched for.
  let hidesEmptySections: Bool

  init(_ table: ShapedTable, hasHeader: Bool, hidesEmptySections: Bool = false) {
    self.table = table
    self.hidesEmptySections = hidesEmptySections
    columns = table.columns.map { table.source.columns[$0] }
    self.hasHeader = hasHeader
  }
}

/// Rows as they come, with what may be done with them, if the format wants that.
struct ShownRows {
  let batch: Batch
  var editable: [RowEditability]?
  var movable: [Bool]?
}

struct ShownSection {
  let number: Int
  var header: String?
  var footer: String?
  var indexTitle: String?
  /// The table that it comes from, if several are joined.
  var table: OpenedTable?
}

/// The formats there are. A new one is an entry here and a file beside this one.
enum Formats {
  static let names = ["table", "csv", "json", "jsonl"]
  /// Those that are written as the rows come, without what goes with a section.
  static let exportNames = ["csv", "jsonl", "arrow-stream"]

  static func make(_ name: String, _ output: Output) -> any Format {
    switch name {
    case "arrow-stream": ArrowStreamFormat(output)
    case "csv": CSVFormat(output)
    case "json": JSONFormat(output)
    case "jsonl": JSONLinesFormat(output)
    default: TableFormat(output)
    }
  }
}

/// Base64 (RFC 4648, section 4).
func base64(_ bytes: UnsafeRawBufferPointer) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  text.reserveCapacity((bytes.count + 2) / 3 * 4)
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let count = min(3, bytes.count - start)
    var bits = 0
    for index in 0..<3 { bits = bits << 8 | (index < count ? Int(bytes[start + index]) : 0) }
    for index in 0..<4 {
      text.append(
        index <= count ? alphabet[(bits >> (18 - 6 * index)) & 63] : UInt8(ascii: "="))
    }
  }
  return String(decoding: text, as: UTF8.self)
}
