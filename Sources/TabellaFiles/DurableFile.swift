import CTabellaSystem
import Tabella
import TabellaSystem

/// A new file in a folder. It is either complete and durable, or does not exist.
///
/// The file has no name until it is complete, so that an interruption leaves nothing behind. On file systems
/// without nameless files, it has a temporary name that begins with a dot. The constructor reserves disk space. A
/// program can thus record an action after the action, even if the disk is full by then.
public final class DurableFile {
  private let folder: Descriptor
  private let file: TemporaryFile

  /// Creates an empty file that only its owner can read and write.
  ///
  /// `folder` is a path of any bytes. `room` is the number of bytes that are sure to fit. Throws ``TableError``
  /// with `.denied`, `.readOnly`, `.notFound` or `.io`.
  public init(in folder: [UInt8], room: Int) throws(TableError) {
    self.folder = try Descriptor(
      opening: folder, O_RDONLY | O_DIRECTORY, errorPrefix: "\(folder.shown) cannot be opened")
    file = try TemporaryFile(in: self.folder.raw)
    let result = posix_fallocate(file.descriptor, 0, max(room, 1))
    // If space cannot be reserved, the write reports a full disk.
    guard result == 0 || result == EOPNOTSUPP || result == EINVAL else {
      throw .system(result, "a file in \(folder.shown) cannot be created")
    }
  }

  deinit { file.discard() }

  /// Throws if files of these sizes could not be created in a folder, as far as a test without side effects shows.
  ///
  /// If the folder does not exist, the nearest existing parent is tested. `meanwhile` runs while the space is
  /// reserved.
  public static func tryOut(
    in folder: [UInt8], rooms: [Int], meanwhile: () throws(TableError) -> Void = {}
  ) throws(TableError) {
    var path = folder
    let directory = try openNearest(&path)
    guard faccessat(directory.raw, ".", W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, "\(path.shown) cannot be written into")
    }
    let errorPrefix = "a file in \(folder.shown) cannot be created"
    var trials: [TemporaryFile] = []
    for room in rooms {
      guard let trial = try TemporaryFile(namelessIn: directory.raw, errorPrefix: errorPrefix)
      else {
        break
      }
      trials.append(trial)
      try trial.tryRoom(room, errorPrefix: errorPrefix)
    }
    try withExtendedLifetime(trials) { () throws(TableError) in try meanwhile() }
  }

  /// Opens a folder, or its nearest existing parent if it does not exist. Shortens the path accordingly.
  private static func openNearest(_ path: inout [UInt8]) throws(TableError) -> Descriptor {
    while true {
      if let directory = Descriptor(opening: path, O_RDONLY | O_DIRECTORY) { return directory }
      let number = errno
      guard number == ENOENT, let slash = path.lastIndex(of: UInt8(ascii: "/")), path.count > 1
      else { throw .system(number, "\(path.shown) cannot be opened") }
      path.removeSubrange(max(slash, 1)...)
    }
  }

  /// The descriptor of the file, open until the object is released.
  var descriptor: Int32 { file.descriptor }

  /// Makes changes of names in the folder durable. Returns 0, or -1 with `errno` set.
  func synchronizeFolder() -> Int32 { fsync(folder.raw) }

  /// Writes the content and gives the file its name. Call it once. It returns when both are on the disk.
  ///
  /// Throws ``TableError`` with `.conflict` if the name is taken; that file stays unchanged. After any other error
  /// the file is either complete or does not exist.
  public func write(_ bytes: [UInt8], name: String) throws(TableError) {
    var writer = FileWriter(
      file.descriptor, cancel: CancelFlag(), errorPrefix: "\(name) cannot be written")
    try writer.write(bytes)
    try finish(bytes.count, name)
  }

  /// Writes bytes of another file, in the same way. A cancelled call leaves no file.
  func write(
    _ range: Range<Int>, of other: Int32, name: String, cancel: CancelFlag
  ) throws(TableError) {
    var writer = FileWriter(
      file.descriptor, cancel: cancel, errorPrefix: "\(name) cannot be written")
    try writer.copy(range, of: other)
    try finish(range.count, name)
  }

  /// Writes the content and replaces an existing file of this name. That file stays complete until then.
  public func write(_ bytes: [UInt8], replacing name: String) throws(TableError) {
    var writer = FileWriter(
      file.descriptor, cancel: CancelFlag(), errorPrefix: "\(name) cannot be written")
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

  /// Makes the file's new name durable. The file exists even if this fails.
  private func synchronizeFolder(after name: String) throws(TableError) {
    guard fsync(folder.raw) == 0 else {
      throw .system(errno, "\(name) was written, but may be lost in a power failure")
    }
  }
}
