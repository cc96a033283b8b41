import CTabellaScan
import CTabellaSystem
import Glibc
import Tabella

/// Directory entries one behind the other, as getdents64(2) lays them out: what it read is not copied.
///
/// A record is named by its place, in words of 8 bytes.
struct Records: ~Copyable {
  /// What is read at once.
  private static let readSize = 1 << 20
  /// What places can name.
  private static let limit = Int(UInt32.max) * 8
  /// From how many on a radix sort is the faster.
  private static let manyRecords = 256

  /// The bytes of a record with the shortest name.
  static let leastSize = 24

  // The layout of struct linux_dirent64.
  private static let lengthOffset = 16
  private static let typeOffset = 18
  private static let nameOffset = 19

  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  /// The bytes in use; may be lowered, to forget what was read last.
  var count = 0

  deinit { if let base { munmap(base, capacity) } }

  // Records

  private func at(_ place: UInt32) -> UnsafeMutableRawPointer { base! + Int(place) * 8 }

  func inode(_ place: UInt32) -> UInt64 { at(place).load(as: UInt64.self) }

  func type(_ place: UInt32) -> UInt8 {
    at(place).load(fromByteOffset: Records.typeOffset, as: UInt8.self)
  }

  /// The name, with a NUL behind it; there until the next reading.
  func name(_ place: UInt32) -> UnsafePointer<CChar> {
    UnsafePointer((at(place) + Records.nameOffset).assumingMemoryBound(to: CChar.self))
  }

  private func length(_ place: UInt32) -> Int {
    Int(at(place).load(fromByteOffset: Records.lengthOffset, as: UInt16.self))
  }

  /// How many bytes the name has: it ends in the last word of the record, whose rest may be anything. Linux
  /// makes no record longer than its name needs, rounded up to words (filldir64 in fs/readdir.c).
  func nameCount(_ place: UInt32) -> Int {
    let length = length(place)
    let word = UInt64(
      littleEndian: at(place).load(fromByteOffset: length - 8, as: UInt64.self))
    // In the shortest record the word begins with what stands before the name.
    let before: UInt64 = length == Records.leastSize ? 0xFF_FFFF : 0
    let zeros = Records.lowestZero(word | before)
    return length - 8 + zeros.trailingZeroBitCount >> 3 - Records.nameOffset
  }

  /// A word whose lowest bit set is that of the first zero byte of another.
  private static func lowestZero(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
  }

  /// Says that a record's name is read soon.
  func prefetch(_ place: UInt32) { tabella_scan_prefetch(name(place), 16) }

  /// Calls `body` with the place and the name of each record from an offset on.
  func forEach(from start: Int, _ body: (UInt32, UnsafePointer<CChar>) -> Void) {
    var offset = start
    while offset < count {
      let place = UInt32(truncatingIfNeeded: offset / 8)
      body(place, name(place))
      offset += length(place)
    }
  }

  // Reading

  /// Reads some records of an open folder; returns false at its end.
  mutating func read(_ descriptor: Int32) throws(Failure) -> Bool {
    try reserve(count + Records.readSize)
    let got = tabella_system_entries(descriptor, base! + count, Records.readSize)
    guard got >= 0 else { throw Failure(Int32(-got)) }
    count += Int(got)
    return got > 0
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

  /// Sorts places by the bytes of the names.
  func sort(_ places: inout [UInt32]) {
    guard places.count >= Records.manyRecords else {
      places.sort { strcmp(name($0), name($1)) < 0 }
      return
    }
    let prefix = commonPrefix(places)
    var keys = places.map { key(name($0) + prefix) }
    radixSort(&keys, &places)
    // Names that are the same so far are put in order one by one.
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
      // A shorter name differs in its NUL at the latest.
      var same = 0
      while same < prefix, name[same] == first[same] { same += 1 }
      prefix = same
    }
    return prefix
  }

  /// The first eight bytes of a name, as a number; zeros behind its end.
  private func key(_ name: UnsafePointer<CChar>) -> UInt64 {
    // Behind each record there is another, or room for one.
    let bytes = UInt64(
      littleEndian: UnsafeRawPointer(name).loadUnaligned(as: UInt64.self))
    let zeros = Records.lowestZero(bytes)
    let used = zeros == 0 ? bytes : bytes & ((zeros & (0 &- zeros)) >> 7 &- 1)
    return used.byteSwapped
  }
}
