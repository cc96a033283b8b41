import Foundation
import Testing

@testable import TabellaTestSupport

/// The documents show the real behaviour.
@Suite struct DocumentationTests {
  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(packageFolder)/\(path)", encoding: .utf8)
  }

  /// The blocks of a kind in a Markdown document.
  static func blocks(_ kind: String, in text: String) -> [String] {
    text.components(separatedBy: "```\(kind)\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  /// The documents with commands that the tests run.
  static let documents = [
    "README.md", "docs/tour.md", "docs/cookbook-tables.md", "docs/cookbook-summaries.md",
    "docs/cookbook-formats.md", "docs/cookbook-columns.md", "docs/cookbook-logs.md",
    "docs/cookbook-edits.md", "docs/cookbook-text.md", "docs/cookbook-system.md",
    "docs/editing-guide.md", "docs/comparing.md", "docs/following.md", "docs/shaping.md",
    "docs/summarizing.md", "docs/engines.md",
    "docs/providers/text.md",
    "docs/providers/directory.md", "docs/providers/directory-editing.md",
    "docs/providers/directory-safety.md", "docs/providers/csv.md", "docs/providers/csv-editing.md",
    "docs/check.md", "docs/debugging.md",
  ]

  @Test(arguments: documents.filter { !usesJQ($0) })
  func documentsShowRealOutput(_ document: String) throws { try expectRealOutput(document) }

  @Test(.needs("jq"), arguments: documents.filter(usesJQ))
  func documentsWithJQShowRealOutput(_ document: String) throws { try expectRealOutput(document) }

  private static func usesJQ(_ document: String) -> Bool {
    (try? text(document))?.contains("| jq ") == true
  }

  /// Runs every `$ tabella …` of a document, in a new folder after `$ cd "$(mktemp -d)"`, and compares the complete
  /// output. `…` in a document matches any text within a line or a string.
  private func expectRealOutput(_ document: String) throws {
    try expectRealOutput(sessions: Self.blocks("console", in: try Self.text(document)))
  }

  private func expectRealOutput(sessions: [String]) throws {
    #expect(!sessions.isEmpty)
    var commands = 0
    for session in sessions {
      var scratch: TemporaryFolder?
      for part in ("\n" + session).components(separatedBy: "\n$ ").dropFirst() {
        let lines = part.components(separatedBy: "\n")
        let expected = lines.dropFirst().map { $0 + "\n" }.joined()
        if lines[0] == "cd \"$(mktemp -d)\"" {
          scratch = try TemporaryFolder()
          continue
        }
        let result = try run(
          "/bin/sh", ["-c", "{ \(lines[0])\n} 2>&1"],
          environment: [
            "PATH": "\(buildFolder):\(searchPath)", "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "XDG_STATE_HOME": scratch?.path ?? "", "XDG_DATA_HOME": scratch?.path ?? "",
          ], directory: scratch?.path ?? packageFolder)
        #expect(result.status == 0, "\(lines[0]): \(result.text)")
        let pattern = NSRegularExpression.escapedPattern(for: expected)
          .replacingOccurrences(of: "…", with: "[^\"\n]*")
        #expect(
          result.text.range(of: "^\(pattern)$", options: .regularExpression) != nil,
          "\(lines[0]) printed \(result.text)")
        commands += 1
      }
    }
    #expect(commands >= 1)
  }

  /// Tests/Install/run runs all of the page in an installation, also in Swift.
  @Test(.needs("make", "cc")) func aFirstProviderInCTakesFiveCommands() throws {
    try expectFirstProvider(in: "c")
  }

  @Test(.needs("make", "rustc")) func aFirstProviderInRustTakesFiveCommands() throws {
    try expectFirstProvider(in: "rust")
  }

  private func expectFirstProvider(in language: String) throws {
    let sessions = Self.blocks("console", in: try Self.text("docs/first-provider.md"))
    #expect(sessions.count == 3)
    for session in sessions { #expect(session.split(separator: "\n$ ").count <= 1 + 5) }
    try expectRealOutput(sessions: sessions.filter { $0.contains("--language \(language)\n") })
  }

  /// All commands in docs/debugging.md work for the example in C.
  @Test(.needs("make", "cc", "gcc", "gdb")) func debuggingWorks() throws {
    let folder = try TemporaryFolder()
    _ = try MakeExample.planets(in: folder)
    let blocks = Self.blocks("sh", in: try Self.text("docs/debugging.md"))
    #expect(blocks.count == 5)
    for block in blocks {
      let line = block.replacing(
        "$(pkg-config --cflags tabella)", with: "-I\(packageFolder)/Sources/CTabella/include")
      let result = try run(
        "/bin/sh", ["-e", "-c", line],
        environment: [
          "PATH": "\(buildFolder):\(searchPath)", "LC_ALL": "C.UTF-8",
          "TABELLA_PROVIDER_PATH": folder.path, "XDG_STATE_HOME": folder.path,
        ], directory: folder.path)
      #expect(result.status == 0, "\(block): \(result.errors)\(result.text)")
      let says = [
        "gdb": "exited normally", "check": "1 passed", "show": "Mercury", "2>&1 >/dev/null": "",
      ]
      for (word, output) in says where block.contains(word) && !block.contains("/dev/null") {
        #expect(result.text.contains(output), "\(block): \(result.text)")
      }
    }
  }

  /// docs/check.md contains every check once, in order of execution within its tables, and marks the recommended ones.
  @Test func theChecksShownAreThose() throws {
    let listed = try run(buildFolder + "/tabella", ["check", "--list", "--json"])
    let document = try #require(
      JSONSerialization.jsonObject(with: listed.output) as? [String: [[String: String]]])
    let checks = try #require(document["checks"])
    let text = try Self.text("docs/check.md")
    let rows = text.matches(of: /\n\| `([a-z-]+)` \| (\*Recommended\.\* )?[A-Z0-9]/).map {
      (String($0.1), $0.2 != nil)
    }
    let shown = rows.filter { row in checks.contains { $0["name"] == row.0 } }
    #expect(Set(shown.map(\.0)) == Set(checks.compactMap { $0["name"] }))
    #expect(shown.count == checks.count)
    for (name, isRecommended) in shown {
      let level = checks.first { $0["name"] == name }?["level"]
      #expect(level == (isRecommended ? "recommended" : "required"), "\(name)")
    }
  }

  /// The JSON of `check` has the members that docs/json.md lists.
  @Test(.needs("make", "cc")) func theJSONOfCheckIsAsShown() throws {
    let folder = try TemporaryFolder()
    let library = try MakeExample.planets(in: folder)
    let run = try CheckTests.check([library, "--only", "opens,index-in-bounds", "--reproduce", "1"])
    let text = try Self.text("docs/json.md")
    let tables = try #require(text.components(separatedBy: "`check --json` prints").last)
      .components(separatedBy: "| member of a check |")
    func members(_ table: String) -> Set<String> {
      let rows = table.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }
      return Set(
        rows.flatMap { row in
          (row.components(separatedBy: " | ").first ?? "").matches(of: /`([a-z]+)`/).map {
            String($0.1)
          }
        })
    }
    #expect(Set(run.document.keys) == members(tables[0]))
    let check = try #require((run.document["checks"] as? [[String: Any]])?.first)
    #expect(Set(check.keys) == members(tables[1]))
    let summary = try #require(run.document["summary"] as? [String: Int])
    #expect(summary.keys.allSatisfy { text.contains("`\($0)`") } && summary["skipped"] == 1)
  }

  /// The manifest in the guide for authors is the example's.
  @Test func theManifestShownIsTheExamples() throws {
    let shown = Self.blocks("json", in: try Self.text("docs/writing-a-provider.md"))
    let manifest = try Self.text("Examples/provider-c/planets.tabella.json")
    #expect(shown.contains(manifest.trimmingCharacters(in: .newlines)))
  }

  /// The entries and the output in the pages for authors are the examples'.
  @Test func theEntryShownIsTheExamples() throws {
    let guide = try Self.text("docs/writing-a-provider.md")
    let swift = try Self.text("Examples/provider-swift/Sources/Primes/Primes.swift")
    #expect(swift.contains(try #require(Self.blocks("swift", in: guide).first)))
    let c = try Self.text("Examples/provider-c/planets.c")
    let contract = try Self.text("docs/contract.md")
    #expect(c.contains(try #require(Self.blocks("c", in: contract).first)))
    let output = try Self.text("Examples/expected/provider-c.txt")
    #expect(output == (try #require(Self.blocks("text", in: guide).first)) + "\n")
  }

  /// The code and the output in the pages for embedders are those of the example and of tests.
  @Test func theEmbeddingShownIsTheExamples() throws {
    func lines(_ text: String) -> String {
      text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .joined(separator: "\n")
    }
    let embedding = try Self.text("docs/embedding.md")
    let example = lines(
      try ["Sources/Embed/main.swift", "Package.swift"].map {
        try Self.text("Examples/embed-swift/\($0)")
      }.joined())
    let shown = Self.blocks("swift", in: embedding).map(lines)
    #expect(shown.count >= 9)
    for block in shown {
      #expect(example.contains(block.trimmingCharacters(in: .newlines)), "\(block)")
    }
    let printed = try Self.text("Examples/expected/embed-swift.txt")
    #expect(printed.hasPrefix(try #require(Self.blocks("text", in: embedding).first)))
    let blocks = Self.blocks("swift", in: try Self.text("docs/embedding-sources.md"))
    #expect(blocks.count == 4)
    let shapes = try Self.text("Tests/TabellaTests/Views/TableShapeTests.swift")
    let receipts = try Self.text("Tests/TabellaTests/Host/EmbeddedReceiptTests.swift")
    for (block, tests) in zip(blocks, [shapes, shapes, receipts, receipts]) {
      #expect(tests.contains(block), "\(block)")
    }
  }

  /// The code in the guide for C is that of the examples, which CI compiles and runs.
  @Test func theCodeForCIsTheExamples() throws {
    let examples = try ["rows", "changes"].map { try Self.text("Examples/embed-c/\($0).c") }
    let blocks = Self.blocks("c", in: try Self.text("docs/embedding-c.md"))
    #expect(blocks.count == 7)
    for block in blocks { #expect(examples.contains { $0.contains(block) }, "\(block)") }
  }

  /// ProvingTests runs the code in the pages for authors.
  @Test func theProofShownIsTested() throws {
    let tested = try Self.text("Tests/TabellaTests/Host/ProvingTests.swift")
    for document in ["docs/writing-a-provider.md", "docs/check.md"] {
      let shown = try #require(Self.blocks("swift", in: try Self.text(document)).last)
      let indented = shown.components(separatedBy: "\n").map { "    \($0)" }
      #expect(tested.contains(indented.joined(separator: "\n")))
    }
  }

  /// Every link and every path in the documents leads to an existing file.
  @Test func linksLead() throws {
    let listed = try run(
      "/usr/bin/env",
      [
        "find", ".", "-name", "*.md", "-not", "-path", "*/.build/*",
        // A template has placeholders.
        "-not", "-path", "./Sources/ProviderTemplates/*",
      ],
      directory: packageFolder)
    #expect(listed.lines.count > 10)
    for document in listed.lines {
      let folder = (document as NSString).deletingLastPathComponent
      let text = try Self.text(document)
      for match in text.matches(
        of: /`((?:Sources|Plugins|Tests|Examples|docs)\/[A-Za-z0-9_.\/-]+)`/)
      {
        // The page of an example names the files of its folder.
        #expect(
          ["", "/\(folder)"].contains {
            FileManager.default.fileExists(atPath: "\(packageFolder)\($0)/\(match.1)")
          }, "\(document) names \(match.1)")
      }
      for part in text.components(separatedBy: "](").dropFirst() {
        guard let target = part.components(separatedBy: ")").first, !target.contains("://"),
          let path = target.components(separatedBy: "#").first, !path.isEmpty
        else { continue }
        #expect(
          FileManager.default.fileExists(atPath: "\(packageFolder)/\(folder)/\(path)"),
          "\(document) links to \(target)")
      }
    }
  }

  /// The documents contain the right number of laws.
  @Test func theNumberOfLaws() throws {
    let number = "\(ConformanceSuiteLaws.count) laws"
    for document in ["docs/writing-a-provider.md", "CHANGELOG.md"] {
      #expect(try Self.text(document).contains(number))
    }
  }
}
