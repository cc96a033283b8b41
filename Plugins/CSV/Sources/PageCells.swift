import Tabella
import TabellaFiles

extension DelimitedText {
  /// The cells of records that blanks separate; nil if another character does.
  func blankFields(_ page: RecordPage, _ records: Range<Int>) -> BlankFields? {
    splitsAtBlanks ? BlankFields(page, records, width: columns.count) : nil
  }

  /// Appends the cells of a column.
  ///
  /// Returns their bytes, which are valid until the builder is used again, and the first record that has more cells than
  /// the table has columns, if the column shows it.
  func append(
    _ column: Int, _ page: RecordPage, _ records: Range<Int>, _ blanks: BlankFields?,
    to builder: ColumnBuilder
  ) -> (written: UnsafeRawBufferPointer, surplus: Int?) {
    if let blanks { return (append(column, page, records, blanks, to: builder), nil) }
    let (cells, width) = (cells, columns.count)
    var surplus: Int?
    let written = builder.append(records.count, room: room(for: column, page, records)) {
      number, place in
      let record = records.lowerBound &+ number
      guard let (range, isSurplus) = page.bounds(column, record, width: width) else { return -1 }
      guard isSurplus else {
        return cells.write(page.bytes + range.lowerBound, range.count, to: place)
      }
      surplus = surplus ?? record
      memcpy(place, page.bytes + range.lowerBound, range.count)
      return range.count
    }
    return (written, surplus)
  }

  /// Appends the cells of a column that blanks separate from others.
  private func append(
    _ column: Int, _ page: RecordPage, _ records: Range<Int>, _ blanks: BlankFields,
    to builder: ColumnBuilder
  ) -> UnsafeRawBufferPointer {
    let room = records.reduce(0) { $0 + (blanks.range(column, $1)?.count ?? 0) }
    return builder.append(records.count, room: room) { number, place in
      guard let range = blanks.range(column, records.lowerBound &+ number) else { return -1 }
      memcpy(place, page.bytes + range.lowerBound, range.count)
      return range.count
    }
  }

  /// An upper bound for the bytes of a column's cells.
  ///
  /// With few columns, each column may get all bytes. With many columns, such a bound would reserve too much unused
  /// memory.
  private func room(for column: Int, _ page: RecordPage, _ records: Range<Int>) -> Int {
    let width = columns.count
    if width <= 64 {
      return page.end(of: records.upperBound - 1) - page.start(of: records.lowerBound)
    }
    return records.reduce(0) { $0 + (page.bounds(column, $1, width: width)?.range.count ?? 0) }
  }
}
