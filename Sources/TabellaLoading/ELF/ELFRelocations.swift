import Tabella

/// What the loader writes into a library before any of its code runs, and the functions that it then
/// calls by itself.
struct ELFRelocations {
  private enum Kind {
    /// The address of a symbol.
    case symbol
    /// The address that the addend says.
    case relative
    /// What a function at the addend answers, which is called for it.
    case indirect
    /// Two words.
    case pair
    case copy, none, other

    init(_ number: Int) {
      #if arch(x86_64)
        self =
          switch number {
          case 0: .none
          case 1, 6, 7: .symbol
          case 5: .copy
          case 8, 38: .relative
          case 36: .pair
          case 37: .indirect
          default: .other
          }
      #elseif arch(arm64)
        self =
          switch number {
          case 0: .none
          case 257, 1025, 1026: .symbol
          case 1024: .copy
          case 1027: .relative
          case 1031: .pair
          case 1032: .indirect
          default: .other
          }
      #endif
    }
  }

  private static let entrySize = 24

  private let segments: ELFSegments
  private let symbols: ELFSymbols
  private let writable: [(address: Int, size: Int)]
  /// The lists of functions that are called after loading and at the end.
  private var calls: [ELFCalls] = []

  /// Checks all of them.
  static func check(
    _ segments: ELFSegments, _ dynamic: ELFDynamic, _ symbols: ELFSymbols
  ) throws(TableError) {
    var relocations = ELFRelocations(
      segments: segments, symbols: symbols, writable: segments.writable)
    for (address, size) in [
      (ELFDynamic.Tag.initializers, ELFDynamic.Tag.initializersSize),
      (.finalizers, .finalizersSize),
    ] {
      guard let table = try dynamic.table(address, size, "a list of functions") else { continue }
      relocations.calls.append(try ELFCalls(segments, table))
    }
    try relocations.checkTables(dynamic)
    for calls in relocations.calls { try calls.check(segments) }
    for tag in [ELFDynamic.Tag.initialization, .finalization] {
      guard let function = dynamic[tag], function != 0 else { continue }
      guard segments.isCode(function) else { throw .damaged("its \(tag) lies in no code") }
    }
  }

  private mutating func checkTables(_ dynamic: ELFDynamic) throws(TableError) {
    guard dynamic[.otherRelocations] == nil else {
      throw .damaged("its relocations are of another machine")
    }
    if let table = try dynamic.table(.relocations, .relocationsSize, "its table of relocations") {
      guard dynamic[.relocationEntry] == ELFRelocations.entrySize else {
        throw .damaged("its relocations have another size")
      }
      try check(table, relative: dynamic[.relativeCount] ?? 0)
    }
    if let table = try dynamic.table(.jumps, .jumpSize, "its table of calls") {
      guard dynamic[.jumpKind] == ELFDynamic.Tag.relocations.rawValue else {
        throw .damaged("its calls are of another kind")
      }
      try check(table, relative: 0)
    }
    if let table = try dynamic.table(.packed, .packedSize, "its packed relocations") {
      guard dynamic[.packedEntry] == 8 else {
        throw .damaged("its packed relocations have another size")
      }
      try checkPacked(table)
    }
  }

  /// The first `relative` ones are done as such, whatever they say they are.
  private mutating func check(
    _ table: (address: Int, size: Int), relative: Int
  ) throws(TableError) {
    let count = table.size / ELFRelocations.entrySize
    guard table.size % ELFRelocations.entrySize == 0, relative <= count else {
      throw .damaged("its table of relocations ends in the middle of one")
    }
    let entries = try segments.bytes(
      at: table.address, count: table.size, "its table of relocations")
    for index in 0..<count {
      let at = index * ELFRelocations.entrySize
      let kind = Kind(entries.word(at + 8))
      guard kind == .relative || index >= relative else {
        throw .damaged("a relocation is not relative, although it is said to be")
      }
      if kind == .none { continue }
      guard entries.word(at + 12) < max(symbols.count, 1) else {
        throw .damaged("a relocation is of a symbol that is not there")
      }
      guard kind != .copy else { throw .damaged("it has a relocation that programs alone have") }
      let place = try entries.long(at)
      try checkPlace(place, size: kind == .pair ? 16 : 8)
      try note(
        kind, at: place, addend: entries.signed(at + 16), symbol: entries.word(at + 12))
    }
  }

  private func checkPlace(_ place: Int, size: Int) throws(TableError) {
    let dynamic = segments.dynamicAddress
    guard place + size <= dynamic || place >= dynamic + segments.dynamic.count else {
      throw .damaged("a relocation is of the dynamic section")
    }
    for segment in writable
    where place >= segment.address && place - segment.address <= segment.size - size {
      return
    }
    throw .damaged("a relocation is of what lies in no writable segment")
  }

  /// Notes what the loader would write where functions to call are.
  private mutating func note(
    _ kind: Kind, at place: Int, addend: Int, symbol: Int
  ) throws(TableError) {
    switch kind {
    case .indirect:
      guard segments.isCode(addend) else { throw .damaged("a resolver lies in no code") }
      note(.elsewhere, at: place)
    case .relative: note(.here(addend), at: place)
    case .symbol:
      let definition = try symbols.definition(symbol)
      let target = definition?.address.addingReportingOverflow(addend)
      guard target?.overflow != true else { throw .damaged("a relocation's sum is too large") }
      note(target.map { .here($0.partialValue) } ?? .elsewhere, at: place)
    default: break
    }
  }

  private mutating func note(_ target: ELFCalls.Target, at place: Int) {
    for index in calls.indices where calls[index].contains(place) {
      calls[index].set(target, at: place)
    }
  }

  /// Relative ones whose addends stand in place: an even number is the address of one, an odd one has a
  /// bit for each of the 63 words that follow.
  private mutating func checkPacked(
    _ table: (address: Int, size: Int)
  ) throws(TableError) {
    guard table.size % 8 == 0 else { throw .damaged("its packed relocations have no end") }
    let entries = try segments.bytes(
      at: table.address, count: table.size, "its packed relocations")
    var next: Int?
    func check(_ place: Int) throws(TableError) {
      try checkPlace(place, size: 8)
    }
    for at in stride(from: 0, to: entries.count, by: 8) {
      let bits = entries.bits(at)
      if bits & 1 == 0 {
        let place = try entries.long(at)
        try check(place)
        noteInPlace(place)
        next = place + 8
        continue
      }
      guard let first = next else { throw .damaged("its packed relocations begin with a bitmap") }
      for bit in 1..<64 where bits >> UInt64(bit) & 1 == 1 {
        let place = first + (bit - 1) * 8
        try check(place)
        noteInPlace(place)
      }
      next = first + 63 * 8
    }
  }

  private mutating func noteInPlace(_ place: Int) {
    for index in calls.indices where calls[index].contains(place) {
      calls[index].setInPlace(place)
    }
  }
}

/// A list of functions that the loader calls.
private struct ELFCalls {
  enum Target {
    /// In this library, or where its addresses lead.
    case here(Int)
    /// In another one.
    case elsewhere
  }

  private let address: Int
  private let words: ELFBytes
  private var targets: [Target?]

  init(_ segments: ELFSegments, _ table: (address: Int, size: Int)) throws(TableError) {
    guard table.size % 8 == 0, table.address % 8 == 0 else {
      throw .damaged("a list of functions is not aligned")
    }
    address = table.address
    words = try segments.bytes(at: table.address, count: table.size, "a list of functions")
    targets = Array(repeating: nil, count: table.size / 8)
  }

  /// Whether a place is in the list: few are, and to ask costs less than to change a list.
  func contains(_ place: Int) -> Bool { place >= address && place - address < words.count }

  mutating func set(_ target: Target, at place: Int) {
    if let index = index(place) { targets[index] = target }
  }

  mutating func setInPlace(_ place: Int) {
    if let index = index(place) { targets[index] = .here(words.signed(index * 8)) }
  }

  private func index(_ place: Int) -> Int? {
    let distance = place - address
    return distance >= 0 && distance % 8 == 0 && distance / 8 < targets.count ? distance / 8 : nil
  }

  func check(_ segments: ELFSegments) throws(TableError) {
    for target in targets {
      switch target {
      case .elsewhere: continue
      case .here(let address) where address >= 0 && segments.isCode(address): continue
      default: throw .damaged("a function that it wants to be called lies in no code")
      }
    }
  }
}
