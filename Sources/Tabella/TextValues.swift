extension Column {
  /// The values of some cells of the column: the cells themselves, or their text converted to the type ``reads``.
  ///
  /// - Complexity: O(bytes) if the text is converted, otherwise O(1).
  public func values(of cells: ColumnBatch) -> ColumnBatch {
    guard let reads, cells.type == .text else { return cells }
    let builder = BatchBuilder([reads], capacity: cells.count)
    for row in 0..<cells.count {
      if cells.missingCount > 0, cells.isMissing(row) {
        builder.columns[0].appendMissing()
      } else {
        cells.withBytes(at: row) { text in
          builder.columns[0].append(
            TextValue.value(in: text, as: reads, hasDecimalComma: hasDecimalComma) ?? .missing)
        }
      }
    }
    return builder.finish().columns[0]
  }
}

extension Column {
  /// Whether two text cells of the column are equal texts, or can be read as equal values; see ``reads``.
  public func readsEqual(_ a: Cell, _ b: Cell) -> Bool {
    guard let reads, case .text(let a) = a, case .text(let b) = b else { return a == b }
    func value(_ text: [UInt8]) -> Cell? {
      text.withUnsafeBytes { TextValue.value(in: $0, as: reads, hasDecimalComma: hasDecimalComma) }
    }
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
    case .integer: integer(text).map { .integer($0) }
    case .real: real(text, hasComma: hasDecimalComma).map { .real($0) }
    case .boolean: boolean(text).map { .boolean($0) }
    case .date: Timestamp(rfc3339: text).map { .date($0) }
    }
  }

  /// `-?(0|[1-9][0-9]*)` in 64 bits.
  private static func integer(_ cell: UnsafeRawBufferPointer) -> Int64? {
    guard let (digits, hasFraction) = number(cell), !hasFraction else { return nil }
    var value: Int64 = 0
    let isNegative = cell.first == UInt8(ascii: "-")
    for byte in cell[digits] {
      let (scaled, tooLarge) = value.multipliedReportingOverflow(by: 10)
      let digit = Int64(byte - 48)
      let (sum, overflow) =
        isNegative
        ? scaled.subtractingReportingOverflow(digit) : scaled.addingReportingOverflow(digit)
      if tooLarge || overflow { return nil }
      value = sum
    }
    return value
  }

  /// A number in JSON's syntax. If `hasComma` is true, the decimal separator is a comma.
  private static func real(_ cell: UnsafeRawBufferPointer, hasComma: Bool) -> Double? {
    guard number(cell, hasComma: hasComma) != nil else { return nil }
    return Tabella.number(in: cell, hasComma: hasComma).flatMap { $0.isFinite ? $0 : nil }
  }

  /// The range of the digits in front of a fraction or exponent, and whether the number has one of those. Nil if
  /// the cell is not a JSON number.
  private static func number(
    _ cell: UnsafeRawBufferPointer, hasComma: Bool = false
  ) -> (Range<Int>, Bool)? {
    var at = cell.first == UInt8(ascii: "-") ? 1 : 0
    func digits() -> Int {
      let start = at
      while at < cell.count, 48...57 ~= cell[at] { at += 1 }
      return at - start
    }
    let start = at
    let count = digits()
    guard count == 1 || (count > 1 && cell[start] != 48) else { return nil }
    let whole = start..<at
    if at == cell.count { return (whole, false) }
    if cell[at] == UInt8(ascii: hasComma ? "," : ".") {
      at += 1
      guard digits() > 0 else { return nil }
    }
    if at < cell.count, cell[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < cell.count, cell[at] == UInt8(ascii: "+") || cell[at] == UInt8(ascii: "-") { at += 1 }
      guard digits() > 0 else { return nil }
    }
    return at == cell.count ? (whole, true) : nil
  }

  private static func boolean(_ cell: UnsafeRawBufferPointer) -> Bool? {
    func isWord(_ word: StaticString) -> Bool {
      cell.count == word.utf8CodeUnitCount
        && cell.indices.allSatisfy { cell[$0] | 0x20 == word.utf8Start[$0] }
    }
    return isWord("true") ? true : isWord("false") ? false : nil
  }
}
