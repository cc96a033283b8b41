import Tabella
import TabellaHost

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION…", summary: "prints a table",
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .rows, .limit, .format, .json, .noHeader,
    ],
    examples: [
      ("tabella show data.csv", "a file, by the provider that fits its name"),
      ("tabella show processes: --columns pid,user,command -n 20", "20 processes, three columns"),
      (
        "tabella show processes: --section-by user --sort memory:desc", "by user, the largest first"
      ),
      ("tabella show src/ --filter 'size > 1M' --filter 'name ~ \\.swift$'", "large Swift files"),
      ("tabella show README.md -o sections=headings --at-index Install", "from a heading on"),
      ("tabella show a.csv b.csv", "two files as one table"),
      ("tabella show csv:/etc/passwd -o delimiter=: -o header=false --json", "as JSON"),
      ("tabella show data.csv --rows 1000..1009 --format csv", "ten rows from the middle"),
    ]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "show", defaultFormat: "table")
  }

  static let export = Command(
    name: "export", operands: "LOCATION…", summary: "writes all of a table for other programs",
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .rows, .limit, .exportFormat, .noHeader,
    ],
    examples: [
      ("tabella export data.csv --columns name,born", "two columns, as csv"),
      ("tabella export processes: --format jsonl", "an object a line"),
      (
        "tabella export data.csv --format arrow-stream > data.arrows",
        "for Arrow, pandas and Polars"
      ),
    ]
  ) { invocation, output throws(Failure) in
    try show(invocation, output, command: "export", defaultFormat: "csv")
  }

  /// Writes the table that the command line asks for.
  private static func show(
    _ invocation: Invocation, _ output: Output, command: String, defaultFormat: String
  ) throws(Failure) -> ExitStatus {
    let table = try ShapedTable(invocation, command: command)
    let shown = ShownTable(
      table, hasHeader: invocation.hasHeader,
      hidesEmptySections: !invocation.filters.isEmpty || invocation.search != nil)
    var format = Formats.make(invocation.format ?? defaultFormat, output)
    let failure = try write(shown, invocation, &format)
    try format.end(failure: failure)
    try output.flush()
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    if let failure { throw failure }
    return .done
  }

  /// Writes the rows; returns why they ended early, if they did. Only trouble with the output itself
  /// is thrown.
  private static func write(
    _ shown: ShownTable, _ invocation: Invocation, _ format: inout any Format
  ) throws(Failure) -> Failure? {
    try format.begin(shown)
    let source = shown.table.source
    var reader = TableReader(
      source: source, columns: shown.table.columns,
      includesIDs: invocation.isJSON && source.identity != nil, section: shown.table.section,
      start: shown.table.start)
    var current = ShownSection(number: 0)
    do {
      let indexTitles = invocation.isJSON ? try sectionIndexTitles(of: source) : [:]
      try reader.walk(
        invocation.range,
        section: { number in
          current = ShownSection(
            number: number, header: try source.sections?.title(.header, ofSection: number),
            footer: try source.sections?.title(.footer, ofSection: number),
            indexTitle: indexTitles[number], table: try shown.table.table(ofSection: number))
          try format.beginSection(current)
        },
        rows: { batch, section, first in
          let rows = first..<first + batch.rowCount
          let asks = format.wantsPermissions
          try format.write(
            ShownRows(
              batch: batch,
              editable: asks
                ? try source.editing?.editability(ofRows: rows, inSection: section) : nil,
              movable: asks
                ? try source.moving?.movability(ofRows: rows, inSection: section) : nil))
        },
        end: { _ in try format.endSection(current) })
      return nil
    } catch let failure as Failure {
      throw failure
    } catch var error as TableError {
      if error.code == .misbehaved, error.provider == nil {
        error.message = "provider \(shown.table.provider) broke the contract: \(error.message)"
      }
      return .of(error, subject: shown.table.subject)
    } catch {
      return Failure(
        status: .failed, subject: shown.table.subject, code: "internal", message: "\(error)")
    }
  }

  /// The first index title that leads to each section.
  private static func sectionIndexTitles(
    of source: any TableDataSource
  ) throws -> [Int: String] {
    guard let index = source.sectionIndex else { return [:] }
    var titles: [Int: String] = [:]
    for (number, title) in try index.sectionIndexTitles().enumerated() {
      let path = try index.indexPath(forIndexTitle: title, at: number)
      if titles[path.section] == nil { titles[path.section] = title }
    }
    return titles
  }
}
