/// Decodes a type from a row: the keys are the names of the columns.
struct RowDecoder: Decoder {
  let row: TableRow

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer<Key>(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw TableError(
      .notSupported, "a row is not a list; decode a type whose properties are columns",
      section: row.path.section, row: row.path.row)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    let numbers = row.rows.columns.numbers
    guard numbers.count == 1 else {
      throw TableError(
        .notSupported,
        "a row of \(numbers.count) columns is not a single value; name the column to read",
        section: row.path.section, row: row.path.row)
    }
    return CellDecoder(row: row, column: numbers[0])
  }
}

/// The cells of a row by the names of their columns.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: TableRow

  var codingPath: [any CodingKey] { [] }

  /// The columns that are read.
  var allKeys: [Key] {
    let columns = row.rows.columns
    return columns.numbers.compactMap { Key(stringValue: columns.names.names[$0]) }
  }

  func contains(_ key: Key) -> Bool { find(key) != nil }

  func decodeNil(forKey key: Key) throws -> Bool {
    let column = try number(key)
    return try row.cells(ofColumn: column).isMissing(row.index)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try CellDecoder(row: row, column: try number(key)).decodeCell(type)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let column = find(key) else { return nil }
    if type == [UInt8].self { return try row[column, as: [UInt8]?.self] as? T }
    guard !(try row.cells(ofColumn: column).lacksValue(row.index, as: Int.self)) else {
      return nil
    }
    return try CellDecoder(row: row, column: column).decodeCell(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    throw row.nested(try number(key))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw row.nested(try number(key))
  }

  func superDecoder() throws -> any Decoder { RowDecoder(row: row) }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    CellDecoder(row: row, column: try number(key))
  }

  // Steps

  private func find(_ key: Key) -> Int? { row.find(key.stringValue) }

  private func number(_ key: Key) throws(TableError) -> Int { try row.number(key.stringValue) }

  // Inlined, because these run slowly if the type of the value is not known at compile time.

  @inline(__always)
  private func value<V: CellValue>(_ type: V.Type, _ key: Key) throws(TableError) -> V {
    try row[number(key), as: type]
  }

  @inline(__always)
  private func optional<V: CellValue>(_ type: V.Type, _ key: Key) throws(TableError) -> V? {
    guard let number = find(key) else { return nil }
    return try row[number, as: V?.self]
  }

  // The types that the standard library decodes by methods of their own.

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(type, key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(type, key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(type, key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(type, key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(type, key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(type, key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(type, key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(type, key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(type, key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(type, key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(type, key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(type, key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(type, key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(type, key) }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try optional(type, key)
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try optional(type, key)
  }
}

/// Decodes a type from one cell, as a single value.
private struct CellDecoder: Decoder, SingleValueDecodingContainer {
  let row: TableRow
  let column: Int

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw row.nested(column)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw row.nested(column) }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { (try? row.cells(ofColumn: column).isMissing(row.index)) ?? true }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decodeCell(type) }

  /// Decodes a type, and adds the row and the column to its errors.
  func decodeCell<T: Decodable>(_ type: T.Type) throws(TableError) -> T {
    // Comparing types is quicker than looking for a conformance.
    if type == Timestamp.self, let time = try row[column, as: Timestamp.self] as? T {
      return time
    }
    if type == [UInt8].self, let bytes = try row[column, as: [UInt8].self] as? T {
      return bytes
    }
    do {
      return try T(from: self)
    } catch let error as TableError {
      throw error
    } catch {
      throw row.error(error.decodingProblem, column)
    }
  }

  func decode(_ type: Bool.Type) throws -> Bool { try row[column, as: type] }
  func decode(_ type: String.Type) throws -> String { try row[column, as: type] }
  func decode(_ type: Double.Type) throws -> Double { try row[column, as: type] }
  func decode(_ type: Float.Type) throws -> Float { try row[column, as: type] }
  func decode(_ type: Int.Type) throws -> Int { try row[column, as: type] }
  func decode(_ type: Int8.Type) throws -> Int8 { try row[column, as: type] }
  func decode(_ type: Int16.Type) throws -> Int16 { try row[column, as: type] }
  func decode(_ type: Int32.Type) throws -> Int32 { try row[column, as: type] }
  func decode(_ type: Int64.Type) throws -> Int64 { try row[column, as: type] }
  func decode(_ type: UInt.Type) throws -> UInt { try row[column, as: type] }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try row[column, as: type] }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try row[column, as: type] }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try row[column, as: type] }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try row[column, as: type] }
}

extension TableRow {
  /// The error for a type that needs more than one value from a cell.
  fileprivate func nested(_ column: Int) -> TableError {
    error(
      "a cell has no nested values; decode a type of a single value", column, code: .notSupported)
  }
}
