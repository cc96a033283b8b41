import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Difficult cells of all kinds: missing, mixed, not UTF-8.
enum AwkwardCells {
  static let texts: [[UInt8]] =
    [
      "", "a", "A", "b", "a1", "a01", "a001", "a10", "a9", "a 9", "10", "9", "-1", "1e1", "10.0",
      "+5",
      " 7 ", "07", "1.", ".5", "Éa", "é", "ab\n", "a\u{0}", "99999999999999999999999", "file10b2",
      "file9b20", "2024-02-29", "2024-02-29T10:00:00Z", "2024-02-29 10:00", "-0", "0", "true", "~",
      "#x",
    ].map { Array($0.utf8) } + [[0xFF], [0xFF, 0x31], [0xC3], [0x61, 0xFE]]

  static func cell(_ type: ColumnType, _ generator: inout SeededGenerator) -> Cell {
    if Int.random(in: 0..<6, using: &generator) == 0 { return .missing }
    switch type {
    case .text: return .text(texts.randomElement(using: &generator)!)
    case .binary: return .binary(texts.randomElement(using: &generator)!)
    case .boolean: return .boolean(.random(using: &generator))
    case .integer:
      return .integer(
        ([.min, .max, 0] + (-3...12).map { Int64($0) }).randomElement(using: &generator)!)
    case .real:
      return .real(
        [0, -0.0, 1.5, -2, .nan, .infinity, -.infinity, 1e300, 2, 9.99, 0.5].randomElement(
          using: &generator)!)
    case .date:
      return .date(
        Timestamp(
          nanoseconds: [.min, .max, 0, -1, 1_709_164_800_000_000_000, 1_709_200_000_000_000_001]
            .randomElement(using: &generator)!))
    }
  }

  static func batch(
    _ columns: [[Cell]], _ types: [ColumnType], rowCount: Int? = nil
  ) -> Batch {
    let builder = BatchBuilder(types)
    for (column, cells) in zip(builder.columns, columns) {
      for cell in cells { column.append(cell) }
    }
    return builder.finish(rowCount: rowCount ?? columns.first?.count ?? 0)
  }
}

/// The order of cells, implemented naively.
enum NaiveOrder {
  /// The code of a text.
  static func code(_ text: UnsafeRawBufferPointer, limit: Int = .max) -> [UInt8] {
    code(text.count, limit) { NaturalCode.write(text, to: $0, limit: limit) }
  }

  /// The code of binary.
  static func code(bytes: UnsafeRawBufferPointer, limit: Int = .max) -> [UInt8] {
    code(bytes.count, limit) { NaturalCode.write(bytes: bytes, to: $0, limit: limit) }
  }

  private static func code(
    _ count: Int, _ limit: Int, _ write: (UnsafeMutableRawPointer) -> Int
  ) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: NaturalCode.capacity(for: count, limit: limit))
    let written = code.withUnsafeMutableBytes { write($0.baseAddress!) }
    precondition(written + MemoryLayout<UInt64>.size <= code.count, "a code is too long")
    return Array(code.prefix(written))
  }

  /// Compiled once, because a literal is compiled at each evaluation.
  nonisolated(unsafe) private static let numberForm =
    /[+-]?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?/

  static func number(_ text: [UInt8]) -> Double? {
    let string = String(decoding: text, as: UTF8.self).drop { $0 == " " }
    var trimmed = string
    while trimmed.last == " " { trimmed.removeLast() }
    guard trimmed.wholeMatch(of: numberForm) != nil else { return nil }
    return Double(trimmed.first == "+" ? trimmed.dropFirst() : trimmed)
  }

  /// Pieces that are compared in order: sequences of digits, and single bytes.
  private static func pieces(_ text: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    for byte in text {
      let isDigit = 48...57 ~= byte
      if isDigit, let last = pieces.last?.last, 48...57 ~= last {
        pieces[pieces.count - 1].append(byte)
      } else {
        pieces.append([byte])
      }
    }
    return pieces
  }

  static func natural(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var zeros = 0
    let (first, second) = (pieces(left), pieces(right))
    for (a, b) in zip(first, second) {
      if 48...57 ~= a[0], 48...57 ~= b[0] {
        func value(_ digits: [UInt8]) -> [UInt8] { Array(digits.drop { $0 == 48 }) }
        let (x, y) = (value(a), value(b))
        if x.count != y.count { return x.count - y.count }
        if x != y { return x.lexicographicallyPrecedes(y) ? -1 : 1 }
        if zeros == 0 { zeros = a.count - b.count }
      } else {
        func fold(_ byte: UInt8) -> UInt8 { 65...90 ~= byte ? byte + 32 : byte }
        if fold(a[0]) != fold(b[0]) { return Int(fold(a[0])) - Int(fold(b[0])) }
      }
    }
    if first.count != second.count { return first.count - second.count }
    if zeros != 0 { return zeros }
    return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
  }

  /// The rank of a cell, and its value if it is a number.
  private static func rank(_ cell: Cell) -> (Int, Double) {
    switch cell {
    case .missing: (2, 0)
    case .text(let text): number(text).map { (0, $0) } ?? (1, 0)
    case .binary: (1, 0)
    case .real(let value): value.isNaN ? (0, .nan) : (0, value)
    case .boolean(let value): (0, value ? 1 : 0)
    case .integer, .date: (0, 0)
    }
  }

  static func compare(_ left: Cell, _ right: Cell, isDescending: Bool = false) -> Int {
    let (a, b) = (rank(left), rank(right))
    if a.0 != b.0 { return a.0 - b.0 }
    let order: Int
    switch (left, right) {
    case (.integer(let x), .integer(let y)): order = x < y ? -1 : x > y ? 1 : 0
    case (.date(let x), .date(let y)): order = x < y ? -1 : x > y ? 1 : 0
    case (.text(let x), .text(let y)) where a.0 == 1: order = natural(x, y)
    case (.binary(let x), .binary(let y)):
      order = x == y ? 0 : x.lexicographicallyPrecedes(y) ? -1 : 1
    default:
      let (x, y) = (a.1, b.1)
      order =
        x.isNaN || y.isNaN ? (x.isNaN ? 1 : 0) - (y.isNaN ? 1 : 0) : x < y ? -1 : x > y ? 1 : 0
    }
    return isDescending ? -order : order
  }
}

@Suite struct SortKeysTests {
  /// Sorted rows equal those of a stable sort of the cells themselves.
  @Test(arguments: sample(40, of: 0..<150))
  func rowsAreSortedAsCellsAre(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = (0..<3).map { _ in ColumnType.allCases.randomElement(using: &generator)! }
    let count = Int.random(in: 0...80, using: &generator)
    let cells = types.map { type in
      (0..<count).map { _ in AwkwardCells.cell(type, &generator) }
    }
    let descriptors = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
      SortDescriptor(
        column: Int.random(in: 0..<3, using: &generator),
        isDescending: .random(using: &generator))
    }
    expectNaiveOrder(
      of: cells, types, by: descriptors, cut: Int.random(in: 0...count, using: &generator))
  }

  /// Sorts rows by their keys and by comparing cells.
  private func expectNaiveOrder(
    of cells: [[Cell]], _ types: [ColumnType], by descriptors: [SortDescriptor], cut: Int
  ) {
    let count = cells[0].count
    var keys = SortKeys(descriptors, in: types.map { Column("c", $0) })
    let wanted = keys.columns
    let naive = (0..<count).sorted { left, right in
      for descriptor in descriptors {
        let order = NaiveOrder.compare(
          cells[descriptor.column][left], cells[descriptor.column][right],
          isDescending: descriptor.isDescending)
        if order != 0 { return order < 0 }
      }
      return left < right
    }
    // Sorting removes the rows. A second sort once wrote to memory that the keys no longer had.
    for _ in 0..<2 {
      for part in [0..<cut, cut..<count] {
        keys.append(
          AwkwardCells.batch(wanted.map { Array(cells[$0][part]) }, wanted.map { types[$0] }))
      }
      var cancelled = keys
      #expect(cancelled.sortedRows { true } == nil)
      #expect(cancelled.sortedRows { false } == [])
      #expect(keys.sortedRows { false }?.map { Int($0) } == naive)
      #expect(keys.count == 0)
    }
  }

  /// Texts that differ around the ends of words are sorted as cells are: after shared beginnings of any length, with
  /// bytes that have a meaning in codes, and in columns with other directions and types.
  @Test(arguments: sample(20, of: 0..<60))
  func textsAreSortedAtTheEdgesOfWords(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = (0..<3).map { _ in
      [ColumnType.text, .text, .binary, .integer].randomElement(using: &generator)!
    }
    let count = Int.random(in: 100...200, using: &generator)
    let cells = types.map { type -> [Cell] in
      let alphabet = Array([0, 1, 3, 4, 48, 57, 65, 97, 255].shuffled(using: &generator).prefix(3))
      func text(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(alphabet.randomElement(using: &generator)!) }
      }
      let common = text([0, 6, 7, 8, 9, 15, 16, 17].randomElement(using: &generator)!)
      return (0..<count).map { _ in
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: return .missing
        case 1 where type == .text: return .text(Array("\(seed % 3)".utf8))
        default: break
        }
        if type == .integer { return .integer(Int64.random(in: 0..<3, using: &generator)) }
        let text = common + text(Int.random(in: 0...3, using: &generator))
        return type == .text ? .text(text) : .binary(text)
      }
    }
    let descriptors = (0..<3).map {
      SortDescriptor(column: $0, isDescending: .random(using: &generator))
    }.shuffled(using: &generator)
    expectNaiveOrder(of: cells, types, by: descriptors, cut: count / 2)
  }

  /// A sort that is cancelled while it runs returns nothing, whenever that is.
  @Test func sortsCanBeCancelled() {
    let texts = (0..<20_000).map { Cell.text("a common beginning \($0 % 977)") }
    var keys = SortKeys([SortDescriptor(column: 0)], in: [Column("t")])
    keys.append(AwkwardCells.batch([texts], [.text]))
    var calls = 0
    var whole = keys
    #expect(
      whole.sortedRows {
        calls += 1
        return false
      }?.count == texts.count)
    #expect(calls > 2)
    for last in 1...calls {
      var (copy, call) = (keys, 0)
      #expect(
        copy.sortedRows {
          call += 1
          return call >= last
        } == nil)
    }
  }

  /// Any number of keys, few or many, near or far, are sorted with their rows. The rows of equal keys ascend.
  @Test(arguments: sample(20, of: 0..<60))
  func radixSortIsSorting(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let count = [0, 1, 31, 32, 33, 100, 3000, 70_000][seed % 8]
    let kinds = UInt64(1) << UInt64.random(in: 0..<20, using: &generator)
    let step = UInt64.random(in: 1...(.max / kinds), using: &generator)
    // In some cases, constant bits lie between those that differ, as in the digits of a text.
    let differing: UInt64 =
      switch seed % 3 {
      case 0: .max
      case 1: 0x0F0F_0F0F_0F0F_0F0F
      default:
        .random(in: 0...(.max), using: &generator) & .random(in: 0...(.max), using: &generator)
      }
    let same = UInt64.random(in: 0...(.max), using: &generator) & ~differing
    let pairs = (0..<UInt32(count)).map { row in
      let key = UInt64.random(in: 0..<kinds, using: &generator) &* step
      return (key: key & differing | same, row: row)
    }.shuffled(using: &generator)
    var keys = pairs.map(\.key)
    var rows = pairs.map(\.row)
    radixSort(&keys, &rows)
    let sorted = pairs.sorted { ($0.key, $0.row) < ($1.key, $1.row) }
    #expect(keys == sorted.map(\.key) && rows == sorted.map(\.row))
  }

  private func sign(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
  }

  /// The codes of texts of a few bytes that have a meaning in a code have the natural order, and those of binary the
  /// order of bytes. The first bytes of a code do not depend on its limit.
  @Test(arguments: 0..<40)
  func codesHaveTheOrderOfTexts(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let alphabet: [UInt8] = Array("aAbBzZ00129 /:.-é".utf8) + [0, 1, 2, 3, 4, 0xFE, 0xFF]
    let common = (0..<[0, 3, 8, 20, 300][seed % 5]).map { _ in
      alphabet.randomElement(using: &generator)!
    }
    let texts = (0..<40).map { _ in
      let few = alphabet.shuffled(using: &generator).prefix(.random(in: 1...8, using: &generator))
      return common
        + (0..<Int.random(in: 0...20, using: &generator)).map { _ in
          few.randomElement(using: &generator)!
        }
    }
    let codes = texts.map { text in text.withUnsafeBytes { NaiveOrder.code($0) } }
    let binary = texts.map { text in text.withUnsafeBytes { NaiveOrder.code(bytes: $0) } }
    for left in texts.indices {
      // An expectation for each pair would take most of the time of this test.
      let wrong = texts.indices[left...].filter { right in
        sign(codes[left], codes[right]) != NaiveOrder.natural(texts[left], texts[right]).signum()
          || sign(binary[left], binary[right]) != sign(texts[left], texts[right])
      }
      #expect(wrong.isEmpty, "\(texts[left]) and \(wrong.map { texts[$0] })")
      texts[left].withUnsafeBytes { text in
        for limit in [1, 8, 16, 100] {
          #expect(NaiveOrder.code(text, limit: limit).prefix(limit) == codes[left].prefix(limit))
          #expect(
            NaiveOrder.code(bytes: text, limit: limit).prefix(limit) == binary[left].prefix(limit))
        }
      }
    }
  }

  /// Long runs of digits and zeros, and distant upper-case letters, have numbers of several bytes in a code.
  @Test func longPartsOfCodesAreOrdered() {
    let lengths = [0, 1, 9, 10, 11, 253, 254, 255, 256, 264, 265, 266, 300, 70_000]
    let texts =
      lengths.flatMap { length -> [[UInt8]] in
        let digits = [UInt8](repeating: 49, count: length)
        let zeros = [UInt8](repeating: 48, count: length)
        let letters = [UInt8](repeating: 97, count: length)
        return [
          digits, digits + [50], zeros + [49], zeros + [49, 97], letters + [65], letters + [97],
          [65] + letters + [65], [97] + zeros + [49, 97] + zeros + [49], [48] + digits,
          [48, 48] + digits,
        ]
      }
    let codes = texts.map { text in text.withUnsafeBytes { NaiveOrder.code($0) } }
    for (left, x) in zip(texts, codes) {
      for (right, y) in zip(texts, codes) {
        let order = left.withUnsafeBytes { a in
          right.withUnsafeBytes { NaturalOrder.compare(a, $0).signum() }
        }
        #expect(sign(x, y) == order, "\(left.prefix(20))… \(right.prefix(20))…")
      }
    }
  }

  /// The first rows are those of a whole sort, for any number of rows and candidates.
  @Test(arguments: sample(20, of: 0..<60))
  func firstRowsAreThoseOfASort(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = (0..<2).map { _ in ColumnType.allCases.randomElement(using: &generator)! }
    let count = [0, 1, 20, 100, 5000, 9000][seed % 6]
    let limit = [1, 20, 256][seed % 3]
    // Texts that begin alike are compared beyond their first eight bytes.
    let start = ["", "2026-01-10T", "Az01", String(repeating: "x", count: 70)].randomElement(
      using: &generator)!
    var cells = types.map { type in
      (0..<count).map { _ in
        let cell = AwkwardCells.cell(type, &generator)
        return if case .text(let text) = cell { Cell.text(Array(start.utf8) + text) } else { cell }
      }
    }
    let isSorted = Bool.random(using: &generator)
    if isSorted { cells[0].sort { NaiveOrder.compare($0, $1) < 0 } }
    let descriptors = (0..<Int.random(in: 0...2, using: &generator)).map {
      SortDescriptor(column: $0, isDescending: .random(using: &generator))
    }
    let columns = types.map { Column("c", $0) }
    var keys = SortKeys(descriptors, in: columns)
    var top = TopRows(descriptors, in: columns, limit: limit)
    for start in stride(from: 0, to: count, by: 1000) {
      let batch = AwkwardCells.batch(
        keys.columns.map { Array(cells[$0][start..<min(start + 1000, count)]) },
        keys.columns.map { types[$0] }, rowCount: min(1000, count - start))
      keys.append(batch)
      top.append(batch)
    }
    let all = keys.sortedRows { false }
    let first = top.finish { false }
    #expect(first?.rows == all.map { Array($0.prefix(limit)) })
    #expect(first?.isAll == (count <= limit))
    #expect(top.finish { true } == nil)
  }

  /// The natural order is a total order, and that of the codes.
  @Test func naturalOrderIsTotal() {
    for left in AwkwardCells.texts {
      for right in AwkwardCells.texts {
        left.withUnsafeBytes { a in
          right.withUnsafeBytes { b in
            let order = NaturalOrder.compare(a, b).signum()
            #expect(order == NaiveOrder.natural(left, right).signum(), "\(left) \(right)")
            #expect(order == -NaturalOrder.compare(b, a).signum())
            #expect((order == 0) == (left == right))
            let (x, y) = (NaiveOrder.code(a), NaiveOrder.code(b))
            #expect(sign(x, y) == order, "\(left) \(right)")
            #expect(order == 0 || !x.starts(with: y), "\(left) \(right)")
          }
        }
      }
    }
  }

  /// Numbers of any length are sorted by all their digits, and equal ones keep their order.
  @Test(arguments: 0..<40)
  func longNumbersAreExact(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    // Whole numbers around a value that a double represents, written in several ways.
    let numbers = (0..<60).map { _ in Int.random(in: -9...9, using: &generator) }
    let cells = numbers.map { number -> Cell in
      let value = number < 0 ? -9_007_199_254_740_993 - number : 9_007_199_254_740_993 + number
      let text = [
        "\(value)", "\(value).0", "\(value)000e-3", "\(value).000000000000", " \(value)",
      ].randomElement(using: &generator)!
      return .text(Array(text.utf8))
    }
    func value(_ row: UInt32) -> Int {
      let number = numbers[Int(row)]
      return number < 0 ? -9_007_199_254_740_993 - number : 9_007_199_254_740_993 + number
    }
    for isDescending in [false, true] {
      var keys = SortKeys(
        [SortDescriptor(column: 0, isDescending: isDescending)], in: [Column("t")])
      keys.append(AwkwardCells.batch([cells], [.text]))
      let wanted = (0..<UInt32(cells.count)).sorted {
        value($0) == value($1)
          ? $0 < $1 : (value($0) < value($1)) != isDescending
      }
      #expect(keys.sortedRows { false } == wanted)
    }
  }

  /// Numbers are parsed like in the standard library.
  @Test(arguments: 0..<20)
  func numbersAreTheLibrarys(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let alphabet = Array("0123456789999..eE+-- ".utf8)
    var texts = AwkwardCells.texts
    for _ in 0..<2000 {
      texts.append(
        (0..<Int.random(in: 0...24, using: &generator)).map { _ in
          alphabet.randomElement(using: &generator)!
        })
      texts.append(Array("\(Double(bitPattern: generator.next()))".utf8))
    }
    for text in texts {
      let found = text.withUnsafeBytes { number(in: $0) }
      #expect(found == NaiveOrder.number(text), "\(String(decoding: text, as: UTF8.self))")
    }
  }
}
