import Testing

@testable import Tabella
@testable import TabellaTestSupport

extension Groups {
  var titles: [String?] { counts.indices.map { title(ofGroup: $0) } }
  /// The cells of the first key.
  fileprivate var cells: [Cell?] { counts.indices.map { keys[0].cell(ofGroup: $0) } }
}

@Suite struct GroupKeysTests {
  private func groups(
    _ cells: [Cell], _ type: ColumnType, _ by: Grouping.Class, unit: Unit? = nil
  ) throws -> Groups {
    var keys = try GroupKeys([Grouping(column: 0, by: by)], in: [Column("c", type, unit: unit)])
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
      #expect(groups.keys[0].cell(ofGroup: Int(group)).map(key) == key(cell))
      let title = key(cell) == "NaN" ? "nan" : key(cell).description
      #expect(groups.titles[Int(group)] == (cell == .missing ? nil : title))
    }
    for group in groups.counts.indices {
      #expect(groups.counts[group] == groups.groupOfRow.count { $0 == UInt32(group) })
      if group > 0 {
        let cells = groups.cells.map { $0 ?? .missing }
        #expect(NaiveOrder.compare(cells[group - 1], cells[group]) <= 0)
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
    #expect(groups.cells.dropLast().allSatisfy { $0 == nil })
    #expect(groups.indexTitles().map(\.title) == ["#", "A", "S", "Z", "É"])
    #expect(groups.indexTitles().map(\.group) == [0, 1, 2, 3, 4])
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
    // The class was that of the nearest double.
    let long = try groups(
      ["0.99999999999999999999", "9.9999999999999999999", "1" + String(repeating: "0", count: 23)]
        .map { .text(Array($0.utf8)) } + ["1e-400", "1e23", "9999999999999999", "-1e-400"],
      .text, .size)
    #expect(
      long.titles == [
        "below 0", "below 1", "from 1", "from 1" + String(repeating: "0", count: 15),
        "from 1" + String(repeating: "0", count: 23),
      ])
    #expect(long.counts == [1, 2, 1, 1, 2])
    let large = try groups([999_999_999_999_999_999, 9_007_199_254_740_993], .integer, .size)
    #expect(large.titles == ["from 1000000000000000", "from 100000000000000000"])
    #expect(try groups([.real(.nan), .real(1e300)], .real, .size).titles.count == 2)
  }

  @Test func hoursWeeksWeekdaysAndYears() throws {
    let cells: [Cell] = [
      "2024-02-29T23:59:59+01:00", "2024-02-29 22:10", "2026-01-01", "2024-12-30", "2024-12-29",
      "2024-02-29 noon", "soon", .missing,
    ]
    let hours = try groups(cells, .text, .hour)
    #expect(
      hours.titles == [
        "2024-02-29 22:00", "2024-12-29 00:00", "2024-12-30 00:00", "2026-01-01 00:00", "other",
        nil,
      ])
    #expect(hours.counts == [2, 1, 1, 1, 2, 1])
    // The last days of December can belong to week 1.
    let weeks = try groups(cells, .text, .week)
    #expect(weeks.titles == ["2024-W09", "2024-W52", "2025-W01", "2026-W01", "other", nil])
    let weekdays = try groups(cells, .text, .weekday)
    #expect(weekdays.titles == ["Monday", "Thursday", "Sunday", "other", nil])
    #expect(weekdays.counts == [1, 4, 1, 1, 1])
    #expect(try groups(cells, .text, .year).titles == ["2024", "2026", "other", nil])
    let moments: [Cell] = [.date(Timestamp(nanoseconds: -1)), .date(Timestamp(nanoseconds: 0))]
    #expect(
      try groups(moments, .date, .hour).titles == ["1969-12-31 23:00", "1970-01-01 00:00"])
    #expect(try groups(moments, .date, .weekday).titles == ["Wednesday", "Thursday"])
  }

  /// Lines of a log had a day, but no hour.
  @Test func textAfterATimeDoesNotMatter() throws {
    let lines: [Cell] = [
      "2024-02-29 22:10:05 ERROR 12:00", "2024-02-29 22:59: started", "2024-02-29 22:00:00,123 x",
      "2024-02-29T22:10:05.5Z up", "2024-02-29T23:10:05+01:00 up", "2024-02-29 22:10\t7",
    ]
    #expect(try groups(lines, .text, .hour).titles == ["2024-02-29 22:00"])
    #expect(try groups(["2024-03-01T00:10:00+01:00 up"], .text, .day).titles == ["2024-02-29"])
    let others: [Cell] = [
      "2024-02-29 12 boxes", "2024-02-29 25:10 x", "2024-02-29", "2024-02-29 ", "2024-02-29x22:10",
      "2024-02-29 ::", "22:10:05 x",
    ]
    #expect(try groups(others, .text, .hour).titles == ["2024-02-29 00:00", "other"])
    #expect(try groups(others, .text, .day).titles == ["2024-02-29", "other"])
  }

  /// Weeks have seven days from Monday on, and week 1 is the first with at least four days of its year.
  @Test func weeksFollowTheirDefinition() {
    var last: CivilTime?
    for number in -40_000...40_000 as ClosedRange<Int64> {
      let time = CivilTime(dayNumber: number, nanosecondOfDay: 5)
      if let last {
        #expect(time.weekday == last.weekday % 7 + 1)
        #expect((time.week == last.week) == (time.weekday != 1))
      }
      if time.date.month == 1, time.date.day == 4 { #expect(time.week == (time.date.year, 1)) }
      last = time
    }
  }

  @Test func extensions() throws {
    let names = [
      "a.TXT", "b.txt", "a.tar.gz", ".profile", "x/.profile", "d.d/name", "end.", "plain", "..c",
      "ü.É",
    ]
    let groups = try groups(
      names.map { .text($0) } + [.missing, .text([46, 97, 46, 0xFF])], .text, .fileExtension)
    #expect(groups.titles == ["no extension", "gz", "txt", "é", "\u{FFFD}", nil])
    #expect(groups.counts == [6, 1, 2, 1, 1, 1])
  }

  @Test func bins() throws {
    func bins(_ cells: [Cell], _ type: ColumnType, _ width: String) throws -> Groups {
      try groups(cells, type, .bins(try #require(BinWidth(width))))
    }
    let numbers = try bins([-1, 0, 99, 100, -100, -101, 250, .missing], .integer, "100")
    #expect(
      numbers.titles == [
        "-200 to <-100", "-100 to <0", "0 to <100", "100 to <200", "200 to <300", nil,
      ])
    #expect(numbers.counts == [1, 2, 2, 1, 1, 1])
    let decimals = try bins(
      [
        "0.1", "0.49999999999999999999", "0.5", "-0.00000000000000000000000001", "x", "1e30",
        "1e300",
      ],
      .text, "0.50")
    #expect(
      decimals.titles == [
        "-0.5 to <0", "0 to <0.5", "0.5 to <1",
        "1000000000000000000000000000000 to <1000000000000000000000000000000.5", "other",
      ])
    // The shortest text of a double counts: 0.3 lies in the bin that begins at 0.3.
    let reals = try bins([.real(0.3), .real(0.1 + 0.2), .real(.nan), .real(-0.0)], .real, "0.1")
    #expect(reals.titles == ["0 to <0.1", "0.3 to <0.4", "other"])
    #expect(reals.counts == [1, 2, 1])
    for wrong in ["0", "", ".", "-1", "1e3", "0.00", "1.", "1234567890123456789"] {
      #expect(BinWidth(wrong) == nil, "\(wrong)")
    }
  }

  /// The bin of a number is that of integers, computed by counting up from the lowest one.
  @Test func binsAreTheNaiveBins() throws {
    for width in 1...7 {
      let cells = (-30...30).map { Cell.text("\(Double($0) / 10)") }
      let groups = try groups(cells, .text, .bins(try #require(BinWidth("\(Double(width) / 10)"))))
      for (number, group) in zip(-30...30, groups.groupOfRow) {
        var low = -100 * width
        while low + width <= number { low += width }
        func text(_ tenths: Int) -> String { Cell.real(Double(tenths) / 10).description }
        #expect(groups.titles[Int(group)] == "\(text(low)) to <\(text(low + width))")
      }
    }
  }

  /// Groups by several keys equal those of the keys alone, combined.
  @Test(arguments: 0..<60)
  func severalKeysAreTheNaiveKeys(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types: [ColumnType] = [.text, .integer, .date]
    let columns = types.map { Column("c", $0) }
    let rows = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
      types.map { type -> Cell in
        let value = Int.random(in: 0..<4, using: &generator)
        if value == 0 { return .missing }
        return switch type {
        case .text: .text(["b", "a10", "a9"][value - 1])
        case .integer: .integer(Int64(value))
        default: .date(Timestamp(nanoseconds: Int64(value) * 700_000_000_000_000))
        }
      }
    }
    let classes: [[Grouping.Class]] = [
      [.value, .letter], [.value, .bins(BinWidth("2")!), .size], [.value, .day, .weekday],
    ]
    let groupings = (0..<Int.random(in: 2...4, using: &generator)).map { _ in
      let column = Int.random(in: 0..<3, using: &generator)
      return Grouping(column: column, by: classes[column].randomElement(using: &generator)!)
    }
    var keys = try GroupKeys(groupings, in: columns)
    let cells = keys.columns.map { column in rows.map { $0[column] } }
    keys.append(AwkwardCells.batch(cells, keys.columns.map { types[$0] }))
    let groups = keys.finish()
    let alone = try groupings.map { grouping in
      var keys = try GroupKeys([grouping], in: columns)
      keys.append(
        AwkwardCells.batch([rows.map { $0[grouping.column] }], [types[grouping.column]]))
      return keys.finish()
    }
    let tuples = rows.indices.map { row in alone.map { $0.groupOfRow[row] } }
    let order = Set(tuples).sorted { $0.lexicographicallyPrecedes($1) }
    #expect(groups.counts == order.map { tuple in tuples.count { $0 == tuple } })
    #expect(groups.groupOfRow.map { order[Int($0)] } == tuples)
    for (group, tuple) in order.enumerated() {
      let titles = zip(alone, tuple).map { $0.titles[Int($1)] }
      #expect(groups.keys.map { $0.title(ofGroup: group) } == titles)
      let isMissing = titles.allSatisfy { $0 == nil }
      let joined = titles.map { $0 ?? "missing" }.joined(separator: " · ")
      #expect(groups.titles[group] == (isMissing ? nil : joined))
      #expect(
        groups.keys.map { $0.cell(ofGroup: group) }
          == zip(alone, tuple).map { $0.keys[0].cell(ofGroup: Int($1)) })
    }
  }

  @Test func whatCannotBeGrouped() {
    for (type, by) in [
      (ColumnType.integer, Grouping.Class.letter), (.boolean, .day), (.date, .size),
      (.binary, .size), (.integer, .week), (.boolean, .bins(BinWidth("1")!)),
      (.date, .fileExtension),
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

  /// So many groups that the table reads slots and keys in advance, with missing cells, empty and long keys, and rows
  /// of old and new groups side by side. Titles do not depend on the order in which they are asked for.
  @Test func moreGroupsThanACacheHolds() throws {
    var generator = SeededGenerator(seed: 1)
    let numbers = (0..<90_000).map { min($0, Int.random(in: 0...40_000, using: &generator)) }
    func key(_ number: Int) -> String? {
      switch number % 1000 {
      case 1: nil
      case 2: ""
      case 3: "key \(number)" + String(repeating: "-", count: number / 1000)
      default: "key \(number)"
      }
    }
    var keys = try GroupKeys([Grouping(column: 0)], in: [Column("c")])
    var merged = keys.emptied
    for start in stride(from: 0, to: numbers.count, by: 30_000) {
      let cells = numbers[start..<start + 30_000].map { key($0).map { Cell.text($0) } ?? .missing }
      let batch = AwkwardCells.batch([cells], [.text])
      keys.append(batch)
      var part = keys.emptied
      part.append(batch)
      merged.merge(part)
    }
    let groups = keys.finish()
    let same = merged.finish()
    #expect(same.titles == groups.titles)
    #expect(same.counts == groups.counts)
    #expect(same.groupOfRow == groups.groupOfRow)
    let naive = numbers.reduce(into: [String?: Int]()) { $0[key($1), default: 0] += 1 }
    let titles = groups.titles
    #expect(titles.count > 25_000)
    #expect(Dictionary(zip(titles, groups.counts)) { first, _ in first } == naive)
    #expect(titles.count == naive.count)
    let wrong = numbers.indices.filter { titles[Int(groups.groupOfRow[$0])] != key(numbers[$0]) }
    #expect(wrong.isEmpty)
    let backwards = titles.indices.reversed().filter { groups.title(ofGroup: $0) != titles[$0] }
    #expect(backwards.isEmpty)
    #expect(groups.titles == titles)
  }

  // Lists

  /// Texts of which some are equal in the order of sorting, and some are missing.
  private static func listedCells(_ generator: inout SeededGenerator) -> [Cell] {
    let kinds = [3, 40, 400, 100_000].randomElement(using: &generator)!
    let hasMissing = Bool.random(using: &generator)
    return (0..<Int.random(in: 0...250, using: &generator)).map { _ in
      let number = Int.random(in: 0..<kinds, using: &generator)
      return switch number % 8 {
      case 1 where hasMissing: .missing
      case 2 where number < 10: .text("")
      case 3: .text("\(number).0")
      case 4: .text("Key \(number)")
      case 5: .text("key 0\(number - 1)")
      default: .text("key \(number)")
      }
    }
  }

  @Test(arguments: 0..<300)
  func `values that become a list form the same groups`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let cells = Self.listedCells(&generator)
    let (columns, groupings) = ([Column("c")], [Grouping(column: 0)])
    var keys = try GroupKeys(groupings, in: columns)
    let listsFrom = Int.random(in: 1...20, using: &generator)
    var listed = try GroupKeys(groupings, in: columns, listsFrom: listsFrom)
    var start = 0
    while start < cells.count {
      let end = min(start + Int.random(in: 1...60, using: &generator), cells.count)
      let batch = AwkwardCells.batch([Array(cells[start..<end])], [.text])
      keys.append(batch)
      if Bool.random(using: &generator) {
        listed.append(batch)
      } else {
        var part = listed.emptied
        part.append(batch)
        listed.merge(part)
      }
      start = end
    }
    try Self.expectSame(&keys, &listed)
    // Rows that arrive later find their groups.
    let later = AwkwardCells.batch([Self.listedCells(&generator)], [.text])
    keys.append(later)
    listed.append(later)
    try Self.expectSame(&keys, &listed)
  }

  private static func expectSame(_ keys: inout GroupKeys, _ listed: inout GroupKeys) throws {
    let (groups, same) = (keys.finish(), listed.finish())
    #expect(same.titles == groups.titles)
    #expect(same.counts == groups.counts)
    #expect(same.counts.indices.map { same.rowCount(ofGroup: $0) } == groups.counts)
    #expect(same.groupOfRow == groups.groupOfRow)
    #expect(same.numbersInKeys == groups.numbersInKeys)
    #expect(listed.counts == keys.counts)
  }

  /// The rows of a part can all be single rows of their groups, or have stored groups, whatever the other parts have.
  @Test(arguments: 0..<200)
  func `parts of every kind are merged to the same groups`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (columns, groupings) = ([Column("c")], [Grouping(column: 0)])
    var keys = try GroupKeys(groupings, in: columns)
    var listed = try GroupKeys(groupings, in: columns, listsFrom: 4)
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      let kinds = [5, 10_000].randomElement(using: &generator)!
      let isPart = Bool.random(using: &generator)
      var part = listed.emptied
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let hasMissing = Int.random(in: 0..<6, using: &generator) == 0
        let cells = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
          let number = Int.random(in: 0..<kinds, using: &generator)
          return hasMissing && number % 4 == 0 ? Cell.missing : .text("\(number)")
        }
        // The cells of a column can begin in the middle of its memory.
        let padded = AwkwardCells.batch([[.text("first")] + cells], [.text]).columns[0]
        let batch = Batch(rowCount: cells.count, columns: [padded[1..<padded.count]])
        keys.append(batch)
        if isPart { part.append(batch) } else { listed.append(batch) }
      }
      if isPart { listed.merge(part) }
    }
    try Self.expectSame(&keys, &listed)
  }

  @Test func `values become a list if nearly all differ, and no longer if most repeat`() throws {
    var keys = try GroupKeys([Grouping(column: 0)], in: [Column("c")], listsFrom: 100)
    func append(_ numbers: some Sequence<Int>) {
      keys.append(AwkwardCells.batch([numbers.map { .text("\($0)") }], [.text]))
    }
    append(0..<200)
    for _ in 0..<2 { append(0..<200) }
    #expect(keys.groupCount == 600, "the values are a list")
    append(0..<200)
    #expect(keys.groupCount == 200, "the list ended")
    append(0..<400)
    #expect(keys.groupCount == 400)
    #expect(
      keys.finish().counts.sorted()
        == Array(repeating: 1, count: 200) + Array(repeating: 5, count: 200))
  }

  @Test func `values with a sixteenth of repeats do not become a list`() throws {
    var keys = try GroupKeys([Grouping(column: 0)], in: [Column("c")], listsFrom: 100)
    for _ in 0..<2 {
      keys.append(AwkwardCells.batch([(0..<224).map { .text("\(min($0, 199))") }], [.text]))
    }
    #expect(keys.groupCount == 200)
  }

  @Test(arguments: 0..<100)
  func `numbers without repeats are those of a naive count`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let kinds = [1, 5, 60, 1000].randomElement(using: &generator)!
    let values = (0..<Int.random(in: 1...300, using: &generator)).map { _ in
      Int.random(in: 0..<kinds, using: &generator)
    }
    var (first, pairs): ([Int: Int], [Repeats.Pair]) = ([:], [])
    for (index, value) in values.enumerated() {
      if let number = first[value] {
        pairs.append((UInt32(index), UInt32(number)))
      } else {
        first[value] = index
      }
    }
    let repeats = Repeats(pairs.shuffled(using: &generator), among: values.count)
    let remaining = first.values.sorted()
    #expect(repeats.count == values.count - remaining.count)
    for (index, value) in values.enumerated() {
      #expect(repeats.contains(UInt32(index)) == (first[value] != index))
      #expect(Int(repeats.newNumber(of: UInt32(index))) == remaining.firstIndex(of: first[value]!))
    }
  }
}
