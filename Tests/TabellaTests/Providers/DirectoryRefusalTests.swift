import CTabellaSystem
import Foundation
import Tabella
import TabellaBridge
import TabellaSDK
import TabellaSystem
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Folders and files that must not be changed: the refusals, in a run and a dry run, and the edits that still work.
@Suite struct DirectoryRefusalTests {
  let tree = EditedTree()

  /// In a folder without any creation, the error was a conflict, and a dry run did not detect it.
  @Test(arguments: ["/proc", "/sys"])
  func whereOnlyTheKernelMakesNames(_ path: String) throws {
    let source = try tree.open(path)
    let rows = try readAll(source)
    let folder = try #require(rows.firstIndex { $0[1] == "directory" })
    var edits: [EditBatch.Edit] = ["file", "directory", "link"].map { kind in
      .insert(
        at: IndexPath(section: 0, row: 0),
        cells: [0: "tabella", 1: .text(kind), 8: kind == "link" ? "x" : nil])
    }
    edits += [
      .set(.path(IndexPath(section: 0, row: folder)), cells: [0: "tabella"]),
      .delete(.path(IndexPath(section: 0, row: folder))),
    ]
    for edit in edits {
      tree.expectRefusal(
        .readOnly, "the folder cannot be changed: only the kernel creates", source, [edit])
    }
    let result = try run(
      buildFolder + "/tabella", ["insert", path, "end", "name=tabella"],
      environment: ["XDG_STATE_HOME": tree.folder.path, "SWIFT_BACKTRACE": "enable=no"])
    #expect(result.status == 4 && result.errors.split(separator: "\n").count == 1)

    // The same message as for another such file system.
    let folders = OpenFolders()
    try folders.add(0, Descriptor(owning: open(path, O_RDONLY | O_DIRECTORY)), path: [])
    let executor = Executor(folders, TrashCans(source.settings.trash, makes: false), CancelFlag())
    let place = FolderEntry(folder: 0, name: Array("tabella".utf8))
    guard case .text(let name) = rows[folder][0] else { return }
    let from = FolderEntry(folder: 0, name: name)
    let identity = Identity(try #require(try folders.status(from)))
    let acts: [Step.Act] = [
      .create(place, Creation()), .create(place, Creation(kind: .directory)),
      .relocate([Relocation(from: from, to: place, identity: identity, edits: [0])]),
    ]
    for act in acts {
      let error = #expect(throws: TableError.self) { try executor.perform(act) }
      let codes: [TableError.Code] =
        path == "/proc" ? [.readOnly] : [.readOnly, .denied, .notSupported]
      #expect(error.map { codes.contains($0.code) } == true, "\(error!)")
    }
    // A removed folder is still a conflict.
    tree.make([UInt8]("gone/".utf8))
    try folders.add(
      1, Descriptor(owning: open(tree.path("gone"), O_RDONLY | O_DIRECTORY)),
      path: Array("gone/".utf8))
    #expect(rmdir(tree.path("gone")) == 0)
    let error = #expect(throws: TableError.self) {
      try executor.perform(.create(FolderEntry(folder: 1, name: [97]), Creation()))
    }
    #expect(error?.code == .conflict)
  }

  /// A dry run, too, reports a read-only file system, even for one that became read-only later.
  @Test(.needs(.mounts))
  func readOnlyFileSystems() throws {
    tree.make([UInt8]("disk/".utf8))
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make("disk/a", "disk/b", "disk/d", "disk/e")
    let source = try tree.open(mount.path)
    let date = Cell.date(Timestamp(nanoseconds: 9))
    let receipts = try [("b", [0: "c"]), ("d", [3: date]), ("e", [4: "600"])].map { name, cells in
      try #require(
        try source.commit(EditBatch([.set(tree.row(source, name), cells: cells)])).receipt)
    }
    for isReadOnly in [true, false] {
      try mount.remount(readOnly: isReadOnly)
      if !isReadOnly { break }
      let a = try tree.row(source, "a")
      for edit in [
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "x"]), .delete(a),
        .set(a, cells: [0: "x"]), .set(a, cells: [3: date]), .set(a, cells: [4: "600"]),
      ] as [EditBatch.Edit] {
        tree.expectRefusal(.readOnly, "Read-only file system", source, [edit])
      }
      let forGood = try tree.open(mount.path) { $0.deletesForGood = true }
      tree.expectRefusal(.readOnly, "Read-only file system", forGood, [.delete(a)])
      for receipt in receipts {
        for isDryRun in [true, false] {
          let error = #expect(throws: TableError.self) {
            try source.undo(receipt, isDryRun: isDryRun)
          }
          #expect(error?.code == .readOnly, "\(error!)")
        }
      }
    }
    for receipt in receipts.reversed() {
      #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    }
  }

  /// Root may do almost everything, so another user tries.
  @Test func permissionsAreSaid() async throws {
    for name in ["closed/", "closed/sub/", "open/", "shut/"] { tree.make(Array(name.utf8)) }
    tree.make("closed/a", "mine", "shut/own")
    // Files of the other user: a folder without write permission, and a file in it.
    if geteuid() == 0 {
      for name in ["shut", "shut/own"] { #expect(chown(tree.path(name), 65534, 65534) == 0) }
    }
    #expect(chmod(tree.path("shut"), 0o555) == 0 && chmod(tree.path("open"), 0o777) == 0)
    #expect(chmod(tree.folder.path, 0o777) == 0 && chmod(tree.root, 0o777) == 0)
    #expect(chmod(tree.path("closed"), 0o555) == 0)
    setenv("TABELLA_TEST_CLOSED", tree.root, 1)
    await #expect(processExitsWith: .success) {
      let root = String(cString: getenv("TABELLA_TEST_CLOSED"))
      let isRoot = geteuid() == 0
      if isRoot { #expect(setuid(65534) == 0) }
      let before = FileTree(Array(root.utf8))
      var settings = DirectorySettings(trash: Trash(home: nil, data: nil))
      settings.isRecursive = true
      let source = try DirectorySource(path: Array(root.utf8), settings)
      let names = ["closed", "closed/a", "closed/sub", "mine", "open", "shut", "shut/own"]
      #expect(try readAll(source).map { $0[0] } == names.map { .text($0) })
      func expectDenied(_ edit: EditBatch.Edit, _ part: String) {
        for isDryRun in [true, false] {
          let error = #expect(throws: TableError.self) {
            try source.commit(EditBatch([edit], isDryRun: isDryRun))
          }
          #expect(error?.code == .denied && error?.message.contains(part) == true, "\(error!)")
        }
      }
      let inClosed = RowReference.path(IndexPath(section: 0, row: 1))
      expectDenied(.set(inClosed, cells: [0: "closed/b"]), "closed/ cannot be changed")
      expectDenied(.delete(inClosed), "closed/ cannot be changed")
      expectDenied(
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "closed/new"]),
        "closed/ cannot be changed")
      if isRoot {
        let mine = RowReference.path(IndexPath(section: 0, row: 3))
        expectDenied(.set(mine, cells: [4: "600"]), "belongs to another user")
        expectDenied(
          .set(mine, cells: [3: .date(Timestamp(nanoseconds: 1))]), "belongs to another user")
      }
      // The permissions of a folder matter if it would leave its parent.
      let shut = RowReference.path(IndexPath(section: 0, row: 5))
      expectDenied(.set(shut, cells: [0: "open/shut"]), "because it is not writable")
      expectDenied(.delete(shut), "because it is not writable")
      #expect(FileTree(Array(root.utf8)) == before)

      // Modes and times can be set and restored in a folder without write permission.
      let own = RowReference.path(IndexPath(section: 0, row: 6))
      let set = try source.commit(
        EditBatch([.set(own, cells: [3: .date(Timestamp(nanoseconds: 9)), 4: "rw-------"])]))
      #expect(set.outcomes[0].code == nil && FileTree(Array(root.utf8)) != before)
      let undone = try source.undo(#require(set.receipt), isDryRun: false)
      #expect(undone.outcomes[0].code == nil && FileTree(Array(root.utf8)) == before)
    }
    for name in ["closed", "shut"] { #expect(chmod(tree.path(name), 0o755) == 0) }
  }

  /// An immutable file was detected only in the middle, so some edits were done and some were not.
  @Test(.needs(.immutableFiles))
  func marksAreSeenBefore() throws {
    for name in ["1/", "2/"] { tree.make(Array(name.utf8)) }
    tree.make("1/a", "2/f", "t")
    let chattr = try findProgram("chattr")
    let source = try tree.open { $0.isRecursive = true }
    let before = tree.snapshot()
    let receipt = try #require(
      tree.set(source, ["1/a": [0: "1/a.new"], "2/f": [0: "2/f.new"]]).receipt)
    let trashed = try #require(
      source.commit(EditBatch([.delete(tree.row(source, "t"))])).receipt)
    for (flag, part) in [("i", "it is immutable"), ("a", "it is append-only")] {
      #expect(try run(chattr, ["+\(flag)", tree.path("1/a.new")]).status == 0)
      defer { _ = try? run(chattr, ["-\(flag)", tree.path("1/a.new")]) }
      let (a, f) = (try tree.row(source, "1/a.new"), try tree.row(source, "2/f.new"))
      for edit in [
        .set(a, cells: [0: "1/x"]), .set(a, cells: [4: "600"]), .delete(a),
        .set(a, cells: [3: .date(Timestamp(nanoseconds: 9))]),
      ] as [EditBatch.Edit] {
        tree.expectRefusal(
          .denied, "1/a.new cannot be changed: \(part)", source,
          [.set(f, cells: [0: "2/y"]), edit])
      }
      // Undo reverted one of the two and reported success for both.
      let after = tree.snapshot()
      for isDryRun in [true, false] {
        let error = #expect(throws: TableError.self) {
          try source.undo(receipt, isDryRun: isDryRun)
        }
        #expect(error?.code == .denied && error?.message.contains(part) == true)
      }
      #expect(tree.snapshot() == after)
      // The same in the trash.
      let inTrash = tree.trashPath + "/files/t"
      #expect(try run(chattr, ["+\(flag)", inTrash]).status == 0)
      defer { _ = try? run(chattr, ["-\(flag)", inTrash]) }
      let error = #expect(throws: TableError.self) { try source.undo(trashed, isDryRun: true) }
      #expect(error?.code == .denied, "\(error?.message ?? "")")
    }
    // An append-only folder.
    #expect(try run(chattr, ["+a", tree.path("1")]).status == 0)
    defer { _ = try? run(chattr, ["-a", tree.path("1")]) }
    tree.expectRefusal(
      .denied, "only accepts new names", source,
      [.set(try tree.row(source, "1/a.new"), cells: [0: "1/x"])])
    #expect(try run(chattr, ["-a", tree.path("1")]).status == 0)
    #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
    #expect(try source.undo(trashed, isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)
  }

  /// A file of another user in a sticky folder was detected only in the middle, after earlier edits were done.
  @Test(.needs(.root))
  func stickyFolders() async throws {
    tree.make("a", "b")
    #expect(chmod(tree.root, 0o1777) == 0 && chmod(tree.folder.path, 0o777) == 0)
    #expect(chown(tree.path("a"), 65534, 65534) == 0)
    setenv("TABELLA_TEST_STICKY", tree.root, 1)
    await #expect(processExitsWith: .success) {
      let root = String(cString: getenv("TABELLA_TEST_STICKY"))
      #expect(setuid(65534) == 0)
      let before = FileTree(Array(root.utf8))
      let source = try DirectorySource(
        path: Array(root.utf8), DirectorySettings(trash: Trash(home: nil, data: nil)))
      func rename(_ row: Int) -> EditBatch.Edit {
        .set(.path(IndexPath(section: 0, row: row)), cells: [0: .text("new \(row)")])
      }
      for isDryRun in [true, false] {
        let error = #expect(throws: TableError.self) {
          try source.commit(EditBatch([rename(0), rename(1)], isDryRun: isDryRun))
        }
        #expect(
          error?.code == .denied && error?.message.contains("belongs to another user") == true)
      }
      #expect(FileTree(Array(root.utf8)) == before)
      #expect(try source.commit(EditBatch([rename(0)])).outcomes[0].code == nil)
    }
  }

  /// If the system refuses in the middle, the completed edits are reported and can be undone, and the rest is not done.
  @Test(.needs(.mounts))
  func failuresInTheMiddle() throws {
    tree.make([UInt8]("disk/".utf8))
    // Space for the root and three files.
    let mount = try #require(Mount(tree.path("disk"), "nr_inodes=4"))
    defer { mount.unmount() }
    tree.make("disk/a", "disk/b", "disk/c")
    let source = try tree.open(mount.path)
    let before = tree.snapshot()
    // The rename comes in front of the insertion, in every order of the edits.
    let result = try source.commit(
      EditBatch([
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "new"]),
        .set(try tree.row(source, "a"), cells: [0: "a2"]),
        .set(try tree.row(source, "b"), cells: [4: "600"]),
      ]))
    #expect(result.outcomes.map(\.code) == [.io, nil, .cancelled])
    #expect(result.outcomes[0].message == "new cannot be created: No space left on device")
    #expect(result.outcomes[2].message == "not done, because an earlier edit failed")
    #expect(result.changes.changes == nil)
    #expect(try readAll(source).map { $0[0] } == ["a2", "b", "c"])
    #expect(
      try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)
  }

  /// A batch without effect counted as an edit. If the folder had changed in the meantime, and so had another version,
  /// the receipt of that batch blocked undo.
  @Test(.needs(.mounts))
  func whatDidNothingChangesNothing() throws {
    tree.make([UInt8]("disk/".utf8))
    let mount = try #require(Mount(tree.path("disk"), "nr_inodes=3"))
    defer { mount.unmount() }
    tree.make("disk/a", "disk/b")
    let source = try tree.open(mount.path)
    let version = try source.version()
    #expect(rename(tree.path("disk/b"), tree.path("disk/other")) == 0)
    let result = try source.commit(
      EditBatch([.insert(at: IndexPath(section: 0, row: 0), cells: [0: "new"])]))
    #expect(result.outcomes.map(\.code) == [.io] && result.receipt == nil)
    #expect(result.changes == ChangeBatch(from: version, to: version, changes: []))
    #expect(try source.version() == version)
  }

  /// A cycle that cannot be completed has no effect.
  @Test(.needs(.immutableFiles))
  func circlesAreDoneOrNot() throws {
    tree.make("a", "b", "c", "d")
    let chattr = try findProgram("chattr")
    for name in ["a", "b", "c", "d"] {
      let folders = OpenFolders()
      try folders.add(0, Descriptor(owning: open(tree.root, O_RDONLY | O_DIRECTORY)), path: [])
      let before = tree.snapshot()
      let places = ["a", "b", "c", "d"].map { FolderEntry(folder: 0, name: Array($0.utf8)) }
      let circle = try places.indices.map {
        let identity = Identity(try #require(try folders.status(places[$0])))
        return Relocation(from: places[$0], to: places[($0 + 1) % 4], identity: identity, edits: [])
      }
      let cans = TrashCans(tree.settings.trash, makes: false)
      let executor = Executor(folders, cans, CancelFlag())
      #expect(try run(chattr, ["+i", tree.path(name)]).status == 0)
      let error = #expect(throws: TableError.self) { try executor.perform(.relocate(circle)) }
      #expect(try run(chattr, ["-i", tree.path(name)]).status == 0)
      #expect(error?.code == .denied && executor.records.isEmpty && !executor.hasLeftTraces)
      #expect(tree.snapshot() == before)
    }
  }
}

extension Need {
  fileprivate static let immutableFiles = Need("root with chattr +i", program: "chattr") {
    guard let folder = try? TemporaryFolder(), let chattr = try? findProgram("chattr"),
      let file = try? folder.write("x", "")
    else { return false }
    let isDone = (try? run(chattr, ["+i", file]).status) == 0
    _ = try? run(chattr, ["-i", file])
    return isDone
  }
}
