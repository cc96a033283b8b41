import Glibc

/// The sort keys of one column.
struct SortColumn {
  /// The kinds of keys, in the order of sorting. In both directions, keys of one kind precede all keys of the next.
  enum Rank: UInt8, CaseIterable { case number, text, missing }

  /// A key without the part that distinguishes few keys. If two keys differ, they have the order of the cells.
  struct Key: Comparable {
    var rank: Rank
    var word: UInt64

    static func < (left: Key, right: Key) -> Bool {
      (left.rank.rawValue, left.word) < (right.rank.rawValue, right.word)
    }
  }

  /// A key that is compared with those of many rows.
  struct Bound {
    fileprivate let key: Key
    /// The start of the code of its text, up to ``longest`` bytes; empty if the key is no text.
    fileprivate let code: [UInt8]

    /// Longer codes seldom begin with the same bytes.
    fileprivate static let longest = 64
  }

  let isDescending: Bool
  private let source: Column
  /// Whether the texts are numbers, and empty text is missing.
  private let isNumber: Bool

  /// For each row, its number as a word with the same order, or the first eight bytes of its text's code.
  private var words: [UInt64] = []
  /// The rank of each row; empty while all rows have the same.
  private(set) var ranks: [UInt8] = []
  private var rank: Rank?
  /// The rest of each text's code, or the whole text of a number that has more digits than its double.
  private var rests: [UInt8] = []
  /// The end in ``rests`` for each row; empty while no row has a rest.
  private var ends = ByteOffsets()
  private var hasLongNumbers = false

  init(_ source: Column, isDescending: Bool) {
    self.source = source
    self.isDescending = isDescending
    // Text that reads as numbers is compared with all its digits, which a value might not hold.
    isNumber = source.type == .text && (source.reads == .real || source.reads == .integer)
  }

  /// The cells to append keys of.
  func values(_ cells: ColumnBatch) -> ColumnBatch { isNumber ? cells : source.values(of: cells) }

  mutating func append(_ cells: ColumnBatch) {
    let cells = values(cells)
    makeRoom(for: cells.count)
    for row in 0..<cells.count { append(cells, row) }
  }

  /// Adds the rows of other keys of the same column.
  mutating func merge(_ next: SortColumn) {
    guard !next.words.isEmpty else { return }
    if words.isEmpty { rank = next.rank }
    makeRoom(for: next.words.count)
    if !ranks.isEmpty || !next.ranks.isEmpty || rank != next.rank {
      spreadRanks()
      ranks.makeRoom(for: next.words.count)
      ranks +=
        next.ranks.isEmpty
        ? Array(repeating: (next.rank ?? .missing).rawValue, count: next.words.count) : next.ranks
    }
    if !ends.isEmpty || !next.ends.isEmpty {
      beginEnds()
      ends.makeRoom(for: next.words.count)
      for row in next.words.indices {
        ends.append(rests.count + (next.ends.isEmpty ? 0 : next.ends[row]))
      }
      rests.makeRoom(for: next.rests.count)
      rests += next.rests
    }
    hasLongNumbers = hasLongNumbers || next.hasLongNumbers
    words += next.words
  }

  /// Ensures room for more rows, and for `bytes` of the rests of their texts.
  mutating func makeRoom(for more: Int, bytes: Int = 0) {
    words.makeRoom(for: more)
    if !ends.isEmpty { ends.makeRoom(for: more) }
    rests.makeRoom(for: bytes)
  }

  /// Appends some rows of a batch.
  mutating func append(_ cells: ColumnBatch, _ rows: [Int]) {
    let cells = values(cells)
    for row in rows { append(cells, row) }
  }

  @inline(__always)
  private mutating func append(_ cells: ColumnBatch, _ row: Int) {
    if cells.missingCount > 0, cells.isMissing(row) { return append(0, .missing) }
    switch cells.type {
    case .text, .binary: cells.withBytes(at: row) { append($0, isBinary: cells.type == .binary) }
    default: append(SortColumn.word(cells, row), .number)
    }
  }

  /// Appends text or binary, as the type of the column says.
  mutating func append(bytes: UnsafeRawBufferPointer) {
    append(bytes, isBinary: source.type == .binary)
  }

  mutating func append(_ cell: Cell) {
    switch cell {
    case .missing: append(0, .missing)
    case .text(let bytes), .binary(let bytes): bytes.withUnsafeBytes { append(bytes: $0) }
    case .integer(let value): append(SortColumn.word(value), .number)
    case .date(let time): append(SortColumn.word(time.nanoseconds), .number)
    case .real(let value): append(value.orderedBits, .number)
    case .boolean(let value): append(value ? 1 : 0, .number)
    }
  }

  /// The key of a cell of ``values(_:)``.
  func key(_ cells: ColumnBatch, _ row: Int) -> Key {
    if cells.missingCount > 0, cells.isMissing(row) { return Key(rank: .missing, word: 0) }
    let turn: UInt64 = isDescending ? .max : 0
    guard cells.type.isBytes else {
      return Key(rank: .number, word: SortColumn.word(cells, row) ^ turn)
    }
    return cells.withBytes(at: row) { text in
      if cells.type == .text {
        if let number = NumberText(text, hasComma: source.hasDecimalComma) {
          return Key(rank: .number, word: number.value.orderedBits ^ turn)
        }
        if isNumber { return Key(rank: .missing, word: 0) }
      }
      return Key(rank: .text, word: SortColumn.prefix(text, isBinary: cells.type == .binary) ^ turn)
    }
  }

  /// The key of a row, as a bound for other rows.
  func bound(ofRow row: Int) -> Bound {
    let rank = ranks.isEmpty ? rank : Rank(rawValue: ranks[row])
    let turn: UInt64 = isDescending && rank != .missing ? .max : 0
    var code: [UInt8] = []
    if rank == .text {
      code = withUnsafeBytes(of: words[row].bigEndian) { Array($0) }
      if !ends.isEmpty { code += rests[(row == 0 ? 0 : ends[row - 1])..<ends[row]] }
    }
    return Bound(
      key: Key(rank: rank ?? .missing, word: words[row] ^ turn),
      code: Array(code.prefix(Bound.longest)))
  }

  /// The rows whose keys do not come after a bound, as far as the start of their codes says. `cells` are those of
  /// ``values(_:)``.
  func rows(_ cells: ColumnBatch, upTo bound: Bound) -> [Int] {
    (0..<cells.count).filter { row in
      let key = key(cells, row)
      return key == bound.key ? !comesAfter(bound, cells, row) : key < bound.key
    }
  }

  /// Whether the code of a text comes after that of a bound, which begins with the same word.
  private func comesAfter(_ bound: Bound, _ cells: ColumnBatch, _ row: Int) -> Bool {
    let count = bound.code.count
    guard count > SortColumn.wordSize else { return false }
    return cells.withBytes(at: row) { text in
      SortColumn.withCode(text, cells.type == .binary, limit: count) { code in
        bound.code.withUnsafeBytes { bound in
          let order = memcmp(code.baseAddress!, bound.baseAddress!, min(code.count, count))
          return isDescending ? order < 0 : order > 0
        }
      }
    }
  }

  /// Removes all other rows. `rows` is in ascending order.
  mutating func keep(_ rows: [UInt32]) {
    words = rows.map { words[Int($0)] }
    if !ranks.isEmpty { ranks = rows.map { ranks[Int($0)] } }
    guard !ends.isEmpty else { return }
    let (oldRests, oldEnds) = (rests, ends)
    (rests, ends) = ([], ByteOffsets())
    for row in rows {
      rests += oldRests[(row == 0 ? 0 : oldEnds[Int(row) - 1])..<oldEnds[Int(row)]]
      ends.append(rests.count)
    }
  }

  mutating func removeAll() { self = SortColumn(source, isDescending: isDescending) }

  /// Removes the words, for a caller that needs them in another way.
  mutating func takeWords() -> [UInt64] {
    var taken: [UInt64] = []
    swap(&taken, &words)
    return taken
  }

  // Words

  private static func word(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }

  @inline(__always)
  private static func word(_ cells: ColumnBatch, _ row: Int) -> UInt64 {
    switch cells.type {
    case .real: cells.real(row).orderedBits
    case .boolean: cells.boolean(row) ? 1 : 0
    default: word(cells.integer(row))
    }
  }

  /// The number of bytes of a code in a word.
  static let wordSize = MemoryLayout<UInt64>.size

  private static func prefix(_ text: UnsafeRawBufferPointer, isBinary: Bool) -> UInt64 {
    withCode(text, isBinary, limit: wordSize) {
      $0.baseAddress!.loadUnaligned(as: UInt64.self).bigEndian
    }
  }

  /// Calls `body` with a code, followed by at least eight zeros.
  @inline(__always)
  private static func withCode<R>(
    _ text: UnsafeRawBufferPointer, _ isBinary: Bool, limit: Int = .max,
    _ body: (UnsafeRawBufferPointer) -> R
  ) -> R {
    let capacity = NaturalCode.capacity(for: text.count, limit: limit)
    return withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { place in
      let start = place.baseAddress!
      let count =
        isBinary
        ? NaturalCode.write(bytes: text, to: start, limit: limit)
        : NaturalCode.write(text, to: start, limit: limit)
      start.storeBytes(of: 0, toByteOffset: count, as: UInt64.self)
      return body(UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  // Rows

  private mutating func append(_ text: UnsafeRawBufferPointer, isBinary: Bool) {
    if !isBinary {
      if let number = NumberText(text, hasComma: source.hasDecimalComma) {
        if !number.isShort {
          hasLongNumbers = true
          keep(text)
        }
        return append(number.value.orderedBits, .number)
      }
      if isNumber { return append(0, .missing) }
    }
    let word = SortColumn.withCode(text, isBinary) { code in
      if code.count > SortColumn.wordSize {
        keep(UnsafeRawBufferPointer(rebasing: code[SortColumn.wordSize...]))
      }
      return code.baseAddress!.loadUnaligned(as: UInt64.self).bigEndian
    }
    append(word, .text)
  }

  /// Stores the rest of the row that is appended next.
  private mutating func keep(_ rest: UnsafeRawBufferPointer) {
    beginEnds()
    rests.makeRoom(for: rest.count)
    rests.append(contentsOf: rest)
  }

  /// Stores an end for each row, if there is none yet.
  private mutating func beginEnds() {
    guard ends.isEmpty else { return }
    ends.makeRoom(for: words.capacity)
    for _ in words { ends.append(0) }
  }

  @inline(__always)
  private mutating func append(_ word: UInt64, _ rank: Rank) {
    if rank != self.rank { note(rank) }
    if !ranks.isEmpty { ranks.append(rank.rawValue) }
    words.append(word)
    if !ends.isEmpty || !rests.isEmpty { ends.append(rests.count) }
  }

  /// Notes a rank that is not the rank of all rows.
  private mutating func note(_ rank: Rank) {
    if self.rank != nil { spreadRanks() } else { self.rank = rank }
  }

  /// Stores the rank of each row, which is the same so far.
  private mutating func spreadRanks() {
    guard let rank, ranks.isEmpty else { return }
    ranks.makeRoom(for: words.capacity)
    ranks += repeatElement(rank.rawValue, count: words.count)
  }
}

extension SortColumn {
  /// The keys of a column in memory, for a sort.
  struct View {
    /// The rank of all rows, if ``ranks`` is nil.
    let rank: Rank
    let ranks: UnsafePointer<UInt8>?
    /// Nil if the words were taken.
    let words: UnsafePointer<UInt64>?
    /// All bits are 1 if the order is descending.
    let turn: UInt64
    let hasLongNumbers: Bool
    private let rests: UnsafeRawBufferPointer
    private let low: UnsafePointer<UInt32>?
    private let high: UnsafePointer<UInt8>?

    fileprivate init(
      _ column: SortColumn, ranks: UnsafePointer<UInt8>?, words: UnsafePointer<UInt64>?,
      rests: UnsafeRawBufferPointer, low: UnsafePointer<UInt32>?, high: UnsafePointer<UInt8>?
    ) {
      rank = column.rank ?? .missing
      turn = column.isDescending ? .max : 0
      hasLongNumbers = column.hasLongNumbers
      (self.ranks, self.words, self.rests, self.low, self.high) = (ranks, words, rests, low, high)
    }

    /// The bytes of a row's code after the first word, or the text of a long number.
    @inline(__always)
    func rest(_ row: UInt32) -> UnsafeRawBufferPointer {
      guard let low else { return UnsafeRawBufferPointer(rebasing: rests[..<0]) }
      let start = row == 0 ? 0 : offset(low, Int(row) - 1)
      return UnsafeRawBufferPointer(rebasing: rests[start..<offset(low, Int(row))])
    }

    @inline(__always)
    private func offset(_ low: UnsafePointer<UInt32>, _ row: Int) -> Int {
      guard let high else { return Int(low[row]) }
      return Int(high[row]) << 32 | Int(low[row])
    }

    /// A word of the rest: the eight bytes from an offset on, with zeros after the end.
    @inline(__always)
    func word(ofRest row: UInt32, at offset: Int) -> UInt64 {
      let rest = rest(row)
      let count = rest.count - offset
      if count >= wordSize {
        return rest.loadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian
      }
      var word: UInt64 = 0
      for index in 0..<max(0, count) {
        word |= UInt64(rest[offset + index]) << UInt64(56 - 8 * index)
      }
      return word
    }
  }

  /// Calls `body` with the keys, which stay where they are during the call.
  func withView(_ body: (View) -> Void) {
    ranks.withUnsafeBufferPointer { ranks in
      words.withUnsafeBufferPointer { words in
        rests.withUnsafeBytes { rests in
          ends.low.withUnsafeBufferPointer { low in
            ends.high.withUnsafeBufferPointer { high in
              body(
                View(
                  self, ranks: ranks.isEmpty ? nil : ranks.baseAddress,
                  words: words.isEmpty ? nil : words.baseAddress, rests: rests,
                  low: low.isEmpty ? nil : low.baseAddress,
                  high: high.isEmpty ? nil : high.baseAddress))
            }
          }
        }
      }
    }
  }
}
