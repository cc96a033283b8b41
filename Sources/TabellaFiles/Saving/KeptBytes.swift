import CTabellaSystem
import Tabella

/// The bytes of a file from before it is rewritten in place, durable under the user's state folder.
///
/// They go when the rewriting is over, before the file's lock does: where they are still there and nobody has
/// that lock, it was interrupted.
struct KeptBytes {
  /// The place for the bytes of one file. It is found out once for each save: all steps of the save mean the same place.
  struct Slot {
    let folder: [UInt8]
    let name: String

    /// The place for a file that was opened by a path; nil if there is no state folder. Throws
    /// ``TableError`` if it cannot be told.
    init?(of file: OpenFile, at path: [UInt8]) throws(TableError) {
      guard let state = stateFolder() else { return nil }
      folder = state + Array("/in-place".utf8)
      // The inode's number and when it was made: under any name the same file, and no other, also one that
      // gets the number later. The number of a device is left out: it may be another after a restart.
      var born: Int64 = 0
      let result = tabella_system_time_of_birth(file.descriptor, &born)
      guard result == 0 else { throw .system(-result, "cannot be examined") }
      guard born == 0 else {
        name =
          "\(String(file.fingerprint.inode, radix: 16))-\(String(UInt64(bitPattern: born), radix: 16))"
        return
      }
      // Not every file system knows when.
      guard let resolved = realPath(path) else {
        throw errno == ENOENT ? SaveTarget.isGone : .system(errno, "cannot be found again")
      }
      name = String(resolved.withUnsafeBytes { digest64($0) }, radix: 16)
    }

    var path: [UInt8] { folder + Array("/\(name)".utf8) }

    /// Whether bytes are kept there. Throws ``TableError`` if that cannot be told.
    func isTaken() throws(TableError) -> Bool {
      let number = path.withCString { access($0, F_OK) == 0 ? 0 : errno }
      // In a folder that this user may not search no save of theirs kept anything.
      guard [0, ENOENT, ENOTDIR, EACCES].contains(number) else {
        throw .system(number, "\(path.shown), where old bytes of it may be, cannot be examined")
      }
      return number == 0
    }

    /// Finds out whether a save in place is going on or was interrupted. This process must not have locked the file.
    func trace(of file: OpenFile) throws(TableError) -> Trace {
      guard try isTaken() else { return .none }
      var result: Int32
      repeat { result = tabella_system_lock_shared(file.descriptor) } while result == -EINTR
      if result == -EWOULDBLOCK { return .isRunning }
      defer { if result == 0 { _ = tabella_system_unlock(file.descriptor) } }
      // It may have ended in between.
      return try isTaken() ? .wasInterrupted : .none
    }

    var interruption: String {
      "an in-place save was interrupted and may have left it half written; the bytes from before are in \(path.shown): copy them back unless it is right as it is, then remove that file"
    }
  }

  /// The traces of a save in place.
  enum Trace {
    case none, isRunning, wasInterrupted
  }

  let path: [UInt8]
  private let copy: DurableFile

  /// Keeps the bytes of a file. Throws ``TableError`` if that cannot be; nothing is left then.
  init(of file: OpenFile, in place: Slot, cancel: CancelFlag) throws(TableError) {
    path = place.path
    do throws(TableError) {
      copy = try DurableFile(in: place.folder, room: file.fingerprint.size)
      do throws(TableError) {
        try copy.write(
          0..<file.fingerprint.size, of: file.descriptor, name: place.name, cancel: cancel)
      } catch {
        if error.code != .conflict { path.withCString { _ = unlink($0) } }
        throw error
      }
    } catch {
      throw TableError(
        error.code, "its old bytes cannot be kept, so nothing was changed: \(error.message)")
    }
  }

  var descriptor: Int32 { copy.descriptor }

  /// Removes the bytes, which are needed no more; returns what is wrong if that fails.
  func remove() -> String? {
    guard path.withCString({ unlink($0) }) == 0 else {
      return
        "was saved, but the bytes from before cannot be removed from \(path.shown); remove them before you edit it again: \(errorText(errno))"
    }
    return copy.synchronizeFolder() == 0
      ? nil : "was saved, but that the bytes from before are gone from \(path.shown) is not durable"
  }
}
