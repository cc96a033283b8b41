import Tabella

/// The dynamic section: what a library needs, and where its tables are.
struct ELFDynamic {
  /// The tags that the loader goes by (System V ABI, "Dynamic Section"; glibc's elf.h).
  enum Tag: Int {
    case needed = 1
    case jumpSize = 2
    case hash = 4
    case strings = 5
    case symbols = 6
    case relocations = 7
    case relocationsSize = 8
    case relocationEntry = 9
    case stringsSize = 10
    case symbolEntry = 11
    case initialization = 12
    case finalization = 13
    case name = 14
    case searchBefore = 15
    case otherRelocations = 17
    case jumpKind = 20
    case codeRelocations = 22
    case jumps = 23
    case initializers = 25
    case finalizers = 26
    case initializersSize = 27
    case finalizersSize = 28
    case search = 29
    case flags = 30
    case packedSize = 35
    case packed = 36
    case packedEntry = 37
    case gnuHash = 0x6FFF_FEF5
    case symbolVersions = 0x6FFF_FFF0
    case relativeCount = 0x6FFF_FFF9
    case moreFlags = 0x6FFF_FFFB
    case versionsDefined = 0x6FFF_FFFC
    case versionsDefinedCount = 0x6FFF_FFFD
    case versionsNeeded = 0x6FFF_FFFE
    case versionsNeededCount = 0x6FFF_FFFF
    case auxiliary = 0x7FFF_FFFD
    case filter = 0x7FFF_FFFF
  }

  /// Linkers write some dozens of entries.
  private static let mostEntries = 4096
  private static let longestText = 16 << 10

  /// What it says, each thing once.
  struct Values {
    private var entries: [(tag: Tag, value: Int)] = []

    subscript(tag: Tag) -> Int? { entries.first { $0.tag == tag }?.value }

    /// Takes a value in; false if there is one with this tag.
    mutating func add(_ tag: Tag, _ value: Int) -> Bool {
      guard self[tag] == nil else { return false }
      entries.append((tag, value))
      return true
    }
  }

  private let values: Values
  /// The string table, whose last byte is a NUL.
  let strings: ELFBytes
  /// The folders in which the library wants its own libraries to be looked for, as it writes them.
  private(set) var searched: [String] = []
  /// Whether libraries are looked for by the folder that this one is in.
  private(set) var usesOrigin = false

  init(_ segments: ELFSegments) throws(TableError) {
    let named: [(Tag, Int)]
    (values, named) = try ELFDynamic.read(segments.dynamic)
    guard let address = values[.strings], let size = values[.stringsSize], size > 0 else {
      throw .damaged("it has no string table")
    }
    strings = try segments.bytes(at: address, count: size, "its string table")
    guard strings.byte(size - 1) == 0 else { throw .damaged("its string table has no end") }
    try checkFlags()
    for (tag, place) in named { try add(tag, try text(at: place)) }
  }

  subscript(tag: Tag) -> Int? { values[tag] }

  /// An address and a size that go together; nil if there is neither.
  func table(_ address: Tag, _ size: Tag, _ what: String) throws(TableError) -> (
    address: Int, size: Int
  )? {
    switch (values[address], values[size]) {
    case (let address?, let size?): return (address, size)
    case (nil, nil), (nil, 0): return nil
    default: throw .damaged("\(what) has no address or no size")
    }
  }

  private func text(at place: Int) throws(TableError) -> String {
    guard place < strings.count else { throw .damaged("a name lies beyond the string table") }
    let text = strings.text(place, upTo: ELFDynamic.longestText)
    guard text.utf8.count < ELFDynamic.longestText else { throw .damaged("a name has no end") }
    return text
  }

  private static func read(
    _ section: ELFBytes
  ) throws(TableError) -> (Values, named: [(Tag, Int)]) {
    var values = Values()
    var named: [(Tag, Int)] = []
    let end = min(section.count - 16, mostEntries * 16)
    for at in stride(from: 0, through: end, by: 16) {
      let number = section.bits(at)
      if number == 0 { return (values, named) }
      guard number <= Int.max, let tag = Tag(rawValue: Int(number)) else { continue }
      let value = try section.long(at + 8)
      switch tag {
      case .needed, .auxiliary, .filter, .name, .searchBefore, .search: named.append((tag, value))
      default:
        guard values.add(tag, value) else {
          throw .damaged("its dynamic section says twice what \(tag) is")
        }
      }
    }
    // The loader goes on until it finds the end.
    throw .damaged("its dynamic section has no end")
  }

  private func checkFlags() throws(TableError) {
    let (flags, more) = (values[.flags] ?? 0, values[.moreFlags] ?? 0)
    guard values[.codeRelocations] == nil, flags & 4 == 0 else {
      throw TableError(
        .noProvider, "has relocations in its code (TEXTREL); compile it with -fPIC")
    }
    guard more & 0x0800_0000 == 0 else {
      throw TableError(.noProvider, "is a program and no library (PIE)")
    }
    guard more & 0x40 == 0 else {
      throw TableError(.noProvider, "forbids that it is loaded; link it without -z nodlopen")
    }
  }

  private mutating func add(_ tag: Tag, _ text: String) throws(TableError) {
    switch tag {
    case .searchBefore, .search:
      for part in text.split(separator: ":", omittingEmptySubsequences: false) {
        let folder = String(part)
        try checkPlace(folder, "its search path (RUNPATH)")
        searched.append(folder)
      }
    case .name: break
    default:
      guard !text.isEmpty else { throw .damaged("a library that it needs has no name") }
      // A name alone is looked for in the folders of the search path, and nowhere else.
      if text.contains("/") { try checkPlace(text, "a library that it needs") }
      if ELFDynamic.origins.contains(where: text.hasPrefix) { usesOrigin = true }
    }
  }

  private static let origins = ["$ORIGIN", "${ORIGIN}"]

  /// A relative path would be looked for in the current directory, which may be anybody's.
  private mutating func checkPlace(_ path: String, _ what: String) throws(TableError) {
    guard let origin = ELFDynamic.origins.first(where: path.hasPrefix) else {
      guard path.hasPrefix("/") else { throw ELFDynamic.relative(path, what) }
      return
    }
    let rest = path.dropFirst(origin.count)
    guard rest.isEmpty || rest.hasPrefix("/") else { throw ELFDynamic.relative(path, what) }
    usesOrigin = true
  }

  private static func relative(_ path: String, _ what: String) -> TableError {
    TableError(
      .noProvider,
      "\(what) is \"\(path)\", which is neither absolute nor begins with $ORIGIN: it would be looked for in the current directory"
    )
  }
}
