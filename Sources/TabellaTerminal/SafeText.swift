import Tabella

/// Text that is safe to print: no control reaches the terminal, every byte is shown somehow.
///
/// The one sanitiser. What a terminal could take for a command (C0, DEL, C1), what reorders or hides
/// text (bidi controls, tags, invisible fillers) and what is no UTF-8 appears as an escape: `\n`,
/// `\x1b`, `\u{202e}`. Of the marks on one character eight are shown, and `…` for the rest.
public struct SafeText: Hashable, Sendable, CustomStringConvertible {
  public private(set) var string: String
  /// How many columns of a terminal it takes; at least how many if it is cut.
  public private(set) var width: Int
  /// Whether something in it is laid out from right to left.
  public private(set) var hasRightToLeft: Bool
  /// Whether there is more of the text than was read; ``fitted(to:ellipsis:by:)`` says so to people.
  public private(set) var isCut: Bool

  public var description: String { string }

  public init(_ text: String, by rules: WidthRules = .current) {
    var text = text
    self = text.withUTF8 { SafeText(bytes: UnsafeRawBufferPointer($0), by: rules) }
  }

  /// Safe text of bytes that need not be UTF-8.
  public init(bytes: UnsafeRawBufferPointer, by rules: WidthRules = .current) {
    self.init(bytes: bytes, columns: .max, by: rules)
  }

  /// Safe text of as many of the bytes as tell whether all of them fit into `limit` columns.
  ///
  /// Its width is more than `limit` if they do not. To be fitted to `limit` columns or fewer; so a cell
  /// costs what is shown of it, however long it is.
  ///
  /// - Complexity: O(`limit`), also for characters that take no column: at most 64 bytes a column are
  ///   read, and more counts as not fitting.
  public init(
    bytes: UnsafeRawBufferPointer, columns limit: Int, by rules: WidthRules = .current
  ) {
    let limit = max(0, limit)
    let (needed, overflows) = limit.addingReportingOverflow(1)
    let first = UnsafeRawBufferPointer(
      rebasing: overflows ? bytes[...] : bytes.prefix(needed))
    if first.allSatisfy({ 0x20...0x7E ~= $0 }) {
      string = String(decoding: first, as: UTF8.self)
      width = first.count
      hasRightToLeft = false
      isCut = first.count < bytes.count
      return
    }
    var scan = SafeScan(rules)
    let (budget, isEndless) = needed.multipliedReportingOverflow(by: SafeText.bytesPerColumn)
    let end = isEndless || overflows ? bytes.count : min(bytes.count, budget)
    let read = scan.read(bytes, upTo: end, columns: limit)
    string = scan.text(bytes[..<read])
    isCut = read < bytes.count
    width = isCut ? max(scan.measure.width, needed) : scan.measure.width
    hasRightToLeft = scan.measure.hasRightToLeft
  }

  /// More than any picture needs: a family of four takes 25 bytes.
  private static let bytesPerColumn = 64

  /// Text of our own making, which is shown as it is.
  init(trusted string: String, width: Int, hasRightToLeft: Bool = false) {
    self.string = string
    self.width = width
    self.hasRightToLeft = hasRightToLeft
    isCut = false
  }

  public mutating func append(_ other: SafeText) {
    string += other.string
    width += other.width
    hasRightToLeft = hasRightToLeft || other.hasRightToLeft
    isCut = isCut || other.isCut
  }

  /// The text cut to at most `limit` columns, with an ellipsis where something was cut.
  ///
  /// Graphemes stay whole: where one of two columns does not fit, the text is a column shorter. Not for
  /// text with styles, which may be cut apart.
  public func fitted(
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

  /// The text between U+2068 and U+2069 if something in it is laid out from right to left, so that it
  /// does not take the cells beside it along; as wide as before.
  ///
  /// The only bidi controls that are ever written: those in the text are escaped, so they pair.
  public var isolated: SafeText {
    hasRightToLeft ? SafeText(trusted: "\u{2068}\(string)\u{2069}", width: width) : self
  }

  /// The text with spaces before or behind it, to take `columns` columns.
  public func padded(to columns: Int, alignedRight: Bool = false) -> SafeText {
    if width >= columns { return self }
    let space = SafeText.spaces(columns - width)
    return alignedRight ? space + self : self + space
  }
}

/// One pass over bytes that makes them safe and measures them.
private struct SafeScan {
  private(set) var measure: WidthMeasure
  /// What is written of the bytes before `copied`, if not all of them are shown as they are.
  private var written: [UInt8] = []
  private var copied = 0
  /// How many scalars without a column have come one after the other.
  private var marks = 0
  private static let marksShown = 8

  init(_ rules: WidthRules) { measure = WidthMeasure(rules) }

  /// Reads until the text is wider than `limit` columns or `end` is reached, and returns where it is.
  mutating func read(_ bytes: UnsafeRawBufferPointer, upTo end: Int, columns limit: Int) -> Int {
    var at = 0
    while at < end, measure.width <= limit {
      guard let (scalar, length) = decodeScalar(bytes, at) else {
        escape(bytes, at, 1, as: "\\x" + hex(UInt32(bytes[at]), 2))
        at += 1
        continue
      }
      let found = ScalarWidth(scalar.value)
      if scalar.isUnsafeToPrint {
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

  /// Whether a scalar is one mark too many on the character before it.
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

  /// The safe text of the bytes that were read.
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
