import CTabellaSystem
import Foundation
import Testing

@testable import TabellaTestSupport

/// Saves on unusual file systems, and with interference by other programs, both simulated.
@Suite struct OtherFileSystemTests {
  let folder: TemporaryFolder
  let library: String

  init() throws {
    folder = try TemporaryFolder()
    library = try compileLibrary(
      "\(packageFolder)/Tests/TabellaTests/Host/Libraries/file_system.c", into: folder,
      name: "libfiles.so", flags: ["-ldl"])
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/sealed", withIntermediateDirectories: true)
    try folder.write("sealed/t.csv", "a,b\n1,2\n")
  }

  var data: String { "\(folder.path)/sealed" }

  /// Runs a command in the folder of t.csv. `files` describes the behaviour of the file system.
  func tabella(_ files: String, _ arguments: String...) throws -> ProgramResult {
    try tabella(files, arguments)
  }

  func tabella(_ files: String, _ arguments: [String]) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "LD_PRELOAD": library, "TABELLA_TEST_FILES": files,
        "XDG_STATE_HOME": "\(folder.path)/state", "SWIFT_BACKTRACE": "enable=no",
      ], directory: data)
  }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: data).sorted()
  }

  func text(_ name: String = "t.csv") throws -> String {
    String(decoding: try folder.read("sealed/\(name)"), as: UTF8.self)
  }

  /// On a file system without rename flags, every edit was done, reported as failed, and could not be undone.
  @Test func renameWithoutFlags() throws {
    for words in [["set", "t.csv", "0", "a=9"], ["set", "t.csv", "0", "a=9", "--in-place"]] {
      let result = try tabella("plain", words)
      #expect(result.status == 0, "\(result.errors)")
      #expect(try text() == "a,b\n9,2\n")
      let undone = try tabella("plain", "undo", "t.csv")
      #expect(undone.status == 0, "\(undone.errors)")
      #expect(try text() == "a,b\n1,2\n")
      #expect(try names() == ["t.csv"])
    }
  }

  /// The file became its own backup, and the earlier backup was gone, before the new file existed.
  @Test func aBackupWithoutExchange() throws {
    try folder.write("sealed/t.csv~", "earlier")
    let failed = try tabella("plain no-rename", "set", "t.csv", "0", "a=9", "--backup")
    #expect(failed.status == 1, "\(failed.errors)")
    #expect(try text() == "a,b\n1,2\n")
    #expect(try text("t.csv~") == "earlier")
    #expect(try names() == ["t.csv", "t.csv~"])
    let done = try tabella("plain", "set", "t.csv", "0", "a=9", "--backup")
    #expect(done.status == 0, "\(done.errors)")
    #expect(try text() == "a,b\n9,2\n")
    #expect(try text("t.csv~") == "a,b\n1,2\n")
    #expect(try names() == ["t.csv", "t.csv~"])
  }

  /// The message called the edit done, half written and without effect at once, and the receipt was wrong.
  @Test(arguments: ["", " no-birth"]) func aFileThatIsLeftHalfWritten(_ kind: String) throws {
    let failed = try tabella("no-sync" + kind, "set", "t.csv", "0", "a=9", "--in-place")
    #expect(failed.status == 1)
    let kept = "\(folder.path)/state/tabella/in-place"
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: kept).first)
    // The name contains a digest of the path, because no birth time distinguishes inodes.
    if !kind.isEmpty { #expect(!name.contains("-")) }
    #expect(failed.errors.contains("half written") && failed.errors.contains("\(kept)/\(name)"))
    #expect(!failed.errors.contains("nothing was changed"))
    #expect(!failed.errors.contains("tabella undo"))
    #expect(
      try String(contentsOfFile: "\(kept)/\(name)", encoding: .utf8) == "a,b\n1,2\n")
    let undone = try tabella(kind, "undo", "t.csv")
    #expect(undone.status != 0)
    let next = try tabella(kind, "set", "t.csv", "0", "b=7")
    #expect(next.status == 4 && next.errors.contains(name), "\(next.errors)")
    // The copy that the message recommends.
    try folder.write(
      "sealed/t.csv", Array(Data(contentsOf: URL(fileURLWithPath: "\(kept)/\(name)"))))
    unlink("\(kept)/\(name)")
    #expect(try tabella(kind, "set", "t.csv", "0", "b=7").status == 0)
    #expect(try text() == "a,b\n1,7\n")
  }

  /// If only the overwriting fails, the save restores the old bytes.
  @Test func aRewritingThatFailsIsTakenBack() throws {
    let failed = try tabella("sync-fails-once", "set", "t.csv", "0", "a=98765", "--in-place")
    #expect(failed.status == 1, "\(failed.errors)")
    #expect(failed.errors.contains("its old bytes were written back, so nothing was changed"))
    #expect(try text() == "a,b\n1,2\n")
    let kept = "\(folder.path)/state/tabella/in-place"
    #expect(try FileManager.default.contentsOfDirectory(atPath: kept).isEmpty)
    #expect(try tabella("", "set", "t.csv", "0", "a=9").status == 0)
  }

  /// A write by another program right after the rename is not an error of the save.
  @Test func aChangeRightAfterTheSaveIsSaid() throws {
    let saved = try tabella("other-writes", "set", "t.csv", "0", "a=9")
    #expect(saved.status == 0, "\(saved.errors)")
    #expect(saved.errors.contains("was saved, and then changed again by another program"))
    #expect(try text() == "a,b\n9,2\nother,row\n")
  }

  private var keptNames: [String] {
    let kept = "\(folder.path)/state/tabella/in-place"
    return (try? FileManager.default.contentsOfDirectory(atPath: kept)) ?? []
  }

  /// A save in place mistook another program's write for its own, and undo destroyed that write with status 0. An
  /// insertion blamed the provider for breaking the contract.
  @Test(arguments: [
    "other-adds-at-sync", "other-rewrites-at-sync", "other-adds-at-end", "other-rewrites-at-end",
  ])
  func anotherWritesWhileAFileIsSavedInPlace(_ files: String) throws {
    for words in ["set t.csv 0 a=99", "insert t.csv end a=97", "move t.csv 0 end"] {
      try folder.write("sealed/t.csv", "a,b\n1,2\n3,4\n")
      let saved = try tabella(
        files, words.split(separator: " ").map(String.init) + ["--in-place"])
      #expect(saved.status == 0, "\(words): \(saved.errors)")
      #expect(
        saved.errors.contains("was saved, and then changed again by another program"),
        "\(words): \(saved.errors)")
      let both = try text()
      #expect(both.hasSuffix("other,row\n"), "\(words)")
      for more in [["--dry-run"], []] {
        let undone = try tabella("", ["undo", "t.csv"] + more)
        #expect(undone.status == 5, "\(words): \(undone.errors)")
      }
      #expect(try text() == both, "\(words)")
      #expect(keptNames == [])
    }
    // In the state that the edit left, undo works.
    try folder.write("sealed/t.csv", "a,b\n3,4\n1,2\n")
    let undone = try tabella("", "undo", "t.csv")
    #expect(undone.status == 0, "\(undone.errors)")
    #expect(try text() == "a,b\n1,2\n3,4\n")
  }

  /// Rows that another program appended while a save in place shortened the file were cut off.
  @Test func anotherAddsWhileAFileIsWrittenInPlace() throws {
    try folder.write("sealed/t.csv", "a,b\n1,2\n3,4\n5,6\n")
    let cut = try tabella("other-adds-at-copy", "delete", "t.csv", "0", "--in-place", "--yes")
    #expect(cut.status == 5, "\(cut.errors)")
    #expect(
      cut.errors.contains(
        "extended by another program at the same moment; its old bytes were written back"))
    #expect(try text() == "a,b\n1,2\n3,4\n5,6\nother,row\n")
    #expect(keptNames == [])
    // During the backup, the longer file was written over the new row.
    try folder.write("sealed/t.csv", "a,b\n1,2\n")
    let late = try tabella(
      "other-adds-at-backup", "insert", "t.csv", "end", "a=1000000000", "--in-place", "--backup")
    #expect(late.status == 5, "\(late.errors)")
    #expect(try text() == "a,b\n1,2\nother,row\n")
    // Nothing is cut from a file that grows.
    try folder.write("sealed/t.csv", "a,b\n1,2\n3,4\n5,6\nother,row\n")
    let grown = try tabella("other-adds-at-copy", "set", "t.csv", "0", "a=1000", "--in-place")
    #expect(grown.status == 0 && grown.errors.contains("changed again by another program"))
    #expect(try text() == "a,b\n1000,2\n3,4\n5,6\nother,row\nother,row\n")
  }

  /// A running save in place was reported as interrupted, and following the advice to remove its kept bytes destroyed
  /// its recovery.
  @Test func aSaveInPlaceIsWaitedFor() throws {
    try folder.write("sealed/t.csv", "a,b\n1,2\n3,4\n")
    for words in [["show", "t.csv"], ["set", "t.csv", "1", "a=7"]] {
      let first = Process()
      first.executableURL = URL(fileURLWithPath: buildFolder + "/tabella")
      first.arguments = ["set", "t.csv", "0", "a=11111", "--in-place"]
      first.currentDirectoryURL = URL(fileURLWithPath: data)
      first.environment = inheritedEnvironment.merging([
        "LD_PRELOAD": library, "TABELLA_TEST_FILES": "slow-sync",
        "XDG_STATE_HOME": "\(folder.path)/state",
      ]) { $1 }
      first.standardError = FileHandle.nullDevice
      try first.start()
      while keptNames.isEmpty, first.isRunning { usleep(10_000) }
      let second = try tabella("", words)
      first.waitForEnd()
      #expect(first.terminationStatus == 0)
      #expect(second.status == 0, "\(words): \(second.errors)")
      #expect(!second.errors.contains("interrupted"), "\(words): \(second.errors)")
      #expect(words[0] != "show" || second.text.contains("11111"), "\(second.text)")
      #expect(words[0] != "show" || second.errors == "", "\(second.errors)")
      try folder.write("sealed/t.csv", words[0] == "show" ? "a,b\n1,2\n3,4\n" : text())
    }
    #expect(try text() == "a,b\n11111,2\n7,4\n")
  }

  /// If reading the birth time failed once, a save in place used two names for the old bytes: they stayed forever, or
  /// the message named a missing file.
  @Test func aTimeOfBirthThatCannotBeHad() throws {
    var failures = 0
    for number in 1...8 {
      try folder.write("sealed/t.csv", "a,b\n1,2\n")
      let saved = try tabella("birth-\(number)-fails", "set", "t.csv", "0", "a=9", "--in-place")
      if saved.status != 0 {
        failures += 1
        #expect(saved.errors.contains("Input/output error"), "\(number): \(saved.errors)")
      }
      #expect(try text() == (saved.status == 0 ? "a,b\n9,2\n" : "a,b\n1,2\n"), "\(number)")
      #expect(keptNames == [], "\(number)")
      #expect(try tabella("", "set", "t.csv", "0", "a=8").status == 0, "\(number)")
    }
    #expect(failures > 0)
  }

  /// If a file could not be moved to the trash, its `.trashinfo` file stayed there.
  @Test func aNoteInTheTrashThatCannotBeExamined() throws {
    let data = ["XDG_DATA_HOME": "\(folder.path)/data"]
    let shown = try tabella("", "show", ".", "--json")
    let id = try #require(shown.text.firstMatch(of: /"id": ?"([^"]+)"/)).1
    let failed = try run(
      buildFolder + "/tabella", ["delete", ".", "id:\(id)", "--yes"],
      environment: data.merging([
        "LD_PRELOAD": library, "TABELLA_TEST_FILES": "note-fails",
        "XDG_STATE_HOME": "\(folder.path)/state",
      ]) { $1 }, directory: self.data)
    #expect(failed.status == 1 && failed.errors.contains("Input/output error"), "\(failed.errors)")
    #expect(try names() == ["t.csv"])
    let notes = try FileManager.default.contentsOfDirectory(
      atPath: "\(folder.path)/data/Trash/info")
    #expect(notes == [])
  }

  /// In an overlay file system, the first write to a file replaces it by a copy, which is another file.
  @Test(.needs(.overlays)) func aFileOfAnImage() throws {
    for name in ["upper", "work", "merged"] {
      #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0)
    }
    let layers =
      "lowerdir=\(data),upperdir=\(folder.path)/upper,workdir=\(folder.path)/work"
    let merged = "\(folder.path)/merged"
    let mount = try run(findProgram("mount"), ["-t", "overlay", "-o", layers, "overlay", merged])
    try #require(mount.status == 0, "\(mount.errors)")
    defer { umount2(merged, 2) }
    let words = ["set", "\(merged)/t.csv", "0", "a=9", "--in-place"]
    let first = try tabella("", words)
    #expect(first.status == 5, "\(first.errors)")
    #expect(try folder.read("merged/t.csv") == Array("a,b\n1,2\n".utf8))
    let second = try tabella("", words)
    #expect(second.status == 0, "\(second.errors)")
    #expect(try folder.read("merged/t.csv") == Array("a,b\n9,2\n".utf8))
    #expect(try text() == "a,b\n1,2\n")
  }

  /// A link created right before the exchange was separated from the file; a removed file was reported as a disk error.
  @Test func atTheMomentOfTheExchange() throws {
    let linked = try tabella("link", "set", "t.csv", "0", "a=9")
    #expect(linked.status == 5 && linked.errors.contains("hard link"), "\(linked.errors)")
    #expect(try text() == "a,b\n1,2\n" && text("twin") == "a,b\n1,2\n")
    #expect(try names() == ["t.csv", "twin"])
    unlink("\(data)/twin")
    let removed = try tabella("remove", "set", "t.csv", "0", "a=9")
    #expect(removed.status == 5 && removed.errors.contains("was removed"), "\(removed.errors)")
    #expect(try names().isEmpty)
  }

  /// A dry run accepted an edit although the owner cannot be kept.
  @Test(.needs(.root)) func anOwnerThatCannotBeKept() throws {
    chown("\(data)/t.csv", 1234, 1234)
    for more in [[], ["--dry-run"]] as [[String]] {
      let result = try tabella("no-chown", ["set", "t.csv", "0", "a=9"] + more)
      #expect(result.status == 4 && result.errors.contains("owner"), "\(result.errors)")
    }
    #expect(try text() == "a,b\n1,2\n")
    #expect(try names() == ["t.csv"])
  }

  @Test(.needs(.attributes)) func anAttributeThatCannotBeKept() throws {
    let file = open("\(data)/t.csv", O_RDWR | O_CLOEXEC)
    #expect(tabella_system_set_attribute(file, "user.note", "x", 1) == 0)
    close(file)
    for more in [[], ["--dry-run"]] as [[String]] {
      let result = try tabella("no-attributes", ["set", "t.csv", "0", "a=9"] + more)
      #expect(result.status == 4, "\(result.errors)")
      #expect(result.errors.contains("its attribute user.note cannot be kept"))
      #expect(result.errors.contains("in-place=true"))
    }
    #expect(try text() == "a,b\n1,2\n")
    #expect(try names() == ["t.csv"])
  }

  /// For a folder without write permission the message named no remedy, and without read permission there was none.
  @Test func foldersOfOthers() throws {
    for more in [["--dry-run"], []] as [[String]] {
      let locked = try tabella("locked", ["set", "t.csv", "0", "a=9"] + more)
      #expect(locked.status == 4 && locked.errors.contains("in-place=true"), "\(locked.errors)")
    }
    let path = "\(data)/t.csv"
    #expect(try tabella("sealed", "set", path, "0", "a=9", "--in-place").status == 0)
    #expect(try text() == "a,b\n9,2\n")
  }
}

extension Need {
  /// An overlay mount. Some kernels have none, and some file systems do not support one.
  fileprivate static let overlays = Need("root that may mount an overlay", program: "mount") {
    guard let folder = try? TemporaryFolder() else { return false }
    for name in ["lower", "upper", "work", "merged"] { mkdir("\(folder.path)/\(name)", 0o755) }
    let layers = ["lower", "upper", "work"].map { "\($0)dir=\(folder.path)/\($0)" }
    let merged = "\(folder.path)/merged"
    let words = ["-t", "overlay", "-o", layers.joined(separator: ","), "overlay", merged]
    guard (try? run(findProgram("mount"), words).status) == 0 else { return false }
    umount2(merged, 2)
    return true
  }

  fileprivate static let attributes = Need("temporary files with attributes") {
    guard let folder = try? TemporaryFolder(), let path = try? folder.write("x", "") else {
      return false
    }
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    return tabella_system_set_attribute(file, "user.note", "x", 1) == 0
  }
}
