import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// The directory provider compared with readdir and lstat, on trees with everything that file systems allow.
@Suite struct DirectoryTests {
  let folder = try! TemporaryFolder()

  private func open(
    _ path: String? = nil, _ options: [String: String] = [:]
  ) throws -> any TableDataSource {
    try DirectoryProvider().open(OpenRequest(path: path ?? folder.path, options: options))
  }

  private static func withPath<R>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> R) -> R {
    (path + [0]).withUnsafeBufferPointer {
      $0.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
    }
  }

  private func make(_ name: [UInt8], isFolder: Bool = false) {
    let result = Self.withPath(Array(folder.path.utf8) + [47] + name) { path in
      if isFolder { return mkdir(path, 0o755) }
      let descriptor = Glibc.open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
      if descriptor >= 0 { close(descriptor) }
      return descriptor >= 0 ? 0 : -1
    }
    #expect(result == 0, "\(name)")
  }

  private func names(_ source: any TableDataSource, section: Int = 0) throws -> [[UInt8]] {
    try readAll(source, section: section).map { row in
      guard case .text(let name) = row[0] else { return [] }
      return name
    }
  }

  /// The entries from readdir, sorted as bytes, each folder in front of its content.
  private static func naive(_ path: [UInt8], hidden: Bool, below prefix: [UInt8] = []) -> [[UInt8]]
  {
    guard let stream = withPath(path, { opendir($0) }) else { return [] }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while let entry = readdir(stream) {
      let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
      let name = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: UInt8.self)
      names.append(
        Array(
          UnsafeBufferPointer(
            start: name, count: strlen(UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))))
      )
    }
    names.removeAll { $0 == [46] || $0 == [46, 46] || (!hidden && $0.first == 46) }
    names.sort { $0.lexicographicallyPrecedes($1) }
    return names.flatMap { name -> [[UInt8]] in
      var status = stat()
      let own = path + [47] + name
      let isFolder = withPath(own) { lstat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFDIR
      return [prefix + name]
        + (isFolder ? naive(own, hidden: hidden, below: prefix + name + [47]) : [])
    }
  }

  /// Every single byte, the longest names, names that are not UTF-8, both forms of an accent.
  @Test func anyName() throws {
    var wanted: [[UInt8]] = (1...255).filter { $0 != 46 && $0 != 47 }.map { [UInt8($0)] }
    wanted += [
      [UInt8](repeating: 0xFF, count: 255), Array(repeating: 97, count: 255),
      Array("e\u{301}".utf8),
      Array("é".utf8), Array("a\nb".utf8), Array("\u{1B}[31m".utf8), Array("-n".utf8),
      Array("x:y".utf8), [0xED, 0xA0, 0x80], Array(" ".utf8) + [0x7F],
    ]
    for name in wanted { make(name) }
    make([46, 104])
    wanted.sort { $0.lexicographicallyPrecedes($1) }
    let source = try open()
    #expect(try names(source) == wanted)
    #expect(
      try names(open(nil, ["hidden": "true"]))
        == ([[46, 104]] + wanted).sorted { $0.lexicographicallyPrecedes($1) })
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(wanted.count))
    let found = try source.filtered(by: [
      Condition(column: 0, comparison: .equal, value: Array("a\nb".utf8))
    ])
    #expect(try found.numberOfRows(inSection: 0, knowing: .max) == .exact(1))
    // Each location leads to its own file, and each id back to it.
    for row in wanted.indices {
      let location = try #require(
        try source.accessories?.location(forRowAt: IndexPath(section: 0, row: row)))
      #expect(Self.withPath(location) { access($0, F_OK) } == 0)
      let id = try #require(
        try source.rows(RowRequest(first: row, count: 1, columns: [], includesIDs: true)).id(0))
      #expect(try source.identity?.indexPath(forID: id) == IndexPath(section: 0, row: row))
    }
  }

  /// Generated trees are listed like naive listings: flat, recursive and by folder.
  @Test(arguments: 0..<25)
  func treesAreTheNaiveTrees(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    var folders: [[UInt8]] = [[]]
    let letters = Array("abc.Z ~".utf8) + [0xFF, 10]
    for _ in 0..<Int.random(in: 0...80, using: &generator) {
      let parent = folders.randomElement(using: &generator)!
      var name: [UInt8] = []
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        name.append(letters.randomElement(using: &generator)!)
      }
      let path = parent + name
      let isTaken =
        Self.withPath(Array(folder.path.utf8) + [47] + path) { access($0, F_OK) } == 0
      if isTaken || name == [46] || name == [46, 46] { continue }
      let isFolder = Bool.random(using: &generator)
      make(path, isFolder: isFolder)
      if isFolder { folders.append(path + [47]) }
    }
    for hidden in [false, true] {
      let options = ["hidden": "\(hidden)"]
      let whole = Self.naive(Array(folder.path.utf8), hidden: hidden)
      #expect(try names(open(nil, options)) == whole.filter { !$0.contains(47) })
      let tree = try open(nil, options.merging(["recursive": "true"]) { $1 })
      #expect(try names(tree) == whole)

      // By folder: the path of a row consists of the title and the name.
      let bySection = try open(
        nil, options.merging(["recursive": "true", "sections": "folder"]) { $1 })
      var found: [[UInt8]] = []
      for section in 0..<(try bySection.numberOfSections(knowing: .max).value) {
        let title = try bySection.sections?.title(.header, ofSection: section) ?? ""
        let rows = try names(bySection, section: section)
        // Titles are repaired text, so only valid UTF-8 can be compared.
        let prefix = section == 0 ? [] : Array(title.utf8) + [47]
        found += rows.map { prefix + $0 }
      }
      #expect(found.count == whole.count)
      // Empty folders and the root are sections, too.
      let shown = folders.filter { path in
        hidden || !path.split(separator: 47).contains { $0.first == 46 }
      }
      #expect(try bySection.numberOfSections(knowing: .max) == .exact(shown.count))
      let isText = whole.allSatisfy { String(validating: $0, as: UTF8.self) != nil }
      if isText { #expect(Set(found) == Set(whole)) }
    }
  }

  /// Every column equals the result of lstat.
  @Test func columnsAreTheStatus() throws {
    make(Array("file".utf8))
    make(Array("sub".utf8), isFolder: true)
    let path = folder.path
    try Data(repeating: 1, count: 1234).write(to: URL(fileURLWithPath: path + "/big"))
    #expect(symlink("no\u{e9}where", path + "/link") == 0 && mkfifo(path + "/fifo", 0o600) == 0)
    #expect(chmod(path + "/file", 0o4751) == 0 && chmod(path + "/sub", 0o1776) == 0)
    #expect(chmod(path + "/big", 0o2640) == 0)
    let source = try open()
    let names = ["big", "fifo", "file", "link", "sub"]
    let rows = try readAll(source)
    #expect(rows.map { $0[0] } == names.map { .text($0) })
    #expect(rows.map { $0[1] } == ["file", "fifo", "file", "link", "directory"])
    #expect(
      rows.map { $0[4] } == ["rw-r-S---", "rw-------", "rwsr-x--x", "rwxrwxrwx", "rwxrwxrwT"])
    #expect(rows.map { $0[8] } == [nil, nil, nil, .text("no\u{e9}where"), nil])
    for (name, row) in zip(names, rows) {
      var status = stat()
      #expect(lstat("\(path)/\(name)", &status) == 0)
      #expect(row[2] == .integer(Int64(status.st_size)))
      #expect(
        row[3]
          == .date(
            Timestamp(
              seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))!))
      #expect(row[5] == .text(String(cString: getpwuid(status.st_uid).pointee.pw_name)))
      #expect(row[6] == .text(String(cString: getgrgid(status.st_gid).pointee.gr_name)))
      #expect(row[7] == .integer(Int64(status.st_nlink)))
    }
  }

  private func badge(_ source: any TableDataSource, _ name: String) throws -> String? {
    let row = try #require(try names(source).firstIndex(of: Array(name.utf8)))
    guard
      case .text(let text)? = try source.supplementary?.supplementaryElement(
        ofKind: "badge", at: IndexPath(section: 0, row: row))
    else { return nil }
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test func badges() throws {
    for name in ["empty", "one", "many"] { make(Array(name.utf8), isFolder: true) }
    for name in ["one/a", "many/a", "many/b", "many/.c", "file"] { make(Array(name.utf8)) }
    #expect(symlink("loop", folder.path + "/loop") == 0)
    #expect(symlink("gone", folder.path + "/broken") == 0)
    #expect(symlink("file", folder.path + "/good") == 0)
    let source = try open()
    #expect(try badge(source, "empty") == "0 entries")
    #expect(try badge(source, "one") == "1 entry")
    #expect(try badge(source, "many") == "2 entries")
    #expect(try badge(source, "file") == nil)
    #expect(try badge(source, "good") == nil)
    #expect(try badge(source, "loop") == "the links are a loop")
    #expect(try badge(source, "broken") == "no such target")
  }

  /// An entry that vanished after the listing stays a row, with its known cells and a reason.
  @Test func vanishedEntriesAreRows() throws {
    make(Array("a".utf8))
    make(Array("b".utf8))
    make(Array("sub".utf8), isFolder: true)
    make(Array("sub/c".utf8))
    let source = try open()
    unlink(folder.path + "/a")
    let rows = try readAll(source)
    #expect(rows.map { $0[0] } == ["a", "b", "sub"])
    #expect(rows[0][1] == "file" && rows[0][2...].allSatisfy { $0 == .missing })
    #expect(try badge(source, "a") == "has vanished")
    #expect(
      source.diagnostics?.nextDiagnostic()?.message
        == "1 entry could not be examined: a: has vanished")
    // Reading it again leads to no further diagnostic.
    _ = try readAll(source)
    #expect(source.diagnostics?.nextDiagnostic() == nil)

    let tree = try open(nil, ["recursive": "true"])
    try FileManager.default.removeItem(atPath: folder.path + "/sub")
    #expect(try names(tree).map { String(decoding: $0, as: UTF8.self) } == ["b", "sub"])
    let message = tree.diagnostics?.nextDiagnostic()?.message
    #expect(message == "1 folder could not be read: sub: has vanished")
  }

  /// An unreadable folder is an ordinary row. Root may read everything, so another user looks.
  @Test func unreadableFoldersAreRows() async throws {
    make(Array("closed".utf8), isFolder: true)
    make(Array("closed/secret".utf8))
    make(Array("open".utf8))
    #expect(chmod(folder.path, 0o755) == 0 && chmod(folder.path + "/closed", 0) == 0)
    let path = folder.path
    setenv("TABELLA_TEST_FOLDER", path, 1)
    await #expect(processExitsWith: .success) {
      let path = String(cString: getenv("TABELLA_TEST_FOLDER"))
      if geteuid() == 0 { #expect(setuid(65534) == 0) }
      let source = try DirectoryProvider().open(
        OpenRequest(path: path, options: ["recursive": "true"]))
      let rows = try source.rows(RowRequest(first: 0, count: 10, columns: [0, 1, 2]))
      #expect(rows.rowCount == 2)
      #expect(rows.row(0)[1] == "directory" && rows.row(0)[2] != .missing)
      #expect(
        source.diagnostics?.nextDiagnostic()?.message
          == "1 folder could not be read: closed: Permission denied")
      guard
        case .text(let badge)? = try source.supplementary?.supplementaryElement(
          ofKind: "badge", at: IndexPath(section: 0, row: 0))
      else {
        Issue.record("there is no badge")
        return
      }
      #expect(
        String(decoding: badge.bytes, as: UTF8.self)
          == "unreadable: Permission denied")
      #expect(throws: TableError.self) {
        try DirectoryProvider().open(OpenRequest(path: path + "/closed"))
      }
    }
    chmod(path + "/closed", 0o755)
  }

  /// More names than are sorted by comparison, with long common prefixes, and high bytes after low ones.
  @Test(arguments: sample(3, of: 0..<8))
  func manyNamesAreInOrder(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let prefix = [UInt8](repeating: 97, count: seed * 3)
    let letters: [UInt8] = [1, 32, 97, 98, 127, 128, 255]
    var wanted: Set<[UInt8]> = [prefix + [97]]
    while wanted.count < 1000 {
      let length = Int.random(in: seed == 0 ? 1...12 : 0...12, using: &generator)
      wanted.insert(
        prefix + (0..<length).map { _ in letters.randomElement(using: &generator)! })
    }
    for name in wanted { make(name) }
    #expect(try names(open()) == wanted.sorted { $0.lexicographicallyPrecedes($1) })
  }

  /// If a name belongs to another file now, nothing of that file is shown.
  @Test func replacedEntriesHaveVanished() throws {
    for name in ["a", "b", "same"] { make(Array(name.utf8)) }
    for name in ["sub", "other"] { make(Array(name.utf8), isFolder: true) }
    for name in ["sub/x", "other/x"] { make(Array(name.utf8)) }
    #expect(symlink("same", folder.path + "/link") == 0)
    #expect(symlink("b", folder.path + "/newer") == 0)
    let source = try open()
    let tree = try open(nil, ["recursive": "true"])
    #expect(try names(tree).count == 9)
    for (from, to) in [("b", "a"), ("newer", "link"), ("sub", "gone"), ("other", "sub")] {
      #expect(rename("\(folder.path)/\(from)", "\(folder.path)/\(to)") == 0)
    }

    let rows = try readAll(source)
    #expect(rows.map { $0[0] } == ["a", "b", "link", "newer", "other", "same", "sub"])
    for row in rows {
      #expect(row[2...].allSatisfy { $0 == .missing } == (row[0] != "same"), "\(row)")
      let index = try #require(rows.firstIndex(of: row))
      let location = try source.accessories?.location(
        forRowAt: IndexPath(section: 0, row: index))
      #expect((location == nil) == (row[0] != "same"))
    }
    #expect(try badge(source, "a") == "has vanished" && badge(source, "link") == "has vanished")
    #expect(
      source.diagnostics?.nextDiagnostic()?.message
        == "6 entries could not be examined; the first: a: has vanished")

    // The file with this name is in a folder that was not listed.
    let row = try #require(try names(tree).firstIndex(of: Array("sub/x".utf8)))
    let batch = try tree.rows(RowRequest(first: row, count: 1, columns: [0, 1, 2]))
    #expect(batch.row(0) == ["sub/x", "file", nil])
  }

  /// A diagnostic is one line, for all names.
  @Test func remarksAreOneLine() throws {
    let name = Array("new\nline\u{1B}".utf8)
    make(name)
    let source = try open()
    #expect(Self.withPath(Array(folder.path.utf8) + [47] + name) { unlink($0) } == 0)
    _ = try readAll(source)
    #expect(
      source.diagnostics?.nextDiagnostic()?.message
        == "1 entry could not be examined: new?line?: has vanished")
  }

  /// Creates nested folders and calls `fill` with the descriptor of each.
  private func makeDeep(
    _ depth: Int, name: String, in folder: TemporaryFolder, _ fill: (Int, Int32) -> Void
  ) {
    var descriptor = Glibc.open(folder.path, O_RDONLY | O_DIRECTORY)
    for level in 0..<depth {
      #expect(mkdirat(descriptor, name, 0o755) == 0)
      let next = openat(descriptor, name, O_RDONLY | O_DIRECTORY)
      close(descriptor)
      descriptor = next
      fill(level, descriptor)
    }
    close(descriptor)
  }

  private func removeDeep(_ name: String, in folder: TemporaryFolder) throws {
    // Foundation cannot remove such deep folders.
    #expect(try run("/bin/rm", ["-rf", "\(folder.path)/\(name)"]).status == 0)
  }

  /// A tree deeper than the longest path, with further folders at each level. The folders are opened step by step.
  @Test func deepTrees() throws {
    let depth = 2000
    let folder = try TemporaryFolder(inMemory: true)
    makeDeep(depth, name: "deep", in: folder) { _, descriptor in
      #expect(mkdirat(descriptor, "later", 0o755) == 0)
      close(openat(descriptor, "later/leaf", O_CREAT | O_WRONLY, 0o644))
    }
    let source = try open(folder.path, ["recursive": "true"])
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(3 * depth))
    // Down all the way, then up again.
    func path(_ level: Int, _ end: String) -> Cell {
      .text(String(repeating: "deep/", count: level) + end)
    }
    for (row, wanted) in [
      (0, path(0, "deep")), (depth - 1, path(depth - 1, "deep")), (depth, path(depth, "later")),
      (depth + 1, path(depth, "later/leaf")), (3 * depth - 1, path(1, "later/leaf")),
    ] {
      let batch = try source.rows(RowRequest(first: row, count: 1, columns: [0, 7]))
      #expect(batch.row(0)[0] == wanted)
      #expect(batch.row(0)[1] != .missing)
    }
    #expect(source.diagnostics?.nextDiagnostic() == nil)
    try removeDeep("deep", in: folder)
  }

  /// Long paths lead to short batches, regardless of the requested number of rows.
  @Test func longPathsMakeShortBatches() throws {
    let name = String(repeating: "n", count: 255)
    let folder = try TemporaryFolder(inMemory: true)
    makeDeep(200, name: name, in: folder) { level, descriptor in
      guard level == 199 else { return }
      for number in 0..<300 { close(openat(descriptor, "\(number)", O_CREAT | O_WRONLY, 0o644)) }
    }
    let source = try open(folder.path, ["recursive": "true"])
    let batch = try source.rows(RowRequest(first: 200, count: 300, columns: [0]))
    #expect(batch.rowCount > 10 && batch.rowCount < 300)
    let paths = (200..<500).map { IndexPath(section: 0, row: $0) }
    let gathered = try #require(
      try source.gathering?.rows(at: paths, columns: [0], includesIDs: false))
    #expect(gathered.rowCount > 10 && gathered.rowCount < 300)
    #expect(try names(source).count == 500)
    try removeDeep(name, in: folder)
  }

  /// Without descriptors, a folder's content is unknown, so it must not look empty. The listing continues when
  /// descriptors are available again.
  @Test func shortageOfDescriptorsIsAnError() async throws {
    for name in ["a", "a/b", "a/b/c", "d"] { make(Array(name.utf8), isFolder: true) }
    make(Array("a/b/c/leaf".utf8))
    setenv("TABELLA_TEST_SHORTAGE", folder.path, 1)
    await #expect(processExitsWith: .success) {
      let path = String(cString: getenv("TABELLA_TEST_SHORTAGE"))
      let source = try DirectoryProvider().open(
        OpenRequest(path: path, options: ["recursive": "true"]))
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(7), &limit)
      var few = limit
      let next = dup(0)
      close(next)
      few.rlim_cur = rlim_t(next)
      #expect(setrlimit(__rlimit_resource_t(7), &few) == 0)
      let error = #expect(throws: TableError.self) {
        try source.numberOfRows(inSection: 0, knowing: .max)
      }
      #expect(error?.code == .io && error?.isRetryable == true)
      #expect(setrlimit(__rlimit_resource_t(7), &limit) == 0)
      #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(5))
      #expect(source.diagnostics?.nextDiagnostic() == nil)
    }
  }

  /// A long listing stops when it is cancelled, and can continue.
  @Test func listingsAreCancelled() throws {
    for outer in 0..<20 {
      make(Array("\(outer)".utf8), isFolder: true)
      for inner in 0..<50 { make(Array("\(outer)/\(inner)".utf8), isFolder: true) }
    }
    var isCancelled = false
    // A listing may be complete before the other thread runs.
    for _ in 0..<100 where !isCancelled {
      let source = try open(nil, ["recursive": "true"])
      let cancel = try #require(source.cancellation)
      let isDone = CancelFlag()
      let hasEnded = DispatchSemaphore(value: 0)
      Thread {
        while !isDone.isSet { cancel() }
        hasEnded.signal()
      }.start()
      do throws(TableError) {
        _ = try source.numberOfRows(inSection: 0, knowing: .max)
      } catch {
        #expect(error.code == .cancelled)
        isCancelled = true
      }
      isDone.raise()
      hasEnded.wait()
      #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(1020))
      #expect(try names(source) == Self.naive(Array(folder.path.utf8), hidden: false))
    }
    #expect(isCancelled)
  }

  /// A folder that is mounted inside itself is entered once.
  @Test(.needs(.ownMounts)) func mountsThatLoop() throws {
    make(Array("in".utf8), isFolder: true)
    make(Array("in/again".utf8), isFolder: true)
    let script =
      "mount --bind \"$0\" \"$0/in/again\" && exec \"$1\" show \"$0\" -o recursive=true"
      + " --columns name,links --format csv"
    let result = try run(
      findProgram("unshare"),
      ["-rm", "/bin/sh", "-c", script, folder.path, buildFolder + "/tabella"])
    // An entry under a mount is not the listed one, but it is no other file either.
    #expect(result.text == "name,links\nin,3\nin/again,3\n")
    #expect(result.errors.contains("in/again: leads back to a parent folder"))
  }

  @Test func locations() throws {
    make(Array("a".utf8))
    func location(_ path: String) throws -> String? {
      try open(path).accessories?.location(forRowAt: IndexPath(section: 0, row: 0)).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    #expect(try location(folder.path) == folder.path + "/a")
    #expect(try location(folder.path + "/") == folder.path + "/a")
    #expect(mkfifo(folder.path + "/0", 0o600) == 0)
    #expect(try location(folder.path) == nil)
    #expect(symlink("a", folder.path + "/#") == 0)
    #expect(try location(folder.path) == folder.path + "/#")
    #expect(unlink(folder.path + "/a") == 0)
    #expect(try location(folder.path) == nil)
  }

  /// No beginning of a location is mistaken for a scheme or an option.
  @Test func locationsAreUnambiguous() async throws {
    setenv("TABELLA_TEST_LOCATIONS", folder.path, 1)
    await #expect(processExitsWith: .success) {
      #expect(chdir(String(cString: getenv("TABELLA_TEST_LOCATIONS"))) == 0)
      for name in ["csv:x", "-n", "plain"] {
        #expect(mkdir(name, 0o755) == 0 && mkdir("\(name)/csv:y", 0o755) == 0)
        let source = try DirectoryProvider().open(OpenRequest(path: name))
        let location = try source.accessories?.location(forRowAt: IndexPath(section: 0, row: 0))
        let wanted = name == "plain" ? "plain/csv:y" : "./\(name)/csv:y"
        #expect(location.map { String(decoding: $0, as: UTF8.self) } == wanted)
      }
      let here = try DirectoryProvider().open(OpenRequest(path: ""))
      let location = try here.accessories?.location(forRowAt: IndexPath(section: 0, row: 1))
      #expect(location.map { String(decoding: $0, as: UTF8.self) } == "./csv:x")
    }
  }

  @Test func refusals() throws {
    make(Array("file".utf8))
    #expect(throws: TableError(.invalidArgument, "is a file, not a directory")) {
      try open(folder.path + "/file")
    }
    #expect(throws: TableError.self) { try open(folder.path + "/nowhere") }
    #expect(throws: TableError.self) { try open(nil, ["sections": "tree"]) }
    #expect(throws: TableError.self) { try open(nil, ["recursive": "perhaps"]) }
    #expect(throws: TableError.self) { try open(nil, ["depth": "1"]) }
  }

  /// The version identifies the listing: it stays the same while no entry appears or vanishes.
  @Test func versionsNameTheListing() throws {
    make(Array("a".utf8))
    let before = try open().version()
    #expect(try open().version() == before)
    make(Array("b".utf8))
    #expect(try open().version() != before)
    #expect(try open().hasVolatileOrder)
  }

  /// The end of a name follows from the size of its record: for every length, with any bytes, and in reused memory.
  @Test func namesOfEveryLength() throws {
    var names: [[UInt8]] = []
    var generator = SeededGenerator(seed: 3)
    for length in 1...255 {
      // No slash, no NUL, and no name that begins with a dot.
      let bytes = (0..<length).map { UInt8.random(in: ($0 == 0 ? 48 : 1)...255, using: &generator) }
      names.append(bytes.map { $0 == 47 ? 1 : $0 })
    }
    for name in names { make(name) }
    for _ in 0..<2 {
      let source = try open()
      let listed = try readAll(source).map { $0[0] }
      let sorted = names.sorted { $0.lexicographicallyPrecedes($1) }
      #expect(listed == sorted.map { .text($0) })
    }
  }

  /// A view that sorts examines each entry once, so its rows cannot contradict the order. Rows read without a view are
  /// always current.
  @Test func whatAViewLookedForIsShown() throws {
    for (name, size) in [("a", 3), ("b", 1), ("c", 2)] {
      try folder.write(name, String(repeating: "x", count: size))
    }
    let source = try open()
    let view = try source.sorted(by: [SortDescriptor(column: 2)])
    func sizes(_ source: any TableDataSource) throws -> [[Cell]] {
      try readAll(source).map { [$0[0], $0[2]] }
    }
    func row(_ name: String, _ size: Int64) -> [Cell] { [.text(Array(name.utf8)), .integer(size)] }
    #expect(try view.rows(RowRequest(first: 0, count: 1, columns: [2])).rowCount == 1)
    try folder.write("b", "xxxxxxxxx")
    #expect(try sizes(view) == [row("b", 1), row("c", 2), row("a", 3)])
    #expect(try sizes(source) == [row("a", 3), row("b", 9), row("c", 2)])
    #expect(try sizes(open().sorted(by: [SortDescriptor(column: 2)])).last == row("b", 9))
  }

  /// The cache belongs to one listing: after an edit everything is examined again.
  @Test func anEditForgetsWhatWasKept() throws {
    try folder.write("a", "x")
    try folder.write("b", "xx")
    let source = try open()
    let view = try source.sorted(by: [SortDescriptor(column: 2)])
    #expect(try readAll(view).map { $0[0] } == [.text([97]), .text([98])])
    try folder.write("a", "xxx")
    _ = try source.editing?.commit(
      EditBatch([.set(.path(IndexPath(section: 0, row: 1)), cells: [0: .text([99])])]))
    _ = try source.changes?.pull()
    let again = try source.sorted(by: [SortDescriptor(column: 2)])
    #expect(try readAll(again).map { $0[0] } == [.text([99]), .text([97])])
  }

  /// A version was valid for the same folder with other options, too, with which an index path was another row.
  @Test func versionsNameWhereRowsAre() throws {
    make(Array("d".utf8), isFolder: true)
    for name in [".h", "d/a", "d/.h", "e"] { make(Array(name.utf8)) }
    let tokens = try [
      [:], ["hidden": "true"], ["recursive": "true"], ["sections": "folder"],
      ["recursive": "true", "sections": "folder"], ["recursive": "true", "hidden": "true"],
    ].map { try open(nil, $0).version()?.token }
    #expect(Set(tokens).count == tokens.count)
    for options in [
      ["hidden": "false"], ["sections": "none"], ["permanent": "true"], ["across": "true"],
    ] {
      #expect(try open(nil, options).version()?.token == tokens[0])
    }
    let source = try open(nil, ["recursive": "true", "sections": "folder"])
    let edit = EditBatch.Edit.set(.path(IndexPath(section: 1, row: 0)), cells: [0: "b"])
    let batch = EditBatch([edit], version: tokens[2].map { Version($0) }, isDryRun: true)
    let error = #expect(throws: TableError.self) { try source.editing?.commit(batch) }
    #expect(error?.code == .conflict)
  }
}

extension Need {
  fileprivate static let ownMounts = Need("a namespace for mounts", program: "mount") {
    let mount = ["-rm", "mount", "--bind", "/tmp", "/tmp"]
    return (try? run(findProgram("unshare"), mount).status) == 0
  }
}
