import Tabella
import TabellaThreads

/// Gathered records, divided into shares for threads.
///
/// Several threads may call ``forEachPage(of:in:_:)``. Everything else belongs to the owner of the reader.
package final class GatheredShares {
  /// The approximate size of a page in bytes, unless a record is larger. A page should stay in the cache of a core.
  private static let pageSize = 64 << 10

  private let reader: RecordReader
  private let gathered: GatheredRecords
  private let records: Range<Int>
  private let perShare: Int
  /// The number of shares that were taken.
  private var taken = 0
  /// The buffers of shares that no thread reads now.
  private let spares = Pool<RecordReader.Buffers>(limit: Cores.count) {
    $0.text.deallocate()
    $0.separatorOffsets.deallocate()
  }

  init(
    _ reader: RecordReader, _ gathered: GatheredRecords, _ records: Range<Int>, perShare: Int
  ) {
    (self.reader, self.gathered, self.records) = (reader, gathered, records)
    self.perShare = perShare
  }

  /// The number of shares.
  var count: Int { (records.count + perShare - 1) / perShare }

  var recordCount: Int { records.count }

  /// The numbers of the records of a share.
  func numbers(of share: Int) -> ArraySlice<Int> {
    let first = records.lowerBound + share * perShare
    return gathered.numbers[first..<min(first + perShare, records.upperBound)]
  }

  /// Calls `body` with pages of some records of a share. Their numbers count from 0.
  func forEachPage(
    of share: Int, in rows: Range<Int>, _ body: (RecordPage, Range<Int>) -> Void
  ) throws(TableError) {
    let most = GatheredShares.pageSize + reader.sizes.page
    let (text, separatorOffsets) =
      spares.take()
      ?? (
        .allocate(byteCount: most + RecordPage.slack, alignment: 64),
        SeparatorOffsets(room: most + 512)
      )
    defer { spares.add((text, separatorOffsets)) }
    let first = numbers(of: share).startIndex
    var next = first + rows.lowerBound
    while next < first + rows.upperBound {
      let start = next
      var filled = 0
      while next < first + rows.upperBound, filled < GatheredShares.pageSize {
        filled += gathered.write(next, to: text.baseAddress! + filled)
        next += 1
      }
      try gathered.withPage(
        of: start..<next, text.baseAddress!, filled, reader.rules, separatorOffsets, body)
    }
  }

  /// Notes that the records of a share were provided. Shares are taken one after the other.
  func take(_ share: Int) throws(TableError) {
    guard share == taken else { throw .wrongShare }
    taken += 1
    reader.noteGiven(gathered, upTo: numbers(of: share).endIndex)
  }
}

extension RecordReader {
  /// Gathers as many of these records as fit into memory, and divides them into shares of about `size` bytes.
  ///
  /// Returns nil if there is only one share, or if the text is a stream. The shares end in front of a record that needs a
  /// page of its own. The caller has read to the last of these records.
  package func shares(
    gathering numbers: UnsafeBufferPointer<UInt32>, size: Int
  ) throws(TableError) -> GatheredShares? {
    let perShare = max(1, size / index.averageSize)
    guard source.size != nil, numbers.count > perShare else { return nil }
    let (gathered, count) = try gathered(
      numbers.prefix(mostGathered).map(Int.init), withOffsets: false)
    self.gathered = gathered
    let all = gathered.given..<gathered.given + count
    let records = all.prefix { !staysAlone(gathered, $0) }
    guard records.count > perShare else { return nil }
    return GatheredShares(self, gathered, records, perShare: perShare)
  }
}

/// Gathered rows of a stored text, divided into shares for threads.
package final class SharedGathering<Cells: RecordCells>: RowShares {
  private let shares: GatheredShares
  private let cells: () -> Cells
  private let taken: (Cells) throws(TableError) -> Void

  /// `cells` makes the rows of a share, on any thread. Its reader is not used. `taken` is called for each share.
  package init(
    _ shares: GatheredShares, cells: @escaping () -> Cells,
    taken: @escaping (Cells) throws(TableError) -> Void
  ) {
    (self.shares, self.cells, self.taken) = (shares, cells, taken)
  }

  package var count: Int { shares.count }
  package var rowCount: Int? { shares.recordCount }

  package func share(_ number: Int) throws(TableError) -> any TableDataSource {
    GatheredShare(shares, number, cells())
  }

  package func take(_ share: any TableDataSource) throws(TableError) {
    guard let share = share as? GatheredShare<Cells> else { throw .wrongShare }
    try taken(share.cells)
    try shares.take(share.number)
  }
}

/// Some gathered rows of a stored text, for one thread.
private final class GatheredShare<Cells: RecordCells>: TableDataSource {
  let number: Int
  let cells: Cells
  private let shares: GatheredShares
  private let numbers: ArraySlice<Int>
  var columns: [Column] { cells.columns }

  init(_ shares: GatheredShares, _ number: Int, _ cells: Cells) {
    (self.shares, self.number, self.cells) = (shares, number, cells)
    numbers = shares.numbers(of: number)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(numbers.count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    guard request.first <= numbers.count else {
      throw .noRow(request.first, inSection: 0, of: numbers.count)
    }
    guard !request.includesIDs else {
      throw TableError(.notSupported, "gathered rows have no ids")
    }
    let builder = BatchBuilder(for: request, of: columns)
    let rows =
      request.first..<min(request.first.advancedUp(by: request.count), numbers.count)
    try shares.forEachPage(of: number, in: rows) { page, records in
      cells.append(page, records, to: builder, request.columns)
    }
    return try cells.checked(builder.finish(rowCount: rows.count), request.columns) {
      numbers[numbers.startIndex + rows.lowerBound + $0]
    }
  }
}
