import Tabella
import TabellaSystem
import TabellaTerminal

/// The widths of the cells of a table, from its first rows.
struct TableMeasure {
  /// The limits: the measure ends at the first one that is reached.
  struct Limits {
    /// The maximum number of rows.
    var rows = 100_000
    /// The maximum size of the cells, in bytes.
    var bytes = 16 << 20
    /// The maximum time since the measure was created, in seconds.
    var seconds = 0.05
    /// The number of rows, and of cells, that are measured even if that time is over. So the same rows have the same
    /// widths, however slowly they come.
    var least = (rows: 1024, cells: 1 << 18)
    /// The time after which no further batch is measured, in seconds.
    var patience = 1.0
  }

  /// The facts about the cells of a column.
  struct Facts {
    /// The width of the widest cell. In a column of aligned numbers, also the sum of the two widths below.
    var width = 0
    /// The maximum widths of numbers before the decimal point, and from it on.
    var number = (whole: 0, fraction: 0)
    /// Whether all texts are numbers, or dates; nil until there is one.
    var holdsNumbers: Bool?
    var holdsDates: Bool?
    /// Whether a cell is neither missing nor empty text.
    var hasValue = false
  }

  private let columns: [Column]
  /// The column that has the badges.
  private let mainColumn: Int
  private let cells: ReadableCells
  private let limits: Limits
  private let began = now()
  private var rows = 0
  private var bytes = 0
  private(set) var facts: [Facts]
  /// The width of the widest cell of the main column with its badge; 0 if there are no badges.
  private(set) var badges = 0
  /// Whether a limit was reached, so that further rows are not measured.
  private(set) var isOver = false
  /// Whether some rows were not measured.
  private(set) var hasSkippedRows = false

  init(
    _ columns: [Column], mainColumn: Int = 0, _ cells: ReadableCells, _ limits: Limits = Limits()
  ) {
    self.columns = columns
    self.mainColumn = mainColumn
    self.cells = cells
    self.limits = limits
    facts = columns.map { _ in Facts() }
  }

  /// Measures rows until a limit is reached.
  mutating func add(_ shown: ShownRows) {
    let width = max(1, columns.count)
    let step = max(1, 4096 / width)
    let least = min(limits.least.rows, limits.least.cells / width)
    var isLate: Bool { rows >= least && now() >= began + limits.seconds }
    var row = 0
    while row < shown.batch.rowCount, !isOver {
      let end = min(row + step, shown.batch.rowCount, row + max(1, limits.rows - rows))
      for index in columns.indices { measure(shown, row..<end, index) }
      rows += end - row
      row = end
      isOver = rows >= limits.rows || bytes >= limits.bytes || isLate
    }
    if row < shown.batch.rowCount { hasSkippedRows = true }
    if isLate || now() >= began + limits.patience { isOver = true }
  }

  private mutating func measure(_ shown: ShownRows, _ rows: Range<Int>, _ index: Int) {
    let (batch, column) = (shown.batch.columns[index], columns[index])
    var facts = facts[index]
    let isAligned = ReadableCells.hasPoint(column)
    for row in rows {
      guard !batch.isMissing(row) else {
        facts.width = max(facts.width, cells.screen.missing.width)
        noteBadge(shown, row, index, cells.screen.missing.width)
        continue
      }
      let width: Int
      if batch.type == .text {
        width = batch.withBytes(at: row) { text in
          bytes += text.count
          facts.hasValue = facts.hasValue || !text.isEmpty
          note(text, column, &facts)
          return cells.width(of: text)
        }
      } else {
        bytes += 8
        facts.hasValue = true
        let text = cells.text(batch, column, row)
        if isAligned { facts.noteNumber(text, column) }
        width = text.width
      }
      facts.width = max(facts.width, width)
      noteBadge(shown, row, index, width)
    }
    self.facts[index] = facts
  }

  /// Notes whether a text is a number or a date.
  private func note(_ text: UnsafeRawBufferPointer, _ column: Column, _ facts: inout Facts) {
    guard !text.isEmpty else { return }
    if facts.holdsNumbers != false {
      let isNumber = ReadableCells.isNumber(text, hasDecimalComma: column.hasDecimalComma)
      facts.holdsNumbers = isNumber
      if isNumber {
        let whole = ReadableCells.wholeWidth(text, column)
        facts.noteNumber(whole: whole, fraction: text.count - whole)
      }
    }
    if facts.holdsDates != false { facts.holdsDates = ReadableCells.isDate(text) }
  }

  private mutating func noteBadge(_ shown: ShownRows, _ row: Int, _ index: Int, _ width: Int) {
    guard index == mainColumn, let badge = shown.badge(row, cells.screen) else { return }
    badges = max(badges, width + 1 + badge.width)
  }

  /// Whether the cells of a column are aligned right.
  func isRight(_ index: Int) -> Bool {
    ReadableCells.isRight(columns[index]) || facts[index].holdsNumbers == true
  }

  /// Whether the cells of a column may be cut. A cut number or date would look like another one.
  func canShrink(_ index: Int) -> Bool {
    ReadableCells.canShrink(columns[index]) && !isRight(index) && facts[index].holdsDates != true
  }

  /// The width of a column's cells, and the width of their fractions if their decimal points are aligned.
  func widths(_ index: Int) -> (cells: Int, fraction: Int) {
    let facts = facts[index]
    guard ReadableCells.hasPoint(columns[index]) || facts.holdsNumbers == true else {
      return (facts.width, 0)
    }
    return (max(facts.width, facts.number.whole + facts.number.fraction), facts.number.fraction)
  }
}

extension TableMeasure.Facts {
  fileprivate mutating func noteNumber(_ text: SafeText, _ column: Column) {
    var string = text.string
    let whole = string.withUTF8 {
      ReadableCells.wholeWidth(UnsafeRawBufferPointer($0), column)
    }
    noteNumber(whole: whole, fraction: text.width - whole)
  }

  fileprivate mutating func noteNumber(whole: Int, fraction: Int) {
    number.whole = max(number.whole, whole)
    number.fraction = max(number.fraction, fraction)
  }
}

// Numbers and dates in text.

extension ReadableCells {
  /// The distance of tab stops, from the beginning of a cell.
  static let tabStop = 8

  /// The width of a text cell, as ``text(_:_:_:)`` would have it.
  func width(of text: UnsafeRawBufferPointer) -> Int {
    let limit = screen.width ?? .max
    if text.count <= limit, text.allSatisfy({ 0x20...0x7E ~= $0 }) { return text.count }
    return SafeText(bytes: text, columns: limit, tabStop: ReadableCells.tabStop).width
  }

  /// Whether the decimal points of a column are aligned. Integers have none, and dates and sizes have other forms.
  static func hasPoint(_ column: Column) -> Bool { column.valueType == .real }

  /// The width of a number up to its decimal point, or up to its exponent if it has no point.
  static func wholeWidth(_ number: some Sequence<UInt8>, _ column: Column) -> Int {
    let comma = column.type == .text && column.hasDecimalComma
    let point = comma ? UInt8(ascii: ",") : UInt8(ascii: ".")
    var width = 0
    for byte in number {
      // The name of a number, such as nan, has no fraction. A number begins with a sign or a digit.
      if byte == point || (width > 0 && byte | 0x20 == UInt8(ascii: "e")) { return width }
      width += 1
    }
    return width
  }

  /// Whether a text looks like a date: `2026-05-01`, perhaps with a time.
  static func isDate(_ text: UnsafeRawBufferPointer) -> Bool {
    guard 10...40 ~= text.count else { return false }
    for (index, byte) in text.prefix(10).enumerated() {
      guard index == 4 || index == 7 ? byte == UInt8(ascii: "-") : 48...57 ~= byte else {
        return false
      }
    }
    let others: StaticString = "T:.,Z+- "
    return text.dropFirst(10).allSatisfy { byte in
      48...57 ~= byte
        || (0..<others.utf8CodeUnitCount).contains { others.utf8Start[$0] == byte }
    }
  }
}
