import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// The trash as other programs see it, and the entries that must not be put into it.
@Suite struct DirectoryTrashTests {
  let tree = EditedTree()

  /// Every name of one byte, the longest names, names that are not UTF-8, and names that confuse terminals and shells.
  static let names: [[UInt8]] = {
    let texts = [
      String(repeating: "a", count: 255), String(repeating: "é", count: 127) + "a", "e\u{301}", "é",
      "new\nline", "\u{1B}[31mred", "-rf", "--", " lead", "trail ", "100%", "%41", "a=b", "[x]",
      ".hidden", "...", "~~", "CON.trashinfo", "\u{202E}gnp.exe",
    ]
    let bytes: [[UInt8]] = [
      [UInt8](repeating: 0xFF, count: 255), [0xED, 0xA0, 0x80], [0xC3, 0x28],
    ]
    let single: [[UInt8]] = (1...255).filter { $0 != 46 && $0 != 47 }.map { [UInt8($0)] }
    return single + texts.map { Array($0.utf8) } + bytes
  }()

  private func names(_ source: DirectorySource) throws -> [[UInt8]] {
    try readAll(source).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
  }

  /// Listing, renaming there and back, trashing, restoring: each name stays the same.
  @Test(.needs("python3")) func anyNameComesThrough() throws {
    #expect(Self.names.count == 253 + 22)
    for name in Self.names { tree.make(name, "\(name)") }
    let before = tree.snapshot()
    let source = try tree.open { $0.showsHidden = true }
    let sorted = Self.names.sorted { $0.lexicographicallyPrecedes($1) }
    #expect(try names(source) == sorted)

    // Each entry gets the next one's name, all in one batch: one cycle.
    let circle = sorted.indices.map { row in
      EditBatch.Edit.set(
        .path(IndexPath(section: 0, row: row)),
        cells: [0: .text(sorted[(row + 1) % sorted.count])])
    }
    let renamed = try source.commit(EditBatch(circle))
    #expect(renamed.outcomes.allSatisfy { $0.code == nil })
    let turned = tree.snapshot()
    for (row, name) in sorted.enumerated() {
      #expect(turned.entries[sorted[(row + 1) % sorted.count]] == before.entries[name])
    }
    #expect(try source.undo(#require(renamed.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)

    // Each entry gets a new name, and each new file one of the old names.
    let plain = try source.commit(
      EditBatch(
        sorted.indices.map {
          .set(.path(IndexPath(section: 0, row: $0)), cells: [0: .text("plain \($0)")])
        }
          + sorted.map { .insert(at: IndexPath(section: 0, row: 0), cells: [0: .text($0)]) }))
    #expect(plain.outcomes.allSatisfy { $0.code == nil })
    #expect(tree.snapshot().entries.count == 2 * sorted.count)
    #expect(try source.undo(#require(plain.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)

    let all = sorted.indices.map { EditBatch.Edit.delete(.path(IndexPath(section: 0, row: $0))) }
    let deleted = try source.commit(EditBatch(all))
    #expect(deleted.outcomes.allSatisfy { $0.code == nil })
    #expect(try tree.snapshot().entries.isEmpty && names(source).isEmpty)
    try expectPythonReads(sorted)
    #expect(try source.undo(#require(deleted.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(try tree.snapshot() == before && names(source) == sorted)
    for name in ["files", "info"] {
      #expect(namesByReaddir(Array("\(tree.trashPath)/\(name)".utf8)).isEmpty)
    }
  }

  /// Checks that Python reads the `.trashinfo` files: the former paths, and recent dates.
  private func expectPythonReads(_ names: [[UInt8]]) throws {
    let script = """
      import os, sys, urllib.parse, datetime
      trash = os.fsencode(sys.argv[1])
      for name in sorted(os.listdir(trash + b'/info')):
          assert name.endswith(b'.trashinfo') and len(name) <= 255, name
          assert os.path.lexists(trash + b'/files/' + name[:-10]), name
          lines = open(trash + b'/info/' + name, 'rb').read().split(b'\\n')
          assert lines[0] == b'[Trash Info]' and lines[3:] == [b''], lines
          assert lines[1].startswith(b'Path=') and lines[1].isascii(), lines
          assert lines[2].startswith(b'DeletionDate='), lines
          date = datetime.datetime.strptime(lines[2][13:].decode(), '%Y-%m-%dT%H:%M:%S')
          assert abs((datetime.datetime.now() - date).total_seconds()) < 600, date
          print(urllib.parse.unquote_to_bytes(lines[1][5:]).hex())
      """
    let result = try run(findProgram("python3"), ["-c", script, tree.trashPath])
    #expect(result.status == 0, "\(result.errors)")
    let root = try #require(realpath(tree.root, nil))
    defer { free(root) }
    let folder = Array(String(cString: root).utf8) + [47]
    let wanted = Set(
      names.map { name in
        (folder + name).map { String(format: "%02x", $0) }.joined()
      })
    #expect(Set(result.lines) == wanted && result.lines.count == names.count)
  }

  private func delete(
    _ source: DirectorySource, _ rows: Int..., isDryRun: Bool = false
  ) throws(TableError) -> EditResult {
    try source.commit(
      EditBatch(
        rows.map { .delete(.path(IndexPath(section: 0, row: $0))) }, isDryRun: isDryRun))
  }

  /// An entry whose name exists in the trash gets another name there, and is restored under its own.
  @Test func namesThatCollide() throws {
    let source = try tree.open()
    var receipts: [[UInt8]] = []
    for content in ["1", "22", "333"] {
      tree.make(Array("same".utf8), content)
      source.reload()
      receipts.append(try #require(try delete(source, 0).receipt))
    }
    #expect(
      Set(
        namesByReaddir(Array("\(tree.trashPath)/files".utf8)).map {
          String(decoding: $0, as: UTF8.self)
        })
        == ["same", "same 2", "same 3"])
    for (receipt, size) in zip(receipts, [1, 2, 3]) {
      #expect(try source.undo(receipt, isDryRun: false).outcomes[0].code == nil)
      #expect(tree.snapshot()["same"]?.size == size)
      #expect(unlink(tree.path("same")) == 0)
    }
    // A file without a `.trashinfo` file is not overwritten.
    try tree.folder.write("data/Trash/files/same", "orphan")
    tree.make(Array("same".utf8), "mine")
    source.reload()
    #expect(try delete(source, 0).outcomes[0].code == nil)
    #expect(try String(contentsOfFile: tree.trashPath + "/files/same", encoding: .utf8) == "orphan")
    #expect(namesByReaddir(Array("\(tree.trashPath)/info".utf8)).count == 1)
  }

  /// A folder is trashed as a whole, together with deleted rows in it.
  @Test func foldersGoWhole() throws {
    for name in ["sub/", "sub/in/"] { tree.make(Array(name.utf8)) }
    tree.make("sub/a", "sub/in/b")
    let before = tree.snapshot()
    let source = try tree.open { $0.isRecursive = true }
    let result = try delete(source, 3, 1, 0)
    #expect(result.outcomes.map(\.code) == [nil, nil, nil])
    #expect(result.outcomes[0].message == "deleted with its folder")
    #expect(tree.snapshot().entries.isEmpty)
    #expect(namesByReaddir(Array("\(tree.trashPath)/files".utf8)) == [Array("sub".utf8)])
    #expect(try source.undo(#require(result.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot() == before)
  }

  @Test func permanentDeletion() throws {
    for name in ["full/", "full/in/", "empty/"] { tree.make(Array(name.utf8)) }
    tree.make("full/a", "full/.hidden", "file")
    let flat = try tree.open { $0.deletesForGood = true }
    let error = #expect(throws: TableError.self) { try delete(flat, 2) }
    #expect(error?.message == "full cannot be deleted: it is not empty: delete its entries first")
    let result = try delete(flat, 0, 1)
    #expect(result.outcomes.map(\.code) == [nil, nil] && result.receipt == nil)
    #expect(result.outcomes[0].message == "deleted permanently; this cannot be undone")
    #expect(!tree.exists("empty") && !tree.exists("file"))
    #expect(access(tree.trashPath, F_OK) != 0)
    // All of its rows are deleted with it, except for a hidden one.
    let deep = try tree.open {
      $0.deletesForGood = true
      $0.isRecursive = true
    }
    #expect(throws: TableError.self) { try delete(deep, 0, 1, 2) }
    #expect(tree.exists("full/a"))
    #expect(unlink(tree.path("full/.hidden")) == 0)
    #expect(try delete(deep, 0, 1, 2).outcomes.map(\.code) == [nil, nil, nil])
    #expect(tree.snapshot().entries.isEmpty)
  }

  private func expectRefused(
    _ part: String, _ source: DirectorySource, _ row: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for isDryRun in [true, false] {
      let error = #expect(throws: TableError.self, sourceLocation: sourceLocation) {
        try delete(source, row, isDryRun: isDryRun)
      }
      #expect(error?.code == .constraint, sourceLocation: sourceLocation)
      #expect(
        error?.message.contains(part) == true, "\(error?.message ?? "")",
        sourceLocation: sourceLocation)
    }
  }

  /// Necessary folders stay: the trash, the home, the current directory, and the folders that contain them.
  @Test func whatMustStay() throws {
    tree.make("a")
    let source = try tree.open()
    #expect(try delete(source, 0).outcomes[0].code == nil)
    // The folder of this test: data, home, tree.
    let outer = try tree.open(tree.folder.path)
    expectRefused("contains the trash", outer, 0)
    expectRefused("is the home directory", outer, 1)
    let inData = try tree.open(tree.folder.path + "/data")
    expectRefused("is the trash", inData, 0)
    let files = try tree.open(tree.trashPath + "/files")
    expectRefused("in the trash", files, 0)
    let parent = try tree.open((tree.folder.path as NSString).deletingLastPathComponent)
    let name = Array((tree.folder.path as NSString).lastPathComponent.utf8)
    let row = try #require(try names(parent).firstIndex(of: name))
    expectRefused("contains the home directory", parent, row)

    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let current = try #require(getcwd(&buffer, buffer.count)).withMemoryRebound(
      to: CChar.self, capacity: 1
    ) {
      String(cString: $0)
    }
    let above = try tree.open((current as NSString).deletingLastPathComponent) {
      $0.showsHidden = true
    }
    let own = Array((current as NSString).lastPathComponent.utf8)
    let number = try #require(try names(above).firstIndex(of: own))
    let error = #expect(throws: TableError.self) { try delete(above, number, isDryRun: true) }
    #expect(error?.message.contains("is the current directory") == true)
  }

  /// The receipt of a deletion was trashed together with the folder of receipts.
  @Test func receiptsStay() throws {
    for name in ["data", "state", "state/deep"] {
      #expect(mkdir("\(tree.folder.path)/\(name)", 0o755) == 0)
    }
    for end in ["state/deep/tabella/receipts", "state/deep/receipts", "state/deep"] {
      var settings = tree.settings
      settings.trash.receipts = Array("\(tree.folder.path)/\(end)".utf8)
      // Data, home, state, tree.
      let outer = try tree.open(tree.folder.path) { $0.trash = settings.trash }
      expectRefused("contains the folder of tabella's receipts", outer, 2)
      let inner = try tree.open(tree.folder.path + "/state") { $0.trash = settings.trash }
      expectRefused("the folder of tabella's receipts", inner, 0)
    }
    // In the way that tabella uses it.
    tree.make(Array("state/".utf8))
    for name in ["x", "y"] { tree.make(Array("state/\(name)".utf8)) }
    let environment = [
      "XDG_STATE_HOME": tree.path("state"), "XDG_DATA_HOME": tree.folder.path + "/data",
      "SWIFT_BACKTRACE": "enable=no",
    ]
    var settings = tree.settings
    settings.trash.receipts = Array(tree.path("state/tabella/receipts").utf8)
    let id = try #require(
      try tree.open { $0 = settings }.rows(
        RowRequest(section: 0, first: 0, count: 1, columns: [], includesIDs: true)
      ).id(0))
    let result = try run(
      buildFolder + "/tabella", ["delete", tree.root, "id:\(id)", "--yes"],
      environment: environment)
    #expect(result.status != 0 && result.errors.contains("receipts"), "\(result.errors)")
    #expect(tree.exists("state/x"))
  }

  /// After a permanent deletion from the trash, the `.trashinfo` file stayed.
  @Test func deletedFromTheTrash() throws {
    tree.make("a", "b")
    let source = try tree.open()
    _ = try delete(source, 0, 1)
    let files = try tree.open(tree.trashPath + "/files") { $0.deletesForGood = true }
    #expect(try delete(files, 0).outcomes[0].code == nil)
    #expect(namesByReaddir(Array("\(tree.trashPath)/info".utf8)) == [Array("b.trashinfo".utf8)])
    // Folders with such names elsewhere are no trash.
    for name in ["files/", "info/"] { tree.make(Array(name.utf8)) }
    tree.make("files/x", "info/x.trashinfo")
    let others = try tree.open(tree.path("files")) { $0.deletesForGood = true }
    #expect(try delete(others, 0).outcomes[0].code == nil)
    #expect(tree.exists("info/x.trashinfo") && !tree.exists("files/x"))
  }

  // Other file systems

  /// A folder that contains a mount was trashed together with the mount.
  @Test(.needs(.mounts))
  func foldersWithMountsStay() throws {
    for name in ["d/", "d/in/", "d/in/sub \\/", "e/", "f/", "d2/"] { tree.make(Array(name.utf8)) }
    let mount = try #require(Mount(tree.path("d/in/sub \\")))
    defer { mount.unmount() }
    tree.make("d/in/sub \\/x")
    let flat = try tree.open()
    expectRefused("d cannot be deleted: something is mounted at ", flat, 0)
    let deep = try tree.open { $0.isRecursive = true }
    expectRefused("d/in/sub \\", deep, 1)
    // By another path to the same folder.
    #expect(try run(findProgram("mount"), ["--bind", tree.path("d"), tree.path("f")]).status == 0)
    defer { umount2(tree.path("f"), 2) }
    let bound = try tree.open(tree.path("f"))
    expectRefused("in cannot be deleted: something is mounted at ", bound, 0)
    #expect(tree.exists("d/in/sub \\/x"))
    // Folders whose names have only the same beginning, and empty ones, can be trashed.
    flat.reload()
    #expect(try delete(flat, 1, 2).outcomes.map(\.code) == [nil, nil])
  }

  @Test(.needs(.mounts))
  func trashAtTheTop() throws {
    tree.make(Array("disk/".utf8))
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    let user = geteuid()
    for name in ["sub/", "sub/x y/"] { tree.make(Array("disk/\(name)".utf8)) }
    tree.make(Array("disk/sub/x y/é".utf8), "1")
    let before = tree.snapshot()
    let folder = try tree.open(mount.path + "/sub/x y")

    // Without .Trash, the user's own trash is created.
    let first = try delete(folder, 0)
    #expect(first.outcomes[0].code == nil)
    let own = "\(mount.path)/.Trash-\(user)"
    var status = stat()
    #expect(lstat(own, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    let info = try String(contentsOfFile: own + "/info/é.trashinfo", encoding: .utf8)
    #expect(info.hasPrefix("[Trash Info]\nPath=sub/x%20y/%C3%A9\nDeletionDate=2"))
    #expect(try folder.undo(#require(first.receipt), isDryRun: false).outcomes[0].code == nil)

    // A .Trash that is not sticky, or a link, is not used; a sticky one is.
    let shared = "\(mount.path)/.Trash"
    #expect(mkdir(shared, 0o777) == 0 && chmod(shared, 0o777) == 0)
    _ = try delete(folder, 0)
    #expect(access("\(own)/files/é", F_OK) == 0 && access("\(shared)/\(user)", F_OK) != 0)
    #expect(rename("\(own)/files/é", tree.path("disk/sub/x y/é")) == 0)
    #expect(unlink("\(own)/info/é.trashinfo") == 0)
    #expect(rename(shared, mount.path + "/real") == 0 && symlink("real", shared) == 0)
    #expect(chmod(mount.path + "/real", 0o1777) == 0)
    folder.reload()
    _ = try delete(folder, 0)
    #expect(access("\(own)/files/é", F_OK) == 0 && access("\(shared)/\(user)", F_OK) != 0)
    #expect(rename("\(own)/files/é", tree.path("disk/sub/x y/é")) == 0)
    #expect(unlink(shared) == 0 && rename(mount.path + "/real", shared) == 0)
    folder.reload()
    let third = try delete(folder, 0)
    #expect(access("\(shared)/\(user)/files/é", F_OK) == 0)
    #expect(try folder.undo(#require(third.receipt), isDryRun: false).outcomes[0].code == nil)
    #expect(tree.snapshot()["disk/sub/x y/é"] == before["disk/sub/x y/é"])

    // The mount point itself stays, as do its trash and the content of that trash.
    let outer = try tree.open()
    expectRefused("something is mounted there", outer, 0)
    let top = try tree.open(mount.path) { $0.showsHidden = true }
    expectRefused("the trash", top, 0)
  }

  /// A trash of another user, or a link to another folder, is refused.
  @Test(.needs(.mounts))
  func trashThatIsNotOurs() throws {
    tree.make(Array("disk/".utf8))
    let mount = try #require(Mount(tree.path("disk")))
    defer { mount.unmount() }
    tree.make(Array("disk/x".utf8), "1")
    let own = "\(mount.path)/.Trash-\(geteuid())"
    #expect(symlink(tree.folder.path, own) == 0)
    let folder = try tree.open(mount.path)
    expectRefused("-o permanent=true", folder, 0)
    expectRefused("/disk/.Trash-\(geteuid()): Not a directory", folder, 0)
    #expect(unlink(own) == 0 && mkdir(own, 0o700) == 0 && chown(own, 65534, 65534) == 0)
    expectRefused("-o permanent=true", folder, 0)
    // The message contained neither the folder nor the reason.
    expectRefused("/disk/.Trash-\(geteuid()): it is another user's", folder, 0)
    #expect(tree.exists("disk/x"))
  }
}
