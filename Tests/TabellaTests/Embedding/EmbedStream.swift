import CTabella
import CTabellaEmbed
import Tabella
import Testing

/// Reads an Arrow stream of libtabella, cell by cell. It knows only the rules of Arrow.
final class EmbedStream {
  struct Failed: Error {
    var number: Int32
    var message: String
  }

  private var raw: ArrowArrayStream

  init(_ raw: ArrowArrayStream) { self.raw = raw }

  deinit { raw.release?(&raw) }

  /// The names and formats of the columns.
  func schema() throws -> [(name: String, format: String)] {
    var schema = ArrowSchema()
    try check(raw.get_schema!(&raw, &schema))
    defer { schema.release?(&schema) }
    #expect(String(cString: schema.format!) == "+s")
    return (0..<Int(schema.n_children)).map { index in
      let child = schema.children![index]!.pointee
      return (String(cString: child.name!), String(cString: child.format!))
    }
  }

  /// The next batch; nil at the end.
  func next() throws -> [[Cell]]? {
    let formats = try schema().map(\.format)
    var array = ArrowArray()
    try check(raw.get_next!(&raw, &array))
    guard array.release != nil else { return nil }
    defer { array.release?(&array) }
    #expect(array.n_children == formats.count && array.null_count == 0 && array.offset == 0)
    let columns = formats.indices.map {
      EmbedStream.cells(array.children![$0]!.pointee, formats[$0])
    }
    #expect(columns.allSatisfy { $0.count == array.length })
    return (0..<Int(array.length)).map { row in columns.map { $0[row] } }
  }

  /// The rows of all batches, and the sizes of the batches.
  func all() throws -> (rows: [[Cell]], sizes: [Int]) {
    var (rows, sizes): ([[Cell]], [Int]) = ([], [])
    while let batch = try next() {
      rows += batch
      sizes.append(batch.count)
    }
    return (rows, sizes)
  }

  private func check(_ number: Int32) throws {
    guard number != 0 else { return }
    let message = raw.get_last_error!(&raw).map { String(cString: $0) } ?? "nothing"
    throw Failed(number: number, message: message)
  }

  private static func cells(_ array: ArrowArray, _ format: String) -> [Cell] {
    let buffers = array.buffers!
    let missing = (0..<Int(array.length)).map { row in
      guard let bits = buffers[0]?.assumingMemoryBound(to: UInt8.self) else { return false }
      let bit = row + Int(array.offset)
      return bits[bit >> 3] >> UInt8(bit & 7) & 1 == 0
    }
    #expect(missing.count { $0 } == array.null_count)
    return (0..<Int(array.length)).map { row in
      missing[row] ? .missing : cell(array, buffers, row + Int(array.offset), format)
    }
  }

  private static func cell(
    _ array: ArrowArray, _ buffers: UnsafeMutablePointer<UnsafeRawPointer?>, _ at: Int,
    _ format: String
  ) -> Cell {
    let cells = buffers[1]!
    func word() -> Int64 { cells.load(fromByteOffset: at * 8, as: Int64.self) }
    func bytes(_ start: UnsafeRawPointer, _ count: Int) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: start, count: count))
    }
    switch format {
    case "l": return .integer(word())
    case "g": return .real(Double(bitPattern: UInt64(bitPattern: word())))
    case "b":
      return .boolean(cells.load(fromByteOffset: at / 8, as: UInt8.self) >> UInt8(at % 8) & 1 == 1)
    case "tsu:UTC": return .date(Timestamp(nanoseconds: word() * 1000))
    case "u", "z":
      let begin = Int(cells.load(fromByteOffset: at * 4, as: Int32.self))
      let end = Int(cells.load(fromByteOffset: at * 4 + 4, as: Int32.self))
      let text = bytes(buffers[2]! + begin, end - begin)
      return format == "u" ? .text(text) : .binary(text)
    default:
      #expect(format == "vu" && array.n_buffers == 4)
      let view = cells + at * 16
      let length = Int(view.load(as: Int32.self))
      if length <= 12 { return .text(bytes(view + 4, length)) }
      #expect(view.load(fromByteOffset: 8, as: Int32.self) == 0)
      let offset = Int(view.load(fromByteOffset: 12, as: Int32.self))
      let size = buffers[3]!.load(as: Int64.self)
      #expect(offset + length <= size)
      let text = bytes(buffers[2]! + offset, length)
      #expect(bytes(view + 4, 4) == Array(text.prefix(4)))
      return .text(text)
    }
  }
}

extension tabella_embed_stream_request {
  /// A request for everything, with changes.
  init(_ flags: UInt32 = 0, _ change: (inout tabella_embed_stream_request) -> Void = { _ in }) {
    self.init(
      columns: nil, column_count: 0, section: -1, first: 0, count: -1, rows_per_batch: 0,
      flags: flags, reserved: 0)
    change(&self)
  }
}
