import Tabella
import TabellaFiles

/// Encodes cells as fields. It adds quotes and escapes only if the cell needs them or the style of the file has them.
///
/// ``Cells`` decodes each field to the same cell.
struct FieldEncoder {
  private let rules: RecordRules
  private let comment: UInt8?
  private let hasEscapes: Bool

  init(_ rules: RecordRules, _ options: Options) {
    self.rules = rules
    comment = options.comment
    hasEscapes = options.hasEscapes
  }

  /// The field for a missing cell; nil if the rules have none.
  var missing: [UInt8]? { hasEscapes ? Array("\\N".utf8) : nil }

  /// Encodes a cell. `isQuoted` requests quotes even if none are needed. `isFirst` marks the first field of a record,
  /// which must not look like a comment.
  ///
  /// Throws ``TableError`` with `.constraint` if the rules cannot represent the cell.
  func field(_ cell: [UInt8], isQuoted: Bool, isFirst: Bool) throws(TableError) -> [UInt8] {
    let beginsComment = isFirst && comment != nil && cell.first == comment
    if hasEscapes { return coded(cell, isFirstCoded: beginsComment) }
    guard let quote = rules.quote else {
      guard beginsComment else { return try escaped(cell) }
      guard let escape = rules.escape else {
        throw TableError(
          .constraint,
          "the first cell of a row would begin a comment; allow quotes with -o quote, or leave -o comment out"
        )
      }
      return [escape] + (try escaped(cell))
    }
    guard isQuoted || beginsComment || needsQuotes(cell) else { return cell }
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
        "a cell with a delimiter or a line end cannot be written without quotes (see -o quote, -o escape, -o escapes=true)"
      )
    }
    return cell.flatMap { isSpecial($0) ? [escape, $0] : [$0] }
  }

  /// Encodes a cell with C's escapes, the inverse of ``Cells``.
  private func coded(_ cell: [UInt8], isFirstCoded: Bool) -> [UInt8] {
    var field: [UInt8] = []
    field.reserveCapacity(cell.count)
    for (index, byte) in cell.enumerated() {
      switch byte {
      case 9: field += Array("\\t".utf8)
      case 10: field += Array("\\n".utf8)
      case 13: field += Array("\\r".utf8)
      case UInt8(ascii: "\\"): field += [byte, byte]
      case rules.delimiter: field += FieldEncoder.code(byte)
      default: field += index == 0 && isFirstCoded ? FieldEncoder.code(byte) : [byte]
      }
    }
    return field
  }

  private static func code(_ byte: UInt8) -> [UInt8] {
    Array("\\x".utf8) + [byte >> 4, byte & 15].map { $0 < 10 ? $0 + 48 : $0 + 87 }
  }

  /// Whether a field has quotes that it does not need; nil if the field shows no style, because it needs its quotes or
  /// is empty.
  func isQuoted(_ field: UnsafeRawBufferPointer) -> Bool? {
    guard let quote = rules.quote, let first = field.first else { return nil }
    guard first == quote else { return false }
    guard field.count >= 2, field.last == quote else { return nil }
    return needsQuotes(UnsafeRawBufferPointer(rebasing: field[1..<field.count - 1])) ? nil : true
  }
}
