import Tabella
import TabellaTerminal

/// JSON as an indented outline for people, with the same content but without brackets.
struct Outline {
  /// The text for a missing cell.
  let missing: String

  func text(of value: JSONValue, indent: String = "") -> String {
    switch value {
    case .object(let members):
      return members.keys.sorted(by: Outline.isBefore).map { key in
        member(SafeText(key), members[key] ?? .null, indent)
      }.joined()
    case .array(let elements):
      return elements.map { "\(indent)\(short($0))\n" }.joined()
    default: return "\(indent)\(short(value))\n"
    }
  }

  private func member(_ key: SafeText, _ value: JSONValue, _ indent: String) -> String {
    switch value {
    // Empty lists are left out.
    case .array([]): return ""
    case .null where ["columns", "confinement"].contains(key.string): return ""
    // A title, a reason or a limit can contain blanks, so each has its own line.
    case .array(let titles) where Outline.onLines.contains(key.string):
      return "\(indent)\(key):\n"
        + titles.map { "\(indent)  \($0 == .null ? missing : short($0))\n" }.joined()
    // The provider chooses the names of the members.
    case .object where key.string == "supplementary":
      return "\(indent)\(key):\n\(text(of: value, indent: indent + "  "))"
    default:
      let own = indent + "  "
      if let bytes = Outline.bytes(of: value), bytes.contains(10) {
        return "\(indent)\(key):\n"
          + Outline.lines(bytes).map { $0.width == 0 ? "\n" : "\(own)\($0)\n" }.joined()
      }
      if case .array(let rows)? = value["rows"], case .array(let columns)? = value["columns"] {
        return "\(indent)\(key):\n"
          + table(columns, rows, value["truncated"] != nil).map { "\(own)\($0)\n" }.joined()
      }
      return Outline.isShort(value)
        ? "\(indent)\(key): \(short(value))\n"
        : "\(indent)\(key):\n\(text(of: value, indent: indent + "  "))"
    }
  }

  // Text and tables

  /// The bytes of text, of text that is not UTF-8, and of binary data.
  private static func bytes(of value: JSONValue) -> [UInt8]? {
    switch value {
    case .string(let text): Array(text.utf8)
    case .object(let members): members["base64"]?.string.flatMap { Tabella.bytes(base64: $0) }
    default: nil
    }
  }

  private static func lines(_ bytes: [UInt8]) -> [SafeText] {
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { $0.withUnsafeBytes { SafeText(bytes: $0) } }
  }

  /// Rows as lines with aligned columns, below the names of the columns. Pairs of names and values have no such line.
  private func table(_ columns: [JSONValue], _ rows: [JSONValue], _ isCut: Bool) -> [String] {
    var lines = rows.map { $0.array?.map { SafeText($0 == .null ? missing : short($0)) } ?? [] }
    let names = columns.map { SafeText($0["name"]?.string ?? "") }
    if names.map(\.string) != ["name", "value"] { lines.insert(names, at: 0) }
    let widths = names.indices.map { column in
      lines.map { column < $0.count - 1 ? $0[column].width : 0 }.max() ?? 0
    }
    return lines.map { line in
      zip(line, widths).map { $0.padded(to: $1).string }.joined(separator: "  ")
    } + (isCut ? ["…"] : [])
  }

  /// The lists with one element per line.
  private static let onLines: Set = [
    "titles", "index", "other candidates", "refused", "confined by", "lacking", "absent",
  ]

  /// The members to print first, in this order. The others follow, sorted by name.
  private static let leading = [
    "location", "library", "entry", "id", "row", "provider",
    "chosen because", "not opened because", "other candidates", "refused", "version", "summary",
    "contract",
    "shipped", "schemes", "patterns", "accepts", "order", "sections", "titles", "index",
    "rows in section 0",
    "capabilities", "columns", "cells", "accessory", "options",
  ]

  private static func isBefore(_ left: String, _ right: String) -> Bool {
    let (first, second) = (leading.firstIndex(of: left), leading.firstIndex(of: right))
    return (first ?? leading.count, left) < (second ?? leading.count, right)
  }

  /// Whether a value is printed on the line of its name.
  private static func isShort(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let members): members["exact"] != nil || members["base64"] != nil
    case .array(let elements):
      elements.allSatisfy { if case .object = $0 { false } else { true } }
    default: true
    }
  }

  private func short(_ value: JSONValue) -> String {
    switch value {
    case .null: return "none"
    case .boolean(let truth): return truth ? "yes" : "no"
    case .number(let text): return text
    case .string(let text): return SafeText(text).string
    case .array(let elements): return elements.map(short).joined(separator: " ")
    case .object(let members):
      if let bytes = Outline.bytes(of: value) {
        return bytes.withUnsafeBytes { SafeText(bytes: $0).string }
      }
      if case .number(let count) = members["count"], let exact = members["exact"] {
        return exact == .boolean(true) ? count : "at least \(count)"
      }
      // A column, an option or a cell begins with its name.
      let name = members["name"].map { short($0) } ?? ""
      let rest = ["value", "type", "unit", "default", "choices", "summary"].compactMap { key in
        guard let member = members[key], member != .null, member != .array([]) else {
          return key == "value" && members[key] == .null ? missing : nil as String?
        }
        return key == "default" ? "(default \(short(member)))" : short(member)
      }
      let note = members["on request"] == .boolean(true) ? ["on request"] : []
      return ([name] + rest + note).joined(separator: "  ")
    }
  }
}
