import Tabella

/// The option `pattern`: a regular expression whose named groups are columns.
struct LinePattern {
  /// The pattern as the user wrote it.
  let text: String
  private var pattern: TextPattern

  /// Nil for an empty text. Throws ``TableError`` with `.invalidArgument` for a pattern that is wrong, or that names no
  /// columns.
  init?(_ text: String) throws(TableError) {
    if text.isEmpty { return nil }
    self.text = text
    pattern = try TextPattern(Array(text.utf8))
    guard !pattern.names.isEmpty else {
      throw TableError(
        .invalidArgument,
        "option pattern names no column; name a group, as in took (?<took>\\d+)ms")
    }
    guard !pattern.names.contains("line") else {
      throw TableError(
        .invalidArgument, "option pattern: the column line is the whole line; use another name")
    }
  }

  /// The columns of the parts.
  var columns: [Column] { pattern.names.map { Column($0) } }

  /// Calls `body` with the part of a line for a column; nil if the line does not have it.
  mutating func withParts(
    of line: UnsafeRawBufferPointer, _ columns: [Int],
    _ body: (_ index: Int, UnsafeRawBufferPointer?) -> Void
  ) {
    let isFound = pattern.match(line)
    for (index, column) in columns.enumerated() {
      let part = isFound ? pattern.part(column) : nil
      body(index, part.map { UnsafeRawBufferPointer(rebasing: line[$0]) })
    }
  }
}
