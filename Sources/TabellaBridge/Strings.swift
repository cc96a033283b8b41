import CTabella
import Glibc
import Tabella

extension tabella_string {
  /// A copy of the bytes; nil if the string is absent. Throws ``TableError`` with `.misbehaved` for an impossible
  /// length.
  package func copied(_ what: String) throws(TableError) -> [UInt8]? {
    guard let bytes else { return nil }
    guard (0...Int64(Int32.max)).contains(length) else {
      throw TableError(.misbehaved, "\(what) has a length of \(length)")
    }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(length)))
  }

  /// A copy of the text with repaired UTF-8; nil if the string is absent.
  package func text(_ what: String) throws(TableError) -> String? {
    try copied(what).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether the string holds exactly these bytes.
  func holds(_ text: String) -> Bool {
    guard let bytes, length == text.utf8.count else { return false }
    var text = text
    return text.withUTF8 { $0.isEmpty || memcmp(bytes, $0.baseAddress!, $0.count) == 0 }
  }
}

extension TableError.Code {
  /// A code from a provider. Codes that providers cannot use become `.internal`.
  init(fromProvider code: Int32) {
    self = (1...12).contains(code) ? TableError.Code(rawValue: code) : .internal
  }

  /// The code to report across the contract.
  var crossing: Int32 { (1...100).contains(rawValue) ? rawValue : TABELLA_INTERNAL }
}

/// Calls a C function that reports errors. Copies and releases a reported error.
///
/// Throws ``TableError`` for any code except `TABELLA_OK`. Throws `.misbehaved` if the error itself breaks the
/// contract. `what` names the function.
func call(
  _ what: String, _ body: (UnsafeMutablePointer<tabella_error>) -> Int32
) throws(TableError) {
  var raw = tabella_error()
  let code = body(&raw)
  if code == TABELLA_OK {
    guard raw.release == nil, raw.message.bytes == nil else {
      raw.release?(&raw)
      throw TableError(.misbehaved, "\(what) succeeded, but reported an error")
    }
    return
  }
  throw try taken(&raw, code, what)
}

/// The Swift form of a reported error. Releases the C form.
private func taken(
  _ raw: inout tabella_error, _ code: Int32, _ what: String
) throws(TableError) -> TableError {
  let message: String?
  do throws(TableError) {
    message = try raw.message.text("\(what): the message")
  } catch {
    raw.release?(&raw)
    throw error
  }
  if message != nil, raw.release == nil {
    throw TableError(
      .misbehaved, "\(what) reported an error without a release: \(message ?? "")")
  }
  if let release = raw.release {
    release(&raw)
    guard raw.release == nil else {
      throw TableError(.misbehaved, "\(what): releasing the error did not clear its release")
    }
  }
  var error = TableError(
    TableError.Code(fromProvider: code),
    message.flatMap { $0.isEmpty ? nil : $0 }
      ?? "\(what) failed: \(TableError.Code(fromProvider: code).name)")
  if raw.located & TABELLA_ERROR_HAS_SECTION != 0 { error.section = Int(raw.path.section) }
  if raw.located & TABELLA_ERROR_HAS_ROW != 0 { error.row = Int(raw.path.row) }
  if raw.located & TABELLA_ERROR_HAS_COLUMN != 0 { error.column = Int(raw.column) }
  error.isRetryable = raw.retryable == 1
  return error
}

/// Fills a C error from a Swift one and returns its code.
package func report(_ error: TableError, to raw: UnsafeMutablePointer<tabella_error>) -> Int32 {
  let kept = ReportedError(error)
  raw.pointee.message = kept.arena.string(oneLine(error.message).utf8)
  raw.pointee.private_data = Unmanaged.passRetained(kept).toOpaque()
  raw.pointee.release = releaseReported
  if let section = error.section {
    raw.pointee.path.section = Int64(section)
    raw.pointee.located |= TABELLA_ERROR_HAS_SECTION
  }
  if let row = error.row {
    raw.pointee.path.row = Int64(row)
    raw.pointee.located |= TABELLA_ERROR_HAS_ROW
  }
  if let column = error.column {
    raw.pointee.column = Int64(column)
    raw.pointee.located |= TABELLA_ERROR_HAS_COLUMN
  }
  raw.pointee.retryable = error.isRetryable ? 1 : 0
  return error.code.crossing
}

/// The message on one line. Line ends in quoted text become `\\n`.
private func oneLine(_ message: String) -> String {
  guard message.utf8.contains(where: { $0 == 10 || $0 == 13 }) else { return message }
  return String(
    decoding: message.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case 10: Array("\\n".utf8)
      case 13: Array("\\r".utf8)
      default: [byte]
      }
    }, as: UTF8.self)
}

/// Owns an error while C uses it.
private final class ReportedError {
  let error: TableError
  let arena = ExportedMemory()

  init(_ error: TableError) { self.error = error }
}

private let releaseReported: @convention(c) (UnsafeMutablePointer<tabella_error>) -> Void = {
  raw in
  if let data = raw.pointee.private_data { Unmanaged<ReportedError>.fromOpaque(data).release() }
  raw.pointee.private_data = nil
  raw.pointee.message = tabella_string()
  raw.pointee.release = nil
}

extension [IndexPath] {
  /// Calls `body` with the paths in their C form without a copy. Both forms are two words, the section first.
  func withRaw<R>(_ body: (UnsafeBufferPointer<tabella_index_path>) -> R) -> R {
    withUnsafeBufferPointer { $0.withMemoryRebound(to: tabella_index_path.self, body) }
  }
}

extension IndexPath {
  var raw: tabella_index_path { tabella_index_path(section: Int64(section), row: Int64(row)) }

  init(_ raw: tabella_index_path) { self.init(section: Int(raw.section), row: Int(raw.row)) }

  /// The Swift form of a path in a host's request: a row, or a section with row -1. Throws ``TableError`` with
  /// `.invalidArgument` for other values.
  init(asked raw: tabella_index_path) throws(TableError) {
    guard raw.section >= 0, raw.row >= -1 else {
      throw TableError(.invalidArgument, "\(raw.section):\(raw.row) is not a position in a table")
    }
    self.init(raw)
  }
}

extension tabella_count {
  init(_ count: Count) {
    self.init(value: Int64(count.value), exact: count.isExact ? 1 : 0, reserved: 0)
  }
}

/// Memory that a C struct points into. It is freed when the struct is released.
///
/// Every exported struct with a `release` keeps its strings and arrays in such an object, and retains it in
/// `private_data`.
package final class ExportedMemory {
  private var blocks: [UnsafeMutableRawPointer] = []

  package init() {}

  /// A copy of bytes.
  package func string(_ bytes: some Collection<UInt8>) -> tabella_string {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
    blocks.append(block)
    block.withMemoryRebound(to: UInt8.self, capacity: max(bytes.count, 1)) { start in
      _ = UnsafeMutableBufferPointer(start: start, count: bytes.count).initialize(from: bytes)
    }
    return tabella_string(
      bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: Int64(bytes.count))
  }

  /// A copy of a text; absent if it is nil.
  package func string(_ text: String?) -> tabella_string {
    text.map { string($0.utf8) } ?? tabella_string()
  }

  /// A copy of the values as an array, aligned to 16 bytes.
  package func array<T: BitwiseCopyable>(_ values: some Collection<T>) -> UnsafePointer<T> {
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: max(values.count, 1) * MemoryLayout<T>.stride, alignment: 16)
    blocks.append(block)
    let typed = block.bindMemory(to: T.self, capacity: values.count)
    _ = UnsafeMutableBufferPointer(start: typed, count: values.count).initialize(from: values)
    return UnsafePointer(typed)
  }

  /// A pointer for `private_data` that retains this object.
  package func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  /// Releases a pointer that ``retained()`` returned.
  package static func release(_ pointer: UnsafeMutableRawPointer?) {
    if let pointer { Unmanaged<ExportedMemory>.fromOpaque(pointer).release() }
  }

  deinit { for block in blocks { block.deallocate() } }
}
