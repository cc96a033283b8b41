import Glibc
import Tabella
import TabellaHost

extension Command {
  static let providers = Command(
    name: "providers", operands: "",
    summary: "lists the providers found, and the candidates refused with the reason",
    discussion: """
      A provider is a library with a manifest beside it, `NAME.tabella.json`. They are found without running \
      any of their code. A candidate that cannot be used is named on standard error with the reason; that is \
      no failure.

      A provider that fails three times within an hour at the same location is not tried there again for a \
      minute, then for two, four and so on, a day at most; what is denied so is listed as well.
      """,
    options: [.allow, .json],
    examples: [
      ("tabella providers", "all of them"),
      ("tabella providers --allow planets", "try planets again where it failed"),
    ], seeAlso: ["describe"]
  ) { invocation, output throws(Failure) in
    if let operand = invocation.operands.first {
      throw .usage("\(operand.text) is not expected", command: "providers")
    }
    let catalogue = Host().catalogue
    let denyList = DenyList.standard
    if let allowed = invocation.allowed {
      _ = try Failure.about(nil) { () throws(TableError) in try catalogue.entry(id: allowed) }
      denyList.allow(allowed)
    }
    if invocation.isJSON {
      let refused = catalogue.refusals.map { refusal in
        JSONValue.object([
          "path": .string(refusal.path), "reason": .string(refusal.reason),
        ])
      }
      let document = JSONValue.object([
        "providers": .array(catalogue.entries.map { providerJSON($0) }),
        "refused": .array(refused), "denied": .array(denyList.denied.map(\.json)),
      ])
      try output.write(json: document)
      return .done
    }
    let rows = catalogue.entries.map { entry in
      [
        entry.manifest.id, entry.manifest.version, entry.isShipped ? "shipped" : "added",
        claims(entry.manifest), entry.manifest.summary,
      ]
    }
    try writeTable(["id", "version", "origin", "opens", "summary"], rows, output)
    for refusal in catalogue.refusals {
      try output.finish()
      Messages.write("\(refusal.path): \(refusal.reason)", about: "refused")
    }
    for entry in denyList.denied {
      try output.finish()
      let left = DenyList.text(seconds: entry.until - Int(time(nil)))
      Messages.write(
        "\(entry.location), for \(left): it failed \(entry.failures) times, last in \(entry.operation) (\(entry.reason))",
        about: "denied: provider \(entry.provider)")
    }
    return .done
  }
}

/// What a provider claims, in a few words.
func claims(_ manifest: Manifest) -> String {
  let paths = manifest.patterns.map { pattern in
    guard pattern == "*" else { return pattern }
    return manifest.accepts.map { $0 == .file ? "any file" : "any folder" }.sorted()
      .joined(separator: ", ")
  }
  return (manifest.schemes.map { "\($0):" } + paths).joined(separator: " ")
}

/// A provider as JSON, as its manifest describes it.
func providerJSON(_ entry: Catalogue.Entry) -> JSONValue {
  let manifest = entry.manifest
  func texts(_ list: [String]) -> JSONValue { .array(list.map { .string($0) }) }
  return .object([
    "id": .string(manifest.id), "version": .string(manifest.version),
    "contract": .string(manifest.contract), "library": .string(entry.library),
    "shipped": .boolean(entry.isShipped), "summary": .string(manifest.summary),
    "schemes": texts(manifest.schemes), "patterns": texts(manifest.patterns),
    "accepts": texts(manifest.accepts.map(\.rawValue).sorted()),
    "capabilities": texts(manifest.capabilities),
    "options": .array(manifest.options.map { optionJSON($0) }),
    "columns": manifest.columns.map { .array($0.map { columnJSON($0) }) } ?? .null,
  ])
}

func columnJSON(_ column: Column) -> JSONValue {
  var members: [String: JSONValue] = [
    "name": .string(column.name), "type": .string(column.type.name),
  ]
  if let unit = column.unit { members["unit"] = .string(unit.rawValue) }
  return .object(members)
}

func optionJSON(_ option: OptionDeclaration) -> JSONValue {
  .object([
    "name": .string(option.name), "type": .string(option.kind.name),
    "default": option.defaultValue.map { .string($0) } ?? .null,
    "choices": .array(option.choices.map { .string($0) }), "summary": .string(option.summary),
  ])
}

/// Writes a small table of text with the same format that `show` has.
func writeTable(
  _ names: [String], _ rows: [[String]], _ output: Output
) throws(Failure) {
  let source = InMemorySource(
    names.map { Column($0) }, rows: rows.map { row in row.map { Cell.text($0) } })
  var format = TableFormat(output, isGrouped: false, mayTurn: true)
  try format.begin(ShownTable(ShapedTable(source), hasHeader: true))
  let batch = try Failure.about(nil) { () throws(TableError) in
    try source.rows(
      RowRequest(first: 0, count: max(rows.count, 1), columns: Array(names.indices)))
  }
  try format.write(ShownRows(batch: batch, first: IndexPath(section: 0, row: 0)))
  try format.end(failure: nil)
}
