import Tabella
import TabellaFiles

/// The arrangement of cells in some records of a page, for all columns.
struct CellLayout {
  /// The cells, if blanks separate them.
  fileprivate let blanks: BlankFields?
  /// Whether every record has one field per column. Then fields need no search.
  fileprivate let isRegular: Bool
}

extension DelimitedText {
  /// Determines the arrangement of cells in some records of a page.
  func layout(_ page: RecordPage, _ records: Range<Int>) -> CellLayout {
    let width = columns.count
    return CellLayout(
      blanks: splitsAtBlanks ? BlankFields(page, records, width: width) : nil,
      isRegular: !splitsAtBlanks && page.hasFields(width, inEachOf: records))
  }

  /// Appends the cells of a column.
  ///
  /// Returns their bytes, which are valid until the builder is used again, and the first record that has more cells than
  /// the table has columns, if the column shows it.
  func append(
    _ column: Int, _ page: RecordPage, _ records: Range<Int>, _ layout: CellLayout,
    to builder: ColumnBuilder
  ) -> (written: UnsafeRawBufferPointer, surplus: Int?) {
    if let blanks = layout.blanks {
      return (append(column, page, records, blanks, to: builder), nil)
    }
    if layout.isRegular, column + 1 < columns.count {
      return (appendRegular(column, page, records, to: builder), nil)
    }
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

  /// Appends the cells of a column that is not the last, from records with one field per column.
  private func appendRegular(
    _ column: Int, _ page: RecordPage, _ records: Range<Int>, to builder: ColumnBuilder
  ) -> UnsafeRawBufferPointer {
    let (cells, width) = (cells, columns.count)
    let first = page.fields(of: records.lowerBound).lowerBound + column
    return builder.append(records.count, room: room(for: column, page, records)) {
      number, place in
      let field = first &+ number &* width
      let start = page.start(ofField: field)
      return cells.write(page.bytes + start, page.end(ofField: field) &- start, to: place)
    }
  }

  /// Adds the cells of some columns to a digest per record. Returns the first record that has more cells than the table has
  /// columns, if a column shows it.
  func add(
    _ columns: [Int], _ page: RecordPage, _ records: Range<Int>,
    to digests: UnsafeMutableBufferPointer<RowDigest>
  ) -> Int? {
    let (cells, width) = (cells, self.columns.count)
    let delimiter = rules.delimiter ?? DigestBytes.separator
    let form = cells.digestForm(page, records)
    let isWhole = columns.elementsEqual(0..<width)
    var text = DigestText()
    var surplus: Int?
    for (index, record) in records.enumerated() {
      if page.fields(of: record).count == width {
        let bytes = page.bytes(of: record)
        switch form {
        case .stored where isWhole:
          digests[index].add(text: bytes, separatedBy: delimiter)
          continue
        case .stored where columns.count == 1:
          let (range, _) = page.bounds(columns[0], record, width: width)!
          let field = UnsafeRawBufferPointer(
            start: page.bytes + range.lowerBound, count: range.count)
          digests[index].add(text: field)
          continue
        case .unquoted where isWhole:
          cells.addUnquoted(bytes, delimiter, to: &digests[index])
          continue
        default: break
        }
      }
      for (position, column) in columns.enumerated() {
        cells.withCell(column, page, record, width: width) {
          text.add($0, isFirst: position == 0)
        }
        if column + 1 == width, page.fields(of: record).count > width {
          surplus = surplus ?? record
        }
      }
      text.end(&digests[index])
    }
    return surplus
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
