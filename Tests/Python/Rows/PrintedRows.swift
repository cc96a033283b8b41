import TabellaProviders

/// Prints a line per row: the number and the title of the section, then the cells. `-` is a missing cell, text and
/// binary are `x` and hexadecimal digits, a date is nanoseconds. The rows are read twice: with typed access, and decoded.
func printRows(_ words: Words) throws {
  let table = try words.open()
  let names = ColumnNames(table.columns).names
  PrintedRow.columns = words.numbers(in: table).map { number in
    let type = table.columns[number].valueType
    return (names[number], type == .text && words.readsBytes ? .binary : type)
  }
  let columns = PrintedRow.columns.map(\.name)
  for section in try table.allSections() {
    let title = "\(section.number) \(word(section.title))"
    let decoded = try section.decode(PrintedRow.self, columns: columns)
    var rows = try section.rows(columns: columns)
    var count = 0
    while let row = try rows.next() {
      let line = try PrintedRow(row)
      guard decoded[count] == line else {
        throw TableError(
          .internal, "row \(count): \(line.words) decodes as \(decoded[count].words)")
      }
      print(([title] + line.words).joined(separator: " "))
      count += 1
    }
    guard count == decoded.count else {
      throw TableError(.internal, "\(decoded.count) rows decode, but there are \(count)")
    }
  }
}

/// The cells of a row as words.
private struct PrintedRow: Equatable, Decodable {
  /// The names of the columns, and the types of their values.
  nonisolated(unsafe) static var columns: [(name: String, type: ColumnType)] = []

  var words: [String] = []

  init(_ row: TableRow) throws(TableError) {
    for (name, type) in Self.columns {
      switch type {
      case .integer: words.append(word(try row[name, as: Int64?.self]))
      case .real: words.append(word(try row[name, as: Double?.self]))
      case .boolean: words.append(word(try row[name, as: Bool?.self]))
      case .date: words.append(word(try row[name, as: Timestamp?.self]))
      case .text: words.append(word(try row[name, as: String?.self]))
      case .binary: words.append(word(try row[name, as: [UInt8]?.self]))
      }
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Name.self)
    for (name, type) in Self.columns {
      let key = Name(stringValue: name)
      switch type {
      case .integer: words.append(word(try container.decodeIfPresent(Int64.self, forKey: key)))
      case .real: words.append(word(try container.decodeIfPresent(Double.self, forKey: key)))
      case .boolean: words.append(word(try container.decodeIfPresent(Bool.self, forKey: key)))
      case .date: words.append(word(try container.decodeIfPresent(Timestamp.self, forKey: key)))
      case .text: words.append(word(try container.decodeIfPresent(String.self, forKey: key)))
      case .binary: words.append(word(try container.decodeIfPresent([UInt8].self, forKey: key)))
      }
    }
  }
}

private func word(_ value: Int64?) -> String { value.map { "\($0)" } ?? "-" }
private func word(_ value: Double?) -> String { value.map { "\($0)" } ?? "-" }
private func word(_ value: Bool?) -> String { value.map { $0 ? "1" : "0" } ?? "-" }
private func word(_ value: Timestamp?) -> String { value.map { "\($0.nanoseconds)" } ?? "-" }
private func word(_ value: String?) -> String { word(value.map { Array($0.utf8) }) }

private func word(_ value: [UInt8]?) -> String {
  guard let value else { return "-" }
  return value.reduce("x") { text, byte in
    let digits = String(byte, radix: 16)
    return text + (digits.utf8.count == 1 ? "0" : "") + digits
  }
}
