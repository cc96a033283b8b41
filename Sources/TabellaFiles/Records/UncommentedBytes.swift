import CTabellaScan
import Tabella

/// A text without its comment lines. A comment line begins with a mark at an offset where a record could begin.
///
/// A comment ends with its line, even if it contains quotes. A line inside a quoted field is not a comment. The
/// records of the remaining text are the records of the table. ``whole(_:)`` translates an edit of the
/// remaining text to an edit of the whole text.
///
/// The text is scanned from the front, as far as it is read. It uses 32 bytes of memory per run of comment lines.
public final class UncommentedBytes: ByteSource {
  /// Consecutive comment lines.
  private struct Comment {
    /// Their offset in the remaining text.
    var place: Int
    /// Their range in the whole text.
    var range: Range<Int>
    /// The total number of comment bytes up to the end of these.
    var total: Int
  }

  private let base: any ByteSource
  /// The offset of the first record. It is the start of a line.
  private let start: Int
  private let rules: RecordRules
  private let mark: UInt8
  private var comments: [Comment] = []
  private var total: Int { comments.last?.total ?? 0 }

  /// The end of the scanned range of the whole text, and the state of the scan there.
  private var scanned: Int
  private var state = tabella_scan_start()
  /// Whether a record begins there, or the start of the comment that is not finished there.
  private var beginsRecord = true
  private var openComment: Int?
  private var isComplete = false
  private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)

  /// Creates the remaining text of `base`. Comments are removed from `start` on, which is the start of a record.
  public init(_ base: any ByteSource, from start: Int, rules: RecordRules, mark: UInt8) {
    self.base = base
    self.rules = rules
    self.mark = mark
    self.start = start
    scanned = start
  }

  deinit { block.deallocate() }

  public var version: Version? { base.version }
  public var hasVersion: Bool { base.hasVersion }
  /// The size is nil, because it is known only after reading, and because only one thread may read.
  public var size: Int? { nil }

  public func checkUnchanged() throws(TableError) { try base.checkUnchanged() }

  public func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    while known <= offset, !isComplete { try scanMore() }
    guard offset < known else { return 0 }
    let next = commentCount(upTo: offset)
    let limit = next < comments.count ? comments[next].place : known
    return try base.read(
      at: wholeOffset(of: offset),
      into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, limit - offset)]))
  }

  public func hasArrived(at offset: Int, within milliseconds: Int32) throws(TableError) -> Bool {
    while known <= offset, !isComplete {
      guard try base.hasArrived(at: scanned, within: milliseconds) else { return false }
      try scanMore()
    }
    return true
  }

  /// The number of known bytes of the remaining text.
  private var known: Int { (openComment ?? scanned) - total }

  /// The number of bytes without comments. Scans the whole text.
  public func count() throws(TableError) -> Int {
    while !isComplete { try scanMore() }
    return known
  }

  /// The offset in the whole text of a byte that has been read.
  public func wholeOffset(of offset: Int) -> Int {
    let next = commentCount(upTo: offset)
    return offset + (next == 0 ? 0 : comments[next - 1].total)
  }

  /// The number of runs of comments in front of the byte at `offset`.
  private func commentCount(upTo offset: Int) -> Int {
    comments.partitioningIndex { $0.place > offset }
  }

  /// The range of one record's bytes in the whole text.
  private func wholeRange(of range: Range<Int>) -> Range<Int> {
    let start = wholeOffset(of: range.lowerBound)
    return start..<start + range.count
  }

  // Scanning.

  private func scanMore() throws(TableError) {
    var got = try base.read(at: scanned, into: block)
    // A CR at the end of the block can be half of a CRLF.
    while got > 0, block[got - 1] == 13 {
      if got == block.count {
        got -= 1
        break
      }
      let more = try base.read(
        at: scanned + got, into: UnsafeMutableRawBufferPointer(rebasing: block[got...got]))
      if more == 0 { break }
      got += more
    }
    guard got > 0 else {
      if let start = openComment { close(start..<scanned) }
      isComplete = true
      return
    }
    try scan(UnsafeRawBufferPointer(rebasing: block[..<got]))
    scanned += got
  }

  private func scan(_ text: UnsafeRawBufferPointer) throws(TableError) {
    var at = 0
    while at < text.count {
      if text[at] == 10, let comment = comments.last, comment.range.upperBound == scanned + at {
        try checkBorder(of: comment)
      }
      if let start = openComment {
        guard let end = text[at...].firstIndex(where: { $0 == 10 || $0 == 13 }) else { return }
        let isPair = text[end] == 13 && end + 1 < text.count && text[end + 1] == 10
        at = end + (isPair ? 2 : 1)
        close(start..<scanned + at)
        continue
      }
      if beginsRecord, text[at] == mark {
        openComment = scanned + at
        continue
      }
      let next = nextMark(text, at + 1)
      pass(UnsafeRawBufferPointer(rebasing: text[at..<next]))
      at = next
    }
  }

  /// Throws if a CR is in front of a comment with an LF behind it. Without the comment, they would be one line end.
  private func checkBorder(of comment: Comment) throws(TableError) {
    let end = comment.range.lowerBound
    guard end > start, try base.bytes(at: end - 1, count: 1) == [13] else { return }
    let line = try base.lineNumber(at: end)
    throw TableError(
      .constraint,
      "line \(line) is a comment between a line that ends with CR and an empty line that ends with LF; convert the line ends, for example with mac2unix"
    )
  }

  /// The next mark at the start of a line, or the end.
  private func nextMark(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var at = start
    while at < text.count,
      let found = memchr(text.baseAddress! + at, Int32(mark), text.count - at)
    {
      at = UnsafeRawPointer(found) - text.baseAddress!
      if text[at - 1] == 10 || text[at - 1] == 13 { return at }
      at += 1
    }
    return text.count
  }

  /// Advances over bytes that are not a comment.
  private func pass(_ text: UnsafeRawBufferPointer) {
    var last = -1
    let bytes = text.baseAddress!.assumingMemoryBound(to: UInt8.self)
    var place = 0
    if tabella_scan_count(bytes, text.count, rules.scan, &state, &place) > 0 { last = place }
    beginsRecord = last + 1 == text.count && state.inside == 0 && state.plain == 0
  }

  private func close(_ range: Range<Int>) {
    let place = range.lowerBound - total
    if let last = comments.last, last.range.upperBound == range.lowerBound {
      comments[comments.count - 1].range = last.range.lowerBound..<range.upperBound
      comments[comments.count - 1].total += range.count
    } else {
      comments.append(Comment(place: place, range: range, total: total + range.count))
    }
    openComment = nil
    beginsRecord = true
    state = tabella_scan_start()
  }

  // Editing.

  /// Translates an edit of the remaining text to an edit of the whole text.
  ///
  /// Every comment is kept, byte for byte and in the same order. It stays in front of its record as long as that
  /// record keeps its position.
  public func whole(_ table: PieceTable) throws(TableError) -> PieceTable {
    _ = try count()
    var assembly = Assembly(comments: comments[...], base: base, start: start)
    try assembly.put(commentsUpTo: 0)
    let staying = UncommentedBytes.staying(table.pieces)
    // For each piece, the offset of the next piece that stays.
    var next: Int?
    let nexts = table.pieces.indices.reversed().map { index -> Int? in
      defer {
        if staying[index], case .old(let range) = table.pieces[index] { next = range.lowerBound }
      }
      return next
    }
    for (index, piece) in table.pieces.enumerated() {
      switch piece {
      case .new(let bytes):
        if let next = nexts[nexts.count - 1 - index] { try assembly.put(commentsUpTo: next - 1) }
        assembly.put(new: bytes)
      case .old(let range) where !staying[index]: put(range, in: &assembly)
      case .old(let range):
        var at = range.lowerBound
        try assembly.put(commentsUpTo: at)
        while let next = assembly.next, next.place <= range.upperBound {
          if next.place > at { put(at..<next.place, in: &assembly) }
          at = max(at, next.place)
          guard try assembly.put(commentsUpTo: at) else { break }
        }
        if at < range.upperBound { put(at..<range.upperBound, in: &assembly) }
      }
    }
    try assembly.end()
    return assembly.table
  }

  /// Chooses the pieces of the old text that stay in order, so that the other pieces move around them. The chosen
  /// pieces have the maximum number of bytes.
  ///
  /// - Complexity: O(n log n).
  private static func staying(_ pieces: [PieceTable.Piece]) -> [Bool] {
    let starts = pieces.map { piece -> Int? in
      if case .old(let range) = piece { range.lowerBound } else { nil }
    }
    let order = starts.indices.filter { starts[$0] != nil }.sorted { starts[$0]! < starts[$1]! }
    var ranks = [Int](repeating: 0, count: pieces.count)
    for (rank, index) in order.enumerated() { ranks[index] = rank + 1 }
    // For each piece, the heaviest ascending sequence that ends with it. A Fenwick tree returns the maximum over
    // the pieces of lower rank.
    var heaviest = [(weight: Int, index: Int?)](repeating: (0, nil), count: order.count + 1)
    var before = [Int?](repeating: nil, count: pieces.count)
    var best = (weight: 0, index: nil as Int?)
    for index in pieces.indices where starts[index] != nil {
      var found = (weight: 0, index: nil as Int?)
      var rank = ranks[index] - 1
      while rank > 0 {
        if heaviest[rank].weight > found.weight { found = heaviest[rank] }
        rank &= rank - 1
      }
      before[index] = found.index
      let own = (weight: found.weight + pieces[index].count, index: Optional(index))
      if own.weight > best.weight { best = own }
      rank = ranks[index]
      while rank <= order.count {
        if own.weight > heaviest[rank].weight { heaviest[rank] = own }
        rank += rank & -rank
      }
    }
    var staying = [Bool](repeating: false, count: pieces.count)
    var index = best.index
    while let one = index {
      staying[one] = true
      index = before[one]
    }
    return staying
  }

  /// Appends old text whose inner comments have been appended before.
  private func put(_ range: Range<Int>, in assembly: inout Assembly) {
    var at = range.lowerBound
    for comment in comments[commentCount(upTo: at)...] {
      guard comment.place < range.upperBound else { break }
      assembly.put(old: wholeRange(of: at..<comment.place))
      at = comment.place
    }
    assembly.put(old: wholeRange(of: at..<range.upperBound))
  }

  /// Translates ranges that were read to ranges in the whole text.
  public func whole(_ edited: [EditedRange]) -> [EditedRange] {
    edited.map { EditedRange(wholeRange(of: $0.range), digest: $0.digest) }
  }

  /// The whole text under construction.
  private struct Assembly {
    private(set) var table = PieceTable()
    private var comments: ArraySlice<Comment>
    private let base: any ByteSource
    private let start: Int
    /// The line end that the last appended line needs. That line is a comment without one. It was the last line of the
    /// old text.
    private var missingLineEnd: [UInt8] = []

    init(comments: ArraySlice<Comment>, base: any ByteSource, start: Int) {
      self.comments = comments
      self.base = base
      self.start = start
    }

    var next: Comment? { comments.first }

    mutating func put(old range: Range<Int>) {
      endLine()
      table.append(old: range)
    }

    mutating func put(new bytes: [UInt8]) {
      endLine()
      table.append(new: bytes)
    }

    private mutating func endLine() {
      if !missingLineEnd.isEmpty { table.append(new: missingLineEnd) }
      missingLineEnd = []
    }

    /// Appends comments if the text is at the start of a line. Otherwise returns false.
    @discardableResult
    mutating func put(commentsUpTo place: Int) throws(TableError) -> Bool {
      while let comment = comments.first, comment.place <= place {
        guard try isLineStart() else { return false }
        comments.removeFirst()
        endLine()
        table.append(old: comment.range)
        if try !isLineStart() { missingLineEnd = try lineEnd(inFrontOf: comment) }
      }
      return true
    }

    mutating func end() throws(TableError) {
      if let comment = comments.first, try !isLineStart() {
        table.append(new: try lineEnd(inFrontOf: comment))
      }
      try put(commentsUpTo: .max)
    }

    /// The line end in front of a comment in the old text; LF if the comment is the first line.
    private func lineEnd(inFrontOf comment: Comment) throws(TableError) -> [UInt8] {
      let end = comment.range.lowerBound
      let bytes = try base.bytes(at: max(start, end - 2), count: min(2, end - start))
      if bytes == [13, 10] { return bytes }
      return [bytes.last ?? 10]
    }

    private func isLineStart() throws(TableError) -> Bool {
      let last: UInt8? =
        switch table.pieces.last {
        case .old(let range) where range.upperBound == start: nil
        case .old(let range): try base.bytes(at: range.upperBound - 1, count: 1).first
        case .new(let bytes): bytes.last
        case nil: nil
        }
      return last == nil || last == 10 || last == 13
    }
  }
}
