/// The keys of a list that repeat an earlier one, and the numbers that remain without them.
struct Repeats {
  /// A key, and the first one that is equal.
  typealias Pair = (number: UInt32, first: UInt32)

  private let numbers: NumberSet
  /// For each repeat, in the order of their numbers, the first key that is equal.
  private let firsts: [UInt32]

  var count: Int { firsts.count }
  var isEmpty: Bool { firsts.isEmpty }

  /// `pairs` has each repeat once, in any order.
  init(_ pairs: [Pair], among count: Int) {
    var numbers = pairs.map { UInt64($0.number) }
    var firsts = pairs.map(\.first)
    radixSort(&numbers, &firsts)
    self.firsts = firsts
    self.numbers = NumberSet(numbers, below: count)
  }

  @inline(__always)
  func contains(_ number: UInt32) -> Bool { numbers.contains(number) }

  /// The number of a key without the repeats in front of it. A repeat has the number of the first key that is equal.
  @inline(__always)
  func newNumber(of number: UInt32) -> UInt32 {
    let earlier = count(below: number)
    guard contains(number) else { return number - earlier }
    let first = firsts[Int(earlier)]
    return first - count(below: first)
  }

  /// The number of repeats with lower numbers.
  @inline(__always)
  func count(below number: UInt32) -> UInt32 { numbers.count(below: number) }

  /// The new numbers of the repeats from a number on, in the order of their old numbers.
  func newNumbers(from number: UInt32) -> [UInt32] {
    firsts[Int(count(below: number))...].map { $0 - count(below: $0) }
  }
}
