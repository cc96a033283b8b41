import Tabella
import TabellaTerminal

/// Cells in a readable form, for tables, records and grids. JSON and CSV contain the exact values.
struct ReadableCells {
  let screen: Screen
  /// The maximum width of a cell in terminal columns; nil means no limit.
  private let limit: Int?

  /// The distance of tab stops; nil if tabs are escapes.
  private let tabStop: Int?

  /// `expandsTabs` is false for text that is not shown in columns.
  init(_ screen: Screen, limit: Int?, expandsTabs: Bool = true) {
    self.screen = screen
    self.limit = limit
    tabStop = expandsTabs ? ReadableCells.tabStop : nil
  }

  /// The text of a cell before it is cut to the width of its column.
  func text(_ cells: ColumnBatch, _ column: Column, _ row: Int) -> SafeText {
    if cells.isMissing(row) { return screen.missing }
    switch (cells.type, column.unit) {
    case (.text, .bytes) where column.reads == .real:
      // The mean of numbers of bytes. Nobody needs a part of a byte.
      let value = column.values(of: cells[row..<row + 1])
      guard !value.isMissing(0), let bytes = Int64(exactly: value.real(0).rounded()) else {
        fallthrough
      }
      return SafeText(Readable.bytes(bytes))
    case (.text, _):
      return cells.withBytes(at: row) { bytes in
        SafeText(bytes: bytes, columns: limit ?? .max, tabStop: tabStop)
      }
    case (.binary, _):
      return SafeText(cells.withBytes(at: row) { base64(start(of: $0)) })
    case (.integer, .bytes): return SafeText(Readable.bytes(cells.integer(row)))
    case (.real, .percent): return SafeText(Readable.percent(cells.real(row)))
    case (.date, _):
      return SafeText(
        Readable.date(Timestamp(nanoseconds: cells.integer(row)), in: screen.zone))
    default: return SafeText(cells[row].description)
    }
  }

  /// The bytes whose base64 is visible.
  private func start(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let limit, bytes.count > limit else { return bytes }
    return UnsafeRawBufferPointer(rebasing: bytes[..<limit])
  }

  /// A cell's text, cut to `columns` terminal columns and styled: missing cells are faint, matches are highlighted, and
  /// right-to-left text is isolated. `matches` are ranges of the UTF-8 of the text.
  func dressed(
    _ text: SafeText, isMissing: Bool, columns: Int?, rendition: Rendition? = nil,
    matches: [Range<Int>] = []
  ) -> SafeText {
    let fitted = columns.map { text.fitted(to: $0, ellipsis: screen.ellipsis) } ?? text
    if isMissing { return screen.paint(fitted, .faint) }
    // The ellipsis of a cut text is not part of a match.
    let isWhole = fitted.string.utf8.count == text.string.utf8.count
    let end = fitted.string.utf8.count - (isWhole ? 0 : screen.ellipsis.string.utf8.count)
    let shown = matches.filter { $0.lowerBound < end }.map {
      $0.lowerBound..<min($0.upperBound, end)
    }
    return screen.isolated(screen.palette.paint(fitted, rendition, matches: shown))
  }

  /// A cell ready for output, with its colours, cut to `columns` terminal columns. `isPart` is true if the text is one
  /// of several lines of the cell.
  func dressed(
    _ text: SafeText, _ rows: ShownRows, _ row: Int, column index: Int, columns: Int?,
    isPart: Bool = false
  ) -> SafeText {
    let batch = rows.batch.columns[index]
    if batch.isMissing(row) { return dressed(text, isMissing: true, columns: columns) }
    guard screen.palette.isColoured else {
      return dressed(text, isMissing: false, columns: columns)
    }
    var matches: [Range<Int>] = []
    if let highlights = rows.highlights, highlights.concerns(index) {
      if batch.type == .text, !isPart {
        matches = batch.withBytes(at: row) { bytes in
          highlights.matches(index, in: bytes, shownAs: text) {
            SafeText(bytes: $0, columns: .max, tabStop: tabStop)
          }
        }
      } else {
        // A match in the exact text is also one in the readable text, if that has the same characters.
        let bytes = Array(text.string.utf8)
        matches = bytes.withUnsafeBytes { bytes in
          highlights.matches(index, in: bytes, shownAs: text) { SafeText(bytes: $0) }
        }
      }
    }
    return dressed(
      text, isMissing: false, columns: columns,
      rendition: rows.colours?.rendition(rows, row, column: index), matches: matches)
  }

  /// Whether a text looks like a number: digits with an optional sign, fraction and exponent. With a decimal comma,
  /// points can group the digits.
  static func isNumber(_ text: UnsafeRawBufferPointer, hasDecimalComma: Bool) -> Bool {
    var rest = text[...]
    func skipDigits() -> Bool {
      let digits = rest.prefix { 48...57 ~= $0 }
      rest = rest.dropFirst(digits.count)
      return !digits.isEmpty
    }
    func skip(_ bytes: StaticString) -> Bool {
      guard let first = rest.first, "\(bytes)".utf8.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    _ = skip("+-")
    let hasWhole = skipDigits()
    if hasDecimalComma, hasWhole {
      while rest.count > 3, rest.first == UInt8(ascii: ".") {
        // A group has three digits, unlike the parts of a date.
        guard rest.dropFirst().prefix(4).prefix(while: { 48...57 ~= $0 }).count == 3 else {
          return false
        }
        rest = rest.dropFirst(4)
      }
    }
    let hasFraction = hasDecimalComma ? skip(",") : skip(".")
    guard hasFraction ? skipDigits() : hasWhole else { return false }
    if skip("eE") {
      _ = skip("+-")
      if !skipDigits() { return false }
    }
    return rest.isEmpty
  }

  /// Whether the cells of a column are aligned right.
  static func isRight(_ column: Column) -> Bool {
    column.valueType == .integer || column.valueType == .real
  }

  /// Whether the cells of a column may be cut.
  static func canShrink(_ column: Column) -> Bool {
    column.valueType == .text || column.type == .binary
  }
}

extension ShownRows {
  /// The badge of a row, which follows its first cell.
  func badge(_ row: Int, _ screen: Screen) -> SafeText? {
    guard let badge = badges?[row] else { return nil }
    let text = screen.palette.paint(badge, columns: 20, ellipsis: screen.ellipsis)
    guard text.width > 0 else { return nil }
    return screen.paint("[", .faint) + screen.paint(text, .faint) + screen.paint("]", .faint)
  }
}
