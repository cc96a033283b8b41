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
    summary: "keep rows that match; can be repeated", values: .filter, repeats: true
  ) { invocation, value throws(Failure) in invocation.filters.append(value) }

  static let search = OptionSpec(
    names: ["--search"], argument: "TEXT",
    summary: "keep rows that contain TEXT in any column; can be repeated", repeats: true
  ) { invocation, value throws(Failure) in invocation.searches.append(value.bytes) }

  static let sectionBy = OptionSpec(
    names: ["--section-by"], argument: "COLUMN[:CLASS],…",
    summary: "make a section per value or class of COLUMN",
    values: .groupings, repeats: true
  ) { invocation, value throws(Failure) in invocation.sectionBy.add(list: value) }

  /// The description of the classes of groups.
  static let classes = """
    CLASS is \(Grouping.Class.named.map { "`\($0.name)`" }.joined(separator: ", ")) or a number, the width of \
    bins: `amount:100`. Several columns make a group of each combination
    """

  static let sort = OptionSpec(
    names: ["--sort"], argument: "COLUMN[:desc],…",
    summary: "sort the rows of each section",
    values: .sortColumns, repeats: true
  ) { invocation, value throws(Failure) in invocation.sort.add(list: value) }

  static let sectionsBy = OptionSpec(
    names: ["--sections-by"], argument: "AGGREGATE[:desc]",
    summary: "sort the sections by rows, sum COLUMN …",
    values: .sectionOrder
  ) { invocation, value throws(Failure) in invocation.sectionsBy = value.text }

  static let section = OptionSpec(
    names: ["--section"], argument: "TITLE|INDEX",
    summary: "show one section",
    values: .sectionTitle
  ) { invocation, value throws(Failure) in invocation.section = value.text }

  static let atIndex = OptionSpec(
    names: ["--at-index"], argument: "TITLE",
    summary: "start at this title of the index",
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
    names: ["--columns"], argument: "A,B,…",
    summary: "show these columns; '!A,!B' are all but these",
    values: .columns, repeats: true
  ) { invocation, value throws(Failure) in invocation.columns.add(list: value) }

  static let rows = OptionSpec(
    names: ["--rows"], argument: "A..B",
    summary: "show the rows A to B, counted from 0; -N.. are the last N"
  ) { invocation, value throws(Failure) in
    let text = value.text
    if text.hasPrefix("-"), text.hasSuffix(".."),
      let count = TableNumber.read(text.dropFirst().dropLast(2))
    {
      (invocation.rows, invocation.lastRows) = (nil, count)
      return
    }
    invocation.lastRows = nil
    guard let dots = text.range(of: "..") else {
      throw .usage("must be A..B, A.., ..B or -N.., as in 0..9")
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

  static let format = OptionSpec(
    names: ["--format"], argument: "FORMAT",
    summary: Formats.names.joined(separator: ", "),
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
    values: .choices(Formats.exportNames)
  ) { invocation, value throws(Failure) in
    guard Formats.exportNames.contains(value.text) else {
      throw .usage("must be one of \(Formats.exportNames.joined(separator: ", "))")
    }
    invocation.format = value.text
  }

  static let json = OptionSpec(
    names: ["--json"], argument: nil, summary: "print JSON; for a table, --format json"
  ) { invocation, _ throws(Failure) in invocation.format = "json" }

  static let noHeader = OptionSpec(
    names: ["--no-header"], argument: nil, summary: "leave out the names of the columns"
  ) { invocation, _ throws(Failure) in invocation.hasHeader = false }

  static let withSection = OptionSpec(
    names: ["--with-section"], argument: nil,
    summary: "add the title of the section as the first column"
  ) { invocation, _ throws(Failure) in invocation.hasSectionColumn = true }

  static let withRow = OptionSpec(
    names: ["--with-row"], argument: nil,
    summary: "add the name of each row as the first column"
  ) { invocation, _ throws(Failure) in invocation.hasRowColumn = true }

  static let index = OptionSpec(
    names: ["--index"], argument: nil,
    summary: "print the titles of the index above the table"
  ) { invocation, _ throws(Failure) in invocation.hasIndex = true }

  static let withNumber = OptionSpec(
    names: ["--with-number"], argument: nil,
    summary: "add the line or number of each row in its source"
  ) { invocation, _ throws(Failure) in invocation.hasNumberColumn = true }

  static let utc = OptionSpec(
    names: ["--utc"], argument: nil,
    summary: "print dates, and read those of filters, in UTC"
  ) { invocation, _ throws(Failure) in invocation.display.usesUTC = true }

  static let load = OptionSpec(
    names: ["--load"], argument: nil, summary: "load the library and run its code"
  ) { invocation, _ throws(Failure) in invocation.loads = true }

  static let isolate = OptionSpec(
    names: ["--isolate"], argument: nil,
    summary: "run every provider in a process of its own"
  ) { invocation, _ throws(Failure) in invocation.isolation = .always }

  static let inProcess = OptionSpec(
    names: ["--in-process"], argument: nil,
    summary: "run all providers in this process, for debugging"
  ) { invocation, _ throws(Failure) in invocation.isolation = .never }

  /// The options that choose the process of a provider.
  static let isolation: [OptionSpec] = [.isolate, .inProcess, .weakIsolation]

  static let weakIsolation = OptionSpec(
    names: ["--weak-isolation"], argument: nil,
    summary: "edit even if a provider's process is confined in part"
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
