import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// The entries of folders, as they were when each folder was read: names in order of their bytes.
///
/// Entries are numbered as they come; those of a folder follow each other. Memory: some 20 bytes an
/// entry and its name.
final class Listing {
  struct Folder {
    /// The folder that it is in; itself for the root.
    let parent: Int
    /// Its entry there; nil for the root.
    let entry: Int?
    /// Its entries.
    var entries: Range<Int>
    let device: UInt64
    let inode: UInt64
  }

  private(set) var folders: [Folder] = []
  private(set) var inodes: [UInt64] = []
  private var types: [UInt8] = []
  /// The names, each with a NUL behind it.
  private var names: [UInt8] = []
  private var nameEnds: [Int] = []
  private let showsHidden: Bool
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)

  init(showsHidden: Bool) { self.showsHidden = showsHidden }

  deinit { buffer.deallocate() }

  var count: Int { nameEnds.count }

  func kind(_ entry: Int) -> EntryKind { EntryKind(type: types[entry]) }

  /// Calls `body` with an entry's name, which has a NUL behind it.
  func withName<R>(_ entry: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    let start = entry == 0 ? 0 : nameEnds[entry - 1]
    return names.withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[start..<nameEnds[entry] - 1]))
    }
  }

  func name(_ entry: Int) -> [UInt8] { withName(entry) { Array($0) } }

  /// The folder that an entry is in.
  /// - Complexity: O(log folders)
  func folder(of entry: Int) -> Int {
    var (low, high) = (0, folders.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if folders[middle].entries.lowerBound <= entry { low = middle } else { high = middle }
    }
    // Of folders that begin there the last one has the entry; the others have none.
    return low
  }

  /// The path of a folder below the root, with a slash behind it; empty for the root.
  func path(ofFolder folder: Int) -> [UInt8] {
    var parts: [[UInt8]] = []
    var folder = folder
    while let entry = folders[folder].entry {
      parts.append(name(entry))
      folder = folders[folder].parent
    }
    return parts.reversed().flatMap { $0 + [UInt8(ascii: "/")] }
  }

  /// The path of an entry below the root.
  func path(of entry: Int) -> [UInt8] { path(ofFolder: folder(of: entry)) + name(entry) }

  /// Reads an open folder and adds it with its entries. Throws ``TableError`` if it cannot be read,
  /// or is one of the folders that it is in.
  func add(_ descriptor: Int32, parent: Int?, entry: Int?) throws(TableError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, "cannot be examined") }
    let number = folders.count
    let folder = Folder(
      parent: parent ?? number, entry: entry, entries: count..<count, device: UInt64(status.st_dev),
      inode: UInt64(status.st_ino))
    try checkLoop(folder, parent)
    var fresh = FreshEntries()
    while true {
      let got = tabella_system_entries(descriptor, buffer.baseAddress!, buffer.count)
      guard got >= 0 else { throw .system(Int32(-got), "cannot be read") }
      if got == 0 { break }
      fresh.add(UnsafeRawBufferPointer(rebasing: buffer[..<Int(got)]), hidden: showsHidden)
    }
    folders.append(folder)
    append(fresh)
    folders[number].entries = folder.entries.lowerBound..<count
    return number
  }

  /// Mounts can make a folder one of its own ancestors.
  private func checkLoop(_ folder: Folder, _ parent: Int?) throws(TableError) {
    guard var ancestor = parent else { return }
    while true {
      let other = folders[ancestor]
      if other.inode == folder.inode, other.device == folder.device {
        throw TableError(.io, "leads back to a folder that it is in")
      }
      if other.entry == nil { return }
      ancestor = other.parent
    }
  }

  private func append(_ fresh: FreshEntries) {
    let order = fresh.sorted()
    // In the new order names lie anywhere in memory: copying must not wait for each.
    let start = names.count
    names.append(contentsOf: repeatElement(0, count: fresh.names.count))
    names.withUnsafeMutableBytes { names in
      fresh.names.withUnsafeBytes { text in
        var end = start
        for index in order {
          let entry = fresh.entries[Int(index)]
          let length = Int(entry.length) + 1
          (names.baseAddress! + end).copyMemory(
            from: text.baseAddress! + entry.start, byteCount: length)
          end += length
          inodes.append(entry.inode)
          types.append(entry.type)
          nameEnds.append(end)
        }
      }
    }
  }
}

/// Entries as the kernel gives them, in no order.
private struct FreshEntries {
  struct Entry {
    var inode: UInt64
    /// Where the name begins.
    var start: Int
    var length: UInt16
    var type: UInt8
  }

  private(set) var entries: [Entry] = []
  /// The names, each with a NUL behind it.
  private(set) var names: [UInt8] = []

  /// Takes the entries of a buffer that getdents64(2) filled; `.` and `..` apart.
  mutating func add(_ buffer: UnsafeRawBufferPointer, hidden: Bool) {
    var at = 0
    while at < buffer.count {
      let length = Int(buffer.loadUnaligned(fromByteOffset: at + 16, as: UInt16.self))
      let name = UnsafeRawBufferPointer(rebasing: buffer[(at + 19)..<(at + length)])
      let count = strlen(name.baseAddress!.assumingMemoryBound(to: CChar.self))
      defer { at += length }
      if name[0] == UInt8(ascii: ".") {
        let isSelf = count == 1 || (count == 2 && name[1] == UInt8(ascii: "."))
        if isSelf || !hidden { continue }
      }
      entries.append(
        Entry(
          inode: buffer.loadUnaligned(fromByteOffset: at, as: UInt64.self), start: names.count,
          length: UInt16(truncatingIfNeeded: count), type: buffer[at + 18]))
      names.append(contentsOf: UnsafeRawBufferPointer(rebasing: name[...count]))
    }
  }

  /// The entries in order of the bytes of their names.
  func sorted() -> [UInt32] {
    var order = (0..<UInt32(truncatingIfNeeded: entries.count)).map { $0 }
    guard entries.count > 1 else { return order }
    names.withUnsafeBufferPointer { names in
      let prefix = commonPrefix(names)
      var keys = entries.map { key(names, $0, prefix) }
      radixSort(&keys, &order)
      // Names that are the same so far are put in order one by one.
      var first = 0
      while first < order.count {
        var last = first + 1
        while last < order.count, keys[last] == keys[first] { last += 1 }
        if last - first > 1 {
          order[first..<last].sort { compare(names, entries[Int($0)], entries[Int($1)]) < 0 }
        }
        first = last
      }
    }
    return order
  }

  private func commonPrefix(_ names: UnsafeBufferPointer<UInt8>) -> Int {
    var prefix = Int(entries[0].length)
    for entry in entries where prefix > 0 {
      let limit = min(prefix, Int(entry.length))
      var same = 0
      while same < limit, names[entry.start + same] == names[same] { same += 1 }
      prefix = same
    }
    return prefix
  }

  /// The eight bytes behind the common prefix, as a number.
  private func key(
    _ names: UnsafeBufferPointer<UInt8>, _ entry: Entry, _ prefix: Int
  ) -> UInt64 {
    let start = entry.start + prefix
    var key: UInt64 = 0
    for offset in 0..<min(8, Int(entry.length) - prefix) {
      key |= UInt64(names[start + offset]) << UInt64(56 - 8 * offset)
    }
    return key
  }

  private func compare(
    _ names: UnsafeBufferPointer<UInt8>, _ left: Entry, _ right: Entry
  ) -> Int32 {
    // The NUL behind a name is below all of its bytes.
    memcmp(
      names.baseAddress! + left.start, names.baseAddress! + right.start,
      Int(min(left.length, right.length)) + 1)
  }
}
