import Tabella

/// The result of record edits, as a list of pieces from the old text and new bytes.
///
/// Each record owns its line end. A text that does not end with a line end keeps that property: when a record is
/// appended, the former last record receives a line end and the new last record has none. A new record has the line
/// end of the records around it.
public struct RecordPlan {
  /// A replacement of some bytes within a record.
  public struct Splice {
    /// The replaced range, as offsets in the old text.
    public var range: Range<Int>
    /// The new bytes.
    public var bytes: [UInt8]

    /// Creates a splice.
    public init(_ range: Range<Int>, _ bytes: [UInt8]) {
      self.range = range
      self.bytes = bytes
    }
  }

  /// A record of the new text that an edit created, changed or moved.
  public struct Touched {
    /// The index of the edit. A record that was both set and moved appears twice.
    public var edit: Int
    /// The range of the record in the new text, without its line end.
    public var content: Range<Int>
  }

  /// The pieces of the new text.
  public private(set) var table = PieceTable()
  /// The touched records, in the order of the new text.
  public private(set) var touched: [Touched] = []
  /// The ranges of the old text that were read for this plan.
  public private(set) var edited: [EditedRange] = []

  /// The held records, by ascending numbers, and the pieces of their new content.
  private var held: [Held] = []
  private var pieces: [PieceTable.Piece] = []

  private let reader: RecordReader
  private let bytes: any ByteSource
  private let size: Int
  /// The line end of the text in front of the first record, such as a header; nil if there is no such text.
  private let prefixEnd: LineEnd?
  /// The splices in front of the first record, in ascending order.
  private var prefix: ArraySlice<Splice>
  /// The line end of the last appended record, if it is still pending.
  private var pendingLineEnd: (lineEnd: LineEnd, old: Range<Int>, near: Int, isEmpty: Bool)?

  /// Plans edits of the records of a text of `size` bytes.
  ///
  /// `prefixEnd` is the line end of the text in front of the first record, such as a header; nil if there is no
  /// such text. `prefix` contains the splices in front of the first record. If bytes are appended to a header
  /// without a line end, they include a line end. `content` creates a new record. `heading` creates the heading of
  /// a new section between its neighbours. `splices` returns the changes that an edit makes in its record.
  ///
  /// Throws ``TableError`` with `.notFound` for a position that does not exist, and with `.readOnly` for a record
  /// with an ``OpenEnd``.
  /// - Complexity: O(edits), plus the time to find the records.
  public init(
    _ edits: RecordEdits, _ reader: RecordReader, _ bytes: any ByteSource,
    size: Int, prefixEnd: LineEnd?, prefix: [Splice] = [],
    content: (RecordEdits.Arrival) throws(TableError) -> [UInt8],
    heading: (_ edit: Int, _ neighbours: [Int]) throws(TableError) -> [UInt8],
    splices: (RecordEdits.CellEdit) throws(TableError) -> [Splice]
  ) throws(TableError) {
    self.reader = reader
    self.bytes = bytes
    self.size = size
    self.prefixEnd = prefixEnd
    self.prefix = prefix[...]

    var (gone, sets) = (edits.gone[...], edits.sets[...])
    held.reserveCapacity(gone.count + sets.count)
    edited.reserveCapacity(gone.count + sets.count)
    while gone.first != nil || sets.first != nil {
      let number = min(gone.first ?? .max, sets.first?.record ?? .max)
      guard let span = try reader.span(of: number) else {
        throw .noRow(number, inSection: 0, of: reader.index.known)
      }
      if let end = span.openEnd { throw RecordPlan.refusal(of: number, end) }
      let isGone = gone.first == number
      if isGone { gone.removeFirst() }
      let set = sets.first?.record == number ? sets.popFirst() : nil
      hold(number, span, isGone: isGone, try set.map(splices) ?? [], edit: set?.edit)
    }

    let whole = [RecordEdits.Block(section: nil, records: 0..<Int.max, edit: nil)]
    if let blocks = edits.blocks {
      try holdNewLast(of: blocks)
      try append(0..<offset(of: 0))
    } else {
      try holdNewLast()
    }
    let arrivals = Dictionary(grouping: edits.arrivals, by: \.section)
    for (number, block) in (edits.blocks ?? whole).enumerated() {
      if let edit = block.edit {
        let neighbours = edits.neighbours(ofBlock: number)
        try append(heading(edit, neighbours.sections), by: edit, near: neighbours.record)
        continue
      }
      try append(
        block, (block.section.map { arrivals[$0] ?? [] } ?? edits.arrivals)[...], content)
    }
    try end()
    (held, pieces) = ([], [])
  }

  /// Appends the records of a block and the arrivals among them.
  private mutating func append(
    _ block: RecordEdits.Block, _ arrivals: ArraySlice<RecordEdits.Arrival>,
    _ content: (RecordEdits.Arrival) throws(TableError) -> [UInt8]
  ) throws(TableError) {
    let isWhole = block.records.upperBound == .max
    var arrivals = arrivals
    var at = try isWhole ? 0 : offset(of: block.records.lowerBound)
    var next = heldIndex(ofRecord: block.records.lowerBound)
    let last = heldIndex(ofRecord: block.records.upperBound)
    while next < last || !arrivals.isEmpty {
      let mark = min(next < last ? held[next].number : .max, arrivals.first?.place ?? .max)
      let isHeld = next < last && held[next].number == mark
      let begin = try isHeld ? held[next].content.lowerBound : offset(of: mark)
      try append(at..<begin)
      at = begin
      while let arrival = arrivals.first, arrival.place == mark {
        arrivals.removeFirst()
        if let moved = arrival.source.flatMap({ held($0) }) {
          try append(moved, by: arrival.edit, near: mark)
        } else {
          try append(content(arrival), by: arrival.edit, near: mark)
        }
      }
      guard isHeld else { continue }
      let record = held[next]
      next += 1
      at = record.lineEndRange.upperBound
      if !record.isGone { try append(record, by: nil, near: mark) }
    }
    try append(at..<(isWhole ? size : offset(of: block.records.upperBound)))
  }

  /// A record of the old text that an edit sets, moves or deletes.
  private struct Held {
    var number: Int
    /// The range of the record in the old text.
    var content: Range<Int>
    var lineEnd: LineEnd
    /// The range of the line end in the old text.
    var lineEndRange: Range<Int>
    /// Whether the record is deleted, or moves away.
    var isGone: Bool
    /// The indices of the pieces of its new content.
    var pieces: Range<Int>
    /// The edit that sets its cells.
    var edit: Int?
  }

  /// Holds a record with its new content.
  private mutating func hold(
    _ number: Int, _ span: RecordSpan, isGone: Bool, _ splices: [Splice] = [], edit: Int? = nil
  ) {
    edited.append(EditedRange(span.content, digest: span.digest))
    let start = pieces.count
    var at = span.content.lowerBound
    for splice in splices {
      if at < splice.range.lowerBound { pieces.append(.old(at..<splice.range.lowerBound)) }
      if !splice.bytes.isEmpty { pieces.append(.new(splice.bytes)) }
      at = splice.range.upperBound
    }
    if at < span.content.upperBound { pieces.append(.old(at..<span.content.upperBound)) }
    let record = Held(
      number: number, content: span.content, lineEnd: span.lineEnd,
      lineEndRange: span.content.upperBound..<span.next, isGone: isGone,
      pieces: start..<pieces.count, edit: edit)
    held.insert(record, at: heldIndex(ofRecord: number))
  }

  /// The index in ``held`` of a record, or the index at which it would be.
  private func heldIndex(ofRecord number: Int) -> Int {
    if held.last.map({ $0.number < number }) ?? true { return held.count }
    return held.partitioningIndex { $0.number >= number }
  }

  /// A held record; nil if it is not held.
  private func held(_ number: Int) -> Held? {
    let index = heldIndex(ofRecord: number)
    return index < held.count && held[index].number == number ? held[index] : nil
  }

  /// Prepares the new last record of a text without a final line end, if the old last record leaves. The new last
  /// record must be able to lose its line end.
  private mutating func holdNewLast() throws(TableError) {
    guard let last = held.last(where: \.isGone), last.lineEnd == .none,
      last.lineEndRange.upperBound == size
    else { return }
    var number = last.number
    while held(number)?.isGone == true { number -= 1 }
    try holdUnedited(number)
  }

  /// Does the same if sections change their order.
  private mutating func holdNewLast(of blocks: [RecordEdits.Block]) throws(TableError) {
    guard try isOpen() else { return }
    for block in blocks.reversed() {
      guard block.edit == nil else { return }
      guard let last = block.records.last(where: { held($0)?.isGone != true }) else { continue }
      return try holdUnedited(last)
    }
  }

  private mutating func holdUnedited(_ number: Int) throws(TableError) {
    guard held(number) == nil, let span = try reader.span(of: number) else { return }
    hold(number, span, isGone: false)
  }

  private static func refusal(of number: Int, _ end: OpenEnd) -> TableError {
    let what =
      switch end {
      case .quote: "has a quote that is never closed"
      case .escape: "ends in an escape with nothing after it"
      }
    return TableError(
      .readOnly, "row \(number) \(what); it and the text after it cannot be edited")
  }

  /// The offset of a record. For the record after the last one, the end of the text.
  private func offset(of number: Int) throws(TableError) -> Int {
    if let span = try reader.span(of: number) { return span.content.lowerBound }
    guard number == reader.index.known else {
      throw TableError(
        .notFound,
        "there is no position after row \(number - 1); there are \(reader.index.known) rows")
    }
    if let end = try reader.span(of: number - 1)?.openEnd {
      throw RecordPlan.refusal(of: number - 1, end)
    }
    return size
  }

  /// Appends an unedited range of the old text.
  private mutating func append(_ range: Range<Int>) throws(TableError) {
    var range = range
    while let splice = prefix.first, splice.range.upperBound <= range.upperBound {
      prefix.removeFirst()
      table.append(old: range.lowerBound..<splice.range.lowerBound)
      table.append(new: splice.bytes)
      range = splice.range.upperBound..<range.upperBound
    }
    guard !range.isEmpty else { return }
    try endLine()
    if reader.rules.endsAtCarriageReturn {
      try separateCarriageReturn(from: bytes.bytes(at: range.lowerBound, count: 1).first)
    }
    table.append(old: range)
  }

  /// Appends a held record, at its place or where `move` moves it.
  private mutating func append(_ record: Held, by move: Int?, near: Int) throws(TableError) {
    try endLine()
    if record.pieces.isEmpty { try separateCarriageReturn(from: record.lineEnd.bytes.first) }
    let start = table.size
    for piece in pieces[record.pieces] { table.append(piece) }
    if let set = record.edit { touched.append(Touched(edit: set, content: start..<table.size)) }
    if let move { touched.append(Touched(edit: move, content: start..<table.size)) }
    pendingLineEnd = (record.lineEnd, record.lineEndRange, near, table.size == start)
  }

  /// Appends the content of a new record.
  private mutating func append(
    _ content: [UInt8], by edit: Int, near: Int
  ) throws(TableError) {
    try endLine()
    let start = table.size
    table.append(new: content)
    touched.append(Touched(edit: edit, content: start..<table.size))
    pendingLineEnd = (.none, 0..<0, near, table.size == start)
  }

  /// Inserts an LF if a record ended by CR would otherwise merge with a following LF.
  private mutating func separateCarriageReturn(from next: UInt8?) throws(TableError) {
    guard reader.rules.endsAtCarriageReturn, next == 10 else { return }
    if try lastByte() == 13 { table.append(new: [10]) }
  }

  /// Ends the last appended record, because another record follows.
  private mutating func endLine() throws(TableError) {
    if let (lineEnd, old, near, _) = pendingLineEnd {
      pendingLineEnd = nil
      guard lineEnd == .none else {
        table.append(old: old)
        return
      }
      table.append(new: try self.lineEnd(near: near).bytes)
      return
    }
    // The old text up to its end, which can be in the middle of a line.
    guard case .old(let range) = table.pieces.last, range.upperBound == size, try isOpen() else {
      return
    }
    table.append(new: try lineEnd(near: reader.index.known).bytes)
  }

  /// Ends the text.
  private mutating func end() throws(TableError) {
    guard let pendingLineEnd else { return }
    // Without a line end, an empty record would not exist.
    let staysOpen = try isOpen()
    if pendingLineEnd.isEmpty || !staysOpen { try endLine() }
  }

  /// Whether the old text has no final line end. All records are known at this point.
  private func isOpen() throws(TableError) -> Bool {
    if let last = try reader.span(of: reader.index.known - 1) { return last.lineEnd == .none }
    // There is only the text in front of the records: a header, or just a byte order mark.
    return prefixEnd == LineEnd.none
  }

  /// The line end of the records around a position. If there is none, that of the text in front of them, or LF.
  private func lineEnd(near number: Int) throws(TableError) -> LineEnd {
    var end = LineEnd.none
    // The last record itself can lack a line end.
    for neighbour in [number - 1, number, number - 2] where end == .none {
      end = try reader.span(of: neighbour)?.lineEnd ?? .none
    }
    if end == .none { end = prefixEnd ?? .none }
    if end == .none { end = .lineFeed }
    // A CR directly in front of an LF would become part of the line end.
    guard end == .lineFeed else { return end }
    return try lastByte() == 13 ? .both : end
  }

  /// The last appended byte.
  private func lastByte() throws(TableError) -> UInt8? {
    switch table.pieces.last {
    case .old(let range): try bytes.bytes(at: range.upperBound - 1, count: 1).first
    case .new(let bytes): bytes.last
    case nil: nil
    }
  }
}
