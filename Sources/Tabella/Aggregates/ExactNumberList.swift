/// Decimal numbers in their order of arrival.
///
/// A number takes 8 bytes if all of them have at most seven decimals and 61 bits without the decimal point. If one has
/// more, each takes 16 bytes and its digits.
struct ExactNumberList: OrderedValues {
  /// The numbers: the mantissa, and the scale in the last three bits.
  private var packed: [Int64] = []
  /// The numbers, after one was appended that cannot be packed.
  private var whole: [ExactNumber]?

  private static let scaleBits = 3

  init() {}

  /// A number in one word; nil if it does not fit.
  @inline(__always)
  private static func pack(_ number: ExactNumber) -> Int64? {
    guard case .small(let mantissa, let scale) = number, scale < 1 << scaleBits else { return nil }
    let word = mantissa << scaleBits
    return word >> scaleBits == mantissa ? word | Int64(scale) : nil
  }

  @inline(__always)
  private static func unpack(_ word: Int64) -> ExactNumber {
    .small(word >> scaleBits, scale: Int8(truncatingIfNeeded: word & (1 << scaleBits - 1)))
  }

  subscript(index: Int) -> ExactNumber {
    if let whole { return whole[index] }
    return ExactNumberList.unpack(packed[index])
  }

  private var count: Int { whole?.count ?? packed.count }

  @inline(__always)
  mutating func append(_ number: ExactNumber) {
    if whole == nil, let word = ExactNumberList.pack(number) { return packed.append(word) }
    unpackAll()
    whole!.append(number)
  }

  mutating func append(contentsOf other: ExactNumberList) {
    if whole == nil, other.whole == nil {
      packed += other.packed
    } else {
      unpackAll()
      for index in 0..<other.count { whole!.append(other[index]) }
    }
  }

  @inline(never)
  private mutating func unpackAll() {
    guard whole == nil else { return }
    whole = packed.map(ExactNumberList.unpack)
    packed = []
  }

  mutating func makeRoom(for more: Int) {
    if whole == nil { packed.makeRoom(for: more) } else { whole!.makeRoom(for: more) }
  }

  /// Words for the numbers. There are none if a number has more than 64 bits, also after all have the same number of
  /// decimals.
  var word: ((Int) -> UInt64)? {
    var scale: Int8 = 0
    for index in 0..<count {
      guard case .small(_, let own) = self[index] else { return nil }
      scale = max(scale, own)
    }
    // Numbers with the same number of decimals are in the order of their integers.
    for index in 0..<count where self[index].mantissa(scale: scale) == nil { return nil }
    return { [self, scale] in
      UInt64(bitPattern: self[$0].mantissa(scale: scale) ?? 0) ^ 1 << 63
    }
  }

  static func compare(_ left: ExactNumber, _ right: ExactNumber) -> Int {
    ExactNumber.compare(left, right)
  }
}

extension ExactNumber {
  /// The integer that is the number × 10^`scale`. Nil if it has more than 64 bits, or if the number has more decimals.
  fileprivate func mantissa(scale: Int8) -> Int64? {
    guard case .small(let mantissa, let own) = self, own <= scale else { return nil }
    let (product, overflow) = mantissa.multipliedReportingOverflow(
      by: ExactNumber.powers[Int(scale - own)])
    return overflow ? nil : product
  }
}
