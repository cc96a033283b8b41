import Tabella

/// Parses cells of a command line (`COLUMN=VALUE`) and of a batch of edits (JSON).
struct CellArguments {
  private let columns: [Column]
  private let names: ColumnNames
  /// The value of the provider's option `columns`, which adds columns; nil if the provider has no such option.
  private let addedColumns: String?
  /// The section that `--section` chooses.
  private let section: SectionArgument?

  init(_ columns: [Column], addedColumns: String? = nil, section: SectionArgument? = nil) {
    self.columns = columns
    self.addedColumns = addedColumns
    self.section = section
    names = ColumnNames(columns)
  }

  /// The cells of arguments `COLUMN=VALUE`, by the numbers of their columns.
  func cells(_ arguments: some Sequence<Argument>) throws(Failure) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    for argument in arguments {
      let (column, value) = try divide(argument, among: arguments)
      let cell = try cell(value, column)
      guard cells.updateValue(cell, forKey: column) == nil else {
        throw .usage("column \(names.names[column]) occurs twice")
      }
    }
    return cells
  }

  /// Adds values to the row that an edit sets or inserts, or a title to its section.
  func give(
    _ arguments: some Sequence<Argument>, to request: inout RequestedEdit
  ) throws(Failure) {
    guard request.isOfSection else {
      request.cells = try cells(arguments)
      return
    }
    for argument in arguments {
      guard argument.text.hasPrefix("title=") else {
        throw .usage("\(argument.text): a section has only a title. Use title=TEXT")
      }
      guard argument.text.utf8.elementsEqual(argument.bytes) else {
        throw .usage("\(argument.text): a title must be UTF-8")
      }
      guard request.title == nil else { throw .usage("title occurs twice") }
      request.title = String(argument.text.dropFirst("title=".count))
    }
  }

  /// Whether a word is `COLUMN=VALUE`, not a row. If the title of a section contains an equals sign, its rows
  /// are written `title:T:ROW`.
  func isAssignment(_ argument: Argument) -> Bool {
    guard argument.bytes.contains(UInt8(ascii: "=")), !argument.text.hasPrefix("id:") else {
      return false
    }
    return !argument.text.hasPrefix("title:") || (try? divide(argument, among: [argument])) != nil
  }

  /// The column and the value of `COLUMN=VALUE`. The value can be any bytes.
  ///
  /// Throws if two columns match: with `a` and `a=b`, the word `a=b=c` is refused.
  private func divide(
    _ argument: Argument, among arguments: some Sequence<Argument>
  ) throws(Failure) -> (Int, [UInt8]) {
    let text = argument.text
    guard text.utf8.elementsEqual(argument.bytes) else {
      let fitting = names.names.indices.filter {
        argument.bytes.starts(with: Array("\(names.names[$0])=".utf8))
      }
      if let column = fitting.max(by: { names.names[$0].utf8.count < names.names[$1].utf8.count }) {
        return (column, Array(argument.bytes.dropFirst(names.names[column].utf8.count + 1)))
      }
      throw try unknown(text, among: arguments)
    }
    let fitting = columns(thatBegin: text)
    guard let column = fitting.first else { throw try unknown(text, among: arguments) }
    guard fitting.count == 1 else {
      let columns = fitting.map { names.names[$0] }.joined(separator: " and ")
      throw .usage(
        "\"\(text)\" can mean the columns \(columns); name the column with tabella apply")
    }
    return (column, Array(text.utf8.dropFirst(names.names[column].utf8.count + 1)))
  }

  /// The columns whose names stand in front of an equals sign at the start of a text. Compares bytes, because an equals
  /// sign with a combining mark after it is another character in Swift.
  private func columns(thatBegin text: String) -> [Int] {
    text.utf8.indices.lazy.filter { text.utf8[$0] == UInt8(ascii: "=") }
      .compactMap { names.find(text.utf8[..<$0]) }.sorted()
  }

  private func unknown(
    _ text: String, among arguments: some Sequence<Argument>
  ) throws(Failure) -> Failure {
    guard let equals = text.firstIndex(of: "=") else {
      throw .usage("\(text): must be COLUMN=VALUE")
    }
    let wanted = arguments.map { argument in String(argument.text.prefix { $0 != "=" }) }
    return unknown(String(text[..<equals]), wanted: wanted)
  }

  /// The error for an unknown column, with the option that adds the wanted columns.
  private func unknown(_ name: String, wanted: [String]) -> Failure {
    if name == "title", let section {
      let remedy = "; the section itself has the name \(section.text):"
      return .usage(names.unknown(name, remedy: remedy).message)
    }
    let added = wanted.filter { names.find($0) == nil }
    guard let addedColumns, !added.contains(where: { $0.isEmpty || $0.contains(",") }) else {
      return .usage(names.unknown(name).message)
    }
    let list = ((addedColumns.isEmpty ? [] : [addedColumns]) + added).joined(separator: ",")
    let isNumber = list.allSatisfy { $0.isASCII && $0.isNumber }
    let value = isNumber ? list + "," : list
    let isPlain = value.unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || "0123456789_-.,".unicodeScalars.contains($0)
    }
    let option = isPlain || value.contains("'") ? "columns=\(value)" : "'columns=\(value)'"
    let remedy = "; to add \(added.count == 1 ? "it" : "them") to the header, use -o \(option)"
    return .usage(names.unknown(name, remedy: remedy).message)
  }

  /// The cell for a typed value. No value means empty text in a column of text, and a missing cell elsewhere.
  func cell(_ value: [UInt8], _ column: Int) throws(Failure) -> Cell {
    let type = columns[column].type
    if value.isEmpty, type != .text { return .missing }
    if let reads = columns[column].reads { return try cell(value, column, reading: reads) }
    guard let cell = Cell(value, as: type) else {
      let text = String(decoding: value, as: UTF8.self)
      throw .usage("\(names.names[column]) must be \(type.readable), not \(text)")
    }
    return cell
  }

  /// Adds the values of an object to the row that an edit sets or inserts, or a title to its section.
  func give(_ members: JSONObject, to request: inout RequestedEdit) throws(Failure) {
    guard request.isOfSection else {
      request.cells = try cells(members)
      request.givesValues = true
      return
    }
    guard let title = members["title"]?.string, members.count == 1 else {
      throw .usage("\"cells\" of a section must be {\"title\":TEXT}")
    }
    request.title = title
  }

  /// The cell for a column whose text reads as a type: the typed text, if it reads as that type, too. A date with a time
  /// needs a zone, because sources that find the types of text require one.
  private func cell(
    _ value: [UInt8], _ column: Int, reading type: ColumnType
  ) throws(Failure) -> Cell {
    let isValue = value.withUnsafeBytes {
      $0.isEmpty
        || TextValue.value(
          in: $0, as: type, hasDecimalComma: columns[column].hasDecimalComma) != nil
    }
    guard isValue else {
      throw .usage(
        "\(names.names[column]) must be \(type.readable), not \(String(decoding: value, as: UTF8.self))"
      )
    }
    return .text(value)
  }

  /// The cells of an object whose members are columns, with the values that `show --json` prints.
  func cells(_ members: JSONObject) throws(Failure) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    for member in members {
      let (name, value) = (member.key, member.value)
      guard let column = names.find(name) else {
        throw unknown(name, wanted: members.keys)
      }
      let type = columns[column].valueType
      guard let cell = Cell(value, as: type) else {
        throw .usage("\(name) must be \(type.readable), not \(value.text)")
      }
      cells[column] =
        if let reads = columns[column].reads {
          try self.cell(text(of: value, columns[column]), column, reading: reads)
        } else { cell }
    }
    return cells
  }
}

extension CellArguments {
  /// A JSON value as text that reads as this value. Null becomes empty text.
  private func text(of value: JSONValue, _ column: Column) -> [UInt8] {
    let text =
      switch value {
      case .string(let text), .number(let text): text
      case .boolean(let value): value ? "true" : "false"
      default: ""
      }
    let hasComma = column.hasDecimalComma && column.reads == .real
    return text.utf8.map { hasComma && $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0 }
  }
}

extension ColumnType {
  /// The description of a valid value, for messages.
  fileprivate var readable: String {
    switch self {
    case .text: "text"
    case .integer: "an integer"
    case .real: "a number"
    case .boolean: "true or false"
    case .date:
      "a date from 1677-09-21 to 2262-04-11 (2026-02-28T12:00:00Z, or 2026-02-28 for midnight in UTC)"
    case .binary: "binary (hexadecimal; base64 in JSON)"
    }
  }
}

extension Cell {
  /// The cell for a JSON value; nil if the value has another type.
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
