import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge
import TabellaHost

// The common steps of all functions of the interface.

/// Runs `body` under the lock of a host, and converts a thrown error to a C error.
func answer(
  _ error: UnsafeMutablePointer<tabella_error>, on host: EmbeddedHost?,
  _ body: () throws(TableError) -> Void
) -> Int32 {
  do throws(TableError) {
    try ProcessUse.check()
    host?.lock.lock()
    defer { host?.lock.unlock() }
    try body()
    return TABELLA_OK
  } catch let failure {
    return report(failure.advised, as: error)
  }
}

/// Runs `body` about a table, under the lock of its host. Errors name the table. A cancellation of the table ends the
/// call, also while the call waits for the lock.
func answer(
  _ error: UnsafeMutablePointer<tabella_error>, on table: EmbeddedTable,
  _ body: () throws(TableError) -> Void
) -> Int32 {
  let count = table.cancellations.count
  return answer(error, on: table.host) { () throws(TableError) in
    try about(table.name) { () throws(TableError) in
      try table.cancellations.beginCall(since: count)
      defer { table.cancellations.endCall() }
      try body()
    }
  }
}

/// Runs `body`, and returns its object to C. Without one, `out` is null.
func answer(
  _ error: UnsafeMutablePointer<tabella_error>, on host: EmbeddedHost?,
  into out: UnsafeMutablePointer<OpaquePointer?>, _ body: () throws(TableError) -> AnyObject
) -> Int32 {
  out.pointee = nil
  return answer(error, on: host) { () throws(TableError) in out.pointee = handle(try body()) }
}

/// Runs `body` about a table, and returns its object to C. Without one, `out` is null.
func answer(
  _ error: UnsafeMutablePointer<tabella_error>, on table: EmbeddedTable,
  into out: UnsafeMutablePointer<OpaquePointer?>, _ body: () throws(TableError) -> AnyObject
) -> Int32 {
  out.pointee = nil
  return answer(error, on: table) { () throws(TableError) in out.pointee = handle(try body()) }
}

/// Runs `body`. Errors name a subject, such as a location.
func about<R>(_ subject: String, _ body: () throws(TableError) -> R) throws(TableError) -> R {
  do throws(TableError) { return try body() } catch {
    var error = error
    error.message = "\(subject): \(error.description)"
    throw error
  }
}

/// Runs `body`, and converts a `ReceiptError` to a `TableError` whose message names the subject.
func ofReceipts<R>(_ body: () throws(ReceiptError) -> R) throws(TableError) -> R {
  do throws(ReceiptError) { return try body() } catch {
    var failure = error.error
    failure.message = "\(error)"
    throw failure
  }
}

private func report(_ failure: TableError, as raw: UnsafeMutablePointer<tabella_error>) -> Int32 {
  let code = TabellaBridge.report(failure, to: raw)
  return switch failure.code {
  case .noProvider: TABELLA_EMBED_NO_PROVIDER
  case .wrongData: TABELLA_EMBED_WRONG_DATA
  default: code
  }
}

extension TableError {
  /// The error with its remedies in the message, for a program that embeds the library.
  fileprivate var advised: TableError {
    var error = self
    for remedy in remedies {
      switch remedy {
      case .chooseProvider(let ids):
        error.message += "; name another provider (\(ids.joined(separator: ", ")))"
      case .pinAgain(let provider):
        error.message += "; if you know why it changed: tabella providers --pin \(provider)"
      case .acceptWeakIsolation:
        error.message += "; the setting for weak isolation allows edits anyway"
      case .decompress(let command, _, _):
        error.message += "; decompress it first (\(command))"
      }
    }
    return error
  }
}

// Objects

/// An object behind a pointer that C holds.
func object<T: AnyObject>(_ pointer: OpaquePointer, _: T.Type = T.self) -> T {
  Unmanaged<T>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
}

/// A pointer for C, which owns a reference.
func handle(_ object: AnyObject) -> OpaquePointer {
  OpaquePointer(Unmanaged.passRetained(object).toOpaque())
}

/// Releases a reference that C owned, under the lock of its host. In a forked child, the object lives on.
func release<T: AnyObject>(_ pointer: OpaquePointer?, _: T.Type, _ host: (T) -> EmbeddedHost) {
  guard let pointer, !ProcessUse.isInherited else { return }
  // The object can hold the last reference to the host.
  let host = host(object(pointer, T.self))
  host.lock.lock()
  Unmanaged<T>.fromOpaque(UnsafeRawPointer(pointer)).release()
  host.lock.unlock()
}

// Arguments

extension tabella_string {
  /// A copy of the bytes; nil if the string is absent or empty. Throws ``TableError`` with `.invalidArgument` for an
  /// impossible length.
  func argument(_ what: String) throws(TableError) -> [UInt8]? {
    guard let bytes, length != 0 else { return nil }
    guard (1...Int64(Int32.max)).contains(length) else {
      throw TableError(.invalidArgument, "\(what) has a length of \(length)")
    }
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(length)))
  }

  /// The text; nil if the string is absent or empty. Throws ``TableError`` with `.invalidArgument` if it is not UTF-8.
  func textArgument(_ what: String) throws(TableError) -> String? {
    guard let bytes = try argument(what) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw TableError(.invalidArgument, "\(what) is not UTF-8")
    }
    return text
  }

  /// A location that must be present.
  func locationArgument() throws(TableError) -> Location {
    guard let bytes = try argument("the location") else {
      throw TableError(.invalidArgument, "the location is empty")
    }
    return Location(bytes)
  }
}

extension UInt32 {
  /// Throws ``TableError`` with `.invalidArgument` if other bits than these are set.
  func check(onlyBits bits: UInt32) throws(TableError) {
    guard self & ~bits == 0 else {
      throw TableError(.invalidArgument, "the flags \(self) are not known")
    }
  }

  /// Throws ``TableError`` with `.invalidArgument` unless a reserved field is zero. A later version can give it a meaning.
  func checkReserved() throws(TableError) {
    guard self == 0 else {
      throw TableError(.invalidArgument, "reserved is \(self); it must be 0")
    }
  }
}

/// A list of the caller. Throws ``TableError`` with `.invalidArgument` for an impossible count.
func list<T>(
  _ start: UnsafePointer<T>?, _ count: Int64, _ what: String
) throws(TableError) -> UnsafeBufferPointer<T> {
  guard (0...Int64(Int32.max)).contains(count) else {
    throw TableError(
      .invalidArgument, "the number of \(what) is \(count); it must be from 0 to \(Int32.max)")
  }
  guard count == 0 || start != nil else {
    throw TableError(
      .invalidArgument, "the number of \(what) is \(count), but their address is null")
  }
  return UnsafeBufferPointer(start: start, count: Int(count))
}
