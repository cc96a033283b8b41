/// The ability to return rows from any positions in one call.
///
/// A sorted view of a remote or large table needs rows from everywhere. With this ability it makes one call per
/// batch instead of one call per row. The corresponding C table is `tabella_gathering`.
public protocol TableGathering: AnyObject {
  /// Returns the rows at these paths, in this order.
  ///
  /// The source returns at least one row unless `paths` is empty. It may return only the first few, for example if
  /// rows are large; the caller then asks for the rest. A path can appear twice. Columns, ids and errors are as in
  /// ``TableDataSource/rows(_:)``. Throws ``TableError`` with `.notFound` for a path that does not exist.
  ///
  /// The source owns `paths` and can free their memory early (`consume`), before a long read.
  func rows(
    at paths: consuming [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch
}

extension RowRequest {
  /// The request that a gathered batch answers, for checks of the batch.
  ///
  /// The batch has at most as many rows as there are paths, these columns, and ids if `includesIDs`.
  public init(gathering paths: [IndexPath], columns: [Int], includesIDs: Bool) {
    self.init(
      section: paths.first?.section ?? 0, first: paths.first?.row ?? 0, count: paths.count,
      columns: columns, includesIDs: includesIDs)
  }
}

extension TableDataSource {
  /// Throws the errors that ``TableGathering`` promises for a request that is invalid in every section.
  /// Implementations call this method first.
  public func check(
    gathering paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) {
    if let path = paths.first(where: { $0.section < 0 || $0.row < 0 }) {
      throw TableError(
        .invalidArgument, "section \(path.section), row \(path.row) cannot be requested")
    }
    // The paths are checked above. An empty list of paths is not an error.
    try check(RowRequest(first: 0, count: 1, columns: columns, includesIDs: includesIDs))
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let request = RowRequest(gathering: paths, columns: columns, includesIDs: includesIDs)
    return try call("gathering.rows") { base throws(TableError) in
      let batch = try offered(base.gathering).rows(
        at: paths, columns: columns, includesIDs: includesIDs)
      try batch.validate(answering: request, of: self.columns)
      guard batch.rowCount > 0 || request.count == 0 else {
        throw TableError(.misbehaved, "returned none of \(request.count) rows")
      }
      return batch
    }
  }
}
