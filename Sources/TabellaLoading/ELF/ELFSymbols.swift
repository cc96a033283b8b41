import Tabella

/// The dynamic symbols, with the hash table and the versions by which the loader finds them.
struct ELFSymbols {
  static let entrySize = 24
  private static let mostVersions = 1 << 16

  private let table: ELFBytes
  private let strings: ELFBytes
  let count: Int

  /// A symbol that the library defines itself.
  struct Definition {
    let address: Int
    let kind: Int
    var isFunction: Bool { kind == 2 }
    /// Whether its address is what a function answers that runs while it is loaded.
    var isIndirect: Bool { kind == 10 }
  }

  init(_ segments: ELFSegments, _ dynamic: ELFDynamic) throws(TableError) {
    guard let address = dynamic[.symbols], dynamic[.symbolEntry] == ELFSymbols.entrySize else {
      throw .damaged("it has no table of symbols")
    }
    count = try ELFSymbols.count(segments, dynamic)
    table = try segments.bytes(
      at: address, count: count * ELFSymbols.entrySize, "its table of symbols")
    strings = dynamic.strings
    for index in 0..<count {
      guard table.word(index * ELFSymbols.entrySize) < strings.count else {
        throw .damaged("a symbol's name lies beyond the string table")
      }
      if let definition = try definition(index), definition.isIndirect {
        guard segments.isCode(definition.address) else {
          throw .damaged("a symbol's resolver lies in no code")
        }
      }
    }
    try checkVersions(segments, dynamic)
  }

  /// What a symbol stands for; nil if it is to be found elsewhere.
  func definition(_ index: Int) throws(TableError) -> Definition? {
    let at = index * ELFSymbols.entrySize
    guard index > 0, table.half(at + 6) != 0 else { return nil }
    return Definition(address: try table.long(at + 8), kind: table.byte(at + 4) & 15)
  }

  /// The definition that others see under a name.
  func exported(_ name: String) throws(TableError) -> Definition? {
    for index in 1..<max(1, count) {
      let at = index * ELFSymbols.entrySize
      let (binding, visibility) = (table.byte(at + 4) >> 4, table.byte(at + 5) & 3)
      // Global, weak or unique; seen by all, or protected.
      guard [1, 2, 10].contains(binding), [0, 3].contains(visibility),
        let definition = try definition(index), strings.has(name, at: table.word(at))
      else { continue }
      return definition
    }
    return nil
  }

  // Hash tables: no field has the number of symbols, but both kinds lead to it.

  private static func count(
    _ segments: ELFSegments, _ dynamic: ELFDynamic
  ) throws(TableError) -> Int {
    // The loader uses the other one only where this one is missing.
    if let address = dynamic[.gnuHash] { return try gnuCount(segments, address) }
    guard let address = dynamic[.hash] else { throw .damaged("it has no hash table") }
    return try plainCount(segments, address)
  }

  private static let what = "its hash table"

  private static func gnuCount(
    _ segments: ELFSegments, _ address: Int
  ) throws(TableError) -> Int {
    let header = try segments.bytes(at: address, count: 16, what)
    let (buckets, first, bloom) = (header.word(0), header.word(4), header.word(8))
    guard buckets > 0, bloom.nonzeroBitCount == 1 else {
      throw .damaged("\(what) has \(buckets) buckets and a filter of \(bloom) words")
    }
    let table = address + 16 + bloom * 8
    _ = try segments.bytes(at: address, count: 16 + bloom * 8, what)
    let starts = try segments.bytes(at: table, count: buckets * 4, what)
    var last = 0
    for bucket in 0..<buckets {
      let start = starts.word(bucket * 4)
      guard start == 0 || start >= first else { throw .damaged("\(what) has a bucket too low") }
      last = max(last, start)
    }
    if last < first { return first }
    // The last chain ends with a number whose lowest bit is set, and so do all before it.
    var at = table + buckets * 4 + (last - first) * 4
    while true {
      let count = min(try segments.room(at: at, what) / 4, 1024)
      let numbers = try segments.bytes(at: at, count: max(count, 1) * 4, what)
      if let end = (0..<count).first(where: { numbers.word($0 * 4) & 1 == 1 }) {
        return last + end + 1
      }
      last += count
      at += count * 4
    }
  }

  private static func plainCount(
    _ segments: ELFSegments, _ address: Int
  ) throws(TableError) -> Int {
    let header = try segments.bytes(at: address, count: 8, what)
    let (buckets, count) = (header.word(0), header.word(4))
    let words = try segments.bytes(at: address + 8, count: (buckets + count) * 4, what)
    guard buckets > 0 else { throw .damaged("\(what) has no buckets") }
    // A symbol is in one chain at most; a chain that runs in circles would never end.
    var steps = 0
    for bucket in 0..<buckets {
      var symbol = words.word(bucket * 4)
      while symbol != 0 {
        steps += 1
        guard symbol < count, steps <= count else { throw .damaged("\(what) has a bad chain") }
        symbol = words.word((buckets + symbol) * 4)
      }
    }
    return count
  }

  // Versions: each symbol has the number of one, which the loader looks up without a second thought.

  private func checkVersions(
    _ segments: ELFSegments, _ dynamic: ELFDynamic
  ) throws(TableError) {
    var highest = 1
    var left = ELFSymbols.mostVersions
    func found(_ version: Int) throws(TableError) {
      highest = max(highest, version)
      left -= 1
      guard left > 0 else { throw .damaged("it has more versions than any library") }
    }
    if let table = try dynamic.table(
      .versionsNeeded, .versionsNeededCount, "its table of needed versions")
    {
      try walk(segments, table, kind: .needed, found)
    }
    if let table = try dynamic.table(
      .versionsDefined, .versionsDefinedCount, "its table of versions")
    {
      try walk(segments, table, kind: .defined, found)
    }
    guard let address = dynamic[.symbolVersions] else {
      guard left == ELFSymbols.mostVersions else {
        throw .damaged("it has versions, but its symbols have none")
      }
      return
    }
    let versions = try segments.bytes(at: address, count: count * 2, "the versions of its symbols")
    for index in 0..<count where versions.half(index * 2) & 0x7FFF > highest {
      throw .damaged("a symbol's version is not there")
    }
  }

  private enum VersionKind { case needed, defined }

  /// Walks through a list of versions and their parts, as far as the loader does: to a distance of 0.
  private func walk(
    _ segments: ELFSegments, _ table: (address: Int, size: Int), kind: VersionKind,
    _ found: (Int) throws(TableError) -> Void
  ) throws(TableError) {
    let what = "a table of versions"
    let headSize = kind == .needed ? 16 : 20
    var at = table.address
    for _ in 0..<table.size {
      let head = try segments.bytes(at: at, count: headSize, what)
      guard head.half(0) == 1 else { throw .damaged("\(what) has another format") }
      let parts: Int
      let next: Int
      switch kind {
      case .needed:
        try checkName(head.word(4))
        try found(1)
        (parts, next) = (head.word(8), head.word(12))
      case .defined:
        try found(head.half(4) & 0x7FFF)
        (parts, next) = (head.word(12), head.word(16))
      }
      try walkParts(segments, at + parts, count: head.half(kind == .needed ? 2 : 6), kind, found)
      if next == 0 { return }
      at += next
    }
    throw .damaged("\(what) has no end")
  }

  private func walkParts(
    _ segments: ELFSegments, _ first: Int, count: Int, _ kind: VersionKind,
    _ found: (Int) throws(TableError) -> Void
  ) throws(TableError) {
    let what = "a version"
    var at = first
    for _ in 0..<count {
      let part = try segments.bytes(at: at, count: kind == .needed ? 16 : 8, what)
      try checkName(part.word(kind == .needed ? 8 : 0))
      try found(kind == .needed ? part.half(6) & 0x7FFF : 1)
      let next = part.word(kind == .needed ? 12 : 4)
      if next == 0 { return }
      at += next
    }
    throw .damaged("\(what) has no end")
  }

  private func checkName(_ place: Int) throws(TableError) {
    guard place < strings.count else {
      throw .damaged("a version's name lies beyond the string table")
    }
  }
}
