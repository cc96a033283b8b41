import Tabella
import TabellaFiles
import TabellaSDK

/// The bytes of a binary file, 16 per row, with the columns offset, bytes (hexadecimal) and text (ASCII).
final class HexSource: ProviderSource, TableIdentity {
  private static let width = Hexadecimal.width
  /// The maximum number of rows per batch.
  private static let batchRows = 1 << 13

  let columns = [Column("offset", .integer), Column("bytes"), Column("text")]
  private let file: any ByteSource
  private let cancel = CancelFlag()
  /// The number of bytes known to exist.
  private var known = 0
  private var isComplete = false

  init(_ file: any ByteSource) { self.file = file }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }

  func version() throws(TableError) -> Version? {
    try file.checkUnchanged()
    return file.version
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    cancel.begin()
    try know(rows: minimum)
    try file.checkUnchanged()
    let rows = (known + HexSource.width - 1) / HexSource.width
    // The last row of a stream may be incomplete.
    return isComplete ? .exact(rows) : .atLeast(known / HexSource.width)
  }

  private func know(rows minimum: Int) throws(TableError) {
    if let size = file.size { (known, isComplete) = (size, true) }
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while !isComplete, known / HexSource.width < minimum {
      try cancel.check()
      let got = try fill(&block, at: known)
      known += got
      isComplete = got < block.count
    }
  }

  private func fill(_ block: inout [UInt8], at offset: Int) throws(TableError) -> Int {
    let bytes = try file.bytes(at: offset, count: block.count)
    block.replaceSubrange(..<bytes.count, with: bytes)
    return bytes.count
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    cancel.begin()
    let (start, overflow) = request.first.multipliedReportingOverflow(by: HexSource.width)
    let wanted = min(request.count, HexSource.batchRows)
    let bytes = overflow ? [] : try file.bytes(at: start, count: wanted * HexSource.width)
    if bytes.isEmpty, request.first > 0 {
      let count = try numberOfRows(inSection: 0, knowing: .max).value
      guard request.first <= count else { throw .noRow(request.first, inSection: 0, of: count) }
    }
    let builder = BatchBuilder(for: request, of: columns)
    let rows = (bytes.count + HexSource.width - 1) / HexSource.width
    for row in 0..<rows {
      let at = row * HexSource.width
      let line = bytes[at..<min(at + HexSource.width, bytes.count)]
      for (cells, column) in zip(builder.columns, request.columns) {
        switch column {
        case 0: cells.append(Int64(start + at))
        case 1: append(Hexadecimal.digits(of: line), to: cells)
        default: append(Hexadecimal.text(of: line), to: cells)
        }
      }
      builder.ids?.append(id(of: line, at: start + at))
    }
    try file.checkUnchanged()
    return builder.finish(rowCount: rows, isUTF8: true)
  }

  private func append(_ bytes: [UInt8], to cells: ColumnBuilder) {
    bytes.withUnsafeBytes { cells.append(bytes: $0) }
  }

  private func id(of bytes: ArraySlice<UInt8>, at offset: Int) -> String {
    "\(String(offset, radix: 16)).\(String(bytes.withUnsafeBytes { digest64($0) }, radix: 16))"
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    guard let offset = id.split(separator: ".").first.flatMap({ Int($0, radix: 16) }), offset >= 0,
      offset.isMultiple(of: HexSource.width)
    else { throw TableError(.notFound, "there is no row with the id \(id)") }
    let bytes = try file.bytes(at: offset, count: HexSource.width)
    try file.checkUnchanged()
    guard !bytes.isEmpty, self.id(of: bytes[...], at: offset) == id else {
      throw TableError(.notFound, "there is no row with the id \(id)")
    }
    return IndexPath(section: 0, row: offset / HexSource.width)
  }
}
