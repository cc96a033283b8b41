import Tabella
import TabellaHost

// The options of `show` and `export` for the content and the format of a table.

extension Invocation {
  /// Throws for options that exclude each other or do not work with a format.
  func checkShow(_ name: String, command: String) throws(Failure) {
    guard !hasSectionColumn || Formats.sectionColumnNames.contains(name) else {
      let names = Formats.sectionColumnNames.joined(separator: ", ")
      throw .usage(
        "--with-section works with \(names); \(name) shows sections anyway, so leave the option out",
        command: command)
    }
    guard footer == nil || Formats.footerNames.contains(name) else {
      let line = line("summarize", without: ["--footer", "--section-by"])
      throw .usage(
        "--footer works with \(Formats.footerNames.joined(separator: ", ")); to get aggregates as \(name), run: \(line) --by … --compute …",
        command: command)
    }
    try Failure.usage(command: command) { () throws(TableError) in
      if let footer { try Aggregate.check(footer) }
    }
    let isGrid = name == "table" && display.style == .collection
    guard !hasRowColumn || (name != "json" && !isGrid) else {
      throw .usage(
        "--with-row does not work with \(isGrid ? "--style collection" : "json, which contains the ids"); leave it out",
        command: command)
    }
    guard !hasIndex || Formats.readableNames.contains(name) else {
      let names = Formats.readableNames.joined(separator: " and ")
      throw .usage("--index works with \(names); leave it out", command: command)
    }
    guard !hasNumberColumn || (name != "json" && !isGrid) else {
      throw .usage(
        "--with-number does not work with \(isGrid ? "--style collection" : "json; use --format jsonl")",
        command: command)
    }
  }

  /// Throws if `--with-row` does not work with this table.
  fileprivate func checkRowColumn(of table: ShapedTable, command: String) throws(Failure) {
    guard hasRowColumn else { return }
    guard table.tables.count == 1 else {
      throw .usage(
        "--with-row works with one location only, because an edit changes one location",
        command: command)
    }
    if table.source.identity == nil, givesOtherPositions {
      let line = line(command, without: Invocation.shapingNames)
      throw .usage(
        "--with-row: the rows have no ids, so only the whole table can show their names; run: \(line)",
        command: command)
    }
  }
}

extension ShownTable {
  /// A table with the columns and other content that options add. `name` is the format.
  init(
    _ table: ShapedTable, _ invocation: Invocation, command: String, format name: String,
    _ screen: Screen
  ) throws(Failure) {
    try invocation.checkRowColumn(of: table, command: command)
    self.init(
      table, hasHeader: invocation.hasHeader,
      hidesEmptySections: !invocation.filters.isEmpty || !invocation.searches.isEmpty,
      isGrouped: invocation.sectionBy != nil)
    footers = try invocation.footer.map { text throws(Failure) in
      try Footers(text, of: table, isExact: name == "json", screen)
    }
    // The outer format puts its column first. The inner format puts its own column in front of that.
    if invocation.hasNumberColumn { columns.insert(NumberColumn.column, at: 0) }
    if invocation.hasRowColumn {
      columns.insert(RowColumn.column, at: 0)
      beginsWithRowNames = true
    }
    if invocation.hasSectionColumn { columns.insert(SectionColumn.column, at: 0) }
    guard Formats.readableNames.contains(name) else { return }
    let before = columns.count - table.columns.count
    highlights = Highlights(
      table.shape, columns: Array(repeating: nil, count: before) + table.columns)
    isWhole = ChosenRows(table, range: invocation.range).isEverything
  }
}

extension Formats {
  /// A format with the columns that options add.
  static func make(
    _ name: String, _ output: Output, _ invocation: Invocation, of table: ShapedTable
  ) -> any Format {
    var format = make(name, output, invocation.display)
    let means = table.columns.indices.filter { table.means.contains(table.columns[$0]) }
    if !means.isEmpty, readableNames.contains(name) || name == "markdown" {
      format = RoundedMeans(format, columns: means)
    }
    if invocation.hasSectionColumn { format = SectionColumn(format) }
    if invocation.hasRowColumn { format = RowColumn(format, of: table.source) }
    if invocation.hasNumberColumn { format = NumberColumn(format) }
    return format
  }
}
