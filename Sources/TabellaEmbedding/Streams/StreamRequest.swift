import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge

/// The rows, columns and forms that a stream delivers.
struct StreamRequest {
  /// The form of text columns.
  enum TextForm {
    case utf8
    case views
    case binary

    /// The Arrow format.
    var format: String {
      switch self {
      case .utf8: "u"
      case .views: "vu"
      case .binary: "z"
      }
    }
  }

  /// The usual number of rows in a batch, and the greatest one.
  static let usualRows = 1 << 16

  var columns: [Int]
  var section: Int?
  var first = 0
  var count = Int.max
  var rowsPerBatch = StreamRequest.usualRows
  var form = TextForm.utf8
  var includesSection = false
  var includesID = false

  /// Reads the request of a caller, which may be absent.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if it makes no sense, and `.notSupported` for ids of a table without
  /// ids.
  init(
    _ raw: tabella_embed_stream_request?, of table: any TableDataSource
  ) throws(TableError) {
    columns = table.columns.usualNumbers
    guard let raw else { return }
    if raw.columns != nil || raw.column_count != 0 {
      columns = try list(raw.columns, raw.column_count, "columns").map { Int($0) }
    }
    for column in columns where !table.columns.indices.contains(column) {
      throw TableError(
        .invalidArgument, "there is no column \(column); there are \(table.columns.count)",
        column: column)
    }
    guard Set(columns).count == columns.count else {
      throw TableError(.invalidArgument, "a column is requested twice")
    }
    try check("section", raw.section, -1...Int64.max)
    try check("first", raw.first, 0...Int64.max)
    try check("count", raw.count, -1...Int64.max)
    try check("rows_per_batch", raw.rows_per_batch, 0...Int64(StreamRequest.usualRows))
    section = raw.section == -1 ? nil : Int(raw.section)
    first = Int(raw.first)
    count = raw.count == -1 ? .max : Int(raw.count)
    rowsPerBatch = raw.rows_per_batch == 0 ? StreamRequest.usualRows : Int(raw.rows_per_batch)
    try readFlags(raw.flags)
    try raw.reserved.checkReserved()
    if includesID, table.identity == nil {
      throw TableError(.notSupported, "the rows have no ids")
    }
  }

  private func check(
    _ name: String, _ value: Int64, _ range: ClosedRange<Int64>
  ) throws(TableError) {
    guard !range.contains(value) else { return }
    throw TableError(
      .invalidArgument,
      range.upperBound == .max
        ? "\(name) is \(value); the least is \(range.lowerBound)"
        : "\(name) is \(value); it must be from \(range.lowerBound) to \(range.upperBound)")
  }

  private mutating func readFlags(_ flags: UInt32) throws(TableError) {
    let forms = TABELLA_EMBED_UTF8_VIEW | TABELLA_EMBED_TEXT_AS_BINARY
    try flags.check(onlyBits: forms | TABELLA_EMBED_WITH_SECTION | TABELLA_EMBED_WITH_ID)
    guard flags & forms != forms else {
      throw TableError(.invalidArgument, "text cannot be both views and binary")
    }
    if flags & TABELLA_EMBED_UTF8_VIEW != 0 { form = .views }
    if flags & TABELLA_EMBED_TEXT_AS_BINARY != 0 { form = .binary }
    includesSection = flags & TABELLA_EMBED_WITH_SECTION != 0
    includesID = flags & TABELLA_EMBED_WITH_ID != 0
  }

  /// The fields of the stream for a table with these columns.
  func fields(of all: [Column]) -> [ExportedField] {
    var fields = columns.map { number in
      let column = all[number]
      return ExportedField(
        column.name, format: format(of: column.valueType),
        metadata: column.unit.map { [("unit", $0.rawValue)] } ?? [])
    }
    if includesSection {
      fields =
        [
          ExportedField("section", format: "l", isNullable: false),
          ExportedField("section title", format: form.format),
        ] + fields
    }
    if includesID {
      fields.append(ExportedField("id", format: form.format, isNullable: false))
    }
    // Readers of Arrow refuse columns with the same name.
    for (number, name) in uniqueNames(fields.map(\.name)).enumerated() {
      fields[number].name = name
    }
    return fields
  }

  private func format(of type: ColumnType) -> String {
    switch type {
    case .text: form.format
    case .integer: "l"
    case .real: "g"
    case .boolean: "b"
    case .date: "tsu:UTC"
    case .binary: "z"
    }
  }
}
