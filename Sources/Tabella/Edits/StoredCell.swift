extension Column {
  /// The cell by which the column stores a value; nil if it cannot store the value.
  ///
  /// A column of text stores numbers, booleans and dates as their exact text, with the column's decimal separator. If its
  /// text reads as a type, the stored text does, too, and a missing cell is stored as empty text. Other columns take text
  /// that reads as their type. Empty text is then a missing cell.
  public func cell(storing value: Cell) -> Cell? {
    guard type != .text else { return text(storing: value) }
    guard value.type != nil, value.type != type else { return value }
    switch (value, type) {
    case (.text(let text), .integer), (.text(let text), .real), (.text(let text), .boolean),
      (.text(let text), .date), (.text(let text), .binary):
      if text.isEmpty { return .missing }
      return text.withUnsafeBytes {
        TextValue.value(in: $0, as: type, hasDecimalComma: hasDecimalComma)
      }
    case (.integer(let number), .real): return .real(Double(number))
    case (.real(let number), .integer): return Int64(exactly: number).map { .integer($0) }
    default: return nil
    }
  }

  private func text(storing value: Cell) -> Cell? {
    let stored: [UInt8]
    switch value {
    case .missing: return reads == nil ? value : .text([])
    case .binary: return nil
    case .text(let text): stored = text
    case .real(let number) where !number.isFinite: return nil
    case .real:
      var text = value.description
      // The text reads as a real again, unless the column reads as integers.
      if reads != .integer, text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || 48...57 ~= $0 }) {
        text += ".0"
      }
      stored = text.utf8.map {
        hasDecimalComma && $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0
      }
    case .integer, .boolean, .date: stored = Array(value.description.utf8)
    }
    guard let reads, !stored.isEmpty else { return .text(stored) }
    let isValue = stored.withUnsafeBytes { self.value(of: $0, as: reads) != nil }
    return isValue ? .text(stored) : nil
  }
}

extension Column {
  /// The cell by which the column stores a value. `name` is the name of the column in messages, and `number` its number.
  ///
  /// Throws ``TableError`` with `.constraint` if the column cannot store the value.
  func storing(
    _ value: Cell, name: String, number: Int
  ) throws(TableError) -> Cell {
    guard let cell = cell(storing: value) else {
      throw TableError(
        .constraint, "\(name): \(value) is not \(valueType.valueDescription)", column: number)
    }
    return cell
  }
}

extension EditBatch {
  /// Returns the batch with the cells by which the columns store its values, such as the text of a number in a file.
  ///
  /// It changes no titles of sections, and no cells of columns that do not exist, which the source refuses. Throws
  /// ``TableError`` with `.constraint` if a column cannot store a value.
  package func storing(in columns: [Column]) throws(TableError) -> EditBatch {
    let names = ColumnNames(columns).names
    func stored(_ cells: [Int: Cell]) throws(TableError) -> [Int: Cell] {
      var stored = cells
      for (number, value) in cells where columns.indices.contains(number) {
        stored[number] = try columns[number].storing(value, name: names[number], number: number)
      }
      return stored
    }
    var batch = self
    for index in batch.edits.indices {
      switch batch.edits[index] {
      case .insert(let path, let cells):
        batch.edits[index] = .insert(at: path, cells: try stored(cells))
      case .set(let row, let cells): batch.edits[index] = .set(row, cells: try stored(cells))
      case .delete, .move: break
      }
    }
    return batch
  }
}

extension ColumnType {
  /// The description of a valid value, for messages.
  var valueDescription: String {
    switch self {
    case .text: "text"
    case .integer: Int.cellDescription
    case .real: Double.cellDescription
    case .boolean: Bool.cellDescription
    case .date: Timestamp.cellDescription
    case .binary: "binary"
    }
  }
}
