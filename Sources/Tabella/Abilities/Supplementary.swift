/// Elements beside the cells: a header, a footer, a preview, a badge, or any other kind.
///
/// UIKit's `viewForSupplementaryElement(ofKind:at:)`. The corresponding C table is
/// `tabella_supplementary`.
public protocol TableSupplementary: AnyObject {
  /// The kinds that this source may have.
  func supplementaryKinds() throws(TableError) -> [String]

  /// Returns the element of a kind at a path; nil if there is none, also for an unknown kind.
  ///
  /// Throws ``TableError`` with `.notFound` for a path that is not there (nil does as well), with
  /// `.conflict` if what the row stands for has changed or is gone.
  func supplementaryElement(ofKind kind: String, at path: IndexPath) throws(TableError)
    -> SupplementaryElement?
}

/// Styled text or a small table.
public enum SupplementaryElement {
  case text(StyledText)
  case table(any TableDataSource)
}

/// Text with runs that have a style.
public struct StyledText: Hashable, Sendable {
  /// How a run is meant; open, unknown ones are plain.
  public struct Style: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let emphasis = Style(rawValue: 1)
    public static let strong = Style(rawValue: 2)
    public static let dim = Style(rawValue: 3)
    public static let code = Style(rawValue: 4)
    public static let warning = Style(rawValue: 5)
    public static let error = Style(rawValue: 6)
  }

  /// A run of bytes of the text.
  public struct Span: Hashable, Sendable {
    public var bytes: Range<Int>
    public var style: Style

    public init(_ bytes: Range<Int>, _ style: Style) {
      self.bytes = bytes
      self.style = style
    }
  }

  /// UTF-8 unless the data holds something else.
  public var bytes: [UInt8]
  /// In order, not overlapping, within the text.
  public var spans: [Span]

  public init(_ bytes: [UInt8], spans: [Span] = []) {
    self.bytes = bytes
    self.spans = spans
  }

  public init(_ text: String, spans: [Span] = []) {
    self.init(Array(text.utf8), spans: spans)
  }
}
