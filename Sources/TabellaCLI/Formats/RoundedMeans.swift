import Tabella

/// A format for people that shows means without digits that do not end: `666.33` for `666.333333333333`. Formats for
/// programs have all digits.
struct RoundedMeans: Format {
  private var base: any Format
  /// The shown columns that are means.
  private let indices: [Int]
  private var columns: [Column] = []

  init(_ base: any Format, columns indices: [Int]) {
    self.base = base
    self.indices = indices
  }

  var needs: FormatNeeds { base.needs }
  var columnLimit: Int? { base.columnLimit }
  var notes: [String] { base.notes }
  var shownColumnCount: Int? { base.shownColumnCount }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    columns = table.columns
    try base.begin(table)
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try base.beginSection(section)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    var rows = rows
    var cells = rows.batch.columns
    for index in indices where cells.indices.contains(index) {
      cells[index] = RoundedMeans.rounded(cells[index], of: columns[index])
    }
    rows.batch = Batch(
      rowCount: rows.batch.rowCount, columns: cells, ids: rows.batch.ids,
      isUTF8: rows.batch.isUTF8)
    try base.write(rows)
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    try base.endSection(section)
  }

  mutating func pause() throws(Failure) { try base.pause() }

  mutating func end(failure: Failure?) throws(Failure) { try base.end(failure: failure) }

  /// The cells of a column of means, with rounded numbers.
  static func rounded(_ cells: ColumnBatch, of column: Column) -> ColumnBatch {
    guard cells.type == .text || cells.type == .real && column.unit == nil else { return cells }
    let builder = BatchBuilder([cells.type], capacity: cells.count)
    for row in 0..<cells.count { builder.columns[0].append(rounded(cells[row], of: column)) }
    return builder.finish(rowCount: cells.count).columns[0]
  }

  static func rounded(_ cell: Cell, of column: Column) -> Cell {
    switch cell {
    case .text(let text):
      let point = UInt8(ascii: column.hasDecimalComma ? "," : ".")
      return .text(rounded(text, point: point))
    case .real(let value):
      // The shortest text of a double without an exponent.
      let text = rounded(Array(value.description.utf8), point: UInt8(ascii: "."))
      return .real(Double(String(decoding: text, as: UTF8.self)) ?? value)
    default: return cell
    }
  }

  /// Rounds a decimal number whose fraction is longer than six digits: to two decimals, or to three significant digits if
  /// it is below 1. Other text stays as it is.
  private static func rounded(_ text: [UInt8], point: UInt8) -> [UInt8] {
    guard let at = text.firstIndex(of: point), text.count - at - 1 > 6 else { return text }
    let (whole, fraction) = (text[..<at], text[(at + 1)...])
    let sign = whole.first == UInt8(ascii: "-") ? 1 : 0
    guard (whole.dropFirst(sign) + fraction).allSatisfy({ 48...57 ~= $0 }) else { return text }
    let isSmall = whole.dropFirst(sign).allSatisfy { $0 == 48 }
    let zeros = fraction.prefix { $0 == 48 }.count
    let decimals = min(fraction.count, isSmall && zeros > 0 ? zeros + 3 : isSmall ? 3 : 2)
    var digits = Array(whole.dropFirst(sign) + fraction.prefix(decimals))
    if fraction.dropFirst(decimals).first ?? 48 >= 53 {
      var index = digits.count - 1
      while index >= 0, digits[index] == 57 {
        digits[index] = 48
        index -= 1
      }
      if index >= 0 { digits[index] += 1 } else { digits.insert(49, at: 0) }
    }
    let end = digits.count - decimals
    return text.prefix(sign) + digits[..<end] + [point] + digits[end...]
  }
}
