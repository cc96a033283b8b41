import Tabella
import TabellaTerminal

/// One frame of `--watch`: the lines of a table that fit a terminal, and a closing line.
struct WatchFrame {
  /// The width of the marks in front of each line.
  private static let gutter = 2

  private(set) var lines: [FrameLines.Line] = []
  /// The numbers of marks, the subject, and the numbers of rows and columns.
  private(set) var summary: SafeText = ""

  /// Draws the table with the options of a command line, as far as it fits.
  ///
  /// Throws the failure of the table. It reads only the rows that the frame shows.
  init(
    of table: ShapedTable, _ invocation: Invocation, marks: RowMarks, on screen: Screen
  ) throws(Failure) {
    let height = WatchFrame.height(of: screen)
    var inner = screen
    inner.width = max(1, (screen.width ?? 80) - WatchFrame.gutter)
    let frame = FrameLines(limit: height)
    let output = Output(frame, screen: inner)
    let name = invocation.format ?? "table"
    let isGrid = name == "table" && invocation.display.style == .collection
    // Each row has at least one line, except in a grid.
    let limit = isGrid ? height.advancedUp(by: height * (inner.width ?? 0)) : height
    let invocation = try invocation.resolved(in: table)
    let range = invocation.range.clamped(
      to: invocation.range.lowerBound..<invocation.range.lowerBound.advancedUp(by: limit))
    var shown = try ShownTable(table, invocation, command: "show", format: name, inner)
    shown.marks = marks
    if shown.isWhole {
      shown.isWhole = try Failure.about(table.subject) { () throws(TableError) in
        try table.source.hasAtMost(limit)
      }
    }
    var format = Formats.make(name, output, invocation, of: table)
    if invocation.hasIndex { try Command.writeIndex(of: table, output) }
    try format.begin(shown)
    var viewer = Viewer(shown, range, output)
    if let failure = try viewer.show(in: &format) { throw failure }
    try format.end(failure: nil)
    lines = frame.lines
    summary = try Failure.about(table.subject) { () throws(TableError) in
      try viewer.summary(shownColumns: format.shownColumnCount, visibleRows: frame.rowCount)
    }
    var counts = SafeText()
    let minus: SafeText = screen.isUnicode ? "−" : "-"
    for (sign, count) in [
      ("+" as SafeText, marks.insertedCount), ("~", marks.changedCount),
      (minus, marks.removedCount),
    ] where count > 0 {
      counts.append(sign + "\(count.grouped)  ")
    }
    summary = counts + "\(table.subject)  " + summary
  }

  /// The number of lines for the table. The last line of the screen is the closing line.
  private static func height(of screen: Screen) -> Int { max(1, (screen.height ?? 24) - 1) }

  /// The bytes that draw the frame over the one before. `note` replaces the summary; `now` is the time of the data.
  func bytes(on screen: Screen, note: SafeText?, at time: Timestamp, hasKeys: Bool) -> [UInt8] {
    // The terminal shows the frame as a whole if it knows synchronized output, mode 2026.
    var text = Array("\u{1B}[?2026h".utf8)
    let height = WatchFrame.height(of: screen)
    for number in 0..<height {
      // Erasing after a full line would erase its last character.
      text += Array("\u{1B}[\(number + 1);1H\u{1B}[K".utf8)
      if lines.indices.contains(number) {
        text += Array(sign(of: lines[number].mark, screen).string.utf8)
        text += lines[number].text
      }
    }
    text += Array("\u{1B}[\(height + 1);1H\u{1B}[K".utf8)
    let line = closingLine(on: screen, note: note, at: time, hasKeys: hasKeys)
    text += Array("\(line.string)\u{1B}[?2026l".utf8)
    return text
  }

  private func sign(of mark: RowMark?, _ screen: Screen) -> SafeText {
    switch mark {
    case .inserted: screen.paint("+", .inserted) + " "
    case .changed: screen.paint("~", .warning) + " "
    case nil: "  "
    }
  }

  /// `+1  data.csv  12 rows, 3 columns        14:05:09  q quits`
  private func closingLine(
    on screen: Screen, note: SafeText?, at time: Timestamp, hasKeys: Bool
  ) -> SafeText {
    let width = screen.width ?? 80
    let clock = screen.zone.civil(time).secondText + (screen.zone.isUTC ? "Z" : "")
    var end: SafeText = "\(clock)  "
    end.append(hasKeys ? "q quits" : "Ctrl-C quits")
    guard end.width < width else { return screen.paint(end.fitted(to: width), .faint) }
    let room = max(0, width - end.width - 2)
    let start = (note ?? summary).fitted(to: room, ellipsis: screen.ellipsis)
    return screen.paint(start, note == nil ? .heading : .error)
      + SafeText.spaces(width - start.width - end.width) + screen.paint(end, .faint)
  }
}

extension TableDataSource {
  /// Whether all sections together have at most this many rows. Counts no further than necessary.
  func hasAtMost(_ limit: Int) throws(TableError) -> Bool {
    var (section, rows) = (0, 0)
    while rows <= limit, try numberOfSections(knowing: section + 1).value > section {
      rows += try numberOfRows(inSection: section, knowing: limit.advancedUp(by: 1)).value
      section += 1
    }
    return rows <= limit
  }
}
