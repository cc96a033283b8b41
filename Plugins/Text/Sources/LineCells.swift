import Tabella
import TabellaFiles
import TabellaSDK

/// Makes rows from lines: the line, and the parts of the line that a pattern names.
final class LineCells: RecordCells {
  /// The number of bytes of lines after which a batch ends early.
  private static let batchSize = 1 << 20

  let columns: [Column]
  let reader: RecordReader
  private var pattern: LinePattern?
  private let cancel: CancelFlag

  init(_ reader: RecordReader, _ columns: [Column], _ pattern: LinePattern?, _ cancel: CancelFlag) {
    (self.reader, self.columns, self.pattern, self.cancel) = (reader, columns, pattern, cancel)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    let (end, overflow) = request.first.addingReportingOverflow(request.count)
    return try batch(request.first..<(overflow ? .max : end), request)
  }

  /// As many of `lines` as fit into a batch.
  func batch(_ lines: Range<Int>, _ request: RowRequest) throws(TableError) -> Batch {
    let builder = BatchBuilder(for: request, of: columns)
    var next = lines.lowerBound
    var size = 0
    while next < lines.upperBound, size < LineCells.batchSize,
      // Rows of a stream that have arrived do not wait for others.
      let page = try reader.page(with: next, waits: next == lines.lowerBound)
    {
      let numbers = next..<min(lines.upperBound, page.numbers.upperBound)
      let bytes = page.end(of: numbers.upperBound - 1) - page.start(of: next)
      // Lines beyond this size belong to the next batch.
      if next > lines.lowerBound, size + bytes > Int(Int32.max) { break }
      append(page, numbers, request.columns, to: builder)
      size += bytes + numbers.count * 8
      next = numbers.upperBound
    }
    return builder.finish(rowCount: next - lines.lowerBound)
  }

  func finder(of terms: [SearchTerm]) -> RecordFinder? { RecordFinder(terms, reader.rules) }

  func rows(_ request: RowRequest, _ finder: RecordFinder) throws(TableError) -> FoundRows {
    let builder = BatchBuilder(for: request, of: columns)
    var numbers: [Int] = []
    var size = 0
    let next = try reader.search(from: request.first, finder, cancel) {
      page, run throws(TableError) in
      if size >= LineCells.batchSize { return 0 }
      let lines = run.prefix(request.count - numbers.count)
      guard let last = lines.last else { return 0 }
      let bytes = page.end(of: last) - page.start(of: lines.lowerBound)
      // Lines beyond this size belong to the next batch.
      if size > 0, size + bytes > Int(Int32.max) { return 0 }
      append(page, lines, request.columns, to: builder)
      numbers += lines
      size += bytes + lines.count * 8
      return lines.count
    }
    return FoundRows(builder.finish(rowCount: numbers.count), numbers: numbers, next: next)
  }

  func rows(
    numbered lines: [Int], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    let builder = BatchBuilder(numbers.map { columns[$0].type }, ids: includesIDs)
    let count = try reader.gather(lines, withOffsets: includesIDs) {
      page, records throws(TableError) in append(page, records, numbers, to: builder)
    }
    return builder.finish(rowCount: count)
  }

  /// Appends lines to the columns with these numbers.
  private func append(
    _ page: RecordPage, _ numbers: Range<Int>, _ columns: [Int], to builder: BatchBuilder
  ) {
    let bytes = page.end(of: numbers.upperBound - 1) - page.start(of: numbers.lowerBound)
    for (column, number) in zip(builder.columns, columns) where number == 0 {
      column.append(numbers.count, room: bytes) { number, place in
        let line = page.bytes(of: numbers.lowerBound + number)
        memcpy(place, line.baseAddress!, line.count)
        return line.count
      }
    }
    if let ids = builder.ids { for number in numbers { ids.append(page.id(of: number)) } }
    let parts = zip(builder.columns, columns).filter { $0.1 > 0 }
    guard !parts.isEmpty else { return }
    for number in numbers {
      pattern?.withParts(of: page.bytes(of: number), parts.map { $0.1 - 1 }) { index, part in
        if let part { parts[index].0.append(bytes: part) } else { parts[index].0.appendMissing() }
      }
    }
  }
}
