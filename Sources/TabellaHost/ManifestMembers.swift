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

  /// The members and words of a manifest that hosts ignore, each with a suggestion if it resembles a known one.
  ///
  /// A host knows a list of words for `capabilities` and for the units of columns. It ignores other words there.
  package static func ignored(in text: [UInt8]) -> [String] {
    guard let json = try? JSONValue(parsing: text) else { return [] }
    return unknownMembers(of: json) + unknownWords(of: json)
  }

  private static func unknownMembers(of json: JSONValue) -> [String] {
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
    return values.keys.filter { !known.contains($0) }.map { key in
      "\"\(path)\(key)\"\(Suggestion.hint(key, among: known))"
    }
  }

  private static func unknownWords(of json: JSONValue) -> [String] {
    let abilities = Ability.allCases
    let capabilities = (json["capabilities"]?.array ?? []).enumerated().compactMap {
      index, word in
      unknown(word, among: abilities.map(\.name), at: "capabilities[\(index)]") { text in
        abilities.first { $0.isMeant(by: text) }?.name
      }
    }
    let units = (json["columns"]?.array ?? []).enumerated().compactMap { index, column in
      column["unit"].flatMap {
        unknown($0, among: Unit.allCases.map(\.rawValue), at: "columns[\(index)].unit")
      }
    }
    return capabilities + units
  }

  /// `"capabilities[1]" = "edits"; did you mean edit?`, or nil if a host knows the word.
  private static func unknown(
    _ word: JSONValue, among known: [String], at path: String,
    meaning: (String) -> String? = { _ in nil }
  ) -> String? {
    guard let text = word.string, !known.contains(text) else { return nil }
    let nearest = meaning(text) ?? Suggestion.nearest(to: text, among: known)
    return "\"\(path)\" = \"\(text)\""
      + (nearest.map { "; did you mean \($0)?" }
        ?? " (the words are \(known.joined(separator: " ")))")
  }
}

extension Ability {
  /// Whether a text that is not the name of an ability is another name of this one: that in Swift (`sectionIndex`), or
  /// in C (`tabella.section-index/1`).
  fileprivate func isMeant(by text: String) -> Bool {
    let start = text.hasPrefix("tabella.") ? text.dropFirst("tabella.".count) : text[...]
    let letters = start.prefix { $0 != "/" }.filter { $0.isLetter }.lowercased()
    return letters == "\(self)".lowercased()
  }
}
