import Tabella

/// The dynamic symbols of an ELF file.
struct ELFSymbols {
  private static let entrySize = 24
  private static let function = 2

  private let table: ELFBytes
  private let strings: ELFBytes
  private let count: Int

  init(_ segments: ELFSegments, _ dynamic: ELFDynamic) throws(TableError) {
    guard let address = dynamic[.symbols], dynamic[.symbolEntry] == ELFSymbols.entrySize else {
      throw .damaged("it has no table of symbols")
    }
    count = try ELFSymbols.count(segments, dynamic)
    table = try segments.bytes(
      at: address, count: count * ELFSymbols.entrySize, "its table of symbols")
    strings = dynamic.strings
  }

  /// Whether the library defines and exports a function of this name.
  func exportsFunction(_ name: String) -> Bool {
    (1..<max(1, count)).contains { index in
      let at = index * ELFSymbols.entrySize
      let (kind, binding) = (table.byte(at + 4) & 15, table.byte(at + 4) >> 4)
      let isDefined = table.half(at + 6) != 0
      // The binding is global, weak or unique. The visibility is default or protected.
      let isVisible = [1, 2, 10].contains(binding) && [0, 3].contains(table.byte(at + 5) & 3)
      let place = table.word(at)
      return kind == ELFSymbols.function && isDefined && isVisible && place < strings.count
        && strings.has(name, at: place)
    }
  }

  // The number of symbols. No field contains it, but both kinds of hash tables lead to it.

  private static func count(
    _ segments: ELFSegments, _ dynamic: ELFDynamic
  ) throws(TableError) -> Int {
    // The loader uses the other kind only if the file lacks this one.
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
    // In the last chain, the first number with its lowest bit set belongs to the last symbol.
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
    // A symbol is in at most one chain. Without a limit, a circular chain would never end.
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
}
