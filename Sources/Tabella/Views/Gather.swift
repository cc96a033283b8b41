/// A plan that reads requested rows as runs, one after the other. The rows can be requested in any order.
struct RunPlan {
  /// Rows of one section that are read together.
  struct Run {
    var section: Int
    var rows: Range<Int>
    /// The indices in ``RunPlan/order`` of the requested rows in the run.
    var members: Range<Int>
  }

  /// The indices of the paths, in ascending order of the paths.
  private(set) var order: [Int]
  private(set) var runs: [Run] = []

  /// Makes a plan for these paths. Joins runs with at most `gap` other rows between them.
  /// - Complexity: O(n) if the paths are in ascending order, otherwise O(n log n).
  init(_ paths: [IndexPath], joiningOver gap: Int) {
    order = Array(paths.indices)
    let ascends = zip(paths, paths.dropFirst()).allSatisfy { $0 <= $1 }
    if !ascends { order.sort { paths[$0] < paths[$1] } }
    for (member, index) in order.enumerated() {
      let path = paths[index]
      // A caller can ask for a row that exists in no table, so this sum could overflow.
      let end = path.row.advancedUp(by: 1)
      if let last = runs.last, last.section == path.section,
        path.row <= last.rows.upperBound.advancedUp(by: gap)
      {
        runs[runs.count - 1].rows = last.rows.lowerBound..<max(last.rows.upperBound, end)
        runs[runs.count - 1].members = last.members.lowerBound..<member + 1
      } else {
        runs.append(
          Run(section: path.section, rows: path.row..<end, members: member..<member + 1))
      }
    }
  }

  /// The maximum gap between joined runs. Reading that many rows in vain costs less than another call.
  static let readableGap = 32

  /// The maximum gap between joined runs of rows whose answers are single bytes, such as whether a row can be edited. A
  /// call takes as long as some thousand answers.
  static let answerableGap = 4096
}

extension TableDataSource {
  /// Returns the rows at these paths in this order, or the first few of them. Views read their base with this
  /// method.
  ///
  /// One ascending run is a plain request, and its batch is returned unchanged. Otherwise the source gathers the
  /// rows if it has the ability. If not, the method requests a few runs of rows.
  package func gather(
    _ paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    guard let first = paths.first else {
      return .empty(columns.map { self.columns[$0].type }, ids: includesIDs)
    }
    let isRun = zip(paths, paths.dropFirst()).allSatisfy {
      $0.section == $1.section && $0.row.advancedUp(by: 1) == $1.row
    }
    if isRun {
      let batch = try rows(
        RowRequest(
          section: first.section, first: first.row, count: paths.count, columns: columns,
          includesIDs: includesIDs))
      guard batch.rowCount > 0 else {
        throw .noRow(first.row, inSection: first.section, of: first.row)
      }
      return batch
    }
    if let gathering {
      return try gathering.rows(at: paths, columns: columns, includesIDs: includesIDs)
    }
    return try gatherRuns(paths, columns: columns, includesIDs: includesIDs)
  }

  /// Gathers rows with ``rows(_:)`` only.
  private func gatherRuns(
    _ paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    var reader = RunReader(source: self, columns: columns, includesIDs: includesIDs)
    var paths = paths
    while true {
      if try reader.read(paths) { return Batch(picking: reader.picks, from: reader.parts) }
      // The rows are large. Try again with about as many rows as fit, so that few rows are read twice.
      let fitting = reader.rowsRead * RunReader.sizeLimit / 2 / max(reader.size, 1)
      paths = Array(paths.prefix(max(1, min(fitting, paths.count / 2))))
    }
  }
}

/// Reads runs of rows and records the position of each requested row.
private struct RunReader {
  /// The approximate maximum size of one answer in bytes.
  static let sizeLimit = 64 << 20

  let source: any TableDataSource
  let columns: [Int]
  let includesIDs: Bool
  /// The batches that were read.
  private(set) var parts: [Batch] = []
  /// For each path, the batch and the row in it.
  private(set) var picks: [RowSelection] = []
  private(set) var size = 0
  private(set) var rowsRead = 0

  init(source: any TableDataSource, columns: [Int], includesIDs: Bool) {
    self.source = source
    self.columns = columns
    self.includesIDs = includesIDs
  }

  /// Reads the rows at these paths. Returns whether they fit into the size limit.
  mutating func read(_ paths: [IndexPath]) throws(TableError) -> Bool {
    let plan = RunPlan(paths, joiningOver: RunPlan.readableGap)
    (parts, size, rowsRead) = ([], 0, 0)
    picks = Array(repeating: RowSelection(batch: 0, row: 0), count: paths.count)
    for run in plan.runs {
      var members = plan.order[run.members]
      while let member = members.first {
        guard size <= RunReader.sizeLimit || paths.count == 1 else { return false }
        let first = paths[member].row
        let batch = try source.rows(
          RowRequest(
            section: run.section, first: first, count: max(1, run.rows.upperBound - first),
            columns: columns, includesIDs: includesIDs))
        guard batch.rowCount > 0 else {
          throw .noRow(first, inSection: run.section, of: first)
        }
        while let next = members.first, paths[next].row < first + batch.rowCount {
          picks[next] = RowSelection(
            batch: Int32(truncatingIfNeeded: parts.count),
            row: Int32(truncatingIfNeeded: paths[next].row - first))
          members.removeFirst()
          rowsRead += 1
        }
        parts.append(batch)
        size += batch.byteCount
      }
    }
    return true
  }
}
