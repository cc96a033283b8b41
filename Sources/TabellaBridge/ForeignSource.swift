import CTabella
import Synchronization
import Tabella

/// A C source that Swift owns. Every call uses it, and every error about a fault names its provider.
final class ForeignSource {
  let table: tabella_source_table
  let source: UnsafeMutableRawPointer
  let provider: String
  let witness = ReleaseWitness()
  let canceller: Canceller?

  /// Takes ownership of a source. Throws ``TableError`` with `.misbehaved` if its core table is incomplete.
  init(_ raw: tabella_source, provider: String) throws(TableError) {
    func broken(_ what: String) -> TableError {
      var error = TableError(.misbehaved, "provider \(provider) broke the contract: \(what)")
      error.provider = provider
      return error
    }
    guard let table = raw.table?.pointee, let source = raw.source else {
      throw broken("open returned no source")
    }
    let required: [(String, Bool)] = [
      ("release", table.release != nil), ("flags", table.flags != nil),
      ("version", table.version != nil), ("schema", table.schema != nil),
      ("row_count", table.row_count != nil), ("rows", table.rows != nil),
    ]
    if let missing = required.first(where: { !$0.1 })?.0 {
      table.release?(source)
      throw broken("the source's function table has no \(missing)")
    }
    self.table = table
    self.source = source
    self.provider = provider
    canceller = table.cancel.map { Canceller($0, source) }
  }

  deinit {
    canceller?.end()
    table.release?(source)
  }

  /// Calls a C function of the source. Thrown errors are checked, and name the provider.
  func call(
    _ what: String, _ body: (UnsafeMutablePointer<tabella_error>) -> Int32
  ) throws(TableError) {
    try checking(what) { () throws(TableError) in
      try witness.check()
      try TabellaBridge.call(what, body)
    }
  }

  /// Runs a conversion of data from the source. Thrown errors name the provider and the function `what`.
  func checking<R>(
    _ what: String, _ body: () throws(TableError) -> R
  ) throws(TableError) -> R {
    try blaming(provider, for: what, body)
  }

  /// An optional table of the source. Throws if the table lacks a required function.
  func ability<T>(
    _ id: String, _: T.Type, _ required: (T) -> [(String, Bool)]
  ) throws(TableError) -> T? {
    guard let ability = table.ability else { return nil }
    // A C string must be valid only for the call.
    var id = id
    let pointer = id.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { chars in
        ability(source, tabella_string(bytes: chars.baseAddress, length: Int64(chars.count)))
      }
    }
    guard let pointer else { return nil }
    let table = pointer.load(as: T.self)
    if let missing = required(table).first(where: { !$0.1 })?.0 {
      try checking(id) { () throws(TableError) in
        throw TableError(.misbehaved, "the function table has no \(missing)")
      }
    }
    return table
  }
}

/// Cancels calls of a C source from any thread. Does nothing after the source has ended.
final class Canceller: Sendable {
  private let function: @convention(c) (UnsafeMutableRawPointer) -> Void
  /// The address of the source; nil after it has ended.
  private let source: Mutex<UInt?>

  init(
    _ function: @escaping @convention(c) (UnsafeMutableRawPointer) -> Void,
    _ source: UnsafeMutableRawPointer
  ) {
    self.function = function
    self.source = Mutex(UInt(bitPattern: source))
  }

  func cancel() {
    source.withLock { address in
      if let source = address.flatMap({ UnsafeMutableRawPointer(bitPattern: $0) }) {
        function(source)
      }
    }
  }

  func end() { source.withLock { $0 = nil } }
}

extension Count {
  /// The Swift form of a C count.
  init(_ raw: tabella_count) throws(TableError) {
    guard raw.exact == 0 || raw.exact == 1 else {
      throw TableError(.misbehaved, "returned the count \(raw.value), exact \(raw.exact)")
    }
    self = raw.exact == 1 ? .exact(Int(raw.value)) : .atLeast(Int(raw.value))
  }
}
