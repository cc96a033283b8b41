import Tabella

/// Numbers of rows and sections as a command line gives them: digits only, as many as one likes.
enum TableNumber {
  /// The number that a text of digits means, or `limit` if it is larger: no table has as much, so it makes
  /// no difference, and sums of such numbers do not overflow. Nil if the text is no such number.
  static func read(_ text: some StringProtocol, upTo limit: Int = TableLimits.rows) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return min(Int(text) ?? .max, limit)
  }
}
