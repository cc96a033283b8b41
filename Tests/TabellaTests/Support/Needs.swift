import Foundation
import Synchronization
import Testing

/// A program or a right that a test needs, and that a machine with only Swift installed may lack.
struct Need: Sendable {
  /// Alternative programs: one of them is enough. Empty if the test needs no program.
  let programs: [String]
  /// A right or an ability of the system. `isThere` tries to use it.
  let right: (name: String, isThere: @Sendable () -> Bool)?

  init(anyOf programs: [String]) {
    self.programs = programs
    right = nil
  }

  /// A need for a right. `program`, if any, is necessary to try and to use the right.
  init(_ name: String, program: String? = nil, isThere: @escaping @Sendable () -> Bool) {
    programs = program.map { [$0] } ?? []
    right = (name, isThere)
  }

  static let root = Need("root") { geteuid() == 0 }
  static let mounts = Need("root that may mount", program: "mount") { Mount.works }

  /// The data of time zones.
  static let zones = Need("tzdata") {
    ["Europe/Berlin", "Pacific/Apia"].allSatisfy { access("/usr/share/zoneinfo/\($0)", R_OK) == 0 }
  }

  /// The programs or the right that the machine lacks, or nil.
  var missing: (name: String, isProgram: Bool)? {
    if !programs.isEmpty, search(programs) == nil {
      return (programs.joined(separator: " or "), true)
    }
    return right.flatMap { $0.isThere() ? nil : ($0.name, false) }
  }
}

/// The trait of a test or suite that uses programs or rights that a machine may lack.
///
/// If one is missing, the test is skipped, and a list at the end of the run names the missing programs and rights. In
/// CI, TABELLA_NO_SKIPS=1 makes a missing program a failure. A missing right still skips the test, because no package
/// provides it.
struct Needs: TestTrait, SuiteTrait {
  let needs: [Need]

  var isRecursive: Bool { true }

  func prepare(for test: Test) async throws {
    let missing = needs.compactMap(\.missing)
    if missing.isEmpty { return }
    if !test.isSuite { SkippedTests.add(test, lacking: missing.map(\.name)) }
    let names = missing.map(\.name).joined(separator: ", ")
    if Needs.forbidsSkips, missing.contains(where: \.isProgram) {
      throw MissingTool("\(names); TABELLA_NO_SKIPS=1 makes this a failure")
    }
    try await ConditionTrait.disabled("needs \(names)").prepare(for: test)
  }

  static let forbidsSkips = ProcessInfo.processInfo.environment["TABELLA_NO_SKIPS"] == "1"
}

extension Trait where Self == Needs {
  /// The need for all of these programs.
  static func needs(_ programs: String...) -> Needs {
    Needs(needs: programs.map { Need(anyOf: [$0]) })
  }

  /// The need for any one of these programs.
  static func needs(anyOf programs: String...) -> Needs {
    Needs(needs: [Need(anyOf: programs)])
  }

  static func needs(_ need: Need) -> Needs { Needs(needs: [need]) }
}

/// The tests with missing programs or rights. At the end of the run, their numbers go to standard error.
private enum SkippedTests {
  private static let tests = Mutex<[String: Set<Test.ID>]>([:])

  private static let listsAtTheEnd: Void = {
    atexit { SkippedTests.list() }
  }()

  static func add(_ test: Test, lacking names: [String]) {
    _ = listsAtTheEnd
    tests.withLock { tests in
      for name in names { tests[name, default: []].insert(test.id) }
    }
  }

  private static func list() {
    let counts = tests.withLock { $0.mapValues(\.count) }.sorted { $0.key < $1.key }
    let lines = counts.map { "  \($0.key): \($0.value) \($0.value == 1 ? "test" : "tests")\n" }
    let what = Needs.forbidsSkips ? "did not run" : "were skipped"
    let list = "Tests \(what), because this machine lacks:\n" + lines.joined()
    FileHandle.standardError.write(Data(list.utf8))
  }
}

/// The programs that every machine with Swift has. They come from Debian's essential packages, which Swift's images
/// contain too, and from the Swift toolchain.
private let basePrograms: Set = [
  "bash", "cat", "chown", "clang", "clang++", "cp", "find", "id", "setpriv", "sha256sum", "sh",
  "test", "unshare",
]

/// The path of the first of these programs that is on the PATH.
///
/// Throws ``MissingTool`` if there is none. It also throws if the running test does not declare a program outside
/// ``basePrograms`` with the trait `.needs`, so that a forgotten trait fails on every machine.
func findProgram(_ names: String...) throws -> String {
  if let test = Test.current, !basePrograms.isSuperset(of: names) {
    let declared = test.traits.compactMap { $0 as? Needs }.flatMap(\.needs).flatMap(\.programs)
    guard Set(declared).isSuperset(of: names) else {
      throw MissingTool("the trait .needs of \(test.name), which uses \(names)")
    }
  }
  guard let path = search(names) else {
    throw MissingTool(names.joined(separator: " or "))
  }
  return path
}

private func search(_ names: [String]) -> String? {
  let folders = searchPath.split(separator: ":")
  for name in names {
    for folder in folders where access("\(folder)/\(name)", X_OK) == 0 {
      return "\(folder)/\(name)"
    }
  }
  return nil
}

/// The folders in which tests, and the shells that they start, find programs.
let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

struct MissingTool: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) { description = "missing: \(what)" }
}
