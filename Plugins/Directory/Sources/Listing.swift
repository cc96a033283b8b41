import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem

/// The entries of folders at the time when each folder was read, sorted by the bytes of their names.
///
/// Entries are numbered in the order in which folders are added. The entries of one folder are consecutive. An entry
/// needs about 30 bytes of memory and the bytes of its name.
final class Listing {
  struct Folder {
    /// The number of the parent folder; its own number for the root.
    let parent: Int
    /// The folder's entry in its parent; nil for the root.
    let entry: Int?
    /// The numbers of its entries.
    var entries: Range<Int>
    /// The length of its path below the root in bytes, with the final slash.
    let pathLength: Int
    let device: UInt64
    let inode: UInt64
    /// Whether the listing contains the true inodes of entries. FUSE and overlay file systems may list other ones than
    /// `stat` reports.
    var listsTrueInodes = false
  }

  private(set) var folders: [Folder] = []
  /// Whether the last added folder was read to its end.
  private(set) var isWhole = true
  private let showsHidden: Bool
  // `unchecked`: several threads read these for each cell, while no thread adds a folder.
  /// The records from the kernel, unsorted.
  @exclusivity(unchecked) private var records = Records()
  /// The offset of each entry's record in ``records``, in words of 8 bytes.
  @exclusivity(unchecked) private var offsets: [UInt32] = []

  init(showsHidden: Bool) { self.showsHidden = showsHidden }

  // Entries

  var count: Int { offsets.count }

  func kind(_ entry: Int) -> EntryKind { EntryKind(type: records.type(offsets[entry])) }

  func inode(_ entry: Int) -> UInt64 { records.inode(offsets[entry]) }

  /// Prefetches an entry's name. Names in sorted order are scattered over memory, so each access would be a cache miss.
  func prefetch(_ entry: Int) { records.prefetch(offsets[entry]) }

  /// Calls `body` with an entry's name. A NUL follows the bytes.
  func withName<R>(_ entry: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let offset = offsets[entry]
    return try body(
      UnsafeRawBufferPointer(start: records.name(offset), count: records.nameCount(offset)))
  }

  /// Calls `body` with an entry's name as a C string and returns the result.
  func withCName<R>(_ entry: Int, _ body: (UnsafePointer<CChar>) -> R) -> R {
    body(records.name(offsets[entry]))
  }

  /// Whether a status belongs to the entry that was listed.
  func isListed(_ entry: Int, in folder: Folder, _ status: tabella_status) -> Bool {
    let kind = kind(entry)
    guard kind == .unknown || kind == EntryKind(mode: status.mode) else { return false }
    if status.inode == inode(entry) { return true }
    // A mount point is listed with the inode of the folder under the mount.
    return !folder.listsTrueInodes || status.is_mounted || status.device != folder.device
  }

  /// The entry of a folder with a given name, if there is one.
  ///
  /// - Complexity: O(log entries)
  func entry(named name: [UInt8], in folder: Int) -> Int? {
    let entry = insertionIndex(ofName: name, in: folder)
    return entry < folders[folder].entries.upperBound
      && withName(entry) { $0.elementsEqual(name) } ? entry : nil
  }

  /// The first entry of a folder whose name is not less than `name`; the end of the folder if there is none.
  func insertionIndex(ofName name: [UInt8], in folder: Int) -> Int {
    folders[folder].entries.partitioningIndex { entry in
      !withName(entry) { $0.lexicographicallyPrecedes(name) }
    }
  }

  // Paths

  /// The folder that contains an entry.
  ///
  /// - Complexity: O(log folders)
  func folder(of entry: Int) -> Int {
    // Several folders can begin at the same entry. All but the last of them are empty.
    folders.indices.partitioningIndex { folders[$0].entries.lowerBound > entry } - 1
  }

  /// The path of a folder below the root, with a final slash; empty for the root.
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

  /// Reads an open folder and adds it with its entries. After an error, nothing is added.
  ///
  /// Throws ``Failure/loop`` if a mount makes the folder its own ancestor. With `limit`, it stops after that many bytes
  /// of records. Returns the number of the folder.
  func add(
    _ descriptor: Int32, parent: Int?, entry: Int?, upTo limit: Int = .max,
    _ cancel: CancelFlag? = nil
  ) throws(Failure) -> Int {
    guard let status = stat(of: descriptor) else { throw Failure(errno) }
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
    records.forEach(from: start) { offset, name in
      if name[0] == CChar(UInt8(ascii: ".")) {
        if name[1] == 0 {
          folder.listsTrueInodes = records.inode(offset) == folder.inode
          return
        }
        if (name[1] == name[0] && name[2] == 0) || !showsHidden { return }
      }
      fresh.append(offset)
    }
    records.sort(&fresh)
    if offsets.isEmpty { offsets = fresh } else { offsets += fresh }
    folder.entries = folder.entries.lowerBound..<count
    folders.append(folder)
    return number
  }

  /// Adds a folder with the entries that it has in another listing, without reading it. Returns its number.
  func add(
    _ number: Int, of other: Listing, parent: Int?, entry: Int?
  ) throws(Failure) -> Int {
    let old = other.folders[number]
    var pathLength = 0
    if let parent, let entry {
      pathLength = folders[parent].pathLength + withName(entry) { $0.count } + 1
    }
    var folder = Folder(
      parent: parent ?? folders.count, entry: entry, entries: count..<count, pathLength: pathLength,
      device: old.device, inode: old.inode, listsTrueInodes: old.listsTrueInodes)
    try checkLoop(folder, parent)
    let start = (records: records.count, entries: count)
    do throws(Failure) {
      for entry in old.entries {
        offsets.append(try records.append(other.offsets[entry], of: other.records))
      }
    } catch {
      records.count = start.records
      offsets.removeLast(count - start.entries)
      throw error
    }
    folder.entries = start.entries..<count
    folders.append(folder)
    return folders.count - 1
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
