import Tabella

/// Digests of all records of a text: 8 bytes per record.
///
/// A record is *settled* if no bytes that are appended later can change it: it has a line end, and the line end is no CR
/// at the end of the text, which an LF could follow. At most one record is not settled: the open one at the end.
struct RecordDigests {
  /// The digests of the settled records, by number.
  private(set) var settled: [UInt64] = []
  /// The offset after the settled records.
  private(set) var end: Int
  /// The digest of the open record; nil if the text ends with settled records.
  private(set) var open: UInt64?
  /// A digest of the offsets of the settled records. Other line ends change no record, but the offsets of the next ones.
  private(set) var layout: UInt64 = 0

  /// Creates digests of no records. The first one will begin at `start`.
  init(from start: Int) { end = start }

  /// The digest of a record that exists.
  func digest(_ number: Int) -> UInt64 {
    number < settled.count ? settled[number] : open ?? 0
  }

  /// The digest of the first record; nil if there is none.
  var first: UInt64? { count > 0 ? digest(0) : nil }

  /// The number of records.
  var count: Int { settled.count + (open == nil ? 0 : 1) }

  /// Makes the open record unknown again, since its bytes are read again.
  mutating func dropOpen() { open = nil }

  /// Adds the next page of a text. Returns the numbers of its settled records.
  ///
  /// `size` is the size of the text if bytes can be appended to it; otherwise all records are settled.
  mutating func add(_ page: RecordPage, textSize size: Int?) -> Range<Int> {
    var numbers = page.numbers
    if let last = numbers.last, let size, page.end >= size {
      let lineEnd = page.span(of: last).lineEnd
      if lineEnd == .none || lineEnd == .carriageReturn {
        open = digest64(page.bytes(of: last))
        numbers = numbers.dropLast()
      }
    }
    guard !numbers.isEmpty else { return numbers }
    for number in numbers {
      settled.append(digest64(page.bytes(of: number)))
      layout = RecordDigests.layout(layout, page.offset + page.start(of: number))
    }
    end =
      numbers.upperBound < page.numbers.upperBound
      ? page.offset + page.start(of: numbers.upperBound) : page.end
    return numbers
  }

  static func layout(_ layout: UInt64, _ offset: Int) -> UInt64 {
    layout &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(truncatingIfNeeded: offset)
  }
}

extension RecordText {
  /// The size of the text if bytes can be appended to it.
  var extensibleSize: Int? { isExtensible ? file.size : nil }

  /// Reads the records after the settled ones to the end of the text, and takes them into the sections.
  func read(into digests: inout RecordDigests, _ cancel: CancelFlag) throws(TableError) {
    digests.dropOpen()
    let size = extensibleSize
    while true {
      try cancel.check()
      let isFar = (size ?? .max) - digests.end > reader.sizes.first
      guard
        let page = try reader.load(
          digests.settled.count, at: digests.end, isFar ? reader.sizes.next : reader.sizes.first,
          ahead: isFar && size != nil ? reader.sizes.ahead : 0)
      else { break }
      let numbers = digests.add(page, textSize: size)
      take(page, numbers)
      if digests.open != nil {
        mark()
        take(page, numbers.upperBound..<page.numbers.upperBound)
        break
      }
    }
    if digests.open == nil { mark() }
    finish()
  }

  /// The digests of all records. Takes all records into the sections.
  func digests(_ cancel: CancelFlag) throws(TableError) -> RecordDigests {
    reader.forget()
    restart()
    mark()
    var digests = RecordDigests(from: start)
    try read(into: &digests, cancel)
    return digests
  }

  /// The sections from `first` on. The rows in front of the record `record` are left out.
  func sections(
    from first: Int, record: Int = 0, _ digest: (Int) -> UInt64, count: Int
  ) -> [SectionDigests] {
    guard let found = foundSections else {
      return [SectionDigests(firstRow: record, rows: (record..<count).map(digest))]
    }
    return found.dropFirst(first).map { section in
      let skipped = min(max(0, record - section.lines.lowerBound), section.lines.count)
      return SectionDigests(
        title: section.heading.map(digest), firstRow: skipped,
        rows: section.lines.dropFirst(skipped).map(digest))
    }
  }
}
