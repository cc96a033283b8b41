import TabellaSDK

/// A card that was read in full: all its lines.
struct Card {
  /// The lines between BEGIN and END, without those of a card inside the card (`AGENT` in vCard 2.1).
  let lines: [ContentLine]
  /// The version, such as `4.0`. A card without a version counts as 3.0.
  let version: String

  /// The offset of the line END.
  let end: Int

  /// Reads a card, or only some of its properties. `range` begins with the line BEGIN.
  init(_ range: Range<Int>, in bytes: [UInt8], only wanted: Set<String>? = nil) {
    var lines: [ContentLine] = []
    var (depth, offset, end) = (0, range.lowerBound, range.upperBound)
    while offset < range.upperBound {
      let name = ContentLine.name(at: offset, in: bytes)
      switch name {
      case "BEGIN": depth += 1
      case "END":
        depth -= 1
        end = offset
      default:
        guard depth == 1, !name.isEmpty, wanted?.contains(name) != false else { break }
        lines.append(ContentLine(at: offset, in: bytes))
      }
      offset = ContentLine.end(at: offset, in: bytes)
    }
    (self.lines, self.end) = (lines, end)
    version = lines.first { $0.name == "VERSION" }.map { string($0.value) } ?? "3.0"
  }

  /// Whether its cells can be set. Values of vCard 2.1 have other escapes, and those of later versions are not known.
  var isEditable: Bool { version == "3.0" || version == "4.0" }

  /// The lines of a property.
  func lines(of property: String) -> [ContentLine] { lines.filter { $0.name == property } }

  /// The values of a field in the order of the file. Empty values count as absent.
  func values(of field: Field) -> [[UInt8]] {
    let lines = lines(of: field.property)
    let values: [[UInt8]] =
      switch field.form {
      case .text: lines.prefix(1).map(\.text)
      case .component(let number):
        lines.prefix(1).flatMap { $0.parts(at: Byte.semicolon).dropFirst(number).prefix(1) }
      case .components: lines.prefix(1).flatMap { $0.parts(at: Byte.semicolon) }
      case .lines: lines.map(\.text)
      case .list: lines.flatMap { $0.parts(at: Byte.comma) }
      case .date: lines.prefix(1).map { Birthday($0.text)?.text ?? $0.text }
      }
    return values.filter { !$0.isEmpty }
  }

  /// The cell of a field.
  func cell(_ field: Field) -> Cell {
    let values = values(of: field)
    guard !values.isEmpty else { return .missing }
    return .text(Array(values.joined(separator: Array((field.separator ?? "").utf8))))
  }

  /// The text by which contacts are sorted: the one that the card names, the family name, the given name, or another
  /// name.
  var sortName: String {
    let named = ["N", "FN", "ORG"].flatMap { lines(of: $0) }.flatMap { $0.values(of: "SORT-AS") }
    let sortString = lines(of: "SORT-STRING").map(\.text)
    let fields: [Field] = [.family, .given, .name, .organisation, .email]
    let bytes =
      named.map { Array($0.utf8) } + sortString + fields.flatMap { values(of: $0).prefix(1) }
    return bytes.first { !$0.isEmpty }.map { string($0) } ?? ""
  }
}
