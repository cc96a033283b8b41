/// A condition on the cells of a column: `size > 1M`, `name ~ \.swift$`.
///
/// A missing cell satisfies only `!=` and `!~`. The syntax of the value depends on the column's type:
///
/// - a number: a JSON number; for bytes also `10K`, `1.5 MiB`, `2G` (powers of 1024), for percent also `5%`;
/// - a boolean: `true` or `false`;
/// - a date: RFC 3339 or a prefix of it. `2024-05` means all of that month: `=` is true within it, `<` before it, `<=`
///   until its end, `>` after it, and `>=` from its start. A value without a zone means the clock of the zone of the
///   ``DateContext``: a cell is within the month if that clock shows the month. `today`, `yesterday` and `tomorrow` are
///   whole days, `today-7d` too. `now`, `now-2h` and `-7d` are moments: `s`, `m`, `h`, `d` (24 hours), `w`;
/// - text that is a number: text cells that are numbers compare as numbers (10 = 10.0);
/// - text that is a date as above: text cells that are dates compare as dates. A cell without a zone never shifts. `=`
///   and `!=` also compare bytes, so that the word `today` can be found. The other comparisons read the date at the
///   start of a longer text, such as a line of a log;
/// - text in quotes: `=` and `!=` compare bytes, whatever the text is;
/// - other text: `=` and `!=` compare bytes. The other comparisons use the order of ``SortDescriptor`` and ignore
///   cells that are numbers;
/// - binary: by bytes.
///
/// If the value for a text column is a number or a date, cells of another kind satisfy only `!=`.
///
/// A text column that can be read as a type (``Column/reads``) compares as that type, and numbers with all their digits.
/// If the column has a decimal comma (``Column/hasDecimalComma``), the value may have a comma or a point.
///
/// A regular expression (``ByteRegex``) matches anywhere in the exact text of the cell.
///
/// A condition can also compare with another cell of the row (``otherColumn``). Cells of one type compare as its values,
/// and other cells as their texts: the text of the other cell is then the value of the condition, and an absolute date in
/// it counts as a date. If one of the cells is missing, only `!=` is true.
public struct Condition: Hashable, Sendable {
  /// The comparison of a cell with the value.
  public enum Comparison: String, Sendable, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case matches = "~"
    case doesNotMatch = "!~"

    /// Whether the comparison is true for this order of cell and value: negative means less, 0 equal, positive
    /// greater.
    func holds(_ order: Int) -> Bool {
      switch self {
      case .equal: order == 0
      case .notEqual: order != 0
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      case .greaterOrEqual: order >= 0
      case .matches, .doesNotMatch: false
      }
    }

    /// Whether the comparison is a negation. A negation is true for missing cells.
    var isNegated: Bool { self == .notEqual || self == .doesNotMatch }
  }

  /// The number of the column.
  public var column: Int
  /// The comparison.
  public var comparison: Comparison
  /// The value as the user wrote it; any bytes. Without effect if there is another column.
  public var value: [UInt8]
  /// Whether `=` and `!=` compare the text of the cell with the value byte by byte, even if both are numbers or dates.
  /// It has an effect on columns of text that are not read as a type. A value in quotes is exact.
  public var isExact = false
  /// The number of the column whose cell in the same row is compared with; nil for a value.
  public var otherColumn: Int?

  /// Creates a condition.
  public init(column: Int, comparison: Comparison, value: [UInt8]) {
    self.column = column
    self.comparison = comparison
    self.value = value
  }

  /// Creates a condition that compares two columns. Regular expressions cannot be in a column.
  public init(column: Int, comparison: Comparison, otherColumn: Int) {
    self.init(column: column, comparison: comparison, value: [])
    self.otherColumn = otherColumn
  }
}

/// The value of a condition, converted to its column's type.
enum ConditionValue {
  /// All integers in a range equal the value. An empty range lies between two integers.
  case integers(below: Int128, upTo: Int128)
  case real(Double)
  /// A number for text that reads as numbers, in the notation of code. It compares with all its digits.
  case decimal([UInt8], NumberText)
  case boolean(Bool)
  case date(DateValue)
  case text([UInt8], number: NumberText?, date: DateValue?)
  case binary([UInt8])
  case pattern(ByteRegex)
  /// The cell of another column.
  case cells(OtherCells)

  init(
    _ condition: Condition, _ column: Column, _ context: DateContext
  ) throws(TableError) {
    let text = String(decoding: condition.value, as: UTF8.self)
    func wrong(_ what: String) -> TableError {
      TableError(
        .invalidArgument,
        "\(column.name) \(condition.comparison.rawValue) \(text): \(text.isEmpty ? "an empty value" : text) is not a \(what)\(text.isEmpty ? "; use !~ . to find missing cells" : "")"
      )
    }
    if condition.comparison == .matches || condition.comparison == .doesNotMatch {
      self = .pattern(try ByteRegex(condition.value))
      return
    }
    // The number in the notation of code, with a decimal point.
    let number =
      column.hasDecimalComma
      ? condition.value.map { $0 == UInt8(ascii: ",") ? UInt8(ascii: ".") : $0 } : condition.value
    switch column.valueType {
    case .text where condition.isExact:
      self = .text(condition.value, number: nil, date: nil)
    case .text:
      let number = condition.value.withUnsafeBytes { text in
        NumberText(text)
          ?? (column.hasDecimalComma ? NumberText(text, hasComma: true) : nil)
      }
      self = .text(
        condition.value, number: number, date: DateValue(condition.value, in: context))
    case .binary: self = .binary(condition.value)
    case .boolean:
      guard let value = OptionDeclaration.boolean(text.lowercased()) else {
        throw wrong("boolean (true or false)")
      }
      self = .boolean(value)
    case .date:
      guard let date = DateValue(condition.value, in: context) else {
        if context.now == nil, DateValue.isRelative(condition.value) {
          throw TableError(
            .invalidArgument, "\(text) needs the present time, which the program does not provide")
        }
        throw wrong("date, such as 2024-05-01, 2024-05, today, now-2h or -7d (units: s m h d w)")
      }
      self = .date(date)
    case .real:
      guard let value = ConditionValue.number(number, column.unit) else { throw wrong("number") }
      let plain = column.type == .text ? number.withUnsafeBytes { NumberText($0) } : nil
      self = plain.map { .decimal(number, $0) } ?? .real(value)
    case .integer:
      guard let value = ConditionValue.number(number, column.unit) else { throw wrong("number") }
      let isPlain = number.withUnsafeBytes { NumberText($0) } != nil
      // A number with a unit is as exact as a double. A number without a unit is exact.
      let exact = isPlain ? number : Array(value.description.utf8)
      let bounds = exact.withUnsafeBytes { DecimalText($0) }.bounds
      self = .integers(below: bounds.above, upTo: bounds.below)
    }
  }

  /// A number with an optional unit that fits the column.
  private static func number(_ text: [UInt8], _ unit: Unit?) -> Double? {
    var text = text[...]
    var scale = 1.0
    if unit == .percent, text.last == UInt8(ascii: "%") { text.removeLast() }
    if unit == .bytes {
      let upper = text.map { $0 &- 97 < 26 ? $0 & 0xDF : $0 }
      let units = Array("KMGTPE".utf8)
      for (power, letter) in units.enumerated() {
        for suffix in ["IB", "B", ""]
        where upper.suffix(suffix.utf8.count + 1) == ([letter] + Array(suffix.utf8))[...] {
          for _ in 0...power { scale *= 1024 }
          text = text.dropLast(suffix.utf8.count + 1)
          return number(text).map { $0 * scale }
        }
      }
      if upper.last == UInt8(ascii: "B") { text.removeLast() }
    }
    return number(text)
  }

  private static func number(_ text: ArraySlice<UInt8>) -> Double? {
    text.withUnsafeBytes { Tabella.number(in: $0) }
  }
}
