// Texts that every match of a regular expression contains. A source that finds them can skip the other rows.

extension RegexTree {
  /// Terms that every match contains, all of them; empty if none is known. The tree was parsed with this case rule.
  func requiredTexts(ignoringCase: Bool) -> [SearchTerm] {
    RequiredText(self, ignoringCase).all.map { SearchTerm($0, ignoresCase: ignoringCase) }
  }
}

/// The texts that a part of a regular expression requires.
private struct RequiredText {
  /// The maximum number of alternatives, the maximum length of one in bytes, and the maximum number of clauses.
  private static let limits = (texts: 8, length: 64, clauses: 4)

  /// All texts that the part matches, if they are few. A part that reads nothing matches the empty text.
  private var exact: [[UInt8]]?
  /// Each match contains a text of every clause. No text is empty.
  private var clauses: [[[UInt8]]] = []

  /// The clauses that are worth a search.
  var all: [[[UInt8]]] {
    let useful = ((exact.map { [$0] } ?? []) + clauses).filter { RequiredText.worth($0) > 0 }
    let best = useful.sorted { RequiredText.worth($0) > RequiredText.worth($1) }
    return Array(best.prefix(RequiredText.limits.clauses))
  }

  init(_ tree: RegexTree, _ ignoringCase: Bool) {
    switch tree {
    case .byte(let byte): exact = [[byte]]
    case .characters(let ranges): exact = RequiredText.characters(ranges, ignoringCase)
    case .start, .end, .wordBorder, .noWordBorder: exact = [[]]
    case .part(let part, _): self = RequiredText(part, ignoringCase)
    case .sequence(let parts): addSequence(parts, ignoringCase)
    case .choice(let parts): addChoice(parts.map { RequiredText($0, ignoringCase) })
    case .repetition(let part, let least, let most, _):
      let once = RequiredText(part, ignoringCase)
      if least == 1, most == 1 {
        self = once
      } else if least == 0, most == 1 {
        exact = once.exact.flatMap { RequiredText.few($0 + [[]]) }
      } else if least > 0 {
        clauses = once.all
      }
    }
  }

  /// The texts of single characters, if they are few.
  private static func characters(
    _ ranges: [ClosedRange<UInt32>], _ ignoringCase: Bool
  ) -> [[UInt8]]? {
    // Each letter can be there in both cases.
    guard ranges.reduce(0, { $0 + $1.count }) <= 2 * limits.texts else { return nil }
    var texts: [[UInt8]] = []
    for value in ranges.joined() {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = Array(String(Character(scalar)).utf8)
      texts.append(ignoringCase ? text.map { NaturalOrder.folded($0) } : text)
    }
    return few(texts)
  }

  /// The texts without repetition; nil if there are too many or too long ones.
  private static func few(_ texts: [[UInt8]]) -> [[UInt8]]? {
    var different: [[UInt8]] = []
    for text in texts where !different.contains(text) { different.append(text) }
    let isFew =
      different.count <= limits.texts && different.allSatisfy { $0.count <= limits.length }
    return isFew ? different : nil
  }

  private static func joined(_ first: [[UInt8]], _ second: [[UInt8]]) -> [[UInt8]]? {
    guard first.count * second.count <= 4 * limits.texts else { return nil }
    return few(first.flatMap { start in second.map { start + $0 } })
  }

  /// The worth of a clause; 0 if a search for it is in vain. Long texts are rarer than short ones, and few texts are
  /// found faster than many.
  private static func worth(_ texts: [[UInt8]]) -> Int {
    guard let shortest = texts.map(\.count).min(), shortest > 0 else { return 0 }
    // Several single bytes are in nearly every row.
    guard texts.count == 1 || shortest > 1 else { return 0 }
    return 1000 + 4 * shortest - texts.count
  }

  private mutating func addChoice(_ parts: [RequiredText]) {
    let exacts = parts.compactMap(\.exact)
    if exacts.count == parts.count { exact = RequiredText.few(exacts.flatMap { $0 }) }
    let bests = parts.compactMap(\.all.first)
    if bests.count == parts.count, let clause = RequiredText.few(bests.flatMap { $0 }) {
      clauses.append(clause)
    }
  }

  /// Joins the texts of adjacent parts, as far as these are exact.
  private mutating func addSequence(_ parts: [RegexTree], _ ignoringCase: Bool) {
    var run: [[UInt8]] = [[]]
    var isExact = true
    func end(with next: [[UInt8]]) {
      clauses.append(run)
      run = next
      isExact = false
    }
    for part in parts {
      let wanted = RequiredText(part, ignoringCase)
      if let texts = wanted.exact {
        if let longer = RequiredText.joined(run, texts) { run = longer } else { end(with: texts) }
      } else if case .repetition(let once, let least, _, _) = part, least > 0,
        let texts = RequiredText(once, ignoringCase).exact
      {
        // The first copy follows the texts in front of it, and the last one is followed by others.
        if let longer = RequiredText.joined(run, texts) { run = longer }
        end(with: texts)
      } else {
        end(with: [[]])
        clauses += wanted.all
      }
    }
    if isExact { exact = run } else { clauses.append(run) }
  }
}
