import CTabellaSystem
import Foundation
import Tabella
import TabellaBridge
import TabellaSDK
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// The edits, refusals and undos of a directory, rule by rule.
@Suite struct DirectoryEditingTests {
  let tree = EditedTree()

  // Names

  @Test func namesThatBreakRulesAreRefused() throws {
    tree.make("a", "b")
    let source = try tree.open()
    func rename(_ name: [UInt8]) throws -> [EditBatch.Edit] {
      [.set(try tree.row(source, "a"), cells: [0: .text(name)])]
    }
    tree.expectRefusal(.constraint, "cannot be empty", source, try rename([]))
    tree.expectRefusal(.constraint, "cannot be .", source, try rename([46]))
    tree.expectRefusal(.constraint, "cannot be .", source, try rename([46, 46]))
    tree.expectRefusal(.constraint, "a slash", source, try rename(Array("x/y".utf8)))
    tree.expectRefusal(.constraint, "a NUL", source, try rename([97, 0]))
    tree.expectRefusal(
      .constraint, "255 bytes at most, this one 256", source,
      try rename([UInt8](repeating: 97, count: 256)))
    tree.expectRefusal(.constraint, "named b exists already", source, try rename([98]))
    tree.expectRefusal(
      .constraint, "must be text", source, [.set(try tree.row(source, "a"), cells: [0: .missing])])
    for column in [1, 2, 5, 6, 7, 8, 9, 10] {
      tree.expectRefusal(
        .readOnly, "cannot be set", source, [.set(try tree.row(source, "a"), cells: [column: "x"])])
    }
    tree.expectRefusal(
      .invalidArgument, "no column 11", source, [.set(try tree.row(source, "a"), cells: [11: "x"])])
    tree.expectRefusal(
      .notFound, "no row 7", source,
      [.set(.path(IndexPath(section: 0, row: 7)), cells: [0: "x"])])
    tree.expectRefusal(.notFound, "no entry", source, [.delete(.id("1.2"))])
    tree.expectRefusal(
      .constraint, "two entries would have the name", source,
      [
        .set(try tree.row(source, "a"), cells: [0: "x"]),
        .set(try tree.row(source, "b"), cells: [0: "x"]),
      ])
    tree.expectRefusal(
      .invalidArgument, "deleted and changed", source,
      [.set(try tree.row(source, "a"), cells: [0: "x"]), .delete(try tree.row(source, "a"))])
    tree.expectRefusal(
      .invalidArgument, "twice", source,
      [.delete(try tree.row(source, "a")), .delete(try tree.row(source, "a"))])
    tree.expectRefusal(
      .notSupported, "sections=folder", source,
      [.move(try tree.row(source, "a"), to: IndexPath(section: 0, row: 1))])
    tree.expectRefusal(.notSupported, "sections=folder", source, [.deleteSection(0)])
    #expect(
      source.editableColumns()
        == [true, false, false, true, true] + [Bool](repeating: false, count: 6))
    #expect(
      try source.editability(ofRows: 0..<2, inSection: 0) == [
        [.editable, .delete], [.editable, .delete],
      ])
    #expect(throws: TableError.self) { try source.editability(ofRows: 0..<3, inSection: 0) }
    #expect(source.moving == nil)
  }

  /// Another hard link of the same file blocks a name like any other file: rename(2) would do nothing and report
  /// success.
  @Test func hardLinksAreInTheWay() throws {
    tree.make("a")
    #expect(link(tree.path("a"), tree.path("b")) == 0)
    let source = try tree.open()
    tree.expectRefusal(
      .constraint, "named b exists already", source,
      [.set(try tree.row(source, "a"), cells: [0: "b"])])
    // Hard links can still exchange their names.
    let before = tree.snapshot()
    let result = try tree.set(source, ["a": [0: "b"], "b": [0: "a"]])
    #expect(result.outcomes.map(\.code) == [nil, nil])
    #expect(tree.snapshot() == before)
  }

  @Test func settingWhatIsThereIsNoChange() throws {
    tree.make("a")
    let before = tree.snapshot()
    let source = try tree.open()
    let cells = try readAll(source)[0]
    let version = try source.version()
    let result = try source.commit(
      EditBatch([.set(try tree.row(source, "a"), cells: [0: cells[0], 3: cells[3], 4: cells[4]])]))
    #expect(result.outcomes.map(\.code) == [nil] && result.receipt == nil)
    #expect(result.changes == ChangeBatch(from: version, to: version, changes: []))
    #expect(tree.snapshot() == before)
  }

  /// In a tree a name is a path, so setting it renames, moves, or both.
  @Test func pathsAreNames() throws {
    for name in ["one/", "two/"] { tree.make(Array(name.utf8)) }
    tree.make("one/a", "b")
    let source = try tree.open { $0.isRecursive = true }
    for (value, folder) in [("one/x/y", "one/x/"), ("/one/a", "/one/"), ("three/a", "three/")] {
      tree.expectRefusal(
        .notFound, "no folder \(folder)", source,
        [.set(try tree.row(source, "one/a"), cells: [0: .text(value)])])
      tree.expectRefusal(
        .notFound, "no folder \(folder)", source,
        [.insert(at: IndexPath(section: 0, row: 0), cells: [0: .text(value)])])
    }
    for value in ["one/", "two/", ""] {
      let part =
        value == "" ? "cannot be empty" : "\(value) has no name at its end: write \(value)NAME"
      tree.expectRefusal(
        .constraint, part, source,
        [.set(try tree.row(source, "one/a"), cells: [0: .text(value)])])
    }
    tree.expectRefusal(
      .constraint, "named b exists already", source,
      [.set(try tree.row(source, "one/a"), cells: [0: "b"])]
    )
    tree.expectRefusal(
      .constraint, "into itself", source, [.set(try tree.row(source, "one"), cells: [0: "one/o"])])
    let result = try source.commit(
      EditBatch([
        .set(try tree.row(source, "one"), cells: [0: "uno"]),
        .set(try tree.row(source, "one/a"), cells: [0: "one/z"]),
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "two/n"]),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil])
    #expect(tree.exists("uno/z") && tree.exists("two/n") && !tree.exists("one"))
    #expect(
      try result.outcomes.map { try source.indexPath(forID: $0.id!).row } == [3, 4, 2])
    let receipt = try #require(result.receipt)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("one/a") && !tree.exists("two/n"))

    // Into an empty folder, and back out of one.
    let before = tree.snapshot()
    let moved = try tree.set(source, ["b": [0: "two/c"], "one/a": [0: "a"]])
    #expect(moved.outcomes.map(\.code) == [nil, nil])
    #expect(
      moved.outcomes.map(\.message)
        == [nil, "moved out of its folder, because in a tree the name is a path"])
    #expect(tree.snapshot()["two/c"] == before["b"] && tree.snapshot()["a"] == before["one/a"])
    #expect(try moved.outcomes.map { try source.indexPath(forID: $0.id!).row } == [3, 0])
    #expect(try source.undo(#require(moved.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)
  }

  // Modes and times

  @Test func modesAsShownAndInOctal() throws {
    tree.make("a")
    #expect(symlink("a", tree.path("link")) == 0)
    let source = try tree.open()
    for (text, mode) in [
      ("rw-r-----", 0o640), ("644", 0o644), ("0600", 0o600), ("rwsr-Sr-T", 0o7744 & 0o7744),
      ("---------", 0), ("4755", 0o4755), ("rwxrwxrwt", 0o1777), ("7777", 0o7777),
    ] as [(String, UInt32)] {
      let wanted = text == "rwsr-Sr-T" ? 0o7744 : mode
      #expect(try tree.set(source, ["a": [4: .text(text)]]).outcomes[0].code == nil, "\(text)")
      #expect(tree.snapshot()["a"]?.mode == S_IFREG | wanted, "\(text)")
      // The shown text of a mode can be set.
      let shown = try readAll(source)[0][4]
      #expect(try tree.set(source, ["a": [4: shown]]).receipt == nil)
    }
    for text in [
      "", "64", "888", "07777", "rwxrwxrw", "rwxrwxrwxx", "xwrxwrxwr", "rwtrwxrwx", "rwxrwxrws",
      "sss------", "u+x", "0x1",
    ] {
      tree.expectRefusal(
        .constraint, "permissions like", source,
        [.set(try tree.row(source, "a"), cells: [4: .text(text)])])
    }
    tree.expectRefusal(
      .constraint, "has no mode", source,
      [.set(try tree.row(source, "link"), cells: [4: "644"])])
    #expect(try tree.set(source, ["link": [4: "rwxrwxrwx"]]).outcomes[0].code == nil)
  }

  @Test func timesKeepTheTimeOfAccess() throws {
    tree.make("a", "file")
    #expect(symlink("file", tree.path("link")) == 0)
    let times = [timespec(tv_sec: 1000, tv_nsec: 7), timespec(tv_sec: 2000, tv_nsec: 8)]
    #expect(utimensat(AT_FDCWD, tree.path("a"), times, 0) == 0)
    let before = tree.snapshot()
    let source = try tree.open()
    for nanoseconds in [1_700_000_000_123_456_789, 0, -1_500_000_000] as [Int64] {
      let date = Timestamp(nanoseconds: nanoseconds)
      let result = try tree.set(source, ["a": [3: .date(date)], "link": [3: .date(date)]])
      #expect(result.outcomes.map(\.code) == [nil, nil])
      let rows = try readAll(source)
      #expect(rows[0][3] == .date(date) && rows[2][3] == .date(date))
      var status = stat()
      #expect(lstat(tree.path("a"), &status) == 0)
      #expect(status.st_atim.tv_sec == 1000 && status.st_atim.tv_nsec == 7)
      #expect(tree.snapshot()["file"] == before["file"])
      let receipt = try #require(result.receipt)
      #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
      #expect(tree.snapshot() == before)
    }
  }

  /// On a file system that cannot represent a time, the host mistook the different value for a lie, and the receipt had
  /// the wrong time.
  @Test(.needs(.clampedTimes))
  func timesThatTheFileSystemKeepsOtherwise() throws {
    tree.make([UInt8]("d/".utf8))
    tree.make("a")
    let own = try tree.open()
    let source = try importSource(exportSource(own), provider: "directory")
    let editing = try #require(source.editing)
    let (a, d) = (try tree.row(own, "a"), try tree.row(own, "d"))
    func kept(_ name: String) throws -> Timestamp {
      let moment = try #require(tree.snapshot()[name]?.modified)
      return try #require(Timestamp(seconds: Int64(moment[0]), nanoseconds: Int64(moment[1])))
    }
    var isSaid: Set<Bool> = []
    for nanoseconds in [.min, -8_520_336_000_000_000_005, 1_500_000_000, .max] as [Int64] {
      let before = tree.snapshot()
      let date = Timestamp(nanoseconds: nanoseconds)
      let edits = [a, d].map { EditBatch.Edit.set($0, cells: [3: .date(date)]) }
      #expect(
        try editing.commit(EditBatch(edits, isDryRun: true)).outcomes.map(\.code) == [nil, nil])
      let result = try editing.commit(EditBatch(edits))
      for (name, outcome) in zip(["a", "d"], result.outcomes) {
        let kept = try kept(name)
        isSaid.insert(kept == date)
        #expect(outcome.code == nil)
        #expect(outcome.message == (kept == date ? nil : "the file system stored \(kept)"))
      }
      #expect(try readAll(source).map { $0[3] } == [.date(kept("a")), .date(kept("d"))])
      let after = tree.snapshot()
      let undoing = try #require(source.undoing)
      let undone = try undoing.undo(#require(result.receipt), isDryRun: false)
      #expect(undone.outcomes[0].code == nil && tree.snapshot() == before)
      let again = try undoing.undo(#require(undone.receipt), isDryRun: false)
      #expect(again.outcomes[0].code == nil && tree.snapshot() == after)

      let inserted = try editing.commit(
        EditBatch([
          .insert(at: IndexPath(section: 0, row: 0), cells: [0: "new", 3: .date(date), 4: "600"])
        ]))
      let time = try kept("new")
      #expect(
        inserted.outcomes[0].message == (time == date ? nil : "the file system stored \(time)"))
      #expect(
        try undoing.undo(#require(inserted.receipt), isDryRun: false).outcomes[0].code == nil)
      #expect(!tree.exists("new"))
    }
    #expect(isSaid == [true, false])
  }

  /// The time of a folder was not set if it equalled the folder's time before the batch, although the batch changed it.
  @Test func timesOfFoldersStayAsAskedFor() throws {
    tree.make([UInt8]("d/".utf8))
    tree.make("d/a")
    let source = try tree.open { $0.isRecursive = true }
    let time = try readAll(source)[0][3]
    let result = try tree.set(source, ["d": [3: time], "d/a": [0: "d/b"]])
    #expect(result.outcomes.map(\.code) == [nil, nil])
    #expect(try readAll(source)[0][3] == time)
    #expect(try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("d/a"))
  }

  // Insertions

  @Test func whatIsInserted() throws {
    tree.make("taken")
    let source = try tree.open()
    let place = IndexPath(section: 0, row: 0)
    for (cells, code, part) in [
      ([1: "file"], .constraint, "add name=NAME"), ([0: "taken"], .constraint, "already"),
      ([0: "a/b"], .constraint, "slash"), ([0: "x", 1: "fifo"], .constraint, "file, directory"),
      ([0: "x", 1: "link"], .constraint, "target must be"),
      ([0: "x", 8: "y"], .constraint, "target must be"),
      ([0: "x", 1: "link", 8: "y", 4: "644"], .constraint, "mode must be"),
      ([0: "x", 2: 7], .readOnly, "size cannot be chosen"),
      ([0: "x", 4: "nonsense"], .constraint, "permissions like"),
    ] as [([Int: Cell], TableError.Code, String)] {
      tree.expectRefusal(code, part, source, [.insert(at: place, cells: cells)])
    }
    tree.expectRefusal(
      .notSupported, "sections=folder", source, [.insertSection(at: 0, title: "x")])
    tree.expectRefusal(
      .constraint, "two entries", source,
      [.insert(at: place, cells: [0: "x"]), .insert(at: place, cells: [0: "x"])])

    let date = Timestamp(seconds: 1234, nanoseconds: 5)!
    let before = tree.snapshot()
    let result = try source.commit(
      EditBatch([
        .insert(at: place, cells: [0: "f", 3: .date(date), 4: "rw-------"]),
        .insert(at: place, cells: [0: "d", 1: "directory", 4: "1700"]),
        .insert(at: place, cells: [0: "l", 1: "link", 8: "nowhere", 3: .date(date)]),
        .insert(at: place, cells: [0: ".h", 1: nil]),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil, nil])
    #expect(result.outcomes[3].message == ".h is hidden; use -o hidden=true to show it")
    #expect(result.outcomes.map { $0.id != nil } == [true, true, true, false])
    let after = tree.snapshot()
    #expect(after["f"]?.mode == S_IFREG | 0o600 && after["f"]?.modified == [1234, 5])
    #expect(after["d"]?.mode == S_IFDIR | 0o1700)
    #expect(after["l"]?.kind == S_IFLNK && after["l"]?.modified == [1234, 5])
    #expect(after[".h"]?.size == 0)
    #expect(try readAll(source).map { $0[0] } == ["d", "f", "l", "taken"])
    let receipt = try #require(result.receipt)

    // An entry with content stays, and so does everything else.
    try tree.folder.write("tree/d/new", "")
    #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(unlink(tree.path("d/new")) == 0)
    try tree.folder.write("tree/f", "written")
    #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(tree.snapshot().entries.count == after.entries.count)
    try tree.folder.write("tree/f", "")
    #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    let times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1234, tv_nsec: 5)]
    // Foundation may have replaced it by a new file.
    if tree.snapshot()["f"]?.inode == after["f"]?.inode {
      #expect(utimensat(AT_FDCWD, tree.path("f"), times, 0) == 0)
      #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
      #expect(tree.snapshot() == before)
    }
  }

  /// An empty folder is a section and can be filled.
  @Test func firstEntry() throws {
    let source = try tree.open { $0.hasSections = true }
    #expect(try source.numberOfSections(knowing: .max) == .exact(1))
    let result = try source.commit(
      EditBatch([.insert(at: IndexPath(section: 0, row: 0), cells: [0: "first"])]))
    #expect(result.outcomes[0].code == nil && tree.exists("first"))
    #expect(try source.numberOfSections(knowing: .max) == .exact(1))
  }

  // Moves

  @Test func movesBetweenFolders() throws {
    for name in ["a/", "a/in/", "b/"] { tree.make(Array(name.utf8)) }
    tree.make("a/x", "a/in/deep", "b/m", "b/x", "top")
    let source = try tree.open {
      $0.isRecursive = true
      $0.hasSections = true
    }
    // Sections: the root, a, a/in, b.
    let moving = try #require(source.moving)
    #expect(try moving.movability(ofRows: 0..<3, inSection: 0) == [true, true, true])
    func target(_ from: (Int, Int), _ to: (Int, Int)) throws -> Tabella.IndexPath {
      try moving.target(
        ofMoveFrom: IndexPath(section: from.0, row: from.1),
        to: IndexPath(section: to.0, row: to.1))
    }
    #expect(try target((0, 2), (3, 0)) == IndexPath(section: 3, row: 1))
    #expect(try target((2, 0), (3, 2)) == IndexPath(section: 3, row: 0))
    #expect(try target((0, 0), (0, 0)) == IndexPath(section: 0, row: 0))
    for (from, to) in [((0, 0), (0, 1)), ((1, 1), (3, 0)), ((0, 0), (1, 0)), ((0, 0), (2, 0))] {
      let error = #expect(throws: TableError.self) { try target(from, to) }
      #expect(error?.code == .constraint)
    }
    func move(_ from: (Int, Int), _ to: Int) -> EditBatch.Edit {
      .move(
        .path(IndexPath(section: from.0, row: from.1)), to: IndexPath(section: to, row: 0))
    }
    tree.expectRefusal(
      .constraint, "order of their names", source,
      [.move(.path(IndexPath(section: 0, row: 0)), to: IndexPath(section: 0, row: 2))])
    tree.expectRefusal(.constraint, "into itself", source, [move((0, 0), 1)])
    tree.expectRefusal(.constraint, "into itself", source, [move((0, 0), 2)])
    tree.expectRefusal(.constraint, "already", source, [move((1, 1), 3)])
    tree.expectRefusal(.notFound, "no section 9", source, [move((0, 2), 9)])
    tree.expectRefusal(
      .constraint, "moved in the same batch", source, [move((0, 0), 3), move((0, 1), 2)])
    tree.expectRefusal(
      .constraint, "deleted in the same batch", source,
      [.delete(.path(IndexPath(section: 0, row: 0))), move((1, 1), 0)])

    let before = tree.snapshot()
    let result = try source.commit(
      EditBatch([
        // The two entries named x exchange their folders. A folder moves with its content.
        move((1, 1), 3), move((3, 1), 1), move((1, 0), 3), move((0, 2), 1),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil, nil])
    let after = tree.snapshot()
    #expect(after["b/x"] == before["a/x"] && after["a/x"] == before["b/x"])
    #expect(after["b/in/deep"] == before["a/in/deep"] && after["a/top"] == before["top"])
    let receipt = try #require(result.receipt)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)
  }

  // Many edits

  /// Finding a row by its id searched all rows each time, and reporting a new row searched all new ones, so twice as
  /// many edits took four times as long.
  @Test func manyEditsTakeNoTimeEach() throws {
    let tree = EditedTree(inMemory: true)
    let (folders, files) = (takesAllRoads ? 300 : 75, 100)
    for folder in 0..<folders {
      tree.make(Array("f\(folder)/".utf8))
      for file in 0..<files {
        close(open(tree.path("f\(folder)/\(file)"), O_CREAT | O_CLOEXEC, 0o644))
      }
    }
    let source = try tree.open { $0.isRecursive = true }
    let count = folders * (files + 1)
    let ids = try (0..<count).map { row in
      try #require(
        try source.rows(
          RowRequest(section: 0, first: row, count: 1, columns: [], includesIDs: true)
        ).id(0))
    }
    let clock = ContinuousClock()
    let found = clock.now
    for (row, id) in ids.enumerated() {
      #expect(try source.indexPath(forID: id) == IndexPath(section: 0, row: row))
    }
    #expect(clock.now - found < .seconds(15))
    let inserted = clock.now
    let edits = (0..<count).map { number in
      EditBatch.Edit.insert(
        at: IndexPath(section: 0, row: 0),
        cells: [0: .text("f\(number % folders)/new \(number)")])
    }
    let result = try source.commit(EditBatch(edits, isDryRun: true))
    #expect(result.outcomes.count == count && clock.now - inserted < .seconds(15))
    // With sections, too, a row is found by the number of its folder.
    let sections = try tree.open {
      $0.isRecursive = true
      $0.hasSections = true
    }
    for section in 0...folders {
      let id = try #require(
        try sections.rows(
          RowRequest(section: section, first: 1, count: 1, columns: [], includesIDs: true)
        ).id(0))
      #expect(try sections.indexPath(forID: id) == IndexPath(section: section, row: 1))
    }
  }

  // Conflicts

  /// An entry that is no longer the listed one stays untouched, and nothing else of the batch is done.
  @Test func replacedEntriesAreConflicts() throws {
    for name in ["sub/", "other/"] { tree.make(Array(name.utf8)) }
    tree.make("a", "b", "c", "sub/x", "other/x")
    #expect(rename(tree.path("c"), tree.path("kept")) == 0)
    tree.make("c")
    let flat = try tree.open()
    let deep = try tree.open { $0.isRecursive = true }
    let (a, b, c) = (try tree.row(flat, "a"), try tree.row(flat, "b"), try tree.row(flat, "c"))
    let x = try tree.row(deep, "sub/x")
    // b is another file now, c is gone, and sub is a link to other.
    #expect(rename(tree.path("kept"), tree.path("b")) == 0)
    #expect(unlink(tree.path("c")) == 0)
    #expect(rename(tree.path("sub"), tree.path("away")) == 0)
    #expect(symlink("other", tree.path("sub")) == 0)
    for row in [b, c] {
      for edit in [
        .delete(row), .set(row, cells: [0: "z"]), .set(row, cells: [4: "600"]),
        .set(row, cells: [3: .date(Timestamp(nanoseconds: 1))]),
      ] as [EditBatch.Edit] {
        tree.expectRefusal(
          .conflict, "was replaced or has vanished", flat,
          [.set(a, cells: [0: "first"]), edit])
      }
    }
    for edit in [.delete(x), .set(x, cells: [0: "sub/z"])] as [EditBatch.Edit] {
      tree.expectRefusal(.conflict, "vanished", deep, [edit])
    }
    tree.expectRefusal(
      .conflict, "vanished", deep,
      [.insert(at: IndexPath(section: 0, row: 0), cells: [0: "sub/new"])])
    #expect(try tree.open().version() != flat.version())
    let error = #expect(throws: TableError.self) {
      try flat.commit(EditBatch([.delete(a)], version: Version("stale")))
    }
    #expect(error?.code == .conflict)
    // Unchanged entries can still be edited.
    #expect(try flat.commit(EditBatch([.delete(a)])).outcomes[0].code == nil)
  }

  /// Undo finds everything as the batch left it, or does nothing.
  @Test func undoChecksAll() throws {
    tree.make("a", "b", "c", "m")
    let source = try tree.open()
    let result = try source.commit(
      EditBatch([
        .set(try tree.row(source, "a"), cells: [0: "z"]), .delete(try tree.row(source, "b")),
        .set(try tree.row(source, "m"), cells: [4: "600", 3: .date(Timestamp(nanoseconds: 9))]),
      ]))
    let receipt = try #require(result.receipt)
    func expectConflict(_ change: () -> Void, _ restore: () -> Void) throws {
      change()
      let before = tree.snapshot()
      let error = #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
      #expect(error?.code == .conflict)
      #expect(tree.snapshot() == before)
      restore()
    }
    func rename(_ from: String, _ to: String) {
      #expect(Glibc.rename(tree.path(from), tree.path(to)) == 0)
    }
    try expectConflict({ tree.make("a") }, { unlink(tree.path("a")) })
    try expectConflict({ tree.make("b") }, { unlink(tree.path("b")) })
    try expectConflict({ rename("z", "y") }, { rename("y", "z") })
    try expectConflict({ chmod(tree.path("m"), 0o644) }, { chmod(tree.path("m"), 0o600) })
    let inTrash = tree.trashPath + "/files/"
    try expectConflict(
      { #expect(Glibc.rename(inTrash + "b", inTrash + "q") == 0) },
      { #expect(Glibc.rename(inTrash + "q", inTrash + "b") == 0) })
    let other = try TemporaryFolder()
    let elsewhere = try tree.open(other.path)
    #expect(throws: TableError.self) { try elsewhere.undo(receipt, isDryRun: false) }
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("a") && tree.exists("b") && !tree.exists("z"))
  }

  /// An undo had no receipt, so the edit could not be repeated.
  @Test func undoCanBeUndone() throws {
    for name in ["d/", "e/"] { tree.make(Array(name.utf8)) }
    tree.make("d/in", "e/in", "a", "b")
    let source = try tree.open {
      $0.isRecursive = true
      $0.hasSections = true
    }
    let before = tree.snapshot()
    let date = Cell.date(Timestamp(nanoseconds: 9))
    let section = try #require(
      try (0..<3).first { try source.title(.header, ofSection: $0) == "e" })
    let result = try source.commit(
      EditBatch([
        .set(try tree.row(source, "d"), cells: [0: "e", 4: "500"]),
        .set(try tree.row(source, "e"), cells: [0: "d", 3: date]),
        .set(try tree.row(source, "a"), cells: [0: "c", 4: "600", 3: date]),
        .move(try tree.row(source, "b"), to: IndexPath(section: section, row: 0)),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil, nil])
    let after = tree.snapshot()
    #expect(tree.exists("d/b") && tree.exists("c") && after["e"]?.mode == S_IFDIR | 0o500)
    var receipt = try #require(result.receipt)
    for _ in 0..<3 {
      let undone = try source.undo(receipt, isDryRun: false)
      #expect(undone.outcomes[0].code == nil, "\(undone.outcomes[0].message ?? "")")
      #expect(tree.snapshot()["d"]?.mode == before["d"]?.mode)
      #expect(tree.exists("e/in") && tree.exists("a") && tree.exists("b"))
      let again = try source.undo(#require(undone.receipt), isDryRun: false)
      #expect(again.outcomes[0].code == nil, "\(again.outcomes[0].message ?? "")")
      #expect(tree.exists("d/b") && tree.exists("d/in") && tree.exists("c"))
      #expect(tree.snapshot()["e"]?.mode == after["e"]?.mode)
      #expect(tree.snapshot()["c"] == after["c"])
      receipt = try #require(again.receipt)
    }
    // An undo that cannot be reverted has no receipt.
    let fresh = try tree.open()
    let inserted = try fresh.commit(
      EditBatch([.insert(at: IndexPath(section: 0, row: 0), cells: [0: "new"])]))
    #expect(try fresh.undo(#require(inserted.receipt), isDryRun: false).receipt == nil)
    let deleted = try fresh.commit(EditBatch([.delete(try tree.row(fresh, "c"))]))
    #expect(try fresh.undo(#require(deleted.receipt), isDryRun: false).receipt == nil)
  }

  /// The host treated it as a lie that a mode set as 644 reads as rw-r--r--.
  @Test func whatReadsOtherwiseIsSaid() throws {
    tree.make([UInt8]("d/".utf8))
    tree.make("d/x", "a")
    let source = try tree.open { $0.isRecursive = true }
    func messages(_ names: [String: [Int: Cell]]) throws -> [String?] {
      let result = try tree.set(source, names)
      #expect(result.outcomes.allSatisfy { $0.code == nil })
      return result.outcomes.map(\.message)
    }
    #expect(try messages(["a": [4: "640"]]) == ["the mode is rw-r-----"])
    #expect(try messages(["a": [4: "640"]]) == ["the mode is rw-r-----"])
    #expect(try messages(["a": [4: "rw-r--r--"]]) == [nil])
    #expect(
      try messages(["d": [0: "e"], "d/x": [0: "d/y"]]) == [nil, "the name is e/y"])
    #expect(
      try messages(["e/y": [0: "e/x", 3: .date(Timestamp(nanoseconds: 1_000_000_000))]]) == [nil])
  }

  /// Two records that leave the same name made an endless loop.
  @Test func hostileReceiptsEnd() throws {
    tree.make("a")
    let source = try tree.open()
    let result = try tree.set(source, ["a": [0: "x"]])
    var receipt = try Receipt(bytes: #require(result.receipt))
    guard case .relocated(_, let x, let identity, _) = receipt.records[0] else { return }
    let (a, b) = (FolderEntry(folder: 0, name: [97]), FolderEntry(folder: 0, name: [98]))
    receipt.records = [
      .relocated(from: a, to: x, identity, isAcross: false),
      .relocated(from: b, to: x, identity, isAcross: false),
    ]
    let error = #expect(throws: TableError.self) {
      try source.undo(receipt.bytes, isDryRun: true)
    }
    #expect(error?.code == .invalidArgument)
  }

  /// Bytes that are not a receipt are refused, whatever they are.
  @Test func damagedReceiptsAreRefused() throws {
    tree.make("a", "b")
    let source = try tree.open()
    let result = try tree.set(source, ["a": [0: "c", 4: "600"], "b": [0: "a"]])
    let receipt = try #require(result.receipt)
    let before = tree.snapshot()
    var generator = SeededGenerator(seed: 7)
    func expectRefused(_ bytes: [UInt8]) {
      #expect(throws: TableError.self) { try source.undo(bytes, isDryRun: false) }
    }
    for count in 0..<receipt.count { expectRefused(Array(receipt[..<count])) }
    for foreign in ["", "\n", "x", "tabella-directory-1 1 1\n", "tabella-save-1 a b\n"] {
      expectRefused(Array(foreign.utf8))
    }
    expectRefused(receipt + receipt)
    expectRefused(receipt + [10])
    // Lines that are missing, duplicated or in another order.
    let lines = receipt.split(separator: 10).map { Array($0) + [10] }
    for index in lines.indices.dropFirst() {
      expectRefused(Array((lines[..<index] + lines[(index + 1)...]).joined()))
      expectRefused(Array((lines[...index] + lines[index...]).joined()))
    }
    // Every such receipt is refused or could be executed.
    for _ in 0..<3000 {
      var hostile = receipt
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let index = Int.random(in: hostile.indices, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
          hostile[index] =
            [0, 10, 32, 37, 45, 46, 47, 48, 49, 57, 58, 0xFF].randomElement(using: &generator)!
        case 1: hostile.remove(at: index)
        default: hostile.insert(hostile.randomElement(using: &generator)!, at: index)
        }
      }
      _ = try? source.undo(hostile, isDryRun: true)
    }
    #expect(tree.snapshot() == before)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
  }
}

extension Need {
  fileprivate static let clampedTimes = Need("temporary files without old times, as on ext4") {
    guard let folder = try? TemporaryFolder() else { return false }
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: -8_520_336_000, tv_nsec: 0)]
    var status = stat()
    return utimensat(AT_FDCWD, folder.path, times, 0) == 0 && lstat(folder.path, &status) == 0
      && status.st_mtim.tv_sec != -8_520_336_000
  }
}
