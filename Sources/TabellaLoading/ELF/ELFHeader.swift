import Tabella

/// The header of an ELF file: its machine, and the descriptions of its segments.
struct ELFHeader {
  static let size = 64
  static let segmentSize = 56
  /// The maximum number of segments. Linkers write about a dozen.
  private static let mostSegments = 256

  /// The descriptions of the segments.
  let segments: ELFBytes
  var segmentCount: Int { segments.count / ELFHeader.segmentSize }

  #if arch(x86_64)
    static let machine = 62
  #elseif arch(arm64)
    static let machine = 183
  #endif

  init(_ file: ELFFile) throws(TableError) {
    let magic = [0x7F, 0x45, 0x4C, 0x46]
    let start = try file.bytes(at: 0, count: min(file.size, ELFHeader.size), "its header")
    guard start.count >= 4, (0..<4).allSatisfy({ start.byte($0) == magic[$0] }) else {
      throw TableError(.noProvider, "is not an ELF file")
    }
    let header = try file.bytes(at: 0, count: ELFHeader.size, "its header")
    try ELFHeader.checkMachine(header)
    try ELFHeader.checkKind(header)
    guard header.half(54) == ELFHeader.segmentSize else {
      throw .damaged("its program headers have \(header.half(54)) bytes each")
    }
    let count = header.half(56)
    guard 1...ELFHeader.mostSegments ~= count else {
      throw .damaged("it has \(count) program headers")
    }
    segments = try file.bytes(
      at: try header.long(32), count: count * ELFHeader.segmentSize,
      "its table of program headers")
  }

  private static func checkMachine(_ header: ELFBytes) throws(TableError) {
    switch header.byte(4) {
    case 2: break
    case 1: throw TableError(.noProvider, "is a 32-bit ELF file, but this program has 64 bits")
    case let other: throw .damaged("its class is \(other)")
    }
    guard header.byte(5) == 1 else {
      throw TableError(.noProvider, "is a big-endian ELF file, but this machine is little-endian")
    }
    guard header.byte(6) == 1, header.word(20) == 1 else {
      throw .damaged("its version is \(header.byte(6)) and \(header.word(20))")
    }
    // 0 is any system. 3 is files that use GNU extensions.
    guard [0, 3].contains(header.byte(7)) else {
      throw TableError(
        .noProvider,
        "is an ELF file for another system (OSABI \(header.byte(7))), but this is Linux")
    }
    guard header.half(18) == machine else {
      throw TableError(
        .noProvider,
        "is an ELF file for \(name(ofMachine: header.half(18))), but this machine is \(name(ofMachine: machine))"
      )
    }
  }

  private static func checkKind(_ header: ELFBytes) throws(TableError) {
    let kind =
      switch header.half(16) {
      case 3: ""
      case 1: ": it is an object file (link it with -shared)"
      case 2: ": it is a program"
      case 4: ": it is a core dump"
      case let other: ": its type is \(other)"
      }
    guard kind.isEmpty else {
      throw TableError(.noProvider, "is an ELF file, but not a shared library\(kind)")
    }
  }

  private static func name(ofMachine machine: Int) -> String {
    let names = [
      3: "i386", 20: "PowerPC", 21: "PowerPC64", 22: "s390", 40: "ARM", 62: "x86-64",
      183: "AArch64", 243: "RISC-V", 258: "LoongArch",
    ]
    return "\(names[machine].map { "\($0), " } ?? "")machine \(machine)"
  }
}
