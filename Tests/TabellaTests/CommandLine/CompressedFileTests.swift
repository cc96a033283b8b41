import Foundation
import Testing

@testable import TabellaTestSupport

/// A compressed file was shown as a hex dump, or as a table of garbage. Now the error contains the command that shows
/// the content.
@Suite struct CompressedFileTests {
  let folder = try! TemporaryFolder()

  private func shell(_ line: String) throws -> ProgramResult {
    try run(
      "/bin/sh", ["-c", line],
      environment: ["LC_ALL": "C.UTF-8", "PATH": "\(buildFolder):\(searchPath)"],
      directory: folder.path)
  }

  private static let gzip: [UInt8] = [
    0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 0xD4, 0x49, 0xE2, 0x32, 0xD4, 0x31, 0xE2, 2, 0,
    0xAA, 0x47, 0xB3, 0x44, 8, 0, 0, 0,
  ]

  /// Files of all formats whose programs this machine has, and the command in the error.
  @Test(
    .needs("gzip"),
    arguments: [
      ("gzip", "zcat"), ("bzip2", "bzcat"), ("xz", "xzcat"), ("zstd", "zstdcat"), ("lz4", "lz4cat"),
    ])
  func theErrorNamesTheCommand(_ program: String, _ command: String) throws {
    guard (try? findProgram(program)) != nil, (try? findProgram(command)) != nil else { return }
    try folder.write("data.csv", "a,b\n1,2\n")
    for (name, rest) in [
      ("data.csv.x", " --provider csv"), ("it's.csv.x", " --provider csv"), ("notes.txt.x", ""),
      ("noname", ""), ("data.x", ""),
    ] {
      let quoted = "'\(name.replacingOccurrences(of: "'", with: "'\\''"))'"
      #expect(try shell("\(program) -c data.csv > \(quoted)").status == 0)
      let result = try shell("tabella show \(quoted)")
      #expect(result.status == 3 && result.output.isEmpty)
      let line = result.errors.split(separator: "run: ").last.map(String.init) ?? ""
      #expect(line.hasPrefix(command + " ") && line.hasSuffix("| tabella show -\(rest)\n"))
      #expect(result.errors.contains("is compressed with \(program)"))
      // The command shows the content.
      let content = try shell(line.trimmingCharacters(in: .newlines) + " --format csv")
      #expect(content.text == (rest.isEmpty ? "line\n\"a,b\"\n\"1,2\"\n" : "a,b\n1,2\n"), "\(line)")
    }
    let piped = try shell("\(program) -c data.csv | tabella show -")
    #expect(piped.status == 3 && piped.errors.contains("run: … | \(command) | tabella show -\n"))
  }

  @Test func theContentCountsAndNotTheName() throws {
    try folder.write("data.csv", Self.gzip)
    for line in [
      "tabella show data.csv", "tabella show data.csv --provider csv", "tabella show csv:data.csv",
      "tabella count data.csv", "tabella show - --provider csv < data.csv",
      "cat data.csv | tabella show - --provider csv", "tabella describe data.csv",
    ] {
      let result = try shell(line)
      #expect(result.status == 3 && result.errors.contains("zcat"), "\(line): \(result.errors)")
    }
    let scheme = try shell("tabella show csv:data.csv").errors
    #expect(scheme.contains("run: zcat data.csv | tabella show - --provider csv"))
    try folder.write("-x", Self.gzip)
    #expect(try shell("tabella show -- -x").errors.contains("run: zcat ./-x | tabella"))
    // The bytes of a file that only looks so at first sight are shown.
    try folder.write("plain.txt", "BZh9 is no archive\n")
    #expect(try shell("tabella count plain.txt").text == "1\n")
  }

  /// A provider of any file shows the bytes, if it is named.
  @Test func bytesAreShownOnDemand() throws {
    try folder.write("data.gz", Self.gzip)
    for line in [
      "tabella show data.gz --provider text", "tabella show text:data.gz",
      "tabella show - --provider text < data.gz", "cat data.gz | tabella show - --provider text",
    ] {
      let result = try shell(line)
      #expect(result.status == 0 && result.text.contains("1f 8b 08 00"), "\(line): \(result)")
    }
  }
}
