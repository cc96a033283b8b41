/// The properties of the terminal that determine the width of text.
package struct WidthRules: Hashable, Sendable {
  /// Whether characters of ambiguous width take two columns, as in terminals with East Asian fonts.
  ///
  /// Examples are `±`, `…`, box drawing, Greek and Cyrillic letters, and private use characters.
  package var ambiguousIsWide: Bool

  /// Creates rules.
  package init(ambiguousIsWide: Bool = false) { self.ambiguousIsWide = ambiguousIsWide }

  /// The rules of the terminal that the process writes to.
  ///
  /// Set them once at the start, before any text is measured and before other threads run. No lock protects them,
  /// because every cell reads them.
  nonisolated(unsafe) package static var current = WidthRules()

  /// The version of Unicode of the width table.
  package static var unicodeVersion: String { WidthTable.version }
}

/// The number of terminal columns that text takes.
///
/// It is the sum of the widths of its scalars, except that a picture of several scalars (a flag, a family, a skin
/// tone) takes two columns. docs/decisions/0010-widths.md gives the reasons.
package func displayWidth(of text: String, by rules: WidthRules = .current) -> Int {
  var text = text
  if let width = text.withUTF8({ SafeText.isPlain(UnsafeRawBufferPointer($0)) ? $0.count : nil }) {
    return width
  }
  var measure = WidthMeasure(rules)
  measure.add(text)
  return measure.width
}

/// The entry of a scalar in the width table.
struct ScalarWidth {
  private let bits: UInt8

  @inline(__always)
  init(_ scalar: UInt32) { bits = WidthTable[scalar] }

  /// The kinds in the order of the generator's numbers.
  enum Kind: UInt8 {
    case plain
    case rightToLeft
    /// A nonspacing or enclosing mark or a variation selector, which combines with the scalar in front of it.
    case mark
    /// A picture that can be joined with others. A varied picture is narrow text that U+FE0F turns into a picture.
    /// A modified picture can have a skin tone.
    case picture, variedPicture, modifiedPicture, variedModifiedPicture
    /// Text that is part of a picture only with U+FE0F: the digits of keycaps.
    case variedPlain
  }

  @inline(__always)
  var kind: Kind { Kind(rawValue: bits >> 2) ?? .plain }

  @inline(__always)
  var hasColumns: Bool { bits & 3 > 0 }

  @inline(__always)
  func columns(_ rules: WidthRules) -> Int {
    let columns = Int(bits & 3)
    return columns < 3 ? columns : rules.ambiguousIsWide ? 2 : 1
  }
}

/// Measures text, one scalar at a time.
///
/// A picture never spans several graphemes of the standard library. The width of a text is therefore the sum of the
/// widths of its graphemes.
struct WidthMeasure {
  private(set) var width = 0
  /// Whether a terminal displays some of the text from right to left.
  private(set) var hasRightToLeft = false
  private let rules: WidthRules
  /// The state of the last scalars, as far as the next one can change their width.
  private var picture = Picture()

  private struct Picture {
    /// The number of columns that belong to the picture.
    var columns = 0
    var canVary = false
    var canBeModified = false
    var canJoin = false
    var isJoined = false
  }

  init(_ rules: WidthRules) { self.rules = rules }

  mutating func add(_ text: some StringProtocol) {
    for scalar in text.unicodeScalars { add(scalar.value, ScalarWidth(scalar.value)) }
  }

  /// Adds a scalar. `found` is its entry in the table.
  @inline(__always)
  mutating func add(_ scalar: UInt32, _ found: ScalarWidth) {
    let columns = found.columns(rules)
    switch found.kind {
    case .plain where columns > 0 && scalar & ~7 != 0x1F3F8, .rightToLeft:
      if found.kind == .rightToLeft { hasRightToLeft = true }
      width += columns
      if picture.columns > 0 { picture = Picture() }
    default: addSpecial(scalar, found.kind, columns)
    }
  }

  private mutating func addSpecial(_ scalar: UInt32, _ kind: ScalarWidth.Kind, _ columns: Int) {
    switch (scalar, kind) {
    case (0xFE0F, _):
      if picture.canVary { widen() }
      picture.canVary = false
      picture.isJoined = false
    case (0x1F3FB...0x1F3FF, _) where picture.canBeModified:
      widen()
      picture.canVary = false
      picture.canBeModified = false
    case (0x200D, _):
      // A second joiner joins nothing.
      picture = Picture(columns: picture.columns, isJoined: picture.canJoin)
    case (_, .mark):
      picture = Picture(columns: picture.columns, canJoin: picture.canJoin)
    default:
      if picture.isJoined, kind.isPicture { widen() } else { begin(columns) }
      picture.isJoined = false
      picture.canJoin = kind.isPicture
      picture.canVary = kind.isVaried
      picture.canBeModified = kind == .modifiedPicture || kind == .variedModifiedPicture
    }
  }

  /// Begins a possible picture.
  private mutating func begin(_ columns: Int) {
    width += columns
    picture = Picture(columns: columns)
  }

  /// Turns the current scalars into one picture, which takes two columns.
  private mutating func widen() {
    width += max(0, 2 - picture.columns)
    picture.columns = max(2, picture.columns)
  }
}

extension ScalarWidth.Kind {
  fileprivate var isPicture: Bool {
    switch self {
    case .picture, .variedPicture, .modifiedPicture, .variedModifiedPicture: true
    default: false
    }
  }

  fileprivate var isVaried: Bool {
    switch self {
    case .variedPicture, .variedModifiedPicture, .variedPlain: true
    default: false
    }
  }
}
