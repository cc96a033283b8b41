import Tabella

// The options that several commands take. A new one is an entry here and its name in the commands
// that take it.

extension OptionSpec {
  static let provider = OptionSpec(
    names: ["--provider"], argument: "ID", summary: "use this provider",
    values: .provider
  ) { invocation, value throws(Failure) in invocation.provider = value.text }

  static let option = OptionSpec(
    names: ["-o"], argument: "KEY=VALUE", summary: "set an option of the provider; may be repeated",
    values: .providerOption, repeats: true
  ) { invocation, value throws(Failure) in
    let parts = value.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { throw .usage("must be KEY=VALUE") }
    invocation.options[String(parts[0])] = String(parts[1])
  }

  static let filter = OptionSpec(
    names: ["--filter"], argument: "'COLUMN OP VALUE'",
    summary: "only rows that pass (= != < <= > >= ~ !~); may be repeated",
    detail: """
      A row must pass all of them. `~` finds a regular expression (`(?i)` at its start: whatever the \
      case), `!~` what has none, so that `!~ .` finds what is missing or empty. Blanks around VALUE are \
      left out unless quotes enclose it; numbers and dates compare as such, `2026-02` is the whole month, \
      and `10K` counts by 1024 for bytes
      """, values: .filter, repeats: true
  ) { invocation, value throws(Failure) in invocation.filters.append(value) }

  static let search = OptionSpec(
    names: ["--search"], argument: "TEXT",
    summary: "only rows with this text in some column; whatever the case, if it has no capital"
  ) { invocation, value throws(Failure) in invocation.search = value.bytes }

  static let sectionBy = OptionSpec(
    names: ["--section-by"], argument: "COLUMN[:CLASS]",
    summary: "a section for each value, or each letter, day, month, size",
    detail:
      "These sections stand in place of the table's own; the one of missing cells is the last",
    values: .sectionColumn
  ) { invocation, value throws(Failure) in invocation.sectionBy = value.text }

  static let sort = OptionSpec(
    names: ["--sort"], argument: "COLUMN[:desc],…",
    summary: "sort within sections, upwards or down",
    detail: """
      Numbers and dates by value, text in natural order (`a9` before `a10`), missing cells last; equal \
      rows keep their order
      """, values: .sortColumns
  ) { invocation, value throws(Failure) in invocation.sort = value.text }

  static let section = OptionSpec(
    names: ["--section"], argument: "TITLE|INDEX",
    summary: "one section only; title:3 for a title of digits",
    values: .sectionTitle
  ) { invocation, value throws(Failure) in invocation.section = value.text }

  static let atIndex = OptionSpec(
    names: ["--at-index"], argument: "TITLE", summary: "start where a title of the index leads",
    values: .indexTitle
  ) { invocation, value throws(Failure) in invocation.atIndex = value.text }

  static let columns = OptionSpec(
    names: ["--columns"], argument: "A,B,…", summary: "show these columns, in this order",
    values: .columns
  ) { invocation, value throws(Failure) in invocation.columns = value.text }

  static let rows = OptionSpec(
    names: ["--rows"], argument: "A..B",
    summary:
      "rows A to B only, counted from 0 through the sections, both included; A.. to the end, ..B from the start"
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
    names: ["-n"], argument: "N", summary: "the first N rows only"
  ) { invocation, value throws(Failure) in
    guard let count = TableNumber.read(value.text) else {
      throw .usage("must be a whole number, 0 or more")
    }
    invocation.limit = count
  }

  /// What the formats for other programs are.
  private static let streamed = """
    `csv` is RFC 4180 with LF, quoted only where needed, the bytes of cells as they are; what is \
    missing is empty. `tsv` has tabs, and `\\t` `\\n` `\\r` `\\\\` in cells. `plain` is made for scripts: \
    tabs, no header, `\\N` for what is missing, `\\n` or `\\x1b` for all that is unsafe to print. `jsonl` \
    has an object a line, keyed by the columns' names.
    """

  static let format = OptionSpec(
    names: ["--format"], argument: "FORMAT",
    summary: "\(Formats.names.joined(separator: ", ")); the default is table",
    detail: """
      `vertical` has a line for each cell, `markdown` is GitHub's, `json` one document (docs/json.md). \
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
    detail: "\(streamed) `arrow-stream` is binary, for Arrow's readers; its text must be UTF-8",
    values: .choices(Formats.exportNames)
  ) { invocation, value throws(Failure) in
    guard Formats.exportNames.contains(value.text) else {
      throw .usage("must be one of \(Formats.exportNames.joined(separator: ", "))")
    }
    invocation.format = value.text
  }

  static let json = OptionSpec(
    names: ["--json"], argument: nil, summary: "as JSON"
  ) { invocation, _ throws(Failure) in invocation.format = "json" }

  static let noHeader = OptionSpec(
    names: ["--no-header"], argument: nil, summary: "leave the names of the columns out"
  ) { invocation, _ throws(Failure) in invocation.hasHeader = false }

  static let withSection = OptionSpec(
    names: ["--with-section"], argument: nil,
    summary:
      "the section's title as a first column (\(Formats.sectionColumnNames.joined(separator: ", ")))"
  ) { invocation, _ throws(Failure) in invocation.hasSectionColumn = true }

  static let withRow = OptionSpec(
    names: ["--with-row"], argument: nil,
    summary: "a first column that names each row as set, delete, move and apply take it",
    detail: """
      By its id (`id:…`), which means this row with all other options, too. Rows without ids are named by their \
      positions (`0:5`), so that no option may choose or arrange them. Not for `json`, which has the ids, nor for `--style collection`
      """
  ) { invocation, _ throws(Failure) in invocation.hasRowColumn = true }

  static let load = OptionSpec(
    names: ["--load"], argument: nil, summary: "load the library and run its code to ask it"
  ) { invocation, _ throws(Failure) in invocation.loads = true }

  static let isolate = OptionSpec(
    names: ["--isolate"], argument: nil,
    summary: "run every provider in a process of its own; the default for those that do not ship"
  ) { invocation, _ throws(Failure) in invocation.isolation = .always }

  static let inProcess = OptionSpec(
    names: ["--in-process"], argument: nil,
    summary: "run every provider in this process, for a debugger: a bad one takes it along"
  ) { invocation, _ throws(Failure) in invocation.isolation = .never }

  /// What says where providers run.
  static let isolation: [OptionSpec] = [.isolate, .inProcess, .weakIsolation]

  static let weakIsolation = OptionSpec(
    names: ["--weak-isolation"], argument: nil,
    summary: "edit even if the system cannot confine the provider's process as it must be"
  ) { invocation, _ throws(Failure) in invocation.acceptsWeakIsolation = true }

  static let pin = OptionSpec(
    names: ["--pin"], argument: nil,
    summary:
      "pin the added providers, or the named ones, and grant the permissions that they request"
  ) { invocation, _ throws(Failure) in
    guard invocation.pinning != .unpin else { throw .usage("not together with --unpin") }
    invocation.pinning = .pin
  }

  static let unpin = OptionSpec(
    names: ["--unpin"], argument: nil, summary: "forget the pins of the providers named"
  ) { invocation, _ throws(Failure) in
    guard invocation.pinning != .pin else { throw .usage("not together with --pin") }
    invocation.pinning = .unpin
  }

  /// What opens a table.
  static let opening: [OptionSpec] = [.provider, .option] + isolation

  /// What chooses and arranges rows, in the order in which it is applied.
  static let shaping: [OptionSpec] = [
    .filter, .search, .sectionBy, .sort, .section, .atIndex, .rows, .limit,
  ]
}

extension String {
  /// Where `text` stands first.
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
