import CTabellaSystem
import Tabella

/// A new file in a folder that is there whole or not at all, and durable once it is.
///
/// It has no name until it is written, so that what is abandoned or interrupted leaves nothing behind
/// (where the file system has no nameless files: a name that begins with a dot). Room is taken when it is
/// made: what must be noted after something was done is not stopped by a full disk.
public final class DurableFile {
  private let folder: Int32
  private let file: Int32
  /// The name until it is written, if it must have one.
  private var temporaryName: [CChar]?

  /// Makes a file without content, readable and writable by its owner only.
  ///
  /// `folder` is a path of any bytes; `room` is how many bytes are sure to fit. Throws ``TableError``
  /// with `.denied`, `.readOnly`, `.notFound` or `.io`.
  public init(in folder: [UInt8], room: Int) throws(TableError) {
    let what = "a file in \(String(decoding: folder, as: UTF8.self)) cannot be made"
    let directory = folder.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard directory >= 0 else { throw .system(errno, what) }
    // The way from a nameless file to a name leads through /proc.
    var descriptor =
      access("/proc/self/fd", X_OK) == 0 ? tabella_system_make_nameless(directory) : -EOPNOTSUPP
    var name: [CChar]?
    if [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(-descriptor) {
      let made = TemporaryFile.randomName()
      descriptor = openat(
        directory, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if descriptor < 0 { descriptor = -errno } else { name = made }
    }
    guard descriptor >= 0 else {
      close(directory)
      throw .system(-descriptor, what)
    }
    self.folder = directory
    file = descriptor
    temporaryName = name
    let result = posix_fallocate(descriptor, 0, max(room, 1))
    // Where room cannot be taken beforehand, writing will tell.
    guard result == 0 || result == EOPNOTSUPP || result == EINVAL else {
      throw .system(result, what)
    }
  }

  deinit {
    if let temporaryName { unlinkat(folder, temporaryName, 0) }
    close(file)
    close(folder)
  }

  /// Writes the content and gives the file its name, once; returns when both are on the disk.
  ///
  /// Throws ``TableError``; `.conflict` if something has the name, which is then left as it is. After
  /// any other error the file may be there or not, but never in part.
  public func write(_ bytes: [UInt8], name: String) throws(TableError) {
    let what = "\(name) cannot be written"
    try bytes.withUnsafeBytesThrowing { bytes throws(TableError) in
      var sent = 0
      while sent < bytes.count {
        let count = pwrite(file, bytes.baseAddress! + sent, bytes.count - sent, off_t(sent))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw .system(count < 0 ? errno : EIO, what) }
        sent += count
      }
    }
    guard ftruncate(file, off_t(bytes.count)) == 0, fsync(file) == 0 else {
      throw .system(errno, what)
    }
    let result =
      temporaryName.map {
        tabella_system_rename(folder, $0, folder, name, TABELLA_RENAME_NO_REPLACE)
      } ?? tabella_system_name(file, folder, name)
    guard result != -EEXIST else { throw TableError(.conflict, "\(name) exists") }
    guard result == 0 else { throw .system(-result, what) }
    temporaryName = nil
    guard fsync(folder) == 0 else { throw .system(errno, what) }
  }
}

extension [UInt8] {
  /// `withUnsafeBytes` for a body with typed throws.
  fileprivate func withUnsafeBytesThrowing(
    _ body: (UnsafeRawBufferPointer) throws(TableError) -> Void
  ) throws(TableError) {
    let result = withUnsafeBytes { bytes in
      Result { () throws(TableError) in try body(bytes) }
    }
    try result.get()
  }
}
