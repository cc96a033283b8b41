import Tabella
import TabellaFiles

/// What an ELF file says about itself, read as data: nothing in it runs.
///
/// `dlopen` runs a library's constructors, so whether a file is a provider at all must be known
/// before. Layouts: System V ABI, "Object Files" and "Dynamic Linking".
struct ELFImage {
  private let bytes: [UInt8]
  private var segments: [(address: Int, offset: Int, size: Int)] = []
  private var dynamic: [Int: Int] = [:]

  /// Checks that the file is a shared library for this machine that exports `symbol` as a function.
  ///
  /// Throws ``TableError`` with `.noProvider` that says which check failed.
  static func check(_ path: String, exports symbol: String) throws(TableError) {
    do throws(TableError) {
      let image = try ELFImage(try contents(of: path))
      guard try image.exportsFunction(symbol) else {
        throw TableError(.noProvider, "exports no function \(symbol), so it is no provider")
      }
    } catch {
      throw TableError(.noProvider, "\(path): \(error.message)")
    }
  }

  private static func contents(of path: String) throws(TableError) -> [UInt8] {
    let file = try OpenFile(path: Array(path.utf8))
    guard file.fingerprint.kind == S_IFREG else {
      throw TableError(.noProvider, "is no regular file")
    }
    guard file.fingerprint.size <= 1 << 31 else {
      throw TableError(.noProvider, "is larger than 2 GiB")
    }
    return try file.bytes().bytes(at: 0, count: file.fingerprint.size)
  }

  private init(_ bytes: [UInt8]) throws(TableError) {
    self.bytes = bytes
    guard bytes.count >= 64, bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else {
      throw TableError(.noProvider, "is not an ELF file")
    }
    guard bytes[4] == 2, bytes[5] == 1 else {
      throw TableError(
        .noProvider, "is an ELF file for another kind of machine (not 64-bit little-endian)")
    }
    #if arch(x86_64)
      let machine = 62
    #elseif arch(arm64)
      let machine = 183
    #endif
    guard try number(18, 2) == machine else {
      throw TableError(
        .noProvider, "is an ELF file for machine \(try number(18, 2)), this one is \(machine)")
    }
    guard try number(16, 2) == 3 else {
      throw TableError(.noProvider, "is an ELF file but no shared library")
    }
    try readSegments()
  }

  private mutating func readSegments() throws(TableError) {
    let (table, size, count) = (try number(32, 8), try number(54, 2), try number(56, 2))
    guard size >= 56, count > 0 else { throw TableError(.noProvider, "has no program headers") }
    for index in 0..<count {
      let header = table &+ index * size
      let type = try number(header, 4)
      let (offset, address) = (try number(header + 8, 8), try number(header + 16, 8))
      let length = try number(header + 32, 8)
      guard type == 1 || type == 2 else { continue }
      guard offset <= bytes.count, length <= bytes.count - offset else {
        throw TableError(.noProvider, "is truncated: a segment ends beyond the file")
      }
      if type == 1 {
        segments.append((address, offset, length))
      } else {
        guard dynamic.isEmpty else {
          throw TableError(.noProvider, "is damaged: it has two dynamic sections")
        }
        for entry in stride(from: offset, to: offset + length - 15, by: 16) {
          let tag = try number(entry, 8)
          if tag == 0 { break }
          dynamic[tag] = try number(entry + 8, 8)
        }
      }
    }
  }

  /// An unsigned little-endian number; one above `Int.max` or outside the file is an error.
  private func number(_ offset: Int, _ size: Int) throws(TableError) -> Int {
    guard offset >= 0, offset <= bytes.count - size else {
      throw TableError(.noProvider, "is truncated or damaged")
    }
    var value: UInt64 = 0
    for index in (0..<size).reversed() { value = value << 8 | UInt64(bytes[offset + index]) }
    guard let value = Int(exactly: value) else {
      throw TableError(.noProvider, "is damaged")
    }
    return value
  }

  private func fileOffset(_ address: Int) throws(TableError) -> Int {
    for segment in segments
    where address >= segment.address && address - segment.address < segment.size {
      return segment.offset + (address - segment.address)
    }
    throw TableError(.noProvider, "is damaged: an address lies in no segment")
  }

  /// Looks a name up in the dynamic symbol table.
  private func exportsFunction(_ name: String) throws(TableError) -> Bool {
    guard let strings = dynamic[5], let symbols = dynamic[6] else { return false }
    let stringTable = try fileOffset(strings)
    let symbolTable = try fileOffset(symbols)
    let wanted = Array(name.utf8) + [0]
    for index in 1..<max(1, try symbolCount()) {
      let symbol = symbolTable + index * 24
      // Undefined symbols have section 0; the low four bits of the info are the type, 2 a function.
      guard try number(symbol + 6, 2) != 0, try number(symbol + 4, 1) & 15 == 2 else { continue }
      let at = stringTable + (try number(symbol, 4))
      guard at <= bytes.count - wanted.count else { continue }
      if bytes[at..<at + wanted.count].elementsEqual(wanted) { return true }
    }
    return false
  }

  /// The number of dynamic symbols: no field has it, but both kinds of hash table lead to it.
  private func symbolCount() throws(TableError) -> Int {
    if let hash = dynamic[4] {
      return min(try number(try fileOffset(hash) + 4, 4), bytes.count / 24)
    }
    guard let hash = dynamic[0x6FFF_FEF5] else { return 0 }
    let table = try fileOffset(hash)
    let (buckets, first, bloom) = (
      try number(table, 4), try number(table + 4, 4), try number(table + 8, 4)
    )
    let bucketTable = table + 16 + bloom * 8
    var last = 0
    for bucket in 0..<min(buckets, bytes.count / 4) {
      last = max(last, try number(bucketTable + bucket * 4, 4))
    }
    if last < first { return first }
    // The chain's last entry has its lowest bit set.
    let chains = bucketTable + buckets * 4
    while try number(chains + (last - first) * 4, 4) & 1 == 0 { last += 1 }
    return last + 1
  }
}
