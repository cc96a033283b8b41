import CTabellaScan
import Synchronization
import Tabella
import TabellaThreads

/// Reads the records of a text by number, one page at a time.
public final class RecordReader {
  /// The sizes of reads and pages. Only tests use smaller ones.
  public struct Sizes: Hashable, Sendable {
    /// The size of the first read of the first record, in bytes. Many callers want the first rows only, so the reader
    /// begins with small buffers.
    public var start = 16 << 10
    /// The size of the first read after a jump, in bytes.
    public var first = 64 << 10
    /// The maximum size of a page in bytes, for sequential reading.
    public var next = 256 << 10
    /// The size of one sequential read from a stored file, in bytes. It can exceed a page. The bytes are examined more than
    /// once, so they stay in the cache of a core.
    public var ahead = 256 << 10
    /// The initial number of separators per page; at least 512. A page of the size ``start`` has ``startRoom``.
    public var room = 1 << 16
    var startRoom: Int { min(1 << 12, room) }
    /// The approximate memory of the records that are gathered at once, in bytes.
    public var gathered = 104 << 20
    /// The number of bytes of gathered text that are worth a thread.
    public var part = 8 << 20
    /// The approximate number of gathered bytes that one call provides.
    public var given = 2 << 20
    /// The approximate size of a page of gathered records, in bytes.
    public var page = 256 << 10
    /// The number of bytes of found records that are copied into one page.
    public var copied = 64 << 10

    /// The minimum size of a share for a thread, in bytes.
    var share = 0

    /// Creates the default sizes.
    public init() {}

    /// Creates sizes for records with this many fields. Pages and shares have a cost per field.
    public init(fields: Int) {
      next = max(next, min(fields * 128, 2 << 20))
      room = next / 4
      share = min(fields * 256, 4 << 20)
    }

    /// Sizes for a share of a text. Small shares have small buffers, because each thread has its own.
    func fitting(_ share: Int) -> Sizes {
      var sizes = self
      sizes.ahead = min(ahead, max(share, 2))
      let page = min(next, max(64 << 10, share / 4))
      if page < next { (sizes.next, sizes.room) = (page, max(512, room / max(1, next / page))) }
      sizes.first = min(first, sizes.next)
      return sizes
    }

    /// Sizes for a short look at the start of a text.
    public static let glance: Sizes = {
      var sizes = Sizes()
      (sizes.first, sizes.next, sizes.ahead) = (16 << 10, 16 << 10, 16 << 10)
      return sizes
    }()
  }

  /// The index of the records. The reader extends it.
  public let index: RecordIndex
  /// The rules that divide the text.
  public let rules: RecordRules
  let source: any ByteSource
  let sizes: Sizes
  private var text: UnsafeMutableRawBufferPointer
  private var hasBuffers = true
  /// Receives large buffers that the reader no longer needs.
  private let spares: Pool<Buffers>?
  /// Whether the text is a share of a larger one.
  var isShare: Bool { spares != nil }
  /// The offset of the buffer in the whole text, and the number of bytes in the buffer.
  private var start = 0
  private var filled = 0
  /// The offset in the text after the bytes in the buffer.
  var heldEnd: Int { start + filled }
  /// The end of the text, once a read has found it.
  private var textEnd: Int?
  private var separatorOffsets: SeparatorOffsets
  private(set) var page: RecordPage?
  /// Records that were gathered and not yet provided.
  var gathered: GatheredRecords?
  /// The buffers of earlier gathered records, for reuse. Their pages need not be cleared again.
  var spare: [GatheredText] = []
  /// The finder of the last search, if the terms can be searched.
  private var lastFinder: (terms: [SearchTerm], finder: RecordFinder)?
  /// The numbers of the records that the last gathering had no room for.
  var missing: [Int] = []

  /// Creates a reader. Reads nothing yet.
  public convenience init(
    _ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, sizes: Sizes = Sizes()
  ) {
    self.init(source, index, rules: rules, sizes: sizes, spares: nil)
  }

  /// Creates a reader that takes buffers from others, and gives them back when it shrinks.
  init(
    _ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, sizes: Sizes,
    spares: Pool<Buffers>?
  ) {
    self.source = source
    self.index = index
    self.rules = rules
    self.sizes = sizes
    self.spares = spares
    RecordReader.count.add(1, ordering: .relaxed)
    (text, separatorOffsets) = spares?.take() ?? RecordReader.emptyBuffers()
  }

  /// The memory of a reader.
  typealias Buffers = (text: UnsafeMutableRawBufferPointer, separatorOffsets: SeparatorOffsets)

  /// The buffers of a reader that has read nothing. They grow with the first page.
  private static func emptyBuffers() -> Buffers {
    (.allocate(byteCount: RecordPage.slack, alignment: 64), SeparatorOffsets(room: 0))
  }

  /// Creates a reader that takes over the buffers of `other`, which must not be used again. If both read the same object,
  /// it also takes over the bytes.
  public init(
    _ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, sizes: Sizes = Sizes(),
    replacing other: RecordReader
  ) {
    self.source = source
    self.index = index
    self.rules = rules
    self.sizes = sizes
    spares = nil
    RecordReader.count.add(1, ordering: .relaxed)
    (text, separatorOffsets) = (other.text, other.separatorOffsets)
    if source === other.source {
      (start, filled, textEnd) = (other.start, other.filled, other.textEnd)
    }
    other.hasBuffers = false
  }

  deinit {
    RecordReader.count.subtract(1, ordering: .relaxed)
    guard hasBuffers else { return }
    text.deallocate()
    separatorOffsets.deallocate()
  }

  /// Makes the index know at least this many records, or all; see ``RecordIndex/know(_:)``.
  ///
  /// A caller that asks whether records exist usually reads them next. The method therefore loads and keeps a page
  /// of them. A caller that asks for all records counts them, and the method frees the buffers.
  public func know(_ minimum: Int) throws(TableError) {
    if index.known < minimum, minimum < .max { _ = try page(with: index.known) }
    let wasComplete = index.isComplete
    try index.know(minimum)
    if !wasComplete, minimum == .max { shrink() }
  }

  /// Returns the page with the record of this number; nil if there is no such record.
  ///
  /// A page contains the records that have arrived. If `waits` is false, the result is also nil if the rest of a stream
  /// must arrive first.
  ///
  /// The page is valid until the next call, and only while the reader exists.
  /// - Complexity: O(page) if the record is near or continues the previous page. Otherwise O(bytes in front of the
  ///   record) the first time and O(1) later.
  public func page(with number: Int, waits: Bool = true) throws(TableError) -> RecordPage? {
    if let page, page.numbers.contains(number) { return page }
    if let page, page.numbers.upperBound == number {
      return try load(
        number, at: page.end, sizes.next, ahead: source.size == nil ? 0 : sizes.ahead, waits: waits)
    }
    // Read the first unknown record directly. The index need not search for it.
    if number == index.known, !index.isComplete {
      let size = number == 0 ? min(sizes.start, sizes.first) : sizes.first
      return try load(number, at: index.frontier, size, waits: waits)
    }
    if number >= index.known { try index.know(past: number) }
    guard number < index.known else { return nil }
    var position = index.position(before: number)
    // Continuing from the current page is faster than going back.
    if let page, (position.number..<number).contains(page.numbers.upperBound) {
      position = (page.numbers.upperBound, page.end)
    }
    var loaded = try load(position.number, at: position.offset, sizes.first)
    while let page = loaded, page.numbers.upperBound <= number {
      loaded = try load(page.numbers.upperBound, at: page.end, sizes.first)
    }
    return loaded
  }

  /// An iterator over the ends of records, for one pass over the text.
  func ends() -> RecordEnds {
    RecordEnds(source, index, rules: rules, window: sizes.ahead, piece: sizes.next)
  }

  /// A finder of records that may contain all terms; nil if they cannot be searched.
  ///
  /// Successive searches for the same terms use the same finder, because it has compared them.
  package func finder(of terms: [SearchTerm]) -> RecordFinder? {
    if let lastFinder, lastFinder.terms == terms { return lastFinder.finder }
    let finder = RecordFinder(terms, rules)
    lastFinder = finder.map { (terms, $0) }
    return finder
  }

  /// Returns the number of the record that begins at `offset` of the text; nil if none begins there.
  /// - Complexity: O(log(page)) if the record is in the current page. Otherwise like ``page(with:waits:)``.
  public func number(ofRecordAt offset: Int) throws(TableError) -> Int? {
    if let page, page.offset(of: page.numbers.lowerBound)..<page.end ~= offset {
      return page.number(ofRecordAt: offset)
    }
    try index.know(recordsUpTo: offset)
    guard var position = index.position(beforeOffset: offset) else { return nil }
    while let page = try page(with: position.number) {
      if page.end > offset { return page.number(ofRecordAt: offset) }
      position = (page.numbers.upperBound, page.end)
    }
    return nil
  }

  /// Returns the number of the record with this id; nil if there is none, or if the record has changed.
  public func number(ofRecordWithID id: String) throws(TableError) -> Int? {
    guard let offset = id.split(separator: ".").first.flatMap({ Int($0, radix: 16) }),
      let number = try number(ofRecordAt: offset), let page = try page(with: number)
    else { return nil }
    return page.id(of: number) == id ? number : nil
  }

  /// Frees the buffers, or hands large ones on. The reader can still be used.
  package func shrink() {
    forget()
    if let spares, !hasSmallBuffers {
      spares.add((text, separatorOffsets))
    } else {
      text.deallocate()
      separatorOffsets.deallocate()
    }
    spare = []
    (text, separatorOffsets) = RecordReader.emptyBuffers()
  }

  /// Frees the buffers if the records in front of `end` are all records of the text.
  ///
  /// A caller that has read the last record rarely reads others, and there can be thousands of open texts.
  package func shrink(atEnd end: Int) {
    guard index.isComplete, end >= index.known, text.count > RecordPage.slack else { return }
    shrink()
  }

  /// The number of readers in the process.
  private static let count = Atomic<Int>(0)

  /// Frees the buffers if the process has many readers. The first page of a text is usually read next, but the first
  /// pages of thousands of texts would take much memory.
  package func shrinkIfOneOfMany() {
    if RecordReader.count.load(ordering: .relaxed) > 256 { shrink() }
  }

  /// Whether the buffers are too small to be of use to others.
  private var hasSmallBuffers: Bool {
    text.count <= min(sizes.start, sizes.first) + RecordPage.slack
  }

  /// Forgets all bytes that it holds, because the text may have changed.
  package func forget() {
    (page, gathered, missing) = (nil, nil, [])
    (start, filled, textEnd) = (0, 0, nil)
  }

  /// Creates the page whose first record has this number and begins at `offset`.
  func load(
    _ number: Int, at offset: Int, _ size: Int, ahead: Int = 0, waits: Bool = true
  ) throws(TableError) -> RecordPage? {
    page = nil
    // The rest of a short text fits into the small buffer. There can be thousands of such texts.
    let isShort = min(size, (source.size ?? .max) - offset) <= sizes.start
    separatorOffsets.grow(to: isShort ? sizes.startRoom : sizes.room)
    var wanted = max(size, 2)
    var need = Need(waits: waits)
    while true {
      guard let (bytes, count, isEnd) = try hold(wanted, at: offset, ahead: ahead, need) else {
        return nil
      }
      if count == 0 {
        index.note(number: number, at: offset, isEnd: true)
        return nil
      }
      // A CR at the end of the block can be half of a CRLF.
      let usable = isEnd || bytes[count - 1] != 13 ? count : count - 1
      var state = tabella_scan_start()
      var found = tabella_scan_separators(
        bytes, usable, rules.scan, &state, separatorOffsets.separators, separatorOffsets.ends,
        separatorOffsets.room)
      let isWhole = isEnd && found.scanned == usable
      if isWhole { closeLast(&found, bytes, count) }
      if found.records > 0 {
        let openEnd: OpenEnd? =
          state.inside != 0 ? .quote : state.plain != 0 ? .escape : nil
        let made = RecordPage(
          numbers: number..<number + found.records, offset: offset, bytes: UnsafeRawPointer(bytes),
          filled: count, separators: UnsafePointer(separatorOffsets.separators),
          ends: UnsafePointer(separatorOffsets.ends), escape: rules.escape,
          mostQuotedLineEnds: Int(state.most_lines), hasLooseQuotes: state.loose != 0,
          hasStrayQuotes: state.strays != 0, openEnd: isWhole ? openEnd : nil,
          reading: rules.reading)
        index.note(
          number: made.numbers.upperBound, at: made.end,
          isEnd: isWhole && made.end == offset + count)
        page = made
        return made
      }
      if found.scanned < usable {
        separatorOffsets.grow(to: 2 * separatorOffsets.room)
      } else {
        guard count < Int(Int32.max) else { throw rules.tooLarge(number, at: offset) }
        if count == wanted { wanted = min(2 * wanted, Int(Int32.max)) }
        need.count = count + 1
        // Any byte tells whether a CR at the end is a line end.
        need.hasLineEnd = usable == count
      }
    }
  }

  /// Ends the last record at the end of the text, if it has no line end.
  private func closeLast(
    _ found: inout tabella_scan_found, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int
  ) {
    let lastEnd =
      found.records > 0
      ? Int(separatorOffsets.separators[Int(separatorOffsets.ends[found.records - 1]) - 1]) + 1 : 0
    guard lastEnd < count else { return }
    index.endsOpen = true
    // The byte after the text must not look like the second half of a CRLF.
    bytes[count] = 0
    separatorOffsets.separators[found.separators] = UInt32(count)
    found.separators += 1
    separatorOffsets.ends[found.records] = UInt32(found.separators)
    found.records += 1
  }

  /// The bytes of a stream for which a page waits.
  struct Need {
    /// The number of bytes from the first record on.
    var count = 1
    /// Whether a line end must be among the new bytes, because no record can end without one.
    var hasLineEnd = false
    /// If false, the page gives up instead of waiting.
    var waits: Bool
  }

  /// Ensures that `wanted` bytes from `offset` on are in the buffer, as far as they have arrived. If it must read, it
  /// reads `ahead` bytes.
  ///
  /// Returns the address of the bytes, their number, and whether the text ends with them. Returns nil if it would have
  /// to wait.
  func hold(
    _ wanted: Int, at offset: Int, ahead: Int, _ need: Need
  ) throws(TableError) -> (UnsafeMutablePointer<UInt8>, count: Int, isEnd: Bool)? {
    // The bytes of the last page may move.
    page = nil
    if offset < start || offset > start + filled { (start, filled) = (offset, 0) }
    if start + filled - offset < wanted, start + filled != source.size ?? textEnd {
      // Bytes that are already in the buffer move to its front.
      filled -= offset - start
      let larger = max(wanted, ahead)
      let base = text.baseAddress! + (offset - start)
      start = offset
      if larger + RecordPage.slack > text.count {
        let grown = UnsafeMutableRawBufferPointer.allocate(
          byteCount: larger + RecordPage.slack, alignment: 64)
        memcpy(grown.baseAddress!, base, filled)
        text.deallocate()
        text = grown
      } else {
        memmove(text.baseAddress!, base, filled)
      }
      guard try fill(upTo: larger, need) else { return nil }
    }
    let bytes = (text.baseAddress! + (offset - start)).assumingMemoryBound(to: UInt8.self)
    let there = start + filled - offset
    let count = min(there, wanted)
    return (bytes, count, offset + count == source.size ?? textEnd)
  }

  /// Reads until the buffer has `size` bytes, or all bytes that have arrived, if these are as many as needed. Returns
  /// false if it would have to wait.
  private func fill(upTo size: Int, _ need: Need) throws(TableError) -> Bool {
    // The last try ended in front of the last needed byte.
    var hasLineEnd =
      !need.hasLineEnd || RecordReader.hasLineEnd(text[min(need.count - 1, filled)..<filled])
    while filled < size {
      let isEnough = hasLineEnd && filled >= need.count
      if isEnough || !need.waits, !(try source.hasArrived(at: start + filled, within: 0)) {
        return isEnough
      }
      let (got, isEnd) = try source.fillArrived(
        UnsafeMutableRawBufferPointer(rebasing: text[filled..<size]), at: start + filled)
      hasLineEnd = hasLineEnd || RecordReader.hasLineEnd(text[filled..<filled + got])
      filled += got
      if isEnd {
        textEnd = start + filled
        break
      }
    }
    return true
  }

  private static func hasLineEnd(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
    let bytes = UnsafeRawBufferPointer(rebasing: bytes)
    guard let first = bytes.baseAddress else { return false }
    return tabella_scan_has(first, bytes.count, 10, 13, 10, 13) != 0
  }
}

/// Consecutive records of a text, with the offsets of their separators.
///
/// The pointers belong to the reader that returned the page; see ``RecordReader/page(with:)``. Records have
/// numbers. Fields are counted across all records of the page; see ``fields(of:)``.
public struct RecordPage {
  /// The number of bytes after ``bytes`` that can be read safely. Their content is undefined.
  public static let slack = Int(TABELLA_SCAN_SLACK)

  /// The numbers of the records.
  public let numbers: Range<Int>
  /// The offset of ``bytes`` in the text.
  public let offset: Int
  /// The text from the first record on.
  public let bytes: UnsafeRawPointer
  let filled: Int
  let separators: UnsafePointer<UInt32>
  let ends: UnsafePointer<UInt32>
  let escape: UInt8?
  /// An upper bound of the line ends within quotes in one record. It is 0 only if no record has one.
  public let mostQuotedLineEnds: Int
  /// Whether a cell continues after its closing quote.
  let hasLooseQuotes: Bool
  /// Whether a quote is a literal byte of an unquoted cell.
  let hasStrayQuotes: Bool
  /// Whether every quote opens or closes a cell or is one of two adjacent quotes.
  public var hasOnlyRealQuotes: Bool { !hasLooseQuotes && !hasStrayQuotes }
  /// The open quote or escape at the end of the last record, if the text ends with it.
  public let openEnd: OpenEnd?
  let reading: UInt64
  /// The origin of gathered records; nil otherwise. The ``numbers`` of gathered records count from 0.
  var origin: Origin?

  struct Origin {
    let numbers: UnsafePointer<Int>
    let offsets: UnsafePointer<Int>?
  }

  /// The offset in the text after the last record.
  public var end: Int {
    min(offset + filled, offset + Int(separators[Int(ends[numbers.count - 1]) - 1]) + 1)
  }

  /// The number of the record that begins at an offset of the text; nil if none of the page does.
  fileprivate func number(ofRecordAt offset: Int) -> Int? {
    let number = numbers.partitioningIndex { self.offset(of: $0) >= offset }
    return numbers.contains(number) && self.offset(of: number) == offset ? number : nil
  }

  /// The indices of a record's fields.
  @inline(__always)
  public func fields(of number: Int) -> Range<Int> {
    // There is an entry in front of the first one for this access. All values are valid, so the range is not
    // checked.
    let at = number &- numbers.lowerBound
    return Range(uncheckedBounds: (Int(ends[at &- 1]), Int(ends[at])))
  }

  /// Whether each of some records has this number of fields.
  public func hasFields(_ count: Int, inEachOf records: Range<Int>) -> Bool {
    let first = records.lowerBound &- numbers.lowerBound
    var differences: UInt32 = 0
    for at in first..<first &+ records.count {
      differences |= (ends[at] &- ends[at &- 1]) ^ UInt32(truncatingIfNeeded: count)
    }
    return differences == 0
  }

  /// The offset of a field in ``bytes``.
  @inline(__always)
  public func start(ofField field: Int) -> Int {
    // There is an entry in front of the first one here, too.
    Int(separators[field &- 1] &+ 1)
  }

  /// The end of a field in ``bytes``. The field must not be the last of its record.
  @inline(__always)
  public func end(ofField field: Int) -> Int { Int(separators[field]) }

  /// The end of the last field of a record, in front of its LF, CRLF or CR. It is also the end of the record.
  @inline(__always)
  public func end(ofLastField field: Int) -> Int {
    let end = Int(separators[field])
    guard byte(end) == 10 else { return end }
    let start = start(ofField: field)
    guard end > start, byte(end &- 1) == 13 else { return end }
    return isEscaped(end &- 1, from: start) ? end : end &- 1
  }

  /// The offset of a record in ``bytes``.
  public func start(of number: Int) -> Int { start(ofField: fields(of: number).lowerBound) }

  /// The end of a record in ``bytes``.
  public func end(of number: Int) -> Int { end(ofLastField: fields(of: number).upperBound - 1) }

  /// The offset of a record in the text. Gathered records have offsets only if the request asked for them.
  public func offset(of number: Int) -> Int {
    guard let origin else { return offset + start(of: number) }
    guard let offsets = origin.offsets else { preconditionFailure("gathered without offsets") }
    return offsets[number]
  }

  /// The number of a record in the text.
  public func textNumber(of number: Int) -> Int { origin.map { $0.numbers[number] } ?? number }

  /// The bytes of a record, without its line end.
  public func bytes(of number: Int) -> UnsafeRawBufferPointer {
    let start = start(of: number)
    return UnsafeRawBufferPointer(start: bytes + start, count: end(of: number) - start)
  }

  /// The bytes of consecutive records, without the last line end.
  public func bytes(of records: Range<Int>) -> UnsafeRawBufferPointer {
    guard let last = records.last else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let start = start(of: records.lowerBound)
    return UnsafeRawBufferPointer(start: bytes + start, count: end(of: last) - start)
  }

  /// The id of a record: its offset in the text and a digest, in hexadecimal.
  ///
  /// It is valid as long as the record and everything in front of it stay the same. The ids differ between two
  /// readings of the file.
  public func id(of number: Int) -> String {
    let digest = digest64(bytes(of: number)) ^ reading
    // Two numbers of 64 bits and a point.
    return String(unsafeUninitializedCapacity: 33) { text in
      var end = Hexadecimal.write(UInt64(offset(of: number)), to: text, 0)
      text[end] = UInt8(ascii: ".")
      end += 1
      return Hexadecimal.write(digest, to: text, end)
    }
  }

  private func byte(_ at: Int) -> UInt8 { bytes.load(fromByteOffset: at, as: UInt8.self) }

  private func isEscaped(_ at: Int, from start: Int) -> Bool {
    guard let escape else { return false }
    var first = at
    while first > start, byte(first - 1) == escape { first -= 1 }
    return !(at - first).isMultiple(of: 2)
  }
}

/// Buffers for the offsets of separators and for the ends of records. Each buffer has one entry in front of the
/// first.
struct SeparatorOffsets {
  private(set) var room: Int
  private let offsets: UnsafeMutablePointer<UInt32>
  private let counts: UnsafeMutablePointer<UInt32>

  init(room: Int) {
    self.room = room
    // The scanner can write a few entries beyond the end. The end of the text needs one more entry.
    offsets = .allocate(capacity: room + 16)
    counts = .allocate(capacity: room + 16)
    offsets[0] = .max
    counts[0] = 0
  }

  var separators: UnsafeMutablePointer<UInt32> { offsets + 1 }
  var ends: UnsafeMutablePointer<UInt32> { counts + 1 }

  /// Makes room for at least this many separators. Forgets those that it has.
  mutating func grow(to room: Int) {
    guard room > self.room else { return }
    deallocate()
    self = SeparatorOffsets(room: room)
  }

  func deallocate() {
    offsets.deallocate()
    counts.deallocate()
  }
}
