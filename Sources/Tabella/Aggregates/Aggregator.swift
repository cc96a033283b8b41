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
  private(set) var groupCount = 0
  /// The number of rows of each group; empty if no aggregate needs it.
  private var counts: [Int] = []
  private let countsRows: Bool

  /// If `countsRows` is false, the caller counts the rows of groups.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist or has no such aggregate.
  init(
    _ aggregates: [Aggregate], in columns: [Column], countsRows: Bool = true
  ) throws(TableError) {
    var wanted: [Int] = []
    for aggregate in aggregates {
      try aggregate.check(in: columns)
      if let column = aggregate.readColumn, !wanted.contains(column) { wanted.append(column) }
    }
    self.columns = wanted
    self.aggregates = aggregates
    self.countsRows = countsRows && aggregates.contains { $0.function == .rows }
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
    guard count > groupCount else { return }
    groupCount = count
    if countsRows {
      counts.makeRoom(for: count - counts.count)
      counts += repeatElement(0, count: count - counts.count)
    }
    for index in states.indices { states[index].makeRoom(forGroups: count) }
  }

  /// Adds rows to a group without reading cells. Possible if no aggregate reads a column.
  mutating func append(rows: Int, group: Int) {
    precondition(columns.isEmpty, "the cells of the rows are needed")
    if countsRows { counts[group] += rows }
  }

  /// Adds rows. `groups` holds the number of the group of each row, below the number of groups that there is room for.
  ///
  /// `cells` holds the columns of ``columns``. Throws ``TableError`` with `.wrongData` for text that should be a number;
  /// its row is the row in the batch.
  mutating func append(
    _ cells: [ColumnBatch], groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    if countsRows { for group in groups { counts[Int(group)] += 1 } }
    for index in states.indices { try states[index].append(cells[index], groups) }
  }

  /// The same aggregates without groups.
  var emptied: Aggregator {
    var copy = self
    (copy.groupCount, copy.counts) = (0, [])
    for index in states.indices { copy.states[index] = states[index].emptied }
    return copy
  }

  /// Whether ``merge(_:groups:)`` gives the same result as adding all rows to one value. A sum of doubles depends on the
  /// order of the additions.
  var canMerge: Bool { states.allSatisfy(\.canMerge) }

  /// Adds the rows of another value of the same aggregates, which follow. `groups` holds the number of each of its groups
  /// here, below the number of groups that there is room for.
  mutating func merge(_ next: Aggregator, groups: [UInt32]) {
    counts.combine(next.counts, groups, +=)
    for index in states.indices { states[index].combine(next.states[index], groups) }
  }

  /// Makes groups one. `groups` holds the new number of each group. The numbers follow the order of the first group of
  /// each number. Needs ``canMerge``.
  mutating func renumber(_ groups: [UInt32]) {
    groupCount = groups.max().map { Int($0) + 1 } ?? 0
    counts.combine(nil, groups, +=)
    for index in states.indices { states[index].combine(nil, groups) }
  }

  /// The results for some groups, one column per aggregate. Only values of these groups may be read, because they decide the
  /// type of a column. `rowCount` returns the number of rows of a group if the caller counts them.
  func results(_ groups: [UInt32], rowCount: ((UInt32) -> Int)? = nil) -> [AggregateColumn] {
    aggregates.map { aggregate in
      let name = aggregate.name(names)
      guard let column = aggregate.readColumn, let index = columns.firstIndex(of: column) else {
        return AggregateColumn(name: name, rowCount ?? { [counts] in counts[Int($0)] })
      }
      return states[index].result(aggregate.function, name: name, groups)
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
  private var sums = ExactSums()
  private var realSums: [CompensatedSum] = []
  /// The number of values, if ``hasCounts`` is true.
  private var counts: [Int] = []
  private var numbers = GroupedValues<ExactNumber>()
  private var reals = GroupedValues<Double>()
  private var distinct: [Int] = []
  private var empties: [Int] = []
  private var least: Extremes
  private var greatest: Extremes
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
    least = Extremes(column, isGreatest: false)
    greatest = Extremes(column, isGreatest: true)
  }

  private var hasSum: Bool { functions.contains(.sum) || functions.contains(.mean) }
  /// Whether the numbers are stored.
  private let hasMedian: Bool
  /// Whether values are counted. An exact sum knows whether it has any.
  private var hasCounts: Bool { hasMedian || functions.contains(.mean) || hasSum && isReal }

  mutating func makeRoom(forGroups count: Int) {
    func grow<T>(_ array: inout [T], _ isNeeded: Bool, _ empty: T) {
      guard isNeeded else { return }
      array.makeRoom(for: count - array.count)
      array += repeatElement(empty, count: count - array.count)
    }
    if hasSum, !isReal { sums.makeRoom(forGroups: count) }
    grow(&realSums, hasSum && isReal, CompensatedSum())
    grow(&counts, hasCounts, 0)
    grow(&distinct, functions.contains(.distinct), 0)
    grow(&empties, functions.contains(.empty), 0)
    if functions.contains(.min) { least.makeRoom(forGroups: count) }
    if functions.contains(.max) { greatest.makeRoom(forGroups: count) }
    grow(&firsts, functions.contains(.first), .missing)
    grow(&lasts, functions.contains(.last), .missing)
  }

  var emptied: ColumnState { ColumnState(column, number: number, functions) }

  var canMerge: Bool { !isReal || !hasSum }

  /// Adds the groups of another state, which follow, or of this one if `next` is nil. `groups` holds the number of each of
  /// these groups here, as in ``Aggregator/merge(_:groups:)`` and ``Aggregator/renumber(_:)``.
  mutating func combine(_ next: ColumnState?, _ groups: [UInt32]) {
    if functions.contains(.distinct) { combineDistinct(next, groups) }
    if let next {
      sums.combine(next.sums, groups)
      least.combine(next.least, groups)
      greatest.combine(next.greatest, groups)
    } else {
      if sums.count > 0 { sums.renumber(groups) }
      if functions.contains(.min) { least.renumber(groups) }
      if functions.contains(.max) { greatest.renumber(groups) }
    }
    counts.combine(next?.counts, groups, +=)
    numbers.combine(next?.numbers, groups)
    reals.combine(next?.reals, groups)
    empties.combine(next?.empties, groups, +=)
    firsts.combine(next?.firsts, groups) { if $0 == .missing { $0 = $1 } }
    lasts.combine(next?.lasts, groups) { if $1 != .missing { $0 = $1 } }
  }

  private mutating func combineDistinct(_ other: ColumnState?, _ groups: [UInt32]) {
    let next = other ?? self
    if other == nil {
      (values, pairs) = (KeyTable(), KeyTable())
      distinct = Array(repeating: 0, count: groups.max().map { Int($0) + 1 } ?? 0)
    }
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

  mutating func append(
    _ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    if hasSum || hasMedian {
      if isReal { addReals(cells, groups) } else { try addNumbers(cells, groups) }
    }
    if functions.contains(.distinct) { addDistinct(cells, groups) }
    if functions.contains(.empty) {
      for row in 0..<cells.count where !cells.hasValue(row) { empties[Int(groups[row])] += 1 }
    }
    if functions.contains(.min) || functions.contains(.max) {
      let values = OrderWords(column, cells)
      if functions.contains(.min) { least.add(cells, values, groups: groups) }
      if functions.contains(.max) { greatest.add(cells, values, groups: groups) }
    }
    if functions.contains(.first) {
      for row in 0..<cells.count where firsts[Int(groups[row])] == .missing && cells.hasValue(row) {
        firsts[Int(groups[row])] = cells[row]
      }
    }
    if functions.contains(.last) {
      // The last row of a group in the batch is the first one from its end.
      var seen: Set<UInt32> = []
      for row in (0..<cells.count).reversed()
      where cells.hasValue(row) && seen.insert(groups[row]).inserted {
        lasts[Int(groups[row])] = cells[row]
      }
    }
  }

  private mutating func addReals(_ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>) {
    if hasMedian { reals.makeRoom(for: cells.count) }
    for row in 0..<cells.count where !(cells.missingCount > 0 && cells.isMissing(row)) {
      let (group, value) = (Int(groups[row]), cells.real(row))
      counts[group] += 1
      if hasSum { realSums[group].add(value) }
      if hasMedian { reals.append(value, to: group) }
    }
  }

  private mutating func addNumbers(
    _ cells: ColumnBatch, _ groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    let (hasSum, hasCounts, hasMedian) = (hasSum, hasCounts, hasMedian)
    let hasComma = column.hasDecimalComma
    if hasMedian { numbers.makeRoom(for: cells.count) }
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
      if hasCounts { counts[group] += 1 }
      if hasSum { sums.add(number, to: group) }
      if hasMedian { numbers.append(number, to: group) }
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
    for row in 0..<cells.count where cells.hasValue(row) {
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

  // Results

  func result(
    _ function: Aggregate.Function, name: String, _ groups: [UInt32]
  ) -> AggregateColumn {
    var own = column
    own.name = name
    func cells(_ values: [Cell]) -> AggregateColumn {
      AggregateColumn(own) { groups in groups.map { values[Int($0)] } }
    }
    // No closure uses `self`, because each call would copy it.
    switch function {
    case .rows: preconditionFailure("the number of rows belongs to no column")
    case .distinct: return AggregateColumn(name: name) { [distinct] in distinct[Int($0)] }
    case .empty: return AggregateColumn(name: name) { [empties] in empties[Int($0)] }
    case .min: return AggregateColumn(own, least)
    case .max: return AggregateColumn(own, greatest)
    case .first: return cells(firsts)
    case .last: return cells(lasts)
    case .sum, .mean, .median, .percentile:
      if isReal { return cells(realNumbers(function)) }
      return exactNumbers(function, name: name, groups)
    }
  }

  private func exactNumbers(
    _ function: Aggregate.Function, name: String, _ groups: [UInt32]
  ) -> AggregateColumn {
    func column(
      _ kinds: NumberKinds, _ numbers: @escaping (ArraySlice<UInt32>) -> [ExactNumber?]
    ) -> AggregateColumn {
      AggregateColumn(
        kinds, name: name, unit: self.column.unit, hasComma: self.column.hasDecimalComma, numbers)
    }
    var kinds = NumberKinds()
    guard function == .sum else {
      var numbers = [ExactNumber?](repeating: nil, count: counts.count)
      let all = function == .mean ? nil : self.numbers.byGroup(counts.count)
      for group in groups.map(Int.init) where counts[group] > 0 {
        let number = all.map { exact(function, $0[group]) } ?? mean(ofGroup: group)
        kinds.add(number)
        numbers[group] = number
      }
      return column(kinds) { [numbers] groups in groups.map { numbers[Int($0)] } }
    }
    // A sum is computed so fast that it need not be stored. In the order of memory, all are read even faster.
    if groups.count == sums.count {
      for group in 0..<sums.count { kinds.add(sums[group]) }
    } else {
      for group in groups { kinds.add(sums[Int(group)]) }
    }
    return column(kinds) { [sums] groups in sums.numbers(ofGroups: groups) }
  }

  private func mean(ofGroup group: Int) -> ExactNumber {
    if counts[group] == 1, let number = sums[group] { return number }
    return ExactNumber(
      sums.value(ofGroup: group).divided(
        by: counts[group], significant: Aggregate.significantDigits))
  }

  /// A median or percentile of exact numbers.
  private func exact(
    _ function: Aggregate.Function, _ numbers: ArraySlice<ExactNumber>
  ) -> ExactNumber {
    let (ordered, count) = (ExactNumber.inOrder(numbers), numbers.count)
    if case .percentile(let percent) = function { return ordered(rank(percent, of: count)) }
    let low = ordered((count - 1) / 2)
    guard count % 2 == 0 else { return low }
    let high = ordered(count / 2)
    var sum = ExactSums()
    sum.makeRoom(forGroups: 1)
    sum.add(low, to: 0)
    sum.add(high, to: 0)
    // A half has at most one more digit.
    return ExactNumber(sum.value(ofGroup: 0).divided(by: 2, significant: .max))
  }

  /// The results of all groups for a column of reals.
  private func realNumbers(_ function: Aggregate.Function) -> [Cell] {
    let all = function.isOfOrderedNumbers ? reals.byGroup(counts.count) : nil
    return counts.indices.map { group in
      if counts[group] == 0 { return .missing }
      if let all { return .real(real(function, all[group])) }
      let sum = realSums[group].value
      return .real(function == .mean ? sum / Double(counts[group]) : sum)
    }
  }

  /// A median or percentile of reals.
  private func real(_ function: Aggregate.Function, _ numbers: ArraySlice<Double>) -> Double {
    let sorted = numbers.sorted { $0.orderedBits < $1.orderedBits }
    if case .percentile(let percent) = function { return sorted[rank(percent, of: sorted.count)] }
    let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
    // Halving first avoids an overflow.
    return low == high ? low : low / 2 + high / 2
  }

  /// The index of a percentile among the numbers in their order.
  private func rank(_ percent: Int, of count: Int) -> Int {
    // The count is below 2^53, so the product does not overflow.
    (percent * count + 99) / 100 - 1
  }
}

extension Array {
  /// Adds the elements of groups to the elements of other groups.
  ///
  /// `groups` holds the number here of each group in `other`. If `other` is nil, the array itself has these groups, and has
  /// one element per number afterwards. `add` adds an element to that of an earlier group. It runs in the order of `groups`.
  fileprivate mutating func combine(
    _ other: [Element]?, _ groups: [UInt32], _ add: (inout Element, Element) -> Void
  ) {
    if let other {
      for (group, element) in other.enumerated() { add(&self[Int(groups[group])], element) }
      return
    }
    var kept = 0
    for group in indices {
      let number = Int(groups[group])
      if number < kept {
        add(&self[number], self[group])
      } else {
        if group > kept { swapAt(group, kept) }
        kept += 1
      }
    }
    removeLast(count - kept)
  }
}

extension ExactNumber {
  /// The numbers in their order, by index.
  /// - Complexity: O(n log n)
  fileprivate static func inOrder(_ numbers: ArraySlice<ExactNumber>) -> (Int) -> ExactNumber {
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
