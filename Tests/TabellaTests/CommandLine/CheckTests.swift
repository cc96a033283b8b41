import Foundation
import Testing

@testable import TabellaTestSupport

/// `tabella check`: good providers pass, and the right check reports each lie.
@Suite struct CheckTests {
  /// A run with `--json`.
  struct Run {
    struct Check {
      var name: String
      var level: String
      var status: String
      var came: String?
      var calls: [String]
      var hint: String
      var cause: String?
    }

    var status: Int32
    var errors: String
    var document: [String: Any]

    var seed: Int { document["seed"] as? Int ?? -1 }

    var checks: [Check] {
      (document["checks"] as? [[String: Any]] ?? []).map { check in
        Check(
          name: check["name"] as? String ?? "", level: check["level"] as? String ?? "",
          status: check["status"] as? String ?? "", came: check["came"] as? String,
          calls: check["calls"] as? [String] ?? [], hint: check["hint"] as? String ?? "",
          cause: check["cause"] as? String)
      }
    }

    func status(of name: String) -> String? { checks.first { $0.name == name }?.status }

    /// The findings that are neither passed nor skipped, without those that all shipped providers have because of their
    /// build.
    var findings: [Check] {
      checks.filter {
        !["passed", "skipped"].contains($0.status) && $0.name != "runpath-is-relative"
      }
    }
  }

  static func check(_ arguments: [String], environment: [String: String] = [:]) throws -> Run {
    let result = try run(
      buildFolder + "/tabella", ["check", "--json"] + arguments,
      environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"].merging(environment) { $1 })
    let document = try JSONSerialization.jsonObject(with: result.output) as? [String: Any]
    return Run(status: result.status, errors: result.errors, document: document ?? [:])
  }

  static let liar: Result<(TemporaryFolder, String), any Error> = Result {
    let folder = try TemporaryFolder()
    return (folder, try compile("liar.so", in: folder))
  }

  /// Compiles a variant of the liar.
  static func compile(
    _ name: String, in folder: TemporaryFolder, flags: [String] = []
  ) throws -> String {
    try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c", into: folder, name: name,
      flags: ["-Wl,-z,nodelete"] + flags)
  }

  // Good providers

  /// Checks one of them; with `TABELLA_ALL_ROADS`, all of them.
  @Test(arguments: sample(1, of: ["csv", "text", "directory", "processes"]))
  func shippedProvidersPass(_ provider: String) throws {
    let run = try Self.check([provider, "--seed", "1"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.findings.isEmpty, "\(run.findings)")
    #expect(run.checks.count { $0.status == "passed" } > 35)
  }

  @Test(.needs("make", "cc")) func theExampleInCPasses() throws {
    let folder = try TemporaryFolder()
    let make = try MakeExample.planets(in: folder)
    for location in sample(1, of: [["planets:"], []]) {
      let run = try Self.check([make] + location + ["--seed", "7"])
      #expect(run.status == 0 && run.findings.isEmpty, "\(run.findings)")
      #expect(run.status(of: "manifest-agrees") == "passed")
    }
  }

  @Test func anHonestLiarPasses() throws {
    let run = try Self.check([Self.liar.get().1, "liar:", "--seed", "3"])
    #expect(run.status == 0 && run.findings.map(\.name) == ["has-manifest"], "\(run.findings)")
    #expect(run.status(of: "manifest-agrees") == "skipped")
  }

  // Liars

  /// Each lie of liar.c with the check that reports it.
  static let lies: [(lie: String, check: String, status: String)] = [
    ("no-source", "opens", "failed"), ("no-rows-function", "opens", "failed"),
    ("unknown-format", "opens", "failed"), ("schema-without-release", "opens", "failed"),
    ("table-without-function", "opens", "failed"), ("several-lines", "opens", "failed"),
    ("wrong-count", "counts-hold", "failed"), ("negative-count", "counts-hold", "failed"),
    ("falling-count", "counts-hold", "failed"), ("changing-count", "counts-hold", "failed"),
    ("count-neither-exact", "counts-hold", "failed"), ("endless-count", "counts-hold", "failed"),
    ("overlapping-cut", "cuts-agree", "failed"),
    ("wrong-projection", "projection-agrees", "failed"),
    ("changing-cells", "cells-hold", "failed"), ("duplicate-id", "ids-identify", "failed"),
    ("changed-id", "ids-identify", "failed"), ("empty-id", "ids-identify", "failed"),
    ("id-leads-elsewhere", "ids-identify", "failed"),
    ("title-out-of-bounds", "titles-in-bounds", "failed"),
    ("absurd-string", "titles-in-bounds", "failed"),
    ("index-out-of-bounds", "index-in-bounds", "failed"),
    ("phantom-section", "sections-counted", "failed"),
    ("endless-sections", "sections-counted", "failed"),
    ("accepts-any-section", "refusals", "failed"), ("accepts-any-row", "refusals", "failed"),
    ("error-without-release", "refusals", "failed"), ("unknown-code", "refusals", "failed"),
    ("success-with-error", "batches-valid", "failed"), ("no-release", "batches-valid", "failed"),
    ("bad-offsets", "batches-valid", "failed"),
    ("negative-first-offset", "batches-valid", "failed"),
    ("bad-null-count", "batches-valid", "failed"), ("huge-null-count", "batches-valid", "failed"),
    ("uncounted-length", "batches-valid", "failed"),
    ("misaligned-offsets", "batches-valid", "failed"), ("bad-length", "batches-valid", "failed"),
    ("negative-length", "batches-valid", "failed"), ("negative-offset", "batches-valid", "failed"),
    ("missing-buffer", "batches-valid", "failed"), ("missing-column", "batches-valid", "failed"),
    ("false-utf8", "batches-valid", "failed"), ("too-many-rows", "batches-valid", "failed"),
    ("release-not-cleared", "batches-valid", "failed"),
    ("unprintable-version", "version-holds", "failed"),
    ("failing-kinds", "supplements-answer", "failed"),
    ("failing-element", "supplements-answer", "failed"),
    ("span-beyond-text", "supplements-answer", "failed"),
    ("unknown-form", "supplements-answer", "failed"),
    ("lying-table", "supplements-answer", "failed"),
    ("schema-release-not-cleared", "columns-hold", "failed"),
    ("element-release-not-cleared", "supplements-answer", "failed"),
    ("leaked-batch", "memory-returns", "failed"), ("leaked-lookup", "answers-return", "failed"),
    ("leaked-source", "openings-return", "failed"),
    ("leaked-descriptor", "openings-return", "failed"),
    ("overflows", "odd-sizes-agree", "failed"), ("thread-bound", "threads-may-change", "failed"),
    ("shared-cursor", "openings-are-independent", "failed"),
    ("trusts-requests", "senseless-requests", "failed"),
    ("prefix-abilities", "unknown-abilities", "failed"),
    ("logs-blindly", "minimal-host", "crashed"), ("crashes", "cuts-agree", "crashed"),
    ("exits", "cuts-agree", "crashed"), ("hangs", "cuts-agree", "timed out"),
    ("prints", "stays-quiet", "warning"),
  ]

  @Test(arguments: sample(8, of: lies))
  func everyLieIsNamed(_ lie: String, _ check: String, _ status: String) throws {
    let run = try Self.check([
      Self.liar.get().1, "liar:\(lie)", "--only", check, "--seed", "1", "--timeout", "2",
    ])
    #expect(run.checks.count == 1)
    #expect(run.status(of: check) == status, "\(run.checks)")
    #expect(run.status == (status == "warning" ? 0 : 1))
    #expect(run.checks.first?.came?.isEmpty == false)
  }

  /// The list contains every lie of liar.c.
  @Test func noLieIsForgotten() throws {
    let text = try DocumentationTests.text("Tests/TabellaTests/Host/Libraries/liar.c")
    let told = Set(
      text.matches(of: /tells\((?:\(source \*\))?[a-z]+, "([a-z0-9-]+)"\)/).map { String($0.1) })
    #expect(told.count > 50)
    #expect(told.subtracting(Self.lies.map(\.lie)) == [])
  }

  /// Entry points that misbehave.
  @Test(arguments: [
    ("ANY_CONTRACT", "entry-compares-versions", "crashed"),
    ("BUSY_ENTRY", "entry-is-quiet", "failed"), ("READING_ENTRY", "entry-is-quiet", "failed"),
    ("SLOW_ENTRY", "entry-is-quick", "warning"), ("ONE_HOST", "entry-answers-again", "failed"),
  ])
  func entriesAreJudged(_ flag: String, _ check: String, _ status: String) throws {
    let folder = try TemporaryFolder()
    let library = try Self.compile("\(flag).so", in: folder, flags: ["-D\(flag)"])
    let run = try Self.check([library, "liar:", "--only", check])
    #expect(run.status(of: check) == status, "\(run.checks)")
  }

  @Test(
    arguments: [
      (["-fvisibility=default"], "exports-one-symbol", "liar_is_seen"),
      (["-Wl,-rpath,/opt/mine:$ORIGIN"], "runpath-is-relative", "/opt/mine"),
      (["-Wl,-z,nodelete", "-Wl,-z,norelro"], "stays-loaded", nil),
    ] as [([String], String, String?)])
  func filesAreJudged(_ flags: [String], _ check: String, _ says: String?) throws {
    let folder = try TemporaryFolder()
    let more = try folder.write(
      "more.c", "int liar_is_seen(void);\nint liar_is_seen(void) { return 1; }\n")
    let library = try Self.compile("file.so", in: folder, flags: flags + [more])
    let run = try Self.check([library, "liar:", "--only", check])
    let found = try #require(run.checks.first)
    #expect(found.level == "recommended" && run.status == 0)
    #expect(found.status == (says == nil ? "passed" : "warning"), "\(found)")
    #expect(found.came?.contains(says ?? "") ?? true)
    // Linked without the flag that the check requires.
    if check == "stays-loaded" {
      let plain = try compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c", into: folder, name: "plain.so")
      #expect(try Self.check([plain, "liar:", "--only", check]).status(of: check) == "warning")
    }
  }

  // Manifests

  @Test(arguments: [
    (#""id": "other""#, "manifest-agrees", "failed"),
    (#""version": "2""#, "manifest-agrees", "failed"),
    (#""library": "lair.so""#, "manifest-agrees", "failed"),
    (
      #""options": [{"name": "x", "choices": ["a", "b"], "default": "c"}]"#, "manifest-agrees",
      "failed"
    ),
    (
      #""options": [{"name": "x", "type": "integer", "default": "many"}]"#, "manifest-agrees",
      "failed"
    ),
    (
      #""options": [{"name": "x", "choices": ["a", "b"], "default": "b"}]"#, "manifest-agrees",
      "passed"
    ),
    (#""capabilities": ["ids", "edits"]"#, "manifest-members", "warning"),
    (#""capabilities": ["ids"]"#, "manifest-members", "passed"),
    (#""columns": [{"name": "word", "type": "text"}]"#, "columns-as-declared", "failed"),
    (
      #""columns": [{"name": "word"}, {"name": "number", "type": "integer"}]"#,
      "columns-as-declared", "passed"
    ),
    (#""capabilities": ["ids"]"#, "capabilities-as-declared", "warning"),
    (
      #""capabilities": ["ids", "sections", "index", "supplementary", "gather"]"#,
      "capabilities-as-declared", "warning"
    ),
    (
      #""capabilities": ["ids", "sections", "index", "supplementary"]"#,
      "capabilities-as-declared", "passed"
    ),
    (
      #""options": [{"name": "x", "type": "text", "default": "y"}]"#, "options-open", "passed"
    ),
  ])
  func manifestsAreCompared(_ member: String, _ check: String, _ status: String) throws {
    let folder = try TemporaryFolder()
    let library = try Self.compile("liar.so", in: folder)
    var manifest = [
      #""id": "liar""#, #""version": "1""#, #""contract": "0.9""#, #""library": "liar.so""#,
      #""schemes": ["liar"]"#,
    ]
    manifest.removeAll { $0.prefix(6) == member.prefix(6) }
    try folder.write(
      "liar.tabella.json", "{\((manifest + [member]).joined(separator: ", "))}")
    let run = try Self.check([library, "--only", check])
    #expect(run.status(of: check) == status, "\(run.checks)")
    let places = run.document["locations"] as? [[String: String]]
    #expect(places == [["location": "liar:", "origin": "scheme"]])
  }

  /// Without a manifest that names the library, no host finds the provider, and `check` passed.
  @Test func aManifestIsMissed() throws {
    let folder = try TemporaryFolder()
    let library = try Self.compile("liar.so", in: folder)
    let members = #""id": "liar", "version": "1", "contract": "0.9", "schemes": ["liar"]"#
    func run() throws -> Run {
      try Self.check([library, "--only", "has-manifest,manifest-agrees", "--seed", "1"])
    }
    for (file, named, status, came) in [
      (
        "liar.tabella.json", "lair.so", ["passed", "failed"],
        "liar.tabella.json names the library lair.so, not liar.so"
      ),
      (
        "other.tabella.json", "lair.so", ["passed", "failed"],
        "other.tabella.json names the library lair.so"
      ),
      ("other.tabella.json", "other.so", ["warning", "skipped"], "no file *.tabella.json"),
      ("other.tabella.json", "liar.so", ["passed", "passed"], nil),
    ] as [(String, String, [String], String?)] {
      try folder.write("other.so", "another library")
      try folder.write(file, "{\(members), \"library\": \"\(named)\"}")
      let found = try run()
      #expect(found.checks.map(\.status) == status, "\(file), \(named): \(found.checks)")
      #expect(
        came == nil || found.checks.contains { $0.came?.contains(came ?? "") == true },
        "\(found.checks)")
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(file)")
    }
    #expect(try run().checks.map(\.status) == ["warning", "skipped"])
  }

  // The checked locations

  /// `check` does not change LOCATION, because edits work on copies.
  @Test func locationsAreNotEdited() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("people.csv", "name,born\nAda,1815\nGrace,1906\n")
    let before = try FileManager.default.attributesOfItem(atPath: file)
    let names = "edits-replay,undo-restores,set-reads-back,dry-runs-return"
    let run = try Self.check(["csv", file, "--only", names, "--seed", "1"])
    #expect(run.status == 0)
    #expect(run.checks.map(\.status) == Array(repeating: "passed", count: 4), "\(run.checks)")
    #expect(try folder.read("people.csv") == Array("name,born\nAda,1815\nGrace,1906\n".utf8))
    let after = try FileManager.default.attributesOfItem(atPath: file)
    #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["people.csv"])
  }

  /// `check` removes its samples.
  @Test func nothingIsLeft() throws {
    let folder = try TemporaryFolder()
    _ = try Self.check(
      ["csv", "--only", "opens,odd-names,edits-replay"], environment: ["TMPDIR": folder.path])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  /// A location that does not open is one finding, and all other checks skip it.
  @Test(.needs("make", "cc")) func aLocationThatDoesNotOpen() throws {
    let folder = try TemporaryFolder()
    let run = try Self.check([MakeExample.planets(in: folder), "planets:x"])
    #expect(run.status == 1)
    #expect(run.findings.map(\.name) == ["opens"])
    #expect(run.checks.first { $0.name == "cuts-agree" }?.came?.contains("takes no path") == true)
  }

  // Seeds

  @Test func aSeedRepeats() throws {
    let library = try Self.liar.get().1
    let first = try Self.check([library, "liar:changing-cells", "--only", "any-calls-agree"])
    let came = try #require(first.checks.first?.came)
    #expect(first.checks[0].calls.isEmpty && came.contains("(seed \(first.seed))"))
    let again = try Self.check([
      library, "liar:changing-cells", "--only", "any-calls-agree", "--reproduce", "\(first.seed)",
    ])
    #expect(again.seed == first.seed && again.checks[0].came == came)
    #expect(again.checks[0].calls.contains { $0.contains("rows 0:") }, "\(again.checks)")
    let other = try Self.check([
      library, "liar:changing-cells", "--only", "any-calls-agree", "--seed", "\(first.seed + 1)",
    ])
    #expect(other.seed == first.seed + 1)
  }

  /// The seed determines each check separately, so one check can be repeated alone.
  @Test func oneCheckIsRepeatedAlone() throws {
    let library = try Self.liar.get().1
    let all = try Self.check([library, "liar:overlapping-cut", "--seed", "5"])
    for finding in all.findings.prefix(3) {
      let one = try Self.check([
        library, "liar:overlapping-cut", "--only", finding.name, "--reproduce", "5",
      ])
      #expect(one.checks.map(\.came) == [finding.came])
    }
  }

  // In this process

  @Test func inProcess() throws {
    let run = try Self.check([Self.liar.get().1, "liar:", "--in-process", "--seed", "1"])
    #expect(run.status == 0 && run.findings.map(\.name) == ["has-manifest"], "\(run.findings)")
    #expect(run.status(of: "threads-may-change") == "passed")
    #expect(run.status(of: "stays-quiet") == "skipped")
    let crash = try CheckTests.tabella(
      ["check", Self.liar.get().1, "liar:crashes", "--in-process"],
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(crash.status == 11)
  }

  // The command line

  static func tabella(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"].merging(environment) { $1 })
  }

  @Test func whatCannotBeLoaded() throws {
    let folder = try TemporaryFolder()
    let text = try folder.write("text.so", "hello")
    let other = try Self.compile("other.so", in: folder, flags: ["-DOTHER_CONTRACT=0x30002u"])
    let constructor = try folder.write(
      "constructor.c",
      "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n")
    let crashing = try Self.compile("crashing.so", in: folder, flags: [constructor])
    let without = try compileLibrary(
      folder.write("without.c", "int other(void);\nint other(void) { return 1; }\n"), into: folder,
      name: "without.so")
    let unlinked = try compileLibrary(
      folder.write(
        "unlinked.c",
        """
        #include "tabella.h"
        int absent_function(void);
        int32_t tabella_provider_entry(tabella_entry *entry) { (void)entry; return absent_function(); }

        """), into: folder, name: "unlinked.so")
    // The hint was the same for every cause.
    for (library, says, status, hint) in [
      (text, "not an ELF file", "failed", "build it as a shared library"),
      (other, "3.2", "failed", "build it again with the headers"),
      (folder.path + "/absent.so", "absent.so", "failed", "build the library first"),
      (without, "exports no function", "failed", "export the entry"),
      (unlinked, "absent_function", "failed", "link the library that defines the symbol"),
      (crashing, "SIGABRT", "crashed", "a constructor of the library or its entry ends"),
    ] {
      let run = try Self.check([library])
      #expect(run.checks.first?.hint.contains(hint) == true, "\(library): \(run.checks)")
      #expect(run.status == 3, "\(library): \(run.status)")
      #expect(run.checks.map(\.name) == ["loads"] && run.checks[0].status == status)
      #expect(run.checks[0].came?.contains(says) == true, "\(run.checks)")
    }
  }

  @Test func whatIsNotTrusted() throws {
    let folder = try TemporaryFolder()
    let library = try Self.compile("open.so", in: folder)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: library)
    let run = try Self.check([library, "liar:"])
    #expect(run.status == 4)
    #expect(run.checks.map(\.name) == ["loads"])
    #expect(run.checks[0].came?.contains("(mode)") == true, "\(run.checks)")
    #expect(run.checks[0].hint.contains("docs/trust.md"))
  }

  /// `check` skips the remaining checks after several timeouts.
  @Test func patienceEnds() throws {
    let run = try Self.check([Self.liar.get().1, "liar:hangs", "--timeout", "0.5", "--seed", "1"])
    #expect(run.checks.count { $0.status == "timed out" } == 3)
    #expect(run.checks.last?.status == "skipped")
    #expect(run.checks.last?.came?.contains("3 checks timed out") == true)
  }

  /// A location that does not exist was a finding about the provider.
  @Test func aMissingLocationIsNoFinding() throws {
    let result = try Self.tabella(["check", "csv", "/absent/data.csv"])
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(result.errors.contains("/absent/data.csv: cannot be opened: No such file"))
  }

  @Test(arguments: [
    ["check"], ["check", "a", "b", "c"], ["check", "a", "--only", "no-such-check"],
    ["check", "a", "--seed", "x"], ["check", "a", "--timeout", "0"],
  ])
  func misuse(_ arguments: [String]) throws {
    let result = try Self.tabella(arguments)
    #expect(result.status == 2 && result.output.isEmpty, "\(result.errors)")
  }

  /// The output has one line per check, then each problem in full once, then the totals.
  @Test func textForPeople() throws {
    let library = try Self.liar.get().1
    let result = try Self.tabella([
      "check", library, "liar:bad-offsets", "--only", "opens,columns-hold,cuts-agree", "--seed",
      "1",
    ])
    #expect(result.status == 1)
    #expect(result.lines[0] == "checking \(library) (liar 1) with liar:bad-offsets")
    #expect(result.lines[1].hasPrefix("failed     opens "))
    #expect(result.lines[2] == "passed     columns-hold")
    #expect(result.text.contains("\n\nfailed: opens (required)\n  expected  The location opens"))
    #expect(result.text.contains("\n  also      cuts-agree (failed)\n"))
    #expect(result.text.contains("\nfailed     … and 1 more check "))
    #expect(!result.lines.contains { $0.hasPrefix("failed     cuts-agree") })
    #expect(
      result.text.contains(
        "\n  again     tabella check \(library) liar:bad-offsets --only opens --reproduce 1\n"))
    #expect(result.text.hasSuffix("\n1 passed, 2 failed; seed 1\n"))
    let quiet = try Self.tabella([
      "check", library, "liar:", "--only", "opens,columns-hold", "--seed", "1", "--quiet",
    ])
    #expect(quiet.lines.count == 2 && quiet.lines[1] == "2 passed; seed 1")
  }

  /// One faulty answer broke twenty laws, and each had its own line and description.
  @Test func oneCauseIsOneFinding() throws {
    let arguments = [try Self.liar.get().1, "liar:bad-offsets", "--seed", "1"]
    let broken = try Self.check(arguments).checks.filter { $0.status == "failed" }
    #expect(broken.count > 15 && broken[0].cause == nil)
    #expect(broken.dropFirst().allSatisfy { $0.cause == broken[0].name }, "\(broken)")
    let text = try Self.tabella(["check"] + arguments).text
    #expect(text.components(separatedBy: "\nfailed: ").count == 2, "\(text)")
    #expect(text.contains("\nfailed     … and \(broken.count - 1) more checks"))
    #expect(text.contains(" … and \(broken.count - 4) more\n"))
    #expect(!text.contains("Tabella.") && !text.contains("ColumnBatch"))
  }

  /// Large data took minutes. The laws now repeat less, and the report says so.
  @Test func largeDataIsSampled() throws {
    let folder = try TemporaryFolder()
    let line = String(repeating: "x", count: 30) + ",1\n"
    let file = try folder.write("large.csv", "a,b\n" + String(repeating: line, count: 60_000))
    let names = "cells-hold,answers-return,openings-return,end-is-empty"
    let result = try Self.tabella(["check", "csv", file, "--only", names, "--seed", "1"])
    #expect(result.status == 0, "\(result.text)")
    let rows = "only the first 200 rows of a section"
    #expect(result.text.contains("sampled    1 check "), "\(result.text)")
    #expect(result.text.contains(rows) && result.text.contains("the data has 1 MiB"))
    let run = try Self.check(["csv", file, "--only", names, "--seed", "1"])
    #expect(run.checks.filter { $0.came == nil }.map(\.name) == ["end-is-empty"], "\(run.checks)")
    let small = try folder.write("small.csv", "a,b\n1,2\n")
    #expect(try Self.check(["csv", small, "--only", names]).checks.allSatisfy { $0.came == nil })
  }

  /// A long check was silent.
  @Test func progressIsShown() throws {
    let terminal = try runOnTerminal(
      buildFolder + "/tabella",
      ["check", Self.liar.get().1, "liar:hangs", "--only", "cuts-agree", "--timeout", "2"],
      width: 80, height: 24, environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"])
    #expect(terminal.text.contains("\rcheck 1 of 1, cuts-agree  "), "\(terminal.text)")
  }

  /// The provider's own texts never reach a terminal unescaped.
  @Test func whatComesIsMadeSafe() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("evil\u{1B}[31m\nname.csv", "a,b\n1,2\n")
    let result = try Self.tabella(["check", "csv", file, "--only", "opens"])
    #expect(result.status == 0)
    #expect(!result.output.contains(0x1B) && result.lines.count == 3)
  }
}

/// The examples, built as their authors would.
enum MakeExample {
  /// Builds the provider in C with its manifest in a separate folder.
  static func planets(in folder: TemporaryFolder) throws -> String {
    for name in ["planets.c", "planets.tabella.json", "Makefile"] {
      try FileManager.default.copyItem(
        atPath: "\(packageFolder)/Examples/provider-c/\(name)", toPath: "\(folder.path)/\(name)")
    }
    let result = try run(
      findProgram("make"), ["-s", "-C", folder.path, "TABELLA=\(packageFolder)"])
    guard result.status == 0 else { throw MissingTool("a built example: \(result.errors)") }
    return folder.path + "/planets.so"
  }
}
