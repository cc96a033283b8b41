import Foundation
import Testing

@testable import ProviderTemplates
@testable import TabellaCLI
@testable import TabellaHost
@testable import TabellaTestSupport

/// `tabella new-provider`. Tests/Install/run also builds the templates in an installation, and the one in Swift.
@Suite struct NewProviderTests {
  let folder = try! TemporaryFolder()

  func tabella(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramResult
  {
    try run(
      buildFolder + "/tabella", arguments,
      environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"].merging(environment) { $1 },
      directory: folder.path)
  }

  func content(_ path: String) throws -> String {
    try String(contentsOfFile: "\(folder.path)/\(path)", encoding: .utf8)
  }

  @Test(arguments: ProviderLanguage.allCases)
  func filesAreComplete(_ language: ProviderLanguage) throws {
    let name = "a-b.c+d"
    let result = try tabella("new-provider", name, "--language", language.rawValue, "--json")
    #expect(result.status == 0, "\(result.errors)")
    let document = try #require(
      JSONSerialization.jsonObject(with: result.output) as? [String: Any])
    let files = try #require(document["files"] as? [String])
    let found = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects)
      .compactMap { $0 as? String }
      .filter { !["", "/expected", "/Sources"].map { name + $0 }.contains($0) }
    #expect(Set(files) == Set(found) && files.contains("\(name)/\(language.source)"))
    for file in files {
      let text = try content(file)
      #expect(!text.contains(/@[A-Z]+@/), "\(file)")
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(file)")
      #expect(
        attributes[.posixPermissions] as? Int == (file.hasSuffix("/test") ? 0o755 : 0o644),
        "\(file)")
    }
    let text = Array(try content("\(name)/\(name).tabella.json").utf8)
    let manifest = try Manifest(parsing: text)
    #expect(manifest.id == name && manifest.schemes == [name] && manifest.library == "\(name).so")
    #expect(Manifest.ignored(in: text).isEmpty)
    if language == .swift {
      #expect(try content("\(name)/Package.swift").contains("name: \"ABCDProvider\""))
    }
  }

  @Test(arguments: ["tabella.rs", "provider.rs", "ids.rs"])
  func helpersForRustAreThoseOfTheExample(_ name: String) throws {
    let (example, copy) = (
      "Examples/provider-rust/\(name)", "Sources/ProviderTemplates/rust/\(name)"
    )
    let texts = try [example, copy].map {
      try String(contentsOfFile: "\(packageFolder)/\($0)", encoding: .utf8)
    }
    #expect(texts[0] == texts[1], "run: cp \(example) \(copy)")
  }

  @Test func nothingIsOverwritten() throws {
    try folder.write("file", "mine")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/empty", withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: "nowhere")
    for name in ["file", "empty", "link"] {
      let result = try tabella("new-provider", name, "--language", "c")
      #expect(result.status == 1 && result.errors.contains("exists already"), "\(name)")
    }
    #expect(try content("file") == "mine")
    let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(left == ["empty", "file", "link"])
  }

  @Test(arguments: ["", "Planets", "1a", "a/b", "../a", "-a", "a b", "é", "csv", "processes"])
  func otherNamesAreRefused(_ name: String) throws {
    let result = try tabella("new-provider", "--", name)
    #expect(result.status == 2, "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  /// A failure in the middle left half of a provider.
  @Test func afterAFailureNothingIsLeft() throws {
    let files = ["a", "sub/b", "sub/b"].map {
      TemplateFile(path: $0, text: "x", isExecutable: false)
    }
    #expect(throws: (any Error).self) { try NewFolder.make(folder.path + "/new", files) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  /// `make clean` deleted the build of the SDK, which takes minutes.
  @Test(.needs("make")) func cleaningKeepsTheSDK() throws {
    #expect(try tabella("new-provider", "moons").status == 0)
    let build = "\(folder.path)/moons/.build/release"
    let files = ["MoonsProvider.build/Provider.o", "libMoonsProvider.so", "Tabella.build/Batch.o"]
    for file in files {
      try FileManager.default.createDirectory(
        atPath: "\(build)/\(file.split(separator: "/")[0])", withIntermediateDirectories: true)
      if file.contains("/") { try folder.write("moons/.build/release/\(file)", "x") }
    }
    func make(_ target: String) throws -> [String] {
      #expect(
        try run(findProgram("make"), ["-s", "-C", folder.path + "/moons", target]).status == 0)
      return (try? FileManager.default.contentsOfDirectory(atPath: build)) ?? []
    }
    #expect(try make("clean") == ["Tabella.build"])
    #expect(try make("distclean") == [])
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/moons/.build"))
    for language in ["c", "rust"] {
      #expect(try tabella("new-provider", language, "--language", language).status == 0)
      let made = try run(
        findProgram("make"), ["-s", "-C", "\(folder.path)/\(language)", "distclean"])
      #expect(made.status == 0, "\(made.errors)")
    }
  }

  // Built templates

  /// Builds a provider and runs its own test, which must have no warning.
  func buildAndTest(
    _ name: String, _ language: ProviderLanguage, environment: [String: String] = [:]
  ) throws {
    let made = try tabella("new-provider", name, "--language", language.rawValue)
    #expect(made.status == 0, "\(made.errors)")
    let tested = try run(
      findProgram("make"), ["-s", "-C", "\(folder.path)/\(name)", "test"],
      environment: ["TABELLA": buildFolder + "/tabella", "LC_ALL": "C.UTF-8"]
        .merging(environment) { $1 })
    #expect(tested.status == 0 && !tested.text.contains("warning"), "\(tested.text)")
    #expect(!tested.errors.contains("warning"), "\(tested.errors)")
    #expect(tested.text.components(separatedBy: " passed, ").count == 3, "\(tested.text)")
  }

  /// Also with rustc 1.63, the promised minimum, if Debian's package is installed.
  @Test(.needs("make", "rustc", "cc"), arguments: sample(1, of: rustCompilers))
  func theTemplateInRustPasses(_ rustc: String) throws {
    try buildAndTest("lines", .rust, environment: ["RUSTC": rustc])
  }

  static let rustCompilers: [String] = {
    let oldest = "/usr/bin/rustc"
    let version = (try? run(oldest, ["--version"]))?.text ?? ""
    return ["rustc"] + (version.hasPrefix("rustc 1.63.") ? [oldest] : [])
  }()

  /// Everything about the provider in C, so that it is compiled once.
  @Test(.needs("make", "cc")) func theTemplateInCPasses() throws {
    try buildAndTest("lines", .c)
    let here = ["TABELLA_PROVIDER_PATH": folder.path + "/lines"]
    let file = folder.path + "/lines/example.lines"
    let expected = try content("lines/expected/file.txt")

    // A wrong table fails the test.
    try folder.write("lines/expected/file.txt", expected + "more\n")
    let failed = try run(
      folder.path + "/lines/test", environment: ["TABELLA": buildFolder + "/tabella"])
    #expect(failed.status == 1 && failed.text.contains("-more"))

    // Without a manifest, equal reasons for skipping are one line.
    let manifest = try content("lines/lines.tabella.json")
    try folder.write("lines/lines.tabella.json", "")
    try FileManager.default.removeItem(atPath: folder.path + "/lines/lines.tabella.json")
    let bare = try tabella("check", "lines/lines.so")
    let skipped = bare.text.split(separator: "\n").filter { $0.hasPrefix("skipped ") }
    #expect(skipped.count == 2 && skipped.contains { $0.contains(" checks ") }, "\(bare.text)")

    // A wrong member is named, with its path.
    func changed(_ old: String, _ new: String) throws {
      #expect(manifest.contains(old))
      try folder.write(
        "lines/lines.tabella.json", manifest.replacingOccurrences(of: old, with: new))
    }
    try changed("\"integer\"", "\"number\"")
    let wrong = try CheckTests.check([folder.path + "/lines/lines.so", "--only", "manifest-agrees"])
    #expect(wrong.status == 1 && wrong.checks.first?.came?.contains("columns[1].type") == true)
    #expect(try tabella("providers", environment: here).errors.contains("columns[1].type"))
    try changed("\"schemes\"", "\"scheme\"")
    let unknown = try CheckTests.check(
      [folder.path + "/lines/lines.so", file, "--only", "manifest-members"])
    #expect(unknown.status == 0 && unknown.status(of: "manifest-members") == "warning")
    #expect(unknown.checks.first?.came?.contains("\"scheme\"; did you mean schemes") == true)

    // This manifest claims no scheme, so the id is one.
    #expect(try tabella("lines:\(file)", environment: here).text == expected)
    #expect(try tabella("show", "lines:", environment: here).status != 0)
    // A file with the whole name comes first.
    try folder.write("lines:x", "text\n")
    #expect(try tabella("show", "lines:x", "--json", environment: here).text.contains("\"text\""))
    try folder.write("lines/lines.tabella.json", manifest)
    #expect(try tabella("show", "lines:x", environment: here).status == 1)
  }
}
