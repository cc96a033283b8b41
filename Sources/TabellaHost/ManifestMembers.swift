import Tabella

extension Manifest {
  /// The names of all members, by the object that contains them: the manifest itself is the empty name.
  package static let members: [String: [String]] = [
    "": [
      "id", "version", "contract", "library", "summary", "schemes", "patterns", "magic", "accepts",
      "options", "columns", "capabilities", "confinement", "$schema",
    ],
    "magic": ["offset", "bytes"],
    "options": ["name", "type", "default", "choices", "summary"],
    "columns": ["name", "type", "unit", "on-request"],
    "confinement": ["read", "write", "links", "signals", "network", "processes"],
  ]

  /// The members of a manifest that hosts ignore, each with a suggestion if its name resembles a known one.
  package static func ignoredMembers(of text: [UInt8]) -> [String] {
    guard let json = try? JSONValue(parsing: text) else { return [] }
    var ignored = unknown(json, in: "", at: "")
    for (object, _) in members.sorted(by: { $0.key < $1.key }) where !object.isEmpty {
      guard let value = json[object] else { continue }
      guard let list = value.array else {
        ignored += unknown(value, in: object, at: "\(object).")
        continue
      }
      for (index, element) in list.enumerated() {
        ignored += unknown(element, in: object, at: "\(object)[\(index)].")
      }
    }
    return ignored
  }

  private static func unknown(_ json: JSONValue, in object: String, at path: String) -> [String] {
    guard case .object(let values) = json, let known = members[object] else { return [] }
    return values.keys.sorted().filter { !known.contains($0) }.map { key in
      "\"\(path)\(key)\"\(Suggestion.hint(key, among: known))"
    }
  }
}
