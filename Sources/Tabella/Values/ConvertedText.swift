// Conversion of whole columns of text. TextValue defines what is a value; the functions here only do it faster.

/// A notation of values in text.
private protocol TextForm {
  /// Reads a short text, of which ``ShortText/room`` bytes are readable. Nil means that ``long(_:)`` decides.
  func short(_ text: UnsafeRawPointer, _ count: Int) -> UInt64?
  /// Whether a short text is a value. False means that ``long(_:)`` decides.
  func fits(_ text: UnsafeRawPointer, _ count: Int) -> Bool
  /// Reads any text. Nil means that it is not a value.
  func long(_ text: UnsafeRawBufferPointer) -> UInt64?
}

extension TextForm {
  @inline(__always)
  func fits(_ text: UnsafeRawPointer, _ count: Int) -> Bool { short(text, count) != nil }
}

private struct IntegerForm: TextForm {
  @inline(__always)
  func short(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    ShortText.integer(text, count).map { UInt64(bitPattern: $0) }
  }

  @inline(never)
  func long(_ text: UnsafeRawBufferPointer) -> UInt64? {
    TextValue.integer(in: text, as: Int64.self).map { UInt64(bitPattern: $0) }
  }
}

private struct RealForm: TextForm {
  let hasComma: Bool

  @inline(__always)
  func short(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    ShortText.real(text, count, point: UInt8(ascii: hasComma ? "," : "."))?.bitPattern
  }

  /// Without the division.
  @inline(__always)
  func fits(_ text: UnsafeRawPointer, _ count: Int) -> Bool {
    ShortText.decimal(text, count, point: UInt8(ascii: hasComma ? "," : ".")) != nil
  }

  @inline(never)
  func long(_ text: UnsafeRawBufferPointer) -> UInt64? {
    TextValue.real(in: text, hasComma: hasComma)?.bitPattern
  }
}

private struct BooleanForm: TextForm {
  @inline(__always)
  func short(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    ShortText.boolean(text, count).map { $0 ? 1 : 0 }
  }

  @inline(never)
  func long(_ text: UnsafeRawBufferPointer) -> UInt64? {
    TextValue.boolean(in: text).map { $0 ? 1 : 0 }
  }
}

private struct DateForm: TextForm {
  /// Whether a time without a zone is a value, too.
  let readsClocks: Bool

  @inline(__always)
  func short(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    ShortText.date(text, count).map { UInt64(bitPattern: $0) }
  }

  @inline(never)
  func long(_ text: UnsafeRawBufferPointer) -> UInt64? {
    (readsClocks ? Timestamp(clock: text) : Timestamp(rfc3339: text))
      .map { UInt64(bitPattern: $0.nanoseconds) }
  }
}

/// The texts of a column, each with ``ShortText/room`` readable bytes.
private struct RoomyTexts: ~Copyable {
  private let column: ColumnBatch
  private let bytes: UnsafeRawPointer
  private let offsets: UnsafePointer<Int32>
  /// The end of the last cell. Bytes after it need not be readable.
  private let end: UnsafeRawPointer
  private let scratch: UnsafeMutableRawPointer

  /// Nil if the column has no bytes, so that all its texts are empty. The column must outlive the result.
  init?(_ column: ColumnBatch) {
    let layout = column.withUnsafeLayout { $0 }
    guard column.count > 0, let offsets = layout.offsets, let bytes = layout.values else {
      return nil
    }
    self.column = column
    self.bytes = bytes
    self.offsets = offsets + layout.start
    end = bytes + Int(offsets[layout.start + column.count])
    scratch = .allocate(byteCount: ShortText.room, alignment: 16)
    scratch.initializeMemory(as: UInt8.self, repeating: 0, count: ShortText.room)
  }

  deinit { scratch.deallocate() }

  /// The value of a cell; nil if the cell is missing or empty, or if it is not a value.
  @inline(__always)
  func value(_ row: Int, _ form: some TextForm) -> UInt64? {
    let text = self[row]
    if text.isEmpty { return nil }
    return form.short(roomy(text), text.count) ?? form.long(text)
  }

  /// Whether a cell is missing or empty, or is a value.
  @inline(__always)
  func fits(_ row: Int, _ form: some TextForm) -> Bool {
    let text = self[row]
    return text.isEmpty || form.fits(roomy(text), text.count) || form.long(text) != nil
  }

  /// The bytes of a cell; none if the cell is missing.
  @inline(__always)
  subscript(row: Int) -> UnsafeRawBufferPointer {
    let begin = Int(offsets[row])
    let isMissing = column.missingCount > 0 && column.isMissing(row)
    return UnsafeRawBufferPointer(
      start: bytes + begin, count: isMissing ? 0 : Int(offsets[row &+ 1]) &- begin)
  }

  /// The start of the same bytes in memory of which ``ShortText/room`` bytes are readable.
  @inline(__always)
  private func roomy(_ text: UnsafeRawBufferPointer) -> UnsafeRawPointer {
    guard let start = text.baseAddress, start + ShortText.room > end else {
      return text.baseAddress ?? UnsafeRawPointer(scratch)
    }
    scratch.copyMemory(from: start, byteCount: min(text.count, ShortText.room))
    return UnsafeRawPointer(scratch)
  }
}

extension ColumnBatch {
  /// The cells of a text column as values of another type. Empty cells and cells that are not values become missing. A
  /// date may state a time without a zone.
  func converted(to type: ColumnType, hasDecimalComma: Bool) -> ColumnBatch {
    switch type {
    case .integer: converted(to: type, IntegerForm())
    case .real: converted(to: type, RealForm(hasComma: hasDecimalComma))
    case .boolean: converted(to: type, BooleanForm())
    case .date: converted(to: type, DateForm(readsClocks: true))
    case .text, .binary: self
    }
  }

  /// Writes 64 cells at a time: their values, and one word of validity bits.
  private func converted(to type: ColumnType, _ form: some TextForm) -> ColumnBatch {
    let words = (count + 63) / 64
    let validity = UnsafeMutableRawPointer.allocate(byteCount: words * 8, alignment: 16)
      .bindMemory(to: UInt64.self, capacity: words)
    let isBits = type == .boolean
    let values = UnsafeMutableRawPointer.allocate(
      byteCount: max(1, isBits ? words * 8 : count * 8), alignment: 16
    ).bindMemory(to: UInt64.self, capacity: isBits ? words : count)
    var present = 0
    withExtendedLifetime(owner) {
      let texts = RoomyTexts(self)
      for word in 0..<words {
        let first = word &* 64
        let end = min(first &+ 64, count)
        var (valid, bits): (UInt64, UInt64) = (0, 0)
        for row in first..<end {
          let value = texts?.value(row, form)
          valid |= (value == nil ? 0 : 1) &<< UInt64(truncatingIfNeeded: row)
          if isBits {
            bits |= (value ?? 0) &<< UInt64(truncatingIfNeeded: row)
          } else {
            values[row] = value ?? 0
          }
        }
        if isBits { values[word] = bits.littleEndian }
        validity[word] = valid.littleEndian
        present += valid.nonzeroBitCount
      }
    }
    if present == count { validity.deallocate() }
    let memory = ColumnMemory(
      validity: present == count ? nil : UnsafeMutableRawPointer(validity),
      values: UnsafeMutableRawPointer(values), offsets: nil)
    return ColumnBatch(memory, type: type, count: count, missingCount: count - present)
  }

  /// The first row from `first` on whose text is neither empty nor a value of a type; nil if there is none.
  /// - Complexity: O(bytes).
  package func firstMisfit(
    of type: ColumnType, from first: Int = 0, hasDecimalComma: Bool
  ) -> Int? {
    switch type {
    case .integer: firstMisfit(from: first, IntegerForm())
    case .real: firstMisfit(from: first, RealForm(hasComma: hasDecimalComma))
    case .boolean: firstMisfit(from: first, BooleanForm())
    case .date: firstMisfit(from: first, DateForm(readsClocks: false))
    case .text, .binary: nil
    }
  }

  private func firstMisfit(from first: Int, _ form: some TextForm) -> Int? {
    withExtendedLifetime(owner) {
      guard let texts = RoomyTexts(self) else { return nil }
      for row in first..<max(first, count) where !texts.fits(row, form) {
        return row
      }
      return nil
    }
  }

  /// The first row from `first` on with a present cell that is not empty; nil if there is none.
  package func firstText(from first: Int = 0) -> Int? {
    withExtendedLifetime(owner) {
      guard let texts = RoomyTexts(self) else { return nil }
      for row in first..<max(first, count) where !texts[row].isEmpty { return row }
      return nil
    }
  }
}
