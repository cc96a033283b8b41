import Foundation
import Testing

@testable import TabellaTestSupport

/// docs/writing-a-provider-c.md shows code of providers that are tested, and lines that compile.
@Suite struct CGuideTests {
  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: packageFolder + "/" + path, encoding: .utf8)
  }

  private func lines(_ text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  private func blocks(_ language: String) throws -> [Substring] {
    try text("docs/writing-a-provider-c.md").matches(
      of: try Regex<(Substring, Substring)>("```\(language)\n([^`]*)```")
    ).map(\.1)
  }

  /// Every line of code is a line of ini.c, of lines.c, or of the typed document of the tests.
  @Test func theCodeShownIsTested() throws {
    let sources = try [
      "Examples/provider-c/ini.c", "Examples/provider-c/lines.c",
      "Tests/TabellaTests/Host/Libraries/typed.c",
    ].map { Set(lines(try text($0))) }
    let shown = try blocks("c")
    #expect(shown.count == 5)
    for block in shown {
      #expect(sources.contains { $0.isSuperset(of: lines(block)) }, "\(block)")
    }
  }

  /// The compile lines work for each compiler, and `check` has no warning about the result.
  @Test(.needs("gcc", "g++"), arguments: ["gcc", "clang", "g++", "clang++"])
  func theCompileLinesWork(_ compiler: String) throws {
    let folder = try TemporaryFolder()
    let language = compiler.hasSuffix("++") ? "cpp" : "c"
    try folder.write("planets.\(language)", text("Examples/provider-c/planets.c"))
    // The page has one line for both compilers of a language.
    let shown = try #require(
      text("docs/writing-a-provider-c.md")
        .firstMatch(of: language == "c" ? /`(gcc -std=[^`]*)`/ : /`(g\+\+ -std=[^`]*)`/)
    ).1
    let line = String(shown).replacing(/^g(cc|\+\+)/, with: try findProgram(compiler))
      .replacing(
        "$(pkg-config --cflags tabella)", with: "-I\(packageFolder)/Sources/CTabella/include")
    let compiled = try run("/bin/sh", ["-c", line], directory: folder.path)
    #expect(compiled.status == 0 && compiled.errors.isEmpty, "\(compiled.errors)")
    let checked = try run(
      buildFolder + "/tabella",
      ["check", folder.path + "/planets.so", "planets:", "--only", "stays-loaded,opens"])
    #expect(checked.status == 0 && !checked.text.contains("warning"), "\(checked.text)")
  }

  /// The first lines to type compile and check the example.
  @Test(.needs("gcc")) func theFirstLinesWork() throws {
    let folder = try TemporaryFolder()
    for name in ["planets.c", "planets.tabella.json"] {
      try folder.write(name, text("Examples/provider-c/\(name)"))
    }
    let block = String(try #require(blocks("sh").first))
      .replacing(
        "$(pkg-config --cflags tabella)", with: "-I\(packageFolder)/Sources/CTabella/include")
    let result = try run(
      "/bin/sh", ["-e", "-c", block],
      environment: ["PATH": "\(buildFolder):\(searchPath)", "XDG_STATE_HOME": folder.path],
      directory: folder.path)
    #expect(result.status == 0, "\(result.text)\(result.errors)")
    #expect(result.text.contains(" passed, "), "\(result.text)")
  }
}
