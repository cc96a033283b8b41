import Tabella
import TabellaTerminal

/// The matches of `--search` and of filters with `~`, which tables for people highlight.
struct Highlights {
  /// The finders of each shown column.
  private var finders: [[MatchFinder]]

  /// Creates the highlights of a shape. Each shown column has its number in the source, or nil if it has none.
  init(_ shape: TableShape, columns: [Int?]) {
    let searches = shape.searches.filter { !$0.isEmpty }.map { MatchFinder(search: $0) }
    finders = columns.map { column in
      guard let column else { return [] }
      let patterns = shape.conditions.compactMap { condition -> MatchFinder? in
        guard condition.column == column, condition.comparison == .matches else { return nil }
        // The filter has accepted the pattern.
        return try? MatchFinder(pattern: condition.value)
      }
      return patterns + searches
    }
  }

  /// Whether a column can contain matches.
  func concerns(_ column: Int) -> Bool { !finders[column].isEmpty }

  /// The matches in the bytes of a cell, as ranges of its safe text.
  func matches(
    _ column: Int, in bytes: UnsafeRawBufferPointer, shownAs text: SafeText,
    safe: (UnsafeRawBufferPointer) -> SafeText
  ) -> [Range<Int>] {
    let found = finders[column].flatMap { $0.matches(in: bytes) }
    guard !found.isEmpty else { return [] }
    let shown = text.string.utf8
    if shown.count <= bytes.count, shown.elementsEqual(bytes.prefix(shown.count)) { return found }
    // The safe text of the first bytes is the beginning of the safe text.
    func offset(_ end: Int) -> Int {
      safe(UnsafeRawBufferPointer(rebasing: bytes[..<end])).string.utf8.count
    }
    return found.map { offset($0.lowerBound)..<offset($0.upperBound) }
  }
}
