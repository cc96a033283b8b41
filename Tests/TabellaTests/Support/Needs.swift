import Foundation
import Synchronization
import Testing

/// A program or a right that a test needs and that a machine with nothing but Swift may lack.
struct Need: Sendable {
  /// Any one of these programs is enough. Empty if the test needs no program.
  let programs: [String]
  /// A right or an ability of the system, and the attempt that shows whether it is there.
  let right: (name: String, isThere: @Sendable () -> Bool)?

  init(anyOf programs: [String]) {
    self.programs = programs
    right = nil
  }

  /// With a program, the right cannot be tried, or used, without it.
  init(_ name: String, program: String? = nil, isThere: @escaping @Sendable () -> Bool) {
    programs = program.map { [$0] } ?? []
    right = (name, isThere)
  }

  static let root = Need("root") { geteuid() == 0 }
  static let mounts = Need("root that may mount", program: "mount") { Mount.works }

  /// The programs or the right that the machine lacks, or nil.
  var missing: (name: String, isProgram: Bool)? {
    if !programs.isEmpty, search(programs) == nil {
      return (programs.joined(separator: " or "), true)
    }
    return right.flatMap { $0.isThere() ? nil : ($0.name, false) }
  }
}

/// The trait of a test, or of a suite, that uses programs or rights which a machine may lack.
///
/// Where one is missing, the test is skipped, and the end of the run lists what was missing. With
/// TABELLA_NO_SKIPS=1, as CI runs the tests, a missing program is a failure; a missing right still skips,
/// because no package brings it.
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
  /// All of these programs.
  static func needs(_ programs: String...) -> Needs {
    Needs(needs: programs.map { Need(anyOf: [$0]) })
  }

  /// One of these programs, whichever.
  static func needs(anyOf programs: String...) -> Needs {
    Needs(needs: [Need(anyOf: programs)])
  }

  static func needs(_ need: Need) -> Needs { Needs(needs: [need]) }
}

/// The tests that lacked something. The end of the run lists them on standard error.
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

/// Programs that every machine with Swift has: those of Debian's essential packages, which the images of
/// Swift have too, and those of the Swift toolchain.
private let basePrograms: Set = [
  "bash", "cat", "chown", "clang", "clang++", "find", "id", "setpriv", "sha256sum", "sh", "test",
  "unshare",
]

/// The path of the first of some programs that the machine has. A program that a machine may lack must be
/// among the needs of the test that runs: a test that forgot the trait fails on every machine.
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
