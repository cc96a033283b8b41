import CTabellaSystem
import Foundation
import Tabella
import TabellaSDK
import TabellaSystem
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Undo of `insert` and moves to another file system removed files that another program had written to or replaced
/// after the check. A removed entry must be the expected one at the moment of its removal.
@Suite struct DirectoryRemovalTests {
  let tree = EditedTree()

  private func content(_ name: String) -> String? {
    try? String(contentsOfFile: tree.path(name), encoding: .utf8)
  }

  private var names: [String] {
    namesByReaddir(Array(tree.root.utf8)).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  private func folder() throws -> OpenFolders {
    let folders = OpenFolders()
    try folders.add(0, Descriptor(owning: open(tree.root, O_RDONLY | O_DIRECTORY)), path: [])
    return folders
  }

  private func place(_ name: String, in folder: Int = 0) -> FolderEntry {
    FolderEntry(folder: folder, name: Array(name.utf8))
  }

  // Other programs

  private enum Event: CaseIterable {
    case nothing, append, rewrite, setMode, replace, makeAnew, makeLink, makeFolder, delete, hold

    /// The content that the other program writes.
    static let mark = "by another program"
    /// A content of the same length.
    static let other = "what was in there."

    /// Whether the original entry loses its name.
    var isOfName: Bool { [.replace, .makeAnew, .makeLink, .makeFolder, .delete].contains(self) }
  }

  /// Performs the event on the entry with the name; a missing entry is left alone. Returns a descriptor that stays
  /// open.
  private func act(_ event: Event, _ name: String) -> Int32? {
    let (path, other) = (tree.path(name), "\(tree.folder.path)/home/other")
    guard event == .nothing || tree.exists(name) else { return nil }
    // Long enough that every file system has a new time stamp.
    usleep(10_000)
    func write(_ path: String, _ flags: Int32) {
      let file = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0o644)
      guard file >= 0 else { return }
      #expect(Glibc.write(file, Event.mark, Event.mark.utf8.count) == Event.mark.utf8.count)
      close(file)
    }
    switch event {
    case .nothing: break
    case .append: write(path, O_APPEND)
    case .rewrite: write(path, 0)
    case .setMode: #expect(chmod(path, 0o604) == 0)
    case .replace:
      write(other, O_CREAT)
      #expect(rename(other, path) == 0)
    case .makeAnew:
      #expect(unlink(path) == 0)
      write(path, O_CREAT)
    case .makeLink: #expect(unlink(path) == 0 && symlink(Event.mark, path) == 0)
    case .makeFolder: #expect(unlink(path) == 0 && mkdir(path, 0o755) == 0)
    case .delete: #expect(unlink(path) == 0)
    case .hold: return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
    }
    return nil
  }

  /// Each possible act of another program, in front of each step of a removal. Its effect survives.
  @Test func nothingOfOthersGoes() throws {
    for strictness in [Removal.Expected.Strictness.content, .entry] {
      for event in Event.allCases {
        for gap in event == .nothing ? [0, 1, 2] : [0, 1] {
          let label = "\(strictness) \(event) \(gap)"
          let folders = try folder()
          let name = "file"
          tree.make(Array(name.utf8), Event.other)
          let path = tree.path(name)
          let before = try tabella_status(folders[0].descriptor, Array(name.utf8))
          var held: Int32?
          var failure: RemovalFailure?
          do throws(RemovalFailure) {
            if gap == 0 { held = act(event, name) }
            let removal = try Removal(
              Array(name.utf8), in: folders[0].descriptor, Removal.Expected(before, strictness))
            if gap == 1 { held = act(event, name) }
            try removal.setAside()
            #expect(!tree.exists(name), "\(label)")
            // The name finds the file no longer, and creating it makes another one.
            if gap == 2 { tree.make(Array(name.utf8), Event.mark) }
            try removal.finish()
          } catch {
            failure = error
          }
          let isKept: Bool
          switch event {
          case .nothing: isKept = false
          case .append, .rewrite, .hold: isKept = strictness == .content
          // After the last check of the change time, which the rename sets, too, a new mode is not noticed.
          case .setMode: isKept = strictness == .content && gap == 0
          default: isKept = true
          }
          // A program that could not open the file for writing has noticed that.
          let wrote = [.append, .rewrite].contains(event) && (gap == 0 || strictness == .entry)
          #expect((failure != nil) == isKept, "\(label)")
          #expect(failure?.stranded == nil, "\(label)")
          #expect(
            names.filter { $0.hasPrefix(".tabella-") }.isEmpty, "\(label): \(names)")
          if gap == 2 {
            #expect(content(name) == Event.mark, "\(label)")
          } else if isKept, event != .delete {
            #expect(tree.exists(name), "\(label)")
            if wrote { #expect(content(name)?.contains(Event.mark) == true, "\(label)") }
            if [.replace, .makeAnew].contains(event) {
              #expect(content(name) == Event.mark, "\(label)")
            }
          } else {
            #expect(!tree.exists(name), "\(label)")
          }
          if let held { close(held) }
          _ = rmdir(path)
          _ = unlink(path)
        }
      }
    }
  }

  /// If another program took the name in the meantime, its file stays, and the message contains the temporary name.
  @Test func whatCannotGoBackIsNamed() throws {
    tree.make("file")
    let folders = try folder()
    let before = try tabella_status(folders[0].descriptor, Array("file".utf8))
    let removal = try Removal(
      Array("file".utf8), in: folders[0].descriptor, Removal.Expected(before, .content))
    try removal.setAside()
    let aside = try #require(names.first { $0.hasPrefix(".tabella-") })
    // A waiting writer finds the file there.
    #expect(open(tree.path(aside), O_WRONLY | O_NONBLOCK) == -1 && errno == EWOULDBLOCK)
    tree.make(Array("file".utf8), Event.mark)
    let failure = #expect(throws: RemovalFailure.self) { try removal.finish() }
    #expect(failure?.stranded == Array(aside.utf8))
    let message = failure?.error(of: "file", "cannot be deleted").message
    #expect(
      message
        == "file is open for writing in another program, and now has the name \(aside), because it could not be renamed back"
    )
    #expect(content("file") == Event.mark && content(aside) == "file")
  }

  /// A writer that waits in open(2) gets the file with its name, and its bytes are kept.
  @Test func waitingWritersGetTheFile() throws {
    tree.make("file")
    let folders = try folder()
    let before = try tabella_status(folders[0].descriptor, Array("file".utf8))
    var removal: Removal? = try Removal(
      Array("file".utf8), in: folders[0].descriptor, Removal.Expected(before, .content))
    let path = tree.path("file")
    let writer = Thread {
      let file = open(path, O_WRONLY | O_CLOEXEC | O_APPEND)
      _ = write(file, Event.mark, Event.mark.utf8.count)
      close(file)
    }
    writer.start()
    // It is waiting as soon as the kernel asks for the lease.
    let entry = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(entry) }
    var watch: WriterWatch? = try WriterWatch(entry)
    for _ in 0..<500 where watch?.hasWriter == false { usleep(10_000) }
    #expect(watch?.hasWriter == true)
    watch = nil
    try removal?.setAside()
    let failure = #expect(throws: RemovalFailure.self) { try removal?.finish() }
    if case .open = failure?.reason {} else { Issue.record("\(failure.debugDescription)") }
    removal = nil
    for _ in 0..<500 where !writer.isFinished { usleep(10_000) }
    #expect(content("file") == "file" + Event.mark)
  }

  /// The system counts writers of a file, including those with only mapped memory, but not readers.
  @Test func writersAreSeen() throws {
    tree.make(Array("file".utf8), String(repeating: "x", count: 4096))
    let path = tree.path("file")
    let entry = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(entry) }
    func hasWriter() throws -> Bool { try WriterWatch(entry).hasWriter }
    /// A process that another test is starting has our descriptors until it runs its program.
    func endsWithoutWriter() throws -> Bool {
      for _ in 0..<500 where try hasWriter() { usleep(10_000) }
      return try !hasWriter()
    }
    #expect(try !hasWriter())
    for (flags, isWriter) in [(O_RDONLY, false), (O_WRONLY, true), (O_RDWR, true)] {
      let other = open(path, flags | O_CLOEXEC)
      #expect(try hasWriter() == isWriter)
      close(other)
      #expect(try endsWithoutWriter())
    }
    let other = open(path, O_RDWR | O_CLOEXEC)
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0)
    close(other)
    #expect(try hasWriter())
    #expect(munmap(memory, 4096) == 0)
    #expect(try endsWithoutWriter())
    // A later writer. Its notification would end the process if it were SIGIO.
    let watch = try WriterWatch(entry)
    #expect(!watch.hasWriter)
    #expect(open(path, O_WRONLY | O_NONBLOCK) == -1)
    #expect(watch.hasWriter)
  }

  // Undo

  /// All files were checked at once, before the first was removed.
  @Test func undoKeepsWhatIsWrittenToMeanwhile() throws {
    let count = 400
    let source = try tree.open()
    let at = IndexPath(section: 0, row: 0)
    for _ in 0..<3 {
      let batch = EditBatch(
        (1000..<1000 + count).map { .insert(at: at, cells: [0: .text(Array("\($0)".utf8))]) })
      let receipt = try #require(source.commit(batch).receipt)
      let (first, last) = (tree.path("1000"), tree.path("\(1000 + count - 1)"))
      nonisolated(unsafe) var wrote = false
      let writer = Thread {
        var status = stat()
        // The last file is removed first.
        while lstat(last, &status) == 0 {}
        let file = open(first, O_WRONLY | O_CLOEXEC | O_APPEND)
        wrote = file >= 0 && write(file, Event.mark, Event.mark.utf8.count) > 0
        close(file)
      }
      writer.start()
      let result = try source.undo(receipt, isDryRun: false)
      while !writer.isFinished { usleep(1000) }
      // A program that could write finds its file.
      #expect(wrote == tree.exists("1000"))
      guard wrote else { continue }
      #expect(content("1000") == Event.mark)
      #expect(result.outcomes[0].code == .conflict)
      let message = try #require(result.outcomes[0].message)
      #expect(
        message.hasPrefix("\(count - 1) of \(count) changes were undone: 1000 "), "\(message)")
      #expect(names == ["1000"])
      #expect(unlink(first) == 0)
      source.reload()
    }
  }

  /// The other changes are undone. Those left out are named, and can be undone later.
  @Test func undoGoesOnWithoutWhatIsKept() throws {
    let source = try tree.open()
    let at = IndexPath(section: 0, row: 0)
    let new = ["a", "b", "c", "d"]
    let receipt = try #require(
      source.commit(EditBatch(new.map { .insert(at: at, cells: [0: .text(Array($0.utf8))]) }))
        .receipt)
    let held = ["b", "c"].map { open(tree.path($0), O_WRONLY | O_CLOEXEC) }
    #expect(try source.undo(receipt, isDryRun: true).outcomes[0].code == nil)
    let part = try source.undo(receipt, isDryRun: false)
    #expect(part.outcomes[0].code == .conflict)
    #expect(
      part.outcomes[0].message
        == "2 of 4 changes were undone: c is open for writing in another program; b is open for writing in another program"
    )
    #expect(names == ["b", "c"])
    let rest = try #require(part.receipt)
    // Nothing was done, so there is no other undo.
    let none = try source.undo(rest, isDryRun: false)
    #expect(none.outcomes[0].code == .conflict && none.receipt == nil && names == ["b", "c"])
    for file in held { close(file) }
    #expect(try source.undo(rest, isDryRun: false).outcomes[0].code == nil)
    #expect(names.isEmpty)
  }

  /// A mode or a time that another program set after the check was overwritten.
  @Test func undoKeepsOthersModesAndTimes() throws {
    tree.make("file")
    let folders = try folder()
    let place = place("file")
    let status = try #require(try folders.status(place))
    let executor = Executor(
      folders, TrashCans(tree.settings.trash, makes: false), CancelFlag())
    func expectConflict(_ act: Step.Act) {
      let error = #expect(throws: TableError.self) { try executor.perform(act) }
      #expect(error?.code == .conflict && error?.message == "file was changed by another program")
      #expect(executor.records.isEmpty)
    }
    #expect(chmod(tree.path("file"), 0o604) == 0)
    let identity = Identity(status)
    expectConflict(.setMode(place, identity, 0o600, ifStill: status.mode & permissionBits))
    let times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 2000, tv_nsec: 3)]
    #expect(utimensat(AT_FDCWD, tree.path("file"), times, 0) == 0)
    let old = Moment(seconds: 1, nanoseconds: 0)
    expectConflict(
      .setModified(place, identity, old, was: old, ifStill: status.moment))
    let entry = try #require(tree.snapshot()["file"])
    #expect(entry.mode & 0o777 == 0o604 && entry.modified == [2000, 3])
    // Unchanged values are restored.
    _ = try executor.perform(.setMode(place, identity, 0o600, ifStill: 0o604))
    let now = Moment(seconds: 2000, nanoseconds: 3)
    _ = try executor.perform(.setModified(place, identity, old, was: old, ifStill: now))
    #expect(tree.snapshot()["file"]?.modified == [1, 0])
  }

  // Deleting

  /// A permanent deletion removes a row even after its content changed, but never an entry that replaced it.
  @Test func onlyTheRowIsDeleted() throws {
    for event in Event.allCases where event != .nothing && event != .hold {
      tree.make("file")
      let folders = try folder()
      let status = try #require(try folders.status(place("file")))
      let executor = Executor(
        folders, TrashCans(tree.settings.trash, makes: false), CancelFlag())
      _ = act(event, "file")
      do throws(TableError) {
        _ = try executor.perform(.remove(place("file"), Removal.Expected(status, .entry)))
        #expect(!event.isOfName && names.isEmpty, "\(event)")
      } catch {
        #expect(event.isOfName && error.code == .conflict, "\(event)")
        #expect(tree.exists("file") == (event != .delete), "\(event)")
        #expect(error.message == "file was replaced or has vanished")
      }
      _ = rmdir(tree.path("file"))
      _ = unlink(tree.path("file"))
    }
    // A folder with a new entry stays, and so does the entry.
    tree.make([UInt8]("folder/".utf8))
    let folders = try folder()
    let status = try #require(try folders.status(place("folder")))
    let removal = try Removal(
      Array("folder".utf8), in: folders[0].descriptor, Removal.Expected(status, .entry))
    tree.make("folder/new")
    try removal.setAside()
    let failure = #expect(throws: RemovalFailure.self) { try removal.finish() }
    #expect(failure?.error(of: "folder", "cannot be deleted").code == .constraint)
    #expect(content("folder/new") == "folder/new" && names == ["folder"])
  }

  // The trash

  /// An entry that replaced another one in the trash was restored instead, and the other's `.trashinfo` file was
  /// removed.
  @Test func othersTrashStaysAtTheMoment() throws {
    tree.make("a")
    let source = try tree.open()
    _ = try source.commit(EditBatch([.delete(try tree.row(source, "a"))]))
    let folders = try folder()
    let cans = TrashCans(tree.settings.trash, makes: false)
    let can = try #require(try cans.can(for: folders[0]))
    let name = Array("a".utf8)
    let identity = LastingIdentity(try tabella_status(can.files, name))
    let info = tree.trashPath + "/info/a.trashinfo"
    let digest = try Data(contentsOf: URL(fileURLWithPath: info)).withUnsafeBytes { digest64($0) }
    let trashed = Trashed(kind: can.kind, name: name, identity: identity, info: digest)
    let infoIdentity = try #require(try can.infoIdentity(of: trashed))
    let beside = try #require(cans.infoFile(of: name, in: can.files))

    // Another program empties the trash and puts another file with that name there.
    tree.make(Array("b".utf8), Event.mark)
    #expect(rename(tree.path("b"), tree.trashPath + "/files/a") == 0)
    let failure = #expect(throws: Failure.self) {
      try can.restore(name, infoIdentity, to: name, in: folders[0].descriptor, only: identity) {
        nil
      }
    }
    #expect(failure == .vanished && names.isEmpty)
    #expect(
      try String(contentsOfFile: tree.trashPath + "/files/a", encoding: .utf8) == Event.mark)
    tree.make(Array("c".utf8), "its note")
    #expect(rename(tree.path("c"), info) == 0)
    beside.remove()
    #expect(
      try String(contentsOfFile: info, encoding: .utf8) == "its note")
    #expect(namesByReaddir(Array((tree.trashPath + "/info").utf8)).count == 1)
    try #require(cans.infoFile(of: name, in: can.files)).remove()
    #expect(namesByReaddir(Array((tree.trashPath + "/info").utf8)).isEmpty)
  }

  // Moves to another file system

  /// Each possible act of another program on the original or on its named copy. Both stay, or the move was already
  /// complete.
  @Test func nothingIsLostAcross() throws {
    for isCopy in [false, true] {
      for event in Event.allCases {
        for name in ["from/", "to/"] { tree.make(Array(name.utf8)) }
        tree.make("from/file")
        let folders = OpenFolders()
        for (number, name) in ["from", "to"].enumerated() {
          try folders.add(
            number, Descriptor(owning: open(tree.path(name), O_RDONLY | O_DIRECTORY)),
            path: Array("\(name)/".utf8))
        }
        let (from, to) = (place("file"), place("file", in: 1))
        let across = CopyAcross(from, folders, CancelFlag())
        let identity = Identity(try #require(try folders.status(from)))
        let copy = try across.copy(identity, to: to)
        #expect(content("to/file") == "from/file")
        let held = act(event, isCopy ? "to/file" : "from/file")
        let label = "\(event) \(isCopy)"
        // For the copy only the content matters, since it has its name.
        let isDone = event == .nothing || isCopy && [.setMode, .hold].contains(event)
        do throws(TableError) {
          try across.finish(copy, at: to)
          #expect(isDone, "\(label)")
          #expect(!tree.exists("from/file") && content("to/file") == "from/file", "\(label)")
        } catch {
          #expect(!isDone && error.code == .conflict, "\(label): \(error)")
          let touched = isCopy ? "to/file" : "from/file"
          #expect(tree.exists(touched) == (event != .delete), "\(label)")
          if [.append, .rewrite, .replace, .makeAnew].contains(event) {
            #expect(content(touched)?.contains(Event.mark) == true, "\(label)")
          }
          // An original that another program removed is not created again.
          #expect(tree.exists(isCopy ? "from/file" : "to/file") == isCopy, "\(label)")
          let isLeft = isCopy && [.append, .rewrite].contains(event)
          #expect(across.hasLeftTraces == isLeft, "\(label)")
          #expect(error.message.contains("its copy to/file remains") == isLeft, "\(error)")
        }
        if let held { close(held) }
        for name in ["from", "to"] {
          #expect(
            !namesByReaddir(Array(tree.path(name).utf8)).contains {
              $0.starts(with: ".tabella-".utf8)
            })
          try FileManager.default.removeItem(atPath: tree.path(name))
        }
      }
    }
  }

  /// Writing through mapped memory changes no time stamp, so such a file is not copied.
  @Test func filesThatAreWrittenToAreNotCopied() throws {
    tree.make("file")
    let folders = try folder()
    let held = open(tree.path("file"), O_WRONLY | O_CLOEXEC)
    defer { close(held) }
    let across = CopyAcross(place("file"), folders, CancelFlag())
    let identity = Identity(try #require(try folders.status(place("file"))))
    let error = #expect(throws: TableError.self) { try across.move(identity, to: place("copy")) }
    #expect(error?.message == "file is open for writing in another program")
    #expect(error?.code == .conflict && names == ["file"] && !across.hasLeftTraces)
  }
}
