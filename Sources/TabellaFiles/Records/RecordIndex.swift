import CTabellaScan
import Tabella

/// Where the records of a text are, as far as that was needed: a position every 32 KiB or so, which
/// grows as the text is read.
///
/// A short way is scanned on the calling thread; a long one in segments on all cores. A segment must
/// know whether it starts within quotes, so it starts behind a line feed and guesses which of the
/// two makes better sense of what follows; when the segments before it are done the guess is
/// compared with the truth, and a segment that guessed wrongly is scanned again.
///
/// Memory: at most 65,536 positions of 16 bytes; they grow sparser beyond 2 GiB.
public final class RecordIndex {
  /// How the work is cut; smaller only in tests, which find what breaks at borders.
  public struct Cuts: Hashable, Sendable {
    /// How much is read at once, where what is wanted may be near, and where it is not. The kernel
    /// copies a MiB faster than four quarters of one.
    public var near = 256 << 10
    public var block = 1 << 20
    /// How much of the text lies between two positions that are kept.
    public var spacing = 32 << 10
    /// How much one thread scans at most before its result is joined to the others', and how much
    /// makes it worth a thread.
    public var segment = 64 << 20
    public var leastSegment = 8 << 20
    /// How far a search for a line feed to start a segment goes.
    public var sample = 64 << 10
    public var positions = 1 << 16
    public var threads = coreCount

    public init() {}
  }

  /// How many records are known to be there.
  public private(set) var known = 0
  /// Whether ``known`` is all.
  public private(set) var isComplete = false

  private let source: any ByteSource
  private let rules: RecordRules
  private let cuts: Cuts
  private let cancel: CancelFlag
  /// The kept positions: the numbers of records, and where each begins.
  private var numbers: [Int]
  private var offsets: [Int]
  private var spacing: Int
  /// Where the record with the number ``known`` begins, if there is one.
  private(set) var frontier: Int
  /// How far the text is scanned, and in which state the scan goes on there.
  private var tip: (offset: Int, state: tabella_scan_state)

  /// An index of the records from `start` on. Reads nothing yet.
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
    tip = (start, tabella_scan_start())
  }

  /// Makes ``known`` at least `minimum`, or all. Throws ``TableError`` with `.cancelled`, or as the
  /// source does.
  public func know(_ minimum: Int) throws(TableError) {
    try grow { known >= minimum }
  }

  /// Makes ``known`` count the record with a number, or all.
  func know(past number: Int) throws(TableError) {
    try know(number == .max ? .max : number + 1)
  }

  /// About how many bytes a record has, of those known; at least 1.
  var averageSize: Int { max(1, (frontier - offsets[0]) / max(1, known)) }

  /// Makes ``known`` count every record that begins at `offset` or before.
  func know(recordsUpTo offset: Int) throws(TableError) {
    try grow { frontier > offset }
  }

  /// The last kept position at or before a record.
  func position(before number: Int) -> (number: Int, offset: Int) {
    let index = lastIndex(in: numbers, notAbove: number)
    return (numbers[index], offsets[index])
  }

  /// The last kept position at or before an offset; nil if it lies before all records.
  func position(beforeOffset offset: Int) -> (number: Int, offset: Int)? {
    guard offset >= offsets[0] else { return nil }
    let index = lastIndex(in: offsets, notAbove: offset)
    return (numbers[index], offsets[index])
  }

  /// Takes note that a reader came by: the record with this number, if there is one, begins at
  /// `offset`, and at the end of the text there is none.
  func note(number: Int, at offset: Int, isEnd: Bool) {
    if number > known {
      known = number
      frontier = offset
      if offset > tip.offset { tip = (offset, tabella_scan_start()) }
      keep(number, offset)
    }
    if isEnd, number == known { isComplete = true }
  }

  private func keep(_ number: Int, _ offset: Int) {
    guard offset - offsets[offsets.count - 1] >= spacing else { return }
    numbers.append(number)
    offsets.append(offset)
    if numbers.count >= cuts.positions { thin() }
  }

  /// Leaves out every second position.
  private func thin() {
    numbers = numbers.indices.filter { $0.isMultiple(of: 2) }.map { numbers[$0] }
    offsets = offsets.indices.filter { $0.isMultiple(of: 2) }.map { offsets[$0] }
    spacing *= 2
  }

  private func lastIndex(in values: [Int], notAbove limit: Int) -> Int {
    max(0, values.partitioningIndex { $0 > limit } - 1)
  }

  // Growing

  private func grow(until isEnough: () -> Bool) throws(TableError) {
    var steps = 0
    while !isEnough(), !isComplete {
      try cancel.check()
      // What is wanted may be near; only what turns out to be far is worth threads.
      let isFar = steps >= 4
      let isDone = isFar ? try growInParallel() : false
      if !isDone {
        let step = isFar ? cuts.block : cuts.near
        try append(Scan(from: tip.offset, to: tip.offset + step, tip.state, self), isLast: true)
      }
      steps += 1
    }
  }

  /// Scans a segment for each thread; false if so much is not left.
  private func growInParallel() throws(TableError) -> Bool {
    guard let size = source.size, cuts.threads > 1 else { return false }
    let segment = min(cuts.segment, (size - tip.offset) / cuts.threads)
    guard segment >= cuts.leastSegment else { return false }
    var starts: [SegmentStart] = [.init(offset: tip.offset, state: tip.state)]
    for number in 1...cuts.threads {
      let offset = tip.offset + number * segment
      guard offset < size else { break }
      // Without a line feed nearby the segment before goes on.
      if let start = try segmentStart(near: offset) { starts.append(start) }
    }
    let last = starts[starts.count - 1]
    let end = starts.count > cuts.threads ? last.offset : size
    let segments = starts.indices.filter { starts[$0].offset < end }
    var scans: [Result<Scan, TableError>?] = Array(repeating: nil, count: segments.count)
    scans.withUnsafeMutableBufferPointer { scans in
      nonisolated(unsafe) let scans = scans
      inParallel(scans.count) { number in
        let next = number + 1 < scans.count ? starts[number + 1].offset : end
        scans[number] = Result { () throws(TableError) in
          try Scan(from: starts[number].offset, to: next, starts[number].state, self)
        }
      }
    }
    for (number, scan) in scans.enumerated() {
      guard var scan = try scan?.get() else { break }
      if starts[number].state.inside != tip.state.inside {
        scan = try Scan(from: scan.start, to: scan.end, tip.state, self)
      }
      try append(scan, isLast: number == scans.count - 1)
    }
    return true
  }

  private struct SegmentStart {
    var offset: Int
    var state: tabella_scan_state
  }

  /// The place behind the first line feed from `offset` on, with the state that makes better sense.
  private func segmentStart(near offset: Int) throws(TableError) -> SegmentStart? {
    let sample = try source.bytes(at: offset - 1, count: cuts.sample)
    return sample.withUnsafeBytes { sample in
      let escape = rules.escape
      guard
        let feed = sample.indices.dropFirst().first(where: {
          sample[$0] == 10 && sample[$0 - 1] != escape
        })
      else { return nil }
      let rest = UnsafeRawBufferPointer(rebasing: sample[(feed + 1)...])
      let outside = tabella_scan_start()
      var inside = outside
      inside.inside = ~0
      inside.opens = 0
      let isOutside = strays(in: rest, outside) <= strays(in: rest, inside)
      return SegmentStart(offset: offset + feed, state: isOutside ? outside : inside)
    }
  }

  /// How many quotes would make no sense if the bytes began in this state.
  private func strays(in bytes: UnsafeRawBufferPointer, _ state: tabella_scan_state) -> UInt64 {
    guard rules.quote != nil, let base = bytes.baseAddress else { return 0 }
    var state = state
    var last = 0
    let text = base.assumingMemoryBound(to: UInt8.self)
    _ = tabella_scan_count(text, bytes.count, rules.scan, &state, &last)
    return state.strays
  }

  /// Joins what was scanned to what was known; it begins at the tip.
  private func append(_ scan: Scan, isLast: Bool) throws(TableError) {
    for (count, offset) in scan.positions { keep(known + count, offset) }
    known += scan.count
    if let offset = scan.frontier { frontier = offset }
    tip = (scan.end, scan.state)
    guard scan.reachedEnd, isLast else { return }
    // A text need not end with a line end.
    if frontier < tip.offset {
      known += 1
      frontier = tip.offset
    }
    isComplete = true
  }

  /// What one pass over a part of the text found.
  private struct Scan {
    let start: Int
    /// Where the scan ended, which may be a byte early.
    private(set) var end: Int
    private(set) var state: tabella_scan_state
    private(set) var count = 0
    /// Where the record behind the last that ended begins; nil if none ended.
    private(set) var frontier: Int?
    /// Positions worth keeping: how many records ended before, and where the next begins.
    private(set) var positions: [(count: Int, offset: Int)] = []
    private(set) var reachedEnd = false

    /// Scans from `start` in this state up to `limit`, or to the end of the text.
    init(
      from start: Int, to limit: Int, _ state: tabella_scan_state, _ index: RecordIndex
    ) throws(TableError) {
      self.start = start
      self.state = state
      end = start
      let block = UnsafeMutableRawBufferPointer.allocate(
        byteCount: min(index.cuts.block, max(2, limit - start)), alignment: 64)
      defer { block.deallocate() }
      while end < limit, !reachedEnd {
        try index.cancel.check()
        let wanted = min(block.count, limit - end)
        let start = end
        let got = try index.source.fill(
          UnsafeMutableRawBufferPointer(rebasing: block[..<wanted]), at: end)
        reachedEnd = got < wanted || end + got == index.source.size
        scan(UnsafeRawBufferPointer(rebasing: block[..<got]), index)
        // A CR alone waits for what follows it, in the next scan.
        if end == start { break }
      }
    }

    private mutating func scan(_ block: UnsafeRawBufferPointer, _ index: RecordIndex) {
      guard let base = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      var at = 0
      while at < block.count {
        var size = min(index.cuts.spacing, block.count - at)
        let isLast = reachedEnd && at + size == block.count
        // A CR at the border may be half of a CRLF, and waits for the next bytes.
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
