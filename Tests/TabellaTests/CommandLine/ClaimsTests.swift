import Foundation
import Testing

@testable import TabellaTestSupport

/// docs/claims.md names a test for every claim, and these tests exist.
@Suite(.needs("python3")) struct ClaimsTests {
  /// The documents whose claims need tests.
  static let documents = [
    "saving.md", "faults.md", "zoo.md", "trust.md", "security.md", "embedding.md",
    "embedding-shipping.md", "embedding-sources.md", "embedding-c.md", "python.md",
    "python-arrow.md", "sqlite.md", "spark.md",
  ]
  static let withoutClaims = "Headings without claims"

  @Test func everyClaimNamesATest() throws {
    let problems = try Self.problems(in: DocumentationTests.text("docs/claims.md"))
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  /// The check notices each of these edits of the page.
  @Test(arguments: [
    (
      "`FileSaveTests/backups`", "`FileSaveTests/noSuchTest`",
      "there is no FileSaveTests/noSuchTest"
    ),
    ("`FileSaveTests/backups`", "`PinTests/backups`", "there is no PinTests/backups"),
    ("`faults:kill`", "`faults:nothing`", "there is no faults:nothing"),
    ("`zoo:damage`", "`zoo:nowhere`", "there is no zoo:nowhere"),
    ("`fuzz:channel`", "`fuzz:nothing`", "there is no fuzz:nothing"),
    ("`Tests/Faults/pid-reuse`", "`Tests/Faults/nothing`", "there is no Tests/Faults/nothing"),
    ("`Tests/Faults/pid-reuse`", "`Tests/Faults/case.py`", "there is no Tests/Faults/case.py"),
    ("`Examples/run`", "`Examples/walk`", "there is no Examples/walk"),
    ("test_errors.Codes.test_a_class", "test_errors.Rows.test_a_class", "there is no python:"),
    ("python:test_errors.", "python:test_arrow.", "there is no python:test_arrow."),
    ("sqlite:test_guide.", "sqlite:test_nothing.", "there is no sqlite:test_nothing."),
    ("`faults:kill`", "`hope:kill`", "hope:kill is of no known kind"),
    ("`faults:kill`", "faults:kill", "no tests"),
    ("### Backups\n", "### Back-ups\n", "saving.md has no heading Back-ups"),
    ("### Backups\n", "", "saving.md: Backups has no claim"),
    ("| saving.md | Limits |", "| saving.md | Backups |", "saving.md: Backups has claims"),
    ("| saving.md | Limits |", "| saving.md | Nothing |", "saving.md: Limits has no claim"),
    ("## [zoo.md](zoo.md)\n", "", "zoo.md: What is promised has no claim"),
  ])
  func aFaultInThePageIsNoticed(_ old: String, _ new: String, _ complaint: String) throws {
    let text = try DocumentationTests.text("docs/claims.md")
    let place = try #require(text.range(of: old), "\(old) is not in the page")
    let problems = try Self.problems(in: text.replacingCharacters(in: place, with: new))
    #expect(problems.contains { $0.contains(complaint) }, "\(problems)")
  }

  // The page

  /// A row of the page: the claim, its heading, and the tests that would fail.
  struct Claim {
    let document: String
    let heading: String
    let text: String
    let tests: String
  }

  // Patterns are compiled once, because a literal is compiled at each evaluation.
  nonisolated(unsafe) private static let documentForm = /## \[(.+)\]\((.+)\)/
  nonisolated(unsafe) private static let testsForm = /`[^`]+`(, `[^`]+`)*/
  nonisolated(unsafe) private static let headingForm = /##? (.+)/

  private static func problems(in text: String) throws -> [String] {
    var problems: [String] = []
    var claims: [Claim] = []
    var exempt: [(document: String, heading: String)] = []
    var (document, heading) = ("", "")
    for line in text.components(separatedBy: "\n") {
      if let match = line.wholeMatch(of: documentForm), match.1 == match.2 {
        (document, heading) = (String(match.1), "")
      } else if line.hasPrefix("## ") {
        (document, heading) = (String(line.dropFirst(3)), "")
      } else if line.hasPrefix("### ") {
        heading = String(line.dropFirst(4))
      } else if line.hasPrefix("| "), line != "| claim | test |", !document.isEmpty {
        let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
        if document == withoutClaims {
          if cells.count == 3, cells[0] != "document" { exempt.append((cells[0], cells[1])) }
        } else if cells.count == 2 {
          claims.append(
            Claim(document: document, heading: heading, text: cells[0], tests: cells[1]))
        } else {
          problems.append("not a claim and its tests: \(line)")
        }
      }
    }
    let tests = try TestNames.all.get()
    for claim in claims {
      guard claim.tests.wholeMatch(of: testsForm) != nil else {
        problems.append("\(claim.text): no tests: \(claim.tests)")
        continue
      }
      for name in claim.tests.dropFirst().dropLast().components(separatedBy: "`, `") {
        if let problem = tests.problem(with: name) { problems.append("\(claim.text): \(problem)") }
      }
    }
    for document in documents {
      let there = try headings(of: document)
      for heading in there {
        let isExempt = exempt.contains { $0 == (document, heading) }
        let isClaimed = claims.contains { $0.document == document && $0.heading == heading }
        if !isExempt, !isClaimed { problems.append("\(document): \(heading) has no claim") }
        if isExempt, isClaimed { problems.append("\(document): \(heading) has claims") }
      }
      let named =
        claims.filter { $0.document == document }.map(\.heading)
        + exempt.filter { $0.document == document }.map(\.heading)
      for heading in Set(named).subtracting(there) {
        problems.append("\(document) has no heading \(heading)")
      }
    }
    for other in Set(claims.map(\.document) + exempt.map(\.document)).subtracting(documents) {
      problems.append("\(other) is no document with claims")
    }
    return problems
  }

  /// The title of a document, and its headings.
  private static func headings(of document: String) throws -> [String] {
    var isCode = false
    return try DocumentationTests.text("docs/\(document)").components(separatedBy: "\n")
      .compactMap { line in
        if line.hasPrefix("```") { isCode.toggle() }
        guard !isCode, line.hasPrefix("#"), let match = line.wholeMatch(of: headingForm) else {
          return nil
        }
        return String(match.1)
      }
  }
}

/// The names of all tests that a claim may contain.
private struct TestNames: Sendable {
  /// `Suite/function`, as `swift test --filter` takes it.
  let functions: Set<String>
  /// The names after `zoo:`, `faults:`, `fuzz:` and so on.
  let ofHarnesses: [String: Set<String>]

  static let all = Result { try TestNames() }

  private init() throws {
    functions = try TestNames.functions()
    let zoo = try TestNames.listed("Tests/Zoo")
    let faults = try TestNames.listed("Tests/Faults").filter { $0[0] == "sweep" }
    let plan = try DocumentationTests.text("Tests/Fuzz/run")
      .matches(of: /(?m)^(?:plan=")?([a-z]+) \d+ \d+"?$/).map { String($0.1) }
    ofHarnesses = [
      "zoo": Set(zoo.flatMap { $0.prefix(2) } + ["damage", "planted"]),
      "faults": Set(faults.map { $0[1] }), "fuzz": Set(plan),
      "python": try TestNames.pythonTests(in: "Python"),
      "sqlite": try TestNames.pythonTests(in: "SQLite"),
      "spark": try TestNames.pythonTests(in: "Spark"),
    ]
  }

  nonisolated(unsafe) private static let pythonForm = /(?m)^(?:class (\w+)|    def (test_\w+))/

  /// `FILE.CLASS.TEST` of a folder in `Tests`, as its `run` takes it.
  private static func pythonTests(in folder: String) throws -> Set<String> {
    var names: Set<String> = []
    let folder = "\(packageFolder)/Tests/\(folder)"
    for file in try FileManager.default.contentsOfDirectory(atPath: folder)
    where file.hasSuffix(".py") {
      var suite: Substring = ""
      let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      for match in text.matches(of: pythonForm) {
        if let name = match.1 { suite = name }
        if let test = match.2 { names.insert("\(file.dropLast(3)).\(suite).\(test)") }
      }
    }
    return names
  }

  /// The rows that a Python harness lists.
  static func listed(_ harness: String) throws -> [[String]] {
    let result = try run(
      findProgram("python3"), ["-B", "\(packageFolder)/\(harness)/main.py", "--list"])
    #expect(result.status == 0 && result.lines.count > 10, "\(result.errors)")
    return result.lines.map { $0.components(separatedBy: "\t") }
  }

  nonisolated(unsafe) private static let typeForm =
    /(?:@Suite.* |private |final )*(?:struct|class|enum|actor|extension) (\w+)/
  nonisolated(unsafe) private static let functionForm = /\ \ (?:@Test.* )?func (\w+)/
  nonisolated(unsafe) private static let swiftForm = /\w+\/\w+/
  nonisolated(unsafe) private static let harnessForm = /([a-z]+):([\w.-]+)/

  private static func functions() throws -> Set<String> {
    var names: Set<String> = []
    let folder = "\(packageFolder)/Tests/TabellaTests"
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
    where path.hasSuffix(".swift") {
      var (suite, isTest) = ("", false)
      for line in try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
        .components(separatedBy: "\n")
      {
        // Types are not indented; the test is faster than a pattern.
        if line.utf8.first != UInt8(ascii: " "), let match = line.prefixMatch(of: typeForm) {
          (suite, isTest) = (String(match.1), false)
        }
        if line.hasPrefix("  @Test") { isTest = true }
        if isTest, let match = line.prefixMatch(of: functionForm) {
          names.insert("\(suite)/\(match.1)")
          isTest = false
        }
      }
    }
    return names
  }

  /// The problem with a test name; nil if there is such a test.
  func problem(with name: String) -> String? {
    let isThere: Bool
    if name.hasPrefix("Tests/") || name.hasPrefix("Examples/") {
      isThere = access("\(packageFolder)/\(name)", X_OK) == 0
    } else if name.wholeMatch(of: Self.swiftForm) != nil {
      isThere = functions.contains(name)
    } else if let match = name.wholeMatch(of: Self.harnessForm),
      let names = ofHarnesses[String(match.1)]
    {
      isThere = names.contains(String(match.2))
    } else {
      return "\(name) is of no known kind"
    }
    return isThere ? nil : "there is no \(name)"
  }
}

/// The claims of docs/faults.md and docs/zoo.md about the harnesses themselves.
@Suite struct HarnessTests {
  private func python(_ folder: String, _ words: [String], _ environment: [String: String] = [:])
    throws -> ProgramResult
  {
    try run(
      findProgram("python3"), ["-B"] + words, environment: environment,
      directory: "\(packageFolder)/Tests/\(folder)")
  }

  /// The checks before a merge run a tenth of each harness, and `make` runs all of it.
  @Test func theyAreRun() throws {
    let required = try DocumentationTests.text(".ci/run")
    for words in [
      "Tests/Faults/run --count tenth --seed 1", "Tests/Faults/pid-reuse --count",
      "Tests/Zoo/run --count tenth --seed 1", "Tests/Zoo/damage --count",
      "Tests/Zoo/orphans --count",
      "Tests/Lines/run --count 3000", "swift test",
    ] { #expect(required.contains(words), "\(words)") }
    let make = try DocumentationTests.text("Makefile")
    for words in [
      "Tests/Faults/run --count full", "Tests/Faults/pid-reuse --count 100",
      "Tests/Zoo/run --count full --seed", "Tests/Zoo/damage --count 1000",
      "Tests/Zoo/orphans --count 200",
      "TABELLA_ZOO=$(CURDIR)/.build/zoo-house swift test --filter ZooTests",
    ] { #expect(make.contains(words), "\(words)") }
  }

  // Faults

  @Test(.needs("python3")) func theSweepsShownAreThose() throws {
    let listed = try TestNames.listed("Tests/Faults")
    func names(_ kind: String) -> [String] { listed.filter { $0[0] == kind }.map { $0[1] } }
    let text = try DocumentationTests.text("docs/faults.md")
    let table = try #require(text.components(separatedBy: "| sweep |").dropFirst().first)
    let rows = table.matches(of: /\n\| ([a-z][a-z-]*) \|/).map { String($0.1) }
    #expect(Set(rows) == Set(names("sweep")).subtracting(["planted"]))
    #expect(text.contains("and seventeen faulty variants"))
    #expect(text.contains("has three faulty variants"))
    #expect(names("mistake").count == 17 + 3)
    let onFiles = ["set", "insert", "delete", "move", "apply", "undo"].flatMap {
      ["csv \($0)", "text \($0)"]
    }
    let ways = ["csv set --backup", "csv set --in-place", "csv set through a link"]
    let onDirectories = [
      "set name", "set mode", "insert", "delete", "delete for good", "undo of set name",
      "undo of insert", "undo of delete",
    ].map { "directory \($0)" }
    #expect(Set(names("command")) == Set(onFiles + ways + onDirectories))
  }

  @Test(.needs("python3")) func aFailureSaysHowToSeeItAgain() throws {
    let result = try python(
      "Faults",
      [
        "-c",
        """
        import sweep
        one = sweep.Sweep("kill", sweep.Settings("/nowhere", 7))
        one.fail("torn", "csv set: fsync#1 KILL", "half of it", ["strace", "-e", "x y", "tabella"])
        one.report()
        """,
      ])
    #expect(result.status == 0, "\(result.errors)")
    for part in [
      "WRONG (torn): csv set: fsync#1 KILL", "half of it", "strace -e 'x y' tabella",
      "again: Tests/Faults/run kill --only 'csv set: fsync#1 KILL' --seed 7 --keep",
    ] { #expect(result.text.contains(part), "\(result.text)") }
  }

  /// The possible contents of a disk: all combinations up to 1,024, and a sample of more.
  @Test(.needs("python3")) func allCombinationsAreTried() throws {
    let result = try python(
      "Faults",
      [
        "-c",
        """
        import power_cut, random
        class Event: choices = ["done", "lost"]
        class Disk:
            def __init__(self, count): self.events = [Event() for _ in range(count)]
            def pending(self, end): return self.events
        def tried(count):
            ways = power_cut.choices(Disk(count), 0, power_cut.EXHAUSTIVE, 50, random.Random(1))
            return len({tuple(way.values()) for way in ways})
        print(tried(0), tried(3), tried(10), tried(11) < 100)
        """,
      ])
    #expect(result.text == "1 8 1024 True\n", "\(result.text) \(result.errors)")
  }

  /// Without Tests/Faults/run, there is no mount namespace.
  @Test(.needs("python3")) func whatCannotBeMountedIsAFailure() throws {
    let folder = try TemporaryFolder()
    let result = try python(
      "Faults",
      ["main.py", "full-disk", "--count", "tenth", "--tabella", buildFolder + "/tabella"],
      ["TABELLA_FAULTS_OWN_MOUNTS": "", "TABELLA_FAULTS_FOLDER": folder.path])
    #expect(result.status == 1, "\(result.errors)")
    #expect(result.text.contains("NOT RUN: no file system can be mounted here"))
    #expect(result.text.contains("faults: FAILED") && !result.text.contains("WRONG"))
  }

  // The zoo

  @Test(.needs("python3")) func theKindsShownAreThose() throws {
    let listed = try TestNames.listed("Tests/Zoo")
    let text = try DocumentationTests.text("docs/zoo.md")
    let kinds = Set(listed.map { $0[0] })
    #expect(
      text.contains(
        "about 900 animals of \(kinds.count) kinds, built from about twenty small sources"))
    #expect((850..<950).contains(listed.count) && 18...22 ~= Set(listed.map { $0[2] }).count)
    let zoo = "\(packageFolder)/Tests/Zoo"
    let table = try #require(text.components(separatedBy: "| kind | what it is |").last)
    var shown: Set<String> = []
    for row in table.matches(of: /(?m)^\| (P[^|]+) \| [^|]+ \| ([^|]+) \|$/) {
      for part in row.1.components(separatedBy: ", ") {
        let numbers = part.matches(of: /P(\d+)/).compactMap { Int($0.1) }
        let range = try #require(numbers.first)...(numbers.last ?? 0)
        shown.formUnion(range.map { "P\($0)" })
      }
      for name in row.2.matches(of: /`([^`]+)`/).map({ String($0.1) }) {
        let places = ["", "Animals/", "../TabellaTests/Host/Libraries/"]
        #expect(places.contains { access("\(zoo)/\($0)\(name)", R_OK) == 0 }, "\(name)")
      }
    }
    #expect(shown == kinds)
  }

  @Test(.needs("python3")) func aTenthHasOneOfEachKind() throws {
    let result = try python(
      "Zoo",
      [
        "-c",
        """
        import argparse, main
        animals = main.all_animals()
        options = argparse.Namespace(kind=None, names=[], count="tenth", seed=1)
        some, again = main.chosen(animals, options), main.chosen(animals, options)
        print(len(animals), len(some), {a.kind for a in some} == {a.kind for a in animals}, some == again)
        """,
      ])
    #expect(result.status == 0, "\(result.errors)")
    let words = result.text.split(whereSeparator: \.isWhitespace)
    let (all, some) = (try #require(Int(words[0])), try #require(Int(words[1])))
    #expect((all / 10...all / 8).contains(some) && words[2...] == ["True", "True"], "\(words)")
  }
}
