import Tabella

/// The lines that a format writes for one frame of a screen, each with the mark of its row.
final class FrameLines {
  struct Line {
    var mark: RowMark?
    /// Text that is safe to print.
    var text: [UInt8]
  }

  /// The mark of the lines that follow.
  var mark: RowMark?
  private(set) var lines: [Line] = []
  /// The number of rows whose first line is in the frame.
  private(set) var rowCount = 0
  private let limit: Int
  /// Whether the last line has no end yet.
  private var isOpen = false

  /// Lines beyond the limit are dropped.
  init(limit: Int) { self.limit = limit }

  /// Counts rows that begin with the next line.
  func beginRows(_ count: Int) { if lines.count < limit { rowCount += count } }

  /// Adds safe text.
  func add(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 10)
      let part = rest[..<(end ?? rest.endIndex)]
      if isOpen {
        lines[lines.count - 1].text += part
      } else if lines.count < limit {
        lines.append(Line(mark: mark, text: Array(part)))
      } else {
        return
      }
      isOpen = end == nil
      rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
    }
  }
}
