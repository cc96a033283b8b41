import Tabella
import TabellaBridge
import TabellaHost

// Checks with each location: it opens, and it matches the manifest.

extension Check {
  static let opens = Check(
    "opens", .required, .location, "The location opens, and its first rows can be read.",
    hint: "read the error; a provider should open everything that its manifest claims",
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
    "A host without optional functions, neither log nor abilities, gets the same table.",
    hint: "host->log and host->ability may be null: check before you call them",
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
    "If the manifest declares columns, sources have these columns, with their types and units.",
    hint: "declare columns only if they are always the same",
    .location { run, place in
      guard let declared = run.manifest?.columns else {
        throw Problem.skipped("the manifest declares no columns")
      }
      let columns = try run.open(place.request).columns
      // A manifest does not declare the rank and the role of a column.
      guard columns.count == declared.count,
        zip(columns, declared).allSatisfy({
          $0.name == $1.name && $0.type == $1.type && $0.unit == $1.unit
            && $0.isOnRequest == $1.isOnRequest
        })
      else {
        throw Problem.failed("they are \(names(of: columns)), declared \(names(of: declared))")
      }
    })

  static let capabilitiesAsDeclared = Check(
    "capabilities-as-declared", .recommended, .location,
    "The capabilities in the manifest are those of the sources.",
    hint: "write the words that `tabella describe LOCATION` prints as capabilities",
    .locations { run, locations in
      guard let declared = run.manifest?.capabilities, !declared.isEmpty else {
        throw Problem.skipped("the manifest declares no capabilities")
      }
      // Abilities may depend on the location, so one location with the ability suffices.
      var has: AbilitySet = []
      for place in locations { has.formUnion(AbilitySet(usableOf: try run.open(place.request))) }
      func list(_ abilities: [Ability]) -> String {
        abilities.map(\.name).joined(separator: ", ")
      }
      let surplus = has.abilities.filter { !declared.contains($0.name) }
      guard surplus.isEmpty else {
        throw Problem.failed("it has \(list(surplus)), which is not declared")
      }
      let absent = Ability.allCases.filter { declared.contains($0.name) && !has.contains($0) }
      guard absent.allSatisfy(\.mayDepend) else {
        throw Problem.failed("it has no \(list(absent)), which is declared")
      }
    })

  static let optionsOpen = Check(
    "options-open", .required, .location,
    "An option with its default value does not change the table; with any other value the table opens or is "
      + "refused.",
    hint: "check values yourself: hosts check only the type and the choices",
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
    "Nothing is printed: standard output and standard error belong to the host.",
    hint: "use the host's log, or diagnostics for messages about the data",
    .location { run, place in
      guard run.capturesOutput else {
        throw Problem.skipped("output of this process goes to the terminal and cannot be checked")
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
    "It makes no system call that a worker is denied.",
    hint:
      "request permissions beyond the location in the manifest (docs/security.md), or avoid the call",
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
        section: section, first: 0, count: 20, columns: source.columns.usualNumbers))
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
      throw Problem.failed("\(what): the message of the refusal is not one line")
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

extension Ability {
  /// Whether sources of one provider may differ in an ability, because of options, data or permissions.
  fileprivate var mayDepend: Bool {
    switch self {
    case .sections, .sectionIndex, .editing, .sectionEditing, .moving, .undoing, .accessories: true
    default: false
    }
  }
}
