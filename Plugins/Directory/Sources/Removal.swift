import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// Removes a name of an entry, and never that of another entry that took its place.
///
/// The system removes whatever has a name at that moment. So the entry gets a random name first, under which
/// nothing can take its place, and is compared there. If it is not what was meant, it gets its name back, unless
/// something else has that by now. A kill in between leaves it under the random name.
final class Removal {
  /// What must have the name.
  struct Expected {
    enum Care {
      /// It is the entry that was examined, whatever was written to it since.
      case entry
      /// Nothing was written to it since either, and nobody has it open for writing.
      case content
    }

    let status: tabella_status
    let care: Care

    init(_ status: tabella_status, _ care: Care) {
      self.status = status
      self.care = care
    }

    /// Whether the content counts. That of a folder need not: only an empty one can be removed.
    fileprivate var countsContent: Bool {
      care == .content && EntryKind(mode: status.mode) != .directory
    }
  }

  private let name: [UInt8]
  private let folder: Int32
  private let expected: Expected
  /// The entry, whatever its name becomes. As long as it is open its inode is not used again.
  private let entry: Int32
  private var watch: WriterWatch?
  /// The random name, while the entry has that.
  private var aside: [UInt8]?

  /// All three steps.
  static func perform(
    _ name: [UInt8], in folder: Int32, _ expected: Expected
  ) throws(RemovalFailure) {
    let removal = try Removal(name, in: folder, expected)
    try removal.setAside()
    try removal.finish()
  }

  /// Opens what has the name and compares it, before anything is done.
  init(_ name: [UInt8], in folder: Int32, _ expected: Expected) throws(RemovalFailure) {
    let entry = name.withCString { tabella_system_open_entry(folder, $0) }
    guard entry >= 0 else { throw RemovalFailure(Failure(-entry)) }
    self.name = name
    self.folder = folder
    self.expected = expected
    self.entry = entry
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
    // From here on nobody can write to a file unnoticed.
    if watch?.hasWriter == true { throw RemovalFailure(.open) }
    let now = try status(entry)
    guard now.hasContent(of: expected.status), now.isUnchanged(since: expected.status) else {
      throw RemovalFailure(.changed)
    }
  }

  deinit { close(entry) }

  /// Gives the entry a random name.
  func setAside() throws(RemovalFailure) {
    let other = EntryName.temporary()
    let result = rename(name, other)
    // Where there is no such rename, or no room for another name, the look right before the removal is all
    // there is.
    if [EINVAL, ENOSYS, EOPNOTSUPP, EXDEV, ENOSPC, EDQUOT].contains(-result) { return }
    guard result == 0 else { throw RemovalFailure(Failure(-result)) }
    aside = other
  }

  /// Removes the entry if it is still what was meant; else gives it its name back.
  func finish() throws(RemovalFailure) {
    do throws(RemovalFailure) {
      try compare()
      let flags = EntryKind(mode: expected.status.mode) == .directory ? AT_REMOVEDIR : 0
      let number = (aside ?? name).withCString { unlinkat(folder, $0, flags) == 0 ? 0 : errno }
      if number != 0 { throw RemovalFailure(Failure(number)) }
    } catch {
      throw RemovalFailure(error.reason, stranded: putBack())
    }
  }

  private func compare() throws(RemovalFailure) {
    let now: tabella_status
    do throws(Failure) {
      now = try tabella_status(folder, aside ?? name)
    } catch {
      throw RemovalFailure(error)
    }
    // What is open is as it is now too: in some file systems a rename gives a file another birth.
    guard try now.isEntry(of: status(entry)) else { throw RemovalFailure(.replaced) }
    guard expected.countsContent else { return }
    if watch?.hasWriter == true { throw RemovalFailure(.open) }
    // The rename itself set the time of change.
    guard now.hasContent(of: expected.status) else { throw RemovalFailure(.changed) }
  }

  /// Returns the name that the entry has if it could not get its own back.
  private func putBack() -> [UInt8]? {
    guard let aside else { return nil }
    let result = rename(aside, name)
    return result == 0 || result == -ENOENT ? nil : aside
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

/// Why a name was not removed.
struct RemovalFailure: Error {
  enum Reason {
    /// Another entry has the name, or none.
    case replaced
    /// Something was written to the entry, or of it was changed.
    case changed
    /// Another program has it open for writing.
    case open
    case system(Failure)
  }

  let reason: Reason
  /// The name that the entry has now, in the same folder, if it could not get its own back.
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
        ", and is named \(readable(stranded)) now, since it could not get its name back"
    }
    return error
  }
}

/// Tells whether another program has a file open for writing, or opens it so as long as this lives.
///
/// It is a lease (fcntl(2)), which the system keeps for each file that somebody may write to by a descriptor or by
/// mapped memory. Whoever opens the file for writing meanwhile waits for a moment. Where no lease is to be had
/// nothing is known: of another user's file, of one that may not be read, and in file systems that have none.
final class WriterWatch {
  private enum State {
    /// The file was open already.
    case written
    case leased(Int32)
    case unknown
  }

  private let state: State

  /// `entry` is the open file, in whatever way it is open. Throws only for want of memory and the like.
  init(_ entry: Int32) throws(Failure) {
    let file = open("/proc/self/fd/\(entry)", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard file >= 0 else {
      switch errno {
      // Another program has a lease itself, for writing.
      case EWOULDBLOCK: state = .written
      case EACCES, EPERM, ENOENT: state = .unknown
      default: throw Failure(errno)
      }
      return
    }
    switch -tabella_system_lease(file) {
    case 0: state = .leased(file)
    case EAGAIN:
      close(file)
      state = .written
    default:
      close(file)
      state = .unknown
    }
  }

  deinit { if case .leased(let file) = state { close(file) } }

  var hasWriter: Bool {
    switch state {
    case .written: true
    case .leased(let file): !tabella_system_holds_lease(file)
    case .unknown: false
    }
  }
}

extension tabella_status {
  /// Whether it is of the same entry, and not of one that got its inode.
  func isEntry(of other: tabella_status) -> Bool {
    device == other.device && LastingIdentity(other).isSame(as: self)
  }

  /// Whether nothing was written in between, as far as size and time tell.
  func hasContent(of other: tabella_status) -> Bool {
    size == other.size && moment == other.moment
  }

  /// Whether nothing of the entry was changed at all, its names included.
  func isUnchanged(since other: tabella_status) -> Bool {
    changed == other.changed && changed_rest == other.changed_rest
  }
}
