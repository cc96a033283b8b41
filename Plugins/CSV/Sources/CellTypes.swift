import Glibc
import Tabella

/// The reading of cells as other types than text, and the finding of a column's type.
struct CellTypes {
  /// The types that a column may still have, narrowest first.
  private var candidates: [[ColumnType]]
  private var hasValue: [Bool]

  init(columns: Int) {
    candidates = Array(repeating: [.integer, .real, .boolean, .date], count: columns)
    hasValue = Array(repeating: false, count: columns)
  }

  /// Takes a cell of a column into account.
  mutating func observe(_ cell: UnsafeRawBufferPointer, column: Int) {
    if cell.isEmpty { return }
    hasValue[column] = true
    if candidates[column].isEmpty { return }
    candidates[column].removeAll { !CellTypes.fits(cell, $0) }
  }

  /// The type that all observed cells of each column have.
  var types: [ColumnType] {
    candidates.indices.map { hasValue[$0] ? candidates[$0].first ?? .text : .text }
  }

  private static func fits(_ cell: UnsafeRawBufferPointer, _ type: ColumnType) -> Bool {
    switch type {
    case .integer: integer(cell) != nil
    case .real: real(cell) != nil
    case .boolean: boolean(cell) != nil
    case .date: Timestamp(rfc3339: cell) != nil
    case .text, .binary: true
    }
  }

  /// What bytes are in a column of a type, nil for a field that is not there. Where it is not text, an
  /// empty one is missing.
  static func cell(_ bytes: UnsafeRawBufferPointer?, as type: ColumnType) -> Cell {
    guard let bytes else { return .missing }
    return switch type {
    case .text, .binary: .text(Array(bytes))
    case .integer: integer(bytes).map { .integer($0) } ?? .missing
    case .real: real(bytes).map { .real($0) } ?? .missing
    case .boolean: boolean(bytes).map { .boolean($0) } ?? .missing
    case .date: Timestamp(rfc3339: bytes).map { .date($0) } ?? .missing
    }
  }

  /// Appends a cell to a column of its type; an empty one is missing.
  static func append(_ cell: UnsafeRawBufferPointer, to builder: ColumnBuilder) {
    switch builder.type {
    case .text, .binary: builder.append(bytes: cell)
    case .integer: integer(cell).map { builder.append($0) } ?? builder.appendMissing()
    case .real: real(cell).map { builder.append($0) } ?? builder.appendMissing()
    case .boolean: boolean(cell).map { builder.append($0) } ?? builder.appendMissing()
    case .date: Timestamp(rfc3339: cell).map { builder.append($0) } ?? builder.appendMissing()
    }
  }

  /// Whether a date as it stands in a field has a time behind it; nil if it says nothing.
  static func hasTime(_ field: UnsafeRawBufferPointer) -> Bool? {
    let digits = field.drop { !(48...57 ~= $0) }
    return digits.isEmpty ? nil : digits.contains(UInt8(ascii: ":"))
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

  /// JSON's syntax of a number.
  private static func real(_ cell: UnsafeRawBufferPointer) -> Double? {
    guard number(cell) != nil else { return nil }
    let value = Double(String(decoding: cell, as: UTF8.self))
    return value.flatMap { $0.isFinite ? $0 : nil }
  }

  /// The range of the digits before a fraction or exponent, and whether there is one of those; nil
  /// if the cell is not a number as JSON writes it.
  private static func number(_ cell: UnsafeRawBufferPointer) -> (Range<Int>, Bool)? {
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
    if cell[at] == UInt8(ascii: ".") {
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
