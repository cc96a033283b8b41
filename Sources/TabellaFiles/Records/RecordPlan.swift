import Tabella

/// The text that comes of edits of its records, as pieces of the text that was.
///
/// Line ends belong to their records. One that has none, because it was the last, gets one when
/// something comes to stand behind it; what comes to stand last in a text without a final line end
/// gets none. A new record ends as those around it do.
public struct RecordPlan {
  /// Some bytes in place of others, within a record.
  public struct Splice {
    public var range: Range<Int>
    public var bytes: [UInt8]

    public init(_ range: Range<Int>, _ bytes: [UInt8]) {
      self.range = range
      self.bytes = bytes
    }
  }

  /// A record of the new text that an edit made or changed or put there.
  public struct Touched {
    /// The edit; a record that was both set and moved is there twice.
    public var edit: Int
    /// Where it lies in the new text, without its line end.
    public var content: Range<Int>
  }

  public private(set) var table = PieceTable()
  /// In the order of the new text.
  public private(set) var touched: [Touched] = []
  /// What was read of the old text to plan this.
  public private(set) var edited: [EditedRange] = []

  private let reader: RecordReader
  private let bytes: any ByteSource
  private let size: Int
  /// Where the first record begins; what stands before it stays.
  private let start: Int
  /// Whether what stands before the first record is text, a header for one.
  private let hasPrefix: Bool
  /// The line end of the last record that was put out, if it is still to come.
  private var held: (lineEnd: LineEnd, old: Range<Int>, near: Int)?
  /// Whether the last record that was put out came to stand there.
  private var isArrival = false

  /// Plans edits of the records from `start` on of a text of `size` bytes.
  ///
  /// `content` makes a new record, `splices`
  /// what cells change in one that is there. Throws ``TableError`` with `.notFound` for a place that
  /// is not there, with `.readOnly` for a record whose quote is never closed.
  /// - Complexity: O(edits) apart from finding the records.
  public init(
    _ edits: RecordEdits, _ reader: RecordReader, _ bytes: any ByteSource,
    size: Int, from start: Int, hasPrefix: Bool,
    content: (RecordEdits.Arrival) throws(TableError) -> [UInt8],
    splices: (Int, [Int: Cell]) throws(TableError) -> [Splice]
  ) throws(TableError) {
    self.reader = reader
    self.bytes = bytes
    self.size = size
    self.start = start
    self.hasPrefix = hasPrefix

    var units: [Int: Unit] = [:]
    for number in Set(edits.gone).union(edits.sets.keys).sorted() {
      guard let span = try reader.span(of: number) else {
        throw .noRow(number, inSection: 0, of: reader.index.known)
      }
      guard !span.isUnclosed else { throw RecordPlan.isUnclosed(number) }
      edited.append(EditedRange(span.content, digest: span.digest))
      guard let set = edits.sets[number] else {
        units[number] = Unit(span, span.content.isEmpty ? [] : [.old(span.content)])
        continue
      }
      var pieces = PieceTable()
      var at = span.content.lowerBound
      for splice in try splices(number, set.cells) {
        pieces.append(old: at..<splice.range.lowerBound)
        pieces.append(new: splice.bytes)
        at = splice.range.upperBound
      }
      pieces.append(old: at..<span.content.upperBound)
      units[number] = Unit(span, pieces.pieces, edits: [set.edit])
    }

    let gone = Set(edits.gone)
    var arrivals = edits.arrivals[...]
    var at = 0
    var marks = Set(units.keys).union(arrivals.map(\.place)).sorted()[...]
    while let mark = marks.popFirst() {
      let begin = try offset(of: mark)
      try putOut(at..<begin)
      at = begin
      while let arrival = arrivals.first, arrival.place == mark {
        arrivals.removeFirst()
        var unit: Unit
        if let source = arrival.source, let moved = units[source] {
          unit = moved
          unit.edits.append(arrival.edit)
        } else {
          unit = Unit(try content(arrival), edit: arrival.edit)
        }
        try putOut(unit, near: mark, isArrival: true)
      }
      guard let unit = units[mark] else { continue }
      at = unit.old.upperBound
      if !gone.contains(mark) { try putOut(unit, near: mark, isArrival: false) }
    }
    try putOut(at..<size)
    try end()
  }

  /// A record to be put out.
  private struct Unit {
    var content: [PieceTable.Piece]
    var lineEnd: LineEnd
    var edits: [Int]
    /// Where the record's line end is in the old text.
    var old = 0..<0

    init(_ span: RecordSpan, _ content: [PieceTable.Piece], edits: [Int] = []) {
      self.content = content
      self.edits = edits
      lineEnd = span.lineEnd
      old = span.content.upperBound..<span.next
    }

    /// A new record.
    init(_ content: [UInt8], edit: Int) {
      self.content = content.isEmpty ? [] : [.new(content)]
      lineEnd = .none
      edits = [edit]
    }
  }

  private static func isUnclosed(_ number: Int) -> TableError {
    TableError(
      .readOnly,
      "row \(number) has a quote that is never closed; it and what would come behind it cannot be edited"
    )
  }

  /// Where a record begins, or the text ends if it is the one behind the last.
  private func offset(of number: Int) throws(TableError) -> Int {
    if let span = try reader.span(of: number) { return span.content.lowerBound }
    guard number == reader.index.known else {
      throw TableError(
        .notFound,
        "there is no place for a row behind row \(number - 1); there are \(reader.index.known)")
    }
    guard try reader.span(of: number - 1)?.isUnclosed != true else {
      throw RecordPlan.isUnclosed(number - 1)
    }
    return size
  }

  /// Puts a part of the old text out that no edit touches.
  private mutating func putOut(_ range: Range<Int>) throws(TableError) {
    guard !range.isEmpty else { return }
    try endLine()
    try part(from: bytes.bytes(at: range.lowerBound, count: 1).first)
    table.append(old: range)
    isArrival = false
  }

  private mutating func putOut(
    _ unit: Unit, near: Int, isArrival: Bool
  ) throws(TableError) {
    try endLine()
    if unit.content.isEmpty { try part(from: unit.lineEnd.bytes.first) }
    let start = table.size
    for piece in unit.content {
      switch piece {
      case .old(let range): table.append(old: range)
      case .new(let bytes): table.append(new: bytes)
      }
    }
    for edit in unit.edits { touched.append(Touched(edit: edit, content: start..<table.size)) }
    held = (unit.lineEnd, unit.old, near)
    self.isArrival = isArrival
  }

  /// Keeps a CR that ended a record from becoming one line end with a LF that comes to follow it.
  private mutating func part(from next: UInt8?) throws(TableError) {
    guard reader.rules.endsAtCarriageReturn, next == 10 else { return }
    if try lastByte() == 13 { table.append(new: [10]) }
  }

  /// Ends the record that was put out last, since another comes.
  private mutating func endLine() throws(TableError) {
    if let (lineEnd, old, near) = held {
      held = nil
      guard lineEnd == .none else {
        table.append(old: old)
        return
      }
      table.append(new: try self.lineEnd(near: near).bytes)
      return
    }
    // The text as it was up to its end, which may be in the middle of a line.
    guard case .old(let range) = table.pieces.last, range.upperBound == size, try isOpen() else {
      return
    }
    table.append(new: try lineEnd(near: reader.index.known).bytes)
  }

  /// Ends the text.
  private mutating func end() throws(TableError) {
    guard let (lineEnd, _, _) = held else { return }
    let isEmpty = touched.last?.content.isEmpty ?? false
    // What is empty is no record without a line end.
    let staysOpen = isArrival ? try isOpen() : lineEnd == .none
    if isEmpty || !staysOpen { try endLine() }
  }

  /// Whether the old text ends without a line end. All of it is known by then.
  private func isOpen() throws(TableError) -> Bool {
    if let last = try reader.span(of: reader.index.known - 1) { return last.lineEnd == .none }
    // Only what stands before the records: a header, or nothing but a byte order mark.
    guard hasPrefix else { return false }
    return try prefixEnd() == .none
  }

  /// How what stands before the first record ends.
  private func prefixEnd() throws(TableError) -> LineEnd {
    let last = try bytes.bytes(at: max(0, start - 2), count: min(2, start))
    if last == [13, 10] { return .both }
    return LineEnd(last.suffix(1))
  }

  /// The line end of the records around a place, else of what stands before them, else LF.
  private func lineEnd(near number: Int) throws(TableError) -> LineEnd {
    var end = LineEnd.none
    for neighbour in [number - 1, number] where end == .none {
      end = try reader.span(of: neighbour)?.lineEnd ?? .none
    }
    if end == .none { end = try prefixEnd() }
    if end == .none { end = .lineFeed }
    // A CR before a LF would be taken for the line end's.
    guard end == .lineFeed else { return end }
    return try lastByte() == 13 ? .both : end
  }

  /// The last byte that was put out.
  private func lastByte() throws(TableError) -> UInt8? {
    switch table.pieces.last {
    case .old(let range): try bytes.bytes(at: range.upperBound - 1, count: 1).first
    case .new(let bytes): bytes.last
    case nil: nil
    }
  }
}
