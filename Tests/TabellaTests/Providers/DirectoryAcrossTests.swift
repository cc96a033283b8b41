import CTabellaSystem
import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Moves to another file system, which copy a file with all its attributes.
@Suite(.needs(.mounts))
struct DirectoryAcrossTests {
  let tree = EditedTree()

  @Test func movesAcrossFileSystems() throws {
    for name in ["disk/", "here/", "here/folder/"] { tree.make(Array(name.utf8)) }
    tree.make(Array("here/file".utf8), String(repeating: "0123456789", count: 300_000))
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make(Array("disk/there".utf8), "x")
    #expect(symlink("to", tree.path("here/link")) == 0)
    #expect(chmod(tree.path("here/file"), 0o4640) == 0)
    #expect(
      chown(tree.path("here/file"), 1234, 2345) == 0 && chmod(tree.path("here/file"), 0o4640) == 0)
    let times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 2000, tv_nsec: 3)]
    #expect(utimensat(AT_FDCWD, tree.path("here/file"), times, 0) == 0)
    let before = tree.snapshot()
    func open(across: Bool) throws -> DirectorySource {
      try tree.open {
        $0.isRecursive = true
        $0.hasSections = true
        $0.movesAcross = across
      }
    }
    // Sections: the root, disk, here. Rows of here: file, folder, link.
    func move(_ row: Int) -> EditBatch.Edit {
      .move(.path(IndexPath(section: 2, row: row)), to: IndexPath(section: 1, row: 0))
    }
    let refused = #expect(throws: TableError.self) {
      try open(across: false).commit(EditBatch([move(0)]))
    }
    #expect(refused?.code == .constraint && refused?.message.contains("-o across=true") == true)
    let source = try open(across: true)
    let folder = #expect(throws: TableError.self) {
      try source.commit(EditBatch([move(0), move(1)]))
    }
    #expect(folder?.message.contains("only files and links can be copied") == true)
    #expect(tree.snapshot() == before)

    let result = try source.commit(
      EditBatch([
        move(0), move(2), .set(.path(IndexPath(section: 2, row: 0)), cells: [0: "renamed"]),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil], "\(result.outcomes)")
    #expect(result.outcomes.map(\.message) == [nil, nil, nil])
    let after = tree.snapshot()
    let (old, new) = (try #require(before["here/file"]), try #require(after["disk/renamed"]))
    #expect(new.mode == old.mode && new.size == old.size && new.modified == old.modified)
    var status = stat()
    #expect(lstat(tree.path("disk/renamed"), &status) == 0)
    #expect(status.st_uid == 1234 && status.st_gid == 2345)
    #expect(after["here/file"] == nil && after["here/link"] == nil)
    #expect(after["disk/link"]?.modified == before["here/link"]?.modified)
    #expect(after.entries.count == before.entries.count)
    #expect(try source.indexPath(forID: #require(result.outcomes[0].id)).section == 1)

    // The undo copies the file back.
    #expect(try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    let back = tree.snapshot()
    #expect(Set(back.entries.keys) == Set(before.entries.keys))
    #expect(back["here/file"]?.modified == old.modified && back["here/file"]?.mode == old.mode)
    #expect(
      try String(contentsOfFile: tree.path("here/file"), encoding: .utf8).utf8.count == 3_000_000)

    // If the file does not fit, nothing of it remains.
    let large = tree.path("here/large")
    tree.make(Array("here/large".utf8), String(repeating: "0", count: 20 << 20))
    let full = try open(across: true)
    let failed = try full.commit(EditBatch([move(2)]))
    #expect(failed.outcomes[0].code == .io && failed.receipt == nil, "\(failed)")
    #expect(access(large, F_OK) == 0)
    #expect(namesByReaddir(Array(mount.path.utf8)) == [Array("there".utf8)])
  }

  private func open() throws -> DirectorySource {
    try tree.open {
      $0.isRecursive = true
      $0.movesAcross = true
    }
  }

  private func attribute(_ path: String, _ name: String) -> [UInt8]? {
    let file = Glibc.open(path, O_RDONLY)
    defer { close(file) }
    var value = [UInt8](repeating: 0, count: 256)
    let count = tabella_system_attribute(file, name, &value, value.count)
    return count < 0 ? nil : Array(value.prefix(Int(count)))
  }

  /// An access list in the form of the kernel: a version, then tag, permissions and id of each entry. 0x02 is a named
  /// user, 0x10 the mask.
  private static let list: [UInt8] =
    [2, 0, 0, 0]
    + [(1, 6, -1), (2, 4, 4321), (4, 4, -1), (16, 4, -1), (32, 0, -1)].flatMap {
      (tag: UInt8, rights: UInt8, id: Int32) in
      [tag, 0, rights, 0] + (0..<4).map { UInt8(truncatingIfNeeded: id >> (8 * $0)) }
    }

  private func set(_ path: String, _ name: String, _ value: [UInt8]) -> Bool {
    let file = Glibc.open(path, O_RDONLY)
    defer { close(file) }
    return tabella_system_set_attribute(file, name, value, value.count) == 0
  }

  /// A copy had the access list that its new folder gives to new files, instead of the original's.
  @Test func attributesComeAlong() throws {
    let (acl, standard) = ("system.posix_acl_access", "system.posix_acl_default")
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    tree.make("here/listed", "here/plain")
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    #expect(set(tree.path("here/listed"), acl, Self.list))
    #expect(set(tree.path("disk"), standard, Self.list))
    // Some kernels do not support such attributes in memory.
    let hasNotes = set(tree.path("disk"), "user.note", [1])
    if hasNotes { #expect(set(tree.path("here/plain"), "user.note", [1, 2, 3])) }
    let before = tree.snapshot()
    let source = try open()
    let result = try source.commit(
      EditBatch(
        ["listed", "plain"].map {
          .set(try tree.row(source, "here/\($0)"), cells: [0: .text("disk/\($0)")])
        }))
    #expect(result.outcomes.map(\.code) == [nil, nil], "\(result.outcomes)")
    #expect(result.outcomes.map(\.message) == [nil, nil])
    #expect(attribute(tree.path("disk/listed"), acl) == Self.list)
    #expect(attribute(tree.path("disk/plain"), acl) == nil)
    if hasNotes { #expect(attribute(tree.path("disk/plain"), "user.note") == [1, 2, 3]) }
    for name in ["listed", "plain"] {
      #expect(tree.snapshot()["disk/\(name)"]?.mode == before["here/\(name)"]?.mode)
    }
    #expect(try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(attribute(tree.path("here/listed"), acl) == Self.list)
    #expect(Set(tree.snapshot().entries.keys) == Set(before.entries.keys))
  }

  /// If a file with two names was moved under one, it silently became two files.
  @Test func hardLinksStayTogether() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make("here/a")
    #expect(link(tree.path("here/a"), tree.path("here/b")) == 0)
    let source = try open()
    tree.expectRefusal(
      .constraint, "here/a cannot be moved to another file system: it has 2 names", source,
      [.set(try tree.row(source, "here/a"), cells: [0: "disk/a"])])
    #expect(unlink(tree.path("here/b")) == 0)
    let result = try tree.set(source, ["here/a": [0: "disk/a"]])
    // The undo is refused as well if the copy has two names.
    #expect(link(tree.path("disk/a"), tree.path("disk/b")) == 0)
    let receipt = try #require(result.receipt)
    let error = #expect(throws: TableError.self) { try source.undo(receipt, isDryRun: false) }
    #expect(error?.code == .constraint)
    #expect(unlink(tree.path("disk/b")) == 0)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("here/a") && !tree.exists("disk/a"))
  }

  /// A time that the new file system cannot represent is changed and reported.
  @Test func timesThatTheOtherDoesNotKnow() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make("disk/file")
    #expect(symlink("to", tree.path("disk/link")) == 0)
    let times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: -8_520_336_000, tv_nsec: 5)]
    for name in ["file", "link"] {
      #expect(utimensat(AT_FDCWD, tree.path("disk/\(name)"), times, AT_SYMLINK_NOFOLLOW) == 0)
    }
    #expect(tree.snapshot()["disk/file"]?.modified == [-8_520_336_000, 5])
    let source = try open()
    let result = try source.commit(
      EditBatch(
        ["file", "link"].map {
          .set(try tree.row(source, "disk/\($0)"), cells: [0: .text("here/\($0)")])
        }))
    #expect(result.outcomes.map(\.code) == [nil, nil], "\(result.outcomes)")
    for (name, outcome) in zip(["file", "link"], result.outcomes) {
      let kept = try #require(tree.snapshot()["here/\(name)"]?.modified)
      let time = Timestamp(seconds: Int64(kept[0]), nanoseconds: Int64(kept[1]))
      let remark = try "the file system stored \(#require(time))"
      #expect(outcome.message == (kept == [-8_520_336_000, 5] ? nil : remark))
    }
    #expect(try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("disk/file") && tree.exists("disk/link") && !tree.exists("here/file"))
  }

  // Messages of a dry run

  /// Commits moves from `here` to `disk`, first as a dry run. Both must report the same, and the dry run must change
  /// nothing.
  private func move(
    _ names: [String], deleting: [String] = []
  ) throws -> [TableError.Code?] {
    let source = try tree.open {
      $0.isRecursive = true
      $0.movesAcross = true
      $0.deletesForGood = true
    }
    let edits =
      try deleting.map { EditBatch.Edit.delete(try tree.row(source, $0)) }
      + names.map { .set(try tree.row(source, "here/\($0)"), cells: [0: .text("disk/\($0)")]) }
    let (before, free) = (tree.snapshot(), freeBlocks)
    let foreseen = try source.commit(EditBatch(edits, isDryRun: true))
    #expect(tree.snapshot() == before && foreseen.receipt == nil)
    waitForBlocks(free)
    let done = try source.commit(EditBatch(edits))
    #expect(foreseen.outcomes.map(\.code) == done.outcomes.map(\.code), "\(foreseen) \(done)")
    return done.outcomes.map(\.code)
  }

  /// The free blocks of the file system of `disk`.
  private var freeBlocks: UInt {
    var system = statvfs()
    #expect(statvfs(tree.path("disk"), &system) == 0)
    return UInt(system.f_bfree)
  }

  /// Waits until so many blocks are free. A program that another test starts can hold a deleted file open for a moment.
  private func waitForBlocks(_ count: UInt) {
    for _ in 0..<1000 where freeBlocks < count { usleep(2000) }
  }

  /// A dry run promised success regardless of the free space.
  @Test func aDryRunTriesTheRoomOfTheWholeBatch() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    for name in ["a", "b", "c", "d"] {
      tree.make(Array("here/\(name)".utf8), String(repeating: name, count: 40_000))
    }
    let mount = try #require(Mount(tree.path("disk"), "size=128k"))
    defer { mount.unmount() }
    // Each file takes 10 of 32 pages.
    tree.make(Array("disk/old".utf8), String(repeating: "o", count: 40_000))
    waitForBlocks(22)
    #expect(try move(["a", "b", "c"]) == [nil, nil, .io])
    #expect(try move(["c"]) == [.io])
    // A permanent deletion frees space, and comes first.
    #expect(try move(["c"], deleting: ["disk/old"]) == [nil, nil])
    #expect(try move(["d"]) == [.io])
    #expect(tree.exists("here/d") && tree.exists("disk/c"))
  }

  /// The number of files on a file system can be exhausted, too; a link counts as a file.
  @Test func aDryRunCountsFiles() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    tree.make("here/a", "here/b", "here/c")
    #expect(symlink("to", tree.path("here/link")) == 0)
    let mount = try #require(Mount(tree.path("disk"), "nr_inodes=4"))
    defer { mount.unmount() }
    #expect(try move(["a", "link", "b", "c"]) == [nil, nil, nil, .io])
    let source = try open()
    let new = EditBatch.Edit.insert(
      at: IndexPath(section: 0, row: 0), cells: [0: .text("disk/new")])
    let codes: [TableError.Code?] = try [true, false].map {
      try source.commit(EditBatch([new], isDryRun: $0)).outcomes[0].code
    }
    #expect(codes == [.io, .io])
  }

  /// A dry run counted no block for a link target of 128 bytes, which is one byte more than tmpfs stores in the inode.
  @Test func aDryRunTriesTheTextOfALink() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    for length in [127, 128] {
      let text = String(repeating: "t", count: length)
      #expect(symlink(text, tree.path("here/\(length)")) == 0)
    }
    let mount = try #require(Mount(tree.path("disk"), "size=16k"))
    defer { mount.unmount() }
    tree.make(Array("disk/old".utf8), String(repeating: "o", count: 16_384))
    #expect(try move(["127", "128"]) == [nil, .io])
  }

  /// Trying the space for many files needs few descriptors.
  @Test func aDryRunOfManyFiles() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    for number in 100..<300 { tree.make("here/\(number)") }
    let mount = try #require(Mount(tree.path("disk"), "size=800k"))
    defer { mount.unmount() }
    let line = #"""
      tabella show . --format plain --columns name --with-row $options | grep here/ |
        awk -F'\t' '{ name = $2; sub("here", "disk", name)
          printf "{\"op\":\"set\",\"row\":\"%s\",\"cells\":{\"name\":\"%s\"}}\n", $1, name }' > ../batch
      ulimit -n 64; tabella apply . ../batch --yes $options $DRY
      """#
    func apply(_ dry: String) throws -> ProgramResult {
      try run(
        "/bin/bash", ["-c", line],
        environment: [
          "PATH": "\(buildFolder):\(searchPath)", "XDG_STATE_HOME": tree.folder.path + "/state",
          "options": "-o recursive=true -o across=true", "DRY": dry,
        ], directory: tree.root)
    }
    let foreseen = try apply("--dry-run")
    #expect(foreseen.status == 0 && foreseen.lines.count == 200, "\(foreseen)")
    #expect(namesByReaddir(Array(mount.path.utf8)).isEmpty)
    // One file less fits.
    tree.make(Array("disk/full".utf8), "x")
    let full = try (apply("--dry-run"), apply(""))
    #expect(full.0.status == 1 && full.0.errors.contains("1 of 200 edits would fail"), "\(full.0)")
    #expect(full.1.status == 1 && full.1.errors.contains("1 of 200 edits failed"), "\(full.1)")
  }

  /// A link stayed in such a folder under a temporary name, and could be neither changed nor removed.
  @Test(.needs(.appendOnlyMounts)) func aLinkDoesNotGoWhereNamesAreOnlyAdded() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    tree.make("here/file")
    #expect(symlink("to", tree.path("here/link")) == 0)
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    let chattr = try findProgram("chattr")
    #expect(try run(chattr, ["+a", mount.path]).status == 0)
    defer { _ = try? run(chattr, ["-a", mount.path]) }
    let source = try open()
    tree.expectRefusal(
      .denied, "here/link cannot be moved to another file system: it is a link", source,
      [.set(try tree.row(source, "here/link"), cells: [0: "disk/link"])])
    #expect(namesByReaddir(Array(mount.path.utf8)).isEmpty)
    #expect(try move(["file"]) == [nil])
  }

  /// The run refused an edit for a reason that the dry run had not checked.
  @Test func aDryRunSeesAnotherWriter() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    tree.make("here/file")
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    let writer = Glibc.open(tree.path("here/file"), O_WRONLY | O_CLOEXEC)
    #expect(try move(["file"]) == [.conflict])
    close(writer)
    #expect(try move(["file"]) == [nil])
  }

  /// Dry runs of undo try the space, too.
  @Test func aDryRunOfUndoTriesTheRoom() throws {
    for name in ["disk/", "here/"] { tree.make(Array(name.utf8)) }
    let mount = try #require(Mount(tree.path("here"), "size=128k"))
    defer { mount.unmount() }
    tree.make("here/a")
    tree.make(Array("here/b".utf8), String(repeating: "b", count: 40_000))
    let source = try open()
    let result = try tree.set(source, ["here/a": [0: "disk/a"], "here/b": [0: "disk/b"]])
    let receipt = try #require(result.receipt)
    #expect(try source.undo(receipt, isDryRun: true).outcomes[0].code == nil)
    tree.make(Array("here/filler".utf8), String(repeating: "f", count: 120_000))
    let before = tree.snapshot()
    let foreseen = try source.undo(receipt, isDryRun: true)
    #expect(foreseen.outcomes[0].code == .io && foreseen.receipt == nil, "\(foreseen)")
    #expect(tree.snapshot() == before)
    let done = try source.undo(receipt, isDryRun: false)
    #expect(done.outcomes[0].code == .io, "\(done)")
    #expect(tree.exists("disk/b"))
  }
}

extension Need {
  /// A tmpfs on which chattr +a works, as since Linux 6.6.
  fileprivate static let appendOnlyMounts = Need("a tmpfs with chattr +a", program: "chattr") {
    guard let folder = try? TemporaryFolder(), let mount = Mount(folder.path) else { return false }
    defer { mount.unmount() }
    return (try? run(findProgram("chattr"), ["+a", mount.path]).status) == 0
  }
}
