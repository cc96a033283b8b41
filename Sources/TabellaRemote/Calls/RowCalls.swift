import Tabella

// Rows, ids and versions.

extension Calls {
  static let version = Call<Version?>(
    .version, answered: { $0?.token ?? "none" },
    make: { source throws(TableError) in try source.version() })

  static let numberOfRows = Call<Count, Int, Int>(
    .numberOfRows, asked: { "\($0) \($1.tracedMinimum)" },
    make: { source, section, minimum throws(TableError) in
      try source.numberOfRows(inSection: section, knowing: minimum)
    })

  static let rows = Call<Batch, RowRequest>(
    .rows, as: .batch, asked: { $0.traced }, answered: \.traced,
    make: { source, request throws(TableError) in try source.rows(request) })

  static let indexPathForID = Call<IndexPath, String>(
    .indexPathForID, asked: { $0.tracedID },
    make: { source, id throws(TableError) in try ability(source.identity).indexPath(forID: id) })

  static let gather = Call<Batch, [IndexPath], [Int], Bool>(
    .gather, as: .batch,
    asked: { paths, columns, includesIDs in
      "\(paths.shortened { "\($0)" }), \(columns.tracedColumns)"
        + (includesIDs ? ", with ids" : "")
    }, answered: \.traced,
    make: { source, paths, columns, includesIDs throws(TableError) in
      try ability(source.gathering).rows(at: paths, columns: columns, includesIDs: includesIDs)
    })
}

extension ForwardingSource {
  package func version() throws(TableError) -> Version? { try call(Calls.version) }

  package func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count { try call(Calls.numberOfRows, section, minimum) }

  package func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try call(Calls.rows, request)
  }

  package func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try call(Calls.indexPathForID, id)
  }

  package func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch { try call(Calls.gather, paths, columns, includesIDs) }
}
