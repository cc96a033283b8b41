import Tabella
import TabellaTerminal

/// An aligned table for people. On a terminal it fits the width; elsewhere nothing is cut.
///
/// The widths come from the first rows (``TableMeasure``), which are held back until then, and stay the same afterwards.
/// On a terminal, later text that is wider is cut. A wider number or date appears whole if its line fits.
struct TableFormat: Format {
  /// The maximum padding of a column if nothing is cut, so that one long cell does not widen all lines.
  private static let widestPadding = 200

  private let output: Output
  private let frame: Frame
  /// If less than one in so many columns fits, the table changes into records.
  private static let turning = 3
  /// Whether the table may change into records.
  private let mayTurn: Bool
  private let cells: ReadableCells
  private let lines: SectionLines
  private let limits: TableMeasure.Limits
  private var table: ShownTable?
  private var measure: TableMeasure?
  /// The number of columns that can be shown, from the first on.
  private(set) var columnLimit: Int?
  private var layout: TableLayout?
  /// The shown columns, from left to right.
  private var shown: [ShownColumn] = []
  /// The numbers of the columns that have no value, or no space.
  private var (empty, dropped) = ([Int](), [Int]())
  /// The format that writes records, after the change.
  private var records: VerticalFormat?
  private var held: [Piece] = []
  private var hasSection = false
  /// Whether the current section has a title.
  private var isTitled = false
  /// Whether the frame of a section is open.
  private var isOpen = false

  private struct ShownColumn {
    let index: Int
    let width: Int
    /// Whether the cells are aligned right: numbers, and text that looks like numbers.
    let isRight: Bool
    /// Whether a cell that is too wide may be cut.
    let canShrink: Bool
    /// The width of fractions if decimal points are aligned.
    let fraction: Int
  }

  /// A part of the table that has no layout yet.
  private enum Piece {
    case title(ShownSection)
    case rows(ShownRows)
    case end(ShownSection)
  }

  init(
    _ output: Output, isGrouped: Bool, mayTurn: Bool,
    limits: TableMeasure.Limits = TableMeasure.Limits()
  ) {
    self.output = output
    self.limits = limits
    self.mayTurn = mayTurn
    frame = Frame(isGrouped: isGrouped, isUnicode: output.screen.isUnicode)
    cells = ReadableCells(output.screen, limit: output.screen.width)
    lines = SectionLines(screen: output.screen)
  }

  private var screen: Screen { output.screen }

  var needs: FormatNeeds { [.elements, .links, .colours, .growingBatches] }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    self.table = table
    defer {
      let columns = Array(table.columns.prefix(columnLimit ?? .max))
      measure = TableMeasure(columns, mainColumn: table.mainColumn, cells, limits)
    }
    // Ranks decide about columns anywhere in the table.
    guard let width = frame.room(screen.width), ranks(table).allSatisfy({ $0 == nil }) else {
      return
    }
    // Each column needs at least one column of the terminal.
    let most = (width + frame.gap) / (1 + frame.gap) + 1
    if mayTurn, table.columns.count > TableFormat.turning * most { return try turn() }
    // Records show all columns, so the limit applies only to tables.
    if !mayTurn { columnLimit = most }
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try put(.title(section))
  }

  mutating func write(_ rows: ShownRows) throws(Failure) { try put(.rows(rows)) }

  mutating func endSection(_ section: ShownSection) throws(Failure) { try put(.end(section)) }

  // The rows of a stream appear when they arrive.
  mutating func pause() throws(Failure) { try layOut(isEnd: false) }

  mutating func end(failure: Failure?) throws(Failure) {
    try layOut(isEnd: failure == nil)
    if records != nil {
      try records?.end(failure: failure)
      return
    }
    try closeFrame()
    // At the end of a long table, the names at its top have scrolled away.
    if !frame.isGrouped, output.hasScrolled, table?.hasHeader == true {
      try writeRule(frame.middle)
      try writeNames()
    }
    if failure == nil { try lines.writeTotal(of: table, to: output) }
  }

  var notes: [String] {
    guard let table, layout != nil else { return records?.notes ?? [] }
    func note(_ text: String, _ numbers: [Int]) -> [String] {
      let names = numbers.prefix(50).map { table.columns[$0].name }.joined(separator: ", ")
      let rest = numbers.count - 50
      if numbers.isEmpty { return [] }
      return ["\(text): \(names)\(rest > 0 ? " and \(rest) others" : "")"]
    }
    return note("columns without any value", empty) + note("columns that do not fit", dropped)
  }

  var shownColumnCount: Int? { records == nil ? shown.count : nil }

  /// The ranks of the columns. Columns that the user named leave from the right, except that row names stay.
  private func ranks(_ table: ShownTable) -> [Int?] {
    if table.table.hasChosenColumns { return table.columns.map { _ in nil } }
    let before = table.columns.count - table.table.columns.count
    return table.columns.enumerated().map { $0 < before ? .min : $1.rank }
  }

  private mutating func put(_ piece: Piece) throws(Failure) {
    if layout != nil || records != nil { return try write(piece) }
    held.append(piece)
    // Many sections without rows are held only until the limit, too.
    guard case .rows(let rows) = piece else {
      if held.count > limits.rows { try layOut(isEnd: false) }
      return
    }
    measure?.add(rows)
    if measure?.isOver == true { try layOut(isEnd: false) }
  }

  /// Chooses the columns and their widths, writes the header, and then writes the held rows. `isEnd` is true if these
  /// are all rows.
  private mutating func layOut(isEnd: Bool) throws(Failure) {
    guard layout == nil, records == nil, let table, let measure else { return }
    var numbers = Array(measure.facts.indices)
    if isEnd, table.isWhole, screen.isTerminal, !measure.hasSkippedRows,
      !table.table.hasChosenColumns, measure.facts.contains(where: \.hasValue)
    {
      empty = numbers.filter { !measure.facts[$0].hasValue }
      numbers.removeAll { !measure.facts[$0].hasValue }
    }
    // A cut row name would not name the row.
    let canShrink = numbers.map { index in
      measure.canShrink(index) && !(table.beginsWithRowNames && index == 0)
    }
    let most = screen.width == nil ? TableFormat.widestPadding : .max
    let names = numbers.map { table.hasHeader ? SafeText(table.columns[$0].name).width : 0 }
    let ranks = ranks(table)
    var layout = TableLayout(
      cells: numbers.map { min(measure.widths($0).cells, most) }, names: names,
      canShrink: canShrink, ranks: numbers.map { ranks[$0] }, gap: frame.gap,
      width: frame.room(screen.width))
    let count = table.columns.count - empty.count
    if mayTurn, layout.fitting * TableFormat.turning < count { return try turn() }
    // Badges get only the remaining space.
    if let main = numbers.firstIndex(of: table.mainColumn) {
      layout.widen(main, to: measure.badges, within: frame.room(screen.width))
    }
    shown = layout.columns.map { number, width in
      let index = numbers[number]
      return ShownColumn(
        index: index, width: width, isRight: measure.isRight(index), canShrink: canShrink[number],
        fraction: measure.widths(index).fraction)
    }
    dropped = layout.dropped.map { numbers[$0] }
    dropped += Array(measure.facts.count..<table.columns.count)
    self.layout = layout
    if !frame.isGrouped { try writeHeader() }
    let pieces = held
    held = []
    for piece in pieces { try write(piece) }
  }

  /// Changes into records, beginning with the held rows.
  private mutating func turn() throws(Failure) {
    guard let table else { return }
    (columnLimit, empty) = (nil, [])
    records = VerticalFormat(output)
    records?.begin(table)
    let pieces = held
    held = []
    for piece in pieces { try write(piece) }
  }

  private mutating func write(_ piece: Piece) throws(Failure) {
    switch piece {
    case .title(let section):
      if records != nil { return try records!.beginSection(section) }
      try writeTitle(section)
    case .rows(let rows):
      if records != nil { return try records!.write(rows) }
      try openFrame()
      try writeRows(rows)
    case .end(let section):
      if records != nil { return try records!.endSection(section) }
      // A table without rows and titles still shows its column names.
      if section.count == .exact(0), !isTitled { try openFrame() }
      try closeFrame()
      try lines.writeBelow(section, indent: frame.indent, of: table, to: output)
    }
  }

  // Titles, rules and names

  private mutating func writeTitle(_ section: ShownSection) throws(Failure) {
    let isFirst = !hasSection
    hasSection = true
    isTitled = section.header != nil || section.headerElement != nil || table?.isGrouped == true
    if frame.isGrouped, !isFirst { try output.write("\n") }
    let before: SafeText = frame.isGrouped ? frame.indent : screen.rule(2) + " "
    let room = screen.width.map { max(1, $0 - before.width) }
    let table = try Failure.about(table?.table.subject) { () throws(TableError) in
      try lines.headerTable(section)
    }
    for line in table { try output.write("\(frame.indent)\(line)\n") }
    guard
      let title = lines.title(section, columns: room, isGroup: self.table?.isGrouped == true)
    else {
      // A blank line separates a section without a title from the previous one.
      if !frame.isGrouped, !isFirst, table.isEmpty { try output.write("\n") }
      return
    }
    let line: SafeText
    if frame.isGrouped {
      line = before + title
    } else {
      let width = min(layout?.total ?? 0, screen.width ?? TableFormat.widestPadding)
      let rest = width - before.width - title.width - 1
      line =
        screen.paint(screen.rule(2), .faint) + " " + title
        + (rest > 0 ? " " + screen.paint(screen.rule(rest), .faint) : SafeText())
    }
    try output.write("\(line)\n")
  }

  private func writeHeader() throws(Failure) {
    guard let table, table.hasHeader, !shown.isEmpty else { return }
    try writeNames()
    try writeRule(frame.middle)
    // The names of an open table stay at the top of a pager.
    if !frame.isGrouped { output.keepLinesAbove() }
  }

  private func writeNames() throws(Failure) {
    guard let table, layout != nil else { return }
    let names = shown.map { column in
      let name = SafeText(table.columns[column.index].name)
        .fitted(to: column.width, ellipsis: screen.ellipsis)
      return Shown(
        text: screen.paint(screen.isolated(name), .heading), width: column.width,
        isRight: column.isRight)
    }
    try write(names)
  }

  private func writeRule(_ corners: Frame.Rule) throws(Failure) {
    guard !shown.isEmpty else { return }
    let parts = shown.map { screen.rule($0.width) }
    let rule = corners.left + SafeText.joined(parts, separator: corners.middle) + corners.right
    try output.write(screen.paint(rule, .faint) + "\n")
  }

  private mutating func openFrame() throws(Failure) {
    guard frame.isGrouped, !isOpen else { return }
    isOpen = true
    try writeRule(frame.top)
    try writeHeader()
  }

  private mutating func closeFrame() throws(Failure) {
    guard frame.isGrouped, isOpen else { return }
    isOpen = false
    try writeRule(frame.bottom)
  }

  // Rows

  /// Whether rows without colours and marks may be written as bytes. Only a test that compares both ways says no.
  var writesBytes = true

  private func writeRows(_ rows: ShownRows) throws(Failure) {
    let isPlain =
      writesBytes && !screen.palette.isColoured && !output.isFrame && rows.links == nil
      && rows.badges == nil && rows.marks == nil
    let line = PlainLine(
      left: Array(frame.left.string.utf8), separator: Array(frame.separator.string.utf8),
      right: Array(frame.right.string.utf8),
      columns: shown.map { PlainColumn($0, rows.batch.columns[$0.index], table?.columns[$0.index]) }
    )
    var text: [UInt8] = []
    for row in 0..<rows.batch.rowCount {
      let isWritten = isPlain && append(rows, row, line, to: &text)
      if !isWritten || text.count >= 1 << 16 {
        try output.write(safe: text)
        text.removeAll(keepingCapacity: true)
      }
      if !isWritten { try write(rows, row) }
    }
    try output.write(safe: text)
    withExtendedLifetime(rows) {}
  }

  /// The parts that all lines of a batch have in common, if they are written as bytes.
  private struct PlainLine {
    let left, separator, right: [UInt8]
    let columns: [PlainColumn]
  }

  /// A column of a batch. It contains only pointers, so that using it costs no reference counting. The batch must live
  /// longer.
  private struct PlainColumn {
    let shown: ShownColumn
    /// The cells, if they are text that may be shown as it is, without missing ones.
    let texts: (offsets: UnsafePointer<Int32>, bytes: UnsafeRawPointer)?

    init(_ shown: ShownColumn, _ cells: ColumnBatch, _ column: Column?) {
      self.shown = shown
      let isText = cells.type == .text && cells.missingCount == 0 && column?.unit == nil
      texts = cells.withUnsafeLayout { layout in
        guard isText, let offsets = layout.offsets, let bytes = layout.values else { return nil }
        return (offsets + layout.start, bytes)
      }
    }

    /// The bytes of a cell that are printed unchanged; nil if the cell is none.
    func plainText(_ row: Int) -> UnsafeRawBufferPointer? {
      guard let texts else { return nil }
      let start = Int(texts.offsets[row])
      let text = UnsafeRawBufferPointer(
        start: texts.bytes + start, count: Int(texts.offsets[row + 1]) - start)
      return SafeText.isPlain(text) ? text : nil
    }
  }

  /// Appends a row as ``write(_:_:)`` would write it. Returns false, and appends nothing, if a cell does not fit.
  ///
  /// Texts that are put together cell by cell cost five times as much.
  private func append(
    _ rows: ShownRows, _ row: Int, _ line: PlainLine, to text: inout [UInt8]
  ) -> Bool {
    let start = text.count
    text += line.left
    // In an open table, nothing follows the last cell that is not empty.
    var end = text.count
    for number in line.columns.indices {
      if number > 0 { text += line.separator }
      let column = line.columns[number]
      let fits: Bool
      if let bytes = column.plainText(row) {
        fits = append(bytes, width: bytes.count, number, column.shown, to: &text, end: &end)
      } else {
        fits = appendOther(rows, row, number, column.shown, to: &text, end: &end)
      }
      guard fits else {
        text.removeLast(text.count - start)
        return false
      }
    }
    if !frame.isGrouped { text.removeLast(text.count - end) }
    text += line.right
    text.append(10)
    return true
  }

  /// Appends a cell that is not printed as it is.
  private func appendOther(
    _ rows: ShownRows, _ row: Int, _ number: Int, _ column: ShownColumn, to text: inout [UInt8],
    end: inout Int
  ) -> Bool {
    guard let table else { return false }
    let batch = rows.batch.columns[column.index]
    let cell = cells.text(batch, table.columns[column.index], row)
    guard !cell.hasRightToLeft else { return false }
    var string = cell.string
    return string.withUTF8 {
      append(
        UnsafeRawBufferPointer($0), width: cell.width, number, column,
        isMissing: batch.isMissing(row), to: &text, end: &end)
    }
  }

  /// Appends the bytes of a cell with the space around it. `end` becomes the end of the bytes, unless there are none.
  /// If nothing limits the line, a cell that is wider than its column moves the rest of the line to the right.
  private func append(
    _ bytes: UnsafeRawBufferPointer, width: Int, _ number: Int, _ column: ShownColumn,
    isMissing: Bool = false, to text: inout [UInt8], end: inout Int
  ) -> Bool {
    guard width <= column.width || screen.width == nil else { return false }
    var padding = 0
    if column.fraction > 0, !isMissing, let table {
      let whole = ReadableCells.wholeWidth(bytes, table.columns[column.index])
      padding = max(0, min(column.fraction - (width - whole), column.width - width))
    }
    let free = max(0, column.width - width)
    let space = column.isRight ? free - padding : 0
    text += repeatElement(32, count: space)
    text.append(contentsOf: bytes)
    if width > 0 || number == 0 { end = text.count }
    text += repeatElement(32, count: free - space)
    return true
  }

  private func write(_ rows: ShownRows, _ row: Int) throws(Failure) {
    guard let table, let layout else { return }
    output.beginRows(mark: rows.marks?[row])
    defer { output.endRows() }
    /// The space at the end of the line; nil if there is no limit.
    var spare = frame.room(screen.width).map { max(0, $0 - layout.total) }
    let line = shown.enumerated().map { number, column in
      let (index, width) = (column.index, column.width)
      let batch = rows.batch.columns[index]
      let text = cells.text(batch, table.columns[index], row)
      var room = width
      // A cell can be wider than the measured ones.
      let excess = text.width - width
      if excess > 0 {
        if let rest = spare {
          // Nothing follows the last cell of an open table, so it shifts nothing.
          let isLast = !frame.isGrouped && number == shown.count - 1
          if column.canShrink {
            room += isLast ? min(rest, excess) : 0
          } else if excess <= rest {
            room += excess
          }
          spare = rest - (room - width)
        } else {
          room = text.width
        }
      }
      var dressed = cells.dressed(text, rows, row, column: index, columns: room)
      var padding = 0
      if column.fraction > 0, !batch.isMissing(row) {
        let whole = ReadableCells.wholeWidth(text.string.utf8, table.columns[index])
        padding = max(0, min(column.fraction - (text.width - whole), width - dressed.width))
      }
      if index == table.mainColumn {
        if let address = rows.links?[row] { dressed = dressed.linked(to: address) }
        // A badge appears only if the cell leaves room for it.
        if let badge = rows.badge(row, screen), dressed.width + 1 + badge.width <= room {
          dressed.append(" " + badge)
        }
      }
      return Shown(text: dressed, width: width, isRight: column.isRight, padding: padding)
    }
    try write(line)
  }

  /// A cell ready for output.
  private struct Shown {
    let text: SafeText
    let width: Int
    var isRight = false
    /// The number of spaces after a number, so that its decimal point is below the others.
    var padding = 0
  }

  private func write(_ shown: [Shown]) throws(Failure) {
    var line = frame.left
    // In an open table, nothing follows the last cell that is not empty.
    let last = frame.isGrouped ? nil : shown.lastIndex { $0.text.width > 0 } ?? 0
    for (number, cell) in shown.enumerated() {
      if number > last ?? .max { break }
      if number > 0 { line.append(frame.separator) }
      let text =
        cell.isRight
        ? cell.text.padded(to: cell.width - cell.padding, alignedRight: true) : cell.text
      line.append(number == last ? text : text.padded(to: cell.width))
    }
    line.append(frame.right)
    line.append("\n")
    try output.write(line)
  }
}

/// The text around and between the columns: space, or lines.
private struct Frame {
  struct Rule {
    let left: SafeText
    let middle: SafeText
    let right: SafeText
  }

  let isGrouped: Bool
  let left: SafeText
  let separator: SafeText
  let right: SafeText
  let top: Rule
  let middle: Rule
  let bottom: Rule
  /// The text in front of titles and footers.
  let indent: SafeText

  init(isGrouped: Bool, isUnicode: Bool) {
    self.isGrouped = isGrouped
    guard isGrouped else {
      (left, separator, right, indent) = ("", "  ", "", "")
      middle = Rule(left: "", middle: "  ", right: "")
      (top, bottom) = (middle, middle)
      return
    }
    indent = "  "
    if isUnicode {
      (left, separator, right) = ("│ ", " │ ", " │")
      top = Rule(left: "╭─", middle: "─┬─", right: "─╮")
      middle = Rule(left: "├─", middle: "─┼─", right: "─┤")
      bottom = Rule(left: "╰─", middle: "─┴─", right: "─╯")
    } else {
      (left, separator, right) = ("| ", " | ", " |")
      top = Rule(left: "+-", middle: "-+-", right: "-+")
      (middle, bottom) = (top, top)
    }
  }

  var gap: Int { separator.width }

  /// The part of a width that remains for columns and gaps.
  func room(_ width: Int?) -> Int? { width.map { max(1, $0 - left.width - right.width) } }
}
