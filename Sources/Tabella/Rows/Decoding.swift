extension TableRow {
  /// Decodes the row into a value. Coding keys are the names of columns.
  ///
  /// An optional property is nil if its cell is missing, if it is empty text and the property is neither `String` nor
  /// `[UInt8]`, or if the table has no such column. Text that reads as a number, a boolean or a date decodes as such;
  /// see ``CellValue``. Other types decode from their single value, such as an enumeration with raw values. A type of
  /// one value decodes from a row of which one column is read.
  ///
  /// Throws ``TableError`` with the row and the column: `.constraint` for a cell that has no such value,
  /// `.invalidArgument` for a column that does not exist or is not read, and `.notSupported` for nested values.
  /// - Complexity: O(columns) per property.
  public func decode<T: Decodable>(_ type: T.Type) throws(TableError) -> T {
    do {
      return try T(from: RowDecoder(row: self))
    } catch let error as TableError {
      throw error
    } catch {
      throw TableError(
        .constraint, error.decodingProblem, section: path.section, row: path.row)
    }
  }
}

extension TableDataSource {
  /// Decodes all rows of the table into values; see ``TableRow/decode(_:)``.
  ///
  /// `columns` are the names of the columns to read. With nil, the call reads the first row, and then only the columns
  /// that it needed. `section` is the only section to read; nil means all sections. To decode row by row, call `decode`
  /// on the rows of ``rows(columns:inSection:forEditing:)``.
  ///
  /// Throws ``TableError`` as that method does, and the errors of the source.
  /// - Complexity: O(cells) of the needed columns.
  public func decode<T: Decodable>(
    _ type: T.Type, columns: [String]? = nil, inSection section: Int? = nil
  ) throws(TableError) -> [T] {
    let asked = AskedColumns(ColumnNames(self.columns))
    let numbers = try numbers(ofColumns: columns)
    var rows = try RowCursor(
      self, numbers: numbers, section: section, forEditing: false, asked: asked)
    if numbers == nil { return try rows.decodeAsked(type, asked) }
    var values: [T] = []
    while let row = try rows.next() { values.append(try row.decode(type)) }
    return values
  }
}

extension RowCursor {
  /// Decodes all rows, and reads the columns that the type asks for.
  fileprivate mutating func decodeAsked<T: Decodable>(
    _ type: T.Type, _ asked: AskedColumns
  ) throws(TableError) -> [T] {
    var values: [T] = []
    while let row = try next() {
      asked.missesOne = false
      do throws(TableError) {
        let value = try row.decode(type)
        if !asked.missesOne { values.append(value) }
      } catch {
        guard asked.missesOne else { throw error }
      }
      guard !asked.missesOne else {
        // This row needs a column that no row before it needed.
        add(asked.numbers, rereading: row)
        continue
      }
      if values.count == 1 {
        reduce(to: asked.numbers, rereading: row)
        _ = try next()
      }
    }
    return values
  }
}

extension Error {
  /// The problem of an error that a type throws while it is decoded.
  var decodingProblem: String {
    switch self as? DecodingError {
    case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?,
      .keyNotFound(_, let context)?, .dataCorrupted(let context)?:
      context.debugDescription
    default: "\(self)"
    }
  }
}

extension Timestamp: Codable {
  /// Decodes an RFC 3339 date, or a date and time with a zone.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    var text = try container.decode(String.self)
    guard let time = text.withUTF8({ Timestamp(rfc3339: UnsafeRawBufferPointer($0)) }) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(text) is not \(Timestamp.cellDescription)")
    }
    self = time
  }

  /// Encodes the date as ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
