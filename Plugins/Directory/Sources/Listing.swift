import CTabellaSystem
import Glibc
import Tabella

/// The entries of folders, as they were when each folder was read: in order of the bytes of their
/// names.
///
/// Entries are numbered as they come; those of a folder follow each other. Memory: some 30 bytes an
/// entry and its name.
final class Listing {
  struct Folder {
    /// The folder that it is in; itself for the root.
    let parent: Int
    /// Its entry there; nil for the root.
    let entry: Int?
    /// Its entries.
    var entries: Range<Int>
    /// How many bytes its path below the root has, with a slash behind it.
    let pathLength: Int
    let device: UInt64
    let inode: UInt64
    /// Whether entries are listed with the inodes that they have: FUSE and overlays may number them
    /// in one way here and in another there.
    var tellsInodes = false
  }

  private(set) var folders: [Folder] = []
  /// Whether the folder added last was read to its end.
  private(set) var isWhole = true
  private let showsHidden: Bool
  // Read for each cell, from several threads while nothing is added.
  /// The entries as the kernel gave them, in no order.
  @exclusivity(unchecked) private var records = Records()
  /// Where the record of each entry is, in words of 8 bytes.
  @exclusivity(unchecked) private var places: [UInt32] = []

  init(showsHidden: Bool) { self.showsHidden = showsHidden }

  // Entries

  var count: Int { places.count }

  func kind(_ entry: Int) -> EntryKind { EntryKind(type: records.type(places[entry])) }

  func inode(_ entry: Int) -> UInt64 { records.inode(places[entry]) }

  /// Says that an entry's name is read soon: in the order of their names they lie all over the memory, and
  /// each would be waited for.
  func prefetch(_ entry: Int) { records.prefetch(places[entry]) }

  /// Calls `body` with an entry's name, which has a NUL behind it.
  func withName<R>(_ entry: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let place = places[entry]
    return try body(
      UnsafeRawBufferPointer(start: records.name(place), count: records.nameCount(place)))
  }

  /// The result of a system call that is given an entry's name.
  func withCName<R>(_ entry: Int, _ body: (UnsafePointer<CChar>) -> R) -> R {
    body(records.name(places[entry]))
  }

  /// Whether what was found under an entry's name is what was listed there.
  func isListed(_ entry: Int, in folder: Folder, _ status: tabella_status) -> Bool {
    let kind = kind(entry)
    guard kind == .unknown || kind == EntryKind(mode: status.mode) else { return false }
    if status.inode == inode(entry) { return true }
    // What is mounted on an entry is listed with the inode of what is below.
    return !folder.tellsInodes || status.is_mounted || status.device != folder.device
  }

  /// The entry of a folder that has a name, if there is one.
  /// - Complexity: O(log entries)
  func entry(named name: [UInt8], in folder: Int) -> Int? {
    let place = self.place(ofName: name, in: folder)
    return place < folders[folder].entries.upperBound
      && withName(place) { $0.elementsEqual(name) } ? place : nil
  }

  /// The first entry of a folder whose name does not come before one; the end if there is none.
  func place(ofName name: [UInt8], in folder: Int) -> Int {
    folders[folder].entries.partitioningIndex { entry in
      !withName(entry) { $0.lexicographicallyPrecedes(name) }
    }
  }

  // Paths

  /// The folder that an entry is in.
  /// - Complexity: O(log folders)
  func folder(of entry: Int) -> Int {
    // Of folders that begin there the last one has the entry; the others have none.
    folders.indices.partitioningIndex { folders[$0].entries.lowerBound > entry } - 1
  }

  /// The path of a folder below the root, with a slash behind it; empty for the root.
  func path(ofFolder folder: Int) -> [UInt8] {
    let length = folders[folder].pathLength
    return [UInt8](unsafeUninitializedCapacity: length) { path, count in
      var end = length
      var folder = folder
      while let entry = folders[folder].entry {
        folder = folders[folder].parent
        let start = folders[folder].pathLength
        path[end - 1] = UInt8(ascii: "/")
        withName(entry) { UnsafeMutableRawBufferPointer(path).copy($0, at: start) }
        end = start
      }
      count = length
    }
  }

  /// The path of an entry below the root.
  func path(of entry: Int) -> [UInt8] {
    path(ofFolder: folder(of: entry)) + withName(entry) { Array($0) }
  }

  // Reading

  /// Reads an open folder and adds it with its entries; if that fails, nothing is added.
  ///
  /// It fails as well for a folder that is one of those it is in, as mounts can make it. With a limit, no
  /// more is read once there are that many bytes of entries.
  func add(
    _ descriptor: Int32, parent: Int?, entry: Int?, upTo limit: Int = .max,
    _ cancel: CancelFlag? = nil
  ) throws(Failure) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure(errno) }
    let number = folders.count
    var pathLength = 0
    if let parent, let entry {
      pathLength = folders[parent].pathLength + withName(entry) { $0.count } + 1
    }
    var folder = Folder(
      parent: parent ?? number, entry: entry, entries: count..<count, pathLength: pathLength,
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    try checkLoop(folder, parent)
    let start = records.count
    var fresh: [UInt32] = []
    do throws(Failure) {
      isWhole = false
      while records.count - start < limit {
        if try !records.read(descriptor) {
          isWhole = true
          break
        }
        if cancel?.isSet == true { throw .cancelled }
      }
    } catch {
      records.count = start
      throw error
    }
    fresh.reserveCapacity((records.count - start) / Records.leastSize)
    records.forEach(from: start) { place, name in
      if name[0] == CChar(UInt8(ascii: ".")) {
        if name[1] == 0 {
          folder.tellsInodes = records.inode(place) == folder.inode
          return
        }
        if (name[1] == name[0] && name[2] == 0) || !showsHidden { return }
      }
      fresh.append(place)
    }
    records.sort(&fresh)
    if places.isEmpty { places = fresh } else { places += fresh }
    folder.entries = folder.entries.lowerBound..<count
    folders.append(folder)
    return number
  }

  private func checkLoop(_ folder: Folder, _ parent: Int?) throws(Failure) {
    guard var ancestor = parent else { return }
    while true {
      let other = folders[ancestor]
      if other.inode == folder.inode, other.device == folder.device { throw .loop }
      if other.entry == nil { return }
      ancestor = other.parent
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate func copy(_ bytes: UnsafeRawBufferPointer, at start: Int) {
    UnsafeMutableRawBufferPointer(rebasing: self[start...]).copyMemory(from: bytes)
  }
}
