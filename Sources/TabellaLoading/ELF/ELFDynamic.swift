import Tabella

/// The dynamic section of an ELF file: the dependencies, their search path, and the addresses of tables.
struct ELFDynamic {
  /// The tags that this type reads (System V ABI, "Dynamic Section"; glibc's elf.h).
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

  /// The maximum number of entries. Linkers write a few dozen.
  private static let mostEntries = 4096
  private static let longestText = 16 << 10

  /// An entry: its tag, and its value.
  private typealias Entry = (tag: Tag, value: Int)
  /// The entries with at most one value each.
  private let values: [Entry]
  /// The string table. Its last byte is NUL.
  let strings: ELFBytes
  /// The search path for dependencies (RUNPATH, RPATH), in the spelling of the file.
  private(set) var searched: [String] = []
  /// The dependencies that are named by path rather than by name (NEEDED), in the spelling of the file.
  private(set) var neededPaths: [String] = []
  /// The dependencies that are named by a plain name (NEEDED).
  private(set) var neededNames: [String] = []
  /// Whether paths of dependencies begin with this library's own folder.
  var usesOrigin: Bool {
    (searched + neededPaths).contains { path in ELFDynamic.origins.contains(where: path.hasPrefix) }
  }

  init(_ segments: ELFSegments) throws(TableError) {
    var named: [Entry] = []
    let values = try ELFDynamic.read(segments.dynamic, &named)
    self.values = values
    guard let address = Self.value(of: .strings, in: values),
      let size = Self.value(of: .stringsSize, in: values), size > 0
    else {
      throw .damaged("it has no string table")
    }
    strings = try segments.bytes(at: address, count: size, "its string table")
    guard strings.byte(size - 1) == 0 else { throw .damaged("its string table has no end") }
    for (tag, place) in named { try add(tag, try text(at: place)) }
  }

  subscript(tag: Tag) -> Int? { Self.value(of: tag, in: values) }

  private static func value(of tag: Tag, in values: [Entry]) -> Int? {
    values.first { $0.tag == tag }?.value
  }

  private func text(at place: Int) throws(TableError) -> String {
    guard place < strings.count else { throw .damaged("a name is beyond the string table") }
    let text = strings.text(place, upTo: ELFDynamic.longestText)
    guard text.utf8.count < ELFDynamic.longestText else { throw .damaged("a name has no end") }
    return text
  }

  private static func read(
    _ section: ELFBytes, _ named: inout [Entry]
  ) throws(TableError) -> [Entry] {
    var values: [Entry] = []
    let end = min(section.count - 16, mostEntries * 16)
    for at in stride(from: 0, through: end, by: 16) {
      let number = section.bits(at)
      if number == 0 { return values }
      guard number <= Int.max, let tag = Tag(rawValue: Int(number)) else { continue }
      let value = try section.long(at + 8)
      switch tag {
      case .needed, .auxiliary, .filter, .searchBefore, .search: named.append((tag, value))
      default:
        guard Self.value(of: tag, in: values) == nil else {
          throw .damaged("its dynamic section contains \(tag) twice")
        }
        values.append((tag, value))
      }
    }
    // The loader would read on until it finds the end.
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
      // The loader searches a plain name only in the folders of the search path.
      guard text.contains("/") else {
        if tag == .needed { neededNames.append(text) }
        return
      }
      try checkPlace(text, "a library that it needs")
      neededPaths.append(text)
    }
  }

  private static let origins = ["$ORIGIN", "${ORIGIN}"]

  /// Throws for a relative path. The loader would search it in the current directory, which anyone could control.
  private func checkPlace(_ path: String, _ what: String) throws(TableError) {
    if path.hasPrefix("/") { return }
    if let origin = ELFDynamic.origins.first(where: path.hasPrefix) {
      let rest = path.dropFirst(origin.count)
      if rest.isEmpty || rest.hasPrefix("/") { return }
    }
    throw TableError(
      .noProvider,
      "\(what) is \"\(path)\", which is neither absolute nor begins with $ORIGIN: the loader would search the current directory"
    )
  }

  /// Replaces `$ORIGIN` in a path by the library's folder.
  static func expanded(_ path: String, ofLibraryAt library: String) -> String {
    guard let origin = origins.first(where: path.hasPrefix) else { return path }
    let own = library[..<(library.lastIndex(of: "/") ?? library.startIndex)]
    return "\(own)/\(path.dropFirst(origin.count))"
  }
}
