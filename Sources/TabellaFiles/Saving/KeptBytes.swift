import CTabellaSystem
import Tabella

/// The bytes of a file from before it is rewritten in place, durable under the user's state folder.
///
/// They go when the rewriting is over: where they are still there, it was interrupted.
struct KeptBytes {
  let path: [UInt8]
  private let copy: DurableFile

  /// Keeps the bytes of a file that was opened by `place`. Throws ``TableError`` if that cannot be; nothing
  /// is left then.
  init(of file: OpenFile, at place: [UInt8], cancel: CancelFlag) throws(TableError) {
    path = try KeptBytes.path(of: file, at: place)
    do throws(TableError) {
      copy = try DurableFile(in: KeptBytes.folder(), room: file.fingerprint.size)
      do throws(TableError) {
        try copy.write(
          0..<file.fingerprint.size, of: file.descriptor, name: KeptBytes.name(of: file, at: place),
          cancel: cancel)
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

  /// What to say of a file whose last save in place was interrupted; nil if none was.
  static func remark(on file: OpenFile, at place: [UInt8]) -> String? {
    guard let path = try? path(of: file, at: place), path.withCString({ access($0, F_OK) }) == 0
    else { return nil }
    return
      "an in-place save was interrupted and may have left it half written; the bytes from before are in \(path.shown): copy them back unless it is right as it is, then remove that file"
  }

  /// `$XDG_STATE_HOME/tabella/in-place`, which is made if it is not there.
  static func folder() throws(TableError) -> [UInt8] {
    let path = try folderPath()
    try makeFolders(path)
    return path
  }

  static func folderPath() throws(TableError) -> [UInt8] {
    guard let state = stateFolder() else {
      throw TableError(
        .readOnly,
        "cannot be rewritten in place: there is no state folder for the old bytes; set HOME or XDG_STATE_HOME"
      )
    }
    return state + Array("/in-place".utf8)
  }

  /// Where the old bytes of a file are, or would be.
  static func path(of file: OpenFile, at place: [UInt8]) throws(TableError) -> [UInt8] {
    try folderPath() + Array("/\(name(of: file, at: place))".utf8)
  }

  /// The inode's number and when it was made: under any name the same file, and no other, also one that
  /// gets the number later. The number of a device is left out: it may be another after a restart.
  private static func name(of file: OpenFile, at place: [UInt8]) -> String {
    let born = UInt64(bitPattern: tabella_system_time_of_birth(file.descriptor))
    guard born == 0 else {
      return "\(String(file.fingerprint.inode, radix: 16))-\(String(born, radix: 16))"
    }
    // Not every file system knows when.
    return String((realPath(place) ?? place).withUnsafeBytes { digest64($0) }, radix: 16)
  }

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
