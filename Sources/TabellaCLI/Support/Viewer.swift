import Tabella
import TabellaTerminal
import TabellaThreads

/// Shows rows of a table in a format. It requests the data that the format needs from the source, in the order
/// of UIKit.
struct Viewer {
  private let shown: ShownTable
  private let range: Range<Int>
  private let output: Output
  /// The numbers of rows and sections that were shown.
  private(set) var (rowCount, sectionCount) = (0, 0)

  init(_ shown: ShownTable, _ range: Range<Int>, _ output: Output) {
    self.shown = shown
    self.range = range
    self.output = output
  }

  /// The time without new bytes after which a stream pauses, in milliseconds.
  private static let quietTime: Int32 = 50

  private var source: any TableDataSource { shown.table.source }

  /// Writes the rows. If they end early, returns the failure. Throws only errors of the output
  /// itself.
  mutating func show(in format: inout any Format) throws(Failure) -> Failure? {
    let table = shown.table
    do {
      var facts = try RowFacts(of: shown, for: format, output.screen)
      var reader = TableReader(
        source: source, columns: facts.columns, includesIDs: facts.includesIDs,
        section: table.section, start: table.start, perSection: table.perSection,
        grows: format.needs.contains(.growingBatches))
      var current = ShownSection(number: 0, count: .atLeast(0))
      let hidesEmpty = shown.hidesEmptySections && !format.needs.contains(.emptySections)
      var (rowCount, sectionCount) = (0, 0)
      defer { (self.rowCount, self.sectionCount) = (rowCount, sectionCount) }
      // A section that may be empty begins with its first row.
      var hasBegun = false
      // The number of sections before this one, and its first shown row: positions count from there.
      var (place, start) = (-1, nil as Int?)
      try reader.walk(
        range,
        section: { number, count in
          (place, start) = (shown.isFollowed ? number : place + 1, shown.isFollowed ? 0 : nil)
          current = try facts.section(number, shown.isFollowed ? .atLeast(0) : count)
          hasBegun = !hidesEmpty
          if hasBegun {
            try format.beginSection(current)
            sectionCount += 1
          }
        },
        rows: { batch, first, together in
          if !hasBegun {
            try format.beginSection(current)
            sectionCount += 1
          }
          hasBegun = true
          rowCount += batch.rowCount
          let firstShown = start ?? first.row
          start = firstShown
          let path = IndexPath(section: place, row: first.row - firstShown)
          try format.write(
            try facts.rows(batch, at: first, shownAt: path, together: together))
          try output.flush()
          if let stream = shown.stream, !stream.continues(within: Viewer.quietTime) {
            try format.pause()
            try output.sendNow()
          }
        },
        rest: { first in
          guard facts.areCellsOnly, shown.stream == nil, !output.isTerminal else {
            return (0, false)
          }
          let taken = try writeShares(from: first, facts.columns, in: &format)
          rowCount += taken.rows
          return taken
        },
        end: { number, count in
          guard hasBegun else { return }
          if !shown.isFollowed { current.count = count }
          try facts.complete(&current)
          try format.endSection(current)
        })
      return nil
    } catch let failure as Failure {
      throw failure
    } catch {
      return .of(error, in: table)
    }
  }

  /// Writes the rows of a section from one on with all processors. Each formats a share of the rows in memory.
  ///
  /// Returns the number of rows, and whether the section ends there. If a share fails, the rows in front of it are written.
  private func writeShares(
    from first: IndexPath, _ columns: [Int], in format: inout any Format
  ) throws -> (rows: Int, isEnd: Bool) {
    let begun = format
    guard begun.writer(to: output) != nil else { return (0, false) }
    // If few columns are written, the output of a share is small.
    let size = begun.shareSize * min(4, max(1, source.columns.count / max(1, columns.count)))
    let outputs = Pool<Output>()
    var failure: Failure?
    var rows = 0
    let end = try source.readShares(
      ofSection: first.section, from: first.row, size: size, always: begun.showsBatches,
      ahead: Cores.count + 3
    ) { share throws(TableError) in
      let kept = outputs.take() ?? Output(keepingAllFor: output, size: begun.shareSize)
      let count = try Viewer.write(share, columns, begun.writer(to: kept))
      return (kept, count)
    } _: { (written: (output: Output, rows: Int)) throws(TableError) in
      do throws(Failure) {
        try output.write(written.output)
        outputs.add(written.output)
        rows += written.rows
        format.noteWritten(rows: written.rows)
        Progress.written(first.row + rows, of: nil)
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    return (rows, end == .complete)
  }

  /// Writes all rows of a share. Returns their number.
  private static func write(
    _ share: any TableDataSource, _ columns: [Int], _ format: (any Format)?
  ) throws(TableError) -> Int {
    guard var format else { throw TableError(.notSupported, "the format writes no shares") }
    var count = 0
    try share.forEachBatch(ofShare: columns) { batch, first throws(TableError) in
      do throws(Failure) {
        try format.write(ShownRows(batch: batch, first: IndexPath(section: 0, row: first)))
      } catch {
        // The rows are written again, and then the failure names the right row.
        throw TableError(.notSupported, "the rows cannot be written")
      }
      count += batch.rowCount
    }
    return count
  }

  /// The rows and columns that were shown: `2,000 rows, 8 columns (6 shown)`. Read after ``show(in:)``.
  ///
  /// If options chose the rows, or if only some are visible, their number is compared with the number of all rows, as
  /// far as it is known without further reading.
  func summary(shownColumns: Int?, visibleRows: Int? = nil) throws(TableError) -> SafeText {
    let table = shown.table
    let count = visibleRows ?? rowCount
    var total: Int?
    if ChosenRows(table, range: range).isEverything {
      if count < rowCount { total = rowCount }
    } else {
      let sections = try source.numberOfSections(knowing: 0)
      var sum = 0
      var isExact = sections.isExact && sections.value <= 1000
      for section in 0..<sections.value where isExact {
        let count = try source.numberOfRows(inSection: section, knowing: 0)
        sum += count.value
        isExact = count.isExact
      }
      if isExact, sum > count { total = sum }
    }
    var text: SafeText = "\(count.grouped)"
    if let total { text.append(" of \(total.grouped)") }
    text.append(total ?? count == 1 ? " row" : " rows")
    if sectionCount > 1 { text.append(", \(sectionCount.grouped) sections") }
    let columns = min(shownColumns ?? table.columns.count, table.columns.count)
    let all = max(source.columns.usualNumbers.count, columns)
    text.append(", \(all.grouped) column\(all == 1 ? "" : "s")")
    if columns != all { text.append(" (\(columns.grouped) shown)") }
    return text
  }
}
