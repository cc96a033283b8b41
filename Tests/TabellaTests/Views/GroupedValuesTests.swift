import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// The values and cells of groups, from which medians, percentiles, and first and last values follow.
@Suite struct GroupedValuesTests {
  private static func number(_ text: String) throws -> ExactNumber {
    try #require(
      Array(text.utf8).withUnsafeBytes { ExactNumber($0, hasComma: false) }, "\(text)")
  }

  /// Numbers with up to `decimals` decimals, some of which are equal and written differently: 1.5 and 1.50.
  private static func numbers(
    _ count: Int, decimals: Int, digits: Int, _ generator: inout SeededGenerator
  ) -> [String] {
    (0..<count).map { _ in
      let whole = Int64.random(in: 0..<ExactNumber.powers[digits], using: &generator)
      let sign = Bool.random(using: &generator) ? "-" : ""
      let count = Int.random(in: 0...decimals, using: &generator)
      let fraction = (0..<count).map { _ in [0, 0, 5].randomElement(using: &generator)!.description
      }
      return sign + "\(whole)" + (count > 0 ? "." + fraction.joined() : "")
    }
  }

  /// Words have the order of their numbers. There are none if a number has more than 64 bits, also after all have the same
  /// number of decimals.
  @Test(arguments: 0..<40)
  func wordsHaveTheOrderOfNumbers(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (decimals, digits) = [(0, 1), (4, 1), (9, 9), (0, 18), (2, 17), (18, 1)][seed % 6]
    let list = Self.list(
      try Self.numbers(40, decimals: decimals, digits: digits, &generator).map(Self.number))
    guard let word = list.word else {
      #expect(digits + decimals > 18)
      return
    }
    for left in 0..<40 {
      for right in 0..<40 {
        let order = ExactNumber.compare(list[left], list[right])
        #expect(order == (word(left) < word(right) ? -1 : word(left) > word(right) ? 1 : 0))
      }
    }
  }

  private static func list(_ numbers: [ExactNumber]) -> ExactNumberList {
    var list = ExactNumberList()
    for number in numbers { list.append(number) }
    return list
  }

  private static func text(_ number: ExactNumber) -> String {
    number.withText(hasComma: false) { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    (["1", "0.1"], true), (["922337203685477580", "0.1"], true),
    (["922337203685477581", "0.1"], false), (["-922337203685477581", "0.1"], false),
    (["999999999999999999", "-1"], true), (["1000000000000000000", "1"], false),
    (["0", "0.000000000000000001"], true), (["10", "0.000000000000000001"], false), ([], true),
  ])
  func wordsFitInto64Bits(_ texts: [String], _ fit: Bool) throws {
    #expect((Self.list(try texts.map(Self.number)).word != nil) == fit)
  }

  /// A list returns its numbers as they were appended, with numbers of any length, in any order of the lists.
  @Test(arguments: 0..<60)
  func listsKeepNumbers(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let longest = ["12345678901234567890", "0.12345678", "-4611686018427387904", "0.1234567"]
    func random() -> [String] {
      Self.numbers(Int.random(in: 0...8, using: &generator), decimals: 7, digits: 11, &generator)
        + (seed % 3 == 0 ? [] : [longest.randomElement(using: &generator)!])
    }
    let (first, second, third) = (random(), random(), random())
    var list = Self.list(try first.map(Self.number))
    list.append(contentsOf: Self.list(try second.map(Self.number)))
    for text in third { list.append(try Self.number(text)) }
    for value in [Int64.min, .max, 0, 1 << 60, -1 << 60, 1 << 60 - 1] {
      list.append(ExactNumber(value))
    }
    let expected =
      first + second + third
      + [Int64.min, .max, 0, 1 << 60, -1 << 60, 1 << 60 - 1].map(\.description)
    for (index, text) in expected.enumerated() {
      #expect(Self.text(list[index]) == Self.text(try Self.number(text)))
    }
  }

  /// The values of a group are in their order, and equal ones in the order of their rows.
  @Test(arguments: 0..<40)
  func valuesAreInOrder(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let groupCount = [1, 3, 40][seed % 3]
    var texts = Self.numbers(
      Int.random(in: 0...300, using: &generator), decimals: 2, digits: 1, &generator)
    // With this number there are no words.
    let isLong = seed % 2 == 0
    if isLong {
      texts.insert("12345678901234567890.5", at: Int.random(in: 0...texts.count, using: &generator))
    }
    var values = GroupedValues<ExactNumberList>()
    var naive = [[ExactNumber]](repeating: [], count: groupCount)
    for text in texts {
      let (number, group) = (
        try Self.number(text), Int.random(in: 0..<groupCount, using: &generator)
      )
      values.append(number, to: group)
      naive[group].append(number)
    }
    #expect((Self.list(naive.flatMap { $0 }).word == nil) == isLong)
    let ordered = values.inOrder(ofGroups: groupCount)
    for (group, numbers) in naive.enumerated() {
      let expected = numbers.enumerated().sorted {
        let order = ExactNumber.compare($0.element, $1.element)
        return order < 0 || order == 0 && $0.offset < $1.offset
      }
      for (position, number) in expected.enumerated() {
        #expect(Self.text(ordered[group, position]) == Self.text(number.element))
      }
    }
  }

  /// Cells that replace each other are those of an array of cells, also after groups were joined.
  @Test(arguments: 0..<60)
  func cellsAreThoseOfAnArray(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let type = ColumnType.allCases[seed % ColumnType.allCases.count]
    let keepsOld = Bool.random(using: &generator)
    func random(_ groups: Int) -> (GroupedCells, [Cell]) {
      var cells = GroupedCells(type)
      cells.makeRoom(forGroups: groups)
      var naive = [Cell](repeating: .missing, count: groups)
      for _ in 0..<Int.random(in: 0...60, using: &generator) {
        let cell = AwkwardCells.cell(type, &generator)
        guard cell != .missing else { continue }
        let group = Int.random(in: 0..<groups, using: &generator)
        cells.set(AwkwardCells.batch([[cell]], [type]).columns[0], 0, for: group)
        naive[group] = cell
      }
      return (cells, naive)
    }
    func isSame(_ cells: GroupedCells, _ naive: [Cell]) -> Bool {
      let builder = BatchBuilder([type])
      cells.append(Array(0..<UInt32(naive.count))[...], to: builder.columns[0])
      let column = builder.finish().columns[0]
      // A text also shows whether two values are the same NaN or zero.
      return cells.count == naive.count && column.count == naive.count
        && naive.indices.allSatisfy { group in
          "\(cells.cell(ofGroup: group))" == "\(naive[group])"
            && "\(column[group])" == "\(naive[group])"
            && cells.isEmpty(group) == (naive[group] == .missing)
        }
    }
    var (cells, naive) = random(20)
    #expect(isSame(cells, naive))
    let (next, naiveNext) = random(30)
    let numbers = (0..<30).map { _ in UInt32.random(in: 0..<20, using: &generator) }
    cells.combine(next, numbers, keepsOld: keepsOld)
    for (group, cell) in naiveNext.enumerated() where cell != .missing {
      let number = Int(numbers[group])
      if !keepsOld || naive[number] == .missing { naive[number] = cell }
    }
    #expect(isSame(cells, naive))
    let new = (0..<20).map { UInt32($0 / 3) }
    cells.renumber(new, keepsOld: keepsOld)
    let joined = (0..<7).map { group in
      let old = naive.indices.filter { $0 / 3 == group }.map { naive[$0] }
        .filter { $0 != .missing }
      return (keepsOld ? old.first : old.last) ?? .missing
    }
    #expect(isSame(cells, joined))
  }
}
