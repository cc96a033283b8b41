extension Column {
  /// The values of some cells of the column: the cells themselves, or their text converted to the type ``reads``.
  ///
  /// A date without a zone never shifts: its day begins at midnight UTC, and its time of day is that in UTC. Text that
  /// cannot be read as the type has no value, so the cell is missing.
  ///
  /// - Complexity: O(bytes) if the text is converted, otherwise O(1).
  public func values(of cells: ColumnBatch) -> ColumnBatch {
    guard let reads, cells.type == .text else { return cells }
    return cells.converted(to: reads, hasDecimalComma: hasDecimalComma)
  }

  /// The value of a text in a column that reads as a type; nil if the text has another format.
  ///
  /// ``TextValue`` describes the formats. A date may state a time without a zone, too.
  package func value(of text: UnsafeRawBufferPointer, as reads: ColumnType) -> Cell? {
    reads == .date
      ? Timestamp(clock: text).map { .date($0) }
      : TextValue.value(in: text, as: reads, hasDecimalComma: hasDecimalComma)
  }
}

extension Column {
  /// Whether two text cells of the column are equal texts, or can be read as equal values; see ``reads``.
  public func readsEqual(_ a: Cell, _ b: Cell) -> Bool {
    guard let reads, case .text(let a) = a, case .text(let b) = b else { return a == b }
    func value(_ text: [UInt8]) -> Cell? { text.withUnsafeBytes { self.value(of: $0, as: reads) } }
    return a == b || value(a).map { $0 == value(b) } ?? false
  }
}

/// Functions that read text as values of other types.
public enum TextValue {
  /// Reads a text as a value of a type; nil if the text has another format:
  ///
  /// - an integer: `-12`, without leading zeros, in 64 bits;
  /// - a real: a JSON number;
  /// - a boolean: `true` or `false`, in upper or lower case;
  /// - a date: RFC 3339 with a zone, or a day, which begins at midnight UTC.
  public static func value(
    in text: UnsafeRawBufferPointer, as type: ColumnType, hasDecimalComma: Bool = false
  ) -> Cell? {
    switch type {
    case .text: .text(Array(text))
    case .binary: .binary(Array(text))
    case .integer: integer(in: text, as: Int64.self).map { .integer($0) }
    case .real: real(in: text, hasComma: hasDecimalComma).map { .real($0) }
    case .boolean: boolean(in: text).map { .boolean($0) }
    case .date: Timestamp(rfc3339: text).map { .date($0) }
    }
  }

  /// Reads `-?(0|[1-9][0-9]*)`; nil for another format, and for a number that the type cannot hold.
  @inlinable public static func integer<I: FixedWidthInteger>(
    in text: UnsafeRawBufferPointer, as type: I.Type
  ) -> I? {
    let isNegative = text.first == UInt8(ascii: "-")
    let digits = text.dropFirst(isNegative ? 1 : 0)
    guard let first = digits.first, first != 48 || digits.count == 1 else { return nil }
    var value: I = 0
    for byte in digits {
      guard byte &- 48 < 10, let digit = I(exactly: byte - 48) else { return nil }
      let (scaled, tooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow) =
        isNegative
        ? scaled.subtractingReportingOverflow(digit) : scaled.addingReportingOverflow(digit)
      if tooLarge || overflow { return nil }
      value = sum
    }
    return value
  }

  /// Reads a number in JSON's syntax, if a `Double` can hold it. If `hasComma` is true, the decimal separator is a comma.
  static func real(in text: UnsafeRawBufferPointer, hasComma: Bool) -> Double? {
    guard isNumber(text, hasComma: hasComma) else { return nil }
    return number(in: text, hasComma: hasComma).flatMap { $0.isFinite ? $0 : nil }
  }

  /// Whether a text is a JSON number.
  private static func isNumber(_ text: UnsafeRawBufferPointer, hasComma: Bool) -> Bool {
    var at = text.first == UInt8(ascii: "-") ? 1 : 0
    func digits() -> Int {
      let start = at
      while at < text.count, 48...57 ~= text[at] { at += 1 }
      return at - start
    }
    let start = at
    let count = digits()
    guard count == 1 || (count > 1 && text[start] != 48) else { return false }
    if at < text.count, text[at] == UInt8(ascii: hasComma ? "," : ".") {
      at += 1
      guard digits() > 0 else { return false }
    }
    if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < text.count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") { at += 1 }
      guard digits() > 0 else { return false }
    }
    return at == text.count
  }

  /// Reads `true` or `false`, in upper or lower case.
  static func boolean(in text: UnsafeRawBufferPointer) -> Bool? {
    func isWord(_ word: StaticString) -> Bool {
      text.count == word.utf8CodeUnitCount
        && text.indices.allSatisfy { text[$0] | 0x20 == word.utf8Start[$0] }
    }
    return isWord("true") ? true : isWord("false") ? false : nil
  }
}
