import Glibc
import Tabella

/// Copies of found records that lie far apart, so that many of them are divided into cells at once.
///
/// Every column of a page costs some time, even if the page has only one found record.
struct CopiedRecords: ~Copyable {
  private let rules: RecordRules
  /// The sizes of the buffers: the bytes of the records, and the separators in them.
  private let room: (bytes: Int, separators: Int)
  private let text: UnsafeMutableRawBufferPointer
  private let separatorOffsets: SeparatorOffsets
  private var size = 0
  private var separatorCount = 0
  /// The number of each record, and its offset in the text.
  private var numbers: [Int] = []
  private var offsets: [Int] = []
  private var mostQuotedLineEnds = 0
  private var hasLooseQuotes = false
  private var hasStrayQuotes = false

  /// Creates buffers for this number of bytes.
  init(_ size: Int, _ rules: RecordRules) {
    self.rules = rules
    room = (size, max(size / 4, 1))
    text = .allocate(byteCount: size + RecordPage.slack, alignment: 64)
    separatorOffsets = SeparatorOffsets(room: room.separators)
  }

  deinit {
    text.deallocate()
    separatorOffsets.deallocate()
  }

  var count: Int { numbers.count }

  /// Whether the buffers are empty enough for the records of most pages.
  var hasRoom: Bool {
    size <= room.bytes / 2 && separatorCount <= room.separators / 2
  }

  /// Whether there is room for some runs of records of a page. Records after an open quote are not copied, because only
  /// their page tells that they are open.
  func fits(_ runs: [Range<Int>], of page: RecordPage) -> Bool {
    if page.openEnd != nil { return false }
    var (size, separatorCount) = (size, separatorCount)
    for run in runs {
      size += page.extent(of: run).count
      separatorCount += page.fields(of: run).count
    }
    return size <= room.bytes && separatorCount <= room.separators
  }

  /// Copies records, for which there must be room.
  mutating func add(_ records: Range<Int>, of page: RecordPage) {
    let extent = page.extent(of: records)
    memcpy(text.baseAddress! + size, page.bytes + extent.lowerBound, extent.count)
    // Separators keep their places within the records.
    let fields = page.fields(of: records)
    let moved = UInt32(truncatingIfNeeded: size &- extent.lowerBound)
    let separators = separatorOffsets.separators + separatorCount
    for field in 0..<fields.count {
      separators[field] = page.separators[fields.lowerBound &+ field] &+ moved
    }
    let ends = separatorOffsets.ends + numbers.count
    for (index, record) in records.enumerated() {
      ends[index] = UInt32(
        truncatingIfNeeded: separatorCount + page.fields(of: record).upperBound - fields.lowerBound)
      numbers.append(page.textNumber(of: record))
      offsets.append(page.offset(of: record))
    }
    size += extent.count
    separatorCount += fields.count
    mostQuotedLineEnds = max(mostQuotedLineEnds, page.mostQuotedLineEnds)
    hasLooseQuotes = hasLooseQuotes || page.hasLooseQuotes
    hasStrayQuotes = hasStrayQuotes || page.hasStrayQuotes
  }

  /// Calls `body` with a page of all copies, and forgets them. Returns the number of the first record that `body` did
  /// not take; nil if it took all.
  mutating func give(
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Int
  ) throws(TableError) -> Int? {
    guard count > 0 else { return nil }
    let taken = try RecordPage.Origin.with(numbers[...], offsets[...]) {
      origin throws(TableError) in
      try body(
        RecordPage(
          numbers: 0..<count, offset: 0, bytes: UnsafeRawPointer(text.baseAddress!), filled: size,
          separators: UnsafePointer(separatorOffsets.separators),
          ends: UnsafePointer(separatorOffsets.ends), escape: rules.escape,
          mostQuotedLineEnds: mostQuotedLineEnds, hasLooseQuotes: hasLooseQuotes,
          hasStrayQuotes: hasStrayQuotes, openEnd: nil, reading: rules.reading, origin: origin),
        0..<count)
    }
    let rest = taken < count ? numbers[taken] : nil
    numbers.removeAll(keepingCapacity: true)
    offsets.removeAll(keepingCapacity: true)
    (size, separatorCount, mostQuotedLineEnds) = (0, 0, 0)
    (hasLooseQuotes, hasStrayQuotes) = (false, false)
    return rest
  }
}

extension RecordPage {
  /// The fields of consecutive records.
  fileprivate func fields(of records: Range<Int>) -> Range<Int> {
    let first = records.lowerBound - numbers.lowerBound
    return Int(ends[first - 1])..<Int(ends[first + records.count - 1])
  }

  /// The range of consecutive records in ``bytes``, with the last separator.
  fileprivate func extent(of records: Range<Int>) -> Range<Int> {
    let fields = fields(of: records)
    return start(ofField: fields.lowerBound)..<Int(separators[fields.upperBound - 1]) + 1
  }
}
