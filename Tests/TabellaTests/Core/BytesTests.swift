import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Operations on eight bytes at a time, compared with one byte at a time.
@Suite struct BytesTests {
  /// The digest, byte by byte. Ids contain digests, so the result must never change.
  private func naiveDigest(_ bytes: [UInt8]) -> UInt64 {
    func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
      let product = left.multipliedFullWidth(by: right)
      return product.high ^ product.low
    }
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
      bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
    var rest = bytes[...]
    while rest.count >= 8 {
      hash = fold(hash ^ word(rest.prefix(8)), 0xE703_7ED1_A0B4_28DB)
      rest = rest.dropFirst(8)
    }
    return fold(fold(hash ^ word(rest), 0x8EBC_6AF0_9C88_C6E3), 0x5899_65CC_7537_4CC3)
  }

  @Test(arguments: 0...40)
  func digestsAndEqualityAreTheNaiveOnes(_ length: Int) {
    var generator = SeededGenerator(seed: UInt64(length))
    let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
    #expect(bytes.withUnsafeBytes { digest64($0) } == naiveDigest(bytes))
    func isSame(_ other: [UInt8]) -> Bool {
      bytes.withUnsafeBytes { left in other.withUnsafeBytes { areEqual(left, $0) } }
    }
    #expect(isSame(bytes) && !isSame(bytes + [0]))
    for place in bytes.indices {
      var other = bytes
      other[place] ^= 0x80
      #expect(!isSame(other))
    }
  }

  @Test func positions() {
    #expect("a, seed b".utf8.position(of: " seed".utf8).map { "a, seed b"[..<$0] } == "a,")
    #expect([1, 2, 1, 2, 3].position(of: [1, 2, 3]) == 2)
    #expect([1, 2].position(of: [2, 3]) == nil && [Int]().position(of: [1]) == nil)
  }

  /// Offsets from 4 GiB on have another byte, and smaller ones before and after them keep their values.
  @Test func offsetsAreKept() {
    let large = [(1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 40) - 1]
    for values in [[], [0, 5], [0, 5, 5] + large, large, large.reversed() + [7, 0]] {
      var offsets = ByteOffsets()
      for value in values { offsets.append(value) }
      #expect(offsets.count == values.count)
      #expect(values.indices.map { offsets[$0] } == values)
    }
  }
}
