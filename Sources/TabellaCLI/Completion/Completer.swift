import Glibc
import Tabella
import TabellaHost
import TabellaSystem
import TabellaTerminal

/// Finds the candidates at the cursor of a command line. It never fails; unknown candidates are omitted.
struct Completer {
  private let host = Host()

  /// The candidates for the last word. The first word is a command, or a location to show.
  func candidates(_ words: [Argument]) -> Candidates {
    var found = Candidates()
    guard let word = words.last else { return found }
    let typed = word.text
    guard let name = words.first?.text, words.count > 1 else {
      for command in CommandTable.shown { found.offer(command.name, command.summary, for: typed) }
      if typed.hasPrefix("-") {
        found.offer("--help", "tells how to use tabella", for: typed)
        found.offer("--version", "prints the version", for: typed)
        return found
      }
      let hasCommand = !found.items.isEmpty
      offer(.location, typed, behind: "", PartialLine(.show, []), &found)
      // A command is complete; a scheme or a folder is not.
      found.isOpen = !hasCommand
      return found
    }
    let first = name == "--help" || name == "-h" ? "help" : name
    let line: PartialLine
    if let command = CommandTable.shown.first(where: { $0.name == first }) {
      line = PartialLine(command, words.dropFirst().dropLast())
    } else if FirstWord.isLocation(Completer.path(words[0]), host) {
      line = PartialLine(.show, words.dropLast())
    } else {
      return found
    }
    if let spec = line.pending {
      offer(spec.values, typed, behind: "", line, &found)
    } else if line.isPastOptions || !typed.hasPrefix("-") {
      offer(line.operandValue, typed, behind: "", line, &found)
    } else if case (let name, let value?) = Invocation.split(word) {
      guard let spec = line.option(name), spec.argument != nil else { return found }
      let start = typed.dropLast(value.text.count)
      offer(spec.values, value.text, behind: String(start), line, &found)
    } else {
      offerOptions(typed, line, &found)
    }
    return found
  }

  private func offerOptions(_ typed: String, _ line: PartialLine, _ found: inout Candidates) {
    for spec in line.command.options where spec.repeats || line.given.isDisjoint(with: spec.names) {
      for name in spec.names { found.offer(name, spec.summary, for: typed) }
    }
    found.offer("--help", "tells how to use this command", for: typed)
  }

  /// Offers values of a kind that begin with `typed`. `start` is the part of the word in front of the value.
  private func offer(
    _ kind: Completion, _ typed: String, behind start: String, _ line: PartialLine,
    _ found: inout Candidates
  ) {
    func offer(_ value: String, _ meaning: String = "") {
      found.offer(start + value, meaning, for: start + typed)
    }
    switch kind {
    case .none: break
    case .choices(let choices): for choice in choices { offer(choice) }
    case .helpPage:
      for command in CommandTable.shown { offer(command.name, command.summary) }
      for topic in Topic.all { offer(topic.name, topic.summary) }
    case .path: found.files = start.count
    case .provider: for entry in providers { offer(entry.id, entry.summary) }
    case .location, .subject, .receipt:
      if kind == .receipt { for (id, edits) in receipts { offer("receipt:\(id)", edits) } }
      if kind == .subject { for entry in providers { offer(entry.id, entry.summary) } }
      for provider in providers {
        for scheme in provider.schemes { offer("\(scheme):", provider.summary) }
      }
      let scheme = typed.prefix { $0 != ":" }
      let isScheme = scheme.count < typed.count && schemes.contains(String(scheme))
      found.files = start.count + (isScheme ? scheme.count + 1 : 0)
      found.isOpen = true
    case .providerOption:
      offerProviderOptions(typed, line, offer)
      found.isOpen = !typed.contains("=")
    case .column, .columns, .sortColumns, .groupings, .filter, .assignment, .aggregates,
      .sectionOrder, .resultColumns, .resultSort, .resultFilter:
      guard let columns = table(of: line, isShaped: false)?.source.columns else { return }
      let candidates = ColumnCandidates(columns, summary: line.invocation.summary)
      for (value, meaning) in candidates.values(kind, typed) { offer(value, meaning) }
      found.isOpen = kind != .column
    case .sectionTitle:
      for (title, rows) in sectionTitles(of: line) { offer(title, rows) }
    case .indexTitle:
      for title in indexTitles(of: line) { offer(title) }
    }
  }

  private var providers: [Manifest] { host.catalogue.entries.map(\.manifest) }
  private var schemes: Set<String> { Set(providers.flatMap(\.schemes)) }

  /// The newest receipts that can be undone, with a description of the edit.
  private var receipts: [(ReceiptID, String)] {
    guard let store = try? ReceiptStore() else { return [] }
    return store.newest(50).filter(\.isUndoable).map { receipt in
      // The description contains names of columns and files, which may contain any bytes.
      (receipt.id, SafeText("\(receipt.description), \(receipt.location.description)").string)
    }
  }

  private func offerProviderOptions(
    _ typed: String, _ line: PartialLine, _ offer: (String, String) -> Void
  ) {
    let declared = manifests(of: line).flatMap { manifest in
      manifest.options.map { (manifest.id, $0) }
    }
    guard let equals = typed.firstIndex(of: "=") else {
      for (provider, option) in declared where line.invocation.options[option.name] == nil {
        offer("\(option.name)=", "\(provider): \(option.summary)")
      }
      return
    }
    for (_, option) in declared where option.name == typed[..<equals] {
      let choices =
        !option.choices.isEmpty
        ? option.choices
        : option.kind == .boolean
          ? ["true", "false"] : option.defaultValue.map { [$0] } ?? []
      for choice in choices {
        offer("\(option.name)=\(choice)", choice == option.defaultValue ? "the default" : "")
      }
    }
  }

  /// The providers of the line: the named one, those of its locations, or all.
  private func manifests(of line: PartialLine) -> [Manifest] {
    if let id = line.invocation.provider { return providers.filter { $0.id == id } }
    if line.locations.isEmpty { return providers }
    var found: [Manifest] = []
    for location in line.locations {
      let location = Completer.path(location)
      if let manifest = try? host.manifest(for: Location(location.bytes)), !found.contains(manifest)
      {
        found.append(manifest)
      }
    }
    return found
  }

  /// The table of the line. With `isShaped`, it is filtered, searched and grouped as the line requests.
  private func table(of line: PartialLine, isShaped: Bool) -> ShapedTable? {
    var invocation = line.invocation
    invocation.operands = line.locations.map { Completer.path($0) }
    guard !invocation.operands.isEmpty, invocation.operands.allSatisfy(Completer.mayBeOpened) else {
      return nil
    }
    // These options affect neither titles nor columns.
    for name in invocation.savingOptions.keys { invocation.options[name] = nil }
    (invocation.columns, invocation.sort) = (nil, nil)
    (invocation.section, invocation.atIndex) = (nil, nil)
    if !isShaped {
      (invocation.filters, invocation.searches, invocation.sectionBy) = ([], [], nil)
      invocation.sectionsBy = nil
    }
    return try? ShapedTable(invocation, command: line.command.name)
  }

  /// Titles of sections in the syntax of `--section`, with the number of rows.
  private func sectionTitles(of line: PartialLine) -> [(String, String)] {
    guard let source = table(of: line, isShaped: true)?.source, let sections = source.sections
    else {
      return []
    }
    var titles: [(String, String)] = []
    for section in 0..<Candidates.limit {
      guard let count = try? source.numberOfSections(knowing: section + 1).value, count > section,
        let title = try? sections.title(.header, ofSection: section)
      else { break }
      let isAmbiguous =
        title.utf8.allSatisfy { 48...57 ~= $0 } || title.hasPrefix("title:")
      let rows = try? source.numberOfRows(inSection: section, knowing: 0)
      titles.append(
        (
          isAmbiguous ? "title:\(title)" : title,
          rows.map { $0.isExact ? "\($0.value) rows" : "" } ?? ""
        ))
    }
    return titles
  }

  private func indexTitles(of line: PartialLine) -> [String] {
    let source = table(of: line, isShaped: true)?.source
    return (try? source?.sectionIndex?.sectionIndexTitles()) ?? []
  }

  /// A location with the home directory instead of `~`, which the shell has not replaced yet.
  private static func path(_ location: Argument) -> Argument {
    guard location.bytes.starts(with: Array("~/".utf8)), let home = environment("HOME") else {
      return location
    }
    return Argument(Array(home.utf8) + location.bytes.dropFirst())
  }

  /// Whether opening the location reads at most a file or a folder and has no side effects.
  private static func mayBeOpened(_ location: Argument) -> Bool {
    guard location.bytes != [UInt8(ascii: "-")] else { return false }
    let rest = location.bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst()
    return [location.bytes, Array(rest)].allSatisfy { path in
      guard let kind = stat(at: path)?.kind else { return true }
      return kind == S_IFREG || kind == S_IFDIR
    }
  }
}
