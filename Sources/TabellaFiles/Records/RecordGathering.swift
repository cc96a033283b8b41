import Tabella

extension RecordReader {
  /// Calls `body` with pages that contain the records of these numbers, in this order.
  ///
  /// Returns the number of records that were provided, counted from the front. It is at least 1 unless `numbers` is
  /// empty. The text is read once for as many records as fit into memory, whatever their order: threads read a part each.
  /// Records that were read but not provided stay in memory for the next request. If some records did not fit, a
  /// request for the first of them reads all of them. Pages contain the offsets of their records only if
  /// `withOffsets` is true. Throws ``TableError`` with `.notFound` for a number without a record.
  /// - Complexity: O(bytes of the text) at most per call, O(n).
  public func gather(
    _ numbers: [Int], withOffsets: Bool,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    guard !numbers.isEmpty else { return 0 }
    let (gathered, count) = try gathered(numbers, withOffsets: withOffsets)
    return try give(gathered, count, body)
  }

  /// Returns records whose next ones have these numbers, and how many of the numbers they begin with. `numbers` is not
  /// empty.
  func gathered(
    _ numbers: [Int], withOffsets: Bool
  ) throws(TableError) -> (GatheredRecords, count: Int) {
    let largest = numbers.max() ?? 0
    try index.know(past: largest)
    guard largest < index.known else { throw .noRow(largest, inSection: 0, of: index.known) }
    let kept = gathered
    gathered = nil
    if let kept, kept.offsets != nil || !withOffsets,
      let count = kept.rest(startingWith: numbers)
    {
      return (kept, count)
    }
    let wanted = missing.starts(with: numbers) ? missing : numbers
    missing = []
    var count = min(wanted.count, mostGathered)
    while true {
      let gathered = try GatheredRecords(
        count == wanted.count ? wanted : Array(wanted[..<count]), withOffsets: withOffsets, self,
        limit: sizes.gathered)
      // Records are larger than the average, so fewer of them fit.
      if gathered.isComplete || count == 1 {
        missing = Array(wanted[count...])
        return (gathered, min(count, numbers.count))
      }
      count = max(1, min(count / 2, gathered.fitting / 2))
    }
  }

  /// The number of records of average size that are gathered at once.
  var mostGathered: Int {
    max(1, sizes.gathered / (index.averageSize + GatheredRecords.memoryPerRecord))
  }

  /// Notes that gathered records were provided up to one of them.
  func noteGiven(_ gathered: GatheredRecords, upTo end: Int) {
    if end < gathered.count {
      self.gathered = gathered
      self.gathered?.given = end
    } else {
      self.gathered = nil
      // Small buffers are quickly made, and thousands of texts would keep them.
      guard gathered.texts.reduce(0, { $0 + $1.count }) >= 1 << 20 else { return }
      spare = gathered.texts
      for text in spare { text.clear() }
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
    let most = min(2 * sizes.page, gathered.texts.reduce(2 * gathered.count) { $0 + $1.count })
    let text = UnsafeMutableRawBufferPointer.allocate(
      byteCount: most + RecordPage.slack, alignment: 64)
    defer { text.deallocate() }
    while given < end, size < sizes.given {
      let first = given
      var filled = 0
      while given < end, filled < sizes.page, !staysAlone(gathered, given) {
        filled += gathered.write(given, to: text.baseAddress! + filled)
        given += 1
      }
      if given > first {
        let separatorOffsets = SeparatorOffsets(room: filled + 512)
        defer { separatorOffsets.deallocate() }
        try gathered.withPage(
          of: first..<given, text.baseAddress!, filled, rules, separatorOffsets, body)
      } else {
        let number = gathered.numbers[given]
        guard let page = try page(with: number) else { break }
        try body(page, number..<number + 1)
        given += 1
      }
      size += filled + gathered.size(of: first)
    }
    noteGiven(gathered, upTo: given)
    return given - start
  }

  /// Whether a record needs its own page: a large one, which would fill a page alone, and an open one.
  func staysAlone(_ gathered: GatheredRecords, _ place: Int) -> Bool {
    gathered.isOpen(place) || gathered.size(of: place) + 2 >= sizes.page
  }
}

extension RecordPage.Origin {
  /// Calls `body` with the origin of records with these numbers and, if known, these offsets in the text.
  static func with<Result>(
    _ numbers: ArraySlice<Int>, _ offsets: ArraySlice<Int>?,
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
