import Foundation
import Testing

@testable import TabellaTestSupport

/// The programs that tests use.
@Suite struct NeedsTests {
  /// CI installs each program that a trait names, and at least one of alternative programs.
  @Test func ciInstallsWhatTestsNeed() throws {
    let script = try DocumentationTests.text(".ci/run")
    let list = try #require(script.firstMatch(of: /for pair in ([^;]+); do/)).1
    let installed = Set(list.matches(of: /([\w+\-]+):/).map { String($0.1) })
    #expect(script.contains("TABELLA_NO_SKIPS=1"))
    var needed: Set<String> = []
    let folder = "\(packageFolder)/Tests/TabellaTests"
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
    where path.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
      for match in text.matches(of: /\.needs\(\s*(anyOf: )?((?:"[\w+\-]+",?\s*)+)/) {
        let names = match.2.matches(of: /"([^"]+)"/).map { String($0.1) }
        let absent = names.filter { !installed.contains($0) }
        #expect(absent.count < (match.1 == nil ? 1 : names.count), "\(path): \(absent)")
        needed.formUnion(names)
      }
      for match in text.matches(of: /program: "([\w+\-]+)"/) {
        #expect(installed.contains(String(match.1)), "\(path): \(match.1)")
      }
    }
    #expect(needed.isSuperset(of: ["python3", "gdb", "fish", "g++"]), "\(needed)")
  }

  @Test func whatIsMissingHasAName() {
    let (there, absent) = ("sh", "no-such-program")
    #expect(Need(anyOf: [there]).missing == nil && Need(anyOf: [absent, there]).missing == nil)
    let missing = Need(anyOf: [absent, "nor-this"]).missing
    #expect(missing?.name == "no-such-program or nor-this" && missing?.isProgram == true)
    let right = Need("a right", program: there) { false }.missing
    #expect(right?.name == "a right" && right?.isProgram == false)
    #expect(Need("a right", program: absent) { true }.missing?.isProgram == true)
  }

  /// A test without the trait must fail on every machine, not only on one without the program.
  @Test(.needs("python3")) func programsMustBeDeclared() throws {
    #expect(try findProgram("python3").hasSuffix("/python3"))
    #expect(try findProgram("sh").hasSuffix("/sh"))
    let error = #expect(throws: MissingTool.self) { try findProgram("gdb") }
    #expect(error?.description.contains("the trait .needs of programsMustBeDeclared()") == true)
  }
}
