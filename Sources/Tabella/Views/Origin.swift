/// The row of a table that a row of a view shows.
public struct RowOrigin {
  /// The table: a source that is no view.
  public let source: any TableDataSource
  /// The path of the row in the table.
  public let path: IndexPath
}

extension TableDataSource {
  /// Returns the row that this source, or the source below all its views, shows at a path.
  ///
  /// Throws ``TableError`` with `.notFound` if a view has no such row. A source that is no view does not check the path.
  /// - Complexity: O(1) per view, once the view has mapped the row.
  public func origin(of path: IndexPath) throws(TableError) -> RowOrigin {
    switch self {
    case let view as MappedSource: return try view.base.origin(of: view.originalPath(of: path))
    case let joined as JoinedSource:
      let partPath = try joined.partPath(of: path)
      return try joined.source(partPath).origin(of: partPath.path)
    default: return RowOrigin(source: self, path: path)
    }
  }
}

extension MappedSource {
  /// The base path of a row, as a public call.
  func originalPath(of path: IndexPath) throws(TableError) -> IndexPath {
    try begin()
    return try basePath(of: path)
  }
}
