import CTabellaSystem
import Tabella
import TabellaSystem

/// The old bytes of a file that is overwritten in place, durable in the user's state folder.
///
/// A save removes them at its end, before it releases the file's lock. If they exist and no process has that lock,
/// the save was interrupted.
struct KeptBytes {
  /// The path for the old bytes of one file. A save determines it once, so that all steps use the same path.
  struct Slot {
    let folder: [UInt8]
    let name: String

    /// The path for a file that was opened by `path`; nil if there is no state folder.
    ///
    /// Throws ``TableError`` if the path cannot be determined.
    init?(of file: OpenFile, at path: [UInt8]) throws(TableError) {
      guard let state = stateFolder() else { return nil }
      folder = state + Array("/in-place".utf8)
      // The inode number and the birth time identify the file under all its names. A later file with the same inode
      // number has another birth time. The device number is omitted, because it can change after a restart.
      var born: Int64 = 0
      let result = tabella_system_time_of_birth(file.descriptor, &born)
      guard result == 0 else { throw .system(-result, "cannot be examined") }
      guard born == 0 else {
        name =
          "\(String(file.fingerprint.inode, radix: 16))-\(String(UInt64(bitPattern: born), radix: 16))"
        return
      }
      // Some file systems do not record the birth time.
      guard let resolved = realPath(path) else {
        throw errno == ENOENT ? SaveTarget.isGone : .system(errno, "cannot be found again")
      }
      name = String(resolved.withUnsafeBytes { digest64($0) }, radix: 16)
    }

    var path: [UInt8] { folder + Array("/\(name)".utf8) }

    /// Whether old bytes exist at the path. Throws ``TableError`` if that cannot be determined.
    func isTaken() throws(TableError) -> Bool {
      let number = path.withCString { access($0, F_OK) == 0 ? 0 : errno }
      // If this user cannot search the folder, no save of this user stored anything there.
      guard [0, ENOENT, ENOTDIR, EACCES].contains(number) else {
        throw .system(number, "\(path.shown), which may contain its old bytes, cannot be examined")
      }
      return number == 0
    }

    /// Determines whether a save in place is running or was interrupted. This process must not hold the file's
    /// lock.
    func trace(of file: OpenFile) throws(TableError) -> Trace {
      guard try isTaken() else { return .none }
      var result: Int32
      repeat { result = tabella_system_lock_shared(file.descriptor) } while result == -EINTR
      if result == -EWOULDBLOCK { return .isRunning }
      defer { if result == 0 { _ = tabella_system_unlock(file.descriptor) } }
      // The save can have ended in between.
      return try isTaken() ? .wasInterrupted : .none
    }

    var interruption: String {
      "an interrupted in-place save may have left it half written; the old bytes are in \(path.shown): copy them back if the file is damaged, then remove \(path.shown)"
    }
  }

  /// The state of a save in place.
  enum Trace {
    case none, isRunning, wasInterrupted
  }

  let path: [UInt8]
  private let copy: DurableFile

  /// Stores the bytes of a file. Throws ``TableError`` if that fails, and leaves nothing behind.
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

  /// Removes the bytes. Returns a description of the problem if that fails.
  func remove() -> String? {
    guard path.withCString({ unlink($0) }) == 0 else {
      return
        "was saved, but the old bytes in \(path.shown) cannot be removed; remove that file before you edit this one again: \(errorText(errno))"
    }
    return copy.synchronizeFolder() == 0
      ? nil
      : "was saved, but the old bytes in \(path.shown) may return after a power failure; remove that file then"
  }
}
