import CTabellaSystem
import Glibc

/// Opens folders of a listing, step by step from the root, so that no path is too long; some stay open.
///
/// For one thread.
final class FolderOpener {
  /// How many folders stay open beside the root.
  private static let limit = 32

  private let root: Int32
  private let listing: Listing
  /// The open folders, those used last at the end.
  private var open: [(folder: Int, descriptor: Int32)] = []

  /// The root's descriptor stays its owner's.
  init(root: Int32, _ listing: Listing) {
    self.root = root
    self.listing = listing
  }

  deinit { for (_, descriptor) in open { close(descriptor) } }

  /// The descriptor of a folder; valid until the next call. Fails if another folder is there now.
  func descriptor(_ folder: Int) throws(Failure) -> Int32 {
    // Down from the nearest one that is open.
    var way: [Int] = []
    var next = folder
    var descriptor = root
    while listing.folders[next].entry != nil {
      if let index = open.lastIndex(where: { $0.folder == next }) {
        let found = open.remove(at: index)
        open.append(found)
        descriptor = found.descriptor
        break
      }
      way.append(next)
      next = listing.folders[next].parent
    }
    for folder in way.reversed() {
      guard let entry = listing.folders[folder].entry else { continue }
      let opened = try open(entry, in: descriptor)
      guard isListed(opened, folder) else {
        close(opened)
        throw .vanished
      }
      keep(folder, opened)
      descriptor = opened
    }
    return descriptor
  }

  private func isListed(_ descriptor: Int32, _ folder: Int) -> Bool {
    var status = stat()
    let folder = listing.folders[folder]
    return fstat(descriptor, &status) == 0 && UInt64(status.st_ino) == folder.inode
      && UInt64(status.st_dev) == folder.device
  }

  /// Opens a folder that is an entry of an open one. The descriptor is the caller's.
  func open(_ entry: Int, in directory: Int32) throws(Failure) -> Int32 {
    let descriptor = listing.withCName(entry) { tabella_system_open_directory(directory, $0, 0) }
    guard descriptor >= 0 else { throw Failure(-descriptor) }
    return descriptor
  }

  /// Opens a file that is an entry of an open folder, without waiting for anything. The descriptor is the
  /// caller's, who checks that it is the file meant.
  func openFile(_ entry: Int, in directory: Int32) throws(Failure) -> Int32 {
    let descriptor = listing.withCName(entry) {
      openat(directory, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    guard descriptor >= 0 else {
      // A link has taken the file's place: this is no loop.
      throw errno == ELOOP ? .vanished : Failure(errno)
    }
    return descriptor
  }

  /// Keeps a folder open that was opened on the way, instead of the one not used for longest.
  func keep(_ folder: Int, _ descriptor: Int32) {
    if open.count >= FolderOpener.limit { close(open.removeFirst().descriptor) }
    open.append((folder, descriptor))
  }
}
