import Tabella
import TabellaFiles
import TabellaSystem

/// The bytes of an ELF file, read at offsets. A read outside the file is an error and not a crash.
struct ELFFile {
  private let descriptor: Int32
  let size: Int

  init(_ descriptor: Int32, size: Int) {
    self.descriptor = descriptor
    self.size = size
  }

  /// Reads exactly `count` bytes at an offset. `what` describes them in messages: "its header".
  func bytes(at offset: Int, count: Int, _ what: String) throws(TableError) -> ELFBytes {
    guard offset >= 0, count >= 0, offset <= size, count <= size - offset else {
      throw TableError(.noProvider, "is truncated: \(what) ends beyond the file")
    }
    let bytes = try readFull(descriptor, at: offset, count: count, "cannot be read")
    guard bytes.count == count else {
      throw TableError(.noProvider, "was shortened while it was read")
    }
    return ELFBytes(bytes)
  }
}

/// Bytes of an ELF file as little-endian numbers. The caller must check offsets against `count`.
struct ELFBytes {
  private let bytes: [UInt8]
  var count: Int { bytes.count }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func byte(_ at: Int) -> Int { Int(bytes[at]) }
  func half(_ at: Int) -> Int { Int(number(at, UInt16.self)) }
  func word(_ at: Int) -> Int { Int(number(at, UInt32.self)) }
  func bits(_ at: Int) -> UInt64 { number(at, UInt64.self) }

  /// An address, an offset or a size. Throws for values of 2^60 or more, because sums of them could overflow.
  func long(_ at: Int) throws(TableError) -> Int {
    let value = bits(at)
    guard value < 1 << 60 else { throw .damaged("the number 0x\(String(value, radix: 16))") }
    return Int(value)
  }

  /// The text at an offset, up to its NUL or `limit` bytes.
  func text(_ at: Int, upTo limit: Int) -> String {
    String(decoding: bytes[at...].prefix(limit).prefix { $0 != 0 }, as: UTF8.self)
  }

  /// Whether this text and a NUL are at an offset.
  func has(_ text: String, at place: Int) -> Bool {
    bytes[place...].starts(with: Array(text.utf8) + [0])
  }

  private func number<N: FixedWidthInteger>(_ at: Int, _: N.Type) -> N {
    precondition(at >= 0 && at <= bytes.count - MemoryLayout<N>.size, "within what was read")
    return bytes.withUnsafeBytes {
      N(littleEndian: $0.loadUnaligned(fromByteOffset: at, as: N.self))
    }
  }
}

extension TableError {
  /// The error for an ELF file that no linker writes.
  static func damaged(_ what: String) -> TableError {
    TableError(.noProvider, "is damaged: \(what)")
  }
}
