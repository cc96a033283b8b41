/// A format of compressed files, recognised by the first bytes.
public enum Compression: String, CaseIterable, Sendable {
  case gzip, compress, bzip2, xz, zstd, lz4, lzip

  /// The bytes at the start of each format.
  public static let magics: [[UInt8]] = formats.map(\.magic)
  /// The length of the longest of them.
  public static let magicSize = magics.map(\.count).max() ?? 0

  private static let formats: [(format: Compression, magic: [UInt8])] = allCases.flatMap { format in
    format.magics.map { (format, $0) }
  }

  private var magics: [[UInt8]] {
    switch self {
    case .gzip: [[0x1F, 0x8B, 8]]
    case .compress: [[0x1F, 0x9D]]
    // The size of blocks, and a number that begins the first block or the end.
    case .bzip2:
      (UInt8(ascii: "1")...UInt8(ascii: "9")).flatMap { size in
        [[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]].map {
          Array("BZh".utf8) + [size] + $0
        }
      }
    case .xz: [[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0]]
    case .zstd: [[0x28, 0xB5, 0x2F, 0xFD]]
    case .lz4: [[4, 0x22, 0x4D, 0x18]]
    case .lzip: [Array("LZIP".utf8) + [1]]
    }
  }

  /// The format of a file that begins with these bytes; nil if it is not compressed in a known format.
  public init?(_ start: [UInt8]) {
    let found = Compression.formats.first {
      start.first == $0.magic[0] && start.starts(with: $0.magic)
    }
    guard let found else { return nil }
    self = found.format
  }

  /// The usual command that writes the uncompressed content of a file, or of its input, to its output.
  public var command: String {
    switch self {
    case .gzip, .compress: "zcat"
    case .bzip2: "bzcat"
    case .xz: "xzcat"
    case .zstd: "zstdcat"
    case .lz4: "lz4cat"
    case .lzip: "lzip -dc"
    }
  }
}
