/// Offsets of bytes, in the order in which they are appended.
///
/// An offset takes 4 bytes. Once an offset exceeds 4 GiB, each takes 5 bytes.
struct ByteOffsets {
  private(set) var low: [UInt32] = []
  /// The bits from 32 on; empty while all are 0.
  private(set) var high: [UInt8] = []

  var count: Int { low.count }
  var isEmpty: Bool { low.isEmpty }

  var indices: Range<Int> { low.indices }

  /// A new offset takes at most the bytes of the one that it replaces.
  subscript(index: Int) -> Int {
    get { high.isEmpty ? Int(low[index]) : Int(high[index]) << 32 | Int(low[index]) }
    set {
      low[index] = UInt32(truncatingIfNeeded: newValue)
      if !high.isEmpty { high[index] = UInt8(newValue >> 32) }
    }
  }

  /// The range of a text, if the offsets are the ends of consecutive texts.
  @inline(__always)
  func range(_ number: UInt32) -> Range<Int> {
    let start = number == 0 ? 0 : self[Int(number) - 1]
    return start..<self[Int(number)]
  }

  mutating func removeLast(_ count: Int) {
    low.removeLast(count)
    if !high.isEmpty { high.removeLast(count) }
  }

  mutating func makeRoom(for more: Int) { low.makeRoom(for: more) }

  /// Appends an offset below 2^40.
  @inline(__always)
  mutating func append(_ offset: Int) {
    low.append(UInt32(truncatingIfNeeded: offset))
    if offset > Int(UInt32.max) || !high.isEmpty { appendHigh(offset) }
  }

  private mutating func appendHigh(_ offset: Int) {
    if high.isEmpty { high = Array(repeating: 0, count: low.count - 1) }
    high.append(UInt8(offset >> 32))
  }
}
