/// The ability to report diagnostics of the data: warnings and notes that are not failures.
///
/// The corresponding C table is `tabella_diagnostics`.
public protocol TableDiagnostics: AnyObject {
  /// Removes and returns the oldest diagnostic; nil if there is none.
  func nextDiagnostic() -> Diagnostic?
}

/// A warning or a note about the data, such as "row 12: a quote is never closed".
public struct Diagnostic: Hashable, Sendable {
  /// The severity of a diagnostic.
  public enum Severity: Int32, Hashable, Sendable {
    case note = 1
    case warning = 2
  }

  /// The severity.
  public var severity: Severity
  /// The text, one line.
  public var message: String

  /// Creates a diagnostic.
  public init(_ severity: Severity, _ message: String) {
    self.severity = severity
    self.message = message
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func nextDiagnostic() -> Diagnostic? { base.diagnostics?.nextDiagnostic() }
}
