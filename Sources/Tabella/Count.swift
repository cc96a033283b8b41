/// A number of elements, exact or at least.
///
/// Within a version of a source an at-least count never falls and an exact count never changes. The corresponding C
/// type is `tabella_count`.
public enum Count: Hashable, Sendable {
  /// Exactly this many.
  case exact(Int)
  /// This many or more.
  case atLeast(Int)

  /// The number known.
  public var value: Int {
    switch self {
    case .exact(let value), .atLeast(let value): value
    }
  }

  /// Whether the number is exact.
  public var isExact: Bool {
    if case .exact = self { true } else { false }
  }
}

extension Count: CustomStringConvertible {
  public var description: String { isExact ? "\(value)" : "at least \(value)" }
}
