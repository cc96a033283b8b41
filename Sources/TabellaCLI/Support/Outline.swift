import Tabella
import TabellaTerminal

/// JSON as an indented outline for people: the same facts, without brackets.
func outline(_ value: JSONValue, indent: String) -> String {
  switch value {
  case .object(let members):
    return members.keys.sorted(by: isBefore).map { key in
      let member = members[key] ?? .null
      // A manifest without columns, or an empty list, has nothing to tell.
      if member == .array([]) || (key == "columns" && member == .null) { return "" }
      return isShort(member)
        ? "\(indent)\(SafeText(key)): \(short(member))\n"
        : "\(indent)\(SafeText(key)):\n\(outline(member, indent: indent + "  "))"
    }.joined()
  case .array(let elements):
    return elements.map { "\(indent)\(short($0))\n" }.joined()
  default: return "\(indent)\(short(value))\n"
  }
}

/// What is best read first, in this order; the rest follows by name.
private let leading = [
  "location", "library", "entry", "id", "row", "provider", "version", "summary", "contract",
  "shipped", "schemes", "patterns", "order", "sections", "rows known in section 0", "capabilities",
  "columns", "cells", "options",
]

private func isBefore(_ left: String, _ right: String) -> Bool {
  let (first, second) = (leading.firstIndex(of: left), leading.firstIndex(of: right))
  return (first ?? leading.count, left) < (second ?? leading.count, right)
}

/// Whether a value fits on the line of its name.
private func isShort(_ value: JSONValue) -> Bool {
  switch value {
  case .object: false
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
    // A column, an option or a cell: its name first.
    let name = members["name"].map { short($0) } ?? ""
    let rest = ["value", "type", "unit", "default", "choices", "summary"].compactMap { key in
      guard let member = members[key], member != .null, member != .array([]) else {
        return key == "value" && members[key] == .null ? "none" : nil as String?
      }
      return key == "default" ? "(default \(short(member)))" : short(member)
    }
    return ([name] + rest).joined(separator: "  ")
  }
}
