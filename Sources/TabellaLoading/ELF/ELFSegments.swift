import Tabella

/// The segments of an ELF file that the loader maps, and its dynamic section.
struct ELFSegments {
  private struct Segment {
    let address: Int
    let offset: Int
    let fileSize: Int
  }

  /// The maximum size in bytes of a table that is read as a whole. A hostile file must not exhaust the host's
  /// memory.
  private static let mostBytes = 64 << 20
  private static let (load, dynamic) = (1, 2)

  private let file: ELFFile
  private var loaded: [Segment] = []
  /// The bytes of the dynamic section.
  private(set) var dynamic = ELFBytes([])

  init(_ header: ELFHeader, of file: ELFFile) throws(TableError) {
    self.file = file
    var dynamics: [Segment] = []
    for index in 0..<header.segmentCount {
      let at = index * ELFHeader.segmentSize
      let segment = Segment(
        address: try header.segments.long(at + 16), offset: try header.segments.long(at + 8),
        fileSize: try header.segments.long(at + 32))
      switch header.segments.word(at) {
      case ELFSegments.load: loaded.append(segment)
      case ELFSegments.dynamic: dynamics.append(segment)
      default: break
      }
    }
    guard dynamics.count == 1 else {
      throw .damaged("it has \(dynamics.count) dynamic sections")
    }
    // The loader uses the address rather than the offset.
    dynamic = try bytes(
      at: dynamics[0].address, count: dynamics[0].fileSize, "its dynamic section")
  }

  /// Reads bytes at an address, as the loader will see them. They must come from the file.
  func bytes(at address: Int, count: Int, _ what: String) throws(TableError) -> ELFBytes {
    guard count >= 0 else { throw .damaged("\(what) has \(count) bytes") }
    for segment in loaded {
      if let place = place(of: address, in: segment), count <= segment.fileSize - place {
        guard count <= ELFSegments.mostBytes else {
          throw TableError(.noProvider, "has more than 64 MiB in \(what)")
        }
        return try file.bytes(at: segment.offset + place, count: count, what)
      }
    }
    throw .damaged("\(what) is outside all segments of the file")
  }

  /// The number of bytes of the file after an address, in the same segment.
  func room(at address: Int, _ what: String) throws(TableError) -> Int {
    for segment in loaded {
      if let place = place(of: address, in: segment), place < segment.fileSize {
        return segment.fileSize - place
      }
    }
    throw .damaged("\(what) is outside all segments of the file")
  }

  /// The distance of an address from the start of a segment; nil if it is not in the segment's bytes of the file.
  private func place(of address: Int, in segment: Segment) -> Int? {
    let place = address - segment.address
    return 0...segment.fileSize ~= place ? place : nil
  }
}
