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
      views.initializeMemory(as: UInt8.self, repeating: 0, count: (layout.start + count) * 16)
      let bytes = layout.values ?? noBytes
      let size = byteCount
      // Offsets count from the first cell, so that a small part of a large buffer has small offsets.
      let first = count == 0 ? 0 : Int(layout.offsets![layout.start])
      for row in 0..<count where missingCount == 0 || !isMissing(row) {
        let view = views + (layout.start + row) * 16
        let begin = Int(layout.offsets![layout.start + row])
        let length = Int(layout.offsets![layout.start + row + 1]) - begin
        view.storeBytes(of: Int32(truncatingIfNeeded: length), as: Int32.self)
        (view + 4).copyMemory(from: bytes + begin, byteCount: length <= 12 ? length : 4)
        if length > 12 {
          view.storeBytes(
            of: Int32(truncatingIfNeeded: begin - first), toByteOffset: 12, as: Int32.self)
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

/// The address of a buffer without bytes. Some readers refuse null.
nonisolated(unsafe) private let noBytes = UnsafeRawPointer(
  UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))
