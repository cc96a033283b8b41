import Foundation
import Testing

@testable import TabellaTestSupport

/// A refused provider was silently replaced: `sample.ini`, whose provider was not trusted or could not be loaded,
/// opened as text with status 0 and another number of rows.
@Suite struct RefusedProviderTests {
  let folder: TemporaryFolder
  let file: String
  let receipts: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    receipts = try TemporaryFolder()
    file = try folder.write("sample.ini", Self.text)
  }

  static let text = "[a]\nx=1\ny=2\n[b]\nz=3\n"

  /// If all shipped libraries were missing, the message advised to choose one of no providers: `--provider ()`.
  @Test func aMissingLibraryIsNamedWithoutEmptyAdvice() throws {
    let program = folder.path + "/tabella"
    try copyPrograms("tabella", to: program)
    try folder.write("a.csv", "a\n")
    try folder.write("a.unknown", "a\n")
    for location in ["a.csv", "a.unknown", ".", "processes:", "csv:a.csv", "-"] {
      let result = try run(
        program, ["show", location], environment: ["HOME": folder.path],
        directory: folder.path)
      #expect(result.status == 3, "\(location): \(result.errors)")
      #expect(result.errors.contains("the library of the shipped provider"), "\(result.errors)")
      #expect(!result.errors.contains("()"), "\(location): \(result.errors)")
    }
  }

  enum Reason: CaseIterable {
    case mode, lost, noLibrary, contract

    var status: Int32 { self == .mode ? 4 : 3 }
  }

  /// Writes a manifest of an INI provider with a fault.
  func refuse(_ reason: Reason) throws {
    let contract = reason == .contract ? "0.0" : "0.9"
    try folder.write(
      "ini.tabella.json",
      """
      {"id":"ini","version":"1","contract":"\(contract)","library":"ini.so","patterns":["*.ini"],
       "schemes":["ini"]}
      """)
    if reason == .lost { return }
    if reason == .noLibrary {
      try folder.write("ini.so", "no library")
    } else {
      try FileManager.default.copyItem(
        atPath: buildFolder + "/libledger.so", toPath: folder.path + "/ini.so")
    }
    if reason == .mode { #expect(chmod(folder.path + "/ini.so", 0o777) == 0) }
  }

  func tabella(_ arguments: [String], input: String? = nil) throws -> ProgramResult {
    let words = ([buildFolder + "/tabella"] + arguments).map { "'\($0)'" }.joined(separator: " ")
    return try run(
      "/bin/sh",
      ["-c", "cd '\(folder.path)' && printf %s '\(input ?? "")' | \(words)"],
      environment: [
        "LC_ALL": "C.UTF-8", "TABELLA_PROVIDER_PATH": folder.path,
        "XDG_STATE_HOME": receipts.path,
      ])
  }

  /// Each command, with the file by its name, by the scheme, and together with another file.
  static let commands: [[String]] = [
    ["show", "sample.ini"], ["show", "sample.ini", "--json"], ["count", "sample.ini"],
    ["export", "sample.ini", "--format", "csv"], ["set", "sample.ini", "0:0", "line=x"],
    ["insert", "sample.ini", "0:0", "line=x"], ["delete", "sample.ini", "0:0", "--yes"],
    ["delete", "sample.ini", "0:0", "--dry-run"], ["move", "sample.ini", "0:0", "0:1"],
    ["apply", "sample.ini", "-"], ["describe", "sample.ini"], ["describe", "sample.ini", "0:0"],
    ["show", "other.txt", "sample.ini"], ["count", "sample.ini", "sample.ini"],
    ["show", "ini:sample.ini"], ["count", "ini:sample.ini"], ["delete", "ini:named", "0", "--yes"],
    ["show", "ini:named"], ["show", "--provider", "ini", "sample.ini"],
    ["show", "--provider", "ini", "-"], ["count", "--provider", "ini", "other.txt"],
  ]

  @Test(arguments: Reason.allCases)
  func everyCommandFails(_ reason: Reason) throws {
    try refuse(reason)
    try folder.write("other.txt", "a\n")
    // The scheme does not mean a file of this name.
    try folder.write("ini:named", Self.text)
    for command in Self.commands {
      let result = try tabella(command, input: "{\"op\":\"delete\",\"row\":\"0:0\"}\n")
      #expect(result.status == reason.status, "\(command): \(result.errors)")
      // `describe` explains the refusal; no command shows rows of another provider.
      #expect(
        command == ["describe", "sample.ini"] && reason != .noLibrary
          ? result.text.contains("\nnot opened because: ini: its pattern *.ini fits, but ")
            && !result.text.contains("columns:")
          : result.output.isEmpty, "\(command): \(result.text)")
      #expect(result.errors.contains("ini.so") || reason == .contract, "\(command)")
      #expect(result.errors.contains("choose a provider with --provider ("), "\(result.errors)")
      #expect(result.errors.hasSuffix("\n") && result.errors.filter { $0 == "\n" }.count == 1)
    }
    for name in ["sample.ini", "ini:named"] {
      #expect(try folder.read(name) == Array(Self.text.utf8))
    }
  }

  /// The recommended remedy works, and unrelated commands work as before.
  @Test func theWayRound() throws {
    try refuse(.mode)
    #expect(try tabella(["count", "--provider", "text", "sample.ini"]).text == "5\n")
    try folder.write("a.csv", "n\n1\n2\n")
    #expect(try tabella(["count", "a.csv"]).text == "2\n")
    #expect(try tabella(["providers"]).status == 0)
    #expect(try tabella(["log"]).status == 0)
  }

  /// Completion finds nothing and prints nothing.
  @Test func completionsAreSilent() throws {
    for reason in Reason.allCases {
      try? FileManager.default.removeItem(atPath: folder.path + "/ini.so")
      try refuse(reason)
      for words in [
        ["show", "sample.ini", "--columns", ""], ["show", "sample.ini", "-o", ""],
        ["show", "ini:sample.ini", "--section", ""], ["set", "sample.ini", "0:0", ""],
      ] {
        let result = try tabella(["complete", "--"] + words)
        #expect(result.status == 0 && result.errors.isEmpty, "\(words): \(result.errors)")
      }
    }
  }
}
