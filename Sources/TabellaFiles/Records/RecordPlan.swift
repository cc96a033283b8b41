import Tabella

/// The text that comes of edits of its records, as pieces of the text that was.
///
/// Line ends belong to their records, but a text without a final line end stays one: what was last gets
/// one when something comes to stand behind it, what comes to stand last loses its own. A new record
/// ends as those around it do.
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
  /// How what stands before the first record ends, a header for one; nil if that is no text.
  private let prefixEnd: LineEnd?
  /// The splices in front of the first record, in order.
  private var prefix: ArraySlice<Splice>
  /// The line end of the last record that was put out, if it is still to come.
  private var held: (lineEnd: LineEnd, old: Range<Int>, near: Int, isEmpty: Bool)?

  /// Plans edits of the records of a text of `size` bytes.
  ///
  /// `prefixEnd` is how what stands before the first record ends, a header for one; nil if that is no text.
  /// `prefix` is what changes in front of the first record; bytes that are added to the end of a header without
  /// a line end bring one. `content` makes a new record, `heading` that of a new section between neighbours,
  /// `splices` what cells change in a record that is there. Throws ``TableError``
  /// with `.notFound` for a place that is not there, with `.readOnly` for a record with an ``OpenEnd``.
  /// - Complexity: O(edits) apart from finding the records.
  public init(
    _ edits: RecordEdits, _ reader: RecordReader, _ bytes: any ByteSource,
    size: Int, prefixEnd: LineEnd?, prefix: [Splice] = [],
    content: (RecordEdits.Arrival) throws(TableError) -> [UInt8],
    heading: (_ edit: Int, _ neighbours: [Int]) throws(TableError) -> [UInt8],
    splices: (Int, [Int: Cell]) throws(TableError) -> [Splice]
  ) throws(TableError) {
    self.reader = reader
    self.bytes = bytes
    self.size = size
    self.prefixEnd = prefixEnd
    self.prefix = prefix[...]

    var units: [Int: Unit] = [:]
    for number in Set(edits.gone).union(edits.sets.keys).sorted() {
      guard let span = try reader.span(of: number) else {
        throw .noRow(number, inSection: 0, of: reader.index.known)
      }
      if let end = span.openEnd { throw RecordPlan.refusal(of: number, end) }
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
    let whole = [RecordEdits.Block(section: nil, records: 0..<Int.max, edit: nil)]
    if let blocks = edits.blocks {
      try holdNewLast(of: blocks, gone, &units)
      try putOut(0..<offset(of: 0))
    } else {
      try holdNewLast(gone, &units)
    }
    let numbers = units.keys.sorted()
    let arrivals = Dictionary(grouping: edits.arrivals, by: \.section)
    for (number, block) in (edits.blocks ?? whole).enumerated() {
      if let edit = block.edit {
        let neighbours = edits.neighbours(ofBlock: number)
        try putOut(Unit(heading(edit, neighbours.sections), edit: edit), near: neighbours.record)
        continue
      }
      let first = numbers.partitioningIndex { $0 >= block.records.lowerBound }
      let last = numbers.partitioningIndex { $0 >= block.records.upperBound }
      try putOut(
        block, (block.section.map { arrivals[$0] ?? [] } ?? edits.arrivals)[...],
        Array(numbers[first..<last]), units, gone, content)
    }
    try end()
  }

  /// Puts out the records of a block, with what arrives among them.
  private mutating func putOut(
    _ block: RecordEdits.Block, _ arrivals: ArraySlice<RecordEdits.Arrival>, _ numbers: [Int],
    _ units: [Int: Unit], _ gone: Set<Int>,
    _ content: (RecordEdits.Arrival) throws(TableError) -> [UInt8]
  ) throws(TableError) {
    let isWhole = block.records.upperBound == .max
    var arrivals = arrivals
    var at = try isWhole ? 0 : offset(of: block.records.lowerBound)
    var marks = Set(numbers).union(arrivals.map(\.place)).sorted()[...]
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
        try putOut(unit, near: mark)
      }
      guard mark < block.records.upperBound, let unit = units[mark] else { continue }
      at = unit.old.upperBound
      if !gone.contains(mark) { try putOut(unit, near: mark) }
    }
    try putOut(at..<(isWhole ? size : offset(of: block.records.upperBound)))
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

  /// Where the last record of a text without a final line end leaves, the one that comes to stand last in
  /// what is there must be able to give its own up.
  private mutating func holdNewLast(
    _ gone: Set<Int>, _ units: inout [Int: Unit]
  ) throws(TableError) {
    guard var last = gone.max(), let unit = units[last], unit.lineEnd == .none,
      unit.old.upperBound == size
    else { return }
    while gone.contains(last) { last -= 1 }
    guard units[last] == nil, let span = try reader.span(of: last) else { return }
    edited.append(EditedRange(span.content, digest: span.digest))
    units[last] = Unit(span, span.content.isEmpty ? [] : [.old(span.content)])
  }

  /// The same for sections in another order: what comes to stand last in the text must be able to give its
  /// line end up, if the text has none at its end.
  private mutating func holdNewLast(
    of blocks: [RecordEdits.Block], _ gone: Set<Int>, _ units: inout [Int: Unit]
  ) throws(TableError) {
    guard try isOpen() else { return }
    for block in blocks.reversed() {
      guard block.edit == nil else { return }
      guard let last = block.records.last(where: { !gone.contains($0) }) else { continue }
      guard units[last] == nil, let span = try reader.span(of: last) else { return }
      edited.append(EditedRange(span.content, digest: span.digest))
      units[last] = Unit(span, span.content.isEmpty ? [] : [.old(span.content)])
      return
    }
  }

  private static func refusal(of number: Int, _ end: OpenEnd) -> TableError {
    let what =
      switch end {
      case .quote: "has a quote that is never closed"
      case .escape: "ends in an escape with nothing behind it"
      }
    return TableError(
      .readOnly, "row \(number) \(what); it and what would come behind it cannot be edited")
  }

  /// Where a record begins, or the text ends if it is the one behind the last.
  private func offset(of number: Int) throws(TableError) -> Int {
    if let span = try reader.span(of: number) { return span.content.lowerBound }
    guard number == reader.index.known else {
      throw TableError(
        .notFound,
        "there is no place for a row behind row \(number - 1); there are \(reader.index.known)")
    }
    if let end = try reader.span(of: number - 1)?.openEnd {
      throw RecordPlan.refusal(of: number - 1, end)
    }
    return size
  }

  /// Puts a part of the old text out that no edit touches.
  private mutating func putOut(_ range: Range<Int>) throws(TableError) {
    var range = range
    while let splice = prefix.first, splice.range.upperBound <= range.upperBound {
      prefix.removeFirst()
      table.append(old: range.lowerBound..<splice.range.lowerBound)
      table.append(new: splice.bytes)
      range = splice.range.upperBound..<range.upperBound
    }
    guard !range.isEmpty else { return }
    try endLine()
    try part(from: bytes.bytes(at: range.lowerBound, count: 1).first)
    table.append(old: range)
  }

  private mutating func putOut(_ unit: Unit, near: Int) throws(TableError) {
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
    held = (unit.lineEnd, unit.old, near, table.size == start)
  }

  /// Keeps a CR that ended a record from becoming one line end with a LF that comes to follow it.
  private mutating func part(from next: UInt8?) throws(TableError) {
    guard reader.rules.endsAtCarriageReturn, next == 10 else { return }
    if try lastByte() == 13 { table.append(new: [10]) }
  }

  /// Ends the record that was put out last, since another comes.
  private mutating func endLine() throws(TableError) {
    if let (lineEnd, old, near, _) = held {
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
    guard let held else { return }
    // What is empty is no record without a line end.
    let staysOpen = try isOpen()
    if held.isEmpty || !staysOpen { try endLine() }
  }

  /// Whether the old text ends without a line end. All of it is known by then.
  private func isOpen() throws(TableError) -> Bool {
    if let last = try reader.span(of: reader.index.known - 1) { return last.lineEnd == .none }
    // Only what stands before the records: a header, or nothing but a byte order mark.
    return prefixEnd == LineEnd.none
  }

  /// The line end of the records around a place, else of what stands before them, else LF.
  private func lineEnd(near number: Int) throws(TableError) -> LineEnd {
    var end = LineEnd.none
    // The last record may have none itself.
    for neighbour in [number - 1, number, number - 2] where end == .none {
      end = try reader.span(of: neighbour)?.lineEnd ?? .none
    }
    if end == .none { end = prefixEnd ?? .none }
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
