import Glibc
import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaFiles
import TabellaHost
import TabellaRemote
import TabellaSystem
import TabellaTerminal

extension Command {
  static let describe = Command(
    name: "describe", operands: "LOCATION|PROVIDER|LIBRARY [ROW]",
    operandValues: [.subject, .none],
    summary: "describe a table, a row, a section, a provider or a library",
    discussion: """
      For a table, prints its provider and why it was chosen, its version and columns, the options of the provider, the abilities, and up to \
      100 titles of sections and of the index. With ROW, prints all cells of that row, its id, and the supplementary content that the \
      provider shows with it, such as a preview. With `SECTION:`, prints the titles of the section, its number of rows, \
      and its supplementary content. Dates are exact, in local time with its offset. For a provider, prints its \
      manifest. For a library, prints whether it is trusted and can be loaded; this runs none of its code unless you \
      add `--load`.

      If several providers fit a location, or if one of them is refused, prints them in the order of choice, with the \
      reasons. This also works if the location cannot be opened for that reason.

      If a name is both a provider and a file, it means the provider. Write `./csv` for the file.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [.utc, .load, .json],
    examples: [
      ("tabella describe data.csv", "show the columns, options and abilities of a table"),
      ("tabella describe data.csv 12", "show all of one row"),
      ("tabella describe . 0", "show an entry of a folder with a preview"),
      ("tabella describe src 0 --filter 'name = main.swift'", "choose the entry by its name"),
      ("tabella describe data.csv --json", "print all that, and all providers that fit the file"),
      ("tabella describe csv", "show the manifest of a provider"),
      ("tabella describe ./libmine.so", "check a library without running its code"),
    ], seeAlso: ["providers", "show"]
  ) { invocation, output throws(Failure) in
    guard let operand = invocation.operands.first else {
      throw .usage("a location, a provider or a library is missing", command: "describe")
    }
    guard invocation.operands.count <= 2 else {
      throw .usage("\(invocation.operands[2].text) is not expected", command: "describe")
    }
    let host = Host(invocation)
    let description: JSONValue
    var troubles: [Failure] = []
    if invocation.operands.count == 2 {
      description = try describeRow(
        invocation, operand, invocation.operands[1], &troubles)
    } else if let entry = host.catalogue.entries.first(where: { $0.manifest.id == operand.text }) {
      description = try describeProvider(entry, host, invocation)
    } else if isLibrary(operand) {
      description = try describeLibrary(operand, host, invocation)
    } else {
      description = try describeTable(invocation, operand, host, &troubles)
    }
    if invocation.isJSON {
      try output.write(json: description)
    } else {
      let outline = Outline(missing: output.screen.missing.string)
      try output.write(SafeText(lines: outline.text(of: description)))
    }
    // The description of a table contains them.
    if description["location"] == nil { try reportMissingFolders(host, output) }
    guard let trouble = troubles.first else { return .done }
    try output.finish()
    for trouble in troubles { Messages.write(trouble, asJSON: invocation.isJSON) }
    return trouble.status
  }

  private static func reportMissingFolders(_ host: Host, _ output: Output) throws(Failure) {
    let missing = host.catalogue.missingFolders
    for refusal in host.catalogue.refusals where missing.contains(refusal.path) {
      try output.finish()
      Messages.write("\(refusal.path): \(refusal.reason)", about: "refused")
    }
  }

  private static func describeTable(
    _ invocation: Invocation, _ operand: Argument, _ host: Host, _ troubles: inout [Failure]
  ) throws(Failure) -> JSONValue {
    let location = Location(operand.bytes)
    let choice = host.explain(location, provider: invocation.provider)
    // The start of standard input can be read only once.
    let explanation =
      location.isStandardInput
      ? [:] : ChoiceDescription(choice, isForPeople: !invocation.isJSON).members
    let shaped: ShapedTable
    do throws(Failure) {
      shaped = try shapedTable(operand, invocation)
    } catch {
      // If the host has chosen a provider, or if the operand is no location at all, there is nothing to explain.
      guard choice.chosen == nil, !choice.candidates.isEmpty || !choice.refusals.isEmpty else {
        throw error
      }
      troubles.append(error)
      return .object(explanation.merging(["location": .string(operand.text)]))
    }
    let table = shaped.tables[0]
    let source = shaped.source
    return try Failure.about(operand.text) { () throws(TableError) in
      let sections = try source.numberOfSections(knowing: countedUpTo)
      let rows =
        sections.value > 0
        ? try source.numberOfRows(inSection: 0, knowing: countedUpTo) : nil
      let titles = try titles(of: source, sections.value)
      let index = try source.sectionIndex?.sectionIndexTitles().prefix(mostTitles) ?? []
      let members: JSONObject = [
        "location": .string(table.location.description), "provider": .string(table.manifest.id),
        "version": try source.version().map { .string($0.token) } ?? .null,
        "order": .string(source.hasVolatileOrder ? "volatile" : "stable"),
        "capabilities": .array(
          AbilitySet(usableOf: source, sections: sections).names.map { .string($0) }),
        "columns": .array(source.columns.map { columnJSON($0) }),
        "options": .array(table.manifest.options.map { optionJSON($0) }),
        "sections": countJSON(sections), "titles": .array(titles),
        "index": .array(index.map { .string($0) }),
        "rows in section 0": rows.map { countJSON($0) } ?? .null,
        "worker": table.worker?.confinement.map { confinementJSON($0) } ?? .null,
      ]
      return .object(members.merging(explanation))
    }
  }

  /// The confinement of a worker: the active layers, the missing ones, and granted paths that do not exist.
  private static func confinementJSON(_ report: ConfinementReport) -> JSONValue {
    .object([
      "confined by": .array(report.inForce.map { .string($0) }),
      "lacking": .array(report.lacking.map { .string($0) }),
      "absent": .array(report.absent.map { cellJSON(.text($0)) }),
    ])
  }

  /// The table with the shaping options applied. ROW names a row of this table.
  private static func shapedTable(
    _ operand: Argument, _ invocation: Invocation
  ) throws(Failure) -> ShapedTable {
    var invocation = invocation
    invocation.operands = [operand]
    return try ShapedTable(invocation, command: "describe")
  }

  /// The maximum number of listed titles.
  private static let mostTitles = 100

  /// The first titles of sections, if there are any.
  private static func titles(
    of source: any TableDataSource, _ sections: Int
  ) throws(TableError) -> [JSONValue] {
    var titles: [JSONValue] = []
    for section in 0..<min(sections, mostTitles) {
      titles.append(
        try source.sections?.title(.header, ofSection: section).map { .string($0) } ?? .null)
    }
    return titles.allSatisfy { $0 == .null } ? [] : titles
  }

  /// The maximum number of rows to count for the size of a table. The command `count` has no such limit.
  private static let countedUpTo = 10_000

  private static func countJSON(_ count: Count) -> JSONValue {
    .object(["count": .number("\(count.value)"), "exact": .boolean(count.isExact)])
  }

  /// The zone of dates: local time for people, UTC in JSON.
  private static func dateZone(_ invocation: Invocation) -> Zone {
    invocation.isJSON ? .utc : invocation.dates.zone
  }

  /// The exact value of a cell, with a date in a zone.
  private static func shown(_ cell: Cell, _ zone: Zone) -> JSONValue {
    if case .date(let moment) = cell { return .string(zone.description(of: moment)) }
    return cellJSON(cell)
  }

  private static func describeRow(
    _ invocation: Invocation, _ operand: Argument, _ row: Argument, _ troubles: inout [Failure]
  ) throws(Failure) -> JSONValue {
    let shaped = try shapedTable(operand, invocation)
    let table = shaped.tables[0]
    let source = shaped.source
    let zone = dateZone(invocation)
    let argument = try rowArgument(row, of: shaped, invocation)
    let invocation = try invocation.resolved(in: shaped)
    let chosen = ChosenRows(shaped, range: invocation.range)
    var finder = RowFinder(source: source, chosen: chosen)
    if case .section(let section) = argument {
      return try describeSection(
        try Failure.about(operand.text) { () throws(TableError) in
          try finder.run(section, upTo: 0).section
        }, of: shaped, zone, operand.text, &troubles)
    }
    let path = try Failure.about(operand.text) { () throws(TableError) in
      try finder.path(of: argument)
    }
    return try Failure.about(operand.text) { () throws(TableError) in
      let numbers = source.columns.usualNumbers
      let batch = try source.rows(
        RowRequest(
          section: path.section, first: path.row, count: 1, columns: numbers,
          includesIDs: source.identity != nil))
      guard batch.rowCount == 1 else {
        throw .noRow(path.row, inSection: path.section, of: path.row)
      }
      let cells = zip(numbers, batch.row(0)).map { number, cell in
        JSONValue.object([
          "name": .string(source.columns[number].name), "value": shown(cell, zone),
        ])
      }
      var members: JSONObject = [
        "location": .string(table.location.description),
        "row": .string(batch.id(0).map { "id:\($0)" } ?? path.description),
        "id": batch.id(0).map { .string($0) } ?? .null, "cells": .array(cells),
      ]
      let elements = elements(of: source, at: path, zone, subject: operand.text, &troubles)
      if !elements.isEmpty { members["supplementary"] = .object(elements) }
      if let location = try source.accessories?.location(forRowAt: path) {
        members["accessory"] = cellJSON(.text(location))
      }
      return .object(members)
    }
  }

  /// Reads the name of a row. If it is the text of a first cell instead, the error contains the command for this row.
  private static func rowArgument(
    _ row: Argument, of table: ShapedTable, _ invocation: Invocation
  ) throws(Failure) -> RowArgument {
    do throws(Failure) {
      return try RowArgument(row, command: "describe", as: .one)
    } catch {
      let names = ColumnNames(table.source.columns)
      guard let name = names.names.first, table.source.columns[0].type == .text,
        let view = try? table.source.filtered(
          by: [Condition(column: 0, comparison: .equal, value: row.bytes)]),
        (try? view.hasAtMost(0)) == false
      else { throw error }
      let words = ["0", "--filter", "\(name) = \(row.text)"].map { Argument(Array($0.utf8)) }
      let line = ShellWords.line("describe", [invocation.operands[0]], words)
      throw .usage(
        "\"\(row.text)\" is not a row name, but a value of the column \(name)", subject: "describe",
        run: CorrectedLine(text: line))
    }
  }

  private static func describeSection(
    _ section: Int, of shaped: ShapedTable, _ zone: Zone, _ subject: String,
    _ troubles: inout [Failure]
  ) throws(Failure) -> JSONValue {
    let source = shaped.source
    var members = try Failure.about(subject) { () throws(TableError) -> JSONObject in
      func title(_ place: TitlePlace) throws(TableError) -> JSONValue {
        try source.sections?.title(place, ofSection: section).map { .string($0) } ?? .null
      }
      return [
        "location": .string(shaped.tables[0].location.description),
        "section": .number("\(section)"),
        "title": try title(.header), "footer": try title(.footer),
        "rows": countJSON(try source.numberOfRows(inSection: section, knowing: countedUpTo)),
      ]
    }
    let elements = elements(of: source, at: .section(section), zone, subject: subject, &troubles)
    if !elements.isEmpty { members["supplementary"] = .object(elements) }
    return .object(members)
  }

  /// The supplementary elements of a row by their kinds. If one cannot be read, the error is reported and the
  /// others are shown.
  private static func elements(
    of source: any TableDataSource, at path: IndexPath, _ zone: Zone, subject: String,
    _ troubles: inout [Failure]
  ) -> JSONObject {
    var elements: JSONObject = [:]
    func note(_ error: TableError, _ what: String) {
      troubles.append(.of(error, subject: "\(subject): \(what)"))
    }
    guard let supplementary = source.supplementary else { return [:] }
    var kinds: [String] = []
    do throws(TableError) {
      kinds = try supplementary.supplementaryKinds()
    } catch {
      note(error, "the kinds of elements")
    }
    for kind in kinds {
      do throws(TableError) {
        switch try supplementary.supplementaryElement(ofKind: kind, at: path) {
        case nil: break
        case .text(let text): elements[kind] = cellJSON(.text(text.bytes))
        case .table(let table): elements[kind] = try tableJSON(table, zone)
        }
      } catch {
        note(error, "the \(kind) of \(path.isSection ? "section" : "row") \(path)")
      }
    }
    return elements
  }

  /// The maximum number of shown rows of an element.
  private static let longestElement = 10_000

  /// A table as JSON, with its columns and rows, and `truncated` if it has more rows than are shown.
  private static func tableJSON(
    _ table: any TableDataSource, _ zone: Zone
  ) throws(TableError) -> JSONValue {
    var rows: [JSONValue] = []
    let sections = try table.numberOfSections(knowing: longestElement).value
    for section in 0..<sections where rows.count <= longestElement {
      var first = 0
      while rows.count <= longestElement {
        let batch = try table.rows(
          RowRequest(
            section: section, first: first, count: longestElement + 1 - rows.count,
            columns: Array(table.columns.indices)))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount {
          rows.append(.array(batch.row(row).map { shown($0, zone) }))
        }
        first += batch.rowCount
      }
    }
    var members: JSONObject = [
      "columns": .array(table.columns.map { columnJSON($0) }),
      "rows": .array(Array(rows.prefix(longestElement))),
    ]
    if rows.count > longestElement { members["truncated"] = .boolean(true) }
    return .object(members)
  }

  private static func describeProvider(
    _ entry: Catalogue.Entry, _ host: Host, _ invocation: Invocation
  ) throws(Failure) -> JSONValue {
    let manifest = providerJSON(
      entry, entry.isShipped ? [:] : ["pinned": .boolean(host.pin(of: entry) != nil)])
    guard invocation.loads, case .object(var members) = manifest else { return manifest }
    let provider = try Failure.about(entry.manifest.id) { () throws(TableError) in
      try host.examine(library: entry.library)
    }
    members["loaded"] = loadedJSON(provider)
    return .object(members)
  }

  private static func describeLibrary(
    _ operand: Argument, _ host: Host, _ invocation: Invocation
  ) throws(Failure) -> JSONValue {
    var members: JSONObject = ["library": .string(operand.text)]
    try Failure.about(nil) { () throws(TableError) in
      // A relative path is relative to the current folder.
      let path = String(decoding: try absolutePath(operand.bytes), as: UTF8.self)
      let report = try host.report(onLibraryAt: path)
      members["entry"] = .string(providerEntrySymbol)
      members["trust"] = try trustJSON(report)
      if invocation.loads { members["loaded"] = loadedJSON(try host.examine(library: path)) }
    }
    let entry = host.catalogue.entries.first { isSameFile($0.library, operand.text) }
    members["manifest"] = entry.map { providerJSON($0) } ?? .null
    return .object(members)
  }

  private static func trustJSON(_ report: TrustReport) throws(TableError) -> JSONValue {
    var names = AccountNames(.user)
    let mode = String(report.mode & 0o7777, radix: 8)
    return .object([
      "path": .string(report.library.path),
      "owner": .string(String(decoding: names[report.owner], as: UTF8.self)),
      "mode": .string(String(repeating: "0", count: max(0, 4 - mode.count)) + mode),
      "sha256": .string(try report.sha256()),
      "pin": report.pin.map { .string($0.id) } ?? .null,
    ])
  }

  private static func loadedJSON(_ provider: LoadedProvider) -> JSONValue {
    .object([
      "id": .string(provider.id), "version": .string(provider.version),
      "contract": .string(contractVersionName),
      "options": .array(provider.options.map { optionJSON($0) }),
      "worker": provider.confinement.map { confinementJSON($0) } ?? .null,
    ])
  }

  /// Whether the operand is a file that begins like an ELF file, or has the name of a library.
  private static func isLibrary(_ operand: Argument) -> Bool {
    if operand.text.hasSuffix(".so") { return true }
    // Opening and closing a pipe would end its writer, even without reading.
    guard stat(at: operand.text)?.kind == S_IFREG,
      let file = Descriptor(opening: operand.text, O_RDONLY | O_NOCTTY | O_NONBLOCK)
    else { return false }
    var start = [UInt8](repeating: 0, count: 4)
    return pread(file.raw, &start, 4, 0) == 4 && start == [0x7F, 0x45, 0x4C, 0x46]
  }
}

/// The exact value of a cell as JSON.
func cellJSON(_ cell: Cell) -> JSONValue {
  switch cell {
  case .missing: .null
  case .text(let bytes):
    cell.string.map { .string($0) }
      ?? .object(["base64": .string(bytes.withUnsafeBytes { base64($0) })])
  case .integer(let value): .number("\(value)")
  case .real(let value): value.isFinite ? .number(cell.description) : .null
  case .boolean(let value): .boolean(value)
  case .date(let value): .string(value.description)
  case .binary(let bytes): .object(["base64": .string(bytes.withUnsafeBytes { base64($0) })])
  }
}
