import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Exact numbers and aggregates, compared with arithmetic on strings and with Foundation's decimal numbers.
@Suite struct AggregateTests {
  // Exact numbers

  /// A signed integer of decimal digits, the lowest first.
  private struct NaiveInteger: Equatable {
    var digits: [Int] = []
    var isNegative = false

    /// The value of a text at a number of decimals.
    init(_ text: String, decimals: Int) {
      isNegative = text.first == "-"
      let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
      let fraction = parts.count > 1 ? String(parts[1]) : ""
      let padding = String(repeating: "0", count: decimals - fraction.count)
      digits = (parts[0] + fraction + padding).reversed().map { $0.wholeNumberValue! }
      normalise()
    }

    init(signed: [Int]) {
      digits = signed
      // Carries digits, which can be negative or above 9.
      func carry() {
        var carried = 0
        for index in digits.indices {
          let sum = digits[index] + carried
          digits[index] = (sum % 10 + 10) % 10
          carried = (sum - digits[index]) / 10
        }
        while carried != 0, carried != -1 {
          digits.append((carried % 10 + 10) % 10)
          carried = (carried - digits[digits.count - 1]) / 10
        }
        isNegative = carried == -1
      }
      carry()
      if isNegative {
        digits = signed.map { -$0 }
        carry()
        isNegative = true
      }
      normalise()
    }

    private mutating func normalise() {
      while digits.last == 0 { digits.removeLast() }
      if digits.isEmpty { isNegative = false }
    }

    static func + (left: NaiveInteger, right: NaiveInteger) -> NaiveInteger {
      NaiveInteger(
        signed: (0..<max(left.digits.count, right.digits.count)).map { index in
          func digit(_ number: NaiveInteger) -> Int {
            let digit = index < number.digits.count ? number.digits[index] : 0
            return number.isNegative ? -digit : digit
          }
          return digit(left) + digit(right)
        })
    }

    func text(decimals: Int) -> String {
      let padding = max(0, decimals + 1 - digits.count)
      var text = (digits + Array(repeating: 0, count: padding)).reversed().map { "\($0)" }.joined()
      if decimals > 0 { text.insert(".", at: text.index(text.endIndex, offsetBy: -decimals)) }
      return (isNegative ? "-" : "") + text
    }
  }

  /// Numbers of 1 to 45 digits, some of which cancel each other.
  private static func numbers(_ generator: inout SeededGenerator) -> [String] {
    let longest = [3, 18, 19, 45].randomElement(using: &generator)!
    var numbers: [String] = []
    for _ in 0..<Int.random(in: 0..<40, using: &generator) {
      let count = Int.random(in: 1...longest, using: &generator)
      let nines = Int.random(in: 0..<4, using: &generator) == 0
      let digits = (0..<count).map { _ in
        nines ? "9" : "\(Int.random(in: 0..<10, using: &generator))"
      }
      var text = digits.joined()
      while text.first == "0", text.count > 1 { text.removeFirst() }
      if Bool.random(using: &generator) {
        text += "." + digits.prefix(Int.random(in: 1...count, using: &generator)).joined()
      }
      if Bool.random(using: &generator) { text = "-" + text }
      numbers.append(text)
      if Int.random(in: 0..<4, using: &generator) == 0 {
        numbers.append(text.first == "-" ? String(text.dropFirst()) : "-" + text)
      }
    }
    return numbers
  }

  private static func number(_ text: String) throws -> ExactNumber {
    try #require(
      Array(text.utf8).withUnsafeBytes { ExactNumber($0, hasComma: false) }, "\(text)")
  }

  @Test func sumsEqualThoseOfStrings() throws {
    for seed in 0..<400 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let texts = Self.numbers(&generator)
      let decimals = texts.map { $0.drop { $0 != "." }.dropFirst().count }.max() ?? 0
      var sums = ExactSums()
      sums.makeRoom(forGroups: 3)
      for text in texts { sums.add(try Self.number(text), to: 1) }
      let sum = sums.value(ofGroup: 1)
      let naive = texts.reduce(NaiveInteger("0", decimals: decimals)) {
        $0 + NaiveInteger($1, decimals: decimals)
      }
      #expect(sum.text(hasComma: false) == naive.text(decimals: decimals), "\(texts)")
      #expect(
        sum.text(hasComma: true)
          == naive.text(decimals: decimals).replacingOccurrences(of: ".", with: ","))
      for hasComma in [false, true] {
        guard let number = sums[1] else {
          #expect(texts.isEmpty)
          continue
        }
        let text = number.withText(hasComma: hasComma) { String(decoding: $0, as: UTF8.self) }
        #expect(text == sum.text(hasComma: hasComma), "\(texts)")
        let (integer, digits) = (number.integer, sum.integer)
        #expect(integer == digits, "\(texts)")
      }
    }
  }

  /// Numbers are ordered as their difference says.
  @Test func comparisonsEqualThoseOfStrings() throws {
    for seed in 0..<200 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let texts = Self.numbers(&generator) + ["0", "-0", "0.0", "10", "10.0"]
      for (left, right) in zip(texts, texts.shuffled(using: &generator)) {
        let minus = right.first == "-" ? String(right.dropFirst()) : "-" + right
        let difference = NaiveInteger(left, decimals: 50) + NaiveInteger(minus, decimals: 50)
        let order = ExactNumber.compare(try Self.number(left), try Self.number(right)).signum()
        #expect(
          order == (difference.digits.isEmpty ? 0 : difference.isNegative ? -1 : 1),
          "\(left) \(right)")
      }
    }
  }

  /// A quotient times its divisor differs from the number by at most half of the last digit, and is exact if it can be.
  @Test func quotientsEqualThoseOfDecimal() throws {
    for seed in 0..<2000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let mantissa = Int128(
        Int64.random(in: -1_000_000_000_000...1_000_000_000_000, using: &generator)
          >> Int64.random(in: 0..<40, using: &generator))
      let scale = Int.random(in: 0...6, using: &generator)
      let count = Int.random(
        in: 1...[8, 1000, 1 << 40].randomElement(using: &generator)!, using: &generator)
      let number = ExactDecimal(mantissa, scale: scale)
      let quotient = number.divided(by: count, significant: 15)
      let text = quotient.text(hasComma: false)
      var exact = Decimal(string: number.text(hasComma: false))! / Decimal(count)
      // Decimal has 38 digits. Its quotient is rounded to the digits that the text should have.
      var rounded = Decimal()
      let whole = Int(text.drop { $0 == "-" }.prefix { $0 != "." }.drop { $0 == "0" }.count)
      let zeros = whole > 0 ? 0 : text.drop { $0 != "." }.dropFirst().prefix { $0 == "0" }.count
      let decimals = max(scale, whole > 0 ? 15 - whole : 15 + zeros)
      NSDecimalRound(&rounded, &exact, decimals, .plain)
      #expect(Decimal(string: text) == rounded, "\(mantissa) \(scale) \(count)")
      #expect(quotient.scale >= scale)
      #expect(quotient.scale == scale || quotient.digits.last != 0)
    }
    let third = ExactDecimal(1, scale: 0).divided(by: 3, significant: 15)
    #expect(third.text(hasComma: false) == "0.333333333333333")
    let almost = ExactDecimal(2_999_999_999_999_999_999, scale: 0).divided(by: 3, significant: 5)
    #expect(almost.text(hasComma: false) == "1000000000000000000")
  }

  @Test func numbersInText() {
    func text(_ text: String, comma: Bool = false) -> String? {
      Array(text.utf8).withUnsafeBytes { ExactNumber($0, hasComma: comma) }?.decimal
        .text(hasComma: comma)
    }
    for (given, read) in [
      ("0", "0"), ("-0", "0"), ("5.40", "5.40"), (" +7 ", "7"), ("1e3", "1000"),
      ("12.5e-3", "0.0125"),
      ("1.50E1", "15.0"), (".5", "0.5"), ("-.25e1", "-2.5"),
      ("9223372036854775808", "9223372036854775808"), ("0e5", "00000"),
    ] {
      #expect(text(given) == (read == "00000" ? "0" : read), "\(given)")
    }
    for wrong in [
      "", "-", "007", ".", "-.", ".e5", "5.", "1,5", "1e", "x", "1 2", "1e1001", "--1", "0x1",
    ] {
      #expect(text(wrong) == nil, "\(wrong)")
    }
    #expect(text("1,5", comma: true) == "1,5")
    #expect(text("1.5", comma: true) == nil)
    // Points that group digits were no numbers, so that nobody could add the amounts of a German file.
    for (given, read) in [
      ("1.234,56", "1234,56"), ("-12.345.678", "-12345678"),
      ("999.999.999.999.999.999,9", "999999999999999999,9"),
      ("1.234,5e2", "123450"),
    ] {
      #expect(text(given, comma: true) == read, "\(given)")
    }
    for wrong in [
      "1.234", "1234.567,8", "1.23,4", "1.2345,6", "0.123,4", ".123,4", "1..234,5", "1.234.56",
      "1,234.567",
      "1.234,5.6",
    ] {
      #expect(text(wrong, comma: true) == nil, "\(wrong)")
    }
    #expect(text("1,234.56") == nil && text("1.234.567") == nil)
    #expect(text("1e1000")?.count == 1001)
  }

  // Aggregates

  /// The aggregate of some cells, computed one after the other.
  private static func naive(_ function: Aggregate.Function, _ cells: [Cell], _ column: Column)
    -> Cell
  {
    let values = cells.filter { $0 != .missing && $0 != "" && $0 != .binary([]) }
    func key(_ cell: Cell) -> Cell {
      guard case .real(let value) = cell else { return cell }
      return value.isNaN ? .text("NaN") : .real(value == 0 ? 0 : value)
    }
    switch function {
    case .rows: return .integer(Int64(cells.count))
    case .empty: return .integer(Int64(cells.count - values.count))
    case .distinct: return .integer(Int64(Set(values.map(key)).count))
    case .first: return values.first ?? .missing
    case .last: return values.last ?? .missing
    case .min:
      return values.reduce(.missing) {
        $0 == .missing || NaiveOrder.compare($1, $0) < 0 ? $1 : $0
      }
    case .max:
      return values.reduce(.missing) {
        $0 == .missing || NaiveOrder.compare($1, $0) > 0 ? $1 : $0
      }
    case .percentile(let percent) where !values.isEmpty:
      // The first value that has at least this part of the values up to itself.
      let numbers = values.map { cell in
        if case .real(let value) = cell { return value.isNaN ? .infinity : value }
        return Double(cell.description)!
      }
      return zip(numbers, values).sorted {
        $0.0 < $1.0 || $0.0 == $1.0 && $0.1.description != "nan" && $1.1.description == "nan"
      }.enumerated().first { ($0.offset + 1) * 100 >= percent * numbers.count }!.element.1
    case .sum, .mean, .median, .percentile:
      guard !values.isEmpty else { return .missing }
      if column.type == .real {
        let reals = values.map { cell -> Double in
          guard case .real(let value) = cell else { return .nan }
          return value
        }
        // The values are multiples of a quarter, so that sums are exact.
        let sum = reals.reduce(0, +)
        let sorted = reals.sorted { $0 < $1 || $1.isNaN && !$0.isNaN }
        let middle = [sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2]]
        return .real(
          function == .sum
            ? sum
            : function == .mean ? sum / Double(reals.count) : (middle[0] + middle[1]) / 2)
      }
      let texts = values.map { $0.description }
      let numbers = texts.map { Decimal(string: $0)! }
      let decimals = texts.map { $0.drop { $0 != "." }.dropFirst().count }.max() ?? 0
      let sum = numbers.reduce(0, +)
      switch function {
      case .sum: return .text(Self.text(sum, decimals: decimals))
      case .median:
        let sorted = zip(numbers, texts).sorted { $0.0 < $1.0 }
        let pair = [sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2]]
        if sorted.count % 2 == 1 { return .text(pair[0].1) }
        let own = pair.map { $0.1.drop { $0 != "." }.dropFirst().count }.max()!
        return .text(Self.text((pair[0].0 + pair[1].0) / 2, decimals: own))
      default:
        var quotient = sum / Decimal(numbers.count)
        var rounded = Decimal()
        let whole = "\(abs(quotient))".prefix { $0 != "." }.drop { $0 == "0" }.count
        let zeros =
          whole > 0 ? 0 : "\(quotient)".drop { $0 != "." }.dropFirst().prefix { $0 == "0" }.count
        NSDecimalRound(
          &rounded, &quotient, max(decimals, whole > 0 ? 15 - whole : 15 + zeros), .plain)
        return .text(Self.text(rounded, decimals: decimals))
      }
    }
  }

  /// The text of a number, with at least some decimals.
  private static func text(_ number: Decimal, decimals: Int) -> String {
    var text = "\(number)"
    let own = text.drop { $0 != "." }.dropFirst().count
    if own < decimals {
      text += (own == 0 ? "." : "") + String(repeating: "0", count: decimals - own)
    }
    return text
  }

  private static let columns = [
    Column("key"), Column("text"), Column("integer", .integer), Column("real", .real),
    Column("mixed"), Column("date", .date), Column("boolean", .boolean), Column("binary", .binary),
  ]

  private static func row(_ generator: inout SeededGenerator) -> [Cell] {
    columns.map { column in
      let value = Int.random(in: 0..<40, using: &generator)
      if value < 6 { return .missing }
      switch column.name {
      case "key": return .text("k\(value % 5)")
      case "text":
        return .text(["", "1.50", "-7", "0.125", "12", "3.0"][value % 6])
      case "mixed": return AwkwardCells.cell(.text, &generator)
      case "real":
        return .real([0.25, -0.0, 1.5, -8, .infinity, .nan, 2, 3, 0][value % 9])
      case "integer": return .integer([Int64.max, .min, 3, -4, 5, 0][value % 6])
      default: return AwkwardCells.cell(column.type, &generator)
      }
    }
  }

  /// All aggregates of a group equal those that are computed from its cells.
  @Test func summariesEqualTheNaiveOnes() throws {
    for seed in 0..<150 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let sections = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
        (0..<Int.random(in: 0..<30, using: &generator)).map { _ in Self.row(&generator) }
      }
      let base = Recording(
        InMemorySource(Self.columns, sections: sections.map { (nil, nil, nil, $0) }))
      base.batchLimit = [Int.max, 1, 7].randomElement(using: &generator)!
      base.countsAtLeast = seed % 2 == 0
      let aggregates = Aggregate.Function.usual.flatMap { function in
        Self.columns.indices.map { Aggregate(function, ofColumn: function.needsColumn ? $0 : nil) }
      }.filter { aggregate in
        (try? aggregate.check(in: Self.columns)) != nil
          && !(aggregate.function.needsNumbers && [0, 4].contains(aggregate.column))
      }.shuffled(using: &generator).prefix(8)
      let isGrouped = seed % 3 > 0
      let summary = try base.summarized(
        by: isGrouped ? [Grouping(column: 0)] : [], computing: Array(aggregates))
      let rows = try Naive(reading: summary).sections[0].rows
      let all = sections.flatMap { $0 }
      let kinds = Set(all.map { $0[0] })
      let keys: [Cell] =
        isGrouped
        ? kinds.subtracting([.missing]).sorted { $0.description < $1.description }
          + (kinds.contains(.missing) ? [.missing] : []) : [.missing]
      #expect(rows.count == keys.count)
      for (key, row) in zip(keys, rows) {
        if isGrouped { #expect(row[0] == key) }
        let own = isGrouped ? all.filter { $0[0] == key } : all
        for (aggregate, cell) in zip(aggregates, row.dropFirst(isGrouped ? 1 : 0)) {
          let column = aggregate.column ?? 0
          let naive = Self.naive(aggregate.function, own.map { $0[column] }, Self.columns[column])
          #expect(
            "\(cell)" == "\(naive)" && (cell == .missing) == (naive == .missing),
            "seed \(seed): \(aggregate) of \(own.map { $0[column] })")
        }
      }
    }
  }

  /// The aggregates of sections equal summaries of the sections alone, in views of all kinds.
  @Test func sectionsHaveTheAggregatesOfTheirRows() throws {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let rows = (0..<Int.random(in: 0..<30, using: &generator)).map { _ in Self.row(&generator) }
      let base = InMemorySource(
        Self.columns, sections: [(nil, nil, nil, rows), ("b", nil, nil, Array(rows.prefix(3)))])
      let aggregates: [Aggregate] = [
        .rows, Aggregate(.sum, ofColumn: 1), Aggregate(.first, ofColumn: 4),
        Aggregate(.last, ofColumn: 4), Aggregate(.max, ofColumn: 4),
      ]
      let some = seed % 2 == 0 ? aggregates : [.rows]
      let grouped = try base.grouped(by: [Grouping(column: 0), Grouping(column: 6)])
      let sorted = try grouped.sorted(by: [SortDescriptor(column: 2, isDescending: true)])
      for view in [
        base, grouped, sorted,
        try sorted.sectionsSorted(by: SectionOrder(Aggregate(.sum, ofColumn: 1))),
      ] as [any TableDataSource] {
        let values = try view.sectionAggregates(some)
        let table = try Naive(reading: view)
        #expect(values.sections.count == table.sections.count)
        for (section, cells) in zip(table.sections, values.sections) {
          let alone = Naive(columns: Self.columns, sections: [section]).source
          let naive = try Naive(reading: alone.summarized(computing: some)).sections[0].rows[0]
          #expect(cells.map { "\($0)" } == naive.map { "\($0)" })
        }
        let whole = try Naive(reading: view.summarized(computing: some)).sections[0].rows[0]
        #expect(values.total.map { "\($0)" } == whole.map { "\($0)" })
      }
    }
  }

  @Test func columnsOfSummaries() throws {
    let columns = [
      Column("when", .date), Column("size", .integer, unit: .bytes),
      Column("price", hasDecimalComma: true),
      Column("name"),
    ]
    let day: Int64 = 86_400_000_000_000
    let base = InMemorySource(
      columns,
      rows: [
        [.date(Timestamp(nanoseconds: 0)), 5, "1,50", "b"],
        [.date(Timestamp(nanoseconds: 40 * day)), 6, "2,5", "a"],
        [.date(Timestamp(nanoseconds: 41 * day)), nil, "", nil],
      ])
    let names = ColumnNames(columns)
    let summary = try base.summarized(
      by: Grouping.list("when:month,when:year", names),
      computing: Aggregate.list("sum size, mean size, sum price, mean price, min name, rows", names)
    )
    #expect(
      summary.columns.map(\.name) == [
        "when:month", "when:year", "sum size", "mean size", "sum price", "mean price", "min name",
        "rows",
      ])
    #expect(
      summary.columns.map(\.valueType) == [
        .text, .integer, .integer, .integer, .real, .real, .text, .integer,
      ])
    #expect(summary.columns[2].unit == .bytes && summary.columns[4].hasDecimalComma)
    #expect(
      try Naive(reading: summary).sections[0].rows == [
        ["1970-01", "1970", 5, 5, "1,50", "1,50", "b", 1],
        ["1970-02", "1970", 6, 6, "2,5", "2,5", "a", 2],
      ])
    let total = try Naive(reading: base.summarized(computing: Aggregate.list("mean price", names)))
    #expect(total.sections[0].rows == [["2,00"]])
    #expect(try InMemorySource(columns, rows: []).summarized().exactNumberOfRows(inSection: 0) == 1)
    let none = try InMemorySource(columns, rows: []).summarized(by: [Grouping(column: 0)])
    #expect(try none.exactNumberOfRows(inSection: 0) == 0)
  }

  /// Large sums keep all their digits in a sort.
  @Test func largeSumsAreSortedExactly() throws {
    let base = InMemorySource(
      [Column("k"), Column("n")],
      rows: [
        ["a", "9007199254740993.5"], ["b", "9007199254740992.5"], ["c", "9007199254740994.5"],
        ["d", ""],
      ])
    let summary = try base.summarized(
      by: [Grouping(column: 0)], computing: [Aggregate(.sum, ofColumn: 1)])
    let sorted = try summary.sorted(by: [SortDescriptor(column: 1, isDescending: true)])
    #expect(try Naive(reading: sorted).sections[0].rows.map { $0[0] } == ["c", "a", "b", "d"])
  }

  /// A column of a batch has a limited number of bytes. Here the limit is small, instead of 2 GiB. There are more groups
  /// than are computed together.
  @Test(arguments: [1, 30, 60, 250, 100_000])
  func `the rows of a summary with small batches are those of one batch`(limit: Int) throws {
    let columns = [Column("c"), Column("n", reads: .real), Column("t")]
    let rows: [[Cell]] = (0..<700).map { row in
      [
        row % 9 == 0 ? .missing : .text(String(repeating: "x", count: row % 13) + "\(row % 25)"),
        .text(row % 7 == 0 ? String(repeating: "9", count: row % 40 + 20) : "\(row).5"),
        .text(String(repeating: "long ", count: row % 50)),
      ]
    }
    var keys = try GroupKeys([Grouping(column: 0)], in: columns)
    var aggregator = try Aggregator(
      Aggregate.list("rows, sum n, min c, max t", ColumnNames(columns)), in: columns)
    let batch = AwkwardCells.batch(
      columns.indices.map { column in rows.map { $0[column] } }, [.text, .text, .text])
    var groups: [UInt32] = []
    keys.number(Batch(rowCount: rows.count, columns: [batch.columns[0]]), &groups)
    aggregator.makeRoom(forGroups: keys.groupCount)
    try groups.withUnsafeBufferPointer {
      try aggregator.append(aggregator.columns.map { batch.columns[$0] }, groups: $0)
    }
    let order = keys.sortGroups().order
    func summary(_ limit: Int) -> Summary {
      Summary(
        [Grouping(column: 0)], ColumnNames(columns), keys, order, aggregator.results(order),
        batchBytes: limit)
    }
    func batches(_ summary: Summary, _ columns: [Int] = [0, 1, 2, 3, 4]) -> [Batch] {
      var (batches, first) = ([] as [Batch], 0)
      while first < summary.count {
        batches.append(summary.batch(first..<summary.count, columns: columns))
        first += batches[batches.count - 1].rowCount
      }
      return batches
    }
    func cells(_ batches: [Batch]) -> [[Cell]] {
      batches.flatMap { batch in (0..<batch.rowCount).map { batch.row($0) } }
    }
    let (whole, parts) = (summary(.max), summary(limit))
    let (wholeBatches, partBatches) = (batches(whole), batches(parts))
    #expect(wholeBatches.count == 1)
    let all = cells(wholeBatches)
    #expect(cells(partBatches) == all)
    #expect(parts.columns == whole.columns)
    #expect(cells(batches(parts, [3, 0])) == all.map { [$0[3], $0[0]] })
    // Rows in any order, also more than once.
    var wanted = (0..<3000).map { $0 * 7919 % whole.count }
    var gathered: [[Cell]] = []
    while !wanted.isEmpty {
      let batch = parts.batch(at: wanted, columns: [0, 1, 2, 3, 4])
      gathered += (0..<batch.rowCount).map { batch.row($0) }
      wanted.removeFirst(batch.rowCount)
    }
    #expect(gathered == (0..<3000).map { all[$0 * 7919 % whole.count] })
    for batch in partBatches where batch.rowCount > 1 {
      for column in batch.columns where column.type == .text {
        let bytes = (0..<column.count).map { column.withBytes(at: $0, \.count) }
        #expect(bytes.reduce(0, +) <= limit)
      }
    }
    if limit < 100 { #expect(partBatches.count > 5) }
  }

  /// Values that replace each other, longer and shorter ones in turns, do not collect.
  @Test(arguments: [ColumnType.text, .binary])
  func `the memory of last values does not depend on the number of rows`(type: ColumnType) {
    var extremes = Extremes(Column("c", type), isGreatest: true)
    var lasts = GroupedCells(type)
    extremes.makeRoom(forGroups: 2)
    lasts.makeRoom(forGroups: 2)
    for number in 0..<20_000 {
      // Each value comes after all before it. At first, each is longer than all before it.
      let length = number < 1000 ? number : number * 7 % 1000
      let text = Array("\(100_000 + number)\(String(repeating: "x", count: length))".utf8)
      let cell: Cell = type == .text ? .text(text) : .binary(text)
      let cells = AwkwardCells.batch([[cell]], [type]).columns[0]
      [UInt32(number % 2)].withUnsafeBufferPointer {
        extremes.add(cells, OrderWords(Column("c", type), cells), groups: $0)
      }
      lasts.set(cells, 0, for: number % 2)
      if number >= 19_998 {
        #expect(extremes.cells.cell(ofGroup: number % 2) == cell)
        #expect(lasts.cell(ofGroup: number % 2) == cell)
      }
    }
    #expect(extremes.cells.byteCount < 10_000 && lasts.byteCount < 10_000)
  }

  /// Text that reads as dates is compared as dates, and the first of equal dates remains. Other text does not count.
  @Test func `dates in text are compared as dates`() throws {
    let source = InMemorySource(
      [Column("day", reads: .date)],
      sections: [
        (
          nil, nil, nil,
          [
            ["10 o'clock"], ["2026-01-02T00:00:00Z"], ["2026-01-02"], ["2026-11-03"], ["none"],
            ["2026-11-03T00:00:00Z"], [""],
          ]
        )
      ])
    let summary = try source.summarized(
      computing: [Aggregate(.min, ofColumn: 0), Aggregate(.max, ofColumn: 0)])
    #expect(
      try Naive(reading: summary).sections[0].rows == [["2026-01-02T00:00:00Z", "2026-11-03"]])
  }

  /// The sum of reals depends on the order of the additions, so groups with sums cannot be merged, and keys become no list.
  @Test(arguments: [Column("n", .real), Column("n", reads: .real)])
  func `sums of many groups of few rows`(column: Column) throws {
    var sums: [String: Double] = [:]
    let rows: [[Cell]] = (0..<40_000).map { row in
      // Nearly all keys differ, then each is there twice.
      let key = "k\(row * 7919 % 20_011)"
      sums[key, default: 0] += Double(row)
      let number: Cell = column.type == .real ? .real(Double(row)) : .text(Array("\(row)".utf8))
      return [.text(Array(key.utf8)), number]
    }
    let source = InMemorySource([Column("key"), column], sections: [(nil, nil, nil, rows)])
    let summary = try source.summarized(
      by: [Grouping(column: 0)], computing: [.rows, Aggregate(.sum, ofColumn: 1)])
    let computed = try Naive(reading: summary).sections[0].rows
    #expect(computed.count == sums.count)
    for row in computed where sums[row[0].description] != Double(row[2].description) {
      Issue.record("\(row)")
    }
    #expect(computed.map { Int($0[1].description)! }.reduce(0, +) == rows.count)
  }

  /// An error names the row of the table itself, also through views.
  @Test func errorsNameTheRow() throws {
    let base = InMemorySource(
      [Column("k"), Column("n")],
      sections: [
        (nil, nil, nil, [["b", "1"]]), (nil, nil, nil, [["a", "2"], ["b", "x"], ["c", "3"]]),
      ])
    let view = try base.filtered(
      by: [Condition(column: 0, comparison: .notEqual, value: Array("a".utf8))]
    ).grouped(by: Grouping(column: 0)).sorted(by: [SortDescriptor(column: 1)])
    for function in [Aggregate.Function.sum, .mean, .median] {
      for table in [base, view] as [any TableDataSource] {
        let aggregates = [Aggregate(function, ofColumn: 1)]
        for body in [
          { _ = try table.summarized(computing: aggregates) },
          { _ = try table.sectionAggregates(aggregates) },
        ] {
          let error = #expect(throws: TableError.self) { try body() }
          #expect(error?.code == .wrongData)
          #expect(error?.section == 1 && error?.row == 1 && error?.column == 1)
          #expect(error?.message == "no \(function.rawValue) of n: \"x\" is not a number")
        }
      }
    }
    for wrong in [Aggregate(.sum, ofColumn: 2), Aggregate(.sum), Aggregate(.first, ofColumn: -1)] {
      #expect(throws: TableError.self) { try base.summarized(computing: [wrong]) }
    }
    let dates = InMemorySource([Column("d", .date)], rows: [])
    #expect(throws: TableError.self) {
      try dates.summarized(computing: [Aggregate(.mean, ofColumn: 0)])
    }
  }

  @Test func cancellation() throws {
    let base = Recording(
      InMemorySource([Column("n", .integer)], rows: (0..<9).map { [.integer($0)] }))
    let flag = CancelFlag()
    base.batchLimit = 1
    base.onRows = { request throws(TableError) in if request.first == 3 { flag.raise() } }
    var done: [Int] = []
    let error = #expect(throws: TableError.self) {
      try base.summarized(computing: [Aggregate(.sum, ofColumn: 0)], flag: flag) { done.append($0) }
    }
    #expect(error?.code == .cancelled && done == [1, 2, 3])
  }
}
