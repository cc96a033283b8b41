import Tabella
import TabellaHost

/// How a table is written: what comes is told in order, and each step is written at once.
protocol Format {
  /// Writes what stands before everything.
  mutating func begin(_ table: ShownTable) throws(Failure)
  /// How many of the columns it shows, from the first on; nil means all. Asked after ``begin(_:)``.
  var columnLimit: Int? { get }
  /// What it wants to know of sections and rows beside titles and cells.
  var needs: FormatNeeds { get }
  mutating func beginSection(_ section: ShownSection) throws(Failure)
  /// Writes rows, one at least, of the section that has begun.
  mutating func write(_ rows: ShownRows) throws(Failure)
  mutating func endSection(_ section: ShownSection) throws(Failure)
  /// Writes what stands behind everything; `failure` is why the rows ended early.
  mutating func end(failure: Failure?) throws(Failure)
  /// What was left out, to be said when all is written.
  var notes: [String] { get }
}

extension Format {
  var columnLimit: Int? { nil }
  var needs: FormatNeeds { [] }
  var notes: [String] { [] }
  mutating func beginSection(_ section: ShownSection) throws(Failure) {}
  mutating func endSection(_ section: ShownSection) throws(Failure) {}
  mutating func end(failure: Failure?) throws(Failure) {}
}

/// The facts that a format needs beside titles and cells. The viewer asks a source for nothing else.
struct FormatNeeds: OptionSet {
  let rawValue: Int

  /// The ids of rows.
  static let ids = FormatNeeds(rawValue: 1)
  /// What may be done with rows.
  static let permissions = FormatNeeds(rawValue: 2)
  static let indexTitles = FormatNeeds(rawValue: 4)
  /// Header and footer elements, badges.
  static let elements = FormatNeeds(rawValue: 8)
  /// Where rows lead.
  static let links = FormatNeeds(rawValue: 16)
  /// Sections without rows, also where rows are searched for.
  static let emptySections = FormatNeeds(rawValue: 32)
}

/// What a format knows of the table that it writes.
struct ShownTable {
  let table: ShapedTable
  /// The columns shown.
  var columns: [Column]
  /// Whether the first column has the names of the rows, which are never cut.
  var beginsWithRowNames = false
  let hasHeader: Bool
  /// Whether a section without rows is not worth a line: where rows are searched for.
  let hidesEmptySections: Bool
  /// Whether the sections are groups of the values of a column.
  let isGrouped: Bool

  init(
    _ table: ShapedTable, hasHeader: Bool, hidesEmptySections: Bool = false, isGrouped: Bool = false
  ) {
    self.table = table
    self.isGrouped = isGrouped
    self.hidesEmptySections = hidesEmptySections
    columns = table.columns.map { table.source.columns[$0] }
    self.hasHeader = hasHeader
  }
}

/// A batch of rows with the facts that the format needs.
struct ShownRows {
  var batch: Batch
  /// The place of the first of them in the table on show: sections and rows that are not shown do not count.
  var first: IndexPath
  var editable: [RowEditability]?
  var movable: [Bool]?
  var badges: [StyledText?]?
  /// The addresses that rows lead to, percent-encoded.
  var links: [String?]?
}

extension ShownRows {
  /// Puts a column of text before the others.
  mutating func putFirst(_ text: (Int) -> String?) {
    let builder = BatchBuilder([.text], capacity: batch.rowCount)
    for row in 0..<batch.rowCount {
      if let text = text(row) {
        builder.columns[0].append(text)
      } else {
        builder.columns[0].appendMissing()
      }
    }
    batch = Batch(
      rowCount: batch.rowCount, columns: builder.finish().columns + batch.columns, ids: batch.ids)
  }
}

struct ShownSection {
  let number: Int
  /// How many rows it has, as far as that was learned.
  var count: Count
  var header: String?
  var footer: String?
  /// What stands in place of the titles.
  var headerElement: SupplementaryElement?
  var footerElement: SupplementaryElement?
  var indexTitle: String?
  /// The table that it comes from, if several are joined.
  var table: OpenedTable?
}

/// The formats there are. A new one is an entry here and a file beside this one.
enum Formats {
  static let names = [
    "table", "plain", "csv", "tsv", "json", "jsonl", "markdown", "vertical",
  ]
  /// Those that are written as the rows come, without what goes with a section.
  static let exportNames = ["csv", "tsv", "jsonl", "plain", "arrow-stream"]
  /// Those that may have the section as a column.
  static let sectionColumnNames = exportNames

  static func make(_ name: String, _ output: Output, _ display: DisplayOptions) -> any Format {
    switch name {
    case "arrow-stream": ArrowStreamFormat(output)
    case "csv": SeparatedFormat(.csv, output)
    case "tsv": SeparatedFormat(.tsv, output)
    case "plain": SeparatedFormat(.plain, output)
    case "json": JSONFormat(output)
    case "jsonl": JSONLinesFormat(output)
    case "markdown": MarkdownFormat(output)
    case "vertical": VerticalFormat(output)
    default: table(output, display)
    }
  }

  private static func table(_ output: Output, _ display: DisplayOptions) -> any Format {
    switch (display.style, display.vertical) {
    case (.collection, _): CollectionFormat(output)
    case (_, .always): VerticalFormat(output)
    default:
      TableFormat(output, isGrouped: display.style == .grouped, mayTurn: display.vertical == .auto)
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

/// The bytes that base64 stands for (RFC 4648, section 4, with its padding); nil if it is none.
func bytes(base64 text: String) -> [UInt8]? {
  let text = Array(text.utf8)
  guard text.count % 4 == 0 else { return nil }
  let padding = text.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count / 4 * 3)
  var bits: UInt32 = 0
  for (index, character) in text.dropLast(padding).enumerated() {
    let digit: UInt8
    switch character {
    case 65...90: digit = character - 65
    case 97...122: digit = character - 97 + 26
    case 48...57: digit = character - 48 + 52
    case UInt8(ascii: "+"): digit = 62
    case UInt8(ascii: "/"): digit = 63
    default: return nil
    }
    bits = bits << 6 | UInt32(digit)
    // Each digit but the first of four completes a byte.
    if index % 4 > 0 {
      let rest = UInt32(6 - 2 * (index % 4))
      bytes.append(UInt8(truncatingIfNeeded: bits >> rest))
    }
  }
  // What the last digit has beyond the last byte must be nothing.
  let rest = UInt32(2 * padding)
  return bits & (1 << rest - 1) == 0 ? bytes : nil
}
