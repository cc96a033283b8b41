import CTabellaScan
import CTabellaSystem
import Glibc
import Tabella

/// Consecutive directory entries in the layout of getdents64(2), which writes them directly into this memory.
///
/// A record is named by its offset, in words of 8 bytes.
struct Records: ~Copyable {
  /// The buffer size of one system call, in bytes.
  private static let readSize = 1 << 20
  /// The highest size in bytes that a 32-bit offset can address.
  private static let limit = Int(UInt32.max) * 8
  /// The number of records from which a radix sort is faster.
  private static let manyRecords = 256

  /// The size in bytes of a record with the shortest name.
  static let leastSize = 24

  // The layout of `struct linux_dirent64`.
  private static let lengthOffset = 16
  private static let typeOffset = 18
  private static let nameOffset = 19

  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  /// The bytes in use. Assigning a lower count forgets the records read last.
  var count = 0

  deinit { if let base { munmap(base, capacity) } }

  // Records

  private func at(_ place: UInt32) -> UnsafeMutableRawPointer { base! + Int(place) * 8 }

  func inode(_ place: UInt32) -> UInt64 { at(place).load(as: UInt64.self) }

  func type(_ place: UInt32) -> UInt8 {
    at(place).load(fromByteOffset: Records.typeOffset, as: UInt8.self)
  }

  /// The name as a C string, valid until the next read.
  func name(_ place: UInt32) -> UnsafePointer<CChar> {
    UnsafePointer((at(place) + Records.nameOffset).assumingMemoryBound(to: CChar.self))
  }

  private func length(_ place: UInt32) -> Int {
    Int(at(place).load(fromByteOffset: Records.lengthOffset, as: UInt16.self))
  }

  /// The length of the name in bytes.
  ///
  /// The name ends in the last word of the record. The bytes after its NUL are undefined. Linux makes a record as short
  /// as its name allows, rounded up to words (`filldir64` in fs/readdir.c).
  func nameCount(_ place: UInt32) -> Int {
    let length = length(place)
    let word = UInt64(
      littleEndian: at(place).load(fromByteOffset: length - 8, as: UInt64.self))
    // In the shortest record, the last word begins with bytes in front of the name.
    let before: UInt64 = length == Records.leastSize ? 0xFF_FFFF : 0
    let zeros = Records.lowestZero(word | before)
    return length - 8 + zeros.trailingZeroBitCount >> 3 - Records.nameOffset
  }

  /// A word whose lowest set bit is that of the lowest zero byte of `word`.
  private static func lowestZero(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
  }

  /// Prefetches a record's name.
  func prefetch(_ place: UInt32) { tabella_scan_prefetch(name(place), 16) }

  /// Calls `body` with the offset in words and the name of each record. `start` is an offset in bytes.
  func forEach(from start: Int, _ body: (UInt32, UnsafePointer<CChar>) -> Void) {
    var offset = start
    while offset < count {
      let place = UInt32(truncatingIfNeeded: offset / 8)
      body(place, name(place))
      offset += length(place)
    }
  }

  // Reading

  /// Reads some records of an open folder. Returns false at the end of the folder.
  mutating func read(_ descriptor: Int32) throws(Failure) -> Bool {
    try reserve(count + Records.readSize)
    let got = tabella_system_entries(descriptor, base! + count, Records.readSize)
    guard got >= 0 else { throw Failure(Int32(-got)) }
    count += Int(got)
    return got > 0
  }

  /// Appends a record of other records, and returns its offset in words.
  mutating func append(_ place: UInt32, of other: borrowing Records) throws(Failure) -> UInt32 {
    let length = other.length(place)
    // Reading a name reads up to eight bytes behind it.
    try reserve(count + length + 8)
    (base! + count).copyMemory(from: other.at(place), byteCount: length)
    defer { count += length }
    return UInt32(truncatingIfNeeded: count / 8)
  }

  private mutating func reserve(_ bytes: Int) throws(Failure) {
    if bytes <= capacity { return }
    let larger = max(bytes, capacity * 2)
    guard larger <= Records.limit,
      let grown = tabella_system_grow_pages(base, capacity, larger)
    else { throw Failure(ENOMEM) }
    base = grown
    capacity = larger
  }

  // Order

  /// Sorts the offsets of records by the bytes of their names.
  func sort(_ places: inout [UInt32]) {
    guard places.count >= Records.manyRecords else {
      places.sort { strcmp(name($0), name($1)) < 0 }
      return
    }
    let prefix = commonPrefix(places)
    var keys = places.map { key(name($0) + prefix) }
    radixSort(&keys, &places)
    // Names with equal keys are sorted by comparison.
    var first = 0
    while first < places.count {
      var last = first + 1
      while last < places.count, keys[last] == keys[first] { last += 1 }
      if last - first > 1 {
        places[first..<last].sort { strcmp(name($0) + prefix, name($1) + prefix) < 0 }
      }
      first = last
    }
  }

  private func commonPrefix(_ places: [UInt32]) -> Int {
    let first = name(places[0])
    var prefix = strlen(first)
    for place in places where prefix > 0 {
      let name = name(place)
      // A shorter name differs at its NUL.
      var same = 0
      while same < prefix, name[same] == first[same] { same += 1 }
      prefix = same
    }
    return prefix
  }

  /// The first eight bytes of a name as a big-endian number, padded with zeros.
  private func key(_ name: UnsafePointer<CChar>) -> UInt64 {
    // Reading eight bytes is safe: each record is followed by another one, or by free memory.
    let bytes = UInt64(
      littleEndian: UnsafeRawPointer(name).loadUnaligned(as: UInt64.self))
    let zeros = Records.lowestZero(bytes)
    let used = zeros == 0 ? bytes : bytes & ((zeros & (0 &- zeros)) >> 7 &- 1)
    return used.byteSwapped
  }
}
