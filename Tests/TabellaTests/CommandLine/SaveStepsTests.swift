import Foundation
import Testing

@testable import TabellaTestSupport

/// The steps of docs/saving.md, verified by their system calls.
@Suite struct SaveStepsTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("t.csv", "a,b\n1,2\n3,4\n")
  }

  /// Runs a command under strace. Returns its calls on files of the folder, in order.
  private func calls(_ arguments: String...) throws -> [String] {
    let log = folder.path + "/log"
    let traced =
      "openat,copy_file_range,pwrite64,fsync,linkat,renameat,renameat2,unlink,unlinkat,fallocate,flock"
    let result = try run(
      findProgram("strace"),
      ["-f", "-qq", "-y", "-o", log, "-e", "signal=none", "-e", "trace=\(traced)"]
        + [buildFolder + "/tabella"] + arguments,
      environment: ["XDG_STATE_HOME": "\(folder.path)/state"], directory: folder.path)
    #expect(result.status == 0, "\(result.errors)")
    let place = (folder.path as NSString).lastPathComponent
    return try String(contentsOfFile: log, encoding: .utf8).components(separatedBy: "\n")
      .filter { $0.contains(place) && !$0.contains("/receipts") && !$0.contains("ENOENT") }
  }

  /// Expects calls that match these patterns, in order.
  private func expect(
    _ steps: [String], in calls: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var rest = calls[...]
    for step in steps {
      let pattern = try Regex(step)
      guard let next = rest.firstIndex(where: { $0.contains(pattern) }) else {
        let all = calls.joined(separator: "\n")
        Issue.record("no \(step) in its turn:\n\(all)", sourceLocation: sourceLocation)
        return
      }
      rest = rest[(next + 1)...]
    }
  }

  private static let temporary = #"\.tabella-[0-9a-f]{16}""#

  @Test(.needs("strace"), arguments: [false, true]) func aNewFileTakesTheName(_ keepsBackup: Bool)
    throws
  {
    let lines = String(repeating: "1,2\n", count: 10_000)
    try folder.write("t.csv", "a,b\n\(lines)3,4\n\(lines)")
    let calls =
      try keepsBackup
      ? calls("set", "t.csv", "10000", "a=99", "--backup") : calls("set", "t.csv", "10000", "a=99")
    try expect(
      [
        #"flock\(.*/t\.csv>, LOCK_EX"#,
        #"openat\(.*O_TMPFILE, 0600\) = "#,
        // The kernel copies the unchanged bytes.
        #"copy_file_range\(.*/t\.csv>, \[0\], .*\) = 40004$"#,
        #"pwrite64\(.*, "99", 2, 40004\) = 2$"#,
        #"copy_file_range\(.*/t\.csv>, \[40005\], .*\) = 40003$"#,
        #"fsync\(.*(#|deleted).*\) = 0"#,
        #"linkat\(.*"/proc/self/fd/.*""# + Self.temporary,
        #"renameat2\(.*""# + Self.temporary + #".*"t\.csv", RENAME_EXCHANGE\) = 0"#,
        keepsBackup
          ? #"renameat2?\(.*""# + Self.temporary + #".*"t\.csv~".*\) = 0"#
          : #"unlinkat\(.*""# + Self.temporary + #", 0\) = 0"#,
        #"fsync\(.*\) = 0"#,
      ], in: calls)
    #expect(calls.last { $0.contains("fsync(") }?.contains(".csv") == false, "\(calls)")
  }

  /// A save in place first makes the old bytes durable and reserves space. It writes nothing in front of the first
  /// changed byte.
  @Test(.needs("strace")) func aFileIsRewrittenInPlace() throws {
    let calls = try calls("set", "t.csv", "1", "a=12345", "--in-place")
    try expect(
      [
        #"fsync\(.*/in-place/.*\) = 0"#,
        #"linkat\(.*/in-place>, "[0-9a-f-]+""#,
        #"fsync\(.*/in-place>\) = 0"#,
        #"openat\(.*"t\.csv", O_RDWR"#,
        #"fallocate\(.*/t\.csv>, 0, 12, 4\) = 0"#,
        #"copy_file_range\(.*/in-place/.*, \[8\], .*/t\.csv>, \[8\], .*\) = 8$"#,
        #"fsync\(.*/t\.csv>\) = 0"#,
        #"unlink\(".*/in-place/"#,
        #"fsync\(.*/in-place>\) = 0"#,
      ], in: calls)
    let writes = calls.filter {
      $0.contains(/, \[\d+\], \d+<[^>]*t\.csv>/) || $0.contains(/pwrite64\(\d+<[^>]*t\.csv>/)
    }
    #expect(writes.count == 1, "\(writes)")
    #expect(try folder.read("t.csv") == Array("a,b\n1,2\n12345,4\n".utf8))
  }

  /// The file is larger than the memory limit. The memory of a save depends on the edit.
  @Test func memoryFollowsTheEdit() throws {
    let line = "0123456789,abcdefghijklmnopqrstuvwxyz\n"
    let count = 40_000
    let part = Array(String(repeating: line, count: count).utf8)
    let path = try folder.write("large.csv", "a,b\n")
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    for _ in 0..<100 { try file.write(contentsOf: Data(part)) }
    try file.close()
    let size = 4 + part.count * 100
    for words in [
      "set large.csv \(50 * count) b=x", "undo large.csv",
      "set large.csv \(50 * count) b=x --in-place",
    ] {
      // The limit of private memory in KiB: two thirds of the file.
      let result = try run(
        "/bin/sh", ["-c", "ulimit -d \(size * 2 / 3 / 1024); '\(buildFolder)/tabella' \(words)"],
        environment: [
          "XDG_STATE_HOME": "\(folder.path)/state", "SWIFT_BACKTRACE": "enable=no",
        ], directory: folder.path)
      #expect(result.status == 0, "\(words): \(result.errors)")
    }
    let saved = try #require(FileHandle(forReadingAtPath: path))
    #expect(try saved.seekToEnd() == UInt64(size - 25))
    try saved.seek(toOffset: UInt64(4 + 50 * part.count))
    #expect(try saved.read(upToCount: 24) == Data("0123456789,x\n0123456789,".utf8))
  }

  /// The providers csv and text write only through the save.
  @Test func theProvidersWriteNothingThemselves() throws {
    for provider in ["CSV", "Text"] {
      let folder = "\(packageFolder)/Plugins/\(provider)/Sources"
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.count > 3)
      for name in names {
        let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        let writing = /O_WRONLY|O_RDWR|O_CREAT|FileWriter|TemporaryFile|DurableFile|rename|unlink/
        #expect(!text.contains(writing), "\(name)")
      }
    }
  }

  // Refusals

  /// A file that users may replace, because they own its folder, but not write to, is not saved.
  @Test(.needs(.nobody))
  func aFileOfAnotherIsRefused() throws {
    let own = "\(folder.path)/own"
    #expect(mkdir(own, 0o755) == 0 && chown(own, 65534, 65534) == 0)
    let path = try folder.write("own/t.csv", "a,b\n1,2\n")
    #expect(chmod(path, 0o644) == 0)
    let command = Confined.User.nobody.command
    for more in [[], ["--dry-run"]] as [[String]] {
      let result = try run(
        command[0],
        Array(command.dropFirst()) + [buildFolder + "/tabella", "set", path, "0", "a=9"] + more,
        environment: ["XDG_STATE_HOME": "\(own)/state"])
      #expect(result.status == 4 && result.errors.contains("cannot be written"), "\(result.errors)")
    }
    #expect(try folder.read("own/t.csv") == Array("a,b\n1,2\n".utf8))
  }

  /// Pipes and standard input have their own tests.
  @Test(arguments: [
    "csv:/dev/null", "text:/dev/full", "csv:/proc/self/status", "text:/proc/self/status",
    "text:/sys/kernel/mm/transparent_hugepage/enabled", "csv:.", "text:.",
  ])
  func whatIsNoFileIsNotEdited(_ location: String) throws {
    let result = try run(
      buildFolder + "/tabella", ["insert", location, "end", "a=1"], directory: folder.path)
    #expect([2, 4].contains(result.status), "\(result.errors)")
    let says = location.hasSuffix(":.") ? "is a directory" : "is read-only"
    #expect(result.errors.contains(says), "\(result.errors)")
  }
}
