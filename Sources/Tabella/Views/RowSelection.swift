/// A reference to one row of one of several batches.
struct RowSelection {
  /// The index of the batch.
  var batch: Int32
  /// The row in the batch.
  var row: Int32
}

extension Batch {
  /// Copies the rows that `picks` refer to, in that order. All batches have the same columns.
  ///
  /// If the text does not fit into one batch, the result has only the first rows, at least one.
  /// - Complexity: O(cells and bytes). It works column by column, without a value or a call per cell.
  init(picking picks: [RowSelection], from batches: [Batch]) {
    var count = picks.count
    let columns =
      batches.first?.columns.indices.map { index in batches.map { $0.columns[index] } } ?? []
    let ids = batches.compactMap(\.ids)
    for column in columns + (ids.isEmpty ? [] : [ids]) where column[0].type.isBytes {
      count = ColumnBatch.fittingCount(picks.prefix(count), of: column)
    }
    let fitting = picks.prefix(count)
    self.init(
      rowCount: count, columns: columns.map { ColumnBatch(picking: fitting, of: $0) },
      ids: ids.isEmpty ? nil : ColumnBatch(picking: fitting, of: ids),
      isUTF8: batches.allSatisfy(\.isUTF8))
  }

  /// The approximate size of the cells in bytes.
  public var byteCount: Int {
    columns.reduce(0) { $0 + $1.byteCount } + (ids?.byteCount ?? 0)
  }
}

extension ColumnBatch {
  /// The approximate size of the cells in bytes.
  var byteCount: Int {
    guard count > 0, type.isBytes, let offsets = layout.offsets else { return count * 8 }
    return Int(offsets[layout.start + count]) - Int(offsets[layout.start]) + count * 4
  }

  /// A column in which all cells are missing.
  static func missing(_ type: ColumnType, count: Int) -> ColumnBatch {
    let builder = BatchBuilder([type], capacity: count)
    for _ in 0..<count { builder.columns[0].appendMissing() }
    return builder.finish().columns[0]
  }

  /// The number of picks, from the first on, whose text fits into one column; at least 1.
  fileprivate static func fittingCount(
    _ picks: ArraySlice<RowSelection>, of parts: [ColumnBatch]
  ) -> Int {
    let largest = parts.reduce(0) { $0 + $1.byteCount }
    // Usually, even picking the largest column every time would fit.
    if largest <= Int(Int32.max) / max(picks.count, 1) { return picks.count }
    var size = 0
    for (number, pick) in picks.enumerated() {
      size += parts[Int(pick.batch)].withBytes(at: Int(pick.row)) { $0.count }
      if size > Int(Int32.max) { return max(number, 1) }
    }
    return picks.count
  }

  /// Copies the cells that `picks` refer to, in that order. All columns have one type, and the text fits.
  fileprivate init(picking picks: ArraySlice<RowSelection>, of parts: [ColumnBatch]) {
    // Layouts are plain values, so that no owner is retained per cell.
    let cells = PickedCells(picks, parts.map(\.layout))
    withExtendedLifetime(parts) {
      if parts.contains(where: { $0.missingCount > 0 }) { cells.copyValidity() }
      switch parts[0].type {
      case .text, .binary: cells.copyBytes()
      case .boolean: cells.copyBits()
      case .integer, .real, .date: cells.copyWords()
      }
    }
    self.init(
      unsafeLayout: cells.layout, type: parts[0].type, count: picks.count,
      missingCount: cells.missingCount, owner: cells)
  }
}

/// Copies cells from several columns into one new column, and owns its memory.
private final class PickedCells {
  private let picks: ArraySlice<RowSelection>
  private let parts: [ColumnBatch.Layout]
  private var memory: [UnsafeMutableRawPointer] = []
  private(set) var layout = ColumnBatch.Layout(validity: nil, values: nil, offsets: nil)
  private(set) var missingCount = 0

  init(_ picks: ArraySlice<RowSelection>, _ parts: [ColumnBatch.Layout]) {
    self.picks = picks
    self.parts = parts
  }

  deinit { for block in memory { block.deallocate() } }

  private func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(bytes, 1), alignment: 16)
    memory.append(block)
    return block
  }

  /// Calls `body` with the number of each pick, the layout that contains the cell, and the index of the cell in it.
  @inline(__always)
  private func forEach(_ body: (Int, ColumnBatch.Layout, Int) -> Void) {
    parts.withUnsafeBufferPointer { parts in
      picks.withUnsafeBufferPointer { picks in
        for number in picks.indices {
          let part = parts[Int(picks[number].batch)]
          body(number, part, part.start + Int(picks[number].row))
        }
      }
    }
  }

  func copyValidity() {
    let bits = allocate((picks.count + 7) / 8).assumingMemoryBound(to: UInt8.self)
    bits.initialize(repeating: 0, count: (picks.count + 7) / 8)
    var missing = 0
    forEach { number, part, cell in
      if part.validity.map({ $0[cell >> 3] & (1 << UInt8(cell & 7)) != 0 }) ?? true {
        bits[number >> 3] |= 1 << UInt8(number & 7)
      } else {
        missing += 1
      }
    }
    layout.validity = UnsafePointer(bits)
    missingCount = missing
  }

  func copyWords() {
    let words = allocate(picks.count * 8).assumingMemoryBound(to: UInt64.self)
    forEach { number, part, cell in
      words[number] = part.values?.load(fromByteOffset: cell &* 8, as: UInt64.self) ?? 0
    }
    layout.values = UnsafeRawPointer(words)
  }

  func copyBits() {
    let bits = allocate((picks.count + 7) / 8).assumingMemoryBound(to: UInt8.self)
    bits.initialize(repeating: 0, count: (picks.count + 7) / 8)
    forEach { number, part, cell in
      let byte = part.values?.load(fromByteOffset: cell >> 3, as: UInt8.self) ?? 0
      if byte & (1 << UInt8(cell & 7)) != 0 { bits[number >> 3] |= 1 << UInt8(number & 7) }
    }
    layout.values = UnsafeRawPointer(bits)
  }

  func copyBytes() {
    let offsets = allocate((picks.count + 1) * 4).assumingMemoryBound(to: Int32.self)
    var end: Int32 = 0
    offsets[0] = 0
    forEach { number, part, cell in
      if let from = part.offsets { end += from[cell + 1] - from[cell] }
      offsets[number + 1] = end
    }
    let bytes = allocate(Int(end))
    forEach { number, part, cell in
      guard let from = part.offsets, let values = part.values else { return }
      (bytes + Int(offsets[number])).copyMemory(
        from: values + Int(from[cell]), byteCount: Int(from[cell + 1] - from[cell]))
    }
    layout.offsets = UnsafePointer(offsets)
    layout.values = UnsafeRawPointer(bytes)
  }
}
