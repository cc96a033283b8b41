import Foundation
import Testing

@testable import TabellaTestSupport

/// Boundary numbers, and a system with scarce resources. These cases were found by Tests/Lines, which runs many
/// thousands of command lines.
@Suite struct LimitsTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("data.csv", "a,b\n1,2\n3,4\n")
    try folder.write("notes.md", "# a\none\n# b\ntwo\n")
  }

  func tabella(_ arguments: [String]) throws -> ProgramResult {
    try run(buildFolder + "/tabella", arguments, directory: folder.path)
  }

  /// Runs a shell line with `tabella` on the PATH, like an interactive shell.
  func shell(_ line: String, environment: [String: String] = [:]) throws -> ProgramResult {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try run(
      "/bin/sh", ["-c", line],
      environment: ["PATH": "\(buildFolder):\(path)"].merging(environment) { $1 },
      directory: folder.path)
  }

  static let borders = [
    "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551616",
    "72057594037927935", "72057594037927936", "4294967296", "100000000",
    "99999999999999999999999999",
  ]

  /// `--section 9223372036854775807` trapped in all commands that have the option.
  @Test(arguments: borders) func numbersAtTheBorders(_ number: String) throws {
    let lines = [
      ["show", "data.csv", "--section", number], ["count", "data.csv", "--section", number],
      ["export", "data.csv", "--section", number],
      ["set", "data.csv", "0", "a=1", "--section", number],
      ["delete", "data.csv", "0", "--yes", "--section", number],
      ["set", "data.csv", number, "a=1"], ["set", "data.csv", "\(number):0", "a=1"],
      ["set", "data.csv", "0:\(number)", "a=1", "--sort", "a"],
      ["delete", "notes.md", "\(number):\(number)", "--yes", "-o", "sections=headings"],
      ["insert", "data.csv", number, "a=1", "--section-by", "a"],
      ["insert", "data.csv", "\(number):end", "a=1"], ["move", "data.csv", "0", number],
      ["move", "data.csv", number, "0"], ["describe", "data.csv", number],
      ["set", ".", number, "name=x", "--yes"], ["describe", "notes.md", "id:\(number).0"],
    ]
    for line in lines {
      let result = try tabella(line)
      #expect([1, 2, 4].contains(result.status), "\(line): \(result.status) \(result.errors)")
      #expect(result.errors.hasPrefix("tabella: ") && result.errors.hasSuffix("\n"), "\(line)")
      #expect(result.errors.dropLast().contains("\n") == false, "\(line): \(result.errors)")
    }
    #expect(try folder.read("data.csv") == Array("a,b\n1,2\n3,4\n".utf8))
  }

  /// Ranges end with the table, for all upper bounds.
  @Test(arguments: borders) func rangesAtTheBorders(_ number: String) throws {
    for (line, rows) in [
      (["--rows", "0..\(number)"], "2"), (["--rows", "\(number).."], "0"),
      (["--rows", "\(number)..\(number)"], "0"), (["-n", number], "2"),
      (["--rows", "1..\(number)", "-n", number], "1"),
    ] {
      let result = try tabella(["count", "data.csv"] + line)
      #expect(result.status == 0 && result.text == rows + "\n", "\(line): \(result)")
      #expect(try tabella(["show", "data.csv"] + line).status == 0)
      let index = ["show", "notes.md", "-o", "sections=headings", "--at-index", "b"]
      #expect(try tabella(index + line).status == 0)
    }
  }

  /// A limit on the size of files ended an edit by SIGXFSZ, without a message.
  @Test func aLimitOnTheSizeOfFiles() throws {
    let text = try folder.read("data.csv")
    for words in ["", " --dry-run", " --in-place", " --in-place --dry-run"] {
      let result = try shell("ulimit -f 1; tabella set data.csv 0 a=7\(words)")
      #expect(result.status == 1, "\(words): \(result)")
      #expect(result.errors.contains("File too large"), "\(result)")
      #expect(result.errors.contains("nothing was done"), "\(result)")
      #expect(try folder.read("data.csv") == text)
    }
    // The limit allows the receipt, but not the file.
    let large = "a\n" + String(repeating: "1234567\n", count: 20_000)
    try folder.write("large.csv", large)
    for words in ["", " --dry-run", " --in-place", " --in-place --dry-run"] {
      let result = try shell("ulimit -f 160; tabella set large.csv 0 a=7\(words)")
      #expect(result.status == 1 && result.errors.contains("File too large"), "\(words): \(result)")
      #expect(words.contains("dry") || result.errors.contains("nothing was changed"), "\(result)")
      #expect(try folder.read("large.csv") == Array(large.utf8))
    }
    let export = try shell("ulimit -f 1; tabella export large.csv > out")
    #expect(export.status == 1 && export.errors.contains("standard output"), "\(export)")
  }

  /// Extremely low limits on memory and stack led to crashes.
  @Test(arguments: ["-s 64", "-v 40000", "-d 8000"]) func tooLittleMemory(_ limit: String) throws {
    let result = try shell("ulimit \(limit); tabella show data.csv; echo $?")
    #expect(result.text.hasSuffix("1\n") && result.errors.contains("(ulimit -"), "\(result)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
  }

  /// Without /proc, every command reported a missing command. Without /dev, an opened file could become standard
  /// output.
  @Test(.needs(.mounts)) func withoutTheKernelsFolders() throws {
    func without(_ folder: String, _ line: String) throws -> ProgramResult {
      try run(
        findProgram("unshare"),
        ["--mount", "/bin/sh", "-c", "umount -l \(folder) && \(line)"],
        environment: ["PATH": "\(buildFolder):\(searchPath)"], directory: self.folder.path)
    }
    let version = try without("/proc", "tabella --version")
    #expect(version.status == 0 && version.text.hasPrefix("tabella "), "\(version)")
    for line in ["show data.csv", "set data.csv 0 a=9", "count .", "show processes:", "check csv"] {
      let result = try without("/proc", "tabella \(line)")
      #expect([1, 3, 4].contains(result.status), "\(line): \(result)")
      #expect(result.errors.contains("/proc"), "\(line): \(result)")
    }
    #expect(try without("/proc", "tabella help show").status == 0)
    #expect(try without("/proc", "tabella frobnicate").status == 2)
    let closed = try without("/dev", "tabella set data.csv 0 a=9 <&- >&- 2>&-; echo $?")
    #expect(closed.text == "0\n", "\(closed)")
    #expect(try self.folder.read("data.csv") == Array("a,b\n9,2\n3,4\n".utf8))
  }
}
