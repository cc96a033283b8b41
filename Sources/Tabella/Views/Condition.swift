/// A condition on the cells of a column: `size > 1M`, `name ~ \.swift$`.
///
/// A missing cell equals nothing: only `!=` and `!~` hold for it. The value is read as the column's type
/// wants it:
/// - a number: as JSON has it; for bytes also `10K`, `1.5 MiB`, `2G` (by 1024), for percent `5%`;
/// - a boolean: `true` or `false`;
/// - a date: RFC 3339 or the front of one, in UTC: `2024-05` is all of that month, so that `=` holds
///   within it, `<` before it, `<=` up to its end, `>` after it and `>=` from its start;
/// - for text that is a number, text cells that are numbers compare as such (10 = 10.0); for text that is
///   a date or the front of one, text cells that are dates, without a zone in UTC; cells that are neither
///   do not compare but for `=` and `!=`, by bytes. For other text `=` and `!=` are by bytes, and the
///   others by the order that ``SortDescriptor`` has, among cells that are no numbers;
/// - binary: by bytes.
///
/// A regular expression (``ByteRegex``) is looked for anywhere in the cell's exact text.
public struct Condition: Hashable, Sendable {
  public enum Comparison: String, Sendable, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case matches = "~"
    case doesNotMatch = "!~"

    /// Whether it holds for a value that is before (below 0), at (0) or behind (above 0) another.
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

    /// Whether it is the denial of another, and so holds for missing cells.
    var isNegated: Bool { self == .notEqual || self == .doesNotMatch }
  }

  public var column: Int
  public var comparison: Comparison
  /// The value as it was written; any bytes.
  public var value: [UInt8]

  public init(column: Int, comparison: Comparison, value: [UInt8]) {
    self.column = column
    self.comparison = comparison
    self.value = value
  }
}

/// A value of a condition, as its column's type wants it.
enum ConditionValue {
  /// Whole numbers within a range are equal to it; an empty range lies between two numbers.
  case integers(below: Int64, upTo: Int64)
  case real(Double)
  case boolean(Bool)
  case text([UInt8], number: Double?, dates: ClosedRange<Int64>?)
  case binary([UInt8])
  case pattern(ByteRegex)

  init(_ condition: Condition, _ column: Column) throws(TableError) {
    let text = String(decoding: condition.value, as: UTF8.self)
    func wrong(_ what: String) -> TableError {
      TableError(
        .invalidArgument,
        "\(column.name) \(condition.comparison.rawValue) \(text): \(text.isEmpty ? "nothing" : text) is no \(what)"
      )
    }
    if condition.comparison == .matches || condition.comparison == .doesNotMatch {
      self = .pattern(try ByteRegex(condition.value))
      return
    }
    switch column.type {
    case .text:
      self = .text(
        condition.value, number: condition.value.withUnsafeBytes { Tabella.number(in: $0) },
        dates: Timestamp.range(prefix: condition.value))
    case .binary: self = .binary(condition.value)
    case .boolean:
      guard let value = OptionDeclaration.boolean(text.lowercased()) else {
        throw wrong("boolean (true or false)")
      }
      self = .boolean(value)
    case .date:
      guard let range = Timestamp.range(prefix: condition.value) else {
        throw wrong("date, such as 2024-05-01 or 2024-05")
      }
      self = .integers(below: range.lowerBound, upTo: range.upperBound)
    case .real:
      guard let value = ConditionValue.number(condition.value, column.unit) else {
        throw wrong("number")
      }
      self = .real(value)
    case .integer:
      if let value = Int64(text) {
        self = .integers(below: value, upTo: value)
      } else if let value = ConditionValue.number(condition.value, column.unit) {
        self = ConditionValue.integers(at: value)
      } else {
        throw wrong("number")
      }
    }
  }

  /// The integers that equal a number: one, or none, with the place where it would be.
  private static func integers(at value: Double) -> ConditionValue {
    let (lower, upper) = (value.rounded(.down), value.rounded(.up))
    guard lower >= -0x1p63, upper < 0x1p63 else { return .real(value) }
    return lower == upper
      ? .integers(below: Int64(value), upTo: Int64(value))
      : .integers(below: Int64(upper), upTo: Int64(lower))
  }

  /// A number with a unit that fits the column.
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

extension Timestamp {
  /// The moment that a text names: an RFC 3339 date, or a date and time as far as it goes and in UTC if
  /// it has no zone (`2024-05-01 12:30`); nil if it is none.
  init?(text: UnsafeRawBufferPointer) {
    guard text.count >= 10, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-") else {
      return nil
    }
    if let moment = Timestamp(rfc3339: text) {
      self = moment
    } else if let moment = Timestamp.moment(Array(text) + [UInt8(ascii: "Z")]) {
      self = moment
    } else if let start = Timestamp.range(prefix: Array(text))?.lowerBound {
      self.init(nanoseconds: start)
    } else {
      return nil
    }
  }

  /// The nanoseconds from the first to the last that a date begins with: a year, a month, a day, an
  /// hour, a minute, a second, or a moment; nil if it is none of these.
  static func range(prefix: [UInt8]) -> ClosedRange<Int64>? {
    let text = prefix.map { $0 == 32 ? UInt8(ascii: "T") : $0 }
    // A date as such is all of its day.
    if text.count != 10, let moment = text.withUnsafeBytes({ Timestamp(rfc3339: $0) }) {
      return moment.nanoseconds...moment.nanoseconds
    }
    let whole = Array("0000-01-01T00:00:00Z".utf8)
    guard [4, 7, 10, 13, 16, 19].contains(text.count),
      let start = moment(text + whole[text.count...])
    else { return nil }
    let end: Timestamp?
    switch text.count {
    case 4: end = moment(next(text, 0..<4) + whole[4...])
    case 7:
      let isLast = text[5...].elementsEqual("12".utf8)
      end =
        isLast
        ? moment(next(text, 0..<4)[..<4] + whole[4...]) : moment(next(text, 5..<7) + whole[7...])
    case 10: end = Timestamp(nanoseconds: start.nanoseconds.advancedUp(by: 86_400_000_000_000))
    case 13: end = Timestamp(nanoseconds: start.nanoseconds.advancedUp(by: 3_600_000_000_000))
    case 16: end = Timestamp(nanoseconds: start.nanoseconds.advancedUp(by: 60_000_000_000))
    default: end = Timestamp(nanoseconds: start.nanoseconds.advancedUp(by: 1_000_000_000))
    }
    return start.nanoseconds...((end?.nanoseconds ?? .max) - 1)
  }

  private static func moment(_ text: some Collection<UInt8>) -> Timestamp? {
    Array(text).withUnsafeBytes { Timestamp(rfc3339: $0) }
  }

  /// The text with the number in a range of it one higher.
  private static func next(_ text: [UInt8], _ range: Range<Int>) -> [UInt8] {
    var text = text
    for index in range.reversed() {
      if text[index] == UInt8(ascii: "9") {
        text[index] = UInt8(ascii: "0")
      } else {
        text[index] += 1
        break
      }
    }
    return text
  }
}

extension Int64 {
  /// The sum, or the largest number there is.
  fileprivate func advancedUp(by other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
