import Foundation
import Testing

@testable import TabellaTestSupport

/// Commands with foreign providers on a system that lacks a part of the confinement.
@Suite struct WeakIsolationTests {
  let ledgers: Ledgers
  /// The program that runs another one without a kernel feature.
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
  /// The missing features, in the words of the messages.
  static let parts =
    ["landlock": "Landlock", "seccomp": "seccomp"].merging(
      geteuid() == 0 ? ["mounts": "private mounts"] : [:]
    ) { $1 }

  /// A foreign provider could edit with status 0, even if features were missing.
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
    #expect(accepted.errors.contains("is not confined completely"))
    #expect(try ledgers.content() != before)
  }

  /// Reading leads to one warning, for any number of tables. A reader needs no mounts.
  @Test(arguments: parts.keys.sorted())
  func readingIsOneWarning(_ part: String) throws {
    let shown = try tabella(
      without: part, ["show", "a.ledger", "a.ledger", "--format", "csv"])
    #expect(shown.status == 0 && shown.lines.count == 7, "\(shown.errors)")
    let warnings = shown.errors.split(separator: "\n")
    #expect(warnings.count == (part == "mounts" ? 0 : 1), "\(shown.errors)")
    for warning in warnings {
      #expect(warning.hasPrefix("tabella: provider ledger: is not confined completely"))
      #expect(warning.contains(try #require(Self.parts[part])))
    }
  }

  /// In a plain chroot, the message was only "Invalid argument". It names the cause and the remedy, and the remedy works.
  @Test(.needs(.mounts), .needs("unshare"), .needs("chroot")) func aPlainChrootIsNamed() throws {
    let root = ledgers.folder.path + "/root"
    try FileManager.default.createDirectory(
      atPath: root + "/whole", withIntermediateDirectories: true)
    let script = """
      cd "$1"; shift
      if [ "$1" = bound ]; then mount --bind . .; cd "$PWD"; fi; shift
      mount --rbind / whole
      for name in /*; do ln -sfn "whole$name" ".$name"; done
      exec chroot . "$@"
      """
    func edit(_ kind: String) throws -> ProgramResult {
      try run(
        findProgram("unshare"),
        ["--mount", "sh", "-euc", script, "sh", root, kind, buildFolder + "/tabella"]
          + ["set", ledgers.file, "0:0", "name=Eve"], environment: ledgers.environment())
    }
    let plain = try edit("plain")
    #expect(plain.status == 4)
    #expect(
      plain.errors.contains(
        "private mounts (the root directory is not a mount point; mount it on itself"),
      "\(plain.errors)")
    let bound = try edit("bound")
    #expect(bound.status == 0, "\(bound.errors)")
  }

  /// If nothing is missing, there is no message. Shipped providers run in the process and need no confinement.
  @Test func whatIsWholeIsNotSpokenOf() throws {
    let csv = try ledgers.folder.write("a.csv", "a,b\n1,2\n")
    let edited = try tabella(without: "landlock", ["set", csv, "0", "a=3"])
    #expect(edited.status == 0 && !edited.errors.contains("confined"), "\(edited.errors)")
    let isolated = try tabella(without: "landlock", ["set", csv, "0", "a=4", "--isolate"])
    #expect(isolated.status == 4, "\(isolated.errors)")
  }
}
