import Tabella

/// A queue of diagnostics that keeps the first of each kind, for a source that conforms to ``TableDiagnostics``.
public struct DiagnosticQueue {
  private var pending: [Diagnostic] = []
  private var kinds: Set<String> = []

  public init() {}

  /// Adds a warning, unless there was one of this kind.
  public mutating func add(_ kind: String, _ message: @autoclosure () -> String) {
    if kinds.insert(kind).inserted { pending.append(Diagnostic(.warning, message())) }
  }

  /// Whether a diagnostic of this kind was added.
  public func has(_ kind: String) -> Bool { kinds.contains(kind) }

  /// Removes and returns the oldest diagnostic; nil if there is none.
  public mutating func next() -> Diagnostic? { pending.isEmpty ? nil : pending.removeFirst() }
}
