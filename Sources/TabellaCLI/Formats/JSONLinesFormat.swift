import Tabella

/// One JSON object per row and line. The keys are the names of the columns.
struct JSONLinesFormat: Format {
  private var output: Output
  private var keys = JSONKeys([])
  private var table: ShownTable?

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    keys = JSONKeys(table.columns)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    guard let table else { return }
    let columns = rows.json(of: table)
    try output.write(
      rows: rows.batch.rowCount, room: { keys.room(for: columns, $0) },
      body: { rows, place in keys.write(columns, rows, lineEnd: true, to: place) - place },
      apart: { row, _ throws(Failure) in
        var line: [UInt8] = []
        keys.append(columns, row, lineEnd: true, to: &line)
        try output.write(json: line)
      })
  }

  /// An object is up to four times as long as its row in a file, since it repeats the names of the columns.
  var shareSize: Int { ShareSize.rows / 2 }

  func writer(to output: Output) -> (any Format)? {
    var copy = self
    copy.output = output
    return copy
  }
}

/// The text in front of each cell of a JSON object: a brace or comma, the name, a colon.
struct JSONKeys {
  /// A key is copied in one move if it has at most so many bytes.
  private static let moveSize = 32

  /// The keys, one after the other, followed by bytes without meaning.
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  init(_ columns: [Column]) {
    for (number, name) in uniqueNames(columns.map(\.name)).enumerated() {
      bytes.append(number == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
      JSONValue.append(string: name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      ends.append(bytes.count)
    }
    bytes += repeatElement(0, count: JSONKeys.moveSize)
  }

  /// The number of bytes that the objects of some rows need at most.
  func room(for columns: JSONColumns, _ rows: Range<Int>) -> Int {
    columns.room(for: rows, extra: bytes.count + 4) + JSONKeys.moveSize
  }

  /// Appends the object of a row.
  func append(
    _ columns: JSONColumns, _ row: Int, lineEnd: Bool = false, to text: inout [UInt8]
  ) {
    text.append(room: room(for: columns, row..<row + 1)) {
      write(columns, row..<row + 1, lineEnd: lineEnd, to: $0)
    }
  }

  /// Writes the objects of rows, each with a line end if `lineEnd` says so. Returns the place after them.
  func write(
    _ columns: JSONColumns, _ rows: Range<Int>, lineEnd: Bool, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    bytes.withUnsafeBytes { bytes in
      ends.withUnsafeBufferPointer { ends in
        columns.write(rows, to: place) { number, at in
          let start = number == 0 ? 0 : ends[number - 1]
          let count = ends[number] - start
          let key = bytes.baseAddress! + start
          if count <= JSONKeys.moveSize {
            at.storeBytes(of: key.loadUnaligned(as: SIMD32<UInt8>.self), as: SIMD32<UInt8>.self)
          } else {
            at.copyMemory(from: key, byteCount: count)
          }
          return at + count
        } afterRow: { place in
          var at = place
          if ends.isEmpty {
            at.storeBytes(of: UInt8(ascii: "{"), as: UInt8.self)
            at += 1
          }
          at.storeBytes(of: UInt8(ascii: "}"), as: UInt8.self)
          at += 1
          if lineEnd {
            at.storeBytes(of: 10, as: UInt8.self)
            at += 1
          }
          return at
        }
      }
    }
  }
}
