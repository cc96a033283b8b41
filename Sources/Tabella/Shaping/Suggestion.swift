/// Suggestions for a mistyped word.
public enum Suggestion {
  /// `; did you mean NAME?` if one of the names is close to a word that is none of them, else nothing.
  public static func hint(_ word: String, among names: [String]) -> String {
    nearest(to: word, among: names).map { "; did you mean \($0)?" } ?? ""
  }

  /// The name that is close enough to a word to be meant by it; the first of several.
  public static func nearest(to word: String, among names: [String]) -> String? {
    // A word of one letter is near to every other one.
    if let name = names.prefix(10_000).first(where: { $0.lowercased() == word.lowercased() }) {
      return name
    }
    let typed = Array(word.lowercased())
    guard (2...64).contains(typed.count) else { return nil }
    // A third of the letters may be wrong.
    let limit = max(1, typed.count / 3)
    var best: (distance: Int, name: String)?
    for name in names.prefix(10_000) {
      let meant = Array(name.lowercased())
      guard abs(meant.count - typed.count) <= limit else { continue }
      let distance = distance(typed, meant)
      if distance <= limit, distance < best?.distance ?? .max { best = (distance, name) }
    }
    return best?.name
  }

  /// How many letters must be put in, left out, changed or swapped with the next.
  /// - Complexity: O(n × m).
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
        row.append(best)
      }
      before = last
      last = row
    }
    return last[b.count]
  }
}
