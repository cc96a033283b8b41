import Tabella

/// A value that crosses between host and worker: how it is written, and read back with every length
/// checked.
///
/// Both ends are of one build on one machine, so numbers cross as they lie in memory. Reading trusts
/// nothing: the provider owns the worker's process and may have written anything.
protocol WireValue {
  func write(to writer: inout WireWriter)
  static func read(_ reader: inout WireReader) throws(TableError) -> Self
}

/// The bytes of a message in the making.
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func put<V: WireValue>(_ value: V) { value.write(to: &self) }

  mutating func put(word: UInt64) {
    withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
  }

  mutating func put(bytes run: [UInt8]) {
    put(word: UInt64(run.count))
    bytes += run
  }
}

/// Reads a message; throws ``TableError`` with `.misbehaved` for whatever is not in it.
struct WireReader {
  /// The message, which outlives the reader.
  private let bytes: UnsafeRawBufferPointer
  private(set) var at: Int

  init(_ bytes: UnsafeRawBufferPointer, at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  var remaining: Int { bytes.count - at }

  /// The next value. The type is always said: left to be inferred, what is optional would be taken for
  /// what is not.
  mutating func get<V: WireValue>(_: V.Type) throws(TableError) -> V {
    try V.read(&self)
  }

  mutating func word() throws(TableError) -> UInt64 {
    guard remaining >= 8 else { throw .malformed("it ends too early") }
    defer { at += 8 }
    return bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
  }

  /// A number of things of which each takes a byte at least.
  mutating func count() throws(TableError) -> Int {
    let count = try word()
    guard count <= remaining else { throw .malformed("it counts \(count) things") }
    return Int(count)
  }

  mutating func run() throws(TableError) -> UnsafeRawBufferPointer {
    let count = try count()
    defer { at += count }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<at + count])
  }

  /// So many bytes from the next multiple of 8 on, where they lie.
  mutating func aligned(_ count: Int) throws(TableError) -> UnsafeRawPointer? {
    let start = (at + 7) & ~7
    guard count >= 0, start <= bytes.count, count <= bytes.count - start else {
      throw .malformed("it ends too early")
    }
    at = start + count
    return bytes.baseAddress.map { $0 + start }
  }

  /// Throws if anything is left.
  func end() throws(TableError) {
    guard remaining == 0 else { throw .malformed("\(remaining) bytes are left over") }
  }
}

extension TableError {
  /// A message that cannot be read. Both ends are of one build: what sent it is no longer itself.
  static func malformed(_ what: String) -> TableError {
    TableError(.misbehaved, "sent a message that cannot be read: \(what)")
  }
}

// Values of the language

extension Int: WireValue {
  func write(to writer: inout WireWriter) { writer.put(word: UInt64(bitPattern: Int64(self))) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Int {
    Int(truncatingIfNeeded: try reader.word())
  }
}

extension UInt64: WireValue {
  func write(to writer: inout WireWriter) { writer.put(word: self) }

  static func read(_ reader: inout WireReader) throws(TableError) -> UInt64 { try reader.word() }
}

extension Bool: WireValue {
  func write(to writer: inout WireWriter) { writer.put(word: self ? 1 : 0) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Bool {
    let word = try reader.word()
    guard word <= 1 else { throw .malformed("\(word) is no truth value") }
    return word == 1
  }
}

extension String: WireValue {
  func write(to writer: inout WireWriter) { writer.put(bytes: Array(utf8)) }

  /// Repaired where it is not UTF-8.
  static func read(_ reader: inout WireReader) throws(TableError) -> String {
    String(decoding: try reader.run(), as: UTF8.self)
  }
}

/// A run of bytes as a value; as an array of numbers each would take a word.
struct WireBytes: WireValue {
  var bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func write(to writer: inout WireWriter) { writer.put(bytes: bytes) }

  static func read(_ reader: inout WireReader) throws(TableError) -> WireBytes {
    WireBytes(Array(try reader.run()))
  }
}

extension Optional: WireValue where Wrapped: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(self != nil)
    if let self { writer.put(self) }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Wrapped? {
    try reader.get(Bool.self) ? try reader.get(Wrapped.self) : nil
  }
}

extension Array: WireValue where Element: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(word: UInt64(count))
    for element in self { writer.put(element) }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> [Element] {
    let count = try reader.count()
    var list: [Element] = []
    for _ in 0..<count { list.append(try reader.get(Element.self)) }
    return list
  }
}

extension Dictionary: WireValue where Key: WireValue & Comparable, Value: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(word: UInt64(count))
    for (key, value) in sorted(by: { $0.key < $1.key }) {
      writer.put(key)
      writer.put(value)
    }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> [Key: Value] {
    var map: [Key: Value] = [:]
    for _ in 0..<(try reader.count()) {
      let key = try reader.get(Key.self)
      map[key] = .some(try reader.get(Value.self))
    }
    return map
  }
}

// Enumerations by their numbers

extension WireValue where Self: RawRepresentable<Int32> {
  func write(to writer: inout WireWriter) { writer.put(Int(rawValue)) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Self {
    let number = try reader.get(Int.self)
    guard let raw = Int32(exactly: number), let value = Self(rawValue: raw) else {
      throw .malformed("\(number) is no \(Self.self)")
    }
    return value
  }
}

extension ColumnType: WireValue {}
extension TableError.Code: WireValue {}
extension TitlePlace: WireValue {}
extension StyledText.Style: WireValue {}
extension Diagnostic.Severity: WireValue {}
extension OptionDeclaration.Kind: WireValue {}
