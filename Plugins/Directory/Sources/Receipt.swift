import Tabella

/// What takes a batch back: what was done, in order, and by what it is known again.
///
/// It holds paths below the root and inodes, so that a later process can use it; bytes that are none are
/// refused.
struct Receipt {
  enum Record: Hashable {
    case trashed(Place, Trashed)
    case relocated(from: Place, to: Place, inode: UInt64, kind: EntryKind, isAcross: Bool)
    case created(Place, inode: UInt64, kind: EntryKind, size: UInt64, modified: Moment)
    case mode(Place, inode: UInt64, kind: EntryKind, old: UInt32, new: UInt32)
    case modified(Place, inode: UInt64, kind: EntryKind, old: Moment, new: Moment)

    var folders: [Int] {
      switch self {
      case .trashed(let place, _), .created(let place, _, _, _, _), .mode(let place, _, _, _, _),
        .modified(let place, _, _, _, _):
        [place.folder]
      case .relocated(let from, let to, _, _, _): [from.folder, to.folder]
      }
    }
  }

  /// A folder that places name by its number here, by what it is called after the batch.
  struct Folder: Hashable {
    /// Its path below the root; empty for the root.
    var path: [[UInt8]]
    var inode: UInt64
  }

  var folders: [Int: Folder]
  var records: [Record]
}

// As bytes

extension Receipt {
  private static let mark = Array("tabella-directory 1\n".utf8)

  var bytes: [UInt8] {
    var writer = ReceiptWriter(bytes: Receipt.mark)
    writer.put(folders.count)
    for (number, folder) in folders.sorted(by: { $0.key < $1.key }) {
      writer.put(number)
      writer.put(folder.inode)
      writer.put(folder.path.count)
      for name in folder.path { writer.put(name) }
    }
    writer.put(records.count)
    for record in records { writer.put(record) }
    let digest = writer.bytes.withUnsafeBytes { digest64($0) }
    writer.put(digest)
    return writer.bytes
  }

  /// Throws ``TableError`` with `.invalidArgument` if the bytes are no receipt of this provider's.
  init(bytes: [UInt8]) throws(TableError) {
    let end = bytes.count - 8
    guard end >= Receipt.mark.count, bytes.starts(with: Receipt.mark) else {
      throw TableError(.invalidArgument, "this is no receipt for a directory")
    }
    var digest = ReceiptReader(bytes: bytes[end...])
    guard try digest.number() == bytes[..<end].withUnsafeBytes({ digest64($0) }) else {
      throw ReceiptReader.damaged
    }
    var reader = ReceiptReader(bytes: bytes[Receipt.mark.count..<end])
    folders = [:]
    for _ in 0..<(try reader.count()) {
      let number = try reader.count(upTo: .max)
      let inode = try reader.number()
      var path: [[UInt8]] = []
      for _ in 0..<(try reader.count()) { path.append(try reader.name()) }
      folders[number] = Folder(path: path, inode: inode)
    }
    records = []
    for _ in 0..<(try reader.count()) {
      let record = try reader.record()
      guard record.folders.allSatisfy({ folders[$0] != nil }) else { throw ReceiptReader.damaged }
      records.append(record)
    }
    guard reader.isAtEnd else { throw ReceiptReader.damaged }
  }
}

/// Numbers as eight bytes, the lowest first; names with their length before them.
private struct ReceiptWriter {
  var bytes: [UInt8]

  mutating func put(_ number: UInt64) {
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  mutating func put(_ number: Int) { put(UInt64(truncatingIfNeeded: number)) }

  mutating func put(_ name: [UInt8]) {
    put(name.count)
    bytes += name
  }

  mutating func put(_ place: Place) {
    put(place.folder)
    put(place.name)
  }

  mutating func put(_ moment: Moment) {
    put(UInt64(bitPattern: moment.seconds))
    put(UInt64(moment.nanoseconds))
  }

  mutating func put(_ kind: EntryKind) { put(UInt64(kind.rawValue)) }

  mutating func put(_ record: Receipt.Record) {
    switch record {
    case .trashed(let place, let trashed):
      put(0)
      put(place)
      put(UInt64(trashed.kind.rawValue))
      put(trashed.name)
      put(trashed.inode)
      put(trashed.entryKind)
    case .relocated(let from, let to, let inode, let kind, let isAcross):
      put(1)
      put(from)
      put(to)
      put(inode)
      put(kind)
      put(isAcross ? 1 : 0)
    case .created(let place, let inode, let kind, let size, let modified):
      put(2)
      put(place)
      put(inode)
      put(kind)
      put(size)
      put(modified)
    case .mode(let place, let inode, let kind, let old, let new):
      put(3)
      put(place)
      put(inode)
      put(kind)
      put(UInt64(old))
      put(UInt64(new))
    case .modified(let place, let inode, let kind, let old, let new):
      put(4)
      put(place)
      put(inode)
      put(kind)
      put(old)
      put(new)
    }
  }
}

private struct ReceiptReader {
  var bytes: ArraySlice<UInt8>

  static let damaged = TableError(.invalidArgument, "the receipt is damaged")

  var isAtEnd: Bool { bytes.isEmpty }

  mutating func number() throws(TableError) -> UInt64 {
    guard bytes.count >= 8 else { throw ReceiptReader.damaged }
    defer { bytes = bytes.dropFirst(8) }
    return bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func number<Number: FixedWidthInteger>(
    _ type: Number.Type, upTo limit: Number = .max
  ) throws(TableError) -> Number {
    guard let number = Number(exactly: try number()), number <= limit else {
      throw ReceiptReader.damaged
    }
    return number
  }

  /// How many follow, each of a byte at least.
  mutating func count() throws(TableError) -> Int { try count(upTo: bytes.count) }

  mutating func count(upTo limit: Int) throws(TableError) -> Int {
    try number(Int.self, upTo: limit)
  }

  mutating func name() throws(TableError) -> [UInt8] {
    let count = try count()
    guard count <= bytes.count else { throw ReceiptReader.damaged }
    let name = Array(bytes.prefix(count))
    bytes = bytes.dropFirst(count)
    guard (try? EntryName.check(name)) != nil else { throw ReceiptReader.damaged }
    return name
  }

  mutating func place() throws(TableError) -> Place {
    Place(folder: try count(upTo: .max), name: try name())
  }

  mutating func moment() throws(TableError) -> Moment {
    Moment(
      seconds: Int64(bitPattern: try number()),
      nanoseconds: try number(UInt32.self, upTo: 999_999_999))
  }

  mutating func kind() throws(TableError) -> EntryKind {
    guard let kind = EntryKind(rawValue: try number(UInt8.self)) else {
      throw ReceiptReader.damaged
    }
    return kind
  }

  mutating func record() throws(TableError) -> Receipt.Record {
    switch try number() {
    case 0:
      let place = try place()
      guard let can = Trash.Kind(rawValue: try number(UInt8.self)) else {
        throw ReceiptReader.damaged
      }
      return .trashed(
        place,
        Trashed(kind: can, name: try name(), inode: try number(), entryKind: try kind()))
    case 1:
      return .relocated(
        from: try place(), to: try place(), inode: try number(), kind: try kind(),
        isAcross: try number(UInt8.self, upTo: 1) == 1)
    case 2:
      return .created(
        try place(), inode: try number(), kind: try kind(), size: try number(),
        modified: try moment())
    case 3:
      return .mode(
        try place(), inode: try number(), kind: try kind(),
        old: try number(UInt32.self, upTo: permissionBits),
        new: try number(UInt32.self, upTo: permissionBits))
    case 4:
      return .modified(
        try place(), inode: try number(), kind: try kind(), old: try moment(), new: try moment())
    default: throw ReceiptReader.damaged
    }
  }
}
