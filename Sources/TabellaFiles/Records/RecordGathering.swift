import CTabellaScan
import Glibc
import Tabella

extension RecordReader {
  /// Calls `body` with pages that contain the records of these numbers, in this order.
  ///
  /// Returns the number of records that were provided, counted from the front. It is at least 1 unless `numbers` is
  /// empty. The text is read once from front to back for as many records as fit into memory, whatever their order.
  /// Records that were read but not provided stay in memory for the next request. If some records did not fit, a
  /// request for the first of them reads all of them. Pages contain the offsets of their records only if
  /// `withOffsets` is true. Throws ``TableError`` with `.notFound` for a number without a record.
  /// - Complexity: O(bytes of the text) at most per call, O(n).
  public func gather(
    _ numbers: [Int], withOffsets: Bool,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    guard let largest = numbers.max() else { return 0 }
    try index.know(past: largest)
    guard largest < index.known else { throw .noRow(largest, inSection: 0, of: index.known) }
    let kept = gathered
    gathered = nil
    if let kept, kept.offsets != nil || !withOffsets,
      let count = kept.rest(startingWith: numbers)
    {
      return try give(kept, count, body)
    }
    let wanted = missing.starts(with: numbers) ? missing : numbers
    missing = []
    var count = min(wanted.count, max(1, sizes.gathered / index.averageSize))
    while true {
      let gathered = try GatheredRecords(
        count == wanted.count ? wanted : Array(wanted[..<count]), withOffsets: withOffsets, self,
        limit: sizes.gathered)
      // Records are larger than the average, so fewer of them fit.
      if gathered.isComplete || count == 1 {
        missing = Array(wanted[count...])
        return try give(gathered, min(count, numbers.count), body)
      }
      count = max(1, min(count / 2, gathered.fitting / 2))
    }
  }

  /// Provides the next gathered records, at most `count`, as pages with their own text.
  private func give(
    _ gathered: GatheredRecords, _ count: Int,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    let start = gathered.given
    let end = start + count
    var given = start
    var size = 0
    // Short texts need short pages. Large ones would leave holes between what thousands of such texts keep.
    let most = min(2 * sizes.page, gathered.text.count + 2 * gathered.count)
    let text = UnsafeMutableRawBufferPointer.allocate(
      byteCount: most + RecordPage.slack, alignment: 64)
    defer { text.deallocate() }
    while given < end, size < sizes.given {
      let first = given
      var filled = 0
      while given < end, filled < sizes.page, !staysAlone(gathered, given) {
        filled += gathered.copy(given, to: text.baseAddress! + filled)
        given += 1
      }
      if given > first {
        try givePage(text, filled, gathered, first..<given, body)
      } else {
        let number = gathered.numbers[given]
        guard let page = try page(with: number) else { break }
        try body(page, number..<number + 1)
        given += 1
      }
      size += filled + gathered.size(of: first)
    }
    if given < gathered.count {
      self.gathered = gathered
      self.gathered?.given = given
    } else {
      spare = gathered.text
      spare?.clear()
    }
    return given - start
  }

  /// Whether a record needs its own page. The last record of the text can lack its line end or a closing quote. A
  /// large record would fill the page alone.
  private func staysAlone(_ gathered: GatheredRecords, _ place: Int) -> Bool {
    gathered.isLast(place) || gathered.size(of: place) + 2 >= sizes.page
  }

  private func givePage(
    _ text: UnsafeMutableRawBufferPointer, _ size: Int, _ gathered: GatheredRecords,
    _ records: Range<Int>,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) {
    memset(text.baseAddress! + size, 0, RecordPage.slack)
    let separatorOffsets = SeparatorOffsets(room: size + 512)
    defer { separatorOffsets.deallocate() }
    let numbers = Array(gathered.numbers[records])
    let offsets = gathered.offsets.map { Array($0[records]) }
    let bytes = UnsafeRawPointer(text.baseAddress!)
    try RecordPage.Origin.with(numbers, offsets) { origin throws(TableError) in
      var state = tabella_scan_start()
      let found = tabella_scan_separators(
        bytes.assumingMemoryBound(to: UInt8.self), size, rules.scan, &state,
        separatorOffsets.separators, separatorOffsets.ends, separatorOffsets.room)
      guard found.records == records.count else {
        throw TableError(.internal, "gathered records split differently than in the text")
      }
      try body(
        RecordPage(
          numbers: 0..<records.count, offset: 0, bytes: bytes, filled: size,
          separators: UnsafePointer(separatorOffsets.separators),
          ends: UnsafePointer(separatorOffsets.ends),
          escape: rules.escape, mostQuotedLineEnds: Int(state.most_lines),
          hasLooseQuotes: state.loose != 0, hasStrayQuotes: state.strays != 0, openEnd: nil,
          reading: rules.reading, origin: origin),
        0..<records.count)
    }
  }
}

extension RecordPage.Origin {
  /// Calls `body` with the origin of records with these numbers and, if known, these offsets in the text.
  static func with<Result>(
    _ numbers: [Int], _ offsets: [Int]?,
    _ body: (RecordPage.Origin) throws(TableError) -> Result
  ) throws(TableError) -> Result {
    try numbers.withUnsafeBufferPointer { numbers in
      (offsets ?? []).withUnsafeBufferPointer { places in
        Swift.Result { () throws(TableError) in
          try body(
            RecordPage.Origin(
              numbers: numbers.baseAddress!,
              offsets: offsets == nil ? nil : places.baseAddress))
        }
      }
    }.get()
  }
}

/// Records that were copied out of a text, in the order of a request.
struct GatheredRecords {
  let numbers: [Int]
  /// The number of records that were provided so far.
  var given = 0
  /// Whether all records fit into the limit.
  private(set) var isComplete = true
  /// The number of records that were copied before the limit was reached.
  private(set) var fitting = 0
  let text: GatheredText
  private var places: [Extent]
  private let last: Int?

  /// The offset of each record in the text, if requested.
  private(set) var offsets: [Int]?

  private struct Extent {
    /// The offset and the length of a record's copy.
    var start: UInt32 = 0
    var count: UInt32 = 0
  }

  init(
    _ numbers: [Int], withOffsets: Bool, _ reader: RecordReader, limit: Int
  ) throws(TableError) {
    self.numbers = numbers
    // Sort first: the memory that sorting frees is reused for `places`.
    let order = TextOrder(numbers)
    places = Array(repeating: Extent(), count: numbers.count)
    offsets = withOffsets ? Array(repeating: 0, count: numbers.count) : nil
    last = reader.index.isComplete ? reader.index.known - 1 : nil
    let size = min(limit, numbers.count * reader.index.averageSize) * 9 / 8
    let spare = reader.spare
    reader.spare = nil
    text = if let spare, spare.isFit(for: size) { spare } else { GatheredText(capacity: size) }
    var ends = reader.ends()
    for index in order.indices {
      // The positions are scattered in memory. Prefetch a later one, to avoid a wait at each access.
      let soon = order[min(index + 16, order.indices.upperBound - 1)].place
      places.withUnsafeBufferPointer {
        tabella_scan_prefetch($0.baseAddress! + soon, MemoryLayout<Extent>.size)
      }
      let (number, place) = order[index]
      let isThere = try ends.with(number) { record, offset in
        places[place] = Extent(
          start: UInt32(truncatingIfNeeded: text.count),
          count: UInt32(truncatingIfNeeded: record.count))
        offsets?[place] = offset
        text.append(record)
      }
      // The last record, if it has no line end, is provided by itself.
      guard isThere || number == last else {
        throw .noRow(number, inSection: 0, of: reader.index.known)
      }
      fitting += 1
      if text.count > 4 * limit, fitting < numbers.count {
        isComplete = false
        return
      }
    }
  }

  var count: Int { numbers.count }

  /// The number of remaining records that `wanted` begins with; nil if it is 0.
  func rest(startingWith wanted: [Int]) -> Int? {
    let most = min(numbers.count - given, wanted.count)
    var count = 0
    while count < most, numbers[given + count] == wanted[count] { count += 1 }
    return count > 0 ? count : nil
  }

  func size(of place: Int) -> Int { Int(places[place].count) }

  func isLast(_ place: Int) -> Bool { numbers[place] == last }

  /// Writes a record to `place` with an LF at its end. Returns the number of bytes: at most two more than the
  /// record has.
  func copy(_ number: Int, to place: UnsafeMutableRawPointer) -> Int {
    // Records are scattered in memory. Prefetch a later one.
    let soon = places[min(number + 8, places.count - 1)]
    tabella_scan_prefetch(text.start + Int(soon.start), Int(soon.count))
    let record = places[number]
    var count = Int(record.count)
    memcpy(place, text.start + Int(record.start), count)
    // A CR at the end belongs to the record, so the line must end with CRLF.
    if count > 0, place.load(fromByteOffset: count - 1, as: UInt8.self) == 13 {
      place.storeBytes(of: 13, toByteOffset: count, as: UInt8.self)
      count += 1
    }
    place.storeBytes(of: 10, toByteOffset: count, as: UInt8.self)
    return count + 1
  }
}

/// The numbers of records in the order of the text, each with its position in the request.
///
/// Both are packed into one word. A radix sort sorts the words by digits of eight bits. It uses a second array and
/// takes a fifth of the time of a sort in place.
private struct TextOrder {
  private var words: [UInt64]
  private let placeBits: UInt64

  init(_ numbers: [Int]) {
    placeBits = UInt64(Int.bitWidth - numbers.count.leadingZeroBitCount)
    let largest = numbers.max() ?? 0
    precondition(largest.leadingZeroBitCount > placeBits, "a number and its place have 64 bits")
    words = numbers.indices.map { [placeBits] in UInt64(numbers[$0]) << placeBits | UInt64($0) }
    var sorted = [UInt64](repeating: 0, count: words.count)
    var shift = placeBits
    while shift < 64, UInt64(largest) >> (shift - placeBits) > 0 {
      withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { next in
        next.initialize(repeating: 0)
        for word in words { next[Int(word >> shift & 255)] += 1 }
        var place = 0
        for digit in next.indices { (next[digit], place) = (place, place + next[digit]) }
        for word in words {
          let digit = Int(word >> shift & 255)
          sorted[next[digit]] = word
          next[digit] += 1
        }
      }
      swap(&words, &sorted)
      shift += 8
    }
  }

  var indices: Range<Int> { words.indices }

  @inline(__always)
  subscript(index: Int) -> (number: Int, place: Int) {
    (Int(words[index] >> placeBits), Int(words[index] & (1 << placeBits - 1)))
  }
}

/// A growing byte buffer for random access. It uses large pages if the system has them.
final class GatheredText {
  private(set) var start: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int
  private static let largePage = 2 << 20

  init(capacity: Int) {
    self.capacity = max(capacity, 1)
    start = Self.allocate(self.capacity)
  }

  deinit { start.deallocate() }

  /// Whether the buffer has room for `size` bytes and would not stay mostly empty.
  func isFit(for size: Int) -> Bool { (size...2 * max(size, 1)).contains(capacity) }

  /// Clears the buffer. The system can reclaim its pages until the next write.
  func clear() {
    count = 0
    if capacity >= 2 * Self.largePage { madvise(start, capacity, MADV_FREE) }
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
    let isLarge = capacity >= 2 * largePage
    let start = UnsafeMutableRawPointer.allocate(
      byteCount: capacity, alignment: isLarge ? largePage : 64)
    if isLarge { madvise(start, capacity, MADV_HUGEPAGE) }
    return start
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    if count + bytes.count > capacity {
      capacity = max(count + bytes.count, 2 * capacity)
      let grown = Self.allocate(capacity)
      memcpy(grown, start, count)
      start.deallocate()
      start = grown
    }
    memcpy(start + count, base, bytes.count)
    count += bytes.count
  }
}
