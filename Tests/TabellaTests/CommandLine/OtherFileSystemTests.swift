import Foundation
import Testing

/// Saves where the file system, or another program, does what it does not do here.
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

  /// Runs a command in the folder of t.csv, with files that are as these words say.
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

  /// Where rename takes no flags every edit was done, failed, and could not be taken back.
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

  /// The file became its own backup, and an earlier one was gone, before the new file was there.
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

  /// It was said to be done, half written and unchanged at once, with a receipt that led elsewhere.
  @Test func aFileThatIsLeftHalfWritten() throws {
    let failed = try tabella("no-sync", "set", "t.csv", "0", "a=9", "--in-place")
    #expect(failed.status == 1)
    let kept = "\(folder.path)/state/tabella/in-place"
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: kept).first)
    #expect(failed.errors.contains("half written") && failed.errors.contains("\(kept)/\(name)"))
    #expect(!failed.errors.contains("nothing was changed"))
    #expect(!failed.errors.contains("tabella undo"))
    #expect(
      try String(contentsOfFile: "\(kept)/\(name)", encoding: .utf8) == "a,b\n1,2\n")
    let undone = try tabella("", "undo", "t.csv")
    #expect(undone.status != 0)
    let next = try tabella("", "set", "t.csv", "0", "b=7")
    #expect(next.status == 4 && next.errors.contains(name), "\(next.errors)")
    // As it says.
    try folder.write(
      "sealed/t.csv", Array(Data(contentsOf: URL(fileURLWithPath: "\(kept)/\(name)"))))
    unlink("\(kept)/\(name)")
    #expect(try tabella("", "set", "t.csv", "0", "b=7").status == 0)
    #expect(try text() == "a,b\n1,7\n")
  }

  /// A link that was made before the exchange was parted; a file that was removed was an error of the disk.
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

  /// A dry run said yes where the owner cannot be kept.
  @Test(.enabled(if: getuid() == 0)) func anOwnerThatCannotBeKept() throws {
    chown("\(data)/t.csv", 1234, 1234)
    for more in [[], ["--dry-run"]] as [[String]] {
      let result = try tabella("no-chown", ["set", "t.csv", "0", "a=9"] + more)
      #expect(result.status == 4 && result.errors.contains("owner"), "\(result.errors)")
    }
    #expect(try text() == "a,b\n1,2\n")
    #expect(try names() == ["t.csv"])
  }

  /// In a folder that may not be written into, nothing told of the way out; in one that may not be listed
  /// there was none.
  @Test func foldersOfOthers() throws {
    let locked = try tabella("locked", "set", "t.csv", "0", "a=9")
    #expect(locked.status == 4 && locked.errors.contains("--in-place"), "\(locked.errors)")
    let path = "\(data)/t.csv"
    #expect(try tabella("sealed", "set", path, "0", "a=9", "--in-place").status == 0)
    #expect(try text() == "a,b\n9,2\n")
  }
}
