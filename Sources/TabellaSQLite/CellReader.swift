import CTabellaSQLite
import Tabella

/// The cells of a column of the rows that a scan has read, as SQLite takes them one by one.
///
/// It holds only pointers, so that a cell costs no reference counting. The column must live longer.
struct CellReader {
  private let type: ColumnType
  private let layout: ColumnBatch.Layout

  init(_ column: ColumnBatch) {
    type = column.type
    layout = column.withUnsafeLayout { $0 }
  }

  /// Returns a cell to SQLite. SQLite takes a real that is no number as NULL.
  @inline(__always)
  func result(_ row: Int, _ context: OpaquePointer, _ api: SQLite) {
    let place = layout.start &+ row
    if let validity = layout.validity, validity[place >> 3] & (1 << UInt8(place & 7)) == 0 {
      return api.pointee.result_null(context)
    }
    switch type {
    case .text:
      let bytes = bytes(place)
      tabella_sqlite_result_text(api, context, bytes.baseAddress, Int64(bytes.count))
    case .binary:
      let bytes = bytes(place)
      tabella_sqlite_result_blob(api, context, bytes.baseAddress, Int64(bytes.count))
    case .integer: api.pointee.result_int64(context, value(place))
    case .real: api.pointee.result_double(context, value(place))
    case .boolean: api.pointee.result_int64(context, boolean(place))
    case .date: date(place, context, api)
    }
  }

  private func bytes(_ place: Int) -> UnsafeRawBufferPointer {
    guard let offsets = layout.offsets, let values = layout.values else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let begin = Int(offsets[place])
    return UnsafeRawBufferPointer(start: values + begin, count: Int(offsets[place + 1]) - begin)
  }

  private func value<Value: BitwiseCopyable>(_ place: Int) -> Value {
    layout.values!.load(fromByteOffset: place &* 8, as: Value.self)
  }

  private func boolean(_ place: Int) -> Int64 {
    let byte = layout.values!.load(fromByteOffset: place >> 3, as: UInt8.self)
    return Int64(byte >> UInt8(place & 7) & 1)
  }

  private func date(_ place: Int, _ context: OpaquePointer, _ api: SQLite) {
    Timestamp(nanoseconds: value(place)).withRFC3339 {
      tabella_sqlite_result_text(api, context, $0.baseAddress, Int64($0.count))
    }
  }
}
