import Tabella

/// Text that is safe to print. It sends no control characters to the terminal, and shows every byte in some form.
///
/// This is the only sanitiser. It shows unsafe text as escapes such as `\n`, `\x1b` and `\u{202e}`. Unsafe text is:
///
/// - characters that act as commands to a terminal (C0, DEL, C1);
/// - characters that reorder or hide text (bidi controls, tags, invisible fillers);
/// - invalid UTF-8.
///
/// It shows at most eight marks on one character, and `…` for the rest.
package struct SafeText: Hashable, Sendable, CustomStringConvertible {
  /// The text.
  package private(set) var string: String
  /// The width in terminal columns. If the text is cut, the minimum width.
  package private(set) var width: Int
  /// Whether a terminal displays some of the text from right to left.
  package private(set) var hasRightToLeft: Bool
  /// Whether only the beginning of the text was read. ``fitted(to:ellipsis:by:)`` then adds an ellipsis.
  package private(set) var isCut: Bool

  package var description: String { string }

  /// Creates safe text from a string.
  package init(_ text: String, by rules: WidthRules = .current) {
    var text = text
    let made = text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      return SafeText.isPlain(bytes) ? nil : SafeText(bytes: bytes, by: rules)
    }
    // Most text is plain, and needs no copy.
    self = made ?? SafeText(trusted: text, width: text.utf8.count)
  }

  /// Whether all bytes are characters of ASCII that are printed. Such text is printed unchanged.
  package static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // No early exit, so that the compiler can vectorize the loop.
    bytes.reduce(true) { $0 && $1 &- 0x20 < 0x5F }
  }

  /// Creates safe text from bytes, which need not be UTF-8.
  package init(bytes: UnsafeRawBufferPointer, by rules: WidthRules = .current) {
    self.init(bytes: bytes, columns: .max, by: rules)
  }

  /// Creates safe text from as many bytes as necessary to decide whether all of them fit into `limit` columns.
  ///
  /// If they do not fit, the width is more than `limit`. Call ``fitted(to:ellipsis:by:)`` with at most `limit`
  /// columns before printing. The cost of a cell thus depends on its visible text and not on its length.
  ///
  /// With `tabStop`, a tab becomes spaces up to the next multiple of so many columns; otherwise it becomes an escape.
  /// - Complexity: O(`limit`), even for characters without columns: at most 64 bytes per column are read, and
  ///   longer text counts as too wide.
  package init(
    bytes: UnsafeRawBufferPointer, columns limit: Int, tabStop: Int? = nil,
    by rules: WidthRules = .current
  ) {
    let limit = max(0, limit)
    let (needed, overflows) = limit.addingReportingOverflow(1)
    let first = UnsafeRawBufferPointer(
      rebasing: overflows ? bytes[...] : bytes.prefix(needed))
    if SafeText.isPlain(first) {
      string = String(decoding: first, as: UTF8.self)
      width = first.count
      hasRightToLeft = false
      isCut = first.count < bytes.count
      return
    }
    var scan = SafeScan(rules, tabStop: tabStop)
    let (budget, isEndless) = needed.multipliedReportingOverflow(by: SafeText.bytesPerColumn)
    let end = isEndless || overflows ? bytes.count : min(bytes.count, budget)
    let read = scan.read(bytes, upTo: end, columns: limit)
    string = scan.text(bytes[..<read])
    isCut = read < bytes.count
    width = isCut ? max(scan.measure.width, needed) : scan.measure.width
    hasRightToLeft = scan.measure.hasRightToLeft
  }

  /// The maximum number of bytes per column. A picture needs less: a family of four takes 25 bytes.
  private static let bytesPerColumn = 64

  /// Creates text from a trusted string, which is printed unchanged.
  init(trusted string: String, width: Int, hasRightToLeft: Bool = false) {
    self.string = string
    self.width = width
    self.hasRightToLeft = hasRightToLeft
    isCut = false
  }

  /// Appends another text.
  package mutating func append(_ other: SafeText) {
    string += other.string
    width += other.width
    hasRightToLeft = hasRightToLeft || other.hasRightToLeft
    isCut = isCut || other.isCut
  }

  /// The text, cut to at most `limit` columns, with an ellipsis if something was cut.
  ///
  /// Graphemes stay whole. If a grapheme of two columns does not fit, the text is one column shorter. Do not use
  /// this for styled text, because it could cut an escape sequence.
  package func fitted(
    to limit: Int, ellipsis: SafeText = "…", by rules: WidthRules = .current
  ) -> SafeText {
    if width <= limit, !isCut { return self }
    let room = limit - ellipsis.width
    guard room >= 0 else { return SafeText() }
    var end = string.startIndex
    var used = 0
    var isRightToLeft = false
    while end < string.endIndex {
      let next = string.index(after: end)
      var measure = WidthMeasure(rules)
      measure.add(string[end..<next])
      if used + measure.width > room { break }
      used += measure.width
      isRightToLeft = isRightToLeft || measure.hasRightToLeft
      end = next
    }
    return SafeText(
      trusted: string[..<end] + ellipsis.string, width: used + ellipsis.width,
      hasRightToLeft: isRightToLeft)
  }

  /// The text between U+2068 and U+2069 if some of it runs from right to left; otherwise unchanged. Its width stays
  /// the same.
  ///
  /// The isolation keeps the text from reordering adjacent cells. These are the only bidi controls in the output.
  /// Those in the text are escaped, so the controls are always balanced.
  package var isolated: SafeText {
    hasRightToLeft ? SafeText(trusted: "\u{2068}\(string)\u{2069}", width: width) : self
  }

  /// The text with spaces in front of it or after it, so that it takes `columns` columns.
  package func padded(to columns: Int, alignedRight: Bool = false) -> SafeText {
    if width >= columns { return self }
    let space = SafeText.spaces(columns - width)
    return alignedRight ? space + self : self + space
  }
}

/// A single pass over bytes that makes them safe and measures their width.
private struct SafeScan {
  private(set) var measure: WidthMeasure
  /// The output for the bytes in front of `copied`; empty while all bytes are printed unchanged.
  private var written: [UInt8] = []
  private var copied = 0
  /// The number of consecutive scalars without a column.
  private var marks = 0
  private static let marksShown = 8

  private let tabStop: Int?

  init(_ rules: WidthRules, tabStop: Int?) {
    measure = WidthMeasure(rules)
    self.tabStop = tabStop
  }

  /// Reads until the text is wider than `limit` columns or `end` is reached. Returns the offset.
  mutating func read(_ bytes: UnsafeRawBufferPointer, upTo end: Int, columns limit: Int) -> Int {
    var at = 0
    while at < end, measure.width <= limit {
      guard let (scalar, length) = decodeScalar(bytes, at) else {
        escape(bytes, at, 1, as: "\\x" + hex(UInt32(bytes[at]), 2))
        at += 1
        continue
      }
      let found = ScalarWidth(scalar.value)
      if scalar == "\t", let tabStop {
        let count = tabStop - measure.width % tabStop
        escape(bytes, at, length, as: String(repeating: " ", count: count))
      } else if scalar.isUnsafeToPrint {
        escape(bytes, at, length, as: escaped(scalar))
      } else if !isExcess(found) {
        measure.add(scalar.value, found)
      } else {
        replace(bytes, at, length, by: marks == SafeScan.marksShown + 1 ? "…" : "")
      }
      at += length
    }
    return at
  }

  /// Whether a scalar exceeds the number of marks that are shown per character.
  @inline(__always)
  private mutating func isExcess(_ found: ScalarWidth) -> Bool {
    marks = found.hasColumns ? 0 : marks + 1
    return marks > SafeScan.marksShown
  }

  private mutating func escape(
    _ bytes: UnsafeRawBufferPointer, _ at: Int, _ length: Int, as text: String
  ) {
    replace(bytes, at, length, by: text)
    marks = 0
  }

  private mutating func replace(
    _ bytes: UnsafeRawBufferPointer, _ at: Int, _ length: Int, by text: String
  ) {
    written += bytes[copied..<at]
    written += Array(text.utf8)
    copied = at + length
    measure.add(text)
  }

  /// The safe text of the bytes read so far.
  func text(_ read: Slice<UnsafeRawBufferPointer>) -> String {
    if copied == 0 { return String(decoding: read, as: UTF8.self) }
    return String(decoding: written + read[copied...], as: UTF8.self)
  }
}

private func escaped(_ scalar: Unicode.Scalar) -> String {
  switch scalar {
  case "\n": "\\n"
  case "\r": "\\r"
  case "\t": "\\t"
  default:
    scalar.isASCII ? "\\x" + hex(scalar.value, 2) : "\\u{" + hex(scalar.value, 1) + "}"
  }
}

private func hex(_ value: UInt32, _ digits: Int) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
