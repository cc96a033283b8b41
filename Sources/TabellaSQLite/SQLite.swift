import CTabellaSQLite

/// The functions of the SQLite that loaded the extension. A process can contain several copies of SQLite.
typealias SQLite = UnsafePointer<tabella_sqlite_api>

extension SQLite {
  /// A copy of a text, which SQLite frees; nil without memory.
  func copy(_ text: String) -> UnsafeMutablePointer<CChar>? {
    let bytes = Array(text.utf8)
    guard let memory = pointee.malloc64(UInt64(bytes.count + 1)) else { return nil }
    memory.copyMemory(from: bytes, byteCount: bytes.count)
    memory.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    return memory.assumingMemoryBound(to: CChar.self)
  }

  /// Converts a value of SQLite.
  func value(_ raw: OpaquePointer) -> SQLValue {
    switch pointee.value_type(raw) {
    case TABELLA_SQLITE_INTEGER: return .integer(pointee.value_int64(raw))
    case TABELLA_SQLITE_REAL: return .real(pointee.value_double(raw))
    case TABELLA_SQLITE_TEXT:
      let bytes = pointee.value_text(raw).map { UnsafeRawPointer($0) }
      return .text(copy(bytes, Int(pointee.value_bytes(raw))))
    case TABELLA_SQLITE_BLOB:
      let bytes = pointee.value_blob(raw)
      return .blob(copy(bytes, Int(pointee.value_bytes(raw))))
    default: return .null
    }
  }

  private func copy(_ bytes: UnsafeRawPointer?, _ count: Int) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  }
}

/// A value of SQL.
enum SQLValue: Equatable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  /// The number of an integer, or of a real that is one.
  var wholeNumber: Int64? {
    switch self {
    case .integer(let number): number
    case .real(let number): Int64(exactly: number)
    default: nil
    }
  }
}
