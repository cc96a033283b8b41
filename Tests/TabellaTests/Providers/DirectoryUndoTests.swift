import Foundation
import Tabella
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Undo reverts the whole batch, or reports the remaining part. It never reverts changes by others.
@Suite struct DirectoryUndoTests {
  let tree = EditedTree()

  private func status(_ path: String) -> stat {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    return status
  }

  /// Removes a file or link and creates others until one has the freed inode. Returns false if none gets it.
  private func replace(_ name: String, _ make: (String) -> Void) -> Bool {
    let inode = status(tree.path(name)).st_ino
    #expect(unlink(tree.path(name)) == 0)
    // The ticks of the clock distinguish the times.
    usleep(20_000)
    for number in 0..<300 {
      make(tree.path(name))
      if status(tree.path(name)).st_ino == inode { return true }
      #expect(rename(tree.path(name), "\(tree.folder.path)/home/\(number)") == 0)
    }
    return false
  }

  private func makeFile(_ path: String) {
    close(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o644))
  }

  private func expectConflict(
    _ source: DirectorySource, _ receipt: [UInt8], _ part: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let before = tree.snapshot()
    for isDryRun in [true, false] {
      let error = #expect(throws: TableError.self, sourceLocation: sourceLocation) {
        try source.undo(receipt, isDryRun: isDryRun)
      }
      #expect(error?.code == .conflict, sourceLocation: sourceLocation)
      #expect(
        error?.message.contains(part) == true, "\(error?.message ?? "")",
        sourceLocation: sourceLocation)
    }
    #expect(tree.snapshot() == before, sourceLocation: sourceLocation)
  }

  // Strangers

  /// A new file that reused the inode of a renamed file was renamed in its place.
  @Test func inodesAreUsedAgain() throws {
    tree.make("a", "m", "t")
    let source = try tree.open()
    let date = Cell.date(Timestamp(nanoseconds: 9))
    for (name, cells) in [("a", [0: "b"]), ("m", [4: "600"]), ("t", [3: date])] {
      let receipt = try #require(tree.set(source, [name: cells]).receipt)
      let now = name == "a" ? "b" : name
      let mode = status(tree.path(now)).st_mode & 0o7777
      let isReplaced = replace(now) { path in
        makeFile(path)
        #expect(chmod(path, mode) == 0)
        if name == "t" {
          let times = [timespec(tv_sec: 0, tv_nsec: 9), timespec(tv_sec: 0, tv_nsec: 9)]
          #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        }
      }
      if isReplaced { expectConflict(source, receipt, "\(now) was replaced") }
    }
    // The same if inodes are not reused at once.
    tree.make("last")
    source.reload()
    let receipt = try #require(tree.set(source, ["last": [0: "c"]]).receipt)
    var other = try Receipt(bytes: receipt)
    guard case .relocated(let from, let to, var identity, _) = other.records[0],
      identity.birth != nil
    else { return }
    identity.birth?.seconds -= 1
    other.records = [.relocated(from: from, to: to, identity, isAcross: false)]
    expectConflict(source, other.bytes, "c was replaced")
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
  }

  /// Another link with the inode of a created one was permanently removed.
  @Test func otherLinksStay() throws {
    let source = try tree.open()
    let place = IndexPath(section: 0, row: 0)
    let receipt = try #require(
      source.commit(EditBatch([.insert(at: place, cells: [0: "l", 1: "link", 8: "mine"])]))
        .receipt)
    var other = try Receipt(bytes: receipt)
    guard case .created(let made, let identity, var contents) = other.records[0] else { return }
    contents.target = Array("other".utf8)
    other.records = [.created(made, identity, contents)]
    expectConflict(source, other.bytes, "l was changed after the edit")
    if replace("l", { #expect(symlink("other", $0) == 0) }) {
      expectConflict(source, receipt, "l was replaced")
    }
    unlink(tree.path("l"))
    let second = try source.commit(
      EditBatch([.insert(at: place, cells: [0: "l", 1: "link", 8: "mine"])]))
    #expect(try source.undo(#require(second.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(!tree.exists("l"))
  }

  /// A file that another program had trashed under the same name, from another folder, was restored.
  @Test func othersTrashStays() throws {
    tree.make("a")
    let source = try tree.open()
    let receipt = try #require(
      source.commit(EditBatch([.delete(try tree.row(source, "a"))])).receipt)
    let (file, info) = (tree.trashPath + "/files/a", tree.trashPath + "/info/a.trashinfo")
    let own = try String(contentsOfFile: info, encoding: .utf8)
    for text in [
      own.replacingOccurrences(of: "/a\n", with: "/elsewhere/a\n"),
      own.replacingOccurrences(of: "DeletionDate=2", with: "DeletionDate=1"), "", own + "x\n",
    ] {
      #expect(text != own)
      try text.write(toFile: info, atomically: false, encoding: .utf8)
      expectConflict(source, receipt, "a is no longer in the trash")
    }
    #expect(unlink(info) == 0)
    expectConflict(source, receipt, "a is no longer in the trash")
    #expect(access(file, F_OK) == 0)
    try own.write(toFile: info, atomically: false, encoding: .utf8)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.exists("a"))
  }

  // Times

  /// Undo set the time of a folder to the one during the batch, not to the one before it.
  @Test func foldersGetTheirTimesBack() throws {
    for name in ["A/", "in/"] { tree.make(Array(name.utf8)) }
    tree.make("x", "in/y")
    let times = [
      timespec(tv_sec: 978_307_200, tv_nsec: 5), timespec(tv_sec: 978_307_200, tv_nsec: 5),
    ]
    #expect(utimensat(AT_FDCWD, tree.path("A"), times, 0) == 0)
    let source = try tree.open { $0.isRecursive = true }
    let date = Cell.date(Timestamp(nanoseconds: 9))
    let result = try tree.set(
      source, ["A": [0: "B", 3: date], "x": [0: "A/x"], "in/y": [0: "A/y"]])
    #expect(result.outcomes.map(\.code) == [nil, nil, nil])
    #expect(tree.snapshot()["B"]?.modified == [0, 9])
    let undone = try source.undo(#require(result.receipt), isDryRun: false)
    #expect(undone.outcomes[0].code == nil)
    #expect(tree.snapshot()["A"]?.modified == [978_307_200, 5])
    let again = try source.undo(#require(undone.receipt), isDryRun: false)
    #expect(again.outcomes[0].code == nil && tree.snapshot()["B"]?.modified == [0, 9])
  }

  // In part

  /// An undo that was possible only in part counted as complete, and the rest was refused without a way to recover it.
  @Test(.needs(.mounts))
  func theRestCanBeTakenBack() throws {
    for name in ["disk/", "here/", "D/"] { tree.make(Array(name.utf8)) }
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make("c", "D/in")
    tree.make(Array("disk/a".utf8), String(repeating: "0", count: 12 << 20))
    func open() throws -> DirectorySource {
      try tree.open {
        $0.isRecursive = true
        $0.movesAcross = true
      }
    }
    let source = try open()
    let before = tree.snapshot()
    let date = Cell.date(Timestamp(nanoseconds: 9))
    let result = try source.commit(
      EditBatch([
        .set(try tree.row(source, "disk/a"), cells: [0: "here/a", 3: date]),
        .set(try tree.row(source, "c"), cells: [0: "here/c", 3: date]),
        .set(try tree.row(source, "D"), cells: [0: "E", 4: "700"]),
        .set(try tree.row(source, "D/in"), cells: [0: "D/out"]),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil, nil], "\(result.outcomes)")
    var receipt = try #require(result.receipt)
    tree.make(Array("disk/full".utf8), String(repeating: "0", count: 8 << 20))
    for attempt in 0..<3 {
      let later = try open()
      let version = try later.version()
      tree.make("new \(attempt)")
      let part = try later.undo(receipt, isDryRun: false)
      #expect(part.outcomes[0].code == .io)
      if attempt == 0 {
        // Everything except the file that does not fit, and the times.
        #expect(tree.exists("c") && tree.exists("D/in") && !tree.exists("E"))
        let message = try #require(part.outcomes[0].message)
        #expect(
          message.hasPrefix("4 of 7 changes were undone: here/a cannot be copied"), "\(message)"
        )
        #expect(part.changes.changes == nil)
        receipt = try #require(part.receipt)
      } else {
        // Nothing more could be done, although the folder changed in the meantime: there was no other undo.
        #expect(part.outcomes[0].message?.hasPrefix("here/a cannot be copied") == true)
        #expect(part.changes == ChangeBatch(from: version, to: version, changes: []))
        #expect(part.receipt == nil)
      }
      #expect(unlink(tree.path("new \(attempt)")) == 0)
    }
    #expect(unlink(tree.path("disk/full")) == 0)
    let done = try open().undo(receipt, isDryRun: false)
    #expect(done.outcomes[0].code == nil, "\(done.outcomes)")
    let after = tree.snapshot()
    #expect(Set(after.entries.keys) == Set(before.entries.keys))
    for name in ["c", "D", "D/in"] { #expect(after[name] == before[name]) }
    #expect(after["disk/a"]?.modified == before["disk/a"]?.modified)
    #expect(after["disk/a"]?.size == 12 << 20)
    let redone = try open().undo(#require(done.receipt), isDryRun: true)
    #expect(redone.outcomes[0].code == nil, "\(redone.outcomes)")
  }
}
