/// Diagnostics of the data: warnings and notes that are not failures. The corresponding C table is `tabella_diagnostics`.
public protocol TableDiagnostics: AnyObject {
  /// Takes the oldest remark that was not taken yet; nil if there is none.
  func nextDiagnostic() -> Diagnostic?
}

/// A remark: "row 12: a quote is never closed".
public struct Diagnostic: Hashable, Sendable {
  public enum Severity: Int32, Hashable, Sendable {
    case note = 1
    case warning = 2
  }

  public var severity: Severity
  /// One line.
  public var message: String

  public init(_ severity: Severity, _ message: String) {
    self.severity = severity
    self.message = message
  }
}
