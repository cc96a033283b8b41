import CTabellaScan
import Tabella

extension RecordReader {
  /// The number of bytes that one call examines from an offset on. Then its caller can report progress, or let threads
  /// share the rest, so the first call examines less. One call examines a whole share.
  private func searchedSize(at offset: Int) -> Int {
    if isShare { return source.size ?? .max }
    return offset < sizes.ahead * 4 ? sizes.ahead * 4 : sizes.ahead * 8
  }
  /// The number of bytes in the buffer that are searched before more are read. Reading moves them.
  /// Several records probably end in them.
  private var leastWindow: Int {
    max(1, sizes.ahead / 16, min(2 * index.averageSize, sizes.ahead))
  }
  /// The smallest and the largest page around a hit. Pages grow while they have several found records.
  private var pageSizes: ClosedRange<Int> {
    min(sizes.next, max(sizes.next / 1024, 2 * index.averageSize))...sizes.next
  }

  /// Calls `body` with runs of at most `most` records from `first` on that may contain the terms of a finder. Returns the
  /// number of the first record that was not examined; that is `first` only if there is no such record.
  ///
  /// `body` returns the number of records that it took. If these are not all, the search ends. The search also ends
  /// when the runs had `size` bytes, after a large amount of text, and where the rest of a stream must arrive first. The
  /// pages can consist of copies, so ``RecordPage/textNumber(of:)`` tells the numbers of records.
  /// - Complexity: O(bytes). Records without hits are only counted.
  package func search(
    from first: Int, upTo most: Int, size limit: Int = .max, _ finder: RecordFinder,
    _ cancel: CancelFlag,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Int
  ) throws(TableError) -> Int {
    var next = first
    var left = most
    var given = 0
    var copies = CopiedRecords(sizes.copied, rules)
    var size = pageSizes.lowerBound
    // Several terms are compared in the first page. Otherwise a page is only necessary where a record has a hit.
    let skips =
      finder.isOrdered && source.size != nil && first == index.known && !index.isComplete
    var found = skips ? nil : try page(with: first)
    guard let begin = skips ? index.frontier : found?.offset else { return first }
    let end = begin.advancedUp(by: searchedSize(at: begin))
    if skips { found = try nextPage(after: &next, at: begin, until: end, finder, size) }
    while let page = found {
      var runs = finder.runs(in: page, from: next)
      let isDirect = !copies.fits(runs, of: page)
      if isDirect, copies.count > 0 {
        if let rest = try copies.give(body) { return rest }
        // A note about a copied record can have replaced the page.
        found = try self.page(with: next)
        continue
      }
      let foundCount = runs.reduce(0) { $0 + $1.count }
      if foundCount > left { runs = runs.firstNumbers(left) }
      for run in runs {
        if isDirect {
          let taken = try body(page, run)
          if taken < run.count { return run.lowerBound + taken }
        } else {
          copies.add(run, of: page)
        }
        left -= run.count
        given += page.bytes(of: run).count
      }
      next = left > 0 ? page.numbers.upperBound : runs.last?.upperBound ?? next
      let offset = page.end
      try cancel.check()
      if left == 0 || given >= limit || offset >= end { break }
      if !copies.hasRoom, let rest = try copies.give(body) { return rest }
      guard source.size != nil else {
        found = try self.page(with: next, waits: false)
        continue
      }
      size = foundCount > 1 ? size * 2 : size / 2
      size = min(max(size, pageSizes.lowerBound), pageSizes.upperBound)
      found = try nextPage(after: &next, at: offset, until: end, finder, size)
    }
    return try copies.give(body) ?? next
  }

  /// Skips records without hits from the record `next` on, which begins at `offset`. Returns the page with the first
  /// record that may have a hit; nil if there is none in front of the offset `end`. `next` becomes that record.
  private func nextPage(
    after next: inout Int, at offset: Int, until end: Int, _ finder: RecordFinder, _ size: Int
  ) throws(TableError) -> RecordPage? {
    var offset = offset
    while offset < end {
      let skip = try skip((next, offset), finder)
      (next, offset) = (skip.number, skip.offset)
      switch skip.stop {
      case .hit: return try load(next, at: offset, size)
      case .unclear: return try load(next, at: offset, sizes.next)
      case .end: return nil
      case .window: continue
      }
    }
    return nil
  }

  /// The records that one read shows to have no hits.
  private struct Skip {
    /// The record after them and its offset.
    var number: Int
    var offset: Int
    var stop: Stop

    enum Stop {
      /// The record has a hit.
      case hit
      /// Only a page shows whether the record has a hit.
      case unclear
      case window, end
    }
  }

  /// The number of bytes to search next from an offset on.
  private func windowSize(at offset: Int) -> Int {
    let held = heldEnd - offset
    return held >= leastWindow ? min(held, sizes.ahead) : sizes.ahead
  }

  /// Reads a window of the text that begins with a record, and counts the records in front of the first hit.
  ///
  /// The window grows until a record ends in it.
  private func skip(
    _ start: (number: Int, offset: Int), _ finder: RecordFinder
  ) throws(TableError) -> Skip {
    var size = windowSize(at: start.offset)
    while true {
      let skip = try skip(start, size, finder)
      guard skip.stop == .window, skip.offset == start.offset else { return skip }
      guard size < Int(Int32.max) else { throw rules.tooLarge(start.number, at: start.offset) }
      size = max(sizes.ahead, min(2 * size, Int(Int32.max)))
    }
  }

  /// Counts the records of a window of `size` bytes in front of the first hit.
  private func skip(
    _ start: (number: Int, offset: Int), _ size: Int, _ finder: RecordFinder
  ) throws(TableError) -> Skip {
    guard
      let (bytes, count, isEnd) = try hold(
        size, at: start.offset, ahead: sizes.ahead, Need(waits: true)),
      count > 0
    else {
      index.note(number: start.number, at: start.offset, isEnd: true)
      return Skip(number: start.number, offset: start.offset, stop: .end)
    }
    let hit = finder.first(in: UnsafeRawBufferPointer(start: bytes, count: count))
    // A CR at the end of the window can be half of a CRLF. No hit begins with an LF.
    let isSplit = hit == count && !isEnd && bytes[count - 1] == 13
    var state = tabella_scan_start()
    var last = 0
    let ended = tabella_scan_skip(bytes, isSplit ? hit - 1 : hit, rules.scan, &state, &last)
    if state.loose != 0 { return Skip(number: start.number, offset: start.offset, stop: .unclear) }
    let begin = ended > 0 ? last + 1 : 0
    var skip = Skip(
      number: start.number + ended, offset: start.offset + begin,
      stop: hit < count ? .hit : isEnd ? .end : .window)
    // A text need not end with a line end.
    if skip.stop == .end, begin < count {
      if state.inside != 0 { return Skip(number: skip.number, offset: skip.offset, stop: .unclear) }
      index.endsOpen = true
      skip = Skip(number: skip.number + 1, offset: start.offset + count, stop: .end)
    }
    index.note(number: skip.number, at: skip.offset, isEnd: skip.stop == .end)
    return skip
  }
}

extension [Range<Int>] {
  /// The first numbers of the ranges, at most `count`.
  fileprivate func firstNumbers(_ count: Int) -> [Range<Int>] {
    var left = count
    return compactMap { range in
      let some = range.prefix(left)
      left -= some.count
      return some.isEmpty ? nil : some
    }
  }
}
