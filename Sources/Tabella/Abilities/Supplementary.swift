/// The ability to have elements beside the cells: a header, a footer, a preview, a badge, or any other kind.
///
/// UIKit's `viewForSupplementaryElement(ofKind:at:)`. The corresponding C table is `tabella_supplementary`.
public protocol TableSupplementary: AnyObject {
  /// The kinds of elements that this source can have.
  func supplementaryKinds() throws(TableError) -> [String]

  /// Returns the element of a kind at a path. Returns nil if there is none, and for an unknown kind.
  ///
  /// For a path that does not exist, a source throws ``TableError`` with `.notFound` or returns nil. Throws
  /// `.conflict` if the object that the row shows has changed or is gone.
  func supplementaryElement(ofKind kind: String, at path: IndexPath) throws(TableError)
    -> SupplementaryElement?
}

/// Kinds of elements with a meaning that programs rely on.
public enum SupplementaryKind {
  /// The line of the file in which a row begins, in decimal digits, counted from 1. Lines ascend with the rows of a section.
  public static let line = "line"
  /// The offset in the file of the first byte of a row, in decimal digits.
  ///
  /// A provider whose rows have this element also has the option `bytes`, which shows the rows between two such offsets.
  public static let offset = "offset"
}

/// An element: styled text or a small table.
public enum SupplementaryElement {
  case text(StyledText)
  case table(any TableDataSource)
}

/// Text with styled runs.
public struct StyledText: Hashable, Sendable {
  /// The meaning of a run. Unknown styles are shown as plain text.
  public struct Style: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Emphasised text, often shown in italics.
    public static let emphasis = Style(rawValue: 1)
    /// Strong text, often shown in bold.
    public static let strong = Style(rawValue: 2)
    /// Text of less importance.
    public static let dim = Style(rawValue: 3)
    /// Code.
    public static let code = Style(rawValue: 4)
    /// A warning.
    public static let warning = Style(rawValue: 5)
    /// An error.
    public static let error = Style(rawValue: 6)
  }

  /// A run of bytes with one style.
  public struct Span: Hashable, Sendable {
    /// The bytes of the run, as offsets in the text.
    public var bytes: Range<Int>
    /// The style of the run.
    public var style: Style

    /// Creates a run.
    public init(_ bytes: Range<Int>, _ style: Style) {
      self.bytes = bytes
      self.style = style
    }
  }

  /// The text. It is UTF-8 unless the data holds other bytes.
  public var bytes: [UInt8]
  /// The runs, in ascending order, without overlaps, inside the text.
  public var spans: [Span]

  /// Creates a text of bytes.
  public init(_ bytes: [UInt8], spans: [Span] = []) {
    self.bytes = bytes
    self.spans = spans
  }

  /// Creates a text of a string. The spans count UTF-8 bytes.
  public init(_ text: String, spans: [Span] = []) {
    self.init(Array(text.utf8), spans: spans)
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func supplementaryKinds() throws(TableError) -> [String] {
    try call("supplementary.kinds") { base throws(TableError) in
      try offered(base.supplementary).supplementaryKinds()
    }
  }

  package func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    try call("supplementary.element") { base throws(TableError) in
      switch try offered(base.supplementary).supplementaryElement(ofKind: kind, at: path) {
      case nil: return nil
      case .text(let text)?: return .text(try text.checked())
      case .table(let table)?: return .table(try CheckedSource(table, provider: provider))
      }
    }
  }
}

extension StyledText {
  /// Returns the text. Throws ``TableError`` with `.misbehaved` if a span overlaps another one or leaves the text.
  fileprivate func checked() throws(TableError) -> StyledText {
    var end = 0
    for span in spans {
      guard span.bytes.lowerBound >= end, span.bytes.upperBound <= bytes.count else {
        throw TableError(
          .misbehaved,
          "a span of \(span.bytes.count) bytes at \(span.bytes.lowerBound) does not fit the text")
      }
      end = span.bytes.upperBound
    }
    return self
  }
}
