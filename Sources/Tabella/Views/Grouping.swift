/// A column to group rows by, and the kind of its groups.
public struct Grouping: Hashable, Sendable {
  /// The rule that determines which values form a group.
  public enum Class: Hashable, Sendable {
    /// Equal values.
    case value
    /// The first letter of a text, in upper case. Texts that do not begin with a letter form the group `#`.
    case letter
    /// The hour of a certain day.
    case hour
    /// The day of a date.
    case day
    /// The week of a date by ISO 8601: weeks begin on Monday, and week 1 contains January 4.
    case week
    /// The day of the week of a date, from Monday to Sunday.
    case weekday
    /// The month of a date.
    case month
    /// The year of a date.
    case year
    /// The order of magnitude: powers of ten, or 1 KiB, 1 MiB, 1 GiB for a column of bytes.
    case size
    /// The text after the last dot of a file name, in lower case. A dot at the start of a name begins no extension.
    case fileExtension
    /// Intervals of numbers of one width. Each begins at a multiple of the width and contains its lower bound.
    case bins(BinWidth)

    /// All classes with a fixed name, in the order of a help text.
    public static let named: [Class] = [
      .letter, .hour, .day, .week, .weekday, .month, .year, .size, .fileExtension,
    ]

    /// The name in texts: `month`, or the width of bins; `value` for equal values.
    public var name: String {
      switch self {
      case .value: "value"
      case .letter: "letter"
      case .hour: "hour"
      case .day: "day"
      case .week: "week"
      case .weekday: "weekday"
      case .month: "month"
      case .year: "year"
      case .size: "size"
      case .fileExtension: "extension"
      case .bins(let width): width.description
      }
    }

    /// Whether the class is a part of the calendar.
    var isOfDates: Bool {
      switch self {
      case .hour, .day, .week, .weekday, .month, .year: true
      case .value, .letter, .size, .fileExtension, .bins: false
      }
    }

    /// Whether values of a type can be grouped in this way.
    public func fits(_ type: ColumnType) -> Bool {
      switch self {
      case .value: true
      case .letter, .fileExtension: type == .text
      case .hour, .day, .week, .weekday, .month, .year: type == .date || type == .text
      case .size, .bins: type == .integer || type == .real || type == .text
      }
    }
  }

  /// The number of the column.
  public var column: Int
  /// The kind of the groups.
  public var by: Class

  /// Creates a grouping.
  public init(column: Int, by: Class = .value) {
    self.column = column
    self.by = by
  }
}

/// The width of bins: a positive decimal number, which is stored exactly.
public struct BinWidth: Hashable, Sendable, CustomStringConvertible {
  /// The width is `mantissa` × 10^-`scale`.
  let mantissa: Int64
  let scale: Int

  /// Reads a width such as `100` or `0.5`. Nil for any other text, for 0, and for more than 18 digits.
  public init?(_ text: some StringProtocol) {
    var text = String(text)
    guard text.utf8.allSatisfy({ 48...57 ~= $0 || $0 == UInt8(ascii: ".") }) else { return nil }
    let number = text.withUTF8 { ExactNumber(UnsafeRawBufferPointer($0), hasComma: false) }
    guard case .small(var mantissa, var scale)? = number, mantissa > 0 else { return nil }
    while scale > 0, mantissa % 10 == 0 { (mantissa, scale) = (mantissa / 10, scale - 1) }
    (self.mantissa, self.scale) = (mantissa, Int(scale))
  }

  public var description: String { multiple(1, hasComma: false) ?? "" }

  /// The number of the bin that contains a number; nil if the number is too large. Bin 0 begins at 0.
  func bin(of number: ExactNumber) -> Int128? {
    guard let units = number.floor(scale: scale) else { return nil }
    let (quotient, rest) = units.quotientAndRemainder(dividingBy: Int128(mantissa))
    return rest < 0 ? quotient - 1 : quotient
  }

  /// The text of a multiple of the width, without needless zeros; nil if it is too large.
  func multiple(_ count: Int128, hasComma: Bool) -> String? {
    let (product, overflow) = count.multipliedReportingOverflow(by: Int128(mantissa))
    guard !overflow else { return nil }
    return ExactDecimal(product, scale: scale).trimmed(to: 0).text(hasComma: hasComma)
  }

  /// The interval of a bin: `0 to <100` contains 0 and not 100.
  func title(ofBin bin: Int128, hasComma: Bool) -> String? {
    guard bin < .max, let lower = multiple(bin, hasComma: hasComma),
      let upper = multiple(bin + 1, hasComma: hasComma)
    else { return nil }
    return "\(lower) to <\(upper)"
  }
}
