import CTabellaScan
import Tabella

/// Reads a text again, a part at a time, and compares it with the digests of its records.
///
/// A file that has grown can have been edited elsewhere, too. The check finds such an edit.
struct DigestCheck {
  /// The number of bytes that one step reads.
  private static let step = 4 << 20

  private let reader: RecordReader
  private var number = 0
  private var offset: Int
  private var layout: UInt64 = 0

  /// Creates a check of an extensible text from its start on.
  init(of text: some RecordText) {
    let (bytes, rules) = (text.file, text.reader.rules)
    reader = RecordReader(bytes, RecordIndex(bytes, from: text.start, rules: rules), rules: rules)
    offset = text.start
  }

  /// Whether the text still has the records of the digests; nil if more steps are necessary.
  mutating func isSame(
    as digests: RecordDigests, textSize: Int, _ cancel: CancelFlag
  ) throws(TableError) -> Bool? {
    let limit = offset + DigestCheck.step
    while offset < limit {
      try cancel.check()
      guard
        let page = try reader.load(
          number, at: offset, reader.sizes.next, ahead: reader.sizes.ahead)
      else { return isWhole(digests) && offset == digests.end }
      guard matches(page, digests) else { return false }
      (number, offset) = (page.numbers.upperBound, page.end)
      if page.end >= textSize { return isWhole(digests) }
    }
    return nil
  }

  private func isWhole(_ digests: RecordDigests) -> Bool {
    number == digests.count && layout == digests.layout
  }

  private mutating func matches(_ page: RecordPage, _ digests: RecordDigests) -> Bool {
    guard page.numbers.upperBound <= digests.count else { return false }
    for number in page.numbers {
      let digest = digest64(page.bytes(of: number))
      let start = page.offset + page.start(of: number)
      guard number < digests.settled.count else {
        if digest != digests.open || start != digests.end { return false }
        continue
      }
      if digest != digests.settled[number] { return false }
      layout = RecordDigests.layout(layout, start)
    }
    return true
  }
}

/// Finds the end of the last record that has ended in a growing file. Each byte is scanned once.
struct RecordFrontier {
  /// The offset after the last ended record.
  private(set) var end: Int
  private var scanned: Int
  private var state = tabella_scan_start()

  /// Begins at the start of a record.
  init(at offset: Int) { (end, scanned) = (offset, offset) }

  /// Scans on to the end of the bytes. A final CR waits for the next byte, which can be an LF.
  mutating func advance(
    _ bytes: any ByteSource, size: Int, _ rules: RecordRules, _ cancel: CancelFlag
  ) throws(TableError) {
    guard scanned < size else { return }
    let block = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(2, min(size - scanned, 1 << 18)), alignment: 64)
    defer { block.deallocate() }
    while scanned < size {
      try cancel.check()
      var count = try bytes.fill(block, at: scanned)
      if count > 0, block[count - 1] == 13 { count -= 1 }
      guard count > 0, let base = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
        return
      }
      var last = 0
      if tabella_scan_count(base, count, rules.scan, &state, &last) > 0 { end = scanned + last + 1 }
      scanned += count
    }
  }
}
