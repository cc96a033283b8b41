import Tabella

// The options that several commands have in common. A new option needs an entry here, and its name in
// the commands that take it.

extension OptionSpec {
  static let provider = OptionSpec(
    names: ["--provider"], argument: "ID", summary: "open the location with this provider",
    values: .provider
  ) { invocation, value throws(Failure) in invocation.provider = value.text }

  static let option = OptionSpec(
    names: ["-o"], argument: "KEY=VALUE", summary: "set an option of the provider; can be repeated",
    values: .providerOption, repeats: true
  ) { invocation, value throws(Failure) in
    let parts = value.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { throw .usage("must be KEY=VALUE") }
    invocation.options[String(parts[0])] = String(parts[1])
  }

  static let filter = OptionSpec(
    names: ["--filter"], argument: "'COLUMN OP VALUE'",
    summary: "keep rows that match (= != < <= > >= ~ !~); can be repeated",
    detail: """
      A row must match all filters. `~` matches a regular expression; begin it with `(?i)` to ignore case. \
      `!~` matches cells without it, so `!~ .` matches cells that are missing or empty. Blanks around VALUE \
      are ignored unless VALUE is in quotes. Numbers and dates compare by value. `2026-02` is the whole month, \
      and `10K` is 10 × 1024 in a column of bytes
      """, values: .filter, repeats: true
  ) { invocation, value throws(Failure) in invocation.filters.append(value) }

  static let search = OptionSpec(
    names: ["--search"], argument: "TEXT",
    summary:
      "keep rows that contain TEXT in any column; ASCII case is ignored if TEXT has no capital A to Z"
  ) { invocation, value throws(Failure) in invocation.search = value.bytes }

  static let sectionBy = OptionSpec(
    names: ["--section-by"], argument: "COLUMN[:CLASS],…",
    summary: "make a section per value of COLUMN, or per class of values",
    detail: """
      These sections replace those of the table. The section of missing cells is the last. \(classes)
      """,
    values: .groupings
  ) { invocation, value throws(Failure) in invocation.sectionBy = value.text }

  /// The description of the classes of groups.
  static let classes = """
    CLASS is \(Grouping.Class.named.map { "`\($0.name)`" }.joined(separator: ", ")) or a number, the width of \
    bins: `amount:100`. Several columns make a group of each combination
    """

  static let sort = OptionSpec(
    names: ["--sort"], argument: "COLUMN[:desc],…",
    summary: "sort the rows of each section, ascending or descending",
    detail: """
      Numbers and dates are sorted by value, and text in natural order (`a9` before `a10`). Missing cells are \
      last. Equal rows keep their order
      """, values: .sortColumns
  ) { invocation, value throws(Failure) in invocation.sort = value.text }

  static let sectionsBy = OptionSpec(
    names: ["--sections-by"], argument: "AGGREGATE[:desc]",
    summary: "sort the sections by an aggregate of their rows: rows, or sum COLUMN and others",
    detail: """
      Sections without a value are last. `tabella help summarize` lists the aggregates
      """, values: .sectionOrder
  ) { invocation, value throws(Failure) in invocation.sectionsBy = value.text }

  static let section = OptionSpec(
    names: ["--section"], argument: "TITLE|INDEX",
    summary: "show one section; write title:3 if the title is a number",
    values: .sectionTitle
  ) { invocation, value throws(Failure) in invocation.section = value.text }

  static let atIndex = OptionSpec(
    names: ["--at-index"], argument: "TITLE",
    summary: "start at the position of this title in the index",
    values: .indexTitle
  ) { invocation, value throws(Failure) in invocation.atIndex = value.text }

  static let perSection = OptionSpec(
    names: ["--per-section"], argument: "N", summary: "show only the first N rows of each section"
  ) { invocation, value throws(Failure) in
    guard let count = TableNumber.read(value.text) else {
      throw .usage("must be a whole number, 0 or more")
    }
    invocation.perSection = count
  }

  static let columns = OptionSpec(
    names: ["--columns"], argument: "A,B,…", summary: "show these columns, in this order",
    values: .columns
  ) { invocation, value throws(Failure) in invocation.columns = value.text }

  static let rows = OptionSpec(
    names: ["--rows"], argument: "A..B",
    summary:
      "show rows A to B inclusive, numbered from 0 across all sections; A.. ends at the last row, ..B starts at row 0"
  ) { invocation, value throws(Failure) in
    let text = value.text
    guard let dots = text.range(of: "..") else {
      throw .usage("must be A..B, A.. or ..B, as in 0..9")
    }
    let (first, last) = (text[..<dots.lowerBound], text[dots.upperBound...])
    guard let lower = first.isEmpty ? 0 : TableNumber.read(first),
      let upper = last.isEmpty ? TableLimits.rows : TableNumber.read(last), lower <= upper
    else { throw .usage("must be A..B with 0 <= A <= B") }
    invocation.rows = lower...upper
  }

  static let limit = OptionSpec(
    names: ["-n"], argument: "N", summary: "show only the first N rows"
  ) { invocation, value throws(Failure) in
    guard let count = TableNumber.read(value.text) else {
      throw .usage("must be a whole number, 0 or more")
    }
    invocation.limit = count
  }

  /// The description of the formats for other programs.
  private static let streamed = """
    `csv` is RFC 4180 with LF line ends. Cells are quoted only if necessary, their bytes are unchanged, and \
    missing cells are empty. `tsv` separates cells with tabs and writes `\\t` `\\n` `\\r` `\\\\` inside cells. \
    `plain` is for scripts: it has tabs and no header, `\\N` is a missing cell, and escapes such as `\\n` or \
    `\\x1b` replace characters that are unsafe to print. `jsonl` has one object per line, with the names of \
    columns as keys.
    """

  static let format = OptionSpec(
    names: ["--format"], argument: "FORMAT",
    summary: "\(Formats.names.joined(separator: ", ")); the default is table",
    detail: """
      `vertical` prints one cell per line. `markdown` is a table for GitHub. `json` is one document \
      (docs/json.md). \
      \(streamed)
      """,
    values: .choices(Formats.names)
  ) { invocation, value throws(Failure) in
    guard Formats.names.contains(value.text) else {
      throw .usage("must be one of \(Formats.names.joined(separator: ", "))")
    }
    invocation.format = value.text
  }

  static let exportFormat = OptionSpec(
    names: ["--format"], argument: "FORMAT",
    summary: "\(Formats.exportNames.joined(separator: ", ")); the default is csv",
    detail: "\(streamed) `arrow-stream` is binary, for readers of Apache Arrow; text must be UTF-8",
    values: .choices(Formats.exportNames)
  ) { invocation, value throws(Failure) in
    guard Formats.exportNames.contains(value.text) else {
      throw .usage("must be one of \(Formats.exportNames.joined(separator: ", "))")
    }
    invocation.format = value.text
  }

  static let json = OptionSpec(
    names: ["--json"], argument: nil, summary: "print JSON"
  ) { invocation, _ throws(Failure) in invocation.format = "json" }

  static let noHeader = OptionSpec(
    names: ["--no-header"], argument: nil, summary: "leave out the names of the columns"
  ) { invocation, _ throws(Failure) in invocation.hasHeader = false }

  static let withSection = OptionSpec(
    names: ["--with-section"], argument: nil,
    summary:
      "add the title of the section as the first column (\(Formats.sectionColumnNames.joined(separator: ", ")))"
  ) { invocation, _ throws(Failure) in invocation.hasSectionColumn = true }

  static let withRow = OptionSpec(
    names: ["--with-row"], argument: nil,
    summary: "add a first column with the name of each row, for set, delete, move and apply",
    detail: """
      The name is the id (`id:…`), which names the same row with other options, too. If the rows have no ids, \
      the name is the position (`0:5`), and options that choose or sort rows are refused. Not for `json`, which \
      contains the ids, nor for `--style collection`
      """
  ) { invocation, _ throws(Failure) in invocation.hasRowColumn = true }

  static let load = OptionSpec(
    names: ["--load"], argument: nil, summary: "load the library and run its code"
  ) { invocation, _ throws(Failure) in invocation.loads = true }

  static let isolate = OptionSpec(
    names: ["--isolate"], argument: nil,
    summary: "run every provider in its own process; the default for providers that are not shipped"
  ) { invocation, _ throws(Failure) in invocation.isolation = .always }

  static let inProcess = OptionSpec(
    names: ["--in-process"], argument: nil,
    summary:
      "load all providers into this process, for debugging; a provider that crashes ends tabella"
  ) { invocation, _ throws(Failure) in invocation.isolation = .never }

  /// The options that choose the process of a provider.
  static let isolation: [OptionSpec] = [.isolate, .inProcess, .weakIsolation]

  static let weakIsolation = OptionSpec(
    names: ["--weak-isolation"], argument: nil,
    summary: "edit even if the system cannot confine the provider's process completely"
  ) { invocation, _ throws(Failure) in invocation.acceptsWeakIsolation = true }

  static let pin = OptionSpec(
    names: ["--pin"], argument: nil,
    summary:
      "pin the added providers, or the named ones, and grant the permissions that they request"
  ) { invocation, _ throws(Failure) in
    guard invocation.pinning != .unpin else { throw .usage("cannot be combined with --unpin") }
    invocation.pinning = .pin
  }

  static let unpin = OptionSpec(
    names: ["--unpin"], argument: nil, summary: "remove the pins of the named providers"
  ) { invocation, _ throws(Failure) in
    guard invocation.pinning != .pin else { throw .usage("cannot be combined with --pin") }
    invocation.pinning = .unpin
  }

  /// The options that open a table.
  static let opening: [OptionSpec] = [.provider, .option] + isolation

  /// The options that choose and arrange rows, in the order of their application.
  static let shaping: [OptionSpec] = [
    .filter, .search, .sectionBy, .sort, .sectionsBy, .section, .atIndex, .perSection, .rows,
    .limit,
  ]
}

extension String {
  /// The range of the first occurrence of `text`.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) {
        return start..<index(start, offsetBy: text.count)
      }
      start = index(after: start)
    }
    return nil
  }
}
