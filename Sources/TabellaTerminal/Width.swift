/// What a terminal is known or told to do with text.
public struct WidthRules: Hashable, Sendable {
  /// Whether characters of ambiguous width take two columns, as in terminals set up for East Asian
  /// fonts: `±`, `…`, box drawing, Greek and Cyrillic letters, private use.
  public var ambiguousIsWide: Bool

  public init(ambiguousIsWide: Bool = false) { self.ambiguousIsWide = ambiguousIsWide }

  /// The rules of the terminal that the process writes to.
  ///
  /// To be set once at the start, before any text is measured and while there is one thread: nothing
  /// guards it, because every cell reads it.
  nonisolated(unsafe) public static var current = WidthRules()

  /// The version of Unicode that widths are taken from.
  public static var unicodeVersion: String { WidthTable.version }
}

/// The number of columns that text takes in a terminal.
///
/// The sum of the widths of its scalars, but a picture made of several (a flag, a family, a skin tone)
/// takes two. docs/decisions/0010-widths.md says why.
public func displayWidth(of text: String, by rules: WidthRules = .current) -> Int {
  var measure = WidthMeasure(rules)
  measure.add(text)
  return measure.width
}

/// What the table says of one scalar.
struct ScalarWidth {
  private let bits: UInt8

  @inline(__always)
  init(_ scalar: UInt32) { bits = WidthTable[scalar] }

  /// In the order in which the generator numbers them.
  enum Kind: UInt8 {
    case plain
    case rightToLeft
    /// Goes on the scalar before it: a nonspacing or enclosing mark, a variation selector.
    case mark
    /// A picture that can be joined with others; it may be narrow text that U+FE0F makes a picture
    /// (varied), and may have a skin tone (modified).
    case picture, variedPicture, modifiedPicture, variedModifiedPicture
    /// Text, a part of a picture with U+FE0F only: the digits of keycaps.
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

/// Measures text, a scalar at a time.
///
/// What it takes for one picture never spans the graphemes of the standard library, so text that is
/// cut between two graphemes is as wide as its parts.
struct WidthMeasure {
  private(set) var width = 0
  /// Whether something in the text is laid out from right to left.
  private(set) var hasRightToLeft = false
  private let rules: WidthRules
  /// What the last scalars were, as far as the next one may change their width.
  private var picture = Picture()

  private struct Picture {
    /// How many columns of the width so far are its own.
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

  /// Adds a scalar, of which the table says `found`.
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
      // A second one joins nothing.
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

  /// Begins what may become a picture.
  private mutating func begin(_ columns: Int) {
    width += columns
    picture = Picture(columns: columns)
  }

  /// Makes the text so far one picture, which takes two columns.
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
