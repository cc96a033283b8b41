import Tabella

/// The parts of an ELF file that the loader maps, and its dynamic section.
struct ELFSegments {
  private struct Segment {
    let address: Int
    let offset: Int
    let fileSize: Int
  }

  /// No table that is read whole is larger: a hostile one must not cost the memory of the host.
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
    // The loader goes by the address.
    dynamic = try bytes(
      at: dynamics[0].address, count: dynamics[0].fileSize, "its dynamic section")
  }

  /// The bytes from an address on as the loader will find them; they must be the file's.
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
    throw .damaged("\(what) lies in no segment of the file")
  }

  /// How many bytes of the file follow an address in its segment.
  func room(at address: Int, _ what: String) throws(TableError) -> Int {
    for segment in loaded {
      if let place = place(of: address, in: segment), place < segment.fileSize {
        return segment.fileSize - place
      }
    }
    throw .damaged("\(what) lies in no segment of the file")
  }

  /// How many bytes of a segment's part of the file lie in front of an address that it holds.
  private func place(of address: Int, in segment: Segment) -> Int? {
    let place = address - segment.address
    return 0...segment.fileSize ~= place ? place : nil
  }
}
