import CTabellaScan
import Tabella
import TabellaSystem
import TabellaThreads

/// An index of the records of a text. It holds a position about every 32 KiB, and grows as the text is read.
///
/// Short distances are scanned on the calling thread. Long distances are split into segments and scanned on all
/// cores. A segment must know whether it begins inside quotes. Each segment therefore begins after a line feed, and
/// guesses which of the two states fits the following text better. When the previous segments are done, the guess
/// is checked. A segment with a wrong guess is scanned again.
///
/// Memory: at most 65,536 positions of 16 bytes. Beyond 2 GiB the positions are farther apart.
public final class RecordIndex {
  /// The sizes of reads and segments. Only tests use smaller ones, to find faults at the borders.
  public struct Cuts: Hashable, Sendable {
    /// The size of one read in bytes, if the requested record can be near or the text is short.
    public var near = 256 << 10
    /// The size of one read in bytes, if the requested record is far away.
    ///
    /// The kernel copies one MiB faster than four quarters of a MiB. Fresh memory costs a page fault per 4 KiB, so such
    /// reads pay off only in texts of many blocks.
    public var block = 1 << 20
    /// The distance in bytes between two stored positions.
    public var spacing = 32 << 10
    /// The maximum number of bytes that a thread scans before its result is merged.
    public var segment = 16 << 20
    /// The minimum number of bytes that are worth a thread.
    public var leastSegment = 4 << 20
    /// The maximum number of bytes in which a segment searches for the line feed at its start.
    public var sample = 64 << 10
    /// The maximum number of stored positions.
    public var positions = 1 << 16
    /// The number of threads.
    public var threads = Cores.count

    /// Creates the default sizes.
    public init() {}
  }

  /// The number of records that are known to exist.
  public private(set) var known = 0
  /// Whether ``known`` is the total number.
  public private(set) var isComplete = false
  /// Whether the text was found to end without a line end, or within quotes.
  package internal(set) var endsOpen = false

  private let source: any ByteSource
  private let rules: RecordRules
  private let cuts: Cuts
  private let cancel: CancelFlag
  /// The stored positions: the number and the offset of a record.
  private var numbers: [Int]
  private var offsets: [Int]
  private var spacing: Int
  /// The record from which the text was last reopened. Records after it are found without the bytes in front of it, which
  /// can have changed.
  private var reopened: (number: Int, offset: Int)?
  /// The offset of the record with the number ``known``, if it exists.
  private(set) var frontier: Int
  /// The end of the scanned text, and the state in which the scan continues there.
  private var tip: ScanStart

  /// Creates an index of the records from `start` on. Reads nothing yet.
  public init(
    _ source: any ByteSource, from start: Int, rules: RecordRules,
    cancel: CancelFlag = CancelFlag(),
    cuts: Cuts = Cuts()
  ) {
    self.source = source
    self.rules = rules
    self.cuts = cuts
    self.cancel = cancel
    numbers = [0]
    offsets = [start]
    spacing = cuts.spacing
    frontier = start
    tip = ScanStart(offset: start)
  }

  /// Scans until ``known`` is at least `minimum`, or complete.
  ///
  /// Throws ``TableError`` with `.cancelled`, and the errors of the source.
  public func know(_ minimum: Int) throws(TableError) {
    try grow { known >= minimum }
  }

  /// Scans until ``known`` includes the record `number`, or is complete.
  func know(past number: Int) throws(TableError) {
    try know(number == .max ? .max : number + 1)
  }

  /// The average size of the known records in bytes; at least 1.
  var averageSize: Int { max(1, (frontier - offsets[0]) / max(1, known)) }

  /// Scans until ``known`` includes every record that begins at or in front of `offset`.
  func know(recordsUpTo offset: Int) throws(TableError) {
    try grow { frontier > offset }
  }

  /// The last stored position at or in front of a record.
  func position(before number: Int) -> (number: Int, offset: Int) {
    let index = lastIndex(in: numbers, notAbove: number)
    if let reopened, numbers[index]...number ~= reopened.number { return reopened }
    return (numbers[index], offsets[index])
  }

  /// The offset of the first stored position behind a record; nil if there is none.
  func offset(behind number: Int) -> Int? {
    let next = lastIndex(in: numbers, notAbove: number) + 1
    return next < offsets.count ? offsets[next] : nil
  }

  /// The last stored position at or in front of an offset; nil if the offset is in front of all records.
  func position(beforeOffset offset: Int) -> (number: Int, offset: Int)? {
    guard offset >= offsets[0] else { return nil }
    let index = lastIndex(in: offsets, notAbove: offset)
    if let reopened, offsets[index]...offset ~= reopened.offset { return reopened }
    return (numbers[index], offsets[index])
  }

  /// Records the position of a reader: the record `number` begins at `offset`. If `isEnd` is true, the text ends
  /// there.
  func note(number: Int, at offset: Int, isEnd: Bool) {
    if number > known {
      known = number
      frontier = offset
      if offset > tip.offset { tip = ScanStart(offset: offset) }
      keep(number, offset)
    }
    if isEnd, number == known { isComplete = true }
  }

  /// Forgets the records from `number` on, and the end of the text. That record begins at `offset`.
  ///
  /// The text has changed only from there on.
  package func reopen(at number: Int, offset: Int) {
    isComplete = false
    guard known >= number else { return }
    reopened = (number, offset)
    while numbers[numbers.count - 1] > number {
      numbers.removeLast()
      offsets.removeLast()
    }
    (known, frontier) = (number, offset)
    tip = ScanStart(offset: offset)
  }

  /// Adds the records of another index, which knows all records of its text. Its first record is the record `number` here,
  /// which is known, or the next one.
  func append(_ other: RecordIndex, from number: Int) {
    guard number <= known, number + other.known > known else { return }
    for (next, offset) in zip(other.numbers, other.offsets) where number + next >= known {
      keep(number + next, offset)
    }
    known = number + other.known
    frontier = other.frontier
    if frontier > tip.offset { tip = ScanStart(offset: frontier) }
  }

  private func keep(_ number: Int, _ offset: Int) {
    guard offset - offsets[offsets.count - 1] >= spacing else { return }
    numbers.append(number)
    offsets.append(offset)
    if numbers.count >= cuts.positions { thin() }
  }

  /// Removes every second position.
  private func thin() {
    numbers = numbers.indices.filter { $0.isMultiple(of: 2) }.map { numbers[$0] }
    offsets = offsets.indices.filter { $0.isMultiple(of: 2) }.map { offsets[$0] }
    spacing *= 2
  }

  private func lastIndex(in values: [Int], notAbove limit: Int) -> Int {
    max(0, values.partitioningIndex { $0 > limit } - 1)
  }

  // Growing.

  private func grow(until isEnough: () -> Bool) throws(TableError) {
    var steps = 0
    // One scan leaves its memory to the next.
    let blocks = Pool<UnsafeMutableRawBufferPointer>(free: { $0.deallocate() })
    while !isEnough(), !isComplete {
      try cancel.check()
      // The requested record can be near. Only a long distance is worth threads.
      let isFar = steps >= 4
      let isDone = isFar ? try growInParallel(blocks, until: isEnough) : false
      if !isDone {
        let step = isFar ? cuts.block : cuts.near
        append(try Scan(from: tip, to: tip.offset + step, self, blocks))
      }
      steps += 1
    }
  }

  /// Scans segments on all cores until it is enough. Returns false if the remaining text is too short.
  private func growInParallel(
    _ blocks: Pool<UnsafeMutableRawBufferPointer>, until isEnough: () -> Bool
  ) throws(TableError) -> Bool {
    guard let size = source.size, cuts.threads > 1 else { return false }
    let first = tip
    let rest = size - first.offset
    guard rest >= 2 * cuts.leastSegment else { return false }
    // The last segments rarely end at the same time. So each thread gets several.
    let length = max(cuts.leastSegment, min(cuts.segment, rest / (4 * cuts.threads)))
    let count = (rest + length - 1) / length
    // Without a line feed nearby, the previous segment continues.
    func border(_ number: Int) throws(TableError) -> ScanStart? {
      number == 0 ? first : try segmentStart(near: first.offset + number * length)
    }
    func segment(_ number: Int) throws(TableError) -> Scan? {
      guard let start = try border(number) else { return nil }
      var end = size
      for next in number + 1..<count {
        guard let next = try border(next) else { continue }
        end = next.offset
        break
      }
      return try Scan(from: start, to: end, self, blocks)
    }
    var failure: TableError?
    produceInOrder(count, threads: cuts.threads, ahead: 4 * cuts.threads) { number in
      Result { () throws(TableError) in try segment(number) }
    } consume: { _, segment in
      do throws(TableError) {
        guard var scan = try segment.get() else { return .all }
        // If the text has become shorter, the scan in front of this one ended early.
        guard scan.start.offset == tip.offset else { return .none }
        if scan.start.state.inside != tip.state.inside {
          scan = try Scan(from: tip, to: scan.limit, self, blocks)
        }
        append(scan)
      } catch {
        failure = error
        return .none
      }
      return isEnough() ? .started : .all
    }
    if let failure { throw failure }
    return true
  }

  /// The place at which a scan begins, and its state there.
  private struct ScanStart {
    var offset: Int
    var state = tabella_scan_start()
  }

  /// The offset after the first line feed from `offset` on, with the more plausible state.
  private func segmentStart(near offset: Int) throws(TableError) -> ScanStart? {
    let sample = try source.bytes(at: offset - 1, count: cuts.sample)
    return sample.withUnsafeBytes {
      segmentStart(in: $0, at: offset, isEnd: sample.count < cuts.sample)?.start
    }
  }

  /// The offset of the first record.
  var start: Int { offsets[0] }

  /// The offset of a record that probably begins within `most` bytes after `offset`; nil if there is none. Reads `count`
  /// bytes at a time.
  func likelyRecord(
    after offset: Int, within most: Int, readingBy count: Int
  ) throws(TableError) -> Int? {
    var start = offset
    // A sample has one byte in front of `start`.
    while start < offset + most - 1 {
      let sample = try source.bytes(at: start - 1, count: count)
      let isEnd = sample.count < count
      let record = sample.withUnsafeBytes { likelyRecord(in: $0, after: start, isEnd: isEnd) }
      if record != nil || isEnd { return record }
      // The last byte can be an escape of the next one.
      start += count - 1
    }
    return nil
  }

  /// The offset of a record that probably begins in a sample, which begins in front of `offset`. `isEnd` says whether the
  /// text ends with the sample.
  private func likelyRecord(
    in sample: UnsafeRawBufferPointer, after offset: Int, isEnd: Bool
  ) -> Int? {
    guard let (start, rest) = segmentStart(in: sample, at: offset, isEnd: isEnd) else { return nil }
    guard start.state.inside != 0 else { return start.offset }
    // A record begins after the first line feed outside quotes. An estimate in small steps keeps the border near.
    var (state, last, at) = (start.state, 0, 0)
    while at < rest.count {
      let step = UnsafeRawBufferPointer(rebasing: rest[at..<min(at + 1 << 10, rest.count)])
      let text = step.baseAddress!.assumingMemoryBound(to: UInt8.self)
      // A CR at the end of a step can be half of a CRLF.
      if tabella_scan_count(text, step.count, rules.scan, &state, &last) > 0, step[last] == 10 {
        return start.offset + at + last + 1
      }
      at += step.count
    }
    return nil
  }

  /// The first line feed of a sample, which begins in front of `offset`: the place after it with the more plausible
  /// state, and the bytes from there on. `isEnd` says whether the text ends with the sample.
  private func segmentStart(
    in sample: UnsafeRawBufferPointer, at offset: Int, isEnd: Bool
  ) -> (start: ScanStart, rest: UnsafeRawBufferPointer)? {
    var feed = 0
    repeat {
      guard let start = sample.baseAddress.map({ $0 + feed + 1 }), feed + 1 < sample.count,
        let found = memchr(start, 10, sample.count - feed - 1)
      else { return nil }
      feed += 1 + UnsafeRawPointer(found) - start
    } while sample[feed - 1] == rules.escape
    let rest = UnsafeRawBufferPointer(rebasing: sample[(feed + 1)...])
    let outside = tabella_scan_start()
    var inside = outside
    inside.inside = ~0
    inside.opens = 0
    let odd = oddities(in: rest, outside, isEnd: isEnd)
    let isOutside = odd == 0 || odd <= oddities(in: rest, inside, isEnd: isEnd)
    return (ScanStart(offset: offset + feed, state: isOutside ? outside : inside), rest)
  }

  /// How little the bytes look as if they began in this state: the number of misplaced quotes, and of pieces of a KiB in
  /// which something other than a separator follows a closing quote. A text that ends inside quotes is odd, too.
  private func oddities(
    in bytes: UnsafeRawBufferPointer, _ state: tabella_scan_state, isEnd: Bool
  ) -> Int {
    guard rules.quote != nil else { return 0 }
    var (state, last, loose) = (state, 0, 0)
    for start in stride(from: 0, to: bytes.count, by: 1 << 10) {
      let piece = UnsafeRawBufferPointer(
        rebasing: bytes[start..<min(start + 1 << 10, bytes.count)])
      let text = piece.baseAddress!.assumingMemoryBound(to: UInt8.self)
      _ = tabella_scan_skip(text, piece.count, rules.scan, &state, &last)
      if state.loose != 0 { loose += 1 }
      state.loose = 0
    }
    return loose + Int(state.strays) + (isEnd && state.inside != 0 ? 1 : 0)
  }

  /// Merges a scan, which begins at the tip.
  private func append(_ scan: Scan) {
    for (count, offset) in scan.positions { keep(known + count, offset) }
    known += scan.count
    if let offset = scan.frontier { frontier = offset }
    tip = ScanStart(offset: scan.end, state: scan.state)
    guard scan.reachedEnd else { return }
    // A text need not end with a line end.
    if frontier < tip.offset {
      endsOpen = true
      known += 1
      frontier = tip.offset
    }
    isComplete = true
  }

  /// The result of one pass over a range of the text.
  private struct Scan {
    let start: ScanStart
    /// The requested end.
    let limit: Int
    /// The end of the scan. It can be one byte early.
    private(set) var end: Int
    private(set) var state: tabella_scan_state
    private(set) var count = 0
    /// The offset of the record after the last ended one; nil if no record ended.
    private(set) var frontier: Int?
    /// Positions to store: the number of records that ended before, and the offset of the next record.
    private(set) var positions: [(count: Int, offset: Int)] = []
    private(set) var reachedEnd = false

    /// Scans from `start`, in this state, up to `limit` or to the end of the text.
    init(
      from start: ScanStart, to limit: Int, _ index: RecordIndex,
      _ blocks: Pool<UnsafeMutableRawBufferPointer>
    ) throws(TableError) {
      self.start = start
      self.limit = limit
      state = start.state
      end = start.offset
      let cuts = index.cuts
      let isLong = (index.source.size ?? .max) - end >= 16 * cuts.block
      let block =
        blocks.take()
        ?? .allocate(byteCount: isLong ? cuts.block : cuts.near, alignment: 64)
      defer { blocks.add(block) }
      while end < limit, !reachedEnd {
        try index.cancel.check()
        let wanted = min(block.count, limit - end)
        let start = end
        // A CR alone could be half of a CRLF, so one byte is not enough.
        let got: Int
        (got, reachedEnd) = try index.source.fillArrived(
          UnsafeMutableRawBufferPointer(rebasing: block[..<wanted]), at: end, least: 2)
        scan(UnsafeRawBufferPointer(rebasing: block[..<got]), index)
        // The next scan decides about a final CR, with the byte after it. More of a stream may not be needed.
        if end == start || (got < wanted && !reachedEnd) { break }
      }
    }

    private mutating func scan(_ block: UnsafeRawBufferPointer, _ index: RecordIndex) {
      guard let base = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      var at = 0
      while at < block.count {
        var size = min(index.cuts.spacing, block.count - at)
        let isLast = reachedEnd && at + size == block.count
        // A CR at the end of a step can be half of a CRLF. It waits for the next bytes.
        if block[at + size - 1] == 13, !isLast {
          if size > 1 || at + 1 == block.count {
            size -= 1
          } else if block[at + 1] == 10 {
            size = 2
          }
        }
        if size == 0 { break }
        var last = 0
        let ended = tabella_scan_count(base + at, size, index.rules.scan, &state, &last)
        if ended > 0 {
          count += ended
          frontier = end + at + last + 1
          positions.append((count, end + at + last + 1))
        }
        at += size
      }
      end += at
    }
  }
}
