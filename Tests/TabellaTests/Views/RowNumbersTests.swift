import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Row numbers are those of a plain array, however they are stored.
@Suite struct RowNumbersTests {
  /// The distances between numbers: dense pages, sparse ones, empty ones, and pages that change their form.
  private static let distances: [ClosedRange<Int>] = [1...1, 1...3, 10...20, 1...40, 500...90_000]

  private func isSame(_ numbers: RowNumbers, _ naive: [Int]) -> Bool {
    numbers.count == naive.count && numbers[0..<naive.count] == naive
  }

  @Test(arguments: 0..<20)
  func numbersAreThoseOfAnArray(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var (numbers, naive) = (RowNumbers(), [Int]())
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      let distance = Self.distances.randomElement(using: &generator)!
      var part: [Int] = []
      var next = [0, 65_535, 65_536, 5 << 30].randomElement(using: &generator)!
      for _ in 0..<Int.random(in: 0...9000, using: &generator) {
        part.append(next)
        next += Int.random(in: distance, using: &generator)
      }
      if Bool.random(using: &generator) {
        let start = (naive.last ?? -1) + 1
        for row in part { numbers.append(start + row) }
        naive += part.map { start + $0 }
      } else {
        var other = RowNumbers()
        for row in part { other.append(row) }
        let offset = (naive.last ?? -1) + Int.random(in: 1...70_000, using: &generator)
        numbers.append(other, from: offset)
        naive += part.map { offset + $0 }
      }
      #expect(isSame(numbers, naive))
      if Bool.random(using: &generator) {
        let index = [0, naive.count, Int.random(in: 0...naive.count, using: &generator)]
          .randomElement(using: &generator)!
        #expect(numbers.cut(from: index) == Array(naive[index...]))
        naive.removeSubrange(index...)
        #expect(isSame(numbers, naive))
      }
    }
    for _ in 0..<200 where !naive.isEmpty {
      let index = Int.random(in: naive.indices, using: &generator)
      #expect(numbers[index] == naive[index])
      let end = Int.random(in: index...min(naive.count, index + 6000), using: &generator)
      #expect(numbers[index..<end] == Array(naive[index..<end]))
      let row = naive[index] + Int.random(in: -3...3, using: &generator)
      let least = naive.firstIndex { $0 >= row } ?? naive.count
      #expect(numbers.firstIndex(from: row) == least)
    }
  }

  /// A page changes its form at its 4,096th number. It can then be full.
  @Test(arguments: [4094, 4095, 4096, 4097, 65_535, 65_536, 65_537])
  func aPageChangesItsForm(_ count: Int) {
    for start in [0, 61_440, 1 << 32 - 4096] {
      var numbers = RowNumbers()
      for row in 0..<count { numbers.append(start + row) }
      #expect(isSame(numbers, Array(start..<start + count)))
      for row in [-1, 0, 1, count - 1, count, count + 70_000] {
        #expect(numbers.firstIndex(from: start + row) == min(max(row, 0), count))
      }
      #expect(numbers.cut(from: 1) == Array(start + 1..<start + count))
      #expect(isSame(numbers, [start]))
    }
  }

  @Test func numbersMayBeLarge() {
    var numbers = RowNumbers()
    let rows = [0, 5, 1 << 32 - 1, 1 << 32, 1 << 40]
    for row in rows { numbers.append(row) }
    #expect(isSame(numbers, rows))
    for (index, row) in rows.enumerated() {
      #expect(numbers.firstIndex(from: row) == index)
      #expect(numbers.firstIndex(from: row + 1) == index + 1)
    }
  }

  @Test func nothingIsCutFromNothing() {
    var numbers = RowNumbers()
    #expect(numbers.cut(from: 0).isEmpty && numbers.firstIndex(from: 3) == 0)
    #expect(numbers[0..<0].isEmpty)
  }
}
