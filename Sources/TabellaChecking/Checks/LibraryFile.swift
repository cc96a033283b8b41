import Tabella
import TabellaFiles

/// Facts about a shared library that a host does not need, read from its file without running it. They lead to advice
/// for authors.
///
/// The host has already checked the file, so missing or damaged parts just yield no facts.
struct LibraryFile {
  private let bytes: [UInt8]
  private var segments: [(address: Int, offset: Int, size: Int)] = []
  private var dynamic: [Int: [Int]] = [:]

  init(_ path: String) throws(TableError) {
    let file = try OpenFile(path: Array(path.utf8))
    bytes = try file.bytes().bytes(at: 0, count: file.fingerprint.size)
    guard let table = number(32, 8), let size = number(54, 2), let count = number(56, 2) else {
      return
    }
    for index in 0..<count {
      let header = table &+ index &* size
      guard let type = number(header, 4), let offset = number(header &+ 8, 8),
        let address = number(header &+ 16, 8), let length = number(header &+ 32, 8)
      else { return }
      if type == 1 { segments.append((address, offset, length)) }
      guard type == 2 else { continue }
      for entry in stride(from: offset, to: offset &+ length, by: 16) {
        guard let tag = number(entry, 8), tag != 0, let value = number(entry &+ 8, 8) else { break }
        dynamic[tag, default: []].append(value)
      }
    }
  }

  /// An unsigned little-endian number of `size` bytes; nil outside the file.
  private func number(_ offset: Int, _ size: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - size else { return nil }
    var value: UInt64 = 0
    for index in (0..<size).reversed() { value = value << 8 | UInt64(bytes[offset + index]) }
    return Int(truncatingIfNeeded: value)
  }

  private func offset(of address: Int) -> Int? {
    segments.first { address >= $0.address && address - $0.address < $0.size }
      .map { $0.offset &+ (address - $0.address) }
  }

  private func text(at offset: Int) -> String? {
    guard bytes.indices.contains(offset) else { return nil }
    return String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
  }

  /// A string of the dynamic section, by its offset in the string table.
  private func string(_ place: Int) -> String? {
    dynamic[5]?.first.flatMap { offset(of: $0) }.flatMap { text(at: $0 &+ place) }
  }

  /// The folders in which the loader looks for the library's dependencies: RUNPATH and RPATH.
  var searchPaths: [String] {
    ((dynamic[29] ?? []) + (dynamic[15] ?? [])).compactMap { string($0) }
      .flatMap { $0.split(separator: ":").map(String.init) }
  }

  /// Whether the library requests never to be unmapped (`DF_1_NODELETE`).
  var isNeverUnmapped: Bool { (dynamic[0x6FFF_FFFB]?.first ?? 0) & 8 != 0 }

  /// Symbols that linkers add on their own.
  private static let linkersOwn: Set<String> = [
    "__bss_start", "_edata", "_end", "edata", "end", "_init", "_fini",
  ]

  /// The sorted names of the exported functions and variables.
  var exports: [String] {
    guard let symbols = section(type: 11), let strings = section(symbols.link) else { return [] }
    var names: [String] = []
    for symbol in stride(from: symbols.offset, to: symbols.offset &+ symbols.size, by: 24) {
      guard let name = number(symbol, 4), let info = number(symbol &+ 4, 1),
        let home = number(symbol &+ 6, 2)
      else { break }
      // Defined here, global or weak, and a function or a variable.
      guard home != 0, [1, 2, 10].contains(info >> 4), [0, 1, 2, 10].contains(info & 15),
        let text = text(at: strings.offset &+ name), !LibraryFile.linkersOwn.contains(text)
      else { continue }
      names.append(text)
    }
    return names.sorted()
  }

  // Sections, which a stripped library may lack

  private struct Section {
    var name: Int
    var type: Int
    var address: Int
    var offset: Int
    var size: Int
    var link: Int
  }

  private func section(_ number: Int) -> Section? {
    guard let table = self.number(40, 8), table > 0, let size = self.number(58, 2),
      let count = self.number(60, 2), number < count
    else { return nil }
    let at = table &+ number &* size
    guard let name = self.number(at, 4), let type = self.number(at &+ 4, 4),
      let address = self.number(at &+ 16, 8), let offset = self.number(at &+ 24, 8),
      let length = self.number(at &+ 32, 8), let link = self.number(at &+ 40, 4)
    else { return nil }
    return Section(
      name: name, type: type, address: address, offset: offset, size: length, link: link)
  }

  private var sections: [Section] {
    (0..<(number(60, 2) ?? 0)).compactMap { section($0) }
  }

  private func section(type: Int) -> Section? { sections.first { $0.type == type } }

  private func section(named wanted: String) -> Section? {
    guard let names = number(62, 2).flatMap({ section($0) }) else { return nil }
    return sections.first { text(at: names.offset &+ $0.name) == wanted }
  }

  /// The number of retroactive conformances: types of other modules to protocols of other modules. They affect the
  /// whole process.
  ///
  /// The layout is Swift's `ProtocolConformanceDescriptor`: four relative numbers. The last contains the flags, and bit
  /// 6 means retroactive.
  var retroactiveConformances: Int {
    guard let list = section(named: "swift5_protocol_conformances") else { return 0 }
    var count = 0
    for place in stride(from: 0, to: list.size, by: 4) {
      guard let relative = number(list.offset &+ place, 4),
        let flags = offset(of: list.address &+ place &+ signed(relative)).flatMap({
          number($0 &+ 12, 4)
        })
      else { continue }
      if flags & (1 << 6) != 0 { count += 1 }
    }
    return count
  }

  private func signed(_ number: Int) -> Int { Int(Int32(truncatingIfNeeded: number)) }
}
