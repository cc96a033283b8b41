import Tabella

/// Remarks on a table, the first of each kind: what a source needs for its ``TableDiagnostics``.
public struct Remarks {
  private var pending: [Diagnostic] = []
  private var kinds: Set<String> = []

  public init() {}

  /// Adds a warning, unless there was one of this kind.
  public mutating func add(_ kind: String, _ message: @autoclosure () -> String) {
    if kinds.insert(kind).inserted { pending.append(Diagnostic(.warning, message())) }
  }

  /// Whether there was a remark of a kind.
  public func has(_ kind: String) -> Bool { kinds.contains(kind) }

  /// Takes the oldest.
  public mutating func next() -> Diagnostic? { pending.isEmpty ? nil : pending.removeFirst() }
}
