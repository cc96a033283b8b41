import Tabella

extension ColumnBatch {
  /// The cells of columns of one type, one after the other. A single column is returned unchanged.
  init(concatenating parts: [ColumnBatch]) {
    guard parts.count > 1, let type = parts.first?.type else {
      self = parts[0]
      return
    }
    let count = parts.reduce(0) { $0 + $1.count }
    let missing = parts.reduce(0) { $0 + $1.missingCount }
    let memory = Memory()
    var layout = Layout(validity: nil, values: nil, offsets: nil)
    if missing > 0 { layout.validity = ColumnBatch.validity(of: parts, count, memory) }
    switch type {
    case .text, .binary:
      (layout.offsets, layout.values) = ColumnBatch.bytes(of: parts, count, memory)
    case .boolean:
      layout.values = UnsafeRawPointer(
        ColumnBatch.bits(count, memory) { place in
          for part in parts {
            for row in 0..<part.count { place(part.boolean(row)) }
          }
        })
    case .integer, .real, .date:
      let values = memory.allocate(count * 8)
      var at = 0
      for part in parts {
        part.withUnsafeLayout { layout in
          guard let cells = layout.values, part.count > 0 else { return }
          (values + at).copyMemory(from: cells + layout.start * 8, byteCount: part.count * 8)
        }
        at += part.count * 8
      }
      layout.values = UnsafeRawPointer(values)
    }
    self.init(
      unsafeLayout: layout, type: type, count: count, missingCount: missing, owner: memory)
  }

  private static func validity(
    of parts: [ColumnBatch], _ count: Int, _ memory: Memory
  ) -> UnsafePointer<UInt8> {
    bits(count, memory) { place in
      for part in parts {
        for row in 0..<part.count { place(!part.isMissing(row)) }
      }
    }
  }

  /// Bits that `body` sets, one after the other.
  private static func bits(
    _ count: Int, _ memory: Memory, _ body: ((Bool) -> Void) -> Void
  ) -> UnsafePointer<UInt8> {
    let size = (count + 7) / 8
    let bits = memory.allocate(size).bindMemory(to: UInt8.self, capacity: size)
    bits.initialize(repeating: 0, count: size)
    var at = 0
    body { isSet in
      if isSet { bits[at >> 3] |= 1 << UInt8(at & 7) }
      at += 1
    }
    return UnsafePointer(bits)
  }

  private static func bytes(
    of parts: [ColumnBatch], _ count: Int, _ memory: Memory
  ) -> (UnsafePointer<Int32>, UnsafeRawPointer) {
    let size = parts.reduce(0) { $0 + $1.byteCount }
    let values = memory.allocate(size)
    let offsets = memory.allocate((count + 1) * 4).bindMemory(to: Int32.self, capacity: count + 1)
    var (row, end) = (0, 0)
    offsets[0] = 0
    for part in parts where part.count > 0 {
      part.withUnsafeLayout { layout in
        guard let own = layout.offsets.map({ $0 + layout.start }) else { return }
        let size = part.byteCount
        if size > 0, let bytes = layout.values {
          (values + end).copyMemory(from: bytes + Int(own[0]), byteCount: size)
        }
        let shift = Int32(truncatingIfNeeded: end) &- own[0]
        for cell in 1...part.count { offsets[row &+ cell] = own[cell] &+ shift }
        row += part.count
        end += size
      }
    }
    return (UnsafePointer(offsets), UnsafeRawPointer(values))
  }
}

/// Blocks of memory that are freed together.
final class Memory {
  private var blocks: [UnsafeMutableRawPointer] = []

  /// A block of at least one byte, aligned to 16 bytes.
  func allocate(_ size: Int) -> UnsafeMutableRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(size, 1), alignment: 16)
    blocks.append(block)
    return block
  }

  deinit { for block in blocks { block.deallocate() } }
}
