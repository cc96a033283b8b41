import CTabellaScan
import Glibc
import Tabella
import TabellaThreads

/// Records that were copied out of a text, in the order of a request.
///
/// Threads share the copying: each copies the records of a part of the text. Several threads may read the copies.
struct GatheredRecords {
  let numbers: [Int]
  /// The number of records that were provided so far.
  var given = 0
  /// Whether all records fit into the limit.
  let isComplete: Bool
  /// The number of records that were copied before the limit was reached.
  let fitting: Int
  /// The offset of each record in the text, if requested.
  let offsets: [Int]?
  private let parts: [GatheredPart]
  private let places: [GatheredPart.Place]
  /// The last record of the text if it ends within quotes or with an escape. It is not copied.
  private let open: Int?

  /// The memory of a record besides its copy, in bytes: its number, its place, and a word in each of two orders.
  static let memoryPerRecord = 32

  init(
    _ numbers: [Int], withOffsets: Bool, _ reader: RecordReader, limit: Int
  ) throws(TableError) {
    self.numbers = numbers
    // Sort first: the memory that sorting frees is reused for `places`.
    let order = TextOrder(numbers)
    let ranges = order.parts(GatheredRecords.threads(for: order, reader))
    let size = min(limit, numbers.count * reader.index.averageSize) * 9 / 8 / ranges.count
    let spare = reader.spare
    reader.spare = []
    let isFit = spare.count == ranges.count && spare.allSatisfy { $0.isFit(for: size) }
    let parts = ranges.indices.map {
      GatheredPart(
        isFit ? spare[$0] : GatheredText(capacity: size), ranges[$0],
        first: order[ranges[$0].lowerBound].number)
    }
    var places = Array(repeating: GatheredPart.Place(), count: numbers.count)
    var offsets = Array(repeating: 0, count: withOffsets ? numbers.count : 0)
    places.withUnsafeMutableBufferPointer { places in
      offsets.withUnsafeMutableBufferPointer { offsets in
        inParallel(parts.count) {
          parts[$0].copy(
            order, reader, limit: 4 * limit / parts.count, to: places,
            withOffsets ? offsets : nil)
        }
      }
    }
    for part in parts { if let failure = part.failure { throw failure } }
    isComplete = parts.allSatisfy(\.isComplete)
    fitting = parts.reduce(0) { $0 + $1.copied }
    open =
      try isComplete && parts[parts.count - 1].lacksLast
      ? GatheredRecords.copyLast(order, reader, to: parts[parts.count - 1], &places, &offsets) : nil
    self.offsets = withOffsets ? offsets : nil
    (self.parts, self.places) = (parts, places)
  }

  /// The number of threads that share the copying.
  private static func threads(for order: TextOrder, _ reader: RecordReader) -> Int {
    if reader.source.size == nil { return 1 }
    let index = reader.index
    let (first, last) = (order[0].number, order[order.indices.upperBound - 1].number)
    let span = index.position(before: last).offset - index.position(before: first).offset
    // A few records are found without reading what lies between them.
    let read = min(span, order.indices.count * (64 << 10))
    // A scattered copy takes about as long as reading 256 bytes.
    let work = read + order.indices.count * 256
    return max(1, min(Cores.count, work / reader.sizes.part))
  }

  /// Copies the last record of the text, which has no line end. Returns its number if it is open.
  private static func copyLast(
    _ order: TextOrder, _ reader: RecordReader, to part: GatheredPart,
    _ places: inout [GatheredPart.Place], _ offsets: inout [Int]
  ) throws(TableError) -> Int? {
    let last = reader.index.known - 1
    guard let page = try reader.page(with: last), page.openEnd == nil else { return last }
    for index in order.indices.reversed() {
      let (number, place) = order[index]
      if number != last { break }
      places[place] = part.append(page.bytes(of: last))
      if !offsets.isEmpty { offsets[place] = page.offset(of: last) }
    }
    return nil
  }

  var count: Int { numbers.count }

  /// The memory of the copies.
  var texts: [GatheredText] { parts.map(\.text) }

  /// The number of remaining records that `wanted` begins with; nil if it is 0.
  func rest(startingWith wanted: [Int]) -> Int? {
    let most = min(numbers.count - given, wanted.count)
    var count = 0
    while count < most, numbers[given + count] == wanted[count] { count += 1 }
    return count > 0 ? count : nil
  }

  func size(of index: Int) -> Int { Int(places[index].count) }

  func isOpen(_ index: Int) -> Bool { numbers[index] == open }

  /// The address of a record's copy.
  @inline(__always)
  private func copy(of index: Int) -> UnsafeMutableRawPointer {
    var part = 0
    if parts.count > 1 { part = parts.partitioningIndex { $0.first > numbers[index] } - 1 }
    return parts[part].text.start + Int(places[index].start)
  }

  /// Writes a record to `place` with an LF at its end. Returns the number of bytes: at most two more than the
  /// record has.
  func write(_ index: Int, to place: UnsafeMutableRawPointer) -> Int {
    // Records are scattered in memory. Prefetch a later one.
    let soon = min(index + 8, places.count - 1)
    tabella_scan_prefetch(copy(of: soon), size(of: soon))
    var count = size(of: index)
    memcpy(place, copy(of: index), count)
    // A CR at the end belongs to the record, so the line must end with CRLF.
    if count > 0, place.load(fromByteOffset: count - 1, as: UInt8.self) == 13 {
      place.storeBytes(of: 13, toByteOffset: count, as: UInt8.self)
      count += 1
    }
    place.storeBytes(of: 10, toByteOffset: count, as: UInt8.self)
    return count + 1
  }

  /// Calls `body` with a page of some records, which ``write(_:to:)`` wrote to the first `size` bytes of a text.
  func withPage(
    of records: Range<Int>, _ text: UnsafeMutableRawPointer, _ size: Int, _ rules: RecordRules,
    _ separatorOffsets: SeparatorOffsets,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) {
    memset(text + size, 0, RecordPage.slack)
    let bytes = UnsafeRawPointer(text)
    try RecordPage.Origin.with(numbers[records], offsets?[records]) { origin throws(TableError) in
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

/// The gathered records of a part of a text, which one thread copies.
final class GatheredPart {
  /// The offset of a record's copy in ``text``, and its length.
  struct Place {
    var start: UInt32 = 0
    var count: UInt32 = 0
  }

  let text: GatheredText
  /// The indices of the records in the order of the text.
  private let range: Range<Int>
  /// The first record.
  let first: Int
  private(set) var copied = 0
  /// Whether all records fit into the limit.
  var isComplete: Bool { copied == range.count }
  /// Whether the last record of the whole text is requested, and has no line end.
  private(set) var lacksLast = false
  private(set) var failure: TableError?

  init(_ text: GatheredText, _ range: Range<Int>, first: Int) {
    (self.text, self.range, self.first) = (text, range, first)
  }

  func append(_ record: UnsafeRawBufferPointer) -> Place {
    let start = UInt32(truncatingIfNeeded: text.count)
    text.append(record)
    return Place(start: start, count: UInt32(truncatingIfNeeded: record.count))
  }

  /// Copies the records until the limit is reached. Threads copy different parts at the same time.
  func copy(
    _ order: TextOrder, _ reader: RecordReader, limit: Int,
    to places: UnsafeMutableBufferPointer<Place>, _ offsets: UnsafeMutableBufferPointer<Int>?
  ) {
    let last = reader.index.isComplete ? reader.index.known - 1 : nil
    var ends = reader.ends()
    do throws(TableError) {
      for index in range {
        // The positions are scattered in memory. Prefetch a later one, to avoid a wait at each access.
        let soon = order[min(index + 16, range.upperBound - 1)].place
        tabella_scan_prefetch(places.baseAddress! + soon, MemoryLayout<Place>.size)
        let (number, place) = order[index]
        let isThere = try ends.with(number) { record, offset in
          places[place] = append(record)
          offsets?[place] = offset
        }
        if !isThere {
          guard number == last else { throw .noRow(number, inSection: 0, of: reader.index.known) }
          lacksLast = true
        }
        copied += 1
        if text.count > limit { return }
      }
    } catch {
      failure = error
    }
  }
}

/// The numbers of records in the order of the text, each with its position in the request.
///
/// Both are packed into one word. A radix sort sorts the words by digits of eight bits. It uses a second array and
/// takes a fifth of the time of a sort in place.
struct TextOrder {
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

  /// Divides the indices into about `count` parts of equal size. Each number occurs in one part only.
  func parts(_ count: Int) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var start = 0
    for part in 1...count {
      var end = words.count * part / count
      while end < words.count, end > 0, self[end].number == self[end - 1].number { end += 1 }
      if end > start { parts.append(start..<end) }
      start = max(start, end)
    }
    return parts
  }

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
