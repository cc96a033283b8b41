import CTabellaSystem
import Glibc
import TabellaSystem

/// Opens the folders of a listing below its root. It keeps the folders used last open.
///
/// A path of several components is opened at once. If that fails, it is opened step by step, so that its length does
/// not matter.
///
/// Not safe for use by several threads at a time.
final class FolderOpener {
  /// The maximum number of open folders besides the root.
  private static let limit = 32

  private final class OpenFolder {
    let number: Int
    let descriptor: Descriptor

    init(_ number: Int, _ descriptor: consuming Descriptor) {
      self.number = number
      self.descriptor = descriptor
    }
  }

  private let root: Int32
  private let listing: Listing
  /// The open folders, in the order of their last use.
  private var open: [OpenFolder] = []

  /// Borrows the descriptor of the root.
  init(root: Int32, _ listing: Listing) {
    self.root = root
    self.listing = listing
  }

  /// The descriptor of a folder, valid until the next call. Throws if the path leads to another folder now.
  func descriptor(_ folder: Int) throws(Failure) -> Int32 {
    // Starts at the nearest open ancestor.
    var way: [Int] = []
    var next = folder
    var descriptor = root
    while listing.folders[next].entry != nil {
      if let index = open.lastIndex(where: { $0.number == next }) {
        let found = open.remove(at: index)
        open.append(found)
        descriptor = found.descriptor.raw
        break
      }
      way.append(next)
      next = listing.folders[next].parent
    }
    if way.count > 1, let opened = openAtOnce(folder, below: next, descriptor) {
      let descriptor = opened.raw
      keep(folder, opened)
      return descriptor
    }
    for folder in way.reversed() {
      guard let entry = listing.folders[folder].entry else { continue }
      let opened = try open(entry, in: descriptor)
      guard isListed(opened.raw, folder) else { throw .vanished }
      descriptor = opened.raw
      keep(folder, opened)
    }
    return descriptor
  }

  /// Opens a folder by its path below an open folder, with one system call instead of one for each component. Nil if
  /// that fails for any reason; opening it step by step then determines the reason.
  private func openAtOnce(_ folder: Int, below ancestor: Int, _ descriptor: Int32) -> Descriptor? {
    // A NUL takes the place of the final slash.
    var path = listing.path(ofFolder: folder).dropFirst(listing.folders[ancestor].pathLength)
    path[path.endIndex - 1] = 0
    let opened = path.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        tabella_system_open_directory_below(descriptor, $0.baseAddress!)
      }
    }
    guard let opened = Descriptor(opened), isListed(opened.raw, folder) else { return nil }
    return opened
  }

  private func isListed(_ descriptor: Int32, _ folder: Int) -> Bool {
    guard let status = stat(of: descriptor) else { return false }
    let folder = listing.folders[folder]
    return UInt64(status.st_ino) == folder.inode && UInt64(status.st_dev) == folder.device
  }

  /// Opens a folder that is an entry of an open folder.
  func open(_ entry: Int, in directory: Int32) throws(Failure) -> Descriptor {
    try Descriptor(
      opened: listing.withCName(entry) { tabella_system_open_directory(directory, $0, 0) })
  }

  /// Opens a file that is an entry of an open folder, without blocking. The caller must check that it is the right
  /// file.
  func openFile(_ entry: Int, in directory: Int32) throws(Failure) -> Descriptor {
    let result = listing.withCName(entry) {
      openat(directory, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    guard let file = Descriptor(result) else {
      // A link has replaced the file; this is no loop.
      throw errno == ELOOP ? .vanished : Failure(errno)
    }
    return file
  }

  /// Keeps a folder open. If there are too many, closes the one used least recently.
  func keep(_ folder: Int, _ descriptor: consuming Descriptor) {
    if open.count >= FolderOpener.limit { open.removeFirst() }
    open.append(OpenFolder(folder, descriptor))
  }
}
