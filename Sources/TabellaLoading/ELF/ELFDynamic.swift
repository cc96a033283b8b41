import Tabella

/// The dynamic section: which libraries a library needs, where they are looked for, and where its tables are.
struct ELFDynamic {
  /// The tags that are read (System V ABI, "Dynamic Section"; glibc's elf.h).
  enum Tag: Int {
    case needed = 1
    case hash = 4
    case strings = 5
    case symbols = 6
    case stringsSize = 10
    case symbolEntry = 11
    case searchBefore = 15
    case search = 29
    case gnuHash = 0x6FFF_FEF5
    case auxiliary = 0x7FFF_FFFD
    case filter = 0x7FFF_FFFF
  }

  /// Linkers write some dozens of entries.
  private static let mostEntries = 4096
  private static let longestText = 16 << 10

  private var values: [Tag: Int] = [:]
  /// The string table, whose last byte is a NUL.
  let strings: ELFBytes
  /// The folders in which the library wants its own libraries to be looked for (RUNPATH, RPATH), as it writes
  /// them.
  private(set) var searched: [String] = []
  /// The libraries that it needs by a path instead of a name (NEEDED), as it writes them.
  private(set) var neededPaths: [String] = []
  /// Whether libraries are looked for by the folder that this one is in.
  var usesOrigin: Bool {
    (searched + neededPaths).contains { path in ELFDynamic.origins.contains(where: path.hasPrefix) }
  }

  init(_ segments: ELFSegments) throws(TableError) {
    var named: [(tag: Tag, place: Int)] = []
    values = try ELFDynamic.read(segments.dynamic, &named)
    guard let address = values[.strings], let size = values[.stringsSize], size > 0 else {
      throw .damaged("it has no string table")
    }
    strings = try segments.bytes(at: address, count: size, "its string table")
    guard strings.byte(size - 1) == 0 else { throw .damaged("its string table has no end") }
    for (tag, place) in named { try add(tag, try text(at: place)) }
  }

  subscript(tag: Tag) -> Int? { values[tag] }

  private func text(at place: Int) throws(TableError) -> String {
    guard place < strings.count else { throw .damaged("a name lies beyond the string table") }
    let text = strings.text(place, upTo: ELFDynamic.longestText)
    guard text.utf8.count < ELFDynamic.longestText else { throw .damaged("a name has no end") }
    return text
  }

  private static func read(
    _ section: ELFBytes, _ named: inout [(tag: Tag, place: Int)]
  ) throws(TableError) -> [Tag: Int] {
    var values: [Tag: Int] = [:]
    let end = min(section.count - 16, mostEntries * 16)
    for at in stride(from: 0, through: end, by: 16) {
      let number = section.bits(at)
      if number == 0 { return values }
      guard number <= Int.max, let tag = Tag(rawValue: Int(number)) else { continue }
      let value = try section.long(at + 8)
      switch tag {
      case .needed, .auxiliary, .filter, .searchBefore, .search: named.append((tag, value))
      default:
        guard values.updateValue(value, forKey: tag) == nil else {
          throw .damaged("its dynamic section says twice what \(tag) is")
        }
      }
    }
    // The loader goes on until it finds the end.
    throw .damaged("its dynamic section has no end")
  }

  private mutating func add(_ tag: Tag, _ text: String) throws(TableError) {
    switch tag {
    case .searchBefore, .search:
      for part in text.split(separator: ":", omittingEmptySubsequences: false) {
        let folder = String(part)
        try checkPlace(folder, "its search path (RUNPATH)")
        searched.append(folder)
      }
    default:
      guard !text.isEmpty else { throw .damaged("a library that it needs has no name") }
      // A name alone is looked for in the folders of the search path, and nowhere else.
      guard text.contains("/") else { return }
      try checkPlace(text, "a library that it needs")
      neededPaths.append(text)
    }
  }

  private static let origins = ["$ORIGIN", "${ORIGIN}"]

  /// A relative path would be looked for in the current directory, which may be anybody's.
  private func checkPlace(_ path: String, _ what: String) throws(TableError) {
    if path.hasPrefix("/") { return }
    if let origin = ELFDynamic.origins.first(where: path.hasPrefix) {
      let rest = path.dropFirst(origin.count)
      if rest.isEmpty || rest.hasPrefix("/") { return }
    }
    throw TableError(
      .noProvider,
      "\(what) is \"\(path)\", which is neither absolute nor begins with $ORIGIN: it would be looked for in the current directory"
    )
  }

  /// A path of the library's with the library's own folder in place of `$ORIGIN`.
  static func expanded(_ path: String, ofLibraryAt library: String) -> String {
    guard let origin = origins.first(where: path.hasPrefix) else { return path }
    let own = library[..<(library.lastIndex(of: "/") ?? library.startIndex)]
    return "\(own)/\(path.dropFirst(origin.count))"
  }
}
