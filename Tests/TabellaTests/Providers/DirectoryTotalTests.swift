import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// The columns on request, `extension` and `total`, compared with naive walks over generated trees.
@Suite struct DirectoryTotalTests {
  let folder = try! TemporaryFolder()

  private func open(
    _ options: [String: String] = [:]
  ) throws -> any TableDataSource {
    try DirectoryProvider().open(OpenRequest(path: folder.path, options: options))
  }

  private func column(_ name: String, _ source: any TableDataSource) throws -> Int {
    try ColumnNames(source.columns).number(name)
  }

  /// The cells of two columns, as a dictionary from name to value.
  private func cells(
    _ name: String, _ source: any TableDataSource
  ) throws -> [[UInt8]: Cell] {
    let number = try column(name, source)
    var found: [[UInt8]: Cell] = [:]
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      let batch = try source.rows(
        RowRequest(section: section, first: 0, count: 4096, columns: [0, number]))
      for row in 0..<batch.rowCount {
        guard case .text(let name) = batch.row(row)[0] else { continue }
        found[name] = batch.row(row)[1]
      }
    }
    return found
  }

  /// The sizes from lstat of a path and everything below it, each inode once.
  private static func naive(_ path: [UInt8], _ seen: inout Set<ino_t>) -> Int64 {
    var status = stat()
    guard withPath(path, { lstat($0, &status) }) == 0, seen.insert(status.st_ino).inserted else {
      return 0
    }
    var sum = Int64(status.st_size)
    guard status.st_mode & S_IFMT == S_IFDIR else { return sum }
    for name in namesByReaddir(path) { sum += naive(path + [47] + name, &seen) }
    return sum
  }

  private func naive(_ name: [UInt8]) -> Cell {
    var seen: Set<ino_t> = []
    return .integer(Self.naive(Array(folder.path.utf8) + [47] + name, &seen))
  }

  /// Makes a random tree of files, hard links, symbolic links, FIFOs and hidden entries.
  private func makeTree(_ generator: inout SeededGenerator) throws {
    var folders = [folder.path]
    var files: [String] = []
    for number in 0..<Int.random(in: 1...120, using: &generator) {
      let parent = folders.randomElement(using: &generator)!
      let path = "\(parent)/\(Bool.random(using: &generator) ? "." : "")\(number)"
      switch Int.random(in: 0..<8, using: &generator) {
      case 0, 1:
        #expect(mkdir(path, 0o755) == 0)
        folders.append(path)
      case 2 where !files.isEmpty:
        #expect(link(files.randomElement(using: &generator)!, path) == 0)
      case 3: #expect(symlink("..", path) == 0)
      case 4: #expect(mkfifo(path, 0o644) == 0)
      default:
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        // A sparse file has an apparent size, but no blocks.
        #expect(truncate(path, Int.random(in: 0...1 << 40, using: &generator)) == 0)
        files.append(path)
      }
    }
  }

  @Test(arguments: 0..<25)
  func totalsAreThoseOfANaiveWalk(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    try makeTree(&generator)
    for recursive in ["false", "true"] {
      let source = try open(["recursive": recursive, "hidden": "true"])
      let totals = try cells("total", source)
      for (name, total) in totals {
        #expect(total == naive(name), "\(String(decoding: name, as: UTF8.self))")
      }
      #expect(source.diagnostics?.nextDiagnostic() == nil)
      #expect(totals.count == (try source.exactNumberOfRows(inSection: 0)))
    }
  }

  @Test(.needs("du"), arguments: [0, 1])
  func totalsAreThoseOfDu(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    try makeTree(&generator)
    // Since version 9.2, du leaves out the sizes of folders.
    let version = try run(findProgram("du"), ["--version"]).lines[0].split(separator: " ").last
    guard Double(version ?? "") ?? 0 < 9.15 else { return }
    for (name, total) in try cells("total", open(["hidden": "true"])) {
      let path = "\(folder.path)/\(String(decoding: name, as: UTF8.self))"
      let sum = try run(findProgram("du"), ["-sb", path]).text.split(separator: "\t")[0]
      #expect(total == .integer(Int64(sum)!), "\(path)")
    }
  }

  /// A path can be longer than the system allows, and a tree deeper than there are descriptors.
  @Test(.needs("rm")) func totalsOfDeepTrees() throws {
    let names = (0..<700).map { "level \($0)" }
    var directory = Glibc.open(folder.path, O_RDONLY | O_DIRECTORY)
    for name in ["top"] + names {
      #expect(mkdirat(directory, name, 0o755) == 0)
      // A second folder waits on each level.
      #expect(mkdirat(directory, "z", 0o755) == 0)
      let next = openat(directory, name, O_RDONLY | O_DIRECTORY)
      close(directory)
      directory = next
    }
    var status = stat()
    #expect(fstat(directory, &status) == 0)
    let file = openat(directory, "file", O_CREAT | O_WRONLY, 0o644)
    #expect(ftruncate(file, 1 << 42) == 0)
    close(file)
    close(directory)
    let top = try #require(try cells("total", open())[Array("top".utf8)])
    guard case .integer(let total) = top else {
      Issue.record("there is no total")
      return
    }
    #expect(total > 1 << 42 && total < (1 << 42) + 10_000_000)
    // Foundation cannot remove such a tree.
    #expect(try run(findProgram("rm"), ["-r", folder.path + "/top"]).status == 0)
  }

  /// Sparse files can claim more bytes than a number has room for.
  @Test func totalsAreClamped() throws {
    #expect(mkdir(folder.path + "/a", 0o755) == 0)
    for name in ["x", "y", "z"] {
      #expect(FileManager.default.createFile(atPath: "\(folder.path)/a/\(name)", contents: nil))
      // Not all file systems have files of this size.
      guard truncate("\(folder.path)/a/\(name)", .max - 4096) == 0 else { return }
    }
    #expect(try cells("total", open())[[97]] == .integer(.max))
  }

  @Test func countingCanBeCancelled() throws {
    for name in ["a", "b"] { #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0) }
    let source = try DirectorySource(path: Array(folder.path.utf8), DirectorySettings())
    source.cancel.raise()
    let counter = TreeCounter(root: source.root, source.listing, source.cancel)
    #expect(throws: Failure.cancelled) { try counter.count([0, 1]) }
  }

  /// A total lacks what cannot be read, and a diagnostic says so. Root may read everything, so another user looks.
  @Test func unreadableFoldersAreReported() async throws {
    for name in ["a", "a/closed", "b"] { #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0) }
    try folder.write("a/closed/secret", "12345")
    try folder.write("a/file", "123")
    #expect(chmod(folder.path, 0o755) == 0)
    for name in ["a/closed", "b"] { #expect(chmod("\(folder.path)/\(name)", 0) == 0) }
    setenv("TABELLA_TEST_FOLDER", folder.path, 1)
    await #expect(processExitsWith: .success) {
      let path = String(cString: getenv("TABELLA_TEST_FOLDER"))
      if geteuid() == 0 { #expect(setuid(65534) == 0) }
      let source = try DirectoryProvider().open(OpenRequest(path: path))
      let total = try ColumnNames(source.columns).number("total")
      let rows = try source.rows(RowRequest(first: 0, count: 10, columns: [2, total]))
      var closed = stat()
      #expect(lstat(path + "/a/closed", &closed) == 0)
      guard case .integer(let own) = rows.row(0)[0] else { throw MissingTool("a size") }
      #expect(rows.row(0)[1] == .integer(own + Int64(closed.st_size) + 3))
      #expect(rows.row(1)[1] == .missing)
      let message = source.diagnostics?.nextDiagnostic()?.message ?? ""
      #expect(message.hasPrefix("2 folders could not be read, so totals lack their content; the"))
      #expect(message.hasSuffix(": Permission denied"))
      #expect(source.diagnostics?.nextDiagnostic() == nil)
    }
    for name in ["a/closed", "b"] { chmod("\(folder.path)/\(name)", 0o755) }
  }

  @Test func extensions() throws {
    let wanted: [(name: String, text: String?)] = [
      ("a.TXT", "txt"), ("b.tar.gz", "gz"), (".bashrc", nil), (".config.json", "json"),
      ("..x", nil), ("none", nil), ("end.", nil), ("é.É", "é"), ("x. y", " y"),
    ]
    for (name, _) in wanted { try folder.write(name, "") }
    #expect(mkdir(folder.path + "/folder.app", 0o755) == 0)
    #expect(symlink("none", folder.path + "/link.Md") == 0)
    try folder.write("folder.app/inner", "")
    for options in [[:], ["recursive": "true"], ["sections": "folder", "recursive": "true"]] {
      let found = try cells(
        "extension", open(options.merging(["hidden": "true"]) { $1 }))
      for (name, text) in wanted {
        #expect(
          found[Array(name.utf8)] == text.map { .text(Array($0.utf8)) } ?? .missing, "\(name)")
      }
      #expect(found[Array("folder.app".utf8)] == .missing)
      #expect(found[Array("link.Md".utf8)] == .text(Array("md".utf8)))
      if options["sections"] == nil, !options.isEmpty {
        // The dot of a folder is not that of its file.
        #expect(found[Array("folder.app/inner".utf8)] == .missing)
      }
    }
  }

  /// A total is counted once per listing: a sorted view reads it twice, and the two cells must not differ.
  @Test func totalsAreKept() throws {
    for name in ["a", "b"] { #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0) }
    try folder.write("b/x", [UInt8](repeating: 0, count: 100_000))
    let source = try open()
    let total = try column("total", source)
    let sorted = try source.sorted(by: [SortDescriptor(column: total, isDescending: true)])
    #expect(try sorted.numberOfRows(inSection: 0, knowing: .max) == .exact(2))
    let before = try sorted.rows(RowRequest(first: 0, count: 2, columns: [total]))
    try folder.write("a/y", [UInt8](repeating: 0, count: 1_000_000))
    let batch = try sorted.rows(RowRequest(first: 0, count: 2, columns: [0, total]))
    #expect((0..<2).map { batch.row($0)[0] } == ["b", "a"])
    #expect((0..<2).map { batch.row($0)[1] } == (0..<2).map { before.row($0)[0] })
  }
}
