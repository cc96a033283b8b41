import Tabella
import TabellaHost
import TabellaTerminal

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION…", operandValues: [.location], summary: "print a table",
    discussion: """
      The location decides which provider opens it: first the scheme, then the name of the file, then the first bytes \
      of the file. If that provider is refused, the command fails and prints the reason. `--provider` names another \
      provider, and `-o` sets its options. `tabella describe LOCATION` lists the columns and the options.

      Several locations form one table. It contains their sections in order, and columns with the same name become one \
      column. The options apply in a fixed order, whatever their order on the command line: the locations are joined, \
      then `--filter` and `--search`, `--section-by`, `--sort`, `--section`, `--at-index`, `--rows`, `-n`.

      Text in brackets after a name is a badge of the provider, such as `[3 entries]`. It does not belong to the cell. \
      Formats for programs leave it out.

      On a terminal a table fits its width. The command cuts long text, but never numbers and dates. It leaves out the \
      least important columns before it cuts important ones; the provider ranks its columns, and columns of `--columns` \
      leave from the right. Columns without any value are left out, too, unless you name them. Standard error names the \
      columns that were left out. If less than a third of the columns fit, the command prints each row as a record of \
      several lines. The last line counts the rows and columns. Output that is longer than the screen goes to a pager. In \
      a pipe or a file nothing is cut. All formats except `json` print rows while they are read. `json` prints one \
      document. If the rows end early, its last member is `error`.

      On a terminal, file names have the colours of `ls` (`LS_COLORS`). Text that `--search` or a filter with `~` matched \
      is highlighted.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .format, .json, .noHeader, .withSection, .withRow, .index,
    ] + OptionSpec.display,
    examples: [
      ("tabella show data.csv", "show a file; its name decides which provider opens it"),
      (
        "tabella show processes: --columns pid,user,command -n 20",
        "show three columns of 20 processes"
      ),
      (
        "tabella show processes: --section-by user --sort memory:desc",
        "group by user, largest first"
      ),
      (
        "tabella show src/ --filter 'size > 1M' --filter 'name ~ \\.swift$'",
        "show large Swift files"
      ),
      ("tabella show src/ --section-by kind --style grouped", "show a framed table per kind"),
      ("tabella show src/ --style collection", "show only names, in a grid as ls does"),
      ("tabella show README.md -o sections=headings --at-index Install", "start at a heading"),
      ("tabella show a.csv b.csv", "show two files as one table"),
      ("tabella show csv:/etc/passwd -o delimiter=: -o header=false --json", "print JSON"),
      ("tabella show data.csv --rows 1000..1009 --format csv", "print ten rows from the middle"),
      (
        "tabella show data.csv --filter 'born > 1900' --with-row",
        "show the names of rows, for other commands"
      ),
      (
        "tabella show data.csv --rows 1..1 --vertical always",
        "show one row, with one cell per line"
      ),
    ], seeAlso: ["count", "export", "describe"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "show", defaultFormat: "table")
  }

  static let export = Command(
    name: "export", operands: "LOCATION…", operandValues: [.location],
    summary: "write a whole table for other programs",
    discussion: """
      The same as `show`, but in a format for other programs. The command prints rows while it reads them, whatever \
      their number, and prints the bytes of cells unchanged. It leaves out titles of sections unless `--with-section` \
      adds them as a column.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .exportFormat, .noHeader, .withSection, .withRow,
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
    ], seeAlso: ["show", "count"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "export", defaultFormat: "csv")
  }

  /// Writes the table that the command line describes.
  private static func show(
    _ invocation: Invocation, _ output: Output, command: String, defaultFormat: String
  ) throws(Failure) -> ExitStatus {
    let name = invocation.format ?? defaultFormat
    guard !invocation.hasSectionColumn || Formats.sectionColumnNames.contains(name) else {
      let names = Formats.sectionColumnNames.joined(separator: ", ")
      throw .usage(
        "--with-section works with \(names); \(name) shows sections anyway, so leave the option out",
        command: command)
    }
    let isGrid = name == "table" && invocation.display.style == .collection
    guard !invocation.hasRowColumn || (name != "json" && !isGrid) else {
      throw .usage(
        "--with-row does not work with \(isGrid ? "--style collection" : "json, which contains the ids"); leave it out",
        command: command)
    }
    let isReadable = Formats.readableNames.contains(name)
    guard !invocation.hasIndex || isReadable else {
      let names = Formats.readableNames.joined(separator: " and ")
      throw .usage("--index works with \(names); leave it out", command: command)
    }
    let table = try ShapedTable(invocation, command: command)
    guard !invocation.hasRowColumn || table.tables.count == 1 else {
      throw .usage(
        "--with-row works with one location only, because an edit changes one location",
        command: command)
    }
    if invocation.hasRowColumn, table.source.identity == nil, invocation.givesOtherPositions {
      let line = invocation.line(command, without: Invocation.shapingNames)
      throw .usage(
        "--with-row: the rows have no ids, so only the whole table can show their names; run: \(line)",
        command: command)
    }
    var shown = ShownTable(
      table, hasHeader: invocation.hasHeader,
      hidesEmptySections: !invocation.filters.isEmpty || invocation.search != nil,
      isGrouped: invocation.sectionBy != nil)
    var format = Formats.make(name, output, invocation.display)
    // The outer format puts its column first. The inner format puts its own column in front of that.
    if invocation.hasRowColumn {
      shown.columns.insert(RowColumn.column, at: 0)
      shown.beginsWithRowNames = true
    }
    if invocation.hasSectionColumn {
      shown.columns.insert(SectionColumn.column, at: 0)
      format = SectionColumn(format)
    }
    if invocation.hasRowColumn { format = RowColumn(format, of: table.source) }
    if isReadable {
      let before = shown.columns.count - table.columns.count
      shown.highlights = Highlights(
        table.shape, columns: Array(repeating: nil, count: before) + table.columns)
      shown.isWhole = ChosenRows(table, range: invocation.range).isEverything
      shown.stream = RowStream(table.tables.map(\.location))
    }
    if invocation.hasIndex { try writeIndex(of: table, output) }
    try format.begin(shown)
    var viewer = Viewer(shown, invocation.range, output)
    let failure = try viewer.show(in: &format)
    try format.end(failure: failure)
    if isReadable, output.isTerminal, failure == nil {
      let summary = try Failure.about(table.subject) { () throws(TableError) in
        try viewer.summary(shownColumns: format.shownColumnCount)
      }
      let screen = output.screen
      try output.write(screen.paint(screen.fitted(summary), .faint) + "\n")
    }
    try output.finish()
    for note in format.notes { Messages.write(note, about: table.subject) }
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    if let failure { throw failure }
    return .done
  }

  /// Writes the titles of the index as a line: `Index: A B C`. If the screen is narrower, the last title follows an
  /// ellipsis.
  private static func writeIndex(of table: ShapedTable, _ output: Output) throws(Failure) {
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
}
