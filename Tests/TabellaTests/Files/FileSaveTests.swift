import CTabellaSystem
import Foundation
import Tabella
import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// The save: preserved attributes, refusals, and races. The tests run one at a time, because they share XDG_STATE_HOME.
@Suite(.serialized) struct FileSaveTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Saves a file like a provider.
  func save(
    _ name: String, _ options: SaveOptions = SaveOptions(), isDryRun: Bool = false,
    edited: [EditedRange] = [], meanwhile: () throws -> Void = {},
    verify: (any ByteSource) throws(TableError) -> Void = { _ in }
  ) throws -> FileSave.Saved {
    let path = Array("\(folder.path)/\(name)".utf8)
    let file = try OpenFile(path: path)
    try meanwhile()
    return try FileSave(path: path, file, options, cancel: CancelFlag())
      .save(table(file), edited: edited, isDryRun: isDryRun, verify: verify)
  }

  /// A table with "NEW " in front and without the first byte.
  func table(_ file: OpenFile) -> PieceTable {
    var table = PieceTable()
    table.append(new: Array("NEW ".utf8))
    table.append(old: min(1, file.fingerprint.size)..<file.fingerprint.size)
    return table
  }

  func status(_ name: String) -> stat {
    var status = stat()
    lstat("\(folder.path)/\(name)", &status)
    return status
  }

  func expectRefusal(
    _ code: TableError.Code, _ part: String, _ name: String,
    _ options: SaveOptions = SaveOptions(), isDryRun: Bool = false
  ) throws {
    do {
      _ = try save(name, options, isDryRun: isDryRun)
      Issue.record("\(name) was saved")
    } catch let error as TableError {
      #expect(error.code == code, "\(error)")
      #expect(error.message.contains(part), "\(error)")
    }
  }

  @Test func theRestStays() throws {
    try folder.write("a", "hello world")
    let saved = try save("a")
    #expect(try folder.read("a") == Array("NEW ello world".utf8))
    #expect(saved.problem == nil)
    #expect(
      saved.file.fingerprint == (try OpenFile(path: Array("\(folder.path)/a".utf8))).fingerprint)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
  }

  @Test func aDryRunWritesNothing() throws {
    try folder.write("a", "hello")
    let before = status("a")
    _ = try save("a", isDryRun: true)
    #expect(status("a").st_ctim.tv_nsec == before.st_ctim.tv_nsec)
    #expect(try folder.read("a") == Array("hello".utf8))
  }

  @Test func modeOwnerAndAttributesStay() throws {
    try folder.write("a", "hello")
    let path = "\(folder.path)/a"
    let isRoot = getuid() == 0
    if isRoot { chown(path, 1234, 2345) }
    chmod(path, 0o751)
    let value = Array("some bytes".utf8)
    // An access list in the form of the kernel: a version, then tag, permissions and id of each entry. 0x02 is a named
    // user, 0x10 the mask.
    let list =
      ([2] as [UInt32]).bytes
      + [(1, 6, -1), (2, 4, 4321), (4, 4, -1), (16, 4, -1), (32, 0, -1)].flatMap {
        (tag: Int, rights: Int, id: Int32) in
        [UInt32(tag | rights << 16), UInt32(bitPattern: id)].bytes
      }
    let file = open(path, O_RDWR | O_CLOEXEC)
    #expect(tabella_system_set_attribute(file, "user.note", value, value.count) == 0)
    #expect(tabella_system_set_attribute(file, "system.posix_acl_access", list, list.count) == 0)
    close(file)
    let before = status("a")
    _ = try save("a")
    let after = status("a")
    #expect(after.st_ino != before.st_ino)
    #expect(after.st_mode == before.st_mode)
    if isRoot { #expect(after.st_uid == 1234 && after.st_gid == 2345) }
    #expect(attribute("user.note") == value)
    #expect(attribute("system.posix_acl_access") == list)
  }

  func attribute(_ name: String) -> [UInt8] {
    let file = open("\(folder.path)/a", O_RDONLY)
    defer { close(file) }
    var value = [UInt8](repeating: 0, count: 256)
    let count = Int(tabella_system_attribute(file, name, &value, value.count))
    return Array(value.prefix(max(0, count)))
  }

  @Test func everyModeStays() throws {
    for mode in [0o644, 0o600, 0o755, 0o4755, 0o2644, 0o1777, 0o200, 0o666] as [mode_t] {
      try folder.write("a", "hello")
      chmod("\(folder.path)/a", mode)
      if getuid() != 0, mode & 0o400 == 0 { continue }
      _ = try save("a")
      #expect(status("a").st_mode & 0o7777 == mode)
      chmod("\(folder.path)/a", 0o600)
    }
  }

  @Test func aFileBehindLinksIsSaved() throws {
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/real", withIntermediateDirectories: true)
    try folder.write("real/a", "hello")
    symlink("real/a", "\(folder.path)/one")
    symlink("one", "\(folder.path)/two")
    _ = try save("two")
    #expect(try folder.read("real/a") == Array("NEW ello".utf8))
    #expect(status("two").st_mode & S_IFMT == S_IFLNK)
    #expect(status("one").st_mode & S_IFMT == S_IFLNK)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/real") == ["a"])
  }

  @Test func refusals() throws {
    try folder.write("linked", "hello")
    link("\(folder.path)/linked", "\(folder.path)/other")
    try folder.write("guarded", "hello")
    chmod("\(folder.path)/guarded", 0o444)
    for isDryRun in [true, false] {
      try expectRefusal(.readOnly, "hard links", "linked", isDryRun: isDryRun)
      try expectRefusal(.readOnly, "chmod u+w", "guarded", isDryRun: isDryRun)
    }
    #expect(try folder.read("guarded") == Array("hello".utf8))
    #expect(try folder.read("linked") == Array("hello".utf8))
    #expect(status("linked").st_nlink == 2)
  }

  /// Changes by other programs between opening and saving are never overwritten.
  @Test func othersChangesAreConflicts() throws {
    let path = "\(folder.path)/a"
    let changes: [(String, () throws -> Void)] = [
      (
        "rewritten",
        {
          try self.folder.write("b", "other")
          rename("\(self.folder.path)/b", path)
        }
      ),
      ("in place", { try Self.write("HELLO", to: path) }),
      ("longer", { try Self.write("hello and more", to: path) }),
      ("shorter", { truncate(path, 2) }),
      ("gone", { unlink(path) }),
      (
        "a link",
        {
          unlink(path)
          symlink("elsewhere", path)
        }
      ),
      (
        "a pipe",
        {
          unlink(path)
          mkfifo(path, 0o600)
        }
      ),
      (
        "a folder",
        {
          unlink(path)
          mkdir(path, 0o700)
        }
      ),
    ]
    for (name, change) in changes {
      try? FileManager.default.removeItem(atPath: path)
      try folder.write("a", "hello")
      do {
        _ = try save("a", meanwhile: change)
        Issue.record("saved although \(name)")
      } catch let error as TableError {
        #expect(error.code == .conflict, "\(name): \(error)")
      }
      // The file has the other program's change and none of the save's.
      var status = stat()
      if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
        #expect(!(try folder.read("a")).starts(with: Array("NEW".utf8)), "\(name)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.filter { $0 != "a" } == [], "\(name)")
    }
  }

  /// The same between the last check and the exchange, while the new bytes are checked.
  @Test func othersChangesWhileSavingAreConflicts() throws {
    let path = "\(folder.path)/a"
    for isReplaced in [true, false] {
      try folder.write("a", "hello")
      do {
        _ = try save(
          "a",
          verify: { _ throws(TableError) in
            do {
              if isReplaced {
                try folder.write("b", "other")
                rename("\(folder.path)/b", path)
              } else {
                try Self.write("other", to: path)
              }
            } catch { Issue.record(error) }
          })
        Issue.record("saved")
      } catch let error as TableError { #expect(error.code == .conflict) }
      #expect(try folder.read("a") == Array("other".utf8))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
    }
  }

  static func write(_ text: String, to path: String) throws {
    let file = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC)
    defer { close(file) }
    #expect(Glibc.write(file, text, text.utf8.count) == text.utf8.count)
  }

  /// Edited records are read again even if time stamps are too coarse to show the change.
  @Test func editedRecordsAreReadAgain() throws {
    try folder.write("a", "hello")
    let wrong = EditedRange(1..<3, digest: 1)
    #expect(throws: TableError.self) { try save("a", edited: [wrong]) }
    let digest = Array("el".utf8).withUnsafeBytes { digest64($0) }
    _ = try save("a", edited: [EditedRange(1..<3, digest: digest)])
  }

  @Test func whatDoesNotReadBackIsNotSaved() throws {
    try folder.write("a", "hello")
    #expect(throws: TableError.self) {
      try save(
        "a",
        verify: { bytes throws(TableError) in
          #expect(try bytes.bytes(at: 0, count: 99) == Array("NEW ello".utf8))
          throw TableError(.constraint, "no")
        })
    }
    #expect(try folder.read("a") == Array("hello".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
  }

  @Test func anotherSaveIsWaitedForAndThenTold() throws {
    try folder.write("a", "hello")
    let other = open("\(folder.path)/a", O_RDONLY)
    #expect(tabella_system_lock(other) == 0)
    let began = Date()
    try expectRefusal(.conflict, "locked by another process", "a")
    #expect((1.5..<10).contains(Date().timeIntervalSince(began)))
    // The save waits for the program that holds the lock.
    let release = Thread {
      usleep(300_000)
      // A program that another test starts may have a copy of the descriptor.
      _ = tabella_system_unlock(other)
      close(other)
    }
    release.start()
    _ = try save("a")
    #expect(try folder.read("a") == Array("NEW ello".utf8))
  }

  /// The save holds the folder open, so a folder that replaces it has no effect.
  @Test func aFolderThatIsSwappedDoesNotMatter() throws {
    let (real, aside) = ("\(folder.path)/real", "\(folder.path)/aside")
    #expect(mkdir(real, 0o755) == 0)
    try folder.write("real/a", "hello")
    _ = try save(
      "real/a",
      verify: { _ throws(TableError) in
        #expect(rename(real, aside) == 0 && mkdir(real, 0o755) == 0)
        #expect(
          FileManager.default.createFile(atPath: "\(real)/a", contents: Data("other".utf8)))
      })
    #expect(try folder.read("aside/a") == Array("NEW ello".utf8))
    #expect(try folder.read("real/a") == Array("other".utf8))
    for path in [real, aside] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["a"])
    }
  }

  /// The flags of chattr were lost silently.
  @Test(.needs("chattr", "lsattr")) func flagsStay() throws {
    let (chattr, lsattr) = (try findProgram("chattr"), try findProgram("lsattr"))
    let path = "\(folder.path)/a"
    for flag in ["d", "A", "S"] {
      try folder.write("a", "hello")
      guard try run(chattr, ["+\(flag)", path]).status == 0 else { continue }
      let before = try run(lsattr, [path]).text
      #expect(before.split(separator: " ").first?.contains(flag) == true)
      _ = try save("a")
      #expect(try run(lsattr, [path]).text == before)
    }
  }

  /// A dry run accepted a file that is a mount point, which cannot be replaced.
  @Test(.needs(.mounts)) func aFileThatIsMounted() throws {
    try folder.write("a", "hello")
    try folder.write("b", "other")
    let path = "\(folder.path)/a"
    #expect(try run(findProgram("mount"), ["--bind", "\(folder.path)/b", path]).status == 0)
    defer { umount2(path, 2) }
    for isDryRun in [true, false] {
      do {
        _ = try save("a", isDryRun: isDryRun)
        Issue.record("saved")
      } catch let error as TableError {
        #expect(error.code == .readOnly && error.message.contains("is a mount point"), "\(error)")
      }
    }
    #expect(try folder.read("b") == Array("other".utf8))
    setenv("XDG_STATE_HOME", "\(folder.path)/state", 1)
    var options = SaveOptions()
    options.isInPlace = true
    _ = try save("a", options)
    #expect(try folder.read("b") == Array("NEW ther".utf8))
  }

  @Test func backups() throws {
    var options = SaveOptions()
    options.backupSuffix = Array(".bak".utf8)
    try folder.write("a", "hello")
    let inode = status("a").st_ino
    _ = try save("a", options)
    #expect(try folder.read("a.bak") == Array("hello".utf8))
    #expect(status("a.bak").st_ino == inode)
    _ = try save("a", options)
    #expect(try folder.read("a.bak") == Array("NEW ello".utf8))
    #expect(try folder.read("a") == Array("NEW EW ello".utf8))
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["a", "a.bak"])
    // A file with the backup's name is replaced, even if it is no backup.
    try folder.write("a.old", "another's")
    options.backupSuffix = Array(".old".utf8)
    _ = try save("a", options)
    #expect(try folder.read("a.old") == Array("NEW EW ello".utf8))
  }

  /// The file was saved before the save noticed that the backup cannot have its name.
  @Test func aBackupsNameThatIsTaken() throws {
    var options = SaveOptions()
    options.backupSuffix = Array(".bak".utf8)
    try folder.write("a", "hello")
    mkdir("\(folder.path)/a.bak", 0o755)
    for isDryRun in [false, true] {
      do {
        _ = try save("a", options, isDryRun: isDryRun)
        Issue.record("saved")
      } catch let error as TableError {
        #expect(error.code == .readOnly && error.message.contains("a.bak"), "\(error)")
      }
    }
    #expect(try folder.read("a") == Array("hello".utf8))
    options.backupSuffix = [UInt8](repeating: 97, count: 255)
    try expectRefusal(.io, "cannot be created", "a", options)
  }

  /// A dry run accepted new bytes that would not read back as expected.
  @Test func aDryRunReadsWhatWouldBeWritten() throws {
    try folder.write("a", "hello")
    var read: [UInt8] = []
    #expect(throws: TableError.self) {
      try save(
        "a", isDryRun: true,
        verify: { bytes throws(TableError) in
          read = try bytes.bytes(at: 0, count: 99)
          throw TableError(.constraint, "no")
        })
    }
    #expect(read == Array("NEW ello".utf8))
    #expect(try folder.read("a") == Array("hello".utf8))
  }

  /// The bytes of a table are the same read in pieces, from any offset, and written.
  @Test func plannedBytesAreThoseWritten() throws {
    for seed in 0..<500 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let old = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        UInt8.random(in: 97...122, using: &generator)
      }
      var (table, wanted) = (PieceTable(), [UInt8]())
      for _ in 0..<Int.random(in: 0..<6, using: &generator) {
        if Bool.random(using: &generator) {
          let start = Int.random(in: 0...old.count, using: &generator)
          let end = Int.random(in: start...old.count, using: &generator)
          table.append(old: start..<end)
          wanted += old[start..<end]
        } else {
          let new = [UInt8](repeating: 65, count: Int.random(in: 0..<5, using: &generator))
          table.append(new: new)
          wanted += new
        }
      }
      let bytes = PieceBytes(table, of: MemoryBytes(old))
      #expect(bytes.size == wanted.count)
      for start in 0...wanted.count + 1 {
        let count = Int.random(in: 0..<20, using: &generator)
        #expect(
          try bytes.bytes(at: start, count: count) == Array(wanted.dropFirst(start).prefix(count)))
      }
    }
  }

  /// Undo did not recognise a file whose mode or times had changed. It must accept no other file with the same bytes.
  @Test func receiptsKnowBytes() throws {
    try folder.write("a", "hello world")
    let receipt = try #require(try save("a").receipt)
    func undoing(_ name: String) throws -> PieceTable {
      let path = Array("\(folder.path)/\(name)".utf8)
      return try FileSave(
        path: path, OpenFile(path: path), SaveOptions(), cancel: CancelFlag()
      ).undoing(receipt)
    }
    chmod("\(folder.path)/a", 0o600)
    utimes("\(folder.path)/a", nil)
    #expect(try undoing("a").size == 11)
    symlink("a", "\(folder.path)/link")
    #expect(try undoing("link").size == 11)
    try folder.write("b", "NEW ello world")
    #expect(throws: TableError.self) { try undoing("b") }
    try folder.write("a", "NEW ello werld")
    #expect(throws: TableError.self) { try undoing("a") }
  }

  @Test func inPlaceKeepsTheFile() throws {
    setenv("XDG_STATE_HOME", "\(folder.path)/state", 1)
    var options = SaveOptions()
    options.isInPlace = true
    try folder.write("a", "hello world")
    link("\(folder.path)/a", "\(folder.path)/b")
    let inode = status("a").st_ino
    _ = try save("a", options)
    #expect(status("a").st_ino == inode && status("a").st_nlink == 2)
    #expect(try folder.read("b") == Array("NEW ello world".utf8))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/state/tabella/in-place")
        == [])
    // The backup is a copy in this case, since the file stays the same one.
    options.backupSuffix = Array("~".utf8)
    _ = try save("a", options)
    #expect(try folder.read("a~") == Array("NEW ello world".utf8))
    #expect(status("a~").st_ino != inode)
    // A killed save left the old bytes there, and no further edit may overwrite them.
    let kept = try keepOldBytes("a")
    try expectRefusal(.readOnly, kept, "a", options)
    #expect(shown("a").diagnostic?.contains(kept) == true)
  }

  /// Leaves old bytes like a killed save in place. Returns their path.
  func keepOldBytes(_ name: String) throws -> String {
    let path = Array("\(folder.path)/\(name)".utf8)
    let kept = String(
      decoding: try #require(try KeptBytes.Slot(of: OpenFile(path: path), at: path)).path,
      as: UTF8.self)
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/state/tabella/in-place", withIntermediateDirectories: true)
    try Data("old".utf8).write(to: URL(fileURLWithPath: kept))
    return kept
  }

  func shown(_ name: String) -> ShownFile {
    let path = Array("\(folder.path)/\(name)".utf8)
    return ShownFile(
      path: path, try! OpenFile(path: path), SaveOptions(), reading: Reading("test"))
  }

  /// A file that a save in place had left half written could be replaced without a trace, and a dry run accepted that.
  @Test func aHalfWrittenFileIsNotSaved() throws {
    setenv("XDG_STATE_HOME", "\(folder.path)/state", 1)
    try folder.write("a", "hello")
    link("\(folder.path)/a", "\(folder.path)/b")
    let kept = try keepOldBytes("a")
    unlink("\(folder.path)/a")
    // Every name of the file leads to the same result.
    for isDryRun in [false, true] {
      do {
        _ = try save("b", isDryRun: isDryRun)
        Issue.record("saved")
      } catch let error as TableError {
        #expect(error.code == .readOnly && error.message.contains(kept), "\(error)")
        #expect(error.message.contains("copy them back") && error.message.contains("remove"))
      }
    }
    #expect(try folder.read("b") == Array("hello".utf8))
    unlink(kept)
    _ = try save("b")
  }

  /// A running save in place was mistaken for an interrupted one.
  @Test func aSaveInPlaceThatGoesOn() throws {
    setenv("XDG_STATE_HOME", "\(folder.path)/state", 1)
    try folder.write("a", "hello")
    let path = "\(folder.path)/a"
    let kept = try keepOldBytes("a")
    let other = open(path, O_RDONLY)
    #expect(tabella_system_lock(other) == 0)
    for isDryRun in [false, true] {
      try expectRefusal(.conflict, "locked by another process", "a", isDryRun: isDryRun)
    }
    #expect(shown("a").diagnostic?.contains("another process is saving it in place") == true)
    let began = Date()
    _ = try ShownFile.open(Array(path.utf8))
    #expect((1.5..<10).contains(Date().timeIntervalSince(began)))
    // After its end, the file is opened in its final state.
    let release = Thread {
      usleep(300_000)
      try? Self.write("hello again", to: path)
      unlink(kept)
      // A program that another test starts may have a copy of the descriptor.
      _ = tabella_system_unlock(other)
      close(other)
    }
    release.start()
    #expect(try ShownFile.open(Array(path.utf8)).fingerprint.size == 11)
    _ = try save("a")
  }

  /// Undo compared only the version, which can be equal for another program's bytes.
  @Test func bytesDecideWhatIsTakenBack() throws {
    let path = Array(try folder.write("a", "hello world").utf8)
    let receipt = try #require(try save("a").receipt)
    try folder.write("a", "NEW ello worl2")
    let file = try OpenFile(path: path)
    var other = try SaveReceipt(receipt, ofSize: file.fingerprint.size)
    other.version = file.fingerprint.version
    #expect(throws: TableError.self) {
      try FileSave(path: path, file, SaveOptions(), cancel: CancelFlag()).undoing(other.bytes)
    }
  }

  /// Kept bytes were recognised by an inode number alone, so that another file with the reused number would have been
  /// overwritten.
  @Test func anotherFileIsNotHalfWritten() throws {
    setenv("XDG_STATE_HOME", "\(folder.path)/state", 1)
    for _ in 0..<50 {
      try folder.write("a", "hello")
      let inode = status("a").st_ino
      _ = try keepOldBytes("a")
      unlink("\(folder.path)/a")
      // Most file systems reuse the number at once.
      let file = open("\(folder.path)/a", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      close(file)
      #expect(shown("a").diagnostic == nil)
      if status("a").st_ino == inode { return }
    }
  }

  @Test func receiptsTakeBackAndComplain() throws {
    try folder.write("a", "hello world")
    let saved = try save("a")
    let receipt = try #require(saved.receipt)
    let path = Array("\(folder.path)/a".utf8)
    let later = FileSave(
      path: path, try OpenFile(path: path), SaveOptions(), cancel: CancelFlag())
    #expect(try later.undoing(receipt).size == 11)
    for cut in 0..<receipt.count {
      // A truncated receipt leads to an error or another result, and never traps.
      do throws(TableError) { _ = try later.undoing(Array(receipt.prefix(cut))) } catch {
        #expect([.invalidArgument, .conflict].contains(error.code))
      }
    }
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      var damaged = receipt
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        damaged[Int.random(in: 0..<damaged.count, using: &generator)] =
          UInt8.random(in: 0...255, using: &generator)
      }
      _ = try? later.undoing(damaged)
    }
    _ = try later.save(try later.undoing(receipt), edited: [], isDryRun: false) { _ in }
    #expect(try folder.read("a") == Array("hello world".utf8))
    let again = FileSave(
      path: path, try OpenFile(path: path), SaveOptions(), cancel: CancelFlag())
    #expect(throws: TableError.self) { try again.undoing(receipt) }
  }

  @Test func largeFilesHaveNoDigest() throws {
    #expect(try ContentDigest.digest(of: MemoryBytes([]), size: 256 << 20) != nil)
    #expect(try ContentDigest.digest(of: MemoryBytes([]), size: 256 << 20 + 1) == nil)
  }

  /// Old bytes are kept up to 16 MiB.
  @Test func tooMuchToTakeBackGivesNoReceipt() throws {
    for (count, isKept) in [(16 << 20, true), (16 << 20 + 1, false)] {
      let path = Array(try folder.write("a", [UInt8](repeating: 97, count: count)).utf8)
      var table = PieceTable()
      table.append(new: [98])
      let save = try FileSave(
        path: path, OpenFile(path: path), SaveOptions(), cancel: CancelFlag())
      let foreseen = try save.save(table, edited: [], isDryRun: true) { _ in }
      #expect(foreseen.isFinal != isKept && foreseen.receipt == nil)
      let saved = try save.save(table, edited: [], isDryRun: false) { _ in }
      #expect((saved.receipt != nil) == isKept && saved.isFinal != isKept)
      #expect(try folder.read("a") == [98])
    }
  }

  /// If another program changed the file during the save, the new bytes were wrong, and the error was that of wrong bytes.
  @Test(arguments: [false, true])
  func aChangeDuringTheVerificationIsAConflict(_ isInPlace: Bool) throws {
    let path = try folder.write("a", [UInt8](repeating: 97, count: 100))
    var table = PieceTable()
    table.append(old: 0..<50)
    table.append(new: [98])
    var options = SaveOptions()
    options.isInPlace = isInPlace
    for isDryRun in [true, false] {
      for changes in [false, true] {
        let save = try FileSave(
          path: Array(path.utf8), OpenFile(path: Array(path.utf8)), options, cancel: CancelFlag())
        let error = try #require(throws: TableError.self) {
          try save.save(table, edited: [], isDryRun: isDryRun) { _ throws(TableError) in
            if changes, let file = fopen(path, "a") {
              fputs("other", file)
              fclose(file)
            }
            throw TableError(.constraint, "wrong")
          }
        }
        #expect(error.code == (changes ? .conflict : .constraint), "\(error)")
      }
    }
  }

  /// A `set` of half a million rows could not be undone, although their old cells had few bytes.
  @Test func manySmallPiecesHaveAReceipt() throws {
    let count = 600_000
    let path = Array(try folder.write("a", [UInt8](repeating: 97, count: count)).utf8)
    var table = PieceTable()
    for start in stride(from: 0, to: count, by: 2) {
      table.append(old: start..<start + 1)
      table.append(new: [98])
    }
    let saved = try FileSave(path: path, OpenFile(path: path), SaveOptions(), cancel: CancelFlag())
      .save(table, edited: [], isDryRun: false) { _ in }
    #expect(try folder.read("a").count { $0 == 98 } == count / 2)
    let receipt = try #require(saved.receipt)
    let undo = FileSave(path: path, saved.file, SaveOptions(), cancel: CancelFlag())
    _ = try undo.save(undo.undoing(receipt), edited: [], isDryRun: false) { _ in }
    #expect(try folder.read("a") == [UInt8](repeating: 97, count: count))
  }

  @Test func anInverseLeadsBack() throws {
    for seed in 0..<2000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let old = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        UInt8.random(in: 97...122, using: &generator)
      }
      var table = PieceTable()
      var cuts = [0, old.count]
      for _ in 0..<Int.random(in: 0..<5, using: &generator) {
        cuts.append(Int.random(in: 0...old.count, using: &generator))
      }
      cuts.sort()
      for (start, end) in zip(cuts, cuts.dropFirst()).shuffled(using: &generator) {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: table.append(old: start..<end)
        case 1:
          table.append(new: [UInt8](repeating: 65, count: Int.random(in: 0..<4, using: &generator)))
        default: break
        }
      }
      let new = Self.bytes(table, old)
      #expect(new.count == table.size)
      func inverse(mostBytes: Int, mostPieces: Int) throws -> PieceTable? {
        try table.inverse(
          of: MemoryBytes(old), size: old.count, mostBytes: mostBytes, mostPieces: mostPieces)
      }
      let count = table.pieces.count
      let whole = try #require(try inverse(mostBytes: old.count, mostPieces: count))
      #expect(Self.bytes(whole, new) == old)
      var keptBytes = 0
      for case .new(let bytes) in whole.pieces { keptBytes += bytes.count }
      #expect(try inverse(mostBytes: keptBytes, mostPieces: count) == whole)
      #expect(try inverse(mostBytes: keptBytes - 1, mostPieces: count) == nil || keptBytes == 0)
      #expect(try inverse(mostBytes: old.count, mostPieces: count - 1) == nil)
    }
  }

  static func bytes(_ table: PieceTable, _ old: [UInt8]) -> [UInt8] {
    table.pieces.flatMap { piece -> [UInt8] in
      switch piece {
      case .old(let range): Array(old[range])
      case .new(let bytes): bytes
      }
    }
  }
}

extension Array where Element == UInt32 {
  fileprivate var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
