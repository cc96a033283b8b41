import Tabella
import TabellaTerminal

/// CSV as RFC 4180 has it, but with LF: cells are quoted only where they must be, and their bytes are
/// written as they are.
struct CSVFormat: Format {
  private let output: Output
  private var line: [UInt8] = []

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    guard table.hasHeader, !table.columns.isEmpty else { return }
    line.removeAll(keepingCapacity: true)
    for (index, column) in table.columns.enumerated() {
      if index > 0 { line.append(UInt8(ascii: ",")) }
      var name = column.name
      name.withUTF8 { append(UnsafeRawBufferPointer($0), isOnly: table.columns.count == 1) }
    }
    try endLine()
  }

  mutating func beginSection(_ section: ShownSection) {}
  mutating func endSection(_ section: ShownSection) {}
  mutating func end(failure: Failure?) {}

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let batch = rows.batch
    for row in 0..<batch.rowCount {
      line.removeAll(keepingCapacity: true)
      for (index, column) in batch.columns.enumerated() {
        if index > 0 { line.append(UInt8(ascii: ",")) }
        if column.isMissing(row) {
          if batch.columns.count == 1 { line += Array("\"\"".utf8) }
          continue
        }
        switch column.type {
        case .text:
          column.withBytes(at: row) { append($0, isOnly: batch.columns.count == 1) }
        case .binary: line += Array(column.withBytes(at: row) { base64($0) }.utf8)
        default: line += Array(column[row].description.utf8)
        }
      }
      try endLine()
    }
  }

  /// Appends a cell. One that is empty and alone in its row is quoted: an empty line is no row to
  /// many readers.
  private mutating func append(_ cell: UnsafeRawBufferPointer, isOnly: Bool) {
    let mustQuote = cell.contains {
      $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == 10 || $0 == 13
    }
    guard mustQuote || (isOnly && cell.isEmpty) else {
      line.append(contentsOf: cell)
      return
    }
    line.append(UInt8(ascii: "\""))
    for byte in cell {
      if byte == UInt8(ascii: "\"") { line.append(byte) }
      line.append(byte)
    }
    line.append(UInt8(ascii: "\""))
  }

  private mutating func endLine() throws(Failure) {
    if output.isTerminal {
      try output.write(line.withUnsafeBytes { SafeText(bytes: $0) })
      try output.write("\n")
    } else {
      line.append(10)
      try output.write(line)
    }
  }
}
