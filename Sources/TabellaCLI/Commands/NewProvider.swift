import ProviderTemplates
import Tabella
import TabellaHost
import TabellaTerminal

extension Command {
  static let newProvider = Command(
    name: "new-provider", operands: "NAME", operandValues: [.none],
    summary: "write the files of a new provider",
    discussion: """
      Creates the folder NAME with a small provider that works. `make` in that folder builds the library NAME.so, next \
      to its manifest. `NAME:` then shows the rows of a sample, and a file whose name ends in .NAME shows its lines. \
      `make test` compares tables with expected ones, and checks the library. Edit the source, and you have your own \
      provider.

      NAME is the id of the provider, its scheme and the suffix of its files. It has the letters a-z, digits, `.`, \
      `-` and `+`, and begins with a letter. The command never changes a file or folder that exists.

      Swift needs the Swift toolchain, and the SDK that an installation contains. C needs a C compiler and the headers \
      of an installation. Rust needs `rustc` 1.63 or later, and nothing else.
      """,
    options: [.language, .json],
    examples: [
      ("tabella new-provider stars", "write a provider in Swift"),
      ("tabella new-provider planets --language c", "write a provider in C"),
    ], seeAlso: ["check", "providers"], group: .providers
  ) { invocation, output throws(Failure) in
    guard let name = invocation.operands.first else {
      throw .usage("the name of the provider is missing", command: "new-provider")
    }
    guard invocation.operands.count == 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "new-provider")
    }
    try checkName(name.text)
    let language = invocation.language
    let installed = AuthorFiles()
    if language == .swift, installed.sdk == nil {
      throw Failure(
        status: .failed, subject: name.text, code: "not-found",
        message: "the Swift SDK is not installed next to this program; install Tabella with "
          + "`make install`, or choose --language c or --language rust")
    }
    let folder = try Failure.about(name.text) { () throws(TableError) in
      try NewFolder.make(name.text, language.files(installed.facts(name: name.text)))
    }
    try report(name.text, language, folder, invocation, output)
    return .done
  }

  private static func checkName(_ name: String) throws(Failure) {
    guard Manifest.isName(name), name.utf8.count <= 64 else {
      throw .usage(
        "\"\(name)\" cannot be an id: write at most 64 of a-z, 0-9, '.', '-' and '+', with a letter first",
        command: "new-provider")
    }
    for manifest in Host().catalogue.entries.map(\.manifest)
    where manifest.id == name || manifest.schemes.contains(name) {
      throw .usage(
        "provider \(manifest.id) already has the name \(name); choose another",
        command: "new-provider")
    }
  }

  /// Prints the files and the next commands.
  private static func report(
    _ name: String, _ language: ProviderLanguage, _ files: [String], _ invocation: Invocation,
    _ output: Output
  ) throws(Failure) {
    let commands = [
      "make -C \(name)", "TABELLA_PROVIDER_PATH=$PWD/\(name) tabella show \(name):",
      "make -C \(name) test",
    ]
    if invocation.isJSON {
      return try output.write(
        json: .object([
          "folder": .string(name), "language": .string(language.rawValue),
          "files": .array(files.map { .string($0) }),
          "commands": .array(commands.map { .string($0) }),
        ]))
    }
    try output.write(
      "\(SafeText(name)) contains a provider in \(SafeText(language.title)). Next:\n")
    for command in commands { try output.write("  \(SafeText(command))\n") }
    try output.write("Then edit \(SafeText("\(name)/\(language.source)")).\n")
  }
}

extension OptionSpec {
  fileprivate static let language = OptionSpec(
    names: ["--language"], argument: "LANGUAGE",
    summary: "swift, c or rust; the default is swift",
    values: .choices(ProviderLanguage.allCases.map(\.rawValue))
  ) { invocation, value throws(Failure) in
    guard let language = ProviderLanguage(rawValue: value.text) else {
      throw .usage("must be swift, c or rust")
    }
    invocation.language = language
  }
}
