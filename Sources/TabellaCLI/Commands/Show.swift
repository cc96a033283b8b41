import Tabella
import TabellaHost

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION…", operandValues: [.location], summary: "prints a table",
    discussion: """
      The provider is the one that fits the location: by its scheme, else by the name of the file, else by \
      how the file begins. If that one is refused, the command fails and says why. `--provider` names another, \
      and `-o` sets its options; `tabella describe LOCATION` lists the columns and the options.

      Several locations are one table: their sections one after the other, columns united by name. The \
      options apply in this order, whatever order they are written in: locations are joined, then `--filter` \
      and `--search`, `--section-by`, `--sort`, `--section`, `--at-index`, `--rows`, `-n`.

      What stands in brackets behind a name is a badge that the provider gives (`[3 entries]`), not a part of \
      the cell; formats for programs do not have it.

      On a terminal a table fits its width: long text is cut, then columns at the right are left out and \
      named on standard error, and where less than a third fit a row is a record of several lines. Text that \
      holds numbers only stands at the right and is not cut. What is longer than the screen goes to a pager. \
      In a pipe or a file nothing is cut. All formats but `json` come as they are read; `json` is one document, \
      with the member `error` at its end if the rows ended early.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .format, .json, .noHeader, .withSection, .withRow,
    ] + OptionSpec.display,
    examples: [
      ("tabella show data.csv", "a file, by the provider that fits its name"),
      ("tabella show processes: --columns pid,user,command -n 20", "20 processes, three columns"),
      (
        "tabella show processes: --section-by user --sort memory:desc", "by user, the largest first"
      ),
      ("tabella show src/ --filter 'size > 1M' --filter 'name ~ \\.swift$'", "large Swift files"),
      ("tabella show src/ --section-by kind --style grouped", "a framed table for each kind"),
      ("tabella show src/ --style collection", "names only, as ls has them"),
      ("tabella show README.md -o sections=headings --at-index Install", "from a heading on"),
      ("tabella show a.csv b.csv", "two files as one table"),
      ("tabella show csv:/etc/passwd -o delimiter=: -o header=false --json", "as JSON"),
      ("tabella show data.csv --rows 1000..1009 --format csv", "ten rows from the middle"),
      (
        "tabella show data.csv --filter 'born > 1900' --with-row",
        "what every command calls the rows"
      ),
      ("tabella show data.csv --rows 1..1 --vertical always", "one row, a cell on each line"),
    ], seeAlso: ["count", "export", "describe"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "show", defaultFormat: "table")
  }

  static let export = Command(
    name: "export", operands: "LOCATION…", operandValues: [.location],
    summary: "writes all of a table for other programs",
    discussion: """
      The same as `show` with a format that other programs read: rows are written as they come, whatever \
      their number, and the bytes of cells as they are. Titles of sections are left out, unless `--with-section` makes them a column.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .exportFormat, .noHeader, .withSection, .withRow,
    ],
    examples: [
      ("tabella export data.csv --columns name,born", "two columns, as csv"),
      ("tabella export processes: --format jsonl", "an object a line"),
      (
        "tabella export src/ -o recursive=true --section-by kind --with-section --format tsv",
        "the sections as a column"
      ),
      (
        "tabella export data.csv --format arrow-stream > data.arrows",
        "for Arrow, pandas and Polars"
      ),
    ], seeAlso: ["show", "count"]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "export", defaultFormat: "csv")
  }

  /// Writes the table that the command line asks for.
  private static func show(
    _ invocation: Invocation, _ output: Output, command: String, defaultFormat: String
  ) throws(Failure) -> ExitStatus {
    let name = invocation.format ?? defaultFormat
    guard !invocation.hasSectionColumn || Formats.sectionColumnNames.contains(name) else {
      let names = Formats.sectionColumnNames.joined(separator: ", ")
      throw .usage(
        "--with-section is for \(names); \(name) shows sections by itself", command: command)
    }
    let isGrid = name == "table" && invocation.display.style == .collection
    guard !invocation.hasRowColumn || (name != "json" && !isGrid) else {
      throw .usage(
        "--with-row is not for \(isGrid ? "--style collection" : "json, which has the ids")",
        command: command)
    }
    let table = try ShapedTable(invocation, command: command)
    guard !invocation.hasRowColumn || table.tables.count == 1 else {
      throw .usage(
        "--with-row is for one location, since an edit is of one", command: command)
    }
    if invocation.hasRowColumn, table.source.identity == nil, invocation.givesOtherPositions {
      let line = invocation.line(command, without: Invocation.shapingNames)
      throw .usage(
        "--with-row: the rows have no ids, so that only the whole table shows how they are named: \(line)",
        command: command)
    }
    var shown = ShownTable(
      table, hasHeader: invocation.hasHeader,
      hidesEmptySections: !invocation.filters.isEmpty || invocation.search != nil,
      isGrouped: invocation.sectionBy != nil)
    var format = Formats.make(name, output, invocation.display)
    // The outer format puts its column first, and the inner one puts its own before that.
    if invocation.hasRowColumn {
      shown.columns.insert(RowColumn.column, at: 0)
      shown.beginsWithRowNames = true
    }
    if invocation.hasSectionColumn {
      shown.columns.insert(SectionColumn.column, at: 0)
      format = SectionColumn(format)
    }
    if invocation.hasRowColumn { format = RowColumn(format, of: table.source) }
    try format.begin(shown)
    let viewer = Viewer(shown, invocation.range, output)
    let failure = try viewer.show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    for note in format.notes { Messages.write(note, about: table.subject) }
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    if let failure { throw failure }
    return .done
  }
}
