import Tabella

// The metadata of an Arrow IPC stream, according to "Serialization and Interprocess Communication" in the Apache Arrow
// columnar format 1.x, and its FlatBuffers schemas `Schema.fbs` and `Message.fbs`.

/// The messages of an Arrow IPC stream, without the bodies of record batches.
enum ArrowMessages {
  /// The alignment of all parts of a stream in bytes.
  static let alignment = 8

  /// The schema message: the names and types of the columns. All columns may have missing cells.
  static func schema(_ columns: [Column]) -> [UInt8] {
    let fields = zip(columns, uniqueNames(columns.map(\.name))).map(field)
    // Schema: 0 endianness (little), 1 fields.
    return message(header: 1, .table([nil, .tables(fields)]), bodyLength: 0)
  }

  /// The message in front of a record batch's body: the number of rows, the number of cells and missing cells of each
  /// column, and the offset and length of each buffer in the body.
  static func recordBatch(
    rowCount: Int, nodes: [(count: Int, missing: Int)], buffers: [(offset: Int, length: Int)],
    bodyLength: Int
  ) -> [UInt8] {
    // RecordBatch: 0 length, 1 nodes, 2 buffers.
    let header = FlatValue.table([
      .int64(rowCount), .pairs(nodes.map { ($0.count, $0.missing) }),
      .pairs(buffers.map { ($0.offset, $0.length) }),
    ])
    return message(header: 3, header, bodyLength: bodyLength)
  }

  /// The end of a stream: a message without metadata.
  static let endOfStream: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]

  /// An "encapsulated message": a continuation marker, the length of the metadata, and the padded metadata.
  private static func message(header: Int, _ value: FlatValue, bodyLength: Int) -> [UInt8] {
    // Message: 0 version (4 is V5), 1 kind of the header, 2 header, 3 bodyLength.
    let metadata = FlatBuffer(
      root: .table([.int16(4), .int8(header), value, .int64(bodyLength)]))
    let length = metadata.bytes.count.padded
    return [0xFF, 0xFF, 0xFF, 0xFF] + (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
      + metadata.bytes + [UInt8](repeating: 0, count: length - metadata.bytes.count)
  }

  private static func field(_ column: Column, name: String) -> FlatValue {
    let (kind, type) = type(column.valueType)
    // KeyValue: 0 key, 1 value.
    let metadata = column.unit.map { unit in
      FlatValue.tables([.table([.string("unit"), .string(unit.rawValue)])])
    }
    // Field: 0 name, 1 nullable, 2 kind of the type, 3 type, 4 dictionary, 5 children,
    // 6 custom_metadata.
    return .table([.string(name), .int8(1), .int8(kind), type, nil, .tables([]), metadata])
  }

  /// The member number in the union `Type`, and the table of the type.
  private static func type(_ type: ColumnType) -> (kind: Int, table: FlatValue) {
    switch type {
    // Int: 0 bitWidth, 1 is_signed.
    case .integer: (2, .table([.int32(64), .int8(1)]))
    // FloatingPoint: 0 precision (2 is DOUBLE).
    case .real: (3, .table([.int16(2)]))
    case .binary: (4, .table([]))
    case .text: (5, .table([]))
    case .boolean: (6, .table([]))
    // Timestamp: 0 unit (3 is NANOSECOND), 1 timezone.
    case .date: (10, .table([.int16(3), .string("UTC")]))
    }
  }
}

extension Int {
  /// The length rounded up to Arrow's alignment.
  var padded: Int { (self + ArrowMessages.alignment - 1) & ~(ArrowMessages.alignment - 1) }
}

/// A value in a FlatBuffer.
private indirect enum FlatValue {
  case int8(Int)
  case int16(Int)
  case int32(Int)
  case int64(Int)
  case string(String)
  /// The fields in the order of their ids; nil for a field with its default value.
  case table([FlatValue?])
  /// A vector of tables.
  case tables([FlatValue])
  /// A vector of structs with two 64-bit numbers each.
  case pairs([(Int, Int)])

  /// The number of bytes of the value within a table. Other values than numbers are represented by an offset.
  var size: Int {
    switch self {
    case .int8: 1
    case .int16: 2
    case .int64: 8
    case .int32, .string, .table, .tables, .pairs: 4
    }
  }
}

/// A FlatBuffer in the encoding of "FlatBuffers internals". A value comes after all offsets that refer to it, because
/// offsets count forward from their own position.
private struct FlatBuffer {
  private(set) var bytes: [UInt8] = []

  init(root: FlatValue) {
    put(0, size: 4)
    append(root, referredFrom: 0)
  }

  /// Appends a value. The offset at `place` then refers to it.
  private mutating func append(_ value: FlatValue, referredFrom place: Int) {
    switch value {
    case .int8, .int16, .int32, .int64: break
    case .string(let text):
      align(to: 4)
      refer(from: place)
      put(text.utf8.count, size: 4)
      bytes += text.utf8
      bytes.append(0)
    case .table(let fields): appendTable(fields, referredFrom: place)
    case .tables(let tables):
      align(to: 4)
      refer(from: place)
      put(tables.count, size: 4)
      let first = bytes.count
      for _ in tables { put(0, size: 4) }
      for (index, table) in tables.enumerated() { append(table, referredFrom: first + 4 * index) }
    case .pairs(let pairs):
      // The elements are aligned, but not the count in front of them.
      align(to: 8, after: 4)
      refer(from: place)
      put(pairs.count, size: 4)
      for pair in pairs {
        put(pair.0, size: 8)
        put(pair.1, size: 8)
      }
    }
  }

  /// Appends a table. It begins with an offset back to its vtable. The vtable contains the sizes of both, and the
  /// offset of each field in the table; 0 means that the field is absent.
  private mutating func appendTable(_ fields: [FlatValue?], referredFrom place: Int) {
    var size = 4
    let offsets = fields.map { field in
      guard let field else { return 0 }
      let offset = (size + field.size - 1) & ~(field.size - 1)
      size = offset + field.size
      return offset
    }
    align(to: 2)
    let vtable = bytes.count
    put(4 + 2 * fields.count, size: 2)
    put(size, size: 2)
    for offset in offsets { put(offset, size: 2) }
    align(to: 8)
    let table = bytes.count
    refer(from: place)
    bytes += [UInt8](repeating: 0, count: size)
    store(table - vtable, size: 4, at: table)
    for case (let field?, let offset) in zip(fields, offsets) {
      switch field {
      case .int8(let number), .int16(let number), .int32(let number), .int64(let number):
        store(number, size: field.size, at: table + offset)
      default: append(field, referredFrom: table + offset)
      }
    }
  }

  private mutating func refer(from place: Int) {
    store(bytes.count - place, size: 4, at: place)
  }

  private mutating func align(to alignment: Int, after prefix: Int = 0) {
    while (bytes.count + prefix) % alignment != 0 { bytes.append(0) }
  }

  private mutating func put(_ number: Int, size: Int) {
    for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: number >> (index * 8))) }
  }

  private mutating func store(_ number: Int, size: Int, at place: Int) {
    for index in 0..<size {
      bytes[place + index] = UInt8(truncatingIfNeeded: number >> (index * 8))
    }
  }
}
