import CTabellaSystem
import Glibc

/// Opens the folders of a listing step by step from the root, so that the length of a path does not matter. It keeps
/// the folders used last open.
///
/// Not safe for use by several threads at a time.
final class FolderOpener {
  /// The maximum number of open folders besides the root.
  private static let limit = 32

  private let root: Int32
  private let listing: Listing
  /// The open folders, in the order of their last use.
  private var open: [(folder: Int, descriptor: Int32)] = []

  /// Borrows the descriptor of the root.
  init(root: Int32, _ listing: Listing) {
    self.root = root
    self.listing = listing
  }

  deinit { for (_, descriptor) in open { close(descriptor) } }

  /// The descriptor of a folder, valid until the next call. Throws if the path leads to another folder now.
  func descriptor(_ folder: Int) throws(Failure) -> Int32 {
    // Starts at the nearest open ancestor.
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

  /// Opens a folder that is an entry of an open folder. The caller must close the descriptor.
  func open(_ entry: Int, in directory: Int32) throws(Failure) -> Int32 {
    let descriptor = listing.withCName(entry) { tabella_system_open_directory(directory, $0, 0) }
    guard descriptor >= 0 else { throw Failure(-descriptor) }
    return descriptor
  }

  /// Opens a file that is an entry of an open folder, without blocking. The caller must close the descriptor and check
  /// that it belongs to the right file.
  func openFile(_ entry: Int, in directory: Int32) throws(Failure) -> Int32 {
    let descriptor = listing.withCName(entry) {
      openat(directory, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    guard descriptor >= 0 else {
      // A link has replaced the file; this is no loop.
      throw errno == ELOOP ? .vanished : Failure(errno)
    }
    return descriptor
  }

  /// Takes over the descriptor of a folder. If there are too many, closes the one used least recently.
  func keep(_ folder: Int, _ descriptor: Int32) {
    if open.count >= FolderOpener.limit { close(open.removeFirst().descriptor) }
    open.append((folder, descriptor))
  }
}
