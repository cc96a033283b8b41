import TabellaSDK

/// The new bytes of a card whose cells are set. Every line that no cell names keeps its bytes.
struct CardEditor {
  private let card: Card
  private let lineEnd: [UInt8]
  /// The replacements of the card's bytes. An empty range is an insertion.
  private var splices: [(range: Range<Int>, new: [UInt8])] = []

  /// Sets cells of a card. Throws ``TableError`` with `.constraint` for a value that a card cannot have.
  init(_ card: Card, setting cells: [Field: Cell], lineEnd: [UInt8]) throws(TableError) {
    (self.card, self.lineEnd) = (card, lineEnd)
    let changed = cells.filter { card.cell($0) != $1 }
    for field in Field.allCases {
      guard let cell = changed[field] else { continue }
      switch field.form {
      case .component: continue
      case .lines: setLines(of: field, to: try parsed(cell, of: field))
      case .text, .components, .list, .date:
        setLine(of: field, to: try parsed(cell, of: field))
      }
    }
    try setName(changed)
  }

  /// The pieces of the card in the file, for a card with this range.
  func pieces(of range: Range<Int>) -> [EditableFile.Piece] {
    var pieces: [EditableFile.Piece] = []
    var offset = range.lowerBound
    // Insertions at one offset stay in order.
    let sorted = splices.enumerated().sorted {
      ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
    }
    for splice in sorted.map(\.element) {
      pieces += [.old(offset..<splice.range.lowerBound), .new(splice.new)]
      offset = splice.range.upperBound
    }
    return pieces + [.old(offset..<range.upperBound)]
  }

  /// Sets the first line of a property, or removes all its lines.
  private mutating func setLine(of field: Field, to values: [[UInt8]]) {
    let lines = card.lines(of: field.property)
    // The other lines of a list have values of the same cell.
    if case .list = field.form { remove(lines.dropFirst()) }
    guard !values.isEmpty else { return remove(lines) }
    let value: [UInt8] =
      switch field.form {
      case .list: Array(values.map { escaped($0) }.joined(separator: [Byte.comma]))
      case .components: Array(values.map { escaped($0) }.joined(separator: [Byte.semicolon]))
      case .date: Birthday(values[0])?.text(inVersion: card.version) ?? values[0]
      case .text, .component, .lines: escaped(values[0])
      }
    set(lines.first, of: field.property, to: value)
  }

  /// Sets a property with one line for each value. Lines whose value stays keep their bytes and their types.
  private mutating func setLines(of field: Field, to values: [[UInt8]]) {
    let lines = card.lines(of: field.property).filter { !$0.text.isEmpty }
    let front = zip(lines, values).prefix { $0.text == $1 }.count
    let back = zip(lines.dropFirst(front).reversed(), values.dropFirst(front).reversed())
      .prefix { $0.text == $1 }.count
    let (old, new) = (
      lines[front..<lines.count - back], values[front..<values.count - back]
    )
    for (line, value) in zip(old, new) {
      set(line, of: field.property, to: line.keepsURI(value) ? value : escaped(value))
    }
    remove(old.dropFirst(new.count))
    for value in new.dropFirst(old.count) {
      insert(field.property, escaped(value), after: old.last ?? lines[..<front].last)
    }
  }

  /// Sets components of the name, and keeps the others.
  private mutating func setName(_ cells: [Field: Cell]) throws(TableError) {
    guard cells[.family] != nil || cells[.given] != nil else { return }
    let line = card.lines(of: "N").first
    var parts = line?.rawParts(at: Byte.semicolon) ?? []
    while parts.count < 5 { parts.append([]) }
    for field in [Field.family, .given] {
      guard let cell = cells[field], case .component(let number) = field.form else { continue }
      parts[number] = escaped(try parsed(cell, of: field).first ?? [])
    }
    // vCard 3.0 requires the property.
    guard card.version == "3.0" || parts.contains(where: { !$0.isEmpty }) else {
      return remove(card.lines(of: "N"))
    }
    set(line, of: "N", to: Array(parts.joined(separator: [Byte.semicolon])))
  }

  private mutating func set(_ line: ContentLine?, of property: String, to value: [UInt8]) {
    guard let line else { return insert(property, value, after: nil) }
    let head = line.head(forNewURI: line.keepsURI(value))
    splices.append((line.range, folded(head + [Byte.colon] + value, lineEnd: lineEnd)))
  }

  private mutating func insert(_ property: String, _ value: [UInt8], after line: ContentLine?) {
    let offset = line?.range.upperBound ?? card.end
    let new = folded(Array("\(property):".utf8) + value, lineEnd: lineEnd)
    splices.append((offset..<offset, new))
  }

  private mutating func remove(_ lines: some Sequence<ContentLine>) {
    for line in lines { splices.append((line.range, [])) }
  }
}

/// The values of a new cell.
///
/// Throws ``TableError`` with `.constraint` for a cell that a card cannot have or would show in another form.
func parsed(_ cell: Cell, of field: Field) throws(TableError) -> [[UInt8]] {
  func refuse(_ reason: String) -> TableError {
    TableError(.constraint, "\(field) \(reason)", column: field.rawValue)
  }
  guard case .text(let bytes) = cell else {
    guard field != .name else { throw refuse("cannot be missing: a contact needs a name") }
    return []
  }
  guard String(validating: bytes, as: UTF8.self) != nil else { throw refuse("must be UTF-8") }
  guard bytes.allSatisfy({ $0 >= 0x20 || $0 == Byte.lineFeed || $0 == Byte.tab }) else {
    throw refuse("cannot contain control characters")
  }
  let values = bytes.split(at: Array((field.separator ?? "").utf8))
  guard values.allSatisfy({ !$0.isEmpty }) else {
    throw refuse(
      values.count > 1 ? "has an empty value in its list" : "cannot be empty; make it missing")
  }
  guard case .date = field.form else { return values }
  guard Birthday(bytes)?.text == bytes else {
    throw refuse("must be a date such as 1985-04-12, or --04-12 without the year")
  }
  return values
}

/// A new card.
///
/// Throws ``TableError`` with `.constraint` for a value that a card cannot have, and for a contact without a name.
func newCard(
  _ cells: [Field: Cell], version: String, lineEnd: [UInt8]
) throws(TableError) -> [UInt8] {
  var lines: [[UInt8]] = ["BEGIN:VCARD", "VERSION:\(version)", "UID:urn:uuid:\(randomUUID())"]
    .map { Array($0.utf8) }
  func add(_ property: String, _ value: [UInt8]) {
    lines.append(Array("\(property):".utf8) + value)
  }
  var values: [Field: [[UInt8]]] = [:]
  for (field, cell) in cells { values[field] = try parsed(cell, of: field) }
  let (family, given) = (values[.family]?.first ?? [], values[.given]?.first ?? [])
  let parts = [given, family].filter { !$0.isEmpty }
  let name = values[.name]?.first ?? Array(parts.joined(separator: [Byte.space]))
  guard !name.isEmpty else {
    throw TableError(.constraint, "a contact needs a name", column: Field.name.rawValue)
  }
  add("FN", escaped(name))
  if version == "3.0" || !parts.isEmpty {
    add("N", escaped(family) + [Byte.semicolon] + escaped(given) + Array(";;;".utf8))
  }
  for field in Field.allCases {
    guard let values = values[field], !values.isEmpty else { continue }
    switch field.form {
    case .component: break
    case .text: if field != .name { add(field.property, escaped(values[0])) }
    case .date: add(field.property, Birthday(values[0])?.text(inVersion: version) ?? [])
    case .lines: for value in values { add(field.property, escaped(value)) }
    case .list:
      add(field.property, Array(values.map { escaped($0) }.joined(separator: [Byte.comma])))
    case .components:
      add(field.property, Array(values.map { escaped($0) }.joined(separator: [Byte.semicolon])))
    }
  }
  return (lines + [Array("END:VCARD".utf8)]).flatMap { folded($0, lineEnd: lineEnd) }
}

/// A random UUID (version 4).
private func randomUUID() -> String {
  let bytes = (0..<16).map { number in
    let byte = UInt8.random(in: .min ... .max)
    return number == 6 ? byte & 0x0F | 0x40 : number == 8 ? byte & 0x3F | 0x80 : byte
  }
  let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
  return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
}

extension ContentLine {
  /// Whether the line has a URI, and the new value can be one, too.
  func keepsURI(_ value: [UInt8]) -> Bool {
    has("VALUE", "URI") && value.contains(Byte.colon)
      && value.allSatisfy { $0 > Byte.space && $0 != Byte.backslash }
  }

  /// The bytes in front of a new value: group, name, and the parameters that do not describe the old value.
  fileprivate func head(forNewURI isURI: Bool) -> [UInt8] {
    let ofOldValue = ["ENCODING", "CHARSET", "SORT-AS"] + (isURI ? [] : ["VALUE"])
    let parts = ContentLine.splitUnquoted(head[...], at: Byte.semicolon)
    let kept = zip(parts.dropFirst(), parameters).filter { !ofOldValue.contains($1.name) }.map(\.0)
    return Array(([parts[0]] + kept).joined(separator: [Byte.semicolon]))
  }
}

extension [UInt8] {
  /// The parts between separators. Without a separator, the whole is one part.
  fileprivate func split(at separator: [UInt8]) -> [[UInt8]] {
    guard !separator.isEmpty else { return [self] }
    var parts: [[UInt8]] = [[]]
    var index = 0
    while index < count {
      if self[index...].starts(with: separator) {
        parts.append([])
        index += separator.count
      } else {
        parts[parts.count - 1].append(self[index])
        index += 1
      }
    }
    return parts
  }
}
