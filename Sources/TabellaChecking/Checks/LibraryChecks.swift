import Tabella
import TabellaBridge
import TabellaHost

// Checks of a library's file and its manifest.

extension Check {
  /// ``Checker/run(onStart:_:)`` reports this check first; if it fails, no other check runs.
  static let loads = Check(
    "loads", .library,
    "The file is a library for this machine that exports the entry, and the entry answers.",
    hint: LoadingAdvice.general, .file { _ in })

  static let hasManifest = Check(
    "has-manifest", .recommended, .library,
    "A manifest beside the library names it.",
    hint: "hosts find a provider only by its manifest: write NAME.tabella.json beside the library "
      + "(docs/contract.md lists the members, and `tabella new-provider` writes an example)",
    .file { run in
      guard run.manifest == nil, run.manifestFile == nil else { return }
      throw Problem.failed("no file *.tabella.json in the folder of the library names the library")
    })

  static let manifestAgrees = Check(
    "manifest-agrees", .library,
    "The manifest beside the library names the library, and has its contract, id, version and "
      + "options. Defaults are values that the options accept.",
    hint: "hosts read the manifest without running the library: correct the one that is wrong",
    .file { run in
      if let fault = run.manifestFile?.fault { throw Problem.failed(fault) }
      if let file = run.manifestFile, let other = file.otherLibrary {
        throw Problem.failed(
          "\(file.name) names the library \(other), not \(fileName(of: run.library))")
      }
      guard let manifest = run.manifest else {
        throw Problem.skipped("there is no manifest beside the library")
      }
      for (what, declared, said) in [
        ("contract", manifest.contract, run.loaded.contract), ("id", manifest.id, run.loaded.id),
        ("version", manifest.version, run.loaded.version),
      ] where declared != said {
        throw Problem.failed("the manifest says \(what) \(declared), the library says \(said)")
      }
      for option in manifest.options { try checkDefault(of: option) }
      // The library may omit its options, because hosts use the manifest.
      guard !run.loaded.options.isEmpty else { return }
      let (declared, said) = (manifest.options, run.loaded.options)
      if let option = said.first(where: { option in !declared.contains { $0.name == option.name } })
      {
        throw Problem.failed("the library has an option \(option.name), but the manifest does not")
      }
      for option in declared {
        guard let own = said.first(where: { $0.name == option.name }) else {
          throw Problem.failed(
            "the manifest has an option \(option.name), but the library does not")
        }
        guard own.kind == option.kind, own.choices == option.choices,
          own.defaultValue ?? "" == option.defaultValue ?? ""
        else {
          throw Problem.failed(
            "the option \(option.name) is \(words(of: option)) in the manifest, and \(words(of: own)) "
              + "in the library")
        }
      }
    })

  static let manifestMembers = Check(
    "manifest-members", .recommended, .library,
    "The manifest beside the library has only members and words that hosts know.",
    hint: "correct the name, or remove it; docs/contract.md lists the members and the capabilities",
    .file { run in
      guard let file = run.manifestFile else {
        throw Problem.skipped("there is no manifest beside the library")
      }
      guard file.ignored.isEmpty else {
        throw Problem.failed("hosts ignore \(file.ignored.joined(separator: ", "))")
      }
    })

  static let exportsOneSymbol = Check(
    "exports-one-symbol", .recommended, .library,
    "The library exports the entry and nothing else.",
    hint: "compile C with -fvisibility=hidden; in Swift, depend on the product TabellaSDK",
    .file { run in
      let others = try LibraryFile(run.library).exports.filter { $0 != providerEntrySymbol }
      guard others.isEmpty else {
        let some = others.prefix(3).joined(separator: ", ")
        throw Problem.failed(
          "it exports \(others.count) more: \(some)\(others.count > 3 ? ", …" : "")")
      }
    })

  static let runpathIsRelative = Check(
    "runpath-is-relative", .recommended, .library,
    "The library finds other libraries relative to itself, not under paths of the build machine.",
    hint: "link with -rpath '$ORIGIN'; in Swift, depend on the product TabellaSDK and build with "
      + "-c release",
    .file { run in
      let absolute = try LibraryFile(run.library).searchPaths.filter { $0.hasPrefix("/") }
      guard absolute.isEmpty else {
        throw Problem.failed("its RUNPATH names \(absolute.joined(separator: ", "))")
      }
    })

  static let staysLoaded = Check(
    "stays-loaded", .recommended, .library,
    "The library is marked so that it is never unmapped.",
    hint:
      "link with -z nodelete: code that the Swift runtime or a thread still refers to must not "
      + "go",
    .file { run in
      guard try LibraryFile(run.library).isNeverUnmapped else {
        throw Problem.failed("its flags have no NODELETE")
      }
    })

  static let ownConformances = Check(
    "own-conformances", .recommended, .library,
    "The library does not conform a type of another module to a protocol of another module.",
    hint:
      "such a conformance affects the whole process, including the host: wrap the type instead",
    .file { run in
      let count = try LibraryFile(run.library).retroactiveConformances
      guard count == 0 else {
        throw Problem.failed("it has \(count) such conformance\(count == 1 ? "" : "s")")
      }
    })

  fileprivate init(
    _ name: String, _ subject: Subject, _ summary: String, hint: String, _ body: Body
  ) {
    self.init(name, .required, subject, summary, hint: hint, body)
  }
}

private func fileName(of path: String) -> String {
  path.split(separator: "/").last.map(String.init) ?? path
}

/// Throws if an option does not accept its own default. Then a user cannot type the value that applies without it.
private func checkDefault(of option: OptionDeclaration) throws {
  guard let value = option.defaultValue, !value.isEmpty else { return }
  do throws(TableError) {
    try option.check(value)
  } catch {
    throw Problem.failed("in the manifest, the default is not allowed: \(error.message)")
  }
}

private func words(of option: OptionDeclaration) -> String {
  var words = option.kind.name
  if let value = option.defaultValue, !value.isEmpty { words += " (default \(value))" }
  if !option.choices.isEmpty { words += " of \(option.choices.joined(separator: "|"))" }
  return words
}
