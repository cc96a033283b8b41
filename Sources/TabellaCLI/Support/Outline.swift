import Tabella
import TabellaTerminal

/// JSON as an indented outline for people: the same facts, without brackets.
struct Outline {
  /// What stands for the value of a cell that is missing.
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
    // A manifest without columns, or an empty list, has nothing to tell.
    case .array([]): return ""
    case .null where key.string == "columns": return ""
    case .string(let text) where text.contains("\n"):
      var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      if lines.last == "" { lines.removeLast() }
      return "\(indent)\(key):\n"
        + lines.map { "\(indent)  \(SafeText(String($0)))\n" }.joined()
    default:
      return Outline.isShort(value)
        ? "\(indent)\(key): \(short(value))\n"
        : "\(indent)\(key):\n\(text(of: value, indent: indent + "  "))"
    }
  }

  /// What is best read first, in this order; the rest follows by name.
  private static let leading = [
    "location", "library", "entry", "id", "row", "provider", "version", "summary", "contract",
    "shipped", "schemes", "patterns", "accepts", "order", "sections", "rows in section 0",
    "capabilities", "columns", "cells", "accessory", "options",
  ]

  private static func isBefore(_ left: String, _ right: String) -> Bool {
    let (first, second) = (leading.firstIndex(of: left), leading.firstIndex(of: right))
    return (first ?? leading.count, left) < (second ?? leading.count, right)
  }

  /// Whether a value fits on the line of its name.
  private static func isShort(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let members): members["exact"] != nil
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
      if case .number(let count) = members["count"], let exact = members["exact"] {
        return exact == .boolean(true) ? count : "at least \(count)"
      }
      // A column, an option or a cell: its name first.
      let name = members["name"].map { short($0) } ?? ""
      let rest = ["value", "type", "unit", "default", "choices", "summary"].compactMap { key in
        guard let member = members[key], member != .null, member != .array([]) else {
          return key == "value" && members[key] == .null ? missing : nil as String?
        }
        return key == "default" ? "(default \(short(member)))" : short(member)
      }
      return ([name] + rest).joined(separator: "  ")
    }
  }
}
