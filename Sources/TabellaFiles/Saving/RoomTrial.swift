import CTabellaSystem
import Tabella

/// Tries out whether new files find room together, without a trace.
///
/// Each of them is there without a name, and has its room, as long as this object lives. The room that
/// removed files give up counts for the files that come after them.
public final class RoomTrial {
  private struct Freed {
    var bytes = 0
    var files = 0
  }

  /// By device.
  private var freed: [UInt64: Freed] = [:]
  private var pages: [UnsafeMutableRawPointer] = []

  public init() {}

  deinit { for page in pages { munmap(page, 1) } }

  /// Notes that a file goes which takes so many bytes on the disk.
  public func free(_ bytes: Int, onDevice device: UInt64) {
    freed[device, default: Freed()].bytes += bytes
    freed[device, default: Freed()].files += 1
  }

  /// Takes the room of a file in an open folder; `complete` gives it what it is to have beside its bytes.
  ///
  /// `old` is a file that the bytes come from, whose room on the disk may be shared; `failing` is what an error
  /// says before the system's own words. Throws ``TableError`` with `.denied`, `.readOnly`, `.notFound` or
  /// `.io`, and what `complete` throws. Tries nothing where the file system knows no files without a name.
  public func tryFile(
    ofSize size: Int, in folder: Int32, onDevice device: UInt64, sharing old: Int32? = nil,
    failing: String, complete: (_ file: Int32) throws(TableError) -> Void = { _ in }
  ) throws(TableError) {
    let file: TemporaryFile?
    do throws(TableError) {
      file = try TemporaryFile(namelessIn: folder, failing: failing)
    } catch {
      // There is no room for one more, but there will be.
      guard error.code == .io, freed[device, default: Freed()].files > 0 else { throw error }
      freed[device]?.files -= 1
      return
    }
    guard let file else { return }
    let there = freed[device]?.bytes ?? 0
    try file.tryRoom(size, sharing: old, freed: there, failing: failing)
    freed[device]?.bytes = max(0, there - RoomTrial.whole(size, file.descriptor))
    try complete(file.descriptor)
    keep(file.descriptor)
  }

  /// The size in whole blocks of the file system.
  private static func whole(_ size: Int, _ file: Int32) -> Int {
    var system = statvfs()
    guard fstatvfs(file, &system) == 0, let block = Int(exactly: system.f_frsize), block > 1 else {
      return size
    }
    let (sum, isTooLarge) = size.addingReportingOverflow(block - 1)
    return isTooLarge ? size : sum / block * block
  }

  /// Keeps a file beyond its descriptor, of which a process may have few: it is there as long as it is mapped.
  private func keep(_ file: Int32) {
    guard let page = mmap(nil, 1, PROT_READ, MAP_PRIVATE, file, 0), page != MAP_FAILED else {
      return
    }
    pages.append(page)
  }
}
