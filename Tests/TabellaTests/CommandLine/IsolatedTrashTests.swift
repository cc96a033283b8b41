import Foundation
import Testing

@testable import TabellaTestSupport

/// Deletions by the provider of folders in a worker, which may write only to the paths that the host grants.
@Suite struct IsolatedTrashTests {
  let folder: TemporaryFolder
  let home: String

  init() throws {
    folder = try TemporaryFolder()
    home = folder.path + "/home"
    for name in ["home", "tree"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
  }

  /// Runs a command on a folder that has the entry `a`. `ROW` stands for its id.
  func tabella(_ path: String, _ words: [String]) throws -> ProgramResult {
    let environment = [
      "HOME": home, "XDG_DATA_HOME": home + "/new/data", "XDG_STATE_HOME": home + "/state",
    ]
    let program = buildFolder + "/tabella"
    let rows = try run(
      program, ["show", path, "--columns", "name", "--with-row", "--format", "tsv"],
      environment: environment)
    let row = try #require(rows.lines.last?.split(separator: "\t").first)
    return try run(
      program, words.map { $0 == "ROW" ? String(row) : $0 } + ["--isolate"],
      environment: environment)
  }

  /// Before the first deletion of a user, the dry run accepted the edit, and the edit was refused.
  @Test func theFirstDeletionOfAUser() throws {
    try folder.write("tree/a", "content")
    let path = "\(folder.path)/tree"
    let foreseen = try tabella(path, ["delete", path, "ROW", "--dry-run"])
    #expect(foreseen.status == 0, "\(foreseen)")
    let done = try tabella(path, ["delete", path, "ROW", "--yes"])
    #expect(done.status == 0, "\(done)")
    #expect(try folder.read("home/new/data/Trash/files/a") == Array("content".utf8))
    var status = stat()
    #expect(stat("\(home)/new/data/Trash", &status) == 0 && status.st_mode & 0o777 == 0o700)
  }

  /// The dry run accepted a deletion in a file system whose top folder the worker may not change.
  @Test(.needs(.mounts)) func aTrashThatTheWorkerMayNotMake() throws {
    let mount = try #require(Mount("\(folder.path)/tree"))
    defer { mount.unmount() }
    try FileManager.default.createDirectory(
      atPath: "\(mount.path)/sub", withIntermediateDirectories: true)
    try folder.write("tree/sub/a", "content")
    let path = "\(mount.path)/sub"
    for words in [["--dry-run"], ["--yes"]] {
      let result = try tabella(path, ["delete", path, "ROW"] + words)
      #expect(result.status == 4, "\(result)")
      #expect(result.errors.contains("/tree/.Trash-\(geteuid()): Permission denied; use"))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: mount.path) == ["sub"])
    #expect(try folder.read("tree/sub/a") == Array("content".utf8))
  }

  /// `check` left its deleted copies in the user's trash.
  @Test func aCheckDoesNotFillTheUsersTrash() throws {
    let words = ["check", "directory", "--only", "dry-runs-change-nothing"]
    let result = try run(
      buildFolder + "/tabella", words, environment: ["HOME": home, "XDG_DATA_HOME": home + "/data"])
    #expect(result.status == 0, "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
  }
}
