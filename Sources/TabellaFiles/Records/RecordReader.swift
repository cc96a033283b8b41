import CTabellaScan
import Tabella

/// Reads records by number out of a text, a page at a time.
public final class RecordReader {
  /// How much is read at once; smaller only in tests.
  public struct Sizes: Hashable, Sendable {
    /// After a jump.
    public var first = 64 << 10
    /// While going on; a page has no more, but what is stored is read further ahead.
    public var next = 256 << 10
    public var ahead = 1 << 20
    /// How many separators a page has at first; at least 512.
    public var room = 1 << 16
    /// About how many bytes of records are gathered at once.
    public var gathered = 88 << 20
    /// About how many of these one call gives.
    public var given = 2 << 20
    /// How many bytes a page of gathered records has, more or less.
    public var page = 256 << 10

    public init() {}

    /// For a look at the start of a text.
    public static let glance: Sizes = {
      var sizes = Sizes()
      (sizes.first, sizes.next, sizes.ahead) = (16 << 10, 64 << 10, 64 << 10)
      sizes.room = 1 << 14
      return sizes
    }()
  }

  public let index: RecordIndex
  public let rules: RecordRules
  private let source: any ByteSource
  let sizes: Sizes
  private var text: UnsafeMutableRawBufferPointer
  /// Where it begins in the whole text, and how much of it is there.
  private var start = 0
  private var filled = 0
  private var places: SeparatorPlaces
  private var page: RecordPage?
  /// What was gathered and not given yet.
  var gathered: GatheredRecords?
  /// Room for what is gathered next, where that before was: pages that need not be cleared again.
  var spare: GatheredText?
  /// The numbers of what was to be gathered then and did not fit.
  var missing: [Int] = []

  public init(
    _ source: any ByteSource, _ index: RecordIndex, rules: RecordRules, sizes: Sizes = Sizes()
  ) {
    self.source = source
    self.index = index
    self.rules = rules
    self.sizes = sizes
    text = .allocate(byteCount: sizes.first + RecordPage.slack, alignment: 64)
    places = SeparatorPlaces(room: sizes.room)
  }

  deinit {
    text.deallocate()
    places.deallocate()
  }

  /// Makes the index know at least this many records, or all; see ``RecordIndex/know(_:)``.
  ///
  /// Who asks whether there are some asks for them next: so a page of them is read first, and kept.
  public func know(_ minimum: Int) throws(TableError) {
    if index.known < minimum, minimum < .max { _ = try page(with: index.known) }
    try index.know(minimum)
  }

  /// Returns the page with the record of this number; nil if there is none. It is valid until the
  /// next call, and while the reader lives.
  ///
  /// - Complexity: O(page) if it is near or goes on from the page before, else O(bytes up to the
  ///   record) the first time and O(1) later.
  public func page(with number: Int) throws(TableError) -> RecordPage? {
    if let page, page.numbers.contains(number) { return page }
    if let page, page.numbers.upperBound == number {
      return try load(
        number, at: page.end, sizes.next, ahead: source.size == nil ? 0 : sizes.ahead)
    }
    // The first one that is not known yet is read at once: the index need not look for it before.
    if number == index.known, !index.isComplete {
      return try load(number, at: index.frontier, sizes.first)
    }
    if number >= index.known { try index.know(past: number) }
    guard number < index.known else { return nil }
    var position = index.position(before: number)
    // Going on is better than going back.
    if let page, (position.number..<number).contains(page.numbers.upperBound) {
      position = (page.numbers.upperBound, page.end)
    }
    var loaded = try load(position.number, at: position.offset, sizes.first)
    while let page = loaded, page.numbers.upperBound <= number {
      loaded = try load(page.numbers.upperBound, at: page.end, sizes.first)
    }
    return loaded
  }

  /// The ends of records from the front on, for one pass over the text.
  func ends() -> RecordEnds {
    RecordEnds(source, index, rules: rules, window: sizes.ahead, piece: sizes.next)
  }

  /// Returns the number of the record that begins at `offset` of the text; nil if none does.
  public func number(ofRecordAt offset: Int) throws(TableError) -> Int? {
    try index.know(recordsUpTo: offset)
    guard var position = index.position(beforeOffset: offset) else { return nil }
    while let page = try page(with: position.number) {
      if page.end > offset {
        return page.numbers.first { page.offset(of: $0) >= offset }.flatMap {
          page.offset(of: $0) == offset ? $0 : nil
        }
      }
      position = (page.numbers.upperBound, page.end)
    }
    return nil
  }

  /// Returns the number of the record with this id; nil if there is none, or it is another now.
  public func number(ofRecordWithID id: String) throws(TableError) -> Int? {
    guard let offset = id.split(separator: ".").first.flatMap({ Int($0, radix: 16) }),
      let number = try number(ofRecordAt: offset), let page = try page(with: number)
    else { return nil }
    return page.id(of: number) == id ? number : nil
  }

  /// Makes the page whose first record has this number and begins at `offset`.
  func load(
    _ number: Int, at offset: Int, _ size: Int, ahead: Int = 0
  ) throws(TableError) -> RecordPage? {
    page = nil
    var wanted = max(size, 2)
    while true {
      let (bytes, count, isEnd) = try hold(wanted, at: offset, ahead: ahead)
      if count == 0 {
        index.note(number: number, at: offset, isEnd: true)
        return nil
      }
      // A CR at the border may be half of a CRLF.
      let usable = isEnd || bytes[count - 1] != 13 ? count : count - 1
      var state = tabella_scan_start()
      var found = tabella_scan_separators(
        bytes, usable, rules.scan, &state, places.separators, places.ends, places.room)
      let isWhole = isEnd && found.scanned == usable
      if isWhole { closeLast(&found, bytes, count) }
      if found.records > 0 {
        let openEnd: OpenEnd? =
          state.inside != 0 ? .quote : state.plain != 0 ? .escape : nil
        let made = RecordPage(
          numbers: number..<number + found.records, offset: offset, bytes: UnsafeRawPointer(bytes),
          filled: count, separators: UnsafePointer(places.separators),
          ends: UnsafePointer(places.ends), escape: rules.escape,
          quotedLineEnds: Int(state.lines), openEnd: isWhole ? openEnd : nil, reading: rules.reading
        )
        index.note(
          number: made.numbers.upperBound, at: made.end,
          isEnd: isWhole && made.end == offset + count)
        page = made
        return made
      }
      if found.scanned < usable {
        places.grow()
      } else {
        guard count < Int(Int32.max) else { throw rules.tooLarge(number, at: offset) }
        wanted = min(2 * max(wanted, count), Int(Int32.max))
      }
    }
  }

  /// Ends the last record of the text where the text ends, if nothing else does.
  private func closeLast(
    _ found: inout tabella_scan_found, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int
  ) {
    let lastEnd =
      found.records > 0 ? Int(places.separators[Int(places.ends[found.records - 1]) - 1]) + 1 : 0
    guard lastEnd < count else { return }
    // What stands there must not look like the second half of a CRLF.
    bytes[count] = 0
    places.separators[found.separators] = UInt32(count)
    found.separators += 1
    places.ends[found.records] = UInt32(found.separators)
    found.records += 1
  }

  /// Makes sure that up to `wanted` bytes from `offset` on are there, and reads `ahead` if it has to
  /// read. Returns where they are, how many, and whether the text ends with them.
  private func hold(
    _ wanted: Int, at offset: Int, ahead: Int
  ) throws(TableError) -> (UnsafeMutablePointer<UInt8>, count: Int, isEnd: Bool) {
    if offset < start || offset > start + filled { (start, filled) = (offset, 0) }
    if start + filled - offset < wanted, start + filled != source.size {
      // What is there already goes to the front.
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
      filled += try source.fill(
        UnsafeMutableRawBufferPointer(rebasing: text[filled..<larger]), at: offset + filled)
    }
    let bytes = (text.baseAddress! + (offset - start)).assumingMemoryBound(to: UInt8.self)
    let there = start + filled - offset
    let isEnd = there < wanted || (there == wanted && start + filled == source.size)
    return (bytes, min(there, wanted), isEnd)
  }
}

/// Some records that lie together, with the places of their separators.
///
/// The pointers belong to the reader that gave it; see ``RecordReader/page(with:)``. Records are named
/// by their numbers; fields by their place among all fields of the page, see ``fields(of:)``.
public struct RecordPage {
  /// How many bytes behind ``bytes`` may be read, though they mean nothing.
  public static let slack = Int(TABELLA_SCAN_SLACK)

  /// The numbers of the records.
  public let numbers: Range<Int>
  /// Where ``bytes`` begin in the text.
  public let offset: Int
  /// The text, which begins with the first record.
  public let bytes: UnsafeRawPointer
  let filled: Int
  let separators: UnsafePointer<UInt32>
  let ends: UnsafePointer<UInt32>
  let escape: UInt8?
  /// The number of line ends within quotes, at least: those of a record behind the page may count too.
  public let quotedLineEnds: Int
  /// What the last record ends in the middle of, with the text.
  public let openEnd: OpenEnd?
  let reading: UInt64
  /// Where the records come from, if they were gathered: then ``numbers`` count from 0.
  var origin: Origin?

  struct Origin {
    let numbers: UnsafePointer<Int>
    let offsets: UnsafePointer<Int>?
  }

  /// Where the text goes on behind the last record.
  public var end: Int {
    min(offset + filled, offset + Int(separators[Int(ends[numbers.count - 1]) - 1]) + 1)
  }

  /// The fields of a record.
  @inline(__always)
  public func fields(of number: Int) -> Range<Int> {
    // There is a place before the first, for this; and all of it is known to hold, so nothing is checked.
    let at = number &- numbers.lowerBound
    return Range(uncheckedBounds: (Int(ends[at &- 1]), Int(ends[at])))
  }

  /// Where a field begins, counted in ``bytes``.
  @inline(__always)
  public func start(ofField field: Int) -> Int {
    // Here too.
    Int(separators[field &- 1] &+ 1)
  }

  /// Where a field ends that is not the last of its record.
  @inline(__always)
  public func end(ofField field: Int) -> Int { Int(separators[field]) }

  /// Where the last field of a record, and so the record, ends: before its LF, CRLF or CR.
  @inline(__always)
  public func end(ofLastField field: Int) -> Int {
    let end = Int(separators[field])
    guard byte(end) == 10 else { return end }
    let start = start(ofField: field)
    guard end > start, byte(end &- 1) == 13 else { return end }
    return isEscaped(end &- 1, from: start) ? end : end &- 1
  }

  /// Where a record begins, counted in ``bytes``.
  public func start(of number: Int) -> Int { start(ofField: fields(of: number).lowerBound) }

  /// Where a record ends, counted in ``bytes``.
  public func end(of number: Int) -> Int { end(ofLastField: fields(of: number).upperBound - 1) }

  /// Where a record begins in the text; of gathered ones, only if that was asked for.
  public func offset(of number: Int) -> Int {
    guard let origin else { return offset + start(of: number) }
    guard let offsets = origin.offsets else { preconditionFailure("gathered without offsets") }
    return offsets[number]
  }

  /// The number that a record has in the text.
  public func textNumber(of number: Int) -> Int { origin.map { $0.numbers[number] } ?? number }

  /// A record's bytes, without its line end.
  public func bytes(of number: Int) -> UnsafeRawBufferPointer {
    let start = start(of: number)
    return UnsafeRawBufferPointer(start: bytes + start, count: end(of: number) - start)
  }

  /// An id for a record that holds as long as nothing before it and nothing in it changes: where it
  /// begins in the text and a digest of it, in hexadecimal. In another reading of the file it is another.
  public func id(of number: Int) -> String {
    let digest = digest64(bytes(of: number)) ^ reading
    return "\(String(offset(of: number), radix: 16)).\(String(digest, radix: 16))"
  }

  private func byte(_ at: Int) -> UInt8 { bytes.load(fromByteOffset: at, as: UInt8.self) }

  private func isEscaped(_ at: Int, from start: Int) -> Bool {
    guard let escape else { return false }
    var first = at
    while first > start, byte(first - 1) == escape { first -= 1 }
    return !(at - first).isMultiple(of: 2)
  }
}

/// Room for the places of separators and the ends of records, with one before the first of each: what a
/// field follows, and a record.
struct SeparatorPlaces {
  private(set) var room: Int
  private let places: UnsafeMutablePointer<UInt32>
  private let counts: UnsafeMutablePointer<UInt32>

  init(room: Int) {
    self.room = room
    // The kernel may write some beyond, and the end of the text is one more.
    places = .allocate(capacity: room + 16)
    counts = .allocate(capacity: room + 16)
    places[0] = .max
    counts[0] = 0
  }

  var separators: UnsafeMutablePointer<UInt32> { places + 1 }
  var ends: UnsafeMutablePointer<UInt32> { counts + 1 }

  mutating func grow() {
    let larger = SeparatorPlaces(room: room * 2)
    deallocate()
    self = larger
  }

  func deallocate() {
    places.deallocate()
    counts.deallocate()
  }
}
