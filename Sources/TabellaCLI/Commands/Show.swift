import Tabella
import TabellaHost
import TabellaTerminal

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION…", operandValues: [.location],
    summary: "print a table; `tabella LOCATION…` does the same",
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .footer, .format, .json, .noHeader, .withSection, .withNumber, .withRow, .index,
      .utc, .follow, .watch,
    ] + OptionSpec.display,
    examples: [
      ("tabella show data.csv --filter 'born > 1900' -n 5", "choose rows"),
      ("tabella show processes: --columns pid,user,command -n 20", "choose columns"),
      ("tabella show a.csv b.csv --json", "print two files as JSON"),
    ], seeAlso: ["locations", "rows", "filter", "sections", "formats", "follow", "summarize"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "show", defaultFormat: "table")
  }

  static let export = Command(
    name: "export", operands: "LOCATION…", operandValues: [.location],
    summary: "write a whole table for other programs",
    discussion: """
      The same as `show`, but in a format for other programs. The command prints any number of rows in constant memory. \
      It leaves out titles of sections unless `--with-section` adds them.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .exportFormat, .noHeader, .withSection, .withNumber, .withRow, .utc,
    ],
    examples: [
      ("tabella export data.csv --columns name,born", "write two columns as csv"),
      ("tabella export processes: --format jsonl", "write one object per line"),
      (
        "tabella export src/ -o recursive=true --section-by kind --with-section --format tsv",
        "write the sections as a column"
      ),
      (
        "tabella export data.csv --format arrow-stream > data.arrows",
        "write a file for Arrow, pandas and Polars"
      ),
    ], seeAlso: ["show", "formats"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "export", defaultFormat: "csv")
  }

  /// Writes the table that the command line describes.
  private static func show(
    _ invocation: Invocation, _ output: Output, command: String, defaultFormat: String
  ) throws(Failure) -> ExitStatus {
    let name = invocation.format ?? defaultFormat
    try invocation.checkShow(name, command: command)
    try invocation.checkLive(name, output.screen, command: command)
    switch invocation.live {
    case .watch(let interval)?:
      return try Watching.run(invocation, output, interval: interval) { () throws(Failure) in
        try ShapedTable(invocation, command: command)
      }
    case .follow?: return try Following.run(invocation, output, format: name)
    case nil: break
    }
    let table = try ShapedTable(invocation, command: command)
    let invocation = try invocation.resolved(in: table)
    var shown = try ShownTable(table, invocation, command: command, format: name, output.screen)
    shown.stream = RowStream(table.tables.map(\.location))
    var format = Formats.make(name, output, invocation, of: table)
    if invocation.hasIndex { try writeIndex(of: table, output) }
    try write(shown, in: &format, invocation, output)
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    if Formats.readableNames.contains(name) {
      for note in EmptyResult.notes(about: table) { Messages.write(note, about: table.subject) }
    }
    return .done
  }

  /// Writes the titles of the index as a line: `Index: A B C`. If the screen is narrower, the last title follows an
  /// ellipsis.
  static func writeIndex(of table: ShapedTable, _ output: Output) throws(Failure) {
    let titles = try Failure.about(table.subject) { () throws(TableError) in
      try table.source.titledIndex().titles.map { SafeText($0) }
    }
    let screen = output.screen
    let hasBlanks = titles.contains { $0.string.utf8.contains(32) }
    let separator: SafeText = !hasBlanks ? " " : screen.isUnicode ? " · " : ", "
    let width = screen.width ?? .max
    var line: SafeText = "Index: " + .joined(titles, separator: separator)
    if line.width > width, let last = titles.last {
      // As many titles as fit, an ellipsis, and the last title.
      let end = screen.ellipsis + separator + last
      line = "Index: "
      for title in titles {
        let next = line + title + separator
        if next.width + end.width > width { break }
        line = next
      }
      line = screen.fitted(line + end)
    }
    try output.write(screen.paint(line, .faint) + "\n")
  }

  /// Writes a table in a format, the closing line on a terminal, and the notes of the format.
  static func write(
    _ shown: ShownTable, in format: inout any Format, _ invocation: Invocation, _ output: Output
  ) throws(Failure) {
    try format.begin(shown)
    var viewer = Viewer(shown, invocation.range, output)
    let failure = try viewer.show(in: &format)
    try format.end(failure: failure)
    if output.isTerminal, failure == nil,
      Formats.readableNames.contains(invocation.format ?? "table")
    {
      let summary = try Failure.about(shown.table.subject) { () throws(TableError) in
        try viewer.summary(shownColumns: format.shownColumnCount)
      }
      let screen = output.screen
      try output.write(screen.paint(screen.fitted(summary), .faint) + "\n")
    }
    try output.finish()
    for note in format.notes { Messages.write(note, about: shown.table.subject) }
    if let failure {
      Messages.writeDiagnostics(of: shown.table.source, location: shown.table.subject)
      throw failure
    }
  }
}
