import Foundation
import Testing

@testable import TabellaTestSupport

/// Forbidden acts of a provider are refused and reported at every moment: in a constructor before any call, in `open`,
/// and in a batch of rows.
@Suite struct ForbiddenActsTests {
  static let moments = ["constructor", "open", "rows"]

  struct Act {
    let moment: String
    let name: String
    let call: String
    let path: String
    let result: String

    init(_ row: [String]) {
      (moment, name, call, path, result) = (row[0], row[1], row[2], row[3], row[4])
    }
  }

  /// The libraries: one that tries at all moments, and one for each moment.
  static let libraries: Result<(TemporaryFolder, [String?: String]), any Error> = Result {
    let folder = try TemporaryFolder()
    var paths: [String?: String] = [:]
    for moment in [nil] + moments as [String?] {
      paths[moment] = try compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/forbidden.c", into: folder,
        name: "\(moment ?? "every").so", flags: moment.map { ["-DONLY=\"\($0)\""] } ?? [])
    }
    return (folder, paths)
  }

  /// A library with its victims next to it.
  struct Trap {
    let folder: TemporaryFolder
    let library: String

    /// With `only`, all acts happen at that moment alone.
    init(only moment: String? = nil, of user: Confined.User = .ourselves) throws {
      folder = try TemporaryFolder()
      library = folder.path + "/forbidden.so"
      let compiled = try #require(ForbiddenActsTests.libraries.get().1[moment])
      try FileManager.default.copyItem(atPath: compiled, toPath: library)
      for moment in moments {
        for name in ["folder", "empty"] {
          try FileManager.default.createDirectory(
            atPath: "\(folder.path)/victims/\(moment)/\(name)", withIntermediateDirectories: true)
        }
        for name in ["key", "file", "unlinked", "renamed"] {
          let path = try folder.write("victims/\(moment)/\(name)", "\(name) of \(moment)")
          chmod(path, name == "key" ? 0o600 : 0o640)
        }
      }
      try folder.write("edited.csv", "a,b\n")
      guard user == .nobody else { return }
      // File modes must not be the reason for the refusals.
      #expect(
        try TabellaTestSupport.run(findProgram("chown"), ["-R", "65534:65534", folder.path]).status
          == 0)
    }

    /// Every victim with its mode, size, time and content.
    func victims() throws -> [String] {
      return try TabellaTestSupport.run(
        findProgram("find"), [folder.path + "/victims", "-printf", "%p %m %U %s %T@ %l\n"]
      ).lines.sorted()
    }

    func run(_ words: [String] = [], as user: Confined.User = .ourselves) throws -> Confined {
      try Confined(["library=\(library)", "scheme=acts"] + words, as: user)
    }
  }

  /// The location to open: none, or a file next to the victims, for reading or editing.
  enum Purpose: String, CaseIterable, Sendable {
    case none, reading, editing

    func words(_ folder: TemporaryFolder) throws -> [String] {
      switch self {
      case .none: return ["location="]
      case .reading: return ["location=\(folder.path)/edited.csv"]
      case .editing:
        // In a separate folder, because files next to an edited file are accessible.
        try FileManager.default.createDirectory(
          atPath: folder.path + "/own", withIntermediateDirectories: true)
        return ["location=\(try folder.write("own/edited.csv", "a,b\n"))", "edit"]
      }
    }
  }

  @Test(arguments: Confined.User.all, Purpose.allCases)
  func everyActIsRefused(_ user: Confined.User, _ purpose: Purpose) throws {
    let trap = try Trap(of: user)
    let before = try trap.victims()
    let confined = try trap.run(purpose.words(trap.folder), as: user)
    #expect(confined.error.isEmpty && confined.lacking.isEmpty, "\(confined)")
    let acts = confined.rows.map(Act.init)
    for moment in ForbiddenActsTests.moments {
      #expect(acts.count { $0.moment == moment } >= 80)
    }
    for act in acts where !["EACCES", "EPERM", "EROFS"].contains(act.result) {
      Issue.record("\(act.name) at \(act.moment): \(act.result)")
    }
    #expect(try trap.victims() == before)
  }

  /// Each denial is reported once, with its subject.
  @Test(arguments: moments, Confined.User.all)
  func everyRefusalIsTold(_ moment: String, _ user: Confined.User) throws {
    let trap = try Trap(only: moment, of: user)
    let confined = try trap.run(["location="], as: user)
    #expect(confined.denials.count < 100)
    #expect(confined.denials.allSatisfy { [EACCES, EPERM].contains($0.error) && !$0.isLast })
    for act in confined.rows.map(Act.init) where act.moment == moment {
      #expect(
        confined.denials.contains {
          $0.call == act.call && (act.path.isEmpty || $0.text.contains(act.path))
        },
        "\(act.name) was not told: \(act.call) of \(act.path)")
    }
    // Root may read this file elsewhere. The reader may change its own key.
    let isByMode = user == .nobody || geteuid() != 0
    for denial in confined.denials {
      if denial.text.contains("/etc/shadow") { #expect(denial.isByMode == isByMode) }
      if denial.text.hasSuffix("/key") { #expect(!denial.isByMode) }
    }
    let texts = confined.denials.map { "\($0.call) \($0.text)" }.filter { $0.contains("/") }
    #expect(Set(texts).count == texts.count)
  }

  /// The same with host and worker. The rows contain the denials, and standard error has one line per act.
  @Test(arguments: moments, Confined.User.all)
  func theHostTells(_ moment: String, _ user: Confined.User) throws {
    let trap = try Trap(only: moment, of: user)
    try trap.folder.write(
      "acts.tabella.json",
      #"{"id":"acts","version":"1","contract":"0.9","library":"forbidden.so","schemes":["acts"]}"#)
    chmod(trap.folder.path, 0o755)
    let before = try trap.victims()
    let words = user.command + [buildFolder + "/tabella", "show", "acts:", "--format", "jsonl"]
    let result = try TabellaTestSupport.run(
      words[0], Array(words.dropFirst()),
      environment: [
        "TABELLA_PROVIDER_PATH": trap.folder.path, "HOME": trap.folder.path,
        "XDG_STATE_HOME": trap.folder.path + "/state",
      ])
    #expect(result.status == 0, "\(result.errors)")
    var count = 0
    for line in result.lines {
      let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String] ?? [:]
      let act = Act(["moment", "act", "call", "path", "result"].map { row[$0] ?? "" })
      guard act.moment == moment else { continue }
      count += 1
      #expect(["EACCES", "EPERM", "EROFS"].contains(act.result), "\(act.name): \(act.result)")
      // A denial by the file's mode is not reported.
      let isByMode = user == .nobody && act.path == "/etc/shadow"
      #expect(
        act.path.isEmpty || isByMode || result.errors.contains(act.path),
        "\(act.name) was not told")
    }
    #expect(count >= 80)
    let told = result.errors.split(separator: "\n")
    #expect(told.count > 60 && told.count < 100, "\(told.count)")
    #expect(
      told.allSatisfy { $0.hasPrefix("tabella: provider acts: was denied: ") }, "\(result.errors)")
    #expect(try trap.victims() == before)
  }

  /// The acts are real: without confinement, those that need no privilege succeed.
  @Test func theActsWork() throws {
    let trap = try Trap()
    let before = try trap.victims()
    let confined = try trap.run(["location=", "unconfined"])
    let done = Set(confined.rows.map(Act.init).filter { $0.result == "allowed" }.map(\.name))
    let expected = [
      "read a private key", "list a folder", "write a file", "create a file",
      "create a file without a name", "cut a file", "unlink a file", "remove a folder",
      "rename a file", "exchange two files", "make a hard link", "make a symbolic link",
      "make a folder", "make a pipe", "change a mode", "change a mode through a place",
      "change an owner", "change times", "signal the parent", "signal the group",
      "hold the parent", "read the parent's environment", "signal by a descriptor", "fork",
      "clone a process", "run a command", "map memory to write and run", "run what was written",
      "run what is written",
      "write its own library", "watch folders", "hide from the host", "change its personality",
      "make a pair of sockets", "read with all signals blocked", "read with SIGSYS unhandled",
    ]
    #expect(Set(expected).subtracting(done).isEmpty)
    #expect(try trap.victims() != before)
    #expect(confined.denials.isEmpty)
  }

  // Missing kernel features

  private static let ofFiles = [
    "read a private key", "write a file", "create a file", "unlink a file", "rename a file",
  ]
  private static let ofSystem = [
    "connect by TCP", "connect to an abstract socket", "signal the parent", "fork", "mount",
    "run a program", "load a program into the kernel", "map memory to write and run",
  ]

  private func results(_ words: [String]) throws -> (Confined, [String: String]) {
    let confined = try Trap().run(["location="] + words)
    let acts = confined.rows.map(Act.init).filter { $0.moment == "open" }
    return (confined, Dictionary(uniqueKeysWithValues: acts.map { ($0.name, $0.result) }))
  }

  private func isRefused(_ result: String?) -> Bool { result == "EACCES" || result == "EPERM" }

  /// Files are accessible, and everything else is still denied. The report says so.
  @Test func withoutLandlock() throws {
    let (confined, results) = try results(["landlock=0"])
    #expect(confined.lacking.count == 1 && confined.lacking[0].hasPrefix("Landlock (Linux 5.13"))
    #expect(confined.inForce.contains("seccomp"))
    #expect(!confined.inForce.contains { $0.contains("Landlock") })
    for name in Self.ofFiles { #expect(results[name] == "allowed", "\(name)") }
    for name in Self.ofSystem { #expect(isRefused(results[name]), "\(name)") }
  }

  /// Files and signals are still denied. Acts that only seccomp forbids are permitted and not reported.
  @Test func withoutSeccomp() throws {
    let (confined, results) = try results(["no-seccomp"])
    #expect(confined.lacking.map { $0.prefix(8) } == ["seccomp:", "seccomp:"])
    #expect(confined.lacking[1].hasSuffix("except for TCP"))
    for name in Self.ofFiles { #expect(isRefused(results[name]), "\(name)") }
    #expect(isRefused(results["signal the parent"]))
    #expect(results["connect by TCP"] == "EACCES")
    #expect(results["fork"] == "allowed" && results["change a mode"] == "allowed")
    #expect(confined.denials.isEmpty)
  }

  @Test func withNeither() throws {
    let (confined, results) = try results(["no-seccomp", "landlock=0"])
    #expect(confined.lacking.count == 4)
    #expect(confined.inForce[0] == "no new privileges" && confined.inForce.count == 2)
    #expect(results["read a private key"] == "allowed" && results["fork"] == "allowed")
  }

  /// seccomp compensates for features that older versions of Landlock lack.
  @Test(arguments: 1...6)
  func withOlderLandlock(_ version: Int) throws {
    let (confined, results) = try results(["landlock=\(version)"])
    #expect(confined.inForce.contains { $0.hasPrefix("Landlock \(version)") })
    #expect(confined.lacking.isEmpty)
    for (name, result) in results { #expect(isRefused(result), "\(name): \(result)") }
  }
}
