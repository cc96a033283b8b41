import TabellaThreads

/// How reading in shares ended.
package enum SharedReading {
  /// Nothing was read, because the rest of the section is short or the source cannot be shared.
  case unshared
  /// All rows were read.
  case complete
  /// `merge` did not need more rows.
  case stopped
  /// A share failed, or the rest of the section is too short for shares. The rows in front of it were read.
  case broken
}

/// The sizes of shares in bytes.
package enum ShareSize {
  /// For results that are much smaller than the rows.
  package static let results = 4 << 20
  /// For results that are as large as the rows, because several shares are in memory at the same time. With smaller shares,
  /// the cost of a share itself would count: about 0.1 ms.
  package static let rows = 256 << 10
}

extension TableDataSource {
  /// Reads the rows of a section from `first` on with all processors, each a share after the other. `first` is a row that
  /// the caller has reached by reading.
  ///
  /// `read` reads a share to its end, on any thread, and several threads at the same time. `merge` receives the results, on
  /// the calling thread and in the order of the rows. It returns whether it needs more. A share whose rows the source would
  /// not return in the same way fails; the caller then reads on from the source itself, which says why.
  ///
  /// At most `ahead` results exist at the same time. More of them let threads wait less for a share that takes longer.
  ///
  /// If `always` is true, one thread reads in shares, too, so that the division does not depend on the number of threads.
  /// If `keepsStarted` is true, `merge` also receives the results of the shares that are being read when it needs no more.
  /// Throws what `merge` throws.
  package func readShares<Result>(
    ofSection section: Int, from first: Int, size: Int, always: Bool = false,
    keepsStarted: Bool = false, ahead: Int = Cores.count + 1,
    _ read: (any TableDataSource) throws(TableError) -> Result,
    _ merge: (Result) throws(TableError) -> Bool
  ) throws(TableError) -> SharedReading {
    guard always || Cores.count > 1, let sharing else { return .unshared }
    var (first, end) = (first, SharedReading.unshared)
    while let shares = try sharing.shares(ofSection: section, from: first, size: size) {
      end = try shares.read(keepsStarted: keepsStarted, ahead: ahead, read, merge)
      guard end == .complete, let count = shares.rowCount else { return end }
      first += count
      end = .broken
    }
    return end
  }

  /// Calls `body` with the batches of some rows of a section, in order, or of as many of them as there are. Returns their
  /// number.
  func forEachBatch(
    ofSection section: Int, _ rows: Range<Int> = 0..<Int.max, columns: [Int],
    _ body: (Batch) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    var next = rows.lowerBound
    while next < rows.upperBound {
      let count = min(rows.upperBound - next, MappedSource.batchSize)
      let batch = try self.rows(
        RowRequest(section: section, first: next, count: count, columns: columns))
      if batch.rowCount == 0 { break }
      try body(batch)
      next += batch.rowCount
    }
    return next - rows.lowerBound
  }

  /// Calls `body` with the batches of a share, from the first row to the last.
  ///
  /// The end is the one that the share counts. To read on until a batch is empty would cost as much as a small share.
  package func forEachBatch(
    ofShare columns: [Int], _ body: (Batch, _ first: Int) throws(TableError) -> Void
  ) throws(TableError) {
    var first = 0
    repeat {
      let batch = try rows(
        RowRequest(first: first, count: MappedSource.batchSize, columns: columns))
      if batch.rowCount == 0 { return }
      try body(batch, first)
      first += batch.rowCount
    } while try numberOfRows(inSection: 0, knowing: first + 1) != .exact(first)
  }
}

extension RowShares {
  /// Reads the shares as ``TableDataSource/readShares(ofSection:from:size:always:keepsStarted:ahead:_:_:)`` says.
  fileprivate func read<Result>(
    keepsStarted: Bool, ahead: Int,
    _ read: (any TableDataSource) throws(TableError) -> Result,
    _ merge: (Result) throws(TableError) -> Bool
  ) throws(TableError) -> SharedReading {
    var end = SharedReading.complete
    var failure: TableError?
    produceInOrder(count, threads: Cores.count, ahead: ahead) { number in
      Swift.Result { () throws(TableError) in
        let share = try self.share(number)
        return (share, try read(share))
      }
    } consume: { _, produced in
      let result: Result
      do throws(TableError) {
        let share: any TableDataSource
        (share, result) = try produced.get()
        try take(share)
      } catch {
        end = .broken
        return .none
      }
      do throws(TableError) {
        if try merge(result) { return .all }
        end = .stopped
        return keepsStarted ? .started : .none
      } catch {
        failure = error
        return .none
      }
    }
    if let failure { throw failure }
    return end
  }
}

/// Something that is computed from the rows of a section, in their order.
protocol RowCollector {
  /// Whether ``merge(_:)`` gives the same result as adding all rows to one value.
  var canMerge: Bool { get }
  /// The same computation without rows.
  var emptied: Self { get }
  /// Adds the rows of a batch.
  mutating func append(_ batch: Batch) throws(TableError)
  /// Adds the rows of another value, which follow.
  mutating func merge(_ next: Self)
}

extension RowCollector {
  var canMerge: Bool { true }
}

/// Reads a section to its end, and adds its rows to a collector. Threads share long sections.
///
/// Returns the number of rows. `onProgress` receives this number now and then. It must not use the source, from which a
/// thread may read meanwhile.
func collect<Collector: RowCollector>(
  _ source: any TableDataSource, section: Int, columns: [Int], into collector: inout Collector,
  _ flag: CancelFlag, _ onProgress: (Int) throws(TableError) -> Void
) throws(TableError) -> Int {
  var count = 0
  // The first rows are read without shares, since most tables are short.
  var alone = collector.canMerge ? 2 : Int.max
  while true {
    var left = alone
    var isEnd = false
    var requested = count
    try readAhead { () throws(TableError) -> Batch? in
      if left == 0 { return nil }
      left -= 1
      let batch = try source.rows(
        RowRequest(
          section: section, first: requested, count: MappedSource.batchSize, columns: columns))
      try flag.check()
      requested += batch.rowCount
      isEnd = batch.rowCount == 0
      return isEnd ? nil : batch
    } _: { batch throws(TableError) in
      try batch.withUnownedColumns { batch throws(TableError) in try collector.append(batch) }
      count += batch.rowCount
      try onProgress(count)
    }
    if isEnd { return count }
    let empty = collector.emptied
    let end = try source.readShares(
      ofSection: section, from: count, size: ShareSize.results
    ) { share throws(TableError) in
      var (part, rows) = (empty, 0)
      try share.forEachBatch(ofShare: columns) { batch, _ throws(TableError) in
        try flag.check()
        try batch.withUnownedColumns { batch throws(TableError) in try part.append(batch) }
        rows += batch.rowCount
      }
      return (part, rows)
    } _: { (result: (Collector, Int)) throws(TableError) in
      collector.merge(result.0)
      count += result.1
      try onProgress(count)
      return true
    }
    switch end {
    case .complete: return count
    case .unshared: alone = .max
    case .stopped, .broken: alone *= 8
    }
  }
}
