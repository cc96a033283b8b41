import Glibc
import Tabella

/// The columns in table order.
enum DirectoryColumn: Int, CaseIterable {
  case name, kind, size, modified, mode, owner, group, links, target, `extension`, total

  static let declarations = allCases.map(\.declaration)

  private var declaration: Column {
    switch self {
    case .name: Column("name", rank: 0, role: .fileName)
    case .size: Column("size", .integer, unit: .bytes, rank: 1)
    case .modified: Column("modified", .date, rank: 2)
    case .kind: Column("kind", rank: 3, role: .fileKind)
    case .target: Column("target", rank: 4)
    case .mode: Column("mode", rank: 5, role: .fileMode)
    case .owner: Column("owner", rank: 6)
    case .group: Column("group", rank: 7)
    case .links: Column("links", .integer, rank: 8)
    case .extension: Column("extension", isOnRequest: true, rank: 9)
    case .total: Column("total", .integer, unit: .bytes, isOnRequest: true, rank: 1)
    }
  }

  /// Whether the column needs the entry's status. The listing alone provides the others.
  var needsStatus: Bool {
    switch self {
    case .name, .kind, .target, .extension: false
    default: true
    }
  }
}

/// The type of an entry.
enum EntryKind: UInt8 {
  // The values of `d_type`, which are also the type bits of a mode.
  case unknown = 0
  case fifo = 1
  case character = 2
  case directory = 4
  case block = 6
  case file = 8
  case link = 10
  case socket = 12

  /// The length of the longest ``name``, in bytes.
  static let longestName = 9

  init(type: UInt8) { self = EntryKind(rawValue: type) ?? .unknown }
  init(mode: UInt32) { self.init(type: UInt8(truncatingIfNeeded: (mode & S_IFMT) >> 12)) }

  var name: StaticString {
    switch self {
    case .unknown: "unknown"
    case .fifo: "fifo"
    case .character: "character"
    case .directory: "directory"
    case .block: "block"
    case .file: "file"
    case .link: "link"
    case .socket: "socket"
    }
  }
}

typealias Permissions = InlineArray<9, UInt8>

/// The permissions of a mode as `ls -l` shows them: `rwxr-xr-x`.
func permissions(_ mode: UInt32) -> Permissions {
  var text = Permissions(repeating: UInt8(ascii: "-"))
  let letters: StaticString = "rwx"
  for index in 0..<9 where mode >> UInt32(8 - index) & 1 != 0 {
    text[index] = letters.utf8Start[index % 3]
  }
  let special: [(bit: UInt32, index: Int, set: UInt8, alone: UInt8)] = [
    (S_ISUID, 2, UInt8(ascii: "s"), UInt8(ascii: "S")),
    (S_ISGID, 5, UInt8(ascii: "s"), UInt8(ascii: "S")),
    (S_ISVTX, 8, UInt8(ascii: "t"), UInt8(ascii: "T")),
  ]
  for (bit, index, set, alone) in special where mode & bit != 0 {
    text[index] = text[index] == UInt8(ascii: "x") ? set : alone
  }
  return text
}
