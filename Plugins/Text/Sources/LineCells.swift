import Tabella
import TabellaFiles
import TabellaSDK

/// Makes rows from lines: the line, and the parts of the line that a pattern names.
final class LineCells: DigestedCells {
  /// The number of bytes of lines after which a batch ends early.
  private static let batchSize = 1 << 20

  let columns: [Column]
  let reader: RecordReader
  private var pattern: LinePattern?
  let cancel: CancelFlag

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
      append(page, numbers, to: builder, request.columns)
      size += bytes + numbers.count * 8
      next = numbers.upperBound
    }
    return builder.finish(rowCount: next - lines.lowerBound)
  }

  func finder(of terms: [SearchTerm]) -> RecordFinder? { reader.finder(of: terms) }

  func append(
    _ page: RecordPage, _ numbers: Range<Int>, to builder: BatchBuilder, _ columns: [Int]
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
    guard !parts.isEmpty, var pattern else { return }
    self.pattern = nil
    defer { self.pattern = pattern }
    let (builders, groups) = (parts.map(\.0), parts.map { $0.1 - 1 })
    for number in numbers {
      pattern.withParts(of: page.bytes(of: number), groups) { index, part in
        if let part { builders[index].append(bytes: part) } else { builders[index].appendMissing() }
      }
    }
  }

  /// Adds the lines to digests. The only column is that of the lines.
  func add(
    _ columns: [Int], _ page: RecordPage, _ records: Range<Int>,
    to digests: UnsafeMutableBufferPointer<RowDigest>
  ) {
    let arePlain = !DigestText.isMarked(page.bytes(of: records))
    var text = DigestText()
    for (index, record) in records.enumerated() {
      let line = page.bytes(of: record)
      if arePlain {
        digests[index].add(text: line)
      } else {
        text.add(line, isFirst: true)
        text.end(&digests[index])
      }
    }
  }
}
