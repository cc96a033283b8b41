import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Work that several threads share: the order and the answers are those of one thread.
@Suite struct SharedWorkTests {
  /// Sorts rows by words, naively and as views do.
  private func check(_ words: [UInt64]) {
    let expected = words.indices.sorted { (words[$0], $0) < (words[$1], $1) }
    var (keys, rows) = (words, Array(0..<UInt32(words.count)))
    radixSort(&keys, &rows)
    #expect(rows == expected.map { UInt32($0) })
    #expect(keys == expected.map { words[$0] })
  }

  @Test(arguments: [1, 2, 3, 1000, UInt64.max])
  func `many words are sorted like few`(distinct: UInt64) {
    var generator = SeededGenerator(seed: distinct)
    let count = 150_000
    let random = (0..<count).map { _ in UInt64.random(in: 0..<distinct, using: &generator) }
    check(random)
    check(random.sorted())
    check(random.sorted(by: >))
    // Nearly all words are equal.
    check(random.enumerated().map { $0.offset % 1000 == 0 ? $0.element : 7 })
  }

  @Test(arguments: [false, true])
  func `many rows of text and numbers have the order of a naive sort`(descends: Bool) {
    var generator = SeededGenerator(seed: 5)
    let count = 120_000
    let texts = (0..<count).map { _ in
      "north street, house \(Int.random(in: 0..<300, using: &generator))"
    }
    let numbers = (0..<count).map { _ in Int64.random(in: 0..<50, using: &generator) }
    let columns = [Column("text"), Column("number", .integer)]
    var keys = SortKeys(
      [SortDescriptor(column: 0), SortDescriptor(column: 1, isDescending: descends)], in: columns)
    keys.append(
      AwkwardCells.batch(
        [texts.map { .text($0) }, numbers.map { .integer($0) }], [.text, .integer]))
    let house = texts.map { Int($0.dropFirst(20)) ?? -1 }
    let expected = (0..<count).sorted { left, right in
      let (first, second) = (numbers[left], numbers[right])
      if house[left] != house[right] { return house[left] < house[right] }
      return first == second ? left < right : (first < second) != descends
    }
    #expect(keys.sortedRows { false } == expected.map { UInt32($0) })
  }

  @Test func `a cancelled sort of many rows ends without an order`() {
    var keys = SortKeys([SortDescriptor(column: 0)], in: [Column("number", .integer)])
    keys.append(
      AwkwardCells.batch([(0..<200_000).map { .integer(Int64($0 * 7919 % 200_003)) }], [.integer]))
    #expect(keys.sortedRows { true } == nil)
  }

  @Test func `each piece of shared work is given once, and none after a cancellation`() {
    let marks = Marks(1000)
    let goesOn = { false }
    shareWork(among: 4, isCancelled: goesOn) { next, _ in
      while let piece = next(), piece < 1000 { marks.add(piece) }
    }
    #expect(marks.counts == Array(repeating: 1, count: 1000))
    let isOver = { true }
    shareWork(among: 4, isCancelled: isOver) { next, isCancelled in
      while !isCancelled() {}
      #expect(next() == nil)
    }
  }

  @Test(arguments: [0, 1, 2, 3, 50])
  func `values that are read ahead come in order, and the last one ends the reading`(count: Int)
    throws
  {
    var (produced, consumed) = (0, [] as [Int])
    try readAhead { () throws(TableError) -> Int? in
      defer { produced += 1 }
      return produced < count ? produced : nil
    } _: { value throws(TableError) in
      consumed.append(value)
    }
    #expect(consumed == Array(0..<count))
    #expect(produced == count + 1)
  }

  @Test(arguments: 0..<6)
  func `the first error of a reading ahead is thrown, and then nothing is called`(failing: Int) {
    var (produced, consumed) = (0, 0)
    #expect(throws: TableError(.io, "produce")) {
      try readAhead { () throws(TableError) -> Int? in
        produced += 1
        if produced - 1 == failing { throw TableError(.io, "produce") }
        return produced
      } _: { _ throws(TableError) in
        consumed += 1
      }
    }
    #expect((produced, consumed) == (failing + 1, failing))

    (produced, consumed) = (0, 0)
    #expect(throws: TableError(.io, "consume")) {
      try readAhead { () throws(TableError) -> Int? in
        produced += 1
        // If both fail, the error of the value that comes first counts.
        if produced - 1 > failing { throw TableError(.io, "produce") }
        return produced
      } _: { _ throws(TableError) in
        consumed += 1
        if consumed - 1 == failing { throw TableError(.io, "consume") }
      }
    }
    #expect(consumed == failing + 1)
  }
}

/// Counts that several threads increase, each thread other ones.
private final class Marks: @unchecked Sendable {
  private let memory: UnsafeMutableBufferPointer<Int>

  init(_ count: Int) {
    memory = .allocate(capacity: count)
    memory.initialize(repeating: 0)
  }

  deinit { memory.deallocate() }

  func add(_ number: Int) { memory[number] += 1 }
  var counts: [Int] { Array(memory) }
}
