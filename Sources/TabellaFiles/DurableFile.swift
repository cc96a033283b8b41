import CTabellaSystem
import Tabella

/// A new file in a folder that is there whole or not at all, and durable once it is.
///
/// It has no name until it is written, so that what is abandoned or interrupted leaves nothing behind
/// (where the file system has no nameless files: a name that begins with a dot). Room is taken when it is
/// made: what must be noted after something was done is not stopped by a full disk.
public final class DurableFile {
  private let folder: Int32
  private let file: TemporaryFile

  /// Makes a file without content, readable and writable by its owner only.
  ///
  /// `folder` is a path of any bytes; `room` is how many bytes are sure to fit. Throws ``TableError``
  /// with `.denied`, `.readOnly`, `.notFound` or `.io`.
  public init(in folder: [UInt8], room: Int) throws(TableError) {
    let directory = folder.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard directory >= 0 else { throw .system(errno, "\(folder.shown) cannot be opened") }
    do throws(TableError) {
      file = try TemporaryFile(in: directory)
      let result = posix_fallocate(file.descriptor, 0, max(room, 1))
      // Where room cannot be taken beforehand, writing will tell.
      guard result == 0 || result == EOPNOTSUPP || result == EINVAL else {
        throw .system(result, "a file in \(folder.shown) cannot be made")
      }
    } catch {
      close(directory)
      throw error
    }
    self.folder = directory
  }

  deinit {
    file.discard()
    close(folder)
  }

  /// Throws why files with so much room could not be made in a folder, as far as that can be tried without a
  /// trace. The folder need not be there: then what is there on the way to it is tried.
  ///
  /// `meanwhile` is called while the room is taken.
  public static func tryOut(
    in folder: [UInt8], rooms: [Int], meanwhile: () throws(TableError) -> Void = {}
  ) throws(TableError) {
    var path = folder
    var directory: Int32
    while true {
      directory = path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      if directory >= 0 { break }
      let number = errno
      guard number == ENOENT, let slash = path.lastIndex(of: UInt8(ascii: "/")), path.count > 1
      else { throw .system(number, "\(path.shown) cannot be opened") }
      path.removeSubrange(max(slash, 1)...)
    }
    defer { close(directory) }
    guard faccessat(directory, ".", W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, "\(path.shown) cannot be written into")
    }
    let failing = "a file in \(folder.shown) cannot be made"
    var trials: [TemporaryFile] = []
    for room in rooms {
      guard let trial = try TemporaryFile(namelessIn: directory, failing: failing) else { break }
      trials.append(trial)
      try trial.tryRoom(room, failing: failing)
    }
    try withExtendedLifetime(trials) { () throws(TableError) in try meanwhile() }
  }

  /// The file, open as long as this object lives.
  var descriptor: Int32 { file.descriptor }

  /// Makes what was done to names of the folder durable; 0, or -1 with `errno` set.
  func synchronizeFolder() -> Int32 { fsync(folder) }

  /// Writes the content and gives the file its name, once; returns when both are on the disk.
  ///
  /// Throws ``TableError``; `.conflict` if something has the name, which is then left as it is. After
  /// any other error the file may be there or not, but never in part.
  public func write(_ bytes: [UInt8], name: String) throws(TableError) {
    var writer = FileWriter(
      file.descriptor, cancel: CancelFlag(), failing: "\(name) cannot be written")
    try writer.write(bytes)
    try finish(bytes.count, name)
  }

  /// The same with bytes of another file; `.cancelled` leaves nothing.
  func write(
    _ range: Range<Int>, of other: Int32, name: String, cancel: CancelFlag
  ) throws(TableError) {
    var writer = FileWriter(file.descriptor, cancel: cancel, failing: "\(name) cannot be written")
    try writer.copy(range, of: other)
    try finish(range.count, name)
  }

  /// The same over what has the name: it stays whole until this is.
  public func write(_ bytes: [UInt8], replacing name: String) throws(TableError) {
    var writer = FileWriter(
      file.descriptor, cancel: CancelFlag(), failing: "\(name) cannot be written")
    try writer.write(bytes)
    let what = "\(name) cannot be written"
    guard ftruncate(file.descriptor, bytes.count) == 0, fsync(file.descriptor) == 0 else {
      throw .system(errno, what)
    }
    let result = try file.replace(Array(name.utf8CString))
    guard result == 0 else { throw .system(-result, what) }
    try synchronizeFolder(after: name)
  }

  private func finish(_ size: Int, _ name: String) throws(TableError) {
    let what = "\(name) cannot be written"
    guard ftruncate(file.descriptor, size) == 0, fsync(file.descriptor) == 0 else {
      throw .system(errno, what)
    }
    let result = file.become(Array(name.utf8CString))
    guard result != -EEXIST else { throw TableError(.conflict, "\(name) exists") }
    guard result == 0 else { throw .system(-result, what) }
    try synchronizeFolder(after: name)
  }

  /// Makes the file's new name durable. The file is there, whatever comes of this.
  private func synchronizeFolder(after name: String) throws(TableError) {
    guard fsync(folder) == 0 else {
      throw .system(errno, "\(name) was written, but may not survive a power cut")
    }
  }
}
