import Tabella

/// A value that can be sent between host and worker. Reading checks every length.
///
/// Both ends are the same build on the same machine, so numbers are sent in their memory layout. Reading trusts
/// nothing, because the provider controls the worker's process and may have written any bytes.
protocol WireValue {
  func write(to writer: inout WireWriter)
  static func read(_ reader: inout WireReader) throws(TableError) -> Self
  /// Whether the message has the memory of a value, and any bytes are a value. Arrays of such values are copied as a
  /// whole.
  static var isPlain: Bool { get }
}

extension WireValue {
  static var isPlain: Bool { false }
}

/// The bytes of a message under construction.
struct WireWriter {
  private(set) var bytes: [UInt8]

  /// Writes after `head`.
  init(_ head: [UInt8] = []) { bytes = head }

  mutating func put<V: WireValue>(_ value: V) { value.write(to: &self) }

  mutating func put(word: UInt64) {
    withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
  }

  mutating func put(plain values: UnsafeRawBufferPointer) { bytes.append(contentsOf: values) }

  mutating func put(bytes run: [UInt8]) {
    put(word: UInt64(run.count))
    bytes += run
  }
}

/// Reads a message. Throws ``TableError`` with `.misbehaved` for missing or invalid content.
struct WireReader {
  /// The message. It must outlive the reader.
  private let bytes: UnsafeRawBufferPointer
  private(set) var at: Int

  init(_ bytes: UnsafeRawBufferPointer, at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  var remaining: Int { bytes.count - at }

  /// Reads the next value. The type is an argument, because inference would confuse optional and non-optional
  /// types.
  mutating func get<V: WireValue>(_: V.Type) throws(TableError) -> V {
    try V.read(&self)
  }

  mutating func word() throws(TableError) -> UInt64 {
    guard remaining >= 8 else { throw .malformed("it ends too early") }
    defer { at += 8 }
    return bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
  }

  /// Reads a number of elements. Each element takes at least one byte.
  mutating func count() throws(TableError) -> Int {
    let count = try word()
    guard count <= remaining else { throw .malformed("it has a count of \(count)") }
    return Int(count)
  }

  mutating func run() throws(TableError) -> UnsafeRawBufferPointer { try plain(try count()) }

  /// The next `count` bytes.
  mutating func plain(_ count: Int) throws(TableError) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw .malformed("it ends too early") }
    defer { at += count }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<at + count])
  }

  /// The address of the next `count` bytes, from the next multiple of 8 on.
  mutating func aligned(_ count: Int) throws(TableError) -> UnsafeRawPointer? {
    let start = (at + 7) & ~7
    guard count >= 0, start <= bytes.count, count <= bytes.count - start else {
      throw .malformed("it ends too early")
    }
    at = start + count
    return bytes.baseAddress.map { $0 + start }
  }

  /// Throws if unread bytes remain.
  func end() throws(TableError) {
    guard remaining == 0 else { throw .malformed("\(remaining) bytes are left over") }
  }
}

extension TableError {
  /// The error for an unreadable message. Both ends are the same build, so the sender is corrupted.
  static func malformed(_ what: String) -> TableError {
    TableError(.misbehaved, "sent a message that cannot be read: \(what)")
  }
}

// Values of Swift types.

extension Int: WireValue {
  static var isPlain: Bool { true }

  func write(to writer: inout WireWriter) { writer.put(word: UInt64(bitPattern: Int64(self))) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Int {
    Int(truncatingIfNeeded: try reader.word())
  }
}

extension UInt64: WireValue {
  static var isPlain: Bool { true }

  func write(to writer: inout WireWriter) { writer.put(word: self) }

  static func read(_ reader: inout WireReader) throws(TableError) -> UInt64 { try reader.word() }
}

extension Bool: WireValue {
  func write(to writer: inout WireWriter) { writer.put(word: self ? 1 : 0) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Bool {
    let word = try reader.word()
    guard word <= 1 else { throw .malformed("\(word) is not a boolean") }
    return word == 1
  }
}

extension String: WireValue {
  func write(to writer: inout WireWriter) { writer.put(bytes: Array(utf8)) }

  /// Reads a string and repairs invalid UTF-8.
  static func read(_ reader: inout WireReader) throws(TableError) -> String {
    String(decoding: try reader.run(), as: UTF8.self)
  }
}

/// A run of bytes as one value. In an array of numbers, each byte would take a word.
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
    if Element.isPlain { return withUnsafeBytes { writer.put(plain: $0) } }
    for element in self { writer.put(element) }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> [Element] {
    let count = try reader.count()
    if Element.isPlain {
      let plain = try reader.plain(count * MemoryLayout<Element>.stride)
      return Array(unsafeUninitializedCapacity: count) { list, filled in
        UnsafeMutableRawBufferPointer(list).copyBytes(from: plain)
        filled = count
      }
    }
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

extension Range: WireValue where Bound == Int {
  func write(to writer: inout WireWriter) {
    writer.put(lowerBound)
    writer.put(count)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Range<Int> {
    let (first, count) = (try reader.get(Int.self), try reader.get(Int.self))
    guard first >= 0, count >= 0, first <= Int.max - count else {
      throw .malformed("a range has \(count) elements from \(first)")
    }
    return first..<first + count
  }
}

// Enumerations, by their numbers.

extension WireValue where Self: RawRepresentable<Int32> {
  func write(to writer: inout WireWriter) { writer.put(Int(rawValue)) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Self {
    let number = try reader.get(Int.self)
    guard let raw = Int32(exactly: number), let value = Self(rawValue: raw) else {
      throw .malformed("\(number) is not a \(Self.self)")
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
