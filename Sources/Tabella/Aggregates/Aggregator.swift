/// Computes aggregates of groups of rows from batches, in one pass.
///
/// Its memory depends on the number of groups. In addition, medians and percentiles store the numbers of all rows, and
/// `distinct` stores the different values.
struct Aggregator {
  /// The columns to read, without repetition.
  let columns: [Int]
  private let aggregates: [Aggregate]
  private var states: [ColumnState]
  private let names: ColumnNames
  /// The number of rows of each group.
  private var counts: [Int] = []

  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist or has no such aggregate.
  init(_ aggregates: [Aggregate], in columns: [Column]) throws(TableError) {
    var wanted: [Int] = []
    for aggregate in aggregates {
      try aggregate.check(in: columns)
      if let column = aggregate.readColumn, !wanted.contains(column) { wanted.append(column) }
    }
    self.columns = wanted
    self.aggregates = aggregates
    names = ColumnNames(columns)
    states = wanted.map { column in
      ColumnState(
        columns[column], number: column,
        Set(aggregates.filter { $0.readColumn == column }.map(\.function)))
    }
  }

  /// Whether a result depends on the order of the rows.
  var needsOrder: Bool { aggregates.contains { $0.function == .first || $0.function == .last } }

  /// Makes room for groups. All groups exist from then on, even without rows.
  mutating func makeRoom(forGroups count: Int) {
    guard count > counts.count else { return }
    counts.makeRoom(for: count - counts.count)
    counts += repeatElement(0, count: count - counts.count)
    for index in states.indices { states[index].makeRoom(forGroups: count) }
  }

  /// Adds rows to a group without reading cells. Possible if no aggregate reads a column.
  mutating func append(rows: Int, group: Int) {
    precondition(columns.isEmpty, "the cells of the rows are needed")
    counts[group] += rows
  }

  /// Adds rows. `groups` holds the number of the group of each row, below the number of groups that there is room for.
  ///
  /// `cells` holds the columns of ``columns``. Throws ``TableError`` with `.wrongData` for text that should be a number;
  /// its row is the row in the batch.
  mutating func append(
    _ cells: [ColumnBatch], groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    for group in groups { counts[Int(group)] += 1 }
    for index in states.indices { try states[index].append(cells[index], groups) }
  }

  /// The same aggregates without groups.
  var emptied: Aggregator {
    var copy = self
    copy.counts = []
    for index in states.indices { copy.states[index] = states[index].emptied }
    return copy
  }

  /// Whether ``merge(_:groups:)`` gives the same result as adding all rows to one value. A sum of doubles depends on the
  /// order of the additions.
  var canMerge: Bool { states.allSatisfy(\.canMerge) }

  /// Adds the rows of another value of the same aggregates, which follow. `groups` holds the number of each of its groups
  /// here, below the number of groups that there is room for.
  mutating func merge(_ next: Aggregator, groups: [UInt32]) {
    for (group, count) in next.counts.enumerated() { counts[Int(groups[group])] += count }
    for index in states.indices { states[index].merge(next.states[index], groups) }
  }

  /// The results, one column per aggregate, and one row per group in the given order.
  func results(_ order: [UInt32]) -> [AggregateColumn] {
    aggregates.map { aggregate in
      let name = aggregate.name(names)
      guard let column = aggregate.readColumn, let index = columns.firstIndex(of: column) else {
        return AggregateColumn(integers: counts, of: order, name: name)
      }
      return states[index].result(aggregate.function, name: name, order)
    }
  }
}

/// The state of all aggregates of one column.
private struct ColumnState {
  private let column: Column
  private let number: Int
  private let functions: Set<Aggregate.Function>
  /// Whether numbers are added as doubles.
  private let isReal: Bool

  // One element per group each, if an aggregate needs it.
  private var sums: [ExactSum] = []
  private var realSums: [CompensatedSum] = []
  /// The number of values, for means and missing sums.
  private var counts: [Int] = []
  private var numbers: [[ExactNumber]] = []
  private var reals: [[Double]] = []
  private var distinct: [Int] = []
  private var empties: [Int] = []
  private var least: [Extreme?] = []
  private var greatest: [Extreme?] = []
  private var firsts: [Cell] = []
  private var lasts: [Cell] = []

  /// The different values, and the pairs of a group and a value in it.
  private var values = KeyTable()
  private var pairs = KeyTable()

  init(_ column: Column, number: Int, _ functions: Set<Aggregate.Function>) {
    self.column = column
    self.number = number
    self.functions = functions
    isReal = column.type == .real
    hasMedian = functions.contains { $0.isOfOrderedNumbers }
  }

  private var hasSum: Bool { functions.contains(.sum) || functions.contains(.mean) }
  /// Whether the numbers are stored.
  private let hasMedian: Bool
  private var hasExtreme: Bool { functions.contains(.min) || functions.contains(.max) }

  mutating func makeRoom(forGroups count: Int) {
    func grow<T>(_ array: inout [T], _ isNeeded: Bool, _ empty: T) {
      guard isNeeded else { return }
      array.makeRoom(for: count - array.count)
      array += repeatElement(empty, count: count - array.count)
    }
    grow(&sums, hasSum && !isReal, ExactSum())
    grow(&realSums, hasSum && isReal, CompensatedSum())
    grow(&counts, hasSum || hasMedian, 0)
    grow(&numbers, hasMedian && !isReal, [])
    grow(&reals, hasMedian && isReal, [])
    grow(&distinct, functions.contains(.distinct), 0)
    grow(&empties, functions.contains(.empty), 0)
    grow(&least, functions.contains(.min), nil)
    grow(&greatest, functions.contains(.max), nil)
    grow(&firsts, functions.contains(.first), .missing)
    grow(&lasts, functions.contains(.last), .missing)
  }

  var emptied: ColumnState { ColumnState(column, number: number, functions) }

  var canMerge: Bool { !isReal || !hasSum }

  mutating func merge(_ next: ColumnState, _ groups: [UInt32]) {
    for (group, sum) in next.sums.enumerated() { sums[Int(groups[group])].add(sum) }
    for (group, count) in next.counts.enumerated() { counts[Int(groups[group])] += count }
    for (group, some) in next.numbers.enumerated() { numbers[Int(groups[group])] += some }
    for (group, some) in next.reals.enumerated() { reals[Int(groups[group])] += some }
    for (group, count) in next.empties.enumerated() { empties[Int(groups[group])] += count }
    mergeDistinct(next, groups)
    for (group, extreme) in next.least.enumerated() {
      guard let extreme else { continue }
      let group = Int(groups[group])
      if let known = least[group], compare(extreme, known) >= 0 { continue }
      least[group] = extreme
    }
    for (group, extreme) in next.greatest.enumerated() {
      guard let extreme else { continue }
      let group = Int(groups[group])
      if let known = greatest[group], compare(extreme, known) <= 0 { continue }
      greatest[group] = extreme
    }
    for (group, cell) in next.firsts.enumerated() where firsts[Int(groups[group])] == .missing {
      firsts[Int(groups[group])] = cell
    }
    for (group, cell) in next.lasts.enumerated() where cell != .missing {
      lasts[Int(groups[group])] = cell
    }
  }

  private mutating func mergeDistinct(_ next: ColumnState, _ groups: [UInt32]) {
    let numbers = (0..<UInt32(truncatingIfNeeded: next.values.count)).map { value in
      next.values.withKey(value) { values.number(of: $0) }
    }
    for pair in 0..<UInt32(truncatingIfNeeded: next.pairs.count) {
      let (group, value) = next.pairs.withKey(pair) { pair in
        (
          groups[Int(pair.loadUnaligned(as: UInt32.self))],
          numbers[Int(pair.loadUnaligned(fromByteOffset: 4, as: UInt32.self))]
        )
      }
      addDistinct(value, group)
    }
  }

  /// Negative if a value comes before another one, 0 if both are equal, otherwise positive.
  private func compare(_ left: Extreme, _ right: Extreme) -> Int {
    ExtremeKey.compare(
      left, right, hasWords: ExtremeKey.hasWords(column), hasComma: column.hasDecimalComma)
  }

  mutating func append(
    _ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    if hasSum || hasMedian {
      if isReal { addReals(cells, groups) } else { try addNumbers(cells, groups) }
    }
    if functions.contains(.distinct) { addDistinct(cells, groups) }
    if functions.contains(.empty) {
      for row in 0..<cells.count where !counts(cells, row) { empties[Int(groups[row])] += 1 }
    }
    if hasExtreme { addExtremes(cells, groups) }
    if functions.contains(.first) {
      for row in 0..<cells.count where firsts[Int(groups[row])] == .missing && counts(cells, row) {
        firsts[Int(groups[row])] = cells[row]
      }
    }
    if functions.contains(.last) {
      // The last row of a group in the batch is the first one from its end.
      var seen: Set<UInt32> = []
      for row in (0..<cells.count).reversed()
      where counts(cells, row) && seen.insert(groups[row]).inserted {
        lasts[Int(groups[row])] = cells[row]
      }
    }
  }

  /// Whether a cell is a value: not missing, and not empty text.
  @inline(__always)
  private func counts(_ cells: ColumnBatch, _ row: Int) -> Bool {
    if cells.missingCount > 0, cells.isMissing(row) { return false }
    return !cells.type.isBytes || cells.withBytes(at: row) { !$0.isEmpty }
  }

  private mutating func addReals(_ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>) {
    for row in 0..<cells.count where !(cells.missingCount > 0 && cells.isMissing(row)) {
      let (group, value) = (Int(groups[row]), cells.real(row))
      counts[group] += 1
      if hasSum { realSums[group].add(value) }
      if hasMedian { reals[group].append(value) }
    }
  }

  private mutating func addNumbers(
    _ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    let (hasSum, hasMedian, hasComma) = (hasSum, hasMedian, column.hasDecimalComma)
    for row in 0..<cells.count {
      if cells.missingCount > 0, cells.isMissing(row) { continue }
      let number: ExactNumber
      if cells.type == .integer {
        number = ExactNumber(cells.integer(row))
      } else {
        let (read, isEmpty) = cells.withBytes(at: row) {
          ($0.isEmpty ? nil : ExactNumber($0, hasComma: hasComma), $0.isEmpty)
        }
        if isEmpty { continue }
        guard let read else { throw wrong(cells, row) }
        number = read
      }
      let group = Int(groups[row])
      counts[group] += 1
      if hasSum { sums[group].add(number) }
      if hasMedian { numbers[group].append(number) }
    }
  }

  /// The error for text that is no number.
  private func wrong(_ cells: ColumnBatch, _ row: Int) -> TableError {
    let function =
      Aggregate.Function.named.first { functions.contains($0) && $0.needsNumbers }
      ?? functions.first { $0.needsNumbers }
    let text = cells.withBytes(at: row) { bytes in
      String(decoding: bytes.prefix(80), as: UTF8.self) + (bytes.count > 80 ? "…" : "")
    }
    let hasComma = column.hasDecimalComma
    let (isNumber, isOther) = cells.withBytes(at: row) {
      (NumberText($0, hasComma: hasComma) != nil, NumberText($0, hasComma: !hasComma) != nil)
    }
    let reason =
      isNumber
      ? "has an exponent beyond \(ExactNumber.exponentLimit)"
      : "is not a number"
        + (isOther ? "; it has a decimal \(hasComma ? "point" : "comma")" : "")
    return TableError(
      .wrongData, "no \(function?.rawValue ?? "") of \(column.name): \"\(text)\" \(reason)",
      row: row,
      column: number)
  }

  private mutating func addDistinct(_ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>) {
    for row in 0..<cells.count where counts(cells, row) {
      let value =
        cells.type.isBytes
        ? cells.withBytes(at: row) { values.number(of: $0) }
        : withUnsafeBytes(of: cells.keyWord(row)) { values.number(of: $0) }
      addDistinct(value, groups[row])
    }
  }

  /// Notes that a group has a value.
  @inline(__always)
  private mutating func addDistinct(_ value: UInt32, _ group: UInt32) {
    let pair = (group, value)
    let known = pairs.count
    if withUnsafeBytes(of: pair, { Int(pairs.number(of: $0)) }) == known {
      distinct[Int(group)] += 1
    }
  }

  private mutating func addExtremes(_ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>) {
    let key = ExtremeKey(column, cells)
    for row in 0..<cells.count where counts(cells, row) && key.hasValue(row) {
      let group = Int(groups[row])
      if functions.contains(.min) {
        if let known = least[group], key.compare(row, known) >= 0 {
        } else {
          least[group] = key.extreme(row)
        }
      }
      if functions.contains(.max) {
        if let known = greatest[group], key.compare(row, known) <= 0 {
        } else {
          greatest[group] = key.extreme(row)
        }
      }
    }
  }

  // Results

  func result(
    _ function: Aggregate.Function, name: String, _ order: [UInt32]
  ) -> AggregateColumn {
    var own = column
    own.name = name
    func cells(_ cell: @escaping (Int) -> Cell) -> AggregateColumn {
      AggregateColumn(own, count: order.count) { rows in order[rows].map { cell(Int($0)) } }
    }
    switch function {
    case .rows: preconditionFailure("the number of rows belongs to no column")
    case .distinct: return AggregateColumn(integers: distinct, of: order, name: name)
    case .empty: return AggregateColumn(integers: empties, of: order, name: name)
    case .min: return cells { least[$0]?.cell ?? .missing }
    case .max: return cells { greatest[$0]?.cell ?? .missing }
    case .first: return cells { firsts[$0] }
    case .last: return cells { lasts[$0] }
    case .sum, .mean, .median, .percentile:
      if isReal {
        return cells { counts[$0] == 0 ? .missing : .real(real(function, ofGroup: $0)) }
      }
      return exactNumbers(function, name: name, order)
    }
  }

  private func exactNumbers(
    _ function: Aggregate.Function, name: String, _ order: [UInt32]
  ) -> AggregateColumn {
    func number(ofGroup group: Int) -> ExactNumber? {
      counts[group] == 0 ? nil : exact(function, ofGroup: group)
    }
    func column(
      _ kinds: NumberKinds, _ numbers: @escaping (Range<Int>) -> [ExactNumber?]
    ) -> AggregateColumn {
      AggregateColumn(
        count: order.count, kinds, name: name, unit: self.column.unit,
        hasComma: self.column.hasDecimalComma, numbers)
    }
    var kinds = NumberKinds()
    guard function == .sum else {
      let numbers = order.map { number(ofGroup: Int($0)) }
      for number in numbers { kinds.add(number) }
      return column(kinds) { Array(numbers[$0]) }
    }
    // A sum is computed so fast that it need not be stored. In the order of memory, all are read even faster.
    if order.count == counts.count {
      for group in counts.indices { kinds.add(number(ofGroup: group)) }
    } else {
      for group in order { kinds.add(number(ofGroup: Int(group))) }
    }
    return column(kinds) { [counts, sums] rows in
      // Groups lie anywhere in memory. If little else happens between their reads, the processor waits for many at once.
      let counts = order[rows].map { counts[Int($0)] }
      return zip(order[rows], counts).map { group, count in
        count == 0 ? nil : sums[Int(group)].number
      }
    }
  }

  private func real(_ function: Aggregate.Function, ofGroup group: Int) -> Double {
    switch function {
    case .mean: return realSums[group].value / Double(counts[group])
    case .median:
      let sorted = reals[group].sorted { $0.orderedBits < $1.orderedBits }
      let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
      // Halving first avoids an overflow.
      return low == high ? low : low / 2 + high / 2
    case .percentile(let percent):
      return reals[group].sorted { $0.orderedBits < $1.orderedBits }[
        rank(percent, of: counts[group])]
    default: return realSums[group].value
    }
  }

  /// The index of a percentile among the numbers in their order.
  private func rank(_ percent: Int, of count: Int) -> Int {
    // The count is below 2^53, so the product does not overflow.
    (percent * count + 99) / 100 - 1
  }

  private func exact(_ function: Aggregate.Function, ofGroup group: Int) -> ExactNumber {
    switch function {
    case .mean:
      if counts[group] == 1 { return sums[group].number }
      return ExactNumber(
        sums[group].value.divided(
          by: counts[group], significant: Aggregate.significantDigits))
    case .percentile(let percent):
      return ExactNumber.inOrder(numbers[group])(rank(percent, of: counts[group]))
    case .median:
      let ordered = ExactNumber.inOrder(numbers[group])
      let (count, low) = (counts[group], ordered((counts[group] - 1) / 2))
      guard count % 2 == 0 else { return low }
      let high = ordered(count / 2)
      var sum = ExactSum()
      sum.add(low)
      sum.add(high)
      // A half has at most one more digit.
      return ExactNumber(sum.value.divided(by: 2, significant: .max))
    default: return sums[group].number
    }
  }
}

extension AggregateColumn {
  /// A column of the integers of groups.
  fileprivate init(integers: [Int], of order: [UInt32], name: String) {
    self.init(Column(name, .integer), count: order.count) { rows in
      order[rows].map { .integer(Int64(integers[Int($0)])) }
    }
  }
}

extension ExactNumber {
  /// The numbers in their order, by index.
  /// - Complexity: O(n log n)
  fileprivate static func inOrder(_ numbers: [ExactNumber]) -> (Int) -> ExactNumber {
    // Numbers with the same number of decimals are in the order of their integers.
    var mantissas: [Int64] = []
    mantissas.reserveCapacity(numbers.count)
    var common: Int8?
    for case .small(let mantissa, let scale) in numbers {
      guard scale == common ?? scale else { break }
      common = scale
      mantissas.append(mantissa)
    }
    if mantissas.count == numbers.count {
      mantissas.sort()
      return { .small(mantissas[$0], scale: common ?? 0) }
    }
    let sorted = numbers.sorted { compare($0, $1) < 0 }
    return { sorted[$0] }
  }
}

extension ColumnBatch {
  /// The key of a value that is neither text nor binary: NaN is one value, and so are the two zeros.
  @inline(__always)
  func keyWord(_ row: Int) -> Int64 {
    switch type {
    case .boolean: return boolean(row) ? 1 : 0
    case .real:
      let real = real(row)
      return Int64(bitPattern: (real.isNaN ? .nan : real == 0 ? 0 : real).bitPattern)
    default: return integer(row)
    }
  }
}

/// The first or last value of a group so far.
private struct Extreme {
  var cell: Cell
  /// The value as a word with the order of the values; 0 for text.
  var word: UInt64
  /// The number that a text is, if it is one.
  var number: NumberText?
}

/// Compares cells of a batch with stored values, in the order of ``SortDescriptor``.
private struct ExtremeKey {
  private let cells: ColumnBatch
  /// The cells as values with words; nil for text and binary.
  private let values: ColumnBatch?
  private let hasComma: Bool

  init(_ column: Column, _ cells: ColumnBatch) {
    self.cells = cells
    hasComma = column.hasDecimalComma
    switch column.valueType {
    case .text, .binary: values = nil
    // Text that is numbers is compared with all its digits.
    case .integer, .real: values = cells.type == .text ? nil : cells
    case .boolean, .date: values = column.values(of: cells)
    }
  }

  /// Whether the stored values of a column have words.
  static func hasWords(_ column: Column) -> Bool {
    switch column.valueType {
    case .text, .binary: false
    case .integer, .real: column.type != .text
    case .boolean, .date: true
    }
  }

  /// Whether the text of a cell can be read as the column's type.
  func hasValue(_ row: Int) -> Bool { values.map { !$0.isMissing(row) } ?? true }

  private func word(_ row: Int) -> UInt64 {
    guard let values else { return 0 }
    switch values.type {
    case .real: return values.real(row).orderedBits
    case .boolean: return values.boolean(row) ? 1 : 0
    default: return UInt64(bitPattern: values.integer(row)) ^ 1 << 63
    }
  }

  func extreme(_ row: Int) -> Extreme {
    Extreme(
      cell: cells[row], word: word(row),
      number: cells.type == .text && values == nil
        ? cells.withBytes(at: row) { NumberText($0, hasComma: hasComma) } : nil)
  }

  /// Negative if the cell comes before the stored value, 0 if both are equal, otherwise positive.
  func compare(_ row: Int, _ known: Extreme) -> Int {
    if values != nil { return ExtremeKey.compare(word(row), known.word) }
    return cells.withBytes(at: row) { text in
      ExtremeKey.compare(text, nil, known, hasComma: hasComma)
    }
  }

  /// Compares two stored values in the same way.
  static func compare(_ left: Extreme, _ right: Extreme, hasWords: Bool, hasComma: Bool) -> Int {
    if hasWords { return compare(left.word, right.word) }
    switch left.cell {
    case .text(let bytes), .binary(let bytes):
      return bytes.withUnsafeBytes { compare($0, left.number, right, hasComma: hasComma) }
    default: return 0
    }
  }

  private static func compare(_ left: UInt64, _ right: UInt64) -> Int {
    left == right ? 0 : left < right ? -1 : 1
  }

  /// Compares a text or binary with a stored value. `number` is the number that the text is, if that is known.
  private static func compare(
    _ text: UnsafeRawBufferPointer, _ number: NumberText?, _ known: Extreme, hasComma: Bool
  ) -> Int {
    guard case .text(let bytes) = known.cell else {
      guard case .binary(let bytes) = known.cell else { return 0 }
      return bytes.withUnsafeBytes { NaturalOrder.compareBytes(text, $0) }
    }
    return bytes.withUnsafeBytes { knownText in
      switch (number ?? NumberText(text, hasComma: hasComma), known.number) {
      case (let number?, let other?): return NumberText.compare(number, text, other, knownText)
      case (nil, nil): return NaturalOrder.compare(text, knownText)
      case (_?, nil): return -1
      case (nil, _?): return 1
      }
    }
  }
}
