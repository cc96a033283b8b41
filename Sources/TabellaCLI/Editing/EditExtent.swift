import Tabella

/// How much of a batch was done.
enum EditExtent {
  /// Nothing is other than before.
  case nothing
  /// All edits failed; what the source says does not exclude that something was done.
  case unclear
  /// Something was done, at least in part.
  case something
}

extension EditResult {
  /// How much was done, as far as the result tells. Versions say nothing of it: others change the table too.
  var extent: EditExtent {
    // Given only for what was done, and one that failed may have failed then.
    if receipt != nil { return .something }
    switch changes.changes {
    case []?: return .nothing
    case nil: return outcomes.contains { $0.code == nil } ? .something : .unclear
    case _?: return .something
    }
  }
}
