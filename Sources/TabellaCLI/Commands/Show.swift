import Tabella
import TabellaHost

extension Command {
  static let show = Command(
    name: "show", operands: "LOCATION", summary: "prints a table",
    options: OptionSpec.opening + [.columns, .rows, .limit, .format, .json, .noHeader],
    examples: [
      ("tabella show data.csv", "a file, by the provider that fits its name"),
      ("tabella show processes: --columns pid,user,command -n 20", "20 processes, three columns"),
      ("tabella show csv:/etc/passwd -o delimiter=: -o header=false --json", "as JSON"),
      ("tabella show data.csv --rows 1000..1009 --format csv", "ten rows from the middle"),
    ]
  ) { invocation, output throws(Failure) in
    let table = try openTable(invocation, command: "show")
    let shown = ShownTable(
      table.source,
      columnNumbers: try columnNumbers(invocation.columns, of: table.source, command: "show"),
      provider: table.manifest.id, location: table.location.description,
      hasHeader: invocation.hasHeader)
    var format = Formats.make(invocation.format ?? "table", output)
    let failure = try write(shown, invocation, &format)
    try format.end(failure: failure)
    try output.flush()
    Messages.writeDiagnostics(of: table.source, location: shown.location)
    if let failure { throw failure }
    return .done
  }

  /// Writes the rows; returns why they ended early, if they did. Only trouble with the output itself
  /// is thrown.
  private static func write(
    _ shown: ShownTable, _ invocation: Invocation, _ format: inout any Format
  ) throws(Failure) -> Failure? {
    try format.begin(shown)
    let reader = TableReader(
      source: shown.source, columns: shown.columnNumbers,
      includesIDs: invocation.isJSON && shown.source.identity != nil)
    var current = ShownSection(number: 0, header: nil, footer: nil, indexTitle: nil)
    do {
      let indexTitles = invocation.isJSON ? try sectionIndexTitles(of: shown.source) : [:]
      try reader.walk(
        invocation.range,
        section: { number in
          current = ShownSection(
            number: number, header: try shown.source.sections?.title(.header, ofSection: number),
            footer: try shown.source.sections?.title(.footer, ofSection: number),
            indexTitle: indexTitles[number])
          try format.beginSection(current)
        },
        rows: { batch, section, first in
          let rows = first..<first + batch.rowCount
          let asks = format.wantsPermissions
          try format.write(
            ShownRows(
              batch: batch,
              editable: asks
                ? try shown.source.editing?.editability(ofRows: rows, inSection: section) : nil,
              movable: asks
                ? try shown.source.moving?.movability(ofRows: rows, inSection: section) : nil))
        },
        end: { _ in try format.endSection(current) })
      return nil
    } catch let failure as Failure {
      throw failure
    } catch var error as TableError {
      if error.code == .misbehaved, error.provider == nil {
        error.message = "provider \(shown.provider) broke the contract: \(error.message)"
      }
      return .of(error, subject: shown.location)
    } catch {
      return Failure(
        status: .failed, subject: shown.location, code: "internal", message: "\(error)")
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

/// Opens the one location that a command is given.
func openTable(_ invocation: Invocation, command: String) throws(Failure) -> OpenedTable {
  guard let operand = invocation.operands.first else {
    throw .usage("a location is missing", command: command)
  }
  guard invocation.operands.count == 1 else {
    throw .usage("more than one location: \(invocation.operands[1].text)", command: command)
  }
  return try openTable(operand, invocation, Host())
}

/// Opens a location as the options say.
func openTable(
  _ operand: Argument, _ invocation: Invocation, _ host: Host
) throws(Failure) -> OpenedTable {
  try Failure.about(operand.text) { () throws(TableError) in
    try host.open(
      Location(operand.bytes), provider: invocation.provider, options: invocation.options)
  }
}

/// The numbers of the columns named, or all. The second of two columns `a` is `a 2`.
func columnNumbers(
  _ names: [String]?, of source: any TableDataSource, command: String
) throws(Failure) -> [Int] {
  guard let names else { return Array(source.columns.indices) }
  let keys = uniqueNames(source.columns.map(\.name))
  return try names.map { name throws(Failure) in
    guard let number = keys.firstIndex(of: name) else {
      throw .usage(
        "there is no column \(name); there are \(keys.joined(separator: ", "))", command: command)
    }
    return number
  }
}

/// Names made unique: a repeated one gets ` 2`, ` 3` and so on.
func uniqueNames(_ names: [String]) -> [String] {
  var seen: Set<String> = []
  var next: [String: Int] = [:]
  return names.map { name in
    var unique = name
    while !seen.insert(unique).inserted {
      let number = next[name, default: 2]
      unique = "\(name) \(number)"
      next[name] = number + 1
    }
    return unique
  }
}
