/// Sums of decimal numbers, without rounding, one for each group.
///
/// A sum takes 8 bytes, because there can be one per row. Sums of more than 59 bits take more.
struct ExactSums {
  /// Each sum × 10^decimals, followed by the number of decimals in the last 5 bits. ``none`` if there are no numbers. If the
  /// sum needs more bits, its index in `wide`, followed by ``isWide``.
  private var words: [Int64] = []
  private var wide: [WideSum] = []

  private static let decimalBits: Int64 = 5
  // More decimals than a number can have, so that they equal those of no number.
  private static let none: Int64 = 31
  private static let isWide: Int64 = 30

  /// The number of groups.
  var count: Int { words.count }

  /// Adds groups without numbers until there are `count`.
  mutating func makeRoom(forGroups count: Int) {
    words.makeRoom(for: count - words.count)
    words += repeatElement(ExactSums.none, count: count - words.count)
  }

  /// Adds a number to the sum of a group.
  /// - Complexity: O(1) if the number has at most 18 digits, otherwise O(digits).
  @inline(__always)
  mutating func add(_ number: ExactNumber, to group: Int) {
    guard case .small(let mantissa, let decimals) = number else { return addSlowly(number, group) }
    let word = words[group]
    let (shifted, isLarge) = mantissa.multipliedReportingOverflow(by: 1 << ExactSums.decimalBits)
    if word == ExactSums.none, !isLarge {
      words[group] = shifted | Int64(decimals)
      return
    }
    let (sum, overflow) = word.addingReportingOverflow(shifted)
    guard word & ExactSums.none == Int64(decimals), !isLarge, !overflow else {
      return addSlowly(number, group)
    }
    words[group] = sum
  }

  @inline(never)
  private mutating func addSlowly(_ number: ExactNumber, _ group: Int) {
    let word = words[group]
    if word & ExactSums.none == ExactSums.isWide {
      return wide[Int(word >> ExactSums.decimalBits)].add(number)
    }
    if let (mantissa, decimals) = ExactSums.narrow(word),
      case .small(let other, let own) = number
    {
      let most = max(decimals, Int(own))
      let sum =
        Int128(mantissa) * Int128(ExactNumber.powers[most - decimals])
        + Int128(other) * Int128(ExactNumber.powers[most - Int(own)])
      let (shifted, isLarge) = sum.multipliedReportingOverflow(by: 1 << ExactSums.decimalBits)
      if !isLarge, let word = Int64(exactly: shifted) {
        words[group] = word | Int64(most)
        return
      }
    }
    wide[widen(group)].add(number)
  }

  /// Adds the groups of other sums. `groups` holds the number here of each of them.
  mutating func combine(_ other: ExactSums, _ groups: [UInt32]) {
    for (group, word) in other.words.enumerated() where word != ExactSums.none {
      let group = Int(groups[group])
      if let (mantissa, decimals) = ExactSums.narrow(word) {
        add(.small(mantissa, scale: Int8(truncatingIfNeeded: decimals)), to: group)
      } else {
        wide[widen(group)].add(other.wide[Int(word >> ExactSums.decimalBits)])
      }
    }
  }

  /// Makes groups one: see ``Aggregator/renumber(_:)``.
  mutating func renumber(_ groups: [UInt32]) {
    var new = ExactSums()
    new.makeRoom(forGroups: groups.max().map { Int($0) + 1 } ?? 0)
    new.combine(self, groups)
    self = new
  }

  /// A sum as an integer and the number of its decimals; nil if there are no numbers, or if the sum needs more bits.
  @inline(__always)
  private static func narrow(_ word: Int64) -> (mantissa: Int64, decimals: Int)? {
    let decimals = Int(word & none)
    return decimals < isWide ? (word >> decimalBits, decimals) : nil
  }

  /// Makes the sum of a group a wide one. Returns its index.
  private mutating func widen(_ group: Int) -> Int {
    let word = words[group]
    if word & ExactSums.none == ExactSums.isWide { return Int(word >> ExactSums.decimalBits) }
    let (mantissa, decimals) = ExactSums.narrow(word) ?? (0, 0)
    wide.makeRoom(for: 1)
    wide.append(WideSum(mantissa, scale: decimals))
    words[group] = Int64(wide.count - 1) << ExactSums.decimalBits | ExactSums.isWide
    return wide.count - 1
  }

  /// The sum of a group; nil if there are no numbers. It has as many decimals as the number with the most.
  @inline(__always)
  subscript(group: Int) -> ExactNumber? { number(words[group]) }

  @inline(__always)
  private func number(_ word: Int64) -> ExactNumber? {
    if let (mantissa, decimals) = ExactSums.narrow(word) {
      return .small(mantissa, scale: Int8(truncatingIfNeeded: decimals))
    }
    return word == ExactSums.none ? nil : wideNumber(word)
  }

  @inline(never)
  private func wideNumber(_ word: Int64) -> ExactNumber {
    wide[Int(word >> ExactSums.decimalBits)].number
  }

  /// The sums of some groups.
  func numbers(ofGroups groups: ArraySlice<UInt32>) -> [ExactNumber?] {
    // Groups lie anywhere in memory. If little else happens between their reads, the processor waits for many at once.
    let words = groups.map { self.words[Int($0)] }
    return words.map(number)
  }

  /// All digits of the sum of a group, which is 0 if there are no numbers.
  func value(ofGroup group: Int) -> ExactDecimal {
    (self[group] ?? ExactNumber(0)).decimal
  }
}

/// A sum that can need more than 59 bits.
///
/// Numbers of up to 18 digits are added as integers of 128 bits with a common number of decimals. All others, and sums
/// that exceed 128 bits, go into a sum of any number of digits.
private struct WideSum {
  private var total: Int128
  /// The number of decimals of `total`, at most 18.
  private var scale: Int
  /// The sum of all other numbers; empty if there are none. An array takes less space than an optional sum.
  private var large: [LargeSum] = []

  init(_ mantissa: Int64, scale: Int) { (total, self.scale) = (Int128(mantissa), scale) }

  mutating func add(_ number: ExactNumber) {
    switch number {
    case .small(let mantissa, let own):
      let (sum, overflow) = total.addingReportingOverflow(Int128(mantissa))
      if Int(own) == scale, !overflow {
        total = sum
      } else {
        add(Int128(mantissa), scale: Int(own))
      }
    case .large(let decimal): addLarge(decimal)
    }
  }

  mutating func add(_ other: WideSum) {
    for sum in other.large { addLarge(sum.value) }
    add(other.total, scale: other.scale)
  }

  @inline(never)
  private mutating func add(_ given: Int128, scale own: Int) {
    let decimals = max(scale, own)
    let (raised, isLarge) = total.multipliedReportingOverflow(
      by: Int128(ExactNumber.powers[decimals - scale]))
    let (term, isTermLarge) = given.multipliedReportingOverflow(
      by: Int128(ExactNumber.powers[decimals - own]))
    let (sum, overflow) = raised.addingReportingOverflow(term)
    if isLarge || isTermLarge || overflow {
      addLarge(ExactDecimal(total, scale: scale))
      addLarge(ExactDecimal(given, scale: own))
      (total, scale) = (0, decimals)
    } else {
      (total, scale) = (sum, decimals)
    }
  }

  private mutating func addLarge(_ number: ExactDecimal) {
    if large.isEmpty { large.append(LargeSum()) }
    large[0].add(number)
  }

  var number: ExactNumber {
    if large.isEmpty, let mantissa = Int64(exactly: total) {
      return .small(mantissa, scale: Int8(truncatingIfNeeded: scale))
    }
    return .large(value)
  }

  /// All digits of the sum.
  var value: ExactDecimal {
    let small = ExactDecimal(total, scale: scale)
    guard var large = large.first else { return small }
    large.add(small)
    return large.value
  }
}

/// A sum with a fixed point, in digits of base 10^9 that carry late.
private struct LargeSum {
  private static let base: Int64 = 1_000_000_000
  /// The number of decimal digits of a digit.
  private static let width = 9

  /// The digits, the lowest first. A digit can be negative or exceed the base until the next carry.
  private var limbs: [Int64] = []
  /// The power of the base that the first digit counts.
  private var lowest = 0
  /// The number of additions since the last carry. Each changes a digit by less than the base.
  private var additions = 0
  private var scale = 0

  mutating func add(_ number: ExactDecimal) {
    scale = max(scale, number.scale)
    let width = LargeSum.width
    // The last digit of the number must count a power of the base.
    let place = -((number.scale + width - 1) / width)
    let digits = number.digits + repeatElement(0, count: -place * width - number.scale)
    let count = (digits.count + width - 1) / width
    makeRoom(for: place..<place + count)
    for limb in 0..<count {
      let end = digits.count - limb * width
      let value = digits[max(0, end - width)..<end].reduce(0 as Int64) { $0 * 10 + Int64($1) }
      limbs[place - lowest + limb] += number.isNegative ? -value : value
    }
    additions += 1
    if additions >= 1 << 30 { carry() }
  }

  private mutating func makeRoom(for places: Range<Int>) {
    if limbs.isEmpty { lowest = places.lowerBound }
    if places.lowerBound < lowest {
      limbs.insert(contentsOf: repeatElement(0, count: lowest - places.lowerBound), at: 0)
      lowest = places.lowerBound
    }
    let missing = places.upperBound - lowest - limbs.count
    if missing > 0 { limbs += repeatElement(0, count: missing) }
  }

  /// Brings all digits into the range of the base. The highest digit of a negative sum is -1.
  private mutating func carry() {
    additions = 0
    var carried: Int64 = 0
    for index in limbs.indices {
      let sum = limbs[index] + carried
      carried = floorDivide(sum, LargeSum.base)
      limbs[index] = sum - carried * LargeSum.base
    }
    while carried != 0 {
      // A negative sum ends with the digit -1.
      let rest = carried == -1 ? 0 : floorDivide(carried, LargeSum.base)
      limbs.append(carried - rest * LargeSum.base)
      carried = rest
    }
  }

  var value: ExactDecimal {
    var sum = self
    sum.carry()
    let isNegative = sum.limbs.last ?? 0 < 0
    if isNegative {
      for index in sum.limbs.indices { sum.limbs[index] = -sum.limbs[index] }
      sum.carry()
    }
    var digits: [UInt8] = []
    for limb in sum.limbs.reversed() {
      var place = LargeSum.base / 10
      while place > 0 {
        digits.append(UInt8(truncatingIfNeeded: limb / place % 10))
        place /= 10
      }
    }
    // The digits end at a power of the base.
    digits += repeatElement(0, count: max(0, sum.lowest * LargeSum.width))
    let decimals = max(0, -sum.lowest * LargeSum.width)
    return ExactDecimal(isNegative: isNegative, digits: digits, scale: decimals)
      .trimmed(to: scale)
  }
}

/// A sum of doubles, with the rounding errors of the additions (Neumaier, 1974).
struct CompensatedSum {
  private var sum = 0.0
  private var error = 0.0

  init() {}

  mutating func add(_ value: Double) {
    let next = sum + value
    error += abs(sum) >= abs(value) ? sum - next + value : value - next + sum
    sum = next
  }

  /// The sum. An infinite sum has no error to correct.
  var value: Double { sum.isFinite ? sum + error : sum }
}
