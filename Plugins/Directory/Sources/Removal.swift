import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// Removes the name of one entry, and never that of an entry that replaced it.
///
/// `unlink` removes any entry that has the name at that moment. So the removal first renames the entry to a random
/// name, which no other program knows, and compares it there. If it is the wrong entry, it gets its name back, unless
/// the name is taken by then. If the process is killed in between, the entry keeps the random name.
final class Removal {
  /// The expected state of the entry.
  struct Expected {
    enum Strictness {
      /// It must be the examined entry; its content may have changed since.
      case entry
      /// Its content must be unchanged, too, and no program may have it open for writing.
      case content
    }

    let status: tabella_status
    let strictness: Strictness

    init(_ status: tabella_status, _ strictness: Strictness) {
      self.status = status
      self.strictness = strictness
    }

    /// Whether the content matters. For a folder it does not, since only empty folders can be removed.
    fileprivate var countsContent: Bool {
      strictness == .content && EntryKind(mode: status.mode) != .directory
    }
  }

  private let name: [UInt8]
  private let folder: Int32
  private let expected: Expected
  /// A descriptor of the entry, independent of its name. While it is open, the system cannot reuse the inode.
  private let opened: Descriptor
  private var watch: WriterWatch?
  /// The random name, while the entry has it.
  private var temporaryName: [UInt8]?

  /// Performs all three steps.
  static func perform(
    _ name: [UInt8], in folder: Int32, _ expected: Expected
  ) throws(RemovalFailure) {
    let removal = try Removal(name, in: folder, expected)
    try removal.setAside()
    try removal.finish()
  }

  /// Opens the entry and compares it. It changes nothing.
  init(_ name: [UInt8], in folder: Int32, _ expected: Expected) throws(RemovalFailure) {
    let result = name.withCString { tabella_system_open_entry(folder, $0) }
    guard let opened = Descriptor(result) else { throw RemovalFailure(Failure(-result)) }
    self.name = name
    self.folder = folder
    self.expected = expected
    self.opened = opened
    guard try status(entry).isEntry(of: expected.status) else {
      throw RemovalFailure(.replaced)
    }
    guard expected.countsContent else { return }
    if EntryKind(mode: expected.status.mode) == .file {
      do throws(Failure) {
        watch = try WriterWatch(entry)
      } catch {
        throw RemovalFailure(error)
      }
    }
    // From here on, the lease reveals any writer.
    if watch?.hasWriter == true { throw RemovalFailure(.open) }
    let now = try status(entry)
    guard now.hasContent(of: expected.status), now.isUnchanged(since: expected.status) else {
      throw RemovalFailure(.changed)
    }
  }

  private var entry: Int32 { opened.raw }

  /// Renames the entry to a random name.
  func setAside() throws(RemovalFailure) {
    let other = EntryName.temporary()
    let result = rename(name, other)
    // Without such a rename, or without space for another name, the comparison right before the removal must suffice.
    if [EINVAL, ENOSYS, EOPNOTSUPP, EXDEV, ENOSPC, EDQUOT].contains(-result) { return }
    guard result == 0 else { throw RemovalFailure(Failure(-result)) }
    temporaryName = other
  }

  /// Removes the entry if it is the expected one. Otherwise gives it its name back.
  func finish() throws(RemovalFailure) {
    do throws(RemovalFailure) {
      try compare()
      let flags = EntryKind(mode: expected.status.mode) == .directory ? AT_REMOVEDIR : 0
      let number = (temporaryName ?? name).withCString {
        unlinkat(folder, $0, flags) == 0 ? 0 : errno
      }
      if number != 0 { throw RemovalFailure(Failure(number)) }
    } catch {
      throw RemovalFailure(error.reason, stranded: putBack())
    }
  }

  private func compare() throws(RemovalFailure) {
    let now: tabella_status
    do throws(Failure) {
      now = try tabella_status(folder, temporaryName ?? name)
    } catch {
      throw RemovalFailure(error)
    }
    // The comparison uses the current state of the open entry, because a rename changes the birth time on some file
    // systems.
    guard try now.isEntry(of: status(entry)) else { throw RemovalFailure(.replaced) }
    guard expected.countsContent else { return }
    if watch?.hasWriter == true { throw RemovalFailure(.open) }
    // The rename itself has changed the change time (ctime).
    guard now.hasContent(of: expected.status) else { throw RemovalFailure(.changed) }
  }

  /// Restores the name. Returns the random name if that failed.
  private func putBack() -> [UInt8]? {
    guard let temporaryName else { return nil }
    let result = rename(temporaryName, name)
    return result == 0 || result == -ENOENT ? nil : temporaryName
  }

  private func rename(_ from: [UInt8], _ to: [UInt8]) -> Int32 {
    from.withCString { from in
      to.withCString {
        tabella_system_rename(folder, from, folder, $0, TABELLA_RENAME_NO_REPLACE)
      }
    }
  }

  private func status(_ entry: Int32) throws(RemovalFailure) -> tabella_status {
    do throws(Failure) {
      return try tabella_status(entry)
    } catch {
      throw RemovalFailure(error)
    }
  }
}

/// The reason why a name was not removed.
struct RemovalFailure: Error {
  enum Reason {
    /// The name belongs to another entry, or to none.
    case replaced
    /// The content or the attributes of the entry have changed.
    case changed
    /// Another program has the entry open for writing.
    case open
    case system(Failure)
  }

  let reason: Reason
  /// The present name of the entry, in the same folder, if it could not get its own name back.
  let stranded: [UInt8]?

  init(_ reason: Reason, stranded: [UInt8]? = nil) {
    self.reason = reason
    self.stranded = stranded
  }

  init(_ failure: Failure) {
    self.init([ENOENT, ENOTDIR].contains(failure.number) ? .replaced : .system(failure))
  }

  /// The error of an edit: "a cannot be deleted: …".
  func error(of text: String, _ what: String) -> TableError {
    var error =
      switch reason {
      case .replaced: Failure.vanished.error(of: text, what)
      case .changed: TableError(.conflict, "\(text) was changed by another program")
      case .open: TableError(.conflict, "\(text) is open for writing in another program")
      case .system(let failure): failure.error(of: text, what)
      }
    if let stranded {
      error.message +=
        ", and now has the name \(readable(stranded)), because it could not be renamed back"
    }
    return error
  }
}

/// Detects whether another program has a file open for writing, or opens it during the lifetime of this object.
///
/// It holds a lease (fcntl(2)). The kernel denies or breaks the lease if somebody can write through a descriptor or
/// through mapped memory. A program that opens the file for writing waits for a moment. Nothing is known if no lease is
/// possible: for a file of another user, for an unreadable file, and on file systems without leases.
final class WriterWatch {
  /// The file with the lease; nil if there is none.
  private let lease: Descriptor?
  /// Whether the file was already open for writing.
  private let wasOpen: Bool

  /// Takes a lease on an open file; `entry` may be open in any mode. Throws only if resources such as memory are
  /// exhausted.
  init(_ entry: Int32) throws(Failure) {
    guard
      let file = Descriptor(
        opening: "/proc/self/fd/\(entry)", O_RDONLY | O_NONBLOCK | O_NOCTTY)
    else {
      let number = errno
      guard [EWOULDBLOCK, EACCES, EPERM, ENOENT].contains(number) else { throw Failure(number) }
      // Another program has a write lease.
      wasOpen = number == EWOULDBLOCK
      lease = nil
      return
    }
    var result = tabella_system_lease(file.raw)
    // A program that is being started holds copies of its parent's descriptors until it is executed (fork(2)).
    for _ in 0..<50 where result == -EAGAIN {
      usleep(1000)
      result = tabella_system_lease(file.raw)
    }
    wasOpen = result == -EAGAIN
    if result == 0 { lease = consume file } else { lease = nil }
  }

  var hasWriter: Bool {
    lease == nil ? wasOpen : !tabella_system_holds_lease(lease.raw)
  }
}

extension tabella_status {
  /// Whether both belong to the same entry. An entry that reuses the inode is a different one.
  func isEntry(of other: tabella_status) -> Bool {
    device == other.device && LastingIdentity(other).isSame(as: self)
  }

  /// Whether size and modification time are equal.
  func hasContent(of other: tabella_status) -> Bool {
    size == other.size && moment == other.moment
  }

  /// Whether the change time (ctime) is equal. Any change of the entry or its links updates it.
  func isUnchanged(since other: tabella_status) -> Bool {
    changed == other.changed && changed_rest == other.changed_rest
  }
}
