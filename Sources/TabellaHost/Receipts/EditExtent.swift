import Tabella

/// How much of a batch was done.
package enum EditExtent {
  /// Nothing was changed.
  case nothing
  /// All edits failed, but the result does not exclude that something was changed.
  case unclear
  /// Something was done, at least in part.
  case something
}

extension EditResult {
  /// How much was done, according to the result. Versions do not show it, because other programs change the table, too.
  package var extent: EditExtent {
    // There is a receipt only if something was done, even if all outcomes are failures.
    if receipt != nil { return .something }
    switch changes.changes {
    case []?: return .nothing
    case nil: return outcomes.contains { $0.code == nil } ? .something : .unclear
    case _?: return .something
    }
  }
}
