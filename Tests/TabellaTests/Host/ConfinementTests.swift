import Foundation
import TabellaConfinement
import Testing

@testable import TabellaTestSupport

/// A confined process can do its work, however it is programmed.
@Suite struct ConfinementTests {
  static let library: Result<(TemporaryFolder, String), any Error> = Result {
    let folder = try TemporaryFolder()
    return (
      folder,
      try compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/habits.c", into: folder,
        name: "habits.so", flags: ["-pthread"])
    )
  }

  let folder: TemporaryFolder
  let library: String

  init() throws {
    folder = try TemporaryFolder()
    library = try Self.library.get().1
  }

  func run(
    _ habit: String, _ words: [String] = [], location: String? = nil,
    as user: Confined.User = .ourselves, isPiped: Bool = false
  ) throws -> Confined {
    try Confined(
      ["library=\(library)", "scheme=\(habit)", "location=\(location ?? folder.path)"] + words,
      as: user, isPiped: isPiped)
  }

  func makeFolder(_ name: String, of user: Confined.User = .ourselves) throws -> String {
    let path = "\(folder.path)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    if user == .nobody { #expect(Foundation.chown(path, 65534, 65534) == 0) }
    return path
  }

  // Work

  /// In a folder opened for editing, everything that editing needs works with any version of Landlock.
  @Test(arguments: 0...7, Confined.User.all)
  func aFolderIsEdited(_ version: Int, _ user: Confined.User) throws {
    let location = try makeFolder("work-\(version)", of: user)
    try prepareLinks(location, of: user)
    let confined = try run(
      "work", ["edit", "links", "landlock=\(version)"], location: location, as: user)
    #expect(confined.rows.count == 26, "\(confined)")
    for row in confined.rows {
      switch row[0] {
      case "fork": #expect(row[1] == "EPERM")
      // Version 1 cannot allow moves.
      case "move" where version == 1: #expect(row[1] == "EXDEV")
      default: #expect(row[1] == "done", "\(row[0])")
      }
    }
    #expect(confined.denials.map(\.text) == ["starting a process"])
  }

  /// Creates the links that the scheme `work` needs.
  func prepareLinks(_ location: String, of user: Confined.User) throws {
    for name in ["a", "b", "c"] { #expect(symlink("/", "\(location)/\(name)") == 0) }
    #expect(symlink("file", "\(location)/to-file") == 0)
    #expect(mkdir("\(location)/aside", 0o700) == 0)
    // The system prevents other users from linking to this link.
    guard user == .nobody else { return }
    for name in ["a", "b", "c", "to-file", "aside"] {
      #expect(lchown("\(location)/\(name)", 65534, 65534) == 0)
    }
  }

  /// A provider that edited a folder replaced a folder in it by a link, and the next command was granted the link's
  /// target.
  @Test(arguments: 1...7, Confined.User.all)
  func linksAreMadeOnlyWhereThatIsGranted(_ version: Int, _ user: Confined.User) throws {
    let location = try makeFolder("links-\(version)", of: user)
    try prepareLinks(location, of: user)
    let confined = try run(
      "work", ["edit", "landlock=\(version)"], location: location, as: user)
    for what in ["make a link", "name a link again", "rename a link", "exchange a link"] {
      #expect(confined[what] == "EACCES", "\(what)")
    }
    #expect(confined["chmod through a link"] == "done" && confined["rename"] == "done")
    let denied = confined.denials.map(\.text).filter { $0.contains(location) }
    #expect(denied.count == 4, "\(denied)")
    let links = try TabellaTestSupport.run(
      findProgram("find"), [location, "-type", "l", "-printf", "%f "]
    ).text
    #expect(Set(links.split(separator: " ")) == ["a", "b", "c", "to-file"])
  }

  /// In the same folder opened for reading, nothing is created or changed.
  @Test(arguments: [1, 2, 7])
  func aFolderIsRead(_ version: Int) throws {
    let location = try makeFolder("read")
    let confined = try run("work", ["landlock=\(version)"], location: location)
    #expect(confined["create"] == "EACCES" && confined["make a folder"] == "EACCES")
    #expect(try FileManager.default.contentsOfDirectory(atPath: location).isEmpty)
  }

  /// The second layer covers earlier threads, even if they block signals or have little stack, and nobody can remove
  /// SIGSYS.
  @Test(arguments: Confined.User.all)
  func threadsAreConfined(_ user: Confined.User) throws {
    let confined = try run("threads", as: user)
    #expect(confined.error.isEmpty)
    #expect(confined.rows.filter { $0[0] == "loading" }.map { $0[1] } == ["done", "done", "done"])
    for name in [
      "a thread", "a thread that blocks signals", "a thread with a small stack", "the main thread",
      "a later thread",
    ] { #expect(confined[name] == "EACCES", "\(name)") }
    for name in [
      "start a thread", "handle a signal", "SIGSYS is not blocked", "signal itself",
      "signal its thread", "look at a thread",
    ] { #expect(confined[name] == "done", "\(name)") }
    #expect(confined["look at the parent"] == "EACCES")
  }

  /// Threads that exist before the confinement are confined, too.
  @Test(arguments: Confined.User.all)
  func earlierThreadsAreConfined(_ user: Confined.User) throws {
    let confined = try run("many", ["early-thread=plain"], as: user)
    #expect(confined.error.isEmpty && confined["an earlier thread"] == "EACCES", "\(confined)")
  }

  /// If a thread cannot be confined, foreign code is not loaded.
  @Test func aDeafThreadIsAnError() throws {
    let confined = try run("many", ["early-thread=deaf"])
    #expect(confined.status == 1 && confined.rows.isEmpty)
    #expect(confined.error.first == "io")
    #expect(confined.error.last?.contains("does not answer signals") == true, "\(confined.error)")
  }

  /// The handler survives all arguments, and reports complete paths.
  @Test func oddCallsAreAnswered() throws {
    let secret = try folder.write("secret", "x")
    chmod(secret, 0o600)
    let place = try makeFolder("place")
    let confined = try run("odd", location: place)
    #expect(confined["a path that is not there"] == "EFAULT")
    #expect(confined["a path that has no end"] == "EFAULT")
    #expect(confined["a path at the end"] == "EACCES")
    #expect(confined["a call of tomorrow"] == "ENOSYS")
    #expect(confined["a mask that is not there"] == "EFAULT")
    #expect(confined["a handler that is not there"] == "EFAULT")
    #expect(confined["from a place"] == "EACCES")
    let texts = confined.denials.map(\.text)
    #expect(texts.contains("reading /etc/shadow"))
    #expect(texts.contains("the system call 2000"))
    #expect(texts.contains { $0.hasPrefix("changing /") && $0.hasSuffix("/place/new") })
  }

  /// The x32 system calls have numbers that no filter of the others covers.
  @Test func callsOfAnotherMachineEndIt() throws {
    let confined = try run("abi")
    #expect(confined.status == SIGSYS && confined.rows.isEmpty)
  }

  @Test func noMoreThanAHundredRefusalsAreTold() throws {
    let confined = try run("many")
    #expect(confined["tried"] == "done")
    #expect(confined.denials.count == 100)
    #expect(Set(confined.denials.map(\.text)).count == 100)
    #expect(confined.denials.map(\.isLast) == Array(repeating: false, count: 99) + [true])
  }

  @Test(arguments: Confined.User.all)
  func limitsHold(_ user: Confined.User) throws {
    let confined = try run(
      "limits",
      ["edit", "memory=\(256 << 20)", "addresses=\(2 << 30)", "files=64", "file-size=\(1 << 20)"],
      location: try makeFolder("limits", of: user), as: user)
    #expect(
      confined.rows == [
        ["memory ends", "done"], ["shared memory ends", "done"], ["after a while", "done"],
        ["files end", "done"], ["make a memory file", "EPERM"],
        ["write what is small", "done"], ["write what is large", "EFBIG"], ["no core", "done"],
      ])
    #expect(
      confined.inForce.contains(
        "at most 268435456 bytes of memory, 2147483648 bytes of addresses, 64 open files, 1048576 bytes in a file"
      ))
  }

  /// A reader cannot create files, even if nothing else prevents it.
  @Test(arguments: Confined.User.all)
  func aReaderMakesNoFile(_ user: Confined.User) throws {
    // Without Landlock, only the limit prevents writing into the folder.
    let location = try makeFolder("limits", of: user)
    let confined = try run(
      "limits", ["landlock=0", "file-size=0"], location: location, as: user, isPiped: true)
    #expect(confined["write what is small"] == "EFBIG", "\(confined)")
    #expect(confined.inForce.contains("at most 0 bytes in a file"))
  }

  /// The worker resolved the paths of its rules again, so somebody who replaced a folder by a link at that moment had
  /// the link's target granted.
  @Test(arguments: [false, true])
  func whatWasReplacedIsNotGranted(_ isEditing: Bool) throws {
    let location = try makeFolder("location")
    let target = try makeFolder("target")
    let confined = try run(
      "work", (isEditing ? ["edit"] : []) + ["replace=\(location),\(target)"],
      location: location)
    #expect(confined.error.first == "conflict", "\(confined)")
    #expect(confined.error.last?.contains("location was replaced") == true)
    #expect(confined.rows.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
  }

  /// If a part of the confinement is missing and the rules are strict, no foreign code runs.
  @Test(arguments: [["landlock=0"], ["no-seccomp"]])
  func strictRulesNeedAllOfIt(_ missing: [String]) throws {
    let location = try makeFolder("strict")
    let strict = try run("many", ["strict"] + missing, location: location)
    #expect(strict.error.first == "denied" && strict.rows.isEmpty, "\(strict)")
    #expect(
      strict.error.last?.contains("cannot be confined enough to edit: this system lacks") == true)
    // Without seccomp, the threads of this library can block the signal that the second layer needs.
    if missing == ["landlock=0"] {
      #expect(try run("many", missing, location: location).error.isEmpty)
    }
    #expect(try run("many", ["strict"], location: location).error.isEmpty)
  }

  @Test(arguments: Confined.User.all)
  func noNewPrivilegesAreHad(_ user: Confined.User) throws {
    #expect(try run("rights", as: user)["NoNewPrivs: 1"] == "done")
  }

  /// The capabilities that root keeps. The bounding set is empty, so none can be regained.
  @Test(
    .needs(.root),
    arguments: [
      ([], "0000000000000004"), (["edit"], "000000000000001f"), (["signals"], "0000000000000004"),
      (["edit", "signals"], "000000000080003f"),
    ])
  func rootKeepsFewCapabilities(_ words: [String], _ left: String) throws {
    let confined = try run("rights", words)
    for set in ["CapPrm", "CapEff"] {
      #expect(confined.rows.contains { $0[0] == "\(set): \(left)" }, "\(confined.rows)")
    }
    for set in ["CapBnd", "CapInh", "CapAmb"] {
      #expect(confined.rows.contains { $0[0] == "\(set): 0000000000000000" }, "\(confined.rows)")
    }
  }

  /// Everything that a user granted works, and nothing else. Signals work only while editing.
  @Test(arguments: [false, true])
  func permissionsAreGranted(_ isEditing: Bool) throws {
    let nothing = try run("granted", isEditing ? ["edit"] : [])
    for name in ["signal the parent", "make a socket", "connect", "routes"] {
      #expect(nothing[name] == "EPERM", "\(name)")
    }
    #expect(nothing["read processes"] == "EACCES")
    let granted = try run(
      "granted", ["signals", "network", "processes"] + (isEditing ? ["edit"] : []))
    #expect(granted["signal the parent"] == (isEditing ? "done" : "EPERM"))
    #expect(granted["make a socket"] == "done" && granted["routes"] == "done")
    #expect(granted["connect"] == "ECONNREFUSED")
    #expect(granted["read processes"] == "done")
    for name in ["a Unix socket", "raw packets", "audit", "run"] {
      #expect(granted[name] == "EPERM", "\(name)")
    }
    #expect(granted["read the parent's memory"] == "EACCES")
  }

  /// Another process of the user, such as the host, can read the I/O counters.
  @Test(arguments: Confined.User.all)
  func signsOfLifeAreSeen(_ user: Confined.User) throws {
    let words =
      user.command + [
        Confined.program, "library=\(library)", "scheme=many", "location=\(folder.path)", "wait",
      ]
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.start()
    let said = output.fileHandleForReading.availableData
    #expect(String(decoding: said, as: UTF8.self).contains("seccomp"))
    let reading = try user.command + [findProgram("cat"), "/proc/\(process.processIdentifier)/io"]
    let seen = try TabellaTestSupport.run(reading[0], Array(reading.dropFirst()))
    #expect(seen.status == 0 && seen.text.contains("rchar: "), "\(seen.errors)")
    try input.fileHandleForWriting.close()
    process.waitForEnd()
    #expect(process.terminationStatus == 0)
  }

  /// The report lists a path that does not exist when the rules come into force.
  @Test func whatIsAbsentIsSaid() throws {
    let confined = try run("odd", ["read=\(folder.path)/nowhere"])
    #expect(confined.absent == ["\(folder.path)/nowhere"])
  }

  // Records

  @Test func recordsThatAreNoneAreRefused() throws {
    #expect(Denial(UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<2000 {
      let size = Int.random(in: 0...200, using: &generator)
      var bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // Half of them have the right size.
      if size >= 40, Bool.random(using: &generator) {
        withUnsafeBytes(of: UInt32(size - 40)) { bytes.replaceSubrange(36..<40, with: $0) }
      }
      let denial = bytes.withUnsafeBytes { Denial($0) }
      guard let denial else { continue }
      #expect(denial.paths.reduce(0) { $0 + $1.count } <= size - 40)
      #expect(!denial.description.isEmpty)
    }
  }
}
