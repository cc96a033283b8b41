/// Reordering rows. The moves themselves are edits in a batch of ``TableEditing``.
///
/// The corresponding C table is `tabella_moving`.
public protocol TableMoving: AnyObject {
  /// Returns, for each row of a range at once, whether it may be moved; UIKit's `canMoveRowAt`.
  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool]

  /// Returns where a row would really end up, counted after the move; throws `.constraint` with a
  /// reason to forbid it. UIKit's `targetIndexPathForMoveFromRowAt`. The default is as proposed.
  func target(ofMoveFrom source: IndexPath, to proposed: IndexPath) throws(TableError) -> IndexPath
}

extension TableMoving {
  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }
}
