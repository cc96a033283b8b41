/// A sum of decimal numbers, without rounding.
///
/// Numbers of up to 18 digits are added as integers of 128 bits with a common number of decimals. All others, and sums
/// that exceed 128 bits, go into a sum of any number of digits.
struct ExactSum {
  private var total: Int128 = 0
  /// The number of decimals of `total`, at most 18.
  private var scale = 0
  /// The sum of all other numbers; empty if there are none. An array takes less space than an optional sum.
  private var large: [LargeSum] = []

  init() {}

  /// - Complexity: O(1) if the number has at most 18 digits, otherwise O(digits).
  @inline(__always)
  mutating func add(_ number: ExactNumber) {
    guard case .small(let mantissa, let own) = number, Int(own) == scale else {
      return addSlowly(number)
    }
    let (sum, overflow) = total.addingReportingOverflow(Int128(mantissa))
    if overflow { return addSlowly(number) }
    total = sum
  }

  @inline(never)
  private mutating func addSlowly(_ number: ExactNumber) {
    guard case .small(let mantissa, let own) = number else {
      addLarge(number.decimal)
      return
    }
    let decimals = max(scale, Int(own))
    let (raised, tooLarge) = total.multipliedReportingOverflow(
      by: Int128(ExactNumber.powers[decimals - scale]))
    let term = Int128(mantissa) * Int128(ExactNumber.powers[decimals - Int(own)])
    let (sum, overflow) = raised.addingReportingOverflow(term)
    if tooLarge || overflow {
      addLarge(ExactDecimal(total, scale: scale))
      total = term
    } else {
      total = sum
    }
    scale = decimals
  }

  /// Adds another sum.
  mutating func add(_ other: ExactSum) {
    for sum in other.large { addLarge(sum.value) }
    let decimals = max(scale, other.scale)
    let (raised, isLarge) = total.multipliedReportingOverflow(
      by: Int128(ExactNumber.powers[decimals - scale]))
    let (term, isTermLarge) = other.total.multipliedReportingOverflow(
      by: Int128(ExactNumber.powers[decimals - other.scale]))
    let (sum, overflow) = raised.addingReportingOverflow(term)
    if isLarge || isTermLarge || overflow {
      addLarge(ExactDecimal(total, scale: scale))
      addLarge(ExactDecimal(other.total, scale: other.scale))
      (total, scale) = (0, decimals)
    } else {
      (total, scale) = (sum, decimals)
    }
  }

  private mutating func addLarge(_ number: ExactDecimal) {
    if large.isEmpty { large.append(LargeSum()) }
    large[0].add(number)
  }

  /// The sum. It has as many decimals as the number with the most.
  @inline(__always)
  var number: ExactNumber {
    if large.isEmpty, let mantissa = Int64(exactly: total) {
      return .small(mantissa, scale: Int8(truncatingIfNeeded: scale))
    }
    return largeNumber
  }

  private var largeNumber: ExactNumber {
    @inline(never) get { .large(value) }
  }

  /// All digits of ``number``.
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
