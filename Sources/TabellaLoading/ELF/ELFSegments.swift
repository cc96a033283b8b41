import Tabella
import TabellaFiles

/// A part of an ELF file that is mapped into memory.
struct ELFSegment {
  let address: Int
  /// How many bytes it has in memory; those beyond the file's are 0.
  let size: Int
  let offset: Int
  let fileSize: Int
  private let flags: Int

  var isExecutable: Bool { flags & 1 != 0 }
  var isWritable: Bool { flags & 2 != 0 }

  /// How many bytes of it an address has before it, if `count` bytes from there on are within it.
  func place(of address: Int, count: Int, inFile: Bool) -> Int? {
    let size = inFile ? fileSize : size
    let place = address - self.address
    return place >= 0 && place <= size && count <= size - place ? place : nil
  }

  fileprivate init(_ header: ELFProgramHeader) {
    address = header.address
    size = header.size
    offset = header.offset
    fileSize = header.fileSize
    flags = header.flags
  }
}

/// What the loader maps of a file, and with which rights.
struct ELFSegments {
  private var loaded: [ELFSegment] = []
  private let file: ELFFile
  private let page = max(sysconf(Int32(_SC_PAGESIZE)), 4096)
  /// More than any library has, and little enough that the loader finds room.
  private static let mostMemory = 16 << 30
  /// No table that is read whole is larger: a hostile one must not cost the memory of the host.
  private static let mostBytes = 64 << 20

  /// The dynamic section, and where it is in memory.
  private(set) var dynamic = ELFBytes([])
  private(set) var dynamicAddress = 0

  init(_ header: ELFHeader, of file: ELFFile) throws(TableError) {
    self.file = file
    let headers = try (0..<header.segmentCount).map { index throws(TableError) in
      try ELFProgramHeader(header.segments, index)
    }
    for header in headers where header.kind == .load { try load(header) }
    guard let last = loaded.last else { throw .damaged("it has no segment to load") }
    let total = last.address + last.size - loaded[0].address
    guard total <= ELFSegments.mostMemory else {
      throw TableError(.noProvider, "wants \(total) bytes of memory, more than 16 GiB")
    }
    for other in headers { try check(other, header) }
    guard headers.contains(where: { $0.kind == .stack }) else {
      throw ELFSegments.executableStack
    }
    let dynamics = headers.filter { $0.kind == .dynamic }
    guard dynamics.count == 1 else {
      throw .damaged("it has \(dynamics.count) dynamic sections")
    }
    dynamic = try readDynamic(dynamics[0])
    dynamicAddress = dynamics[0].address
  }

  // What lies where

  /// The bytes from an address on as the loader will find them; they must be the file's.
  func bytes(at address: Int, count: Int, _ what: String) throws(TableError) -> ELFBytes {
    let offset = try fileOffset(of: address, count: count, what)
    guard count <= ELFSegments.mostBytes else {
      throw TableError(.noProvider, "has more than 64 MiB in \(what)")
    }
    return try file.bytes(at: offset, count: count, what)
  }

  /// How many bytes of the file follow an address in its segment, which has at least one there.
  func room(at address: Int, _ what: String) throws(TableError) -> Int {
    for segment in loaded {
      if let place = segment.place(of: address, count: 1, inFile: true) {
        return segment.fileSize - place
      }
    }
    throw .damaged("\(what) lies in no segment of the file")
  }

  private func fileOffset(
    of address: Int, count: Int, _ what: String
  ) throws(TableError) -> Int {
    for segment in loaded {
      if let place = segment.place(of: address, count: count, inFile: true) {
        return segment.offset + place
      }
    }
    throw .damaged("\(what) lies in no segment of the file")
  }

  /// Whether code may be at an address.
  func isCode(_ address: Int) -> Bool {
    loaded.contains {
      $0.isExecutable && $0.place(of: address, count: 1, inFile: true) != nil
    }
  }

  /// Where the loader may write: address and size of each.
  var writable: [(address: Int, size: Int)] {
    loaded.filter(\.isWritable).map { ($0.address, $0.size) }
  }

  // Checks

  private mutating func load(_ header: ELFProgramHeader) throws(TableError) {
    let segment = ELFSegment(header)
    guard header.offset <= file.size, header.fileSize <= file.size - header.offset else {
      throw TableError(.noProvider, "is truncated: a segment ends beyond the file")
    }
    guard header.fileSize <= header.size else {
      throw .damaged("a segment has more bytes in the file than in memory")
    }
    guard header.alignment >= page, header.alignment.nonzeroBitCount == 1,
      header.alignment <= 1 << 30, (header.address - header.offset) % header.alignment == 0
    else { throw .damaged("a segment is not aligned (to \(header.alignment))") }
    guard !(segment.isWritable && segment.isExecutable) else {
      throw TableError(
        .noProvider,
        "has a segment that is writable and executable; link it without -z wxneeded, -N")
    }
    if let before = loaded.last {
      guard before.address + before.size <= segment.address else {
        throw .damaged("two segments overlap or are out of order")
      }
    }
    loaded.append(segment)
  }

  private static let executableStack = TableError(
    .noProvider, "wants a stack that is executable; link it with -z noexecstack")

  private func check(_ header: ELFProgramHeader, _ file: ELFHeader) throws(TableError) {
    switch header.kind {
    case .interpreter:
      throw TableError(.noProvider, "is a program and no library (it has PT_INTERP)")
    case .stack:
      guard header.flags & 1 == 0 else { throw ELFSegments.executableStack }
    case .programHeaders:
      // Where they are in memory the loader and every unwinder take from here.
      let place = try fileOffset(
        of: header.address, count: file.segments.count, "the table of program headers")
      guard place == file.segmentOffset else {
        throw .damaged("its program headers are not where it says")
      }
    case .threadLocals:
      guard header.alignment <= 1 || header.alignment.nonzeroBitCount == 1,
        header.alignment <= 1 << 20, header.fileSize <= header.size, header.size <= 1 << 30
      else { throw .damaged("its thread-local storage is not aligned or too large") }
      if header.fileSize > 0 {
        _ = try fileOffset(
          of: header.address, count: header.fileSize, "what is thread-local")
      }
    case .readOnlyLater:
      guard header.size == 0 || loaded.contains(where: { covers($0, header) }) else {
        throw .damaged("what is to be read-only lies in no writable segment")
      }
    case .unwinding:
      _ = try fileOffset(of: header.address, count: header.fileSize, "the unwinding table")
    case .note, .property: try checkNotes(header)
    case .load, .dynamic, .other: break
    }
  }

  /// Whether what is made read-only after loading is all of one segment, whose last page may be longer.
  private func covers(_ segment: ELFSegment, _ header: ELFProgramHeader) -> Bool {
    let end = (segment.address + segment.size + page - 1) / page * page
    return segment.isWritable && header.address >= segment.address
      && header.address + header.size <= end
  }

  /// The loader walks through notes by their own lengths.
  private func checkNotes(_ header: ELFProgramHeader) throws(TableError) {
    guard header.fileSize > 0 else { return }
    let notes = try bytes(at: header.address, count: header.fileSize, "its notes")
    guard header.size == header.fileSize else { throw .damaged("its notes have two lengths") }
    let alignment = header.alignment == 8 ? 8 : 4
    func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }
    var at = 0
    while at + 12 <= notes.count {
      let description = aligned(at + 12 + notes.word(at))
      guard description <= notes.count, notes.word(at + 4) <= notes.count - description else {
        throw .damaged("a note ends beyond the notes")
      }
      at = aligned(description + notes.word(at + 4))
    }
  }

  private func readDynamic(_ header: ELFProgramHeader) throws(TableError) -> ELFBytes {
    let what = "its dynamic section"
    // The loader goes by the address and writes there.
    guard
      loaded.contains(where: {
        $0.isWritable && $0.place(of: header.address, count: header.size, inFile: true) != nil
      }), header.address % 8 == 0, header.size == header.fileSize
    else { throw .damaged("\(what) is not aligned, or lies in no writable segment") }
    let offset = try fileOffset(of: header.address, count: header.size, what)
    guard offset == header.offset else { throw .damaged("\(what) is not where it says") }
    return try file.bytes(at: offset, count: header.size, what)
  }
}

/// The description of a segment.
private struct ELFProgramHeader {
  enum Kind {
    case load, dynamic, interpreter, note, programHeaders, threadLocals, unwinding, stack
    case readOnlyLater, property, other
  }

  let kind: Kind
  let flags: Int
  let offset: Int
  let address: Int
  let fileSize: Int
  let size: Int
  let alignment: Int

  init(_ headers: ELFBytes, _ index: Int) throws(TableError) {
    let at = index * ELFHeader.segmentSize
    kind =
      switch headers.word(at) {
      case 1: .load
      case 2: .dynamic
      case 3: .interpreter
      case 4: .note
      case 6: .programHeaders
      case 7: .threadLocals
      case 0x6474_E550: .unwinding
      case 0x6474_E551: .stack
      case 0x6474_E552: .readOnlyLater
      case 0x6474_E553: .property
      default: .other
      }
    flags = headers.word(at + 4)
    offset = try headers.long(at + 8)
    address = try headers.long(at + 16)
    fileSize = try headers.long(at + 32)
    size = try headers.long(at + 40)
    alignment = try headers.long(at + 48)
  }
}
