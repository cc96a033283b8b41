import Foundation
import Testing

@testable import TabellaTestSupport

/// The shipped providers work in a confined process as they do elsewhere.
@Suite struct ConfinedProvidersTests {
  let folder: TemporaryFolder
  let home: String

  init() throws {
    folder = try TemporaryFolder()
    home = folder.path + "/home"
    for path in ["tree/sub/deep", "home/state/tabella/in-place", "home/data/Trash/files"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(path)", withIntermediateDirectories: true)
    }
    try FileManager.default.createDirectory(
      atPath: "\(home)/data/Trash/info", withIntermediateDirectories: true)
    try folder.write("tree/a.csv", "name,n\nAda,1\nGrace,2\n")
    try folder.write("tree/b.csv", [0x63, 0x61, 0x66, 0xE9, 0x0A, 0x31, 0x0A])
    try folder.write("tree/notes.txt", "one\n\ntwo\n")
    try folder.write("tree/sub/c", "c")
    symlink("../a.csv", "\(folder.path)/tree/sub/link")
  }

  func run(
    _ library: String, _ words: [String], as user: Confined.User = .ourselves
  ) throws -> Confined {
    if user == .nobody {
      #expect(
        try TabellaTestSupport.run(findProgram("chown"), ["-R", "65534:65534", folder.path]).status
          == 0)
    }
    return try Confined(
      ["library=\(buildFolder)/libtabella-\(library).so"] + words, as: user,
      environment: [
        "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_DATA_HOME": home + "/data",
        "TZ": "Europe/Berlin",
      ])
  }

  struct Case: Sendable, CustomStringConvertible {
    var library: String
    var words: [String]
    var description: String { ([library] + words).joined(separator: " ") }
  }

  @Test(
    arguments: [
      Case(library: "csv", words: ["location=tree/a.csv"]),
      Case(library: "csv", words: ["location=tree/b.csv", "-encoding=ISO-8859-15"]),
      Case(library: "csv", words: ["location=tree/sub/link"]),
      Case(library: "text", words: ["location=tree/notes.txt", "-sections=paragraphs"]),
      Case(library: "text", words: ["location=tree/b.csv", "-encoding=SHIFT_JIS"]),
      Case(library: "directory", words: ["location=tree"]),
      Case(library: "directory", words: ["location=tree", "-recursive=true"]),
    ], Confined.User.all)
  func theSameRows(_ subject: Case, _ user: Confined.User) throws {
    let words = subject.words.map { $0.replacing("location=", with: "location=\(folder.path)/") }
    let plain = try run(subject.library, words + ["unconfined"], as: user)
    let confined = try run(subject.library, words, as: user)
    #expect(!plain.rows.isEmpty)
    #expect(confined.rows == plain.rows)
    #expect(confined.denials.isEmpty && confined.error.isEmpty, "\(confined)")
  }

  @Test func processesAreSeen() throws {
    let confined = try run("processes", ["scheme=processes", "location=", "processes"])
    #expect(confined.rows.contains { $0[0] == "\(getpid())" })
    let denied = try run("processes", ["scheme=processes", "location="])
    #expect(denied.error.first == "io")
    #expect(denied.denials.map(\.text) == ["reading /proc"])
  }

  // Edits

  @Test(arguments: Confined.User.all)
  func aFileIsSaved(_ user: Confined.User) throws {
    let location = "location=\(folder.path)/tree/sub/link"
    let saved = try run("csv", [location, "edit", "set=0,1,99"], as: user)
    #expect(saved.outcomes == [["done", ""]] && saved.denials.isEmpty, "\(saved)")
    let inPlace = try run(
      "csv",
      [
        location, "edit", "set=1,1,98", "-in-place=true", "-backup=.bak",
        "write=\(home)/state/tabella/in-place",
      ], as: user)
    #expect(inPlace.outcomes == [["done", ""]] && inPlace.denials.isEmpty, "\(inPlace)")
    #expect(try folder.read("tree/a.csv") == Array("name,n\nAda,99\nGrace,98\n".utf8))
    #expect(try folder.read("tree/a.csv.bak") == Array("name,n\nAda,99\nGrace,2\n".utf8))
  }

  /// A file that is opened for reading is never saved.
  @Test(arguments: Confined.User.all)
  func whatIsReadIsNotSaved(_ user: Confined.User) throws {
    let before = try folder.read("tree/a.csv")
    let refused = try run(
      "csv", ["location=\(folder.path)/tree/a.csv", "set=0,1,99"], as: user)
    #expect(refused.error.first == "denied", "\(refused)")
    #expect(try folder.read("tree/a.csv") == before)
  }

  @Test(arguments: Confined.User.all)
  func aFolderIsEdited(_ user: Confined.User) throws {
    let location = "location=\(folder.path)/tree"
    let trash = "write=\(home)/data/Trash"
    let named = try run(
      "directory", [location, trash, "edit", "set=0,0,new.csv", "set=1,4,0604"], as: user)
    #expect(named.outcomes.map { $0[0] } == ["done", "done"], "\(named)")
    let deleted = try run("directory", [location, trash, "edit", "delete=3"], as: user)
    #expect(deleted.outcomes == [["done", ""]], "\(deleted)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/tree").sorted()
        == ["b.csv", "new.csv", "notes.txt"])
    #expect(FileManager.default.fileExists(atPath: "\(home)/data/Trash/files/sub"))
    var status = stat()
    #expect(stat("\(folder.path)/tree/b.csv", &status) == 0 && status.st_mode & 0o777 == 0o604)
    #expect(named.denials.isEmpty && deleted.denials.isEmpty)
  }

  /// The shipped provider can create and rename links in a worker, too, because its manifest requests that permission.
  @Test func linksAreEdited() throws {
    func tabella(_ words: [String]) throws -> ProgramResult {
      try TabellaTestSupport.run(
        buildFolder + "/tabella", words + ["--isolate"],
        environment: [
          "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_DATA_HOME": home + "/data",
          "LC_ALL": "C.UTF-8",
        ], directory: folder.path)
    }
    func target(_ name: String) -> String? {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder.path)/tree/\(name)")
    }
    for words in [
      ["insert", "tree", "end", "name=new", "kind=link", "target=a.csv"],
      ["set", "tree/sub", "2", "name=renamed"], ["delete", "tree/sub", "2"],
    ] {
      let shown = try jsonObject(try tabella(["show", words[1], "--json"]).text)
      let version = try #require(shown["version"] as? String)
      let result = try tabella(words + ["--yes", "--if-version", version])
      #expect(result.status == 0 && !result.errors.contains("denied"), "\(result.errors)")
    }
    #expect(target("new") == "a.csv" && target("sub/renamed") == nil)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(
        atPath: home + "/data/Trash/files/renamed") == "../a.csv")
    for location in ["tree/sub", "tree/sub", "tree"] {
      let result = try tabella(["undo", location, "--yes"])
      #expect(result.status == 0, "\(result.errors)")
    }
    #expect(target("new") == nil && target("sub/link") == "../a.csv")
  }
}
