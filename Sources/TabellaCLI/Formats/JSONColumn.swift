import Tabella

extension ShownRows {
  /// The columns of the batch as JSON.
  func json(of table: ShownTable) -> [JSONColumn] {
    zip(table.columns, batch.columns).map { JSONColumn($0, $1) }
  }

  /// The columns of the batch as typed values: text that reads as numbers, booleans or dates becomes these.
  func values(of table: ShownTable) -> [ColumnBatch] {
    zip(table.columns, batch.columns).map { $0.values(of: $1) }
  }
}

/// The cells of a column as JSON. Text is a string, a missing cell is null, and bytes that are not UTF-8 are
/// `{"base64": …}`.
///
/// Text that reads as numbers, booleans or dates becomes these. A cell without such a value keeps its text, and so does
/// a date that states a time without a zone: only a zone makes it a moment.
struct JSONColumn {
  private let values: ColumnBatch
  /// The cells of the source, if they are text that reads as another type.
  private let text: ColumnBatch?
  private let readsDates: Bool

  init(_ column: Column, _ cells: ColumnBatch) {
    values = column.values(of: cells)
    text = values.type == cells.type ? nil : cells
    readsDates = column.reads == .date
  }

  func append(_ row: Int, to text: inout [UInt8]) {
    if let cells = self.text, keepsText(cells, row) {
      JSONColumn.append(cells, row, to: &text)
    } else {
      JSONColumn.append(values, row, to: &text)
    }
  }

  private func keepsText(_ cells: ColumnBatch, _ row: Int) -> Bool {
    guard !cells.isMissing(row) else { return false }
    return cells.withBytes(at: row) { bytes in
      !bytes.isEmpty
        && (values.isMissing(row) || readsDates && Timestamp(rfc3339: bytes) == nil)
    }
  }

  private static func append(_ column: ColumnBatch, _ row: Int, to text: inout [UInt8]) {
    if column.isMissing(row) {
      text += Array("null".utf8)
      return
    }
    switch column.type {
    case .text:
      column.withBytes(at: row) { bytes in
        if bytes.isUTF8 {
          JSONValue.append(string: bytes, to: &text)
        } else {
          text += Array("{\"base64\":\"\(base64(bytes))\"}".utf8)
        }
      }
    case .binary:
      text += Array("{\"base64\":\"\(column.withBytes(at: row) { base64($0) })\"}".utf8)
    case .date:
      text.append(UInt8(ascii: "\""))
      appendText(column, row, to: &text)
      text.append(UInt8(ascii: "\""))
    case .real where !column.real(row).isFinite:
      // JSON has neither NaN nor infinity.
      text += Array("null".utf8)
    case .real, .integer, .boolean: appendText(column, row, to: &text)
    }
  }

  private static func appendText(_ column: ColumnBatch, _ row: Int, to text: inout [UInt8]) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ColumnBatch.longestText) { place in
      let count = column.writeText(of: row, to: place.baseAddress!)
      text += place[..<count]
    }
  }
}
