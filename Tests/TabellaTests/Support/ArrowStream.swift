import Foundation
import Tabella

/// A strict reader of Arrow IPC streams, independent of the writer. It checks all requirements of the format and trusts
/// nothing.
struct ArrowStream {
  struct Field: Equatable {
    var name: String
    var type: ColumnType
    var metadata: [String: String]
  }

  private(set) var fields: [Field] = []
  /// The rows of each batch, with cells in their JSON form.
  private(set) var batches: [[[NSObject]]] = []

  var rows: [[NSObject]] { batches.flatMap { $0 } }

  init(_ data: Data) throws {
    let bytes = [UInt8](data)
    var at = 0
    var isFirst = true
    while true {
      try expect(at % 8 == 0, "a message is aligned")
      try expect(number(bytes, at, 4) == 0xFFFF_FFFF, "a message begins with the marker")
      let length = try number(bytes, at + 4, 4)
      at += 8
      if length == 0 { break }
      try expect(length % 8 == 0 && at + length <= bytes.count, "metadata is padded and there")
      let message = try FlatTable(root: Array(bytes[at..<at + length]))
      at += length
      try expect(try message.number(0, 2) == 4, "the version is V5")
      let (kind, bodyLength) = (try message.number(1, 1), try message.number(3, 8))
      try expect(bodyLength % 8 == 0 && at + bodyLength <= bytes.count, "the body is there")
      let header = try message.table(2)
      if isFirst {
        try expect(kind == 1 && bodyLength == 0, "the schema comes first")
        fields = try header.tables(1).map(Self.field)
      } else {
        try expect(kind == 3, "record batches follow")
        batches.append(try Self.rows(header, fields, Array(bytes[at..<at + bodyLength])))
      }
      isFirst = false
      at += bodyLength
    }
    try expect(!isFirst, "there is a schema")
    try expect(at == bytes.count, "nothing follows the end")
  }

  private static func field(_ table: FlatTable) throws -> Field {
    try expect(try table.number(1, 1) == 1, "fields are nullable")
    try expect(try table.tables(5).isEmpty, "fields have no children")
    let type = try table.table(3)
    let kind: ColumnType
    switch try table.number(2, 1) {
    case 2:
      try expect(try type.number(0, 4) == 64 && type.number(1, 1) == 1, "integers have 64 bits")
      kind = .integer
    case 3:
      try expect(try type.number(0, 2) == 2, "numbers are doubles")
      kind = .real
    case 4: kind = .binary
    case 5: kind = .text
    case 6: kind = .boolean
    case 10:
      try expect(try type.number(0, 2) == 3 && type.string(1) == "UTC", "dates have nanoseconds")
      kind = .date
    case let other: throw ArrowError("an unknown type \(other)")
    }
    let metadata = try table.tables(6).map { (try $0.string(0), try $0.string(1)) }
    return Field(
      name: try table.string(0), type: kind,
      metadata: Dictionary(uniqueKeysWithValues: metadata))
  }

  private static func rows(
    _ batch: FlatTable, _ fields: [Field], _ body: [UInt8]
  ) throws -> [[NSObject]] {
    let count = try batch.number(0, 8)
    try expect(count > 0, "no batch is empty")
    let nodes = try batch.pairs(1)
    var buffers = try batch.pairs(2)[...]
    var end = 0
    func next(_ length: Int? = nil) throws -> ArraySlice<UInt8> {
      guard let buffer = buffers.popFirst() else { throw ArrowError("a buffer is missing") }
      try expect(buffer.0 == end, "buffers stand one behind another")
      end = (buffer.0 + buffer.1 + 7) / 8 * 8
      try expect(end <= body.count, "a buffer is in the body")
      try expect(length == nil || buffer.1 == length, "a buffer is as long as its cells")
      try expect(body[buffer.0 + buffer.1..<end].allSatisfy { $0 == 0 }, "padding is 0")
      return body[buffer.0..<buffer.0 + buffer.1]
    }
    func bit(_ bits: ArraySlice<UInt8>, _ index: Int) -> Bool {
      bits[bits.startIndex + index / 8] >> UInt8(index % 8) & 1 == 1
    }
    try expect(nodes.count == fields.count, "there is a node for each field")
    var columns: [[NSObject]] = []
    for (field, node) in zip(fields, nodes) {
      try expect(node.0 == count, "a column has a cell for each row")
      let bits = try next(node.1 == 0 ? 0 : (count + 7) / 8)
      let missing = (0..<count).map { !bits.isEmpty && !bit(bits, $0) }
      try expect(missing.count(where: { $0 }) == node.1, "missing cells are counted")
      if !bits.isEmpty {
        try expect(
          (count..<bits.count * 8).allSatisfy { !bit(bits, $0) }, "bits behind the last are 0")
      }
      let cells: [NSObject]
      switch field.type {
      case .text, .binary:
        let raw = Array(try next((count + 1) * 4))
        let offsets = try (0...count).map { try number(raw, $0 * 4, 4) }
        let values = Array(try next(offsets[count]))
        try expect(offsets[0] == 0, "offsets begin at 0")
        cells = try (0..<count).map { row in
          try expect(offsets[row] <= offsets[row + 1], "offsets do not fall")
          let bytes = Array(values[offsets[row]..<offsets[row + 1]])
          if field.type == .binary {
            return ["base64": Data(bytes).base64EncodedString()] as NSDictionary
          }
          guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ArrowError("a text is not UTF-8")
          }
          return text as NSString
        }
      case .boolean:
        let bits = try next((count + 7) / 8)
        cells = (0..<count).map { NSNumber(value: bit(bits, $0)) }
      case .integer, .real, .date:
        let raw = Array(try next(count * 8))
        cells = try (0..<count).map { row in
          let word = Int64(try number(raw, row * 8, 8))
          return switch field.type {
          case .real: NSNumber(value: Double(bitPattern: UInt64(bitPattern: word)))
          case .date: Timestamp(nanoseconds: word).description as NSString
          default: NSNumber(value: word)
          }
        }
      }
      columns.append(zip(cells, missing).map { $1 ? NSNull() : $0 })
    }
    try expect(buffers.isEmpty && end == body.count, "no buffer is left")
    return (0..<count).map { row in columns.map { $0[row] } }
  }
}

struct ArrowError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

private func expect(_ condition: @autoclosure () throws -> Bool, _ law: String) throws {
  guard try condition() else { throw ArrowError("not so: \(law)") }
}

private func number(_ bytes: [UInt8], _ at: Int, _ size: Int) throws -> Int {
  try expect(at >= 0 && at + size <= bytes.count, "there are \(size) bytes at \(at)")
  var number = 0
  for index in 0..<size { number |= Int(bytes[at + index]) << (index * 8) }
  return number
}

/// A table of a FlatBuffer. Fields are read by their ids.
private struct FlatTable {
  private let bytes: [UInt8]
  private let place: Int

  init(root bytes: [UInt8]) throws {
    try self.init(bytes, try Self.follow(bytes, 0))
  }

  private init(_ bytes: [UInt8], _ place: Int) throws {
    (self.bytes, self.place) = (bytes, place)
  }

  /// The target of the offset at a position.
  private static func follow(_ bytes: [UInt8], _ place: Int) throws -> Int {
    try expect(place % 4 == 0, "an offset is aligned")
    let offset = try TabellaTestSupport.number(bytes, place, 4)
    try expect(offset > 0 && offset < 1 << 31, "an offset leads forward")
    return place + offset
  }

  /// The position of a field; nil for an absent one.
  private func field(_ id: Int, _ size: Int) throws -> Int? {
    let back = Int(
      Int32(truncatingIfNeeded: try TabellaTestSupport.number(bytes, place, 4)))
    let vtable = place - back
    try expect(place % 4 == 0 && vtable % 2 == 0 && vtable >= 0, "tables are aligned")
    guard 4 + id * 2 < (try TabellaTestSupport.number(bytes, vtable, 2)) else { return nil }
    let offset = try TabellaTestSupport.number(bytes, vtable + 4 + id * 2, 2)
    if offset == 0 { return nil }
    try expect(
      try offset + size <= TabellaTestSupport.number(bytes, vtable + 2, 2),
      "a field is in its table")
    try expect((place + offset) % size == 0, "a field is aligned")
    return place + offset
  }

  func number(_ id: Int, _ size: Int) throws -> Int {
    guard let at = try field(id, size) else { return 0 }
    return try TabellaTestSupport.number(bytes, at, size)
  }

  func table(_ id: Int) throws -> FlatTable {
    guard let at = try field(id, 4) else { throw ArrowError("field \(id) is absent") }
    return try FlatTable(bytes, try Self.follow(bytes, at))
  }

  func string(_ id: Int) throws -> String {
    let (start, count) = try vector(id, elementSize: 1)
    try expect(
      try TabellaTestSupport.number(bytes, start + count, 1) == 0, "a string ends with a NUL")
    return String(decoding: bytes[start..<start + count], as: UTF8.self)
  }

  func tables(_ id: Int) throws -> [FlatTable] {
    let (start, count) = try vector(id, elementSize: 4)
    return try (0..<count).map { try FlatTable(bytes, try Self.follow(bytes, start + $0 * 4)) }
  }

  func pairs(_ id: Int) throws -> [(Int, Int)] {
    let (start, count) = try vector(id, elementSize: 16)
    try expect(start % 8 == 0, "structs are aligned")
    return try (0..<count).map {
      (
        try TabellaTestSupport.number(bytes, start + $0 * 16, 8),
        try TabellaTestSupport.number(bytes, start + $0 * 16 + 8, 8)
      )
    }
  }

  /// The position of a vector's first element, and the number of elements; 0 if the vector is absent.
  private func vector(_ id: Int, elementSize: Int) throws -> (start: Int, count: Int) {
    guard let at = try field(id, 4) else { return (0, 0) }
    let start = try Self.follow(bytes, at)
    let count = try TabellaTestSupport.number(bytes, start, 4)
    try expect(start % 4 == 0 && start + 4 + count * elementSize <= bytes.count, "a vector fits")
    return (start + 4, count)
  }
}
