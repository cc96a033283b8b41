import Tabella

/// Cells as a command line (`COLUMN=VALUE`) and a batch of edits (JSON) give them.
struct CellArguments {
  private let columns: [Column]
  private let names: ColumnNames

  init(_ columns: [Column]) {
    self.columns = columns
    names = ColumnNames(columns)
  }

  /// The cells of arguments `COLUMN=VALUE`, by the numbers of their columns.
  func cells(_ arguments: some Sequence<Argument>) throws(Failure) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    for argument in arguments {
      let (column, value) = try divide(argument)
      let cell = try cell(value, column)
      guard cells.updateValue(cell, forKey: column) == nil else {
        throw .usage("\(names.names[column]) is given twice")
      }
    }
    return cells
  }

  /// The longest name with an equals sign behind it is the column's; the rest is the value, any bytes.
  private func divide(_ argument: Argument) throws(Failure) -> (Int, [UInt8]) {
    let text = argument.text
    guard text.utf8.elementsEqual(argument.bytes) else {
      let fitting = names.names.indices.filter {
        argument.bytes.starts(with: Array("\(names.names[$0])=".utf8))
      }
      if let column = fitting.max(by: { names.names[$0].utf8.count < names.names[$1].utf8.count }) {
        return (column, Array(argument.bytes.dropFirst(names.names[column].utf8.count + 1)))
      }
      throw try unknown(text)
    }
    var rest = text[...]
    // By scalars: an equals sign with a combining mark behind it is another character.
    guard let column = names.take(from: &rest, where: { $0.utf8.first == UInt8(ascii: "=") })
    else { throw try unknown(text) }
    return (column, Array(rest.utf8.dropFirst()))
  }

  private func unknown(_ text: String) throws(Failure) -> Failure {
    guard let equals = text.firstIndex(of: "=") else {
      throw .usage("\(text): must be COLUMN=VALUE")
    }
    return names.unknown(String(text[..<equals]))
  }

  /// A value that was typed. Nothing is empty text where cells are text, and missing elsewhere.
  private func cell(_ value: [UInt8], _ column: Int) throws(Failure) -> Cell {
    let type = columns[column].type
    if value.isEmpty, type != .text { return .missing }
    guard let cell = Cell(value, as: type) else {
      let text = String(decoding: value, as: UTF8.self)
      throw .usage("\(names.names[column]) must be \(type.readable), not \(text)")
    }
    return cell
  }

  /// The cells of an object, keyed by the names of columns; values are as `show --json` prints them.
  func cells(_ members: [String: JSONValue]) throws(Failure) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      let column = try names.number(name)
      let type = columns[column].type
      guard let cell = Cell(value, as: type) else {
        throw .usage("\(name) must be \(type.readable), not \(value.text)")
      }
      cells[column] = cell
    }
    return cells
  }
}

extension ColumnType {
  /// What a value of it is, for who typed another.
  fileprivate var readable: String {
    switch self {
    case .text: "text"
    case .integer: "an integer"
    case .real: "a number"
    case .boolean: "true or false"
    case .date: "a date from 1677-09-21 to 2262-04-11 (2026-02-28 or 2026-02-28T12:00:00Z)"
    case .binary: "binary (hexadecimal; base64 in JSON)"
    }
  }
}

extension Cell {
  /// A cell as JSON writes it; nil if it is of another type.
  fileprivate init?(_ value: JSONValue, as type: ColumnType) {
    switch (value, type) {
    case (.null, _): self = .missing
    case (.string(let text), .text), (.string(let text), .date):
      guard let cell = Cell(Array(text.utf8), as: type) else { return nil }
      self = cell
    case (.number(let text), .integer), (.number(let text), .real):
      guard let cell = Cell(Array(text.utf8), as: type) else { return nil }
      self = cell
    case (.boolean(let value), .boolean): self = .boolean(value)
    case (.object(let members), .text), (.object(let members), .binary):
      guard members.count == 1, let text = members["base64"]?.string,
        let bytes = bytes(base64: text)
      else { return nil }
      self = type == .text ? .text(bytes) : .binary(bytes)
    default: return nil
    }
  }
}
