import Tabella
import TabellaBridge
import TabellaHost

// Checks with each location: it opens, and it matches the manifest.

extension Check {
  static let opens = Check(
    "opens", .required, .location, "What is named opens, and shows its first rows.",
    hint: "look at the error; what a provider claims in its manifest it should open",
    .location { run, place in
      do throws(TableError) {
        try look(at: try run.open(place.request))
      } catch {
        // A provider may refuse an empty or odd sample.
        if place.origin != .given, Finding.Status.of(error) == nil, error.code != .misbehaved {
          throw Problem.skipped("\(place.name) is refused: \(error.message)")
        }
        throw error
      }
    })

  static let minimalHost = Check(
    "minimal-host", .required, .location,
    "A host that offers nothing optional, neither log nor abilities, is shown the same.",
    hint: "host->log and host->ability may be null: look before they are called",
    .location { run, place in
      let usual = try run.open(place.request)
      let minimal = try run.open(place.request, isMinimal: true)
      try look(at: minimal)
      guard usual.columns == minimal.columns else {
        throw Problem.failed(
          "its columns are \(names(of: minimal.columns)), else \(names(of: usual.columns))")
      }
    })

  static let columnsAsDeclared = Check(
    "columns-as-declared", .required, .location,
    "Where the manifest declares columns, sources have them, with their types and units.",
    hint: "declare columns only if they are always the same",
    .location { run, place in
      guard let declared = run.manifest?.columns else {
        throw Problem.skipped("the manifest declares no columns")
      }
      let columns = try run.open(place.request).columns
      guard columns == declared else {
        throw Problem.failed("they are \(names(of: columns)), declared \(names(of: declared))")
      }
    })

  static let capabilitiesAsDeclared = Check(
    "capabilities-as-declared", .recommended, .location,
    "The capabilities in the manifest are those that sources have.",
    hint: "the words are those of `tabella describe LOCATION`; other words are for people",
    .locations { run, locations in
      guard let declared = run.manifest?.capabilities, !declared.isEmpty else {
        throw Problem.skipped("the manifest declares no capabilities")
      }
      // Abilities may depend on the location, so one location with the ability suffices.
      var has: Set<String> = []
      for place in locations {
        let source = try run.open(place.request)
        has.formUnion(Capability.all.filter { $0.isOf(source) }.map(\.name))
      }
      let known = Capability.all.map(\.name)
      let surplus = known.filter { has.contains($0) && !declared.contains($0) }
      guard surplus.isEmpty else {
        throw Problem.failed("it has \(surplus.joined(separator: ", ")), which is not declared")
      }
      let absent = declared.filter { known.contains($0) && !has.contains($0) }
      guard absent.isEmpty || absent.allSatisfy(Capability.mayDepend) else {
        throw Problem.failed("it has no \(absent.joined(separator: ", ")), which is declared")
      }
    })

  static let optionsOpen = Check(
    "options-open", .required, .location,
    "With each option at its default a table is as without it; at any other value it opens or is "
      + "refused.",
    hint: "check values yourself: hosts check the kind and the choices only",
    .kind { run, place in
      guard let options = run.manifest?.options, !options.isEmpty else {
        throw Problem.skipped("the manifest declares no options")
      }
      let columns = try run.open(place.request).columns
      for option in options {
        if let value = option.defaultValue, place.request.options[option.name] == nil {
          var request = place.request
          request.options[option.name] = value
          guard try run.open(request).columns == columns else {
            throw Problem.failed(
              "with \(option.name)=\(value), its default, there are other columns than without")
          }
        }
        for value in oddValues(of: option) {
          var request = place.request
          request.options[option.name] = value
          try expectTableOrRefusal(run, request, "\(option.name)=\(value.debugDescription)")
        }
      }
    })

  static let staysQuiet = Check(
    "stays-quiet", .recommended, .location,
    "Nothing is printed: standard output and error are the host's.",
    hint: "use the host's log, or diagnostics for remarks on the data",
    .location { run, place in
      guard run.capturesOutput else {
        throw Problem.skipped("what is printed here goes to the terminal")
      }
      // Other checks report errors.
      _ = try? look(at: try run.open(place.request))
      let printed = run.takeOutput().filter { $0.kind == .printed }
      guard let first = printed.first else { return }
      throw Problem.failed(
        "it printed \(printed.count) line\(printed.count == 1 ? "" : "s"): "
          + String(decoding: first.text.prefix(80), as: UTF8.self))
    })

  static let staysInBounds = Check(
    "stays-in-bounds", .recommended, .location,
    "It tries nothing that a worker is denied.",
    hint:
      "say in the manifest what it must have beyond its location (docs/security.md), or do without",
    .location { run, place in
      guard run.capturesOutput else { throw Problem.skipped("nothing is denied in this process") }
      _ = try? look(at: try run.open(place.request))
      let denied = run.takeOutput().filter { $0.kind == .denied }
      guard let first = denied.first else { return }
      throw Problem.failed("it was denied: \(String(decoding: first.text, as: UTF8.self))")
    })
}

/// Reads the same data as a viewer at its start: counts and a few rows of the first sections.
func look(at source: any TableDataSource) throws(TableError) {
  let sections = try source.numberOfSections(knowing: 3).value
  for section in 0..<min(sections, 3) {
    _ = try source.numberOfRows(inSection: section, knowing: 20)
    _ = try source.rows(
      RowRequest(
        section: section, first: 0, count: 20, columns: Array(source.columns.indices)))
    _ = try source.sections?.title(.header, ofSection: section)
  }
}

/// Opens and reads a request that may fail. The result must be a table, or an error with a message of one line. Throws
/// for anything else.
///
/// The answer must arrive soon: a call may take three times the limit of silence.
func expectTableOrRefusal(
  _ run: CheckRun, _ request: OpenRequest, _ what: String, mayOpen: Bool = true
) throws {
  do throws(TableError) {
    try look(at: try run.open(request, isSoon: true))
  } catch {
    if error.code == .misbehaved || Finding.Status.of(error) != nil {
      throw Problem(status: .of(error) ?? .failed, text: "\(what): \(error.message)")
    }
    guard !error.message.isEmpty, !error.message.utf8.contains(where: { $0 == 10 || $0 == 13 })
    else {
      throw Problem.failed("\(what): it is refused with a message that is not one line")
    }
    return
  }
  if !mayOpen { throw Problem.failed("\(what): it opens") }
}

private func names(of columns: [Column]) -> String {
  columns.isEmpty
    ? "none"
    : columns.map { column in
      "\(column.name) \(column.type.name)\(column.unit.map { " in \($0.rawValue)" } ?? "")"
    }.joined(separator: ", ")
}

/// Values at and beyond the limits of an option's kind.
private func oddValues(of option: OptionDeclaration) -> [String] {
  if !option.choices.isEmpty { return option.choices + ["", "no such choice"] }
  switch option.kind {
  case .boolean: return ["true", "false", "yes", "perhaps"]
  case .integer: return ["0", "1", "-1", "\(Int.max)", "\(Int.min)", "many"]
  case .text:
    return ["", "x", "no such value", "\n", "é\u{202E}", String(repeating: "x", count: 70_000)]
  }
}

/// An ability and its name in manifests, JSON and `describe`.
struct Capability {
  let name: String
  let isOf: @Sendable (any TableDataSource) -> Bool

  static let all: [Capability] = [
    Capability(name: "sections") { $0.sections != nil },
    Capability(name: "index") { source in
      (try? source.sectionIndex?.sectionIndexTitles())?.isEmpty == false
    },
    Capability(name: "ids") { $0.identity != nil },
    Capability(name: "gather") { $0.gathering != nil },
    Capability(name: "edit") { $0.editing != nil },
    Capability(name: "move") { $0.moving != nil },
    Capability(name: "undo") { $0.undoing != nil },
    Capability(name: "changes") { $0.changes != nil },
    Capability(name: "supplementary") { $0.supplementary != nil },
    Capability(name: "accessories") { $0.accessories != nil },
    Capability(name: "display") { $0.display != nil },
    Capability(name: "prefetch") { $0.prefetching != nil },
    Capability(name: "diagnostics") { $0.diagnostics != nil },
  ]

  /// Whether sources of one provider may differ in an ability, because of options, data or permissions.
  static func mayDepend(_ name: String) -> Bool {
    ["sections", "index", "edit", "move", "undo", "accessories"].contains(name)
  }
}
