import CTabellaSystem
import Tabella

/// Tests whether new files fit on their file systems together, without side effects.
///
/// Each tested file exists without a name, with its space reserved, until the object is released. Space that
/// removed files would free counts for later files.
public final class RoomTrial {
  private struct Freed {
    var bytes = 0
    var files = 0
  }

  /// The freed space by device.
  private var freed: [UInt64: Freed] = [:]
  private var pages: [UnsafeMutableRawPointer] = []

  /// Creates a trial without files.
  public init() {}

  deinit { for page in pages { munmap(page, 1) } }

  /// Records that a file with so many bytes on the disk will be removed.
  public func free(_ bytes: Int, onDevice device: UInt64) {
    freed[device, default: Freed()].bytes += bytes
    freed[device, default: Freed()].files += 1
  }

  /// Reserves the space of a file in an open folder. `complete` adds everything that the file has besides its
  /// bytes.
  ///
  /// `old` is the file that the bytes come from; the two files can share space on the disk. `errorPrefix` is the text
  /// in front of the system's message in errors. Throws ``TableError`` with `.denied`, `.readOnly`, `.notFound` or
  /// `.io`, and the errors of `complete`. On a file system without nameless files, the method tests nothing.
  public func tryFile(
    ofSize size: Int, in folder: Int32, onDevice device: UInt64, sharing old: Int32? = nil,
    errorPrefix: String, complete: (_ file: Int32) throws(TableError) -> Void = { _ in }
  ) throws(TableError) {
    let file: TemporaryFile?
    do throws(TableError) {
      file = try TemporaryFile(namelessIn: folder, errorPrefix: errorPrefix)
    } catch {
      // The file does not fit now, but it will after the removals.
      guard error.code == .io, freed[device, default: Freed()].files > 0 else { throw error }
      freed[device]?.files -= 1
      return
    }
    guard let file else { return }
    let there = freed[device]?.bytes ?? 0
    try file.tryRoom(size, sharing: old, freed: there, errorPrefix: errorPrefix)
    freed[device]?.bytes = max(0, there - RoomTrial.whole(size, file.descriptor))
    try complete(file.descriptor)
    keep(file.descriptor)
  }

  /// The size rounded up to whole blocks of the file system.
  private static func whole(_ size: Int, _ file: Int32) -> Int {
    var system = statvfs()
    guard fstatvfs(file, &system) == 0, let block = Int(exactly: system.f_frsize), block > 1 else {
      return size
    }
    let (sum, isTooLarge) = size.addingReportingOverflow(block - 1)
    return isTooLarge ? size : sum / block * block
  }

  /// Maps the file and so keeps it alive without a descriptor, because a process can have only few descriptors.
  private func keep(_ file: Int32) {
    guard let page = mmap(nil, 1, PROT_READ, MAP_PRIVATE, file, 0), page != MAP_FAILED else {
      return
    }
    pages.append(page)
  }
}
