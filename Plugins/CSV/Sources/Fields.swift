import Tabella
import TabellaFiles

/// Makes fields of cells: puts quotes and escapes in, only where a cell needs them or where the style
/// of the file asks for them. What ``Cells`` reads is again the cell.
struct Fields {
  private let rules: RecordRules

  init(_ rules: RecordRules) { self.rules = rules }

  /// The field for a cell. `isQuoted` asks for quotes where none are needed.
  ///
  /// Throws ``TableError`` with `.constraint` if the rules leave no way to write the cell.
  func field(_ cell: [UInt8], isQuoted: Bool) throws(TableError) -> [UInt8] {
    guard let quote = rules.quote else { return try escaped(cell) }
    guard isQuoted || needsQuotes(cell) else { return cell }
    var field = [quote]
    field.reserveCapacity(cell.count + 2)
    for byte in cell {
      if byte == quote { field.append(quote) }
      if byte == rules.escape { field.append(byte) }
      field.append(byte)
    }
    field.append(quote)
    return field
  }

  private func needsQuotes(_ cell: some Collection<UInt8>) -> Bool {
    cell.contains { isSpecial($0) || $0 == rules.quote }
  }

  private func isSpecial(_ byte: UInt8) -> Bool {
    byte == 10 || byte == 13 || byte == rules.delimiter || byte == rules.escape
  }

  private func escaped(_ cell: [UInt8]) throws(TableError) -> [UInt8] {
    guard cell.contains(where: isSpecial) else { return cell }
    guard let escape = rules.escape else {
      throw TableError(
        .constraint,
        "a cell with a delimiter or a line end cannot be written without quotes (see -o quote, -o escape)"
      )
    }
    return cell.flatMap { isSpecial($0) ? [escape, $0] : [$0] }
  }

  /// Whether a field is quoted though it need not be, which is a matter of style; nil if it says
  /// nothing about that.
  func isQuoted(_ field: UnsafeRawBufferPointer) -> Bool? {
    guard let quote = rules.quote, let first = field.first else { return nil }
    guard first == quote else { return false }
    guard field.count >= 2, field.last == quote else { return nil }
    return needsQuotes(UnsafeRawBufferPointer(rebasing: field[1..<field.count - 1])) ? nil : true
  }
}
