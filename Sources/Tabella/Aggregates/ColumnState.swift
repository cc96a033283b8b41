/// The state of all aggregates of one column.
struct ColumnState {
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
  private var numbers = GroupedValues<ExactNumberList>()
  private var reals = GroupedValues<[Double]>()
  private var distinct: [Int] = []
  private var empties: [Int] = []
  private var least: Extremes
  private var greatest: Extremes
  private var firsts: GroupedCells
  private var lasts: GroupedCells

  /// The different values.
  private var values = KeyTable()
  /// The pairs of a group and a value in it; nil while all values are in the first group.
  private var pairs: KeyTable?

  init(_ column: Column, number: Int, _ functions: Set<Aggregate.Function>) {
    self.column = column
    self.number = number
    self.functions = functions
    isReal = column.type == .real
    hasMedian = functions.contains { $0.isOfOrderedNumbers }
    least = Extremes(column, isGreatest: false)
    greatest = Extremes(column, isGreatest: true)
    (firsts, lasts) = (GroupedCells(column.type), GroupedCells(column.type))
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
    if functions.contains(.first) { firsts.makeRoom(forGroups: count) }
    if functions.contains(.last) { lasts.makeRoom(forGroups: count) }
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
      firsts.combine(next.firsts, groups, keepsOld: true)
      lasts.combine(next.lasts, groups, keepsOld: false)
    } else {
      if sums.count > 0 { sums.renumber(groups) }
      if functions.contains(.min) { least.renumber(groups) }
      if functions.contains(.max) { greatest.renumber(groups) }
      if functions.contains(.first) { firsts.renumber(groups, keepsOld: true) }
      if functions.contains(.last) { lasts.renumber(groups, keepsOld: false) }
    }
    counts.combine(next?.counts, groups, +=)
    numbers.combine(next?.numbers, groups)
    reals.combine(next?.reals, groups)
    empties.combine(next?.empties, groups, +=)
  }

  private mutating func combineDistinct(_ other: ColumnState?, _ groups: [UInt32]) {
    let next = other ?? self
    if other == nil {
      (values, pairs) = (KeyTable(), nil)
      distinct = Array(repeating: 0, count: groups.max().map { Int($0) + 1 } ?? 0)
    }
    let numbers = (0..<UInt32(truncatingIfNeeded: next.values.count)).map { value in
      next.values.withKey(value) { values.number(of: $0) }
    }
    guard let nextPairs = next.pairs else {
      for value in numbers.prefix(next.distinct.first ?? 0) { addDistinct(value, groups[0]) }
      return
    }
    // Not all of these values are in the first group.
    if pairs == nil { startPairs() }
    for pair in 0..<UInt32(truncatingIfNeeded: nextPairs.count) {
      let (group, value) = nextPairs.withKey(pair) { pair in
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
      for row in 0..<cells.count where firsts.isEmpty(Int(groups[row])) && cells.hasValue(row) {
        firsts.set(cells, row, for: Int(groups[row]))
      }
    }
    if functions.contains(.last) {
      for row in 0..<cells.count where cells.hasValue(row) {
        lasts.set(cells, row, for: Int(groups[row]))
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
    guard pairs != nil || group != 0 else {
      distinct[0] = values.count
      return
    }
    if pairs == nil { startPairs() }
    let known = pairs!.count
    if withUnsafeBytes(of: (group, value), { Int(pairs!.number(of: $0)) }) == known {
      distinct[Int(group)] += 1
    }
  }

  /// Notes the values of the first group as pairs, because another group has a value.
  private mutating func startPairs() {
    var first = KeyTable()
    for value in 0..<UInt32(truncatingIfNeeded: distinct.first ?? 0) {
      _ = withUnsafeBytes(of: (UInt32(0), value)) { first.number(of: $0) }
    }
    pairs = first
  }

  // Results

  /// The values of all groups in their order.
  struct Order {
    fileprivate var numbers: GroupedValues<ExactNumberList>.Ordered?
    fileprivate var reals: GroupedValues<[Double]>.Ordered?
  }

  /// The order of the values; empty if no function needs it.
  var order: Order {
    guard hasMedian else { return Order() }
    return isReal
      ? Order(reals: reals.inOrder(ofGroups: counts.count))
      : Order(numbers: numbers.inOrder(ofGroups: counts.count))
  }

  /// The results of a function for some groups.
  func result(
    _ function: Aggregate.Function, name: String, _ groups: [UInt32], _ order: Order
  ) -> AggregateColumn {
    var own = column
    own.name = name
    // No closure uses `self`, because each call would copy it.
    switch function {
    case .rows: preconditionFailure("the number of rows belongs to no column")
    case .distinct: return AggregateColumn(name: name) { [distinct] in distinct[Int($0)] }
    case .empty: return AggregateColumn(name: name) { [empties] in empties[Int($0)] }
    case .min: return AggregateColumn(own, least.cells)
    case .max: return AggregateColumn(own, greatest.cells)
    case .first: return AggregateColumn(own, firsts)
    case .last: return AggregateColumn(own, lasts)
    case .sum, .mean, .median, .percentile:
      guard isReal else { return exactNumbers(function, name: name, groups, order.numbers) }
      let values = realNumbers(function, order.reals)
      return AggregateColumn(own) { groups in groups.map { values[Int($0)] } }
    }
  }

  private func exactNumbers(
    _ function: Aggregate.Function, name: String, _ groups: [UInt32],
    _ order: GroupedValues<ExactNumberList>.Ordered?
  ) -> AggregateColumn {
    func column(
      _ kinds: NumberKinds, _ numbers: @escaping (ArraySlice<UInt32>) -> [ExactNumber?]
    ) -> AggregateColumn {
      AggregateColumn(
        kinds, name: name, unit: self.column.unit, hasComma: self.column.hasDecimalComma, numbers)
    }
    var kinds = NumberKinds()
    // In the order of memory, all groups are read faster.
    let count = function == .sum ? sums.count : counts.count
    let groups = groups.count == count ? Array(0..<UInt32(truncatingIfNeeded: count)) : groups
    guard function == .sum else {
      var numbers = [ExactNumber?](repeating: nil, count: count)
      for group in groups.map(Int.init) where counts[group] > 0 {
        let number =
          if function != .mean, let order {
            exact(function, of: counts[group]) { order[group, $0] }
          } else {
            mean(ofGroup: group)
          }
        kinds.add(number)
        numbers[group] = number
      }
      return column(kinds) { [numbers] groups in groups.map { numbers[Int($0)] } }
    }
    // A sum is computed so fast that it need not be stored.
    for group in groups { kinds.add(sums[Int(group)]) }
    return column(kinds) { [sums] groups in sums.numbers(ofGroups: groups) }
  }

  private func mean(ofGroup group: Int) -> ExactNumber {
    if counts[group] == 1, let number = sums[group] { return number }
    return ExactNumber(
      sums.value(ofGroup: group).divided(
        by: counts[group], significant: Aggregate.significantDigits))
  }

  /// A median or percentile of exact numbers. `ordered` returns one of them by its position in their order.
  private func exact(
    _ function: Aggregate.Function, of count: Int, _ ordered: (Int) -> ExactNumber
  ) -> ExactNumber {
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
  private func realNumbers(
    _ function: Aggregate.Function, _ order: GroupedValues<[Double]>.Ordered?
  ) -> [Cell] {
    counts.indices.map { group in
      if counts[group] == 0 { return .missing }
      if function.isOfOrderedNumbers, let order {
        return .real(real(function, of: counts[group]) { order[group, $0] })
      }
      let sum = realSums[group].value
      return .real(function == .mean ? sum / Double(counts[group]) : sum)
    }
  }

  /// A median or percentile of reals. `ordered` returns one of them by its position in their order.
  private func real(
    _ function: Aggregate.Function, of count: Int, _ ordered: (Int) -> Double
  ) -> Double {
    if case .percentile(let percent) = function { return ordered(rank(percent, of: count)) }
    let (low, high) = (ordered((count - 1) / 2), ordered(count / 2))
    // Halving first avoids an overflow.
    return low == high ? low : low / 2 + high / 2
  }

  /// The index of a percentile among the numbers in their order.
  private func rank(_ percent: Int, of count: Int) -> Int {
    // The count is below 2^53, so the product does not overflow.
    (percent * count + 99) / 100 - 1
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
