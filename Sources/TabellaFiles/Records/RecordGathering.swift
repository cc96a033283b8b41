import CTabellaScan
import Tabella

extension RecordReader {
  /// About how many bytes of records one call gathers.
  private static let gatherLimit = 64 << 20
  /// How many bytes a page of gathered records has, more or less.
  private static let pageSize = 256 << 10

  /// Calls `body` with pages and those of their records that have these numbers, in this order, and
  /// returns how many from the front were given: at least one, unless there are none.
  ///
  /// The text is read once from the front to the back, whatever the order. Throws ``TableError`` with
  /// `.notFound` for a number that no record has.
  /// - Complexity: O(bytes of the text) at most for a call, O(n log n).
  public func gather(
    _ numbers: [Int], _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    guard let largest = numbers.max() else { return 0 }
    try index.know(past: largest)
    guard largest < index.known else { throw .noRow(largest, inSection: 0, of: index.known) }
    var count = min(numbers.count, max(1, RecordReader.gatherLimit / index.averageSize))
    while true {
      let gathered = try GatheredRecords(
        Array(numbers[..<count]), self, limit: RecordReader.gatherLimit)
      // Records that are larger than the others: fewer of them.
      if gathered.isComplete || count == 1 {
        return try give(gathered, body)
      }
      count = max(1, min(count / 2, gathered.fitting / 2))
    }
  }

  /// Makes pages of gathered records: a text of their own, in which one follows the other.
  private func give(
    _ gathered: GatheredRecords,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    var given = 0
    var text: [UInt8] = []
    while given < gathered.count {
      let first = given
      text.removeAll(keepingCapacity: true)
      while given < gathered.count, text.count < RecordReader.pageSize, !staysAlone(gathered, given)
      {
        gathered.withBytes(of: given) { text.append(contentsOf: $0) }
        // A CR at the end of a record is its own, unless another one ends the line.
        if text.last == 13 { text.append(13) }
        text.append(10)
        given += 1
      }
      if given > first {
        try givePage(&text, gathered, first..<given, body)
      } else {
        let number = gathered.numbers[given]
        guard let page = try page(with: number) else { break }
        try body(page, number..<number + 1)
        given += 1
      }
    }
    return given
  }

  /// The last record of the text may lack its end, or the end of a quote; a large one needs no page
  /// beside its own.
  private func staysAlone(_ gathered: GatheredRecords, _ place: Int) -> Bool {
    gathered.isLast(place) || gathered.size(of: place) >= RecordReader.pageSize
  }

  private func givePage(
    _ text: inout [UInt8], _ gathered: GatheredRecords, _ records: Range<Int>,
    _ body: (RecordPage, Range<Int>) throws(TableError) -> Void
  ) throws(TableError) {
    let size = text.count
    text.append(contentsOf: repeatElement(0, count: RecordPage.slack))
    let places = SeparatorPlaces(room: size + 512)
    defer { places.deallocate() }
    let numbers = Array(gathered.numbers[records])
    let offsets = Array(gathered.offsets[records])
    let result = text.withUnsafeBytes { text in
      numbers.withUnsafeBufferPointer { numbers in
        offsets.withUnsafeBufferPointer { offsets in
          Result { () throws(TableError) in
            var state = tabella_scan_start()
            let found = tabella_scan_separators(
              text.baseAddress!.assumingMemoryBound(to: UInt8.self), size, rules.scan, &state,
              places.separators, places.ends, places.room)
            guard found.records == records.count else {
              throw TableError(.internal, "gathered records do not part as they did in the text")
            }
            try body(
              RecordPage(
                numbers: 0..<records.count, offset: 0, bytes: text.baseAddress!, filled: size,
                separators: UnsafePointer(places.separators), ends: UnsafePointer(places.ends),
                escape: rules.escape, openEnd: nil,
                origin: RecordPage.Origin(
                  numbers: numbers.baseAddress!, offsets: offsets.baseAddress!)), 0..<records.count)
          }
        }
      }
    }
    try result.get()
  }
}

/// Records copied out of a text, to be given in another order than they stand in it.
private struct GatheredRecords {
  let numbers: [Int]
  /// Where each begins in the text.
  private(set) var offsets: [Int]
  /// Whether all fit the limit.
  private(set) var isComplete = true
  /// How many were copied when the limit was reached.
  private(set) var fitting = 0
  private var bytes: [UInt8] = []
  /// Where each begins and ends in `bytes`.
  private var places: [Range<Int>]
  private var last: Int?

  init(_ numbers: [Int], _ reader: RecordReader, limit: Int) throws(TableError) {
    self.numbers = numbers
    offsets = Array(repeating: 0, count: numbers.count)
    places = Array(repeating: 0..<0, count: numbers.count)
    // As they stand in the text.
    var keys = numbers.map { UInt64($0) }
    var order = (0..<UInt32(truncatingIfNeeded: numbers.count)).map { $0 }
    radixSort(&keys, &order)
    for place in order {
      let place = Int(place)
      guard let page = try reader.page(with: numbers[place]) else {
        throw .noRow(numbers[place], inSection: 0, of: reader.index.known)
      }
      let record = page.bytes(of: numbers[place])
      offsets[place] = page.offset(of: numbers[place])
      places[place] = bytes.count..<bytes.count + record.count
      bytes.append(contentsOf: record)
      fitting += 1
      if bytes.count > 4 * limit, fitting < numbers.count {
        isComplete = false
        return
      }
    }
    last = reader.index.isComplete ? reader.index.known - 1 : nil
  }

  var count: Int { numbers.count }

  func size(of place: Int) -> Int { places[place].count }

  func isLast(_ place: Int) -> Bool { numbers[place] == last }

  func withBytes(of place: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[places[place]])) }
  }
}
