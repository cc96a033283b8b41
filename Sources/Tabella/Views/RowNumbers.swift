/// Row numbers in ascending order: 2 bytes each or less, and about 150 bytes for each page.
///
/// Each 65,536 rows have a page if it has members. A page with few members lists their lowest 16 bits. A page with many
/// has a bit for each row, and takes at most 10 KiB. Roaring bitmaps have the same two forms.
struct RowNumbers {
  private var pages: [Page] = []
  private(set) var count = 0

  private struct Page {
    /// The bits of its numbers above the lowest 16.
    let high: Int
    /// The number of members in the pages in front.
    let before: Int
    /// The lowest bits of the members; empty if `words` is not.
    var list: [UInt16] = []
    /// The bits of the rows up to the last member, or empty.
    var words: [UInt64] = []
    /// For each word, the number of members of the page in front of it.
    var ranks: [UInt16] = []

    /// A list of this length takes about as much memory as the bits.
    static let longestList = 4096

    @inline(__always)
    mutating func append(_ low: UInt16) {
      if !words.isEmpty {
        set(low)
      } else {
        list.append(low)
        if list.count == Page.longestList { changeForm() }
      }
    }

    /// Replaces the list by bits.
    private mutating func changeForm() {
      for low in list { set(low) }
      list = []
    }

    @inline(__always)
    private mutating func set(_ low: UInt16) {
      let word = Int(low >> 6)
      if word >= words.count { appendWords(to: word) }
      words[word] |= 1 << UInt64(low & 63)
    }

    /// Adds words without members, up to one with this number.
    private mutating func appendWords(to word: Int) {
      let (count, new) = (countInWords, word + 1 - words.count)
      words += repeatElement(0, count: new)
      ranks += repeatElement(UInt16(truncatingIfNeeded: count), count: new)
    }

    private var countInWords: Int {
      words.isEmpty ? 0 : Int(ranks[words.count - 1]) + words[words.count - 1].nonzeroBitCount
    }

    /// The number of members below a number.
    func count(below low: UInt16) -> Int {
      if words.isEmpty { return list.partitioningIndex { $0 >= low } }
      let word = Int(low >> 6)
      if word >= words.count { return countInWords }
      return Int(ranks[word]) + (words[word] & (1 << UInt64(low & 63) - 1)).nonzeroBitCount
    }

    /// The word that contains a member, and the bits of this word from the member on. `count` is the number of all
    /// members.
    @inline(__always)
    private func bits(from index: Int, of count: Int) -> (word: Int, bits: UInt64) {
      // Members are mostly distributed evenly, so a guess is close.
      var word = index * words.count / count
      while Int(ranks[word]) > index { word -= 1 }
      while word + 1 < words.count, Int(ranks[word + 1]) <= index { word += 1 }
      var rest = words[word]
      for _ in 0..<index - Int(ranks[word]) { rest &= rest - 1 }
      return (word, rest)
    }

    /// Calls `body` with `count` members from an index on. `all` is the number of all members.
    @inline(__always)
    func forEach(from index: Int, count: Int, of all: Int, _ body: (Int) -> Void) {
      let first = high << 16
      if words.isEmpty {
        for low in list[index..<index + count] { body(first + Int(low)) }
        return
      }
      var (word, rest) = bits(from: index, of: all)
      for _ in 0..<count {
        while rest == 0 {
          word += 1
          rest = words[word]
        }
        body(first + word << 6 + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
  }

  /// Adds a number that is greater than all others.
  mutating func append(_ row: Int) {
    let high = row >> 16
    if pages.last?.high != high { pages.append(Page(high: high, before: count)) }
    pages[pages.count - 1].append(UInt16(truncatingIfNeeded: row))
    count += 1
  }

  /// Adds numbers in ascending order, which are greater than all others.
  @inline(__always)
  mutating func append(contentsOf rows: some Sequence<Int>) {
    for row in rows { append(row) }
  }

  /// Appends other numbers, increased by `offset`.
  mutating func append(_ numbers: RowNumbers, from offset: Int) {
    numbers.forEach(in: 0..<numbers.count) { append(offset + $0) }
  }

  /// Removes and returns the numbers from an index on.
  mutating func cut(from index: Int) -> [Int] {
    let tail = self[index..<count]
    // The page of the first removed number is made again.
    let page = pages.partitioningIndex { $0.before > index } - 1
    guard page >= 0 else { return tail }
    let kept = self[pages[page].before..<index]
    count = pages[page].before
    pages.removeLast(pages.count - page)
    for row in kept { append(row) }
    return tail
  }

  /// - Complexity: O(log n)
  subscript(index: Int) -> Int {
    var number = 0
    forEach(in: index..<index + 1) { number = $0 }
    return number
  }

  subscript(indices: Range<Int>) -> [Int] {
    var numbers: [Int] = []
    numbers.reserveCapacity(indices.count)
    forEach(in: indices) { numbers.append($0) }
    return numbers
  }

  /// Calls `body` with the numbers at some indices, in ascending order.
  /// - Complexity: O(log n), plus O(1) for each number
  @inline(__always)
  private func forEach(in indices: Range<Int>, _ body: (Int) -> Void) {
    precondition(indices.lowerBound >= 0 && indices.upperBound <= count)
    var index = indices.lowerBound
    var page = pages.partitioningIndex { $0.before > index } - 1
    while index < indices.upperBound {
      let before = pages[page].before
      let end = page + 1 < pages.count ? pages[page + 1].before : count
      let next = min(end, indices.upperBound)
      pages[page].forEach(from: index - before, count: next - index, of: end - before, body)
      index = next
      page += 1
    }
  }

  /// The index of the first number that is at least `row`, or the count.
  /// - Complexity: O(log n)
  func firstIndex(from row: Int) -> Int {
    let number = pages.partitioningIndex { $0.high >= row >> 16 }
    guard number < pages.count else { return count }
    let page = pages[number]
    guard page.high == row >> 16 else { return page.before }
    return page.before + page.count(below: UInt16(truncatingIfNeeded: row))
  }
}
