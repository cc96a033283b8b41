import CTabella
import Tabella
import TabellaBridge

// Columns as readers of Arrow expect them. Most cells stay where they are.

extension ColumnBatch {
  /// The Arrow array of the column. Text is UTF-8, unless it is exported as binary.
  func arrow(_ form: StreamRequest.TextForm) -> ArrowArray {
    switch type {
    case .text where form == .views: views
    case .date: microseconds
    default: plain
    }
  }

  /// The array over the buffers of the column.
  private var plain: ArrowArray {
    withUnsafeLayout { layout in
      let values = layout.values ?? noBytes
      let cells: [UnsafeRawPointer?] =
        type.isBytes ? [layout.offsets.map { UnsafeRawPointer($0) }, values] : [values]
      return exportColumn(self, as: [validity(layout)] + cells, from: layout.start, owner: nil)
    }
  }

  private func validity(_ layout: Layout) -> UnsafeRawPointer? {
    missingCount == 0 ? nil : layout.validity.map { UnsafeRawPointer($0) }
  }

  /// Dates in microseconds, cut towards the past.
  private var microseconds: ArrowArray {
    let memory = Memory()
    // The validity bits keep their place, so the cells do, too.
    return withUnsafeLayout { layout in
      let cells = memory.allocate((layout.start + count) * 8)
      cells.initializeMemory(as: UInt8.self, repeating: 0, count: layout.start * 8)
      for row in 0..<count {
        let (quotient, rest) = integer(row).quotientAndRemainder(dividingBy: 1000)
        cells.storeBytes(
          of: rest < 0 ? quotient - 1 : quotient, toByteOffset: (layout.start + row) * 8,
          as: Int64.self)
      }
      return exportColumn(
        self, as: [validity(layout), UnsafeRawPointer(cells)], from: layout.start, owner: memory)
    }
  }

  /// String views: the length, then the text if it has at most 12 bytes, or else its first 4 bytes and its place.
  private var views: ArrowArray {
    let memory = Memory()
    return withUnsafeLayout { layout in
      let views = memory.allocate((layout.start + count) * 16)
      views.initializeMemory(as: UInt8.self, repeating: 0, count: layout.start * 16)
      let bytes = layout.values ?? noBytes
      let size = byteCount
      // Offsets count from the first cell, so that a small part of a large buffer has small offsets.
      let first = count == 0 ? 0 : Int(layout.offsets![layout.start])
      // Up to here, a view can read 12 bytes, whatever its length.
      let wide = first + size - 12
      for row in 0..<count {
        let view = views + (layout.start + row) * 16
        let begin = Int(layout.offsets![layout.start + row])
        let length = Int(layout.offsets![layout.start + row + 1]) - begin
        if length == 0 || missingCount > 0 && isMissing(row) {
          view.initializeMemory(as: UInt64.self, repeating: 0, count: 2)
        } else {
          var text = (start: UInt64(0), rest: UInt64(0))
          if begin <= wide {
            text.start = (bytes + begin).loadUnaligned(as: UInt64.self) & mask(min(length, 4))
            text.rest = (bytes + begin + 4).loadUnaligned(as: UInt64.self) & mask(length - 4)
          } else {
            for place in 0..<min(length, 12) {
              let byte = UInt64(bytes.load(fromByteOffset: begin + place, as: UInt8.self))
              if place < 4 {
                text.start |= byte << UInt64(8 * place)
              } else {
                text.rest |= byte << UInt64(8 * (place - 4))
              }
            }
          }
          if length > 12 { text.rest = UInt64(UInt32(truncatingIfNeeded: begin - first)) << 32 }
          view.storeBytes(
            of: UInt64(UInt32(truncatingIfNeeded: length)) | text.start << 32, as: UInt64.self)
          view.storeBytes(of: text.rest, toByteOffset: 8, as: UInt64.self)
        }
      }
      let sizes = memory.allocate(8)
      sizes.storeBytes(of: Int64(size), as: Int64.self)
      return exportColumn(
        self,
        as: [validity(layout), UnsafeRawPointer(views), bytes + first, UnsafeRawPointer(sizes)],
        from: layout.start, owner: memory)
    }
  }
}

/// The bits of the first `count` bytes of a word in memory: none below 1, all from 8 on.
@inline(__always)
private func mask(_ count: Int) -> UInt64 {
  count >= 8 ? .max : count <= 0 ? 0 : (1 << UInt64(8 * count)) - 1
}

/// The address of a buffer without bytes. Some readers refuse null.
nonisolated(unsafe) private let noBytes = UnsafeRawPointer(
  UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))
