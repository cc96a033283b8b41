import Glibc
import Tabella
import TabellaHost

extension Command {
  static let providers = Command(
    name: "providers", operands: "[ID…]", operandValues: [.provider],
    summary: "list the providers, or pin them",
    discussion: """
      A provider is a library with a manifest beside it, `NAME.tabella.json`. The command finds providers without \
      running their code. For each candidate that cannot be used it prints the reason on standard error; the exit \
      status stays 0.

      `shipped` providers are part of tabella. For the other providers, `--pin` records the SHA-256 of the library and \
      grants the permissions that the manifest requests (files, signals, the network). From then on tabella refuses a \
      library with another SHA-256. The command prints each pin. Without an ID it pins all of them. The pins are in \
      `$XDG_CONFIG_HOME/tabella/pins.json`.
      """,
    options: [.pin, .unpin, .json],
    examples: [
      ("tabella providers", "list all providers"),
      ("tabella providers --pin", "pin the added providers as they are now"),
    ], seeAlso: ["describe", "locations"], group: .providers
  ) { invocation, output throws(Failure) in
    let host = Host()
    let ids = invocation.operands.map(\.text)
    switch invocation.pinning {
    case .pin: return try pin(ids, host, invocation, output)
    case .unpin: return try unpin(ids, host)
    case nil:
      if let id = ids.first {
        throw .usage(
          "\(id) needs --pin or --unpin; to describe a provider, run: tabella describe \(id)",
          command: "providers")
      }
      return try list(host, invocation, output)
    }
  }

  private static func list(
    _ host: Host, _ invocation: Invocation, _ output: Output
  ) throws(Failure) -> ExitStatus {
    var refusals = host.catalogue.refusals.map { ($0.path, $0.reason) }
    let entries = host.catalogue.entries.filter { entry in
      do throws(TableError) {
        _ = try host.report(on: entry)
        return true
      } catch {
        refusals.append((entry.manifest.id, error.text))
        return false
      }
    }
    if invocation.isJSON {
      let providers = entries.map { entry in
        let pinned = entry.isShipped ? JSONValue.null : .boolean(host.pin(of: entry) != nil)
        return providerJSON(entry, ["pinned": pinned])
      }
      let refused = refusals.map { path, reason in
        JSONValue.object(["path": .string(path), "reason": .string(reason)])
      }
      try output.write(
        json: .object(["providers": .array(providers), "refused": .array(refused)]))
      return .done
    }
    let rows = entries.map { entry in
      let origin =
        entry.isShipped ? "shipped" : host.pin(of: entry) != nil ? "pinned" : "unpinned"
      return [
        entry.manifest.id, entry.manifest.version, origin, claims(entry.manifest),
        entry.manifest.summary,
      ]
    }
    try writeTable(["id", "version", "origin", "opens", "summary"], rows, output)
    for (path, reason) in refusals {
      try output.finish()
      Messages.write("\(path): \(reason)", about: "refused")
    }
    return .done
  }

  private static func pin(
    _ ids: [String], _ host: Host, _ invocation: Invocation, _ output: Output
  ) throws(Failure) -> ExitStatus {
    var entries = host.catalogue.entries.filter { !$0.isShipped }
    if !ids.isEmpty {
      entries = try ids.map { id throws(Failure) in
        let entry = try Failure.about(id) { () throws(TableError) in
          try host.catalogue.entry(id: id)
        }
        guard !entry.isShipped else {
          throw .usage("\(id) ships with tabella and needs no pin", command: "providers")
        }
        return entry
      }
    }
    let pins = try entries.map { entry throws(Failure) in
      try Failure.about(entry.manifest.id) { () throws(TableError) in try host.newPin(for: entry) }
    }
    if !pins.isEmpty {
      try Failure.about("pins") { () throws(TableError) in try Pins.standard.change(adding: pins) }
    }
    if invocation.isJSON {
      try output.write(json: .object(["pinned": .array(pins.map(\.json))]))
    } else {
      let rows = pins.map { pin in
        [
          pin.id, pin.permissions.descriptions.joined(separator: ", "), pin.sha256, pin.library,
        ]
      }
      try writeTable(["pinned", "granted", "sha256", "library"], rows, output)
    }
    return .done
  }

  private static func unpin(_ ids: [String], _ host: Host) throws(Failure) -> ExitStatus {
    guard !ids.isEmpty else {
      throw .usage(
        "--unpin requires the IDs of the providers; list them with: tabella providers",
        command: "providers")
    }
    try Failure.about("pins") { () throws(TableError) in
      let known = Set(try Pins.standard.read().map(\.id))
      if let stranger = ids.first(where: { !known.contains($0) }) {
        throw TableError(.notFound, "\(stranger) is not pinned")
      }
      try Pins.standard.change(adding: [], removing: Set(ids))
    }
    return .done
  }
}

/// The schemes and patterns that a provider opens, as text.
func claims(_ manifest: Manifest) -> String {
  let paths = manifest.patterns.map { pattern in
    guard pattern == "*" else { return pattern }
    return manifest.accepts.map { $0 == .file ? "any file" : "any folder" }.sorted()
      .joined(separator: ", ")
  }
  return (manifest.schemes.map { "\($0):" } + paths).joined(separator: " ")
}

/// A provider as JSON: its manifest and more members.
func providerJSON(_ entry: Catalogue.Entry, _ more: JSONObject = [:]) -> JSONValue {
  let manifest = entry.manifest
  func texts(_ list: [String]) -> JSONValue { .array(list.map { .string($0) }) }
  let members: JSONObject = [
    "id": .string(manifest.id), "version": .string(manifest.version),
    "contract": .string(manifest.contract), "library": .string(entry.library),
    "shipped": .boolean(entry.isShipped), "summary": .string(manifest.summary),
    "schemes": texts(manifest.schemes), "patterns": texts(manifest.patterns),
    "accepts": texts(manifest.accepts.map(\.rawValue).sorted()),
    "capabilities": texts(manifest.capabilities),
    "options": .array(manifest.options.map { optionJSON($0) }),
    "columns": manifest.columns.map { .array($0.map { columnJSON($0) }) } ?? .null,
    "confinement": manifest.permissions == .none ? .null : manifest.permissions.json,
  ]
  return .object(members.merging(more))
}

func columnJSON(_ column: Column) -> JSONValue {
  var members: JSONObject = [
    "name": .string(column.name), "type": .string(column.valueType.name),
  ]
  if let unit = column.unit { members["unit"] = .string(unit.rawValue) }
  if column.isOnRequest { members["on request"] = .boolean(true) }
  return .object(members)
}

func optionJSON(_ option: OptionDeclaration) -> JSONValue {
  .object([
    "name": .string(option.name), "type": .string(option.kind.name),
    "default": option.defaultValue.map { .string($0) } ?? .null,
    "choices": .array(option.choices.map { .string($0) }), "summary": .string(option.summary),
  ])
}

/// Writes a small table of text in the format of `show`.
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
