import Foundation
import Testing

/// What a command does with a foreign provider where the system cannot confine it as it must be.
@Suite struct WeakIsolationTests {
  let ledgers: Ledgers
  /// Runs a program without a part of the kernel.
  let without: String

  init() throws {
    ledgers = try Ledgers()
    without = ledgers.folder.path + "/without"
    let source = packageFolder + "/Tests/TabellaTests/Host/Libraries/without.c"
    let compiled = try run(findProgram("clang"), ["-o", without, source])
    #expect(compiled.status == 0, "\(compiled.errors)")
  }

  func tabella(without part: String, _ words: [String]) throws -> ProgramResult {
    try run(
      without, [part, buildFolder + "/tabella"] + words, environment: ledgers.environment(),
      directory: ledgers.folder.path)
  }

  static let set = ["set", "a.ledger", "0:0", "name=Eve"]
  /// What is missing, as messages name it.
  static let parts =
    ["landlock": "Landlock", "seccomp": "seccomp"].merging(
      geteuid() == 0 ? ["mounts": "mounts of its own"] : [:]
    ) { $1 }

  /// Was broken: whatever was missing, a foreign provider could edit with status 0.
  @Test(arguments: parts.keys.sorted())
  func editingNeedsAllOfIt(_ part: String) throws {
    let before = try ledgers.content()
    let refused = try tabella(without: part, Self.set)
    let name = try #require(Self.parts[part])
    #expect(refused.status == 4, "\(refused.errors)")
    #expect(refused.errors.split(separator: "\n").count == 1)
    #expect(refused.errors.contains("this system lacks \(name)"), "\(refused.errors)")
    #expect(refused.errors.contains("--weak-isolation"))
    #expect(try ledgers.content() == before)
    let accepted = try tabella(without: part, Self.set + ["--weak-isolation"])
    #expect(accepted.status == 0, "\(accepted.errors)")
    #expect(accepted.errors.contains("is not confined as it should be"))
    #expect(try ledgers.content() != before)
  }

  /// To read is one warning, however many tables are read; a reader needs no mounts.
  @Test(arguments: parts.keys.sorted())
  func readingIsOneWarning(_ part: String) throws {
    let shown = try tabella(
      without: part, ["show", "a.ledger", "a.ledger", "--format", "csv"])
    #expect(shown.status == 0 && shown.lines.count == 7, "\(shown.errors)")
    let warnings = shown.errors.split(separator: "\n")
    #expect(warnings.count == (part == "mounts" ? 0 : 1), "\(shown.errors)")
    for warning in warnings {
      #expect(warning.hasPrefix("tabella: provider ledger: is not confined as it should be"))
      #expect(warning.contains(try #require(Self.parts[part])))
    }
  }

  /// Nothing is missing here: nothing is said. Shipped providers run in process and need none of it.
  @Test func whatIsWholeIsNotSpokenOf() throws {
    let csv = try ledgers.folder.write("a.csv", "a,b\n1,2\n")
    let edited = try tabella(without: "landlock", ["set", csv, "0", "a=3"])
    #expect(edited.status == 0 && !edited.errors.contains("confined"), "\(edited.errors)")
    let isolated = try tabella(without: "landlock", ["set", csv, "0", "a=4", "--isolate"])
    #expect(isolated.status == 4, "\(isolated.errors)")
  }
}
