import Tabella

/// A queue of diagnostics that keeps only the first of each kind, for sources that conform to ``TableDiagnostics``.
public struct DiagnosticQueue {
  private var pending: [Diagnostic] = []
  private var kinds: Set<String> = []

  /// Creates an empty queue.
  public init() {}

  /// Adds a warning, unless the queue has received one of this kind before.
  public mutating func add(_ kind: String, _ message: @autoclosure () -> String) {
    if kinds.insert(kind).inserted { pending.append(Diagnostic(.warning, message())) }
  }

  /// Whether the queue has received a diagnostic of this kind.
  public func has(_ kind: String) -> Bool { kinds.contains(kind) }

  /// Removes and returns the oldest diagnostic; nil if there is none.
  public mutating func next() -> Diagnostic? { pending.isEmpty ? nil : pending.removeFirst() }
}
