import Tabella
import TabellaHost

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION…", operandValues: [.location], summary: "print a table",
    discussion: """
      The location decides which provider opens it: first the scheme, then the name of the file, then the first bytes \
      of the file. If that provider is refused, the command fails and prints the reason. `--provider` names another \
      provider, and `-o` sets its options. `tabella describe LOCATION` lists the columns and the options.

      Several locations form one table. It contains their sections in order, and columns with the same name become one \
      column. The options apply in a fixed order, whatever their order on the command line: the locations are joined, \
      then `--filter` and `--search`, `--section-by`, `--sort`, `--sections-by`, `--section`, `--at-index`, \
      `--per-section`, `--rows`, `-n`.

      Text in brackets after a name is a badge of the provider, such as `[3 entries]`. It does not belong to the cell. \
      Formats for programs leave it out.

      On a terminal a table fits its width. The command first cuts long text, but never numbers, which are aligned to the \
      right. Then it leaves out columns at the right and names them on standard error. If less than a third of the columns \
      fit, it prints each row as a record of several lines. Output that is longer than the screen goes to a pager. In a \
      pipe or a file nothing is cut. All formats except `json` print rows while they are read. `json` prints one document. \
      If the rows end early, its last member is `error`.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .footer, .format, .json, .noHeader, .withSection, .withRow,
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
        "tabella show src/ --section-by extension --sections-by 'sum size:desc' --per-section 3 --footer 'rows, sum size'",
        "show three files of each kind, with the number and size of all, and the largest kinds first"
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
    ], seeAlso: ["count", "export", "summarize", "describe"]
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
    guard invocation.footer == nil || Formats.footerNames.contains(name) else {
      let line = invocation.line("summarize", without: ["--footer", "--section-by"])
      throw .usage(
        "--footer works with \(Formats.footerNames.joined(separator: ", ")); to get aggregates as \(name), run: \(line) --by … --compute …",
        command: command)
    }
    try Failure.usage(command: command) { () throws(TableError) in
      if let footer = invocation.footer { try Aggregate.check(footer) }
    }
    let isGrid = name == "table" && invocation.display.style == .collection
    guard !invocation.hasRowColumn || (name != "json" && !isGrid) else {
      throw .usage(
        "--with-row does not work with \(isGrid ? "--style collection" : "json, which contains the ids"); leave it out",
        command: command)
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
    shown.footers = try invocation.footer.map { text throws(Failure) in
      try Footers(text, of: table, isExact: name == "json", output.screen)
    }
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
    try write(shown, in: &format, invocation, output)
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    return .done
  }

  /// Writes a table in a format, and the notes of the format.
  static func write(
    _ shown: ShownTable, in format: inout any Format, _ invocation: Invocation, _ output: Output
  ) throws(Failure) {
    try format.begin(shown)
    let failure = try Viewer(shown, invocation.range, output).show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    for note in format.notes { Messages.write(note, about: shown.table.subject) }
    if let failure {
      Messages.writeDiagnostics(of: shown.table.source, location: shown.table.subject)
      throw failure
    }
  }
}
