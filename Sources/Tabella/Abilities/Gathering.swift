/// Rows from anywhere in one call.
///
/// A sorted view of a far or large table needs rows from everywhere: this is one call a batch instead
/// of one a row. The corresponding C table is `tabella_gathering`.
public protocol TableGathering: AnyObject {
  /// Returns the rows at these paths, in this order: at least one unless there are no paths, and as
  /// many from the front as it likes (large rows); the caller goes on from there.
  ///
  /// A path may be named twice. Columns, ids and refusals are as in ``TableDataSource/rows(_:)``; for
  /// a path that is not there it throws ``TableError`` with `.notFound`.
  ///
  /// The paths are the source's: one that reads for long may give up their memory before (`consume`).
  func rows(
    at paths: consuming [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch
}

extension RowRequest {
  /// What gathered rows answer, as far as it can be checked in a batch: as many rows as there are
  /// paths at most, these columns, ids or not.
  public init(gathering paths: [IndexPath], columns: [Int], includesIDs: Bool) {
    self.init(
      section: paths.first?.section ?? 0, first: paths.first?.row ?? 0, count: paths.count,
      columns: columns, includesIDs: includesIDs)
  }
}

extension TableDataSource {
  /// Throws what ``TableGathering`` promises for a request that no section could answer: call it
  /// first.
  public func check(
    gathering paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) {
    if let path = paths.first(where: { $0.section < 0 || $0.row < 0 }) {
      throw TableError(.invalidArgument, "asked for section \(path.section), row \(path.row)")
    }
    // The places are checked, and no path is no mistake.
    try check(RowRequest(first: 0, count: 1, columns: columns, includesIDs: includesIDs))
  }
}
