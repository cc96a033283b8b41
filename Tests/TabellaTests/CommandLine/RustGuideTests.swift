import Foundation
import Testing

@testable import TabellaTestSupport

/// docs/writing-a-provider-rust.md shows code of providers that are tested, and lines that work.
@Suite struct RustGuideTests {
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  private func blocks(_ language: String) throws -> [String] {
    DocumentationTests.blocks(
      language, in: try DocumentationTests.text("docs/writing-a-provider-rust.md"))
  }

  /// Every line of code is a line of tasks.rs or of the template.
  @Test func theCodeShownIsTested() throws {
    let sources = try [
      "Examples/provider-rust/tasks.rs", "Sources/ProviderTemplates/rust/rows.rs",
    ].map { Set(lines(try DocumentationTests.text($0))) }
    let shown = try blocks("rust")
    #expect(shown.count == 7)
    for block in shown {
      #expect(sources.contains { $0.isSuperset(of: lines(block)) }, "\(block)")
    }
  }

  /// The files of the layer in the page are those that the example has.
  @Test func theFilesOfTheLayerAreNamed() throws {
    let page = try DocumentationTests.text("docs/writing-a-provider-rust.md")
    let tasks = try DocumentationTests.text("Examples/provider-rust/tasks.rs")
    let modules = tasks.matches(of: /\nmod ([a-z]+);/).map { "`\($0.1).rs`" }
    #expect(modules.count == 8)
    for module in modules { #expect(page.contains(module), "\(module)") }
  }

  /// The first lines make a provider that edits a file. It passes `check`.
  @Test(.needs("make", "rustc"), .onAllRoads) func theFirstLinesWork() throws {
    let folder = try TemporaryFolder()
    let shown = try blocks("sh")
    #expect(shown.count == 2)
    let block = shown.joined(separator: "\n")
      .replacing(
        "$(pkg-config --variable=examplesdir tabella)", with: "\(packageFolder)/Examples")
    let result = try run(
      "/bin/sh", ["-e", "-c", block],
      environment: [
        "PATH": "\(buildFolder):\(searchPath)", "XDG_STATE_HOME": folder.path,
        "LC_ALL": "C.UTF-8",
      ], directory: folder.path)
    #expect(result.status == 0, "\(result.text)\(result.errors)")
    #expect(result.text.contains(" passed, ") && !result.text.contains("warning"), "\(result.text)")
    #expect(
      String(decoding: try folder.read("lists/example.lists.md"), as: UTF8.self)
        == "# Garden\n- [x] Buy seeds\n")
  }
}
