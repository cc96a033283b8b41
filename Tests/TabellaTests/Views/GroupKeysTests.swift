import Testing

@testable import Tabella
@testable import TabellaTestSupport

@Suite struct GroupKeysTests {
  private func groups(
    _ cells: [Cell], _ type: ColumnType, _ by: Grouping.Class, unit: Unit? = nil
  ) throws -> Groups {
    var keys = try GroupKeys(Grouping(column: 0, by: by), in: [Column("c", type, unit: unit)])
    keys.append(AwkwardCells.batch([cells], [type]))
    return keys.finish()
  }

  /// Groups by value equal those of a dictionary, in the order of the values, with missing values last.
  @Test(arguments: 0..<60)
  func valuesAreTheNaiveValues(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let type = ColumnType.allCases.randomElement(using: &generator)!
    let cells = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
      AwkwardCells.cell(type, &generator)
    }
    let groups = try groups(cells, type, .value)
    // NaN is one value, and so are the two zeros.
    func key(_ cell: Cell) -> Cell {
      guard case .real(let value) = cell else { return cell }
      return value.isNaN ? .text("NaN") : .real(value == 0 ? 0 : value)
    }
    #expect(groups.titles.count == Set(cells.map(key)).count)
    #expect(groups.counts.reduce(0, +) == cells.count)
    for (cell, group) in zip(cells, groups.groupOfRow) {
      #expect(key(groups.cells[Int(group)]) == key(cell))
      let title = key(cell) == "NaN" ? "nan" : key(cell).description
      #expect(groups.titles[Int(group)] == (cell == .missing ? nil : title))
    }
    for group in groups.counts.indices {
      #expect(groups.counts[group] == groups.groupOfRow.count { $0 == UInt32(group) })
      if group > 0 {
        #expect(NaiveOrder.compare(groups.cells[group - 1], groups.cells[group]) <= 0)
      }
    }
  }

  /// Keys of 0 to 20 bytes that differ in one byte at any position, or in their length. Up to 16 bytes, two overlapping
  /// words distinguish them.
  @Test func keysThatDifferInOneByte() throws {
    var texts: [[UInt8]] = []
    for length in 0...20 {
      let plain = [UInt8](repeating: 120, count: length)
      texts.append(plain)
      for place in plain.indices {
        var other = plain
        other[place] = 0
        texts.append(other)
      }
    }
    let groups = try groups((texts + texts.reversed()).map { .binary($0) }, .binary, .value)
    #expect(groups.counts == Array(repeating: 2, count: texts.count))
    #expect(Set(groups.cells) == Set(texts.map { .binary($0) }))
  }

  @Test func letters() throws {
    let texts = ["éa", "Zebra", "zoo", "apple", "9", "", "_", "Éb", "ß"]
    let groups = try groups(texts.map { .text($0) } + [.missing, .text([0xFF])], .text, .letter)
    #expect(groups.titles == ["#", "A", "SS", "Z", "É", nil])
    #expect(groups.counts == [4, 1, 1, 2, 2, 1])
    #expect(groups.cells.allSatisfy { $0 == .missing })
    #expect(groups.indexTitles.map(\.title) == ["#", "A", "S", "Z", "É"])
    #expect(groups.indexTitles.map(\.group) == [0, 1, 2, 3, 4])
  }

  @Test func daysAndMonths() throws {
    let cells: [Cell] = [
      "2024-02-29", "2024-02-29T23:59:59+01:00", "2024-02-28 10:00", "2024-03-01T00:30:00+01:00",
      "yesterday", .missing,
    ]
    let days = try groups(cells, .text, .day)
    #expect(days.titles == ["2024-02-28", "2024-02-29", "other", nil])
    #expect(days.counts == [1, 3, 1, 1])
    let months = try groups(cells, .text, .month)
    #expect(months.titles == ["2024-02", "other", nil])
    let dates = try groups(
      [.date(Timestamp(nanoseconds: 0)), .date(Timestamp(nanoseconds: -1))], .date, .day)
    #expect(dates.titles == ["1969-12-31", "1970-01-01"])
  }

  @Test func sizes() throws {
    let numbers: [Cell] = [-1, 0, 1, 9, 10, 99, 100, 123_456, .missing]
    #expect(
      try groups(numbers, .integer, .size).titles == [
        "below 0", "0", "from 1", "from 10", "from 100", "from 100000", nil,
      ])
    let sizes: [Cell] = [0, 1, 1023, 1024, 1_048_576, 1_073_741_824, 1_073_741_823]
    let bytes = try groups(sizes, .integer, .size, unit: .bytes)
    #expect(
      bytes.titles == ["0", "under 1 KiB", "1 KiB to 1 MiB", "1 MiB to 1 GiB", "1 GiB and more"])
    #expect(bytes.counts == [1, 2, 1, 2, 1])
    let texts = try groups(["0.5", "x", "7"], .text, .size)
    #expect(texts.titles == ["below 1", "from 1", "other"])
    #expect(try groups([.real(.nan), .real(1e300)], .real, .size).titles.count == 2)
  }

  @Test func whatCannotBeGrouped() {
    for (type, by) in [
      (ColumnType.integer, Grouping.Class.letter), (.boolean, .day), (.date, .size),
      (.binary, .size),
    ] {
      #expect(throws: TableError.self) { try groups([], type, by) }
    }
  }

  /// More groups than the initial size of the key table.
  @Test func manyGroups() throws {
    let groups = try groups((0..<20_000).map { .text("key \($0 % 10_000)") }, .text, .value)
    #expect(groups.counts == Array(repeating: 2, count: 10_000))
    #expect(groups.titles[9_999] == "key 9999")
  }
}
