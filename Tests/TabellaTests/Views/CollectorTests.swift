import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Values that threads compute from parts of the rows, and that are then merged: the result is that of all rows at once.
@Suite struct CollectorTests {
  private static let types: [ColumnType] = [.text, .integer, .real, .date, .boolean, .binary]

  private static func someTypes(_ generator: inout SeededGenerator) -> [ColumnType] {
    (0..<Int.random(in: 1...3, using: &generator)).map { _ in
      types.randomElement(using: &generator)!
    }
  }

  /// Random rows, cut into parts at random places.
  private struct Drawn {
    var rows: [[Cell]] = []
    var parts: [Range<Int>] = []

    init(_ generator: inout SeededGenerator, types: [ColumnType]) {
      let isRegular = Bool.random(using: &generator)
      rows = (0..<Int.random(in: 0...120, using: &generator)).map { _ in
        types.map { type in
          // A part whose cells are all of one kind is stored in another way.
          if isRegular, type == .text {
            return .text(Array("name \(Int.random(in: 0..<9, using: &generator))".utf8))
          }
          return AwkwardCells.cell(type, &generator)
        }
      }
      var start = 0
      while start < rows.count {
        let end = min(rows.count, start + Int.random(in: 1...40, using: &generator))
        parts.append(start..<end)
        start = end
      }
    }

    func batch(_ range: Range<Int>, _ types: [ColumnType]) -> Batch {
      AwkwardCells.batch(
        types.indices.map { column in rows[range].map { $0[column] } }, types,
        rowCount: range.count)
    }
  }

  /// The value of all rows, and the value of the merged parts. Some parts are appended instead.
  private func collected<Collector: RowCollector>(
    _ empty: Collector, _ drawn: Drawn, _ types: [ColumnType], _ generator: inout SeededGenerator
  ) throws -> (whole: Collector, merged: Collector) {
    var (whole, merged) = (empty, empty)
    for part in drawn.parts {
      try whole.append(drawn.batch(part, types))
      if Int.random(in: 0..<3, using: &generator) == 0 {
        try merged.append(drawn.batch(part, types))
      } else {
        var other = merged.emptied
        let middle = Int.random(in: part.lowerBound...part.upperBound, using: &generator)
        for some in [part.lowerBound..<middle, middle..<part.upperBound] where !some.isEmpty {
          try other.append(drawn.batch(some, types))
        }
        merged.merge(other)
      }
    }
    return (whole, merged)
  }

  @Test(arguments: 0..<80)
  func `merged digests are the digests of all rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = Self.someTypes(&generator)
    let drawn = Drawn(&generator, types: types)
    let columns = types.indices.map { ($0, Bool.random(using: &generator)) }
    let keys = types.indices.filter { _ in Bool.random(using: &generator) }
    var empty = CollectedDigests(types.map { Column("c", $0) }, columns, keys)
    empty.begin(numbering: DigestNumbers(), count: drawn.rows.count)
    let collected = try collected(empty, drawn, types, &generator)
    #expect(collected.whole.rows.count == drawn.rows.count)
    #expect(collected.merged.rows == collected.whole.rows)
    let numbers = collected.whole.keys.numbered
    #expect(collected.merged.keys.numbered == numbers)
    #expect(collected.merged.keys.numbers?.count == Set(numbers).count)
    #expect(numbers.count == (keys.isEmpty ? 0 : drawn.rows.count))
  }

  @Test(arguments: 0..<80)
  func `merged sort keys have the order of all rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = Self.someTypes(&generator)
    let drawn = Drawn(&generator, types: types)
    let descriptors = types.indices.map {
      SortDescriptor(column: $0, isDescending: .random(using: &generator))
    }
    let columns = types.map { Column("c", $0) }
    var keys = try collected(SortKeys(descriptors, in: columns), drawn, types, &generator)
    let order = keys.whole.sortedRows { false }
    #expect(keys.merged.sortedRows { false } == order)
    var top = try collected(
      TopRows(descriptors, in: columns, limit: 7), drawn, types, &generator)
    let first = try #require(top.merged.finish { false })
    #expect(first.rows == order.map { Array($0.prefix(7)) })
    #expect(first.isAll == (drawn.rows.count <= 7))
    #expect(top.whole.finish { false }?.rows == first.rows)
  }

  @Test(arguments: 0..<80)
  func `merged groups are the groups of all rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types = Self.someTypes(&generator)
    let drawn = Drawn(&generator, types: types)
    let groupings = types.enumerated().map { number, type in
      Grouping(
        column: number,
        by: type == .text && seed % 3 == 0
          ? .letter : type == .date && seed % 2 == 0 ? .day : .value)
    }
    var keys = try collected(
      GroupKeys(groupings, in: types.map { Column("c", $0) }), drawn, types, &generator)
    let (whole, merged) = (keys.whole.finish(), keys.merged.finish())
    #expect(merged.titles == whole.titles)
    #expect(merged.counts == whole.counts)
    #expect(merged.groupOfRow == whole.groupOfRow)
    #expect(merged.numbersInKeys == whole.numbersInKeys)
  }

  @Test(arguments: 0..<150)
  func `merged aggregates are the aggregates of all rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = [
      Column("key", .integer), Column("number", reads: .real), Column("text"),
      Column("integer", .integer), Column("real", .real), Column("date", .date),
      Column("flag", .boolean), Column("bytes", .binary),
    ]
    let types = columns.map(\.type)
    var drawn = Drawn(&generator, types: types)
    let numbers = ["", "0.1", "-0.25", "12", "123456789012345678901234567890", "1e18", "-7.50"]
    for row in drawn.rows.indices {
      drawn.rows[row][0] = .integer(Int64.random(in: 0..<5, using: &generator))
      drawn.rows[row][1] = .text(Array(numbers.randomElement(using: &generator)!.utf8))
    }
    var aggregates: [Aggregate] = [Aggregate(.rows)]
    for column in 1..<columns.count {
      for function: Aggregate.Function in [
        .sum, .mean, .median, .percentile(30), .min, .max, .first, .last, .distinct, .empty,
      ] {
        // The column of other text has no numbers.
        if column == 2, function.needsNumbers { continue }
        let aggregate = Aggregate(function, ofColumn: column)
        guard (try? aggregate.check(in: columns)) != nil else { continue }
        aggregates.append(aggregate)
      }
    }
    let all = try Aggregator(aggregates, in: columns)
    // The sum of doubles depends on the order of additions, so it is not merged.
    #expect(!all.canMerge)
    let some = aggregates.filter {
      $0.column != 4 || $0.function != .sum && $0.function != .mean
    }
    let empty = try Aggregator(some, in: columns)
    #expect(empty.canMerge)
    let places = empty.columns
    func add(_ rows: Range<Int>, _ keys: inout GroupKeys, _ to: inout Aggregator) throws {
      let batch = drawn.batch(rows, types)
      var groups: [UInt32] = []
      keys.number(Batch(rowCount: batch.rowCount, columns: [batch.columns[0]]), &groups)
      to.makeRoom(forGroups: keys.groupCount)
      try groups.withUnsafeBufferPointer { groups in
        try to.append(places.map { batch.columns[$0] }, groups: groups)
      }
    }
    let noKeys = try GroupKeys([Grouping(column: 0, by: .value)], in: columns)
    var (keys, whole) = (noKeys, empty)
    var (mergedKeys, merged) = (noKeys, empty)
    for part in drawn.parts {
      try add(part, &keys, &whole)
      var (partKeys, next) = (mergedKeys.emptied, merged.emptied)
      try add(part, &partKeys, &next)
      let numbers = mergedKeys.mergeGroups(partKeys)
      merged.makeRoom(forGroups: mergedKeys.groupCount)
      merged.merge(next, groups: numbers)
    }
    let order = Array(0..<UInt32(keys.groupCount))
    for (left, right) in zip(whole.results(order), merged.results(order)) {
      #expect(left.column == right.column)
      #expect(
        left.cells(ofGroups: order[...]).map(\.description)
          == right.cells(ofGroups: order[...]).map(\.description), "\(left.column.name)")
    }
  }

  /// Summaries by nearly unique keys searched for each key, and needed twice the time and memory of a list.
  @Test(arguments: 0..<200)
  func `aggregates of values that become a list are those of groups`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = [
      Column("key"), Column("number", reads: .real), Column("text"), Column("date", .date),
    ]
    let types = columns.map(\.type)
    var drawn = Drawn(&generator, types: types)
    let kinds = [4, 60, 100_000].randomElement(using: &generator)!
    let hasMissing = Bool.random(using: &generator)
    for row in drawn.rows.indices {
      let key = Int.random(in: 0..<kinds, using: &generator)
      drawn.rows[row][0] = hasMissing && key % 9 == 0 ? .missing : .text("key \(key)")
      let numbers = ["", "0.1", "-2", "300000000000000000", "-7.50", "123456789012345678901"]
      drawn.rows[row][1] = .text(Array(numbers.randomElement(using: &generator)!.utf8))
    }
    let aggregates = try Aggregate.list(
      "rows, sum number, mean number, median number, distinct number, min text, max text, "
        + "min date, first text, last text, empty text",
      ColumnNames(columns))
    func rows(listsFrom: Int?) throws -> AggregatedRows {
      var rows = AggregatedRows(
        try Aggregator(aggregates, in: columns, countsRows: false), nil)
      let wanted = try rows.group(
        by: GroupKeys([Grouping(column: 0)], in: columns, listsFrom: listsFrom))
      #expect(wanted == [0, 1, 2, 3])
      return rows
    }
    var (groups, _) = try collected(rows(listsFrom: nil), drawn, types, &generator)
    let listsFrom = Int.random(in: 1...30, using: &generator)
    let (whole, merged) = try collected(rows(listsFrom: listsFrom), drawn, types, &generator)
    let order = groups.sortGroups()
    let keys = try #require(groups.keys)
    let expected = groups.aggregator.results(order) { keys.rowCount(ofGroup: $0) }
    for var listed in [whole, merged] {
      #expect(listed.sortGroups() == order)
      let listedKeys = try #require(listed.keys)
      let results = listed.aggregator.results(order) { listedKeys.rowCount(ofGroup: $0) }
      for (left, right) in zip(expected, results) {
        #expect(left.column == right.column)
        let (cells, others) = (left.cells(ofGroups: order[...]), right.cells(ofGroups: order[...]))
        #expect(cells == others, "\(left.column.name)")
      }
      let titles = [keys, listedKeys].map { keys in
        let builder = BatchBuilder([.text])
        keys.append(0, ofGroups: order[...], to: builder.columns[0])
        let batch = builder.finish(rowCount: order.count)
        return order.indices.map { batch.row($0) }
      }
      #expect(titles[0] == titles[1])
    }
  }
}
