/// The ability to reorder rows. The moves themselves are edits in a batch of ``TableEditing``.
///
/// The corresponding C table is `tabella_moving`.
public protocol TableMoving: AnyObject {
  /// Returns, for each row of a range, whether the row can be moved; UIKit's `canMoveRowAt`. By default, every row can.
  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool]

  /// Returns the path at which a moved row would arrive, counted after the move. The default is the proposed path.
  ///
  /// Throws ``TableError`` with `.constraint` and a reason to forbid the move. UIKit's
  /// `targetIndexPathForMoveFromRowAt`.
  func target(ofMoveFrom source: IndexPath, to proposed: IndexPath) throws(TableError) -> IndexPath
}

extension TableMoving {
  /// Returns the proposed path.
  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }
}

extension TableMoving where Self: TableDataSource {
  /// Returns that every row can be moved.
  public func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [Bool]
  {
    try check(rows: rows, inSection: section)
    return rows.map { _ in true }
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try check(asked: rows)
    return try call("moving.movable") { base throws(TableError) in
      try offered(base.moving).movability(ofRows: rows, inSection: section).answering(rows)
    }
  }

  package func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    for path in [source, proposed] { try path.checked(else: .invalidArgument) }
    return try call("moving.target") { base throws(TableError) in
      try offered(base.moving).target(ofMoveFrom: source, to: proposed).checked()
    }
  }
}
