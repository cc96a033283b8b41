import Tabella
import TabellaSystem

/// The SHA-256 digest of bytes (FIPS 180-4). It identifies a file even if someone tries to pass off another one.
public struct SHA256: Sendable {
  private var state: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A,
    0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19
  )
  /// The bytes of an incomplete block.
  private var rest: [UInt8] = []
  private var count: UInt64 = 0

  private static let blockSize = 64

  /// Creates the digest of no bytes.
  public init() {}

  /// The digest of all bytes of an open file, in hexadecimal. Reads at explicit offsets.
  /// - Complexity: O(bytes), about 250 MB per second.
  public static func digest(ofFile descriptor: Int32) throws(TableError) -> String {
    var hash = SHA256()
    var block = [UInt8](repeating: 0, count: 1 << 18)
    var offset = 0
    while true {
      let got = try readRetrying("cannot be read") {
        block.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
      }
      if got == 0 { return hash.digest() }
      block.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[..<got])) }
      offset += got
    }
  }

  /// The digest of bytes, in hexadecimal.
  public static func digest(of bytes: [UInt8]) -> String {
    var hash = SHA256()
    bytes.withUnsafeBytes { hash.add($0) }
    return hash.digest()
  }

  /// Adds bytes after the earlier ones.
  public mutating func add(_ bytes: UnsafeRawBufferPointer) {
    count += UInt64(bytes.count)
    var bytes = bytes[...]
    if !rest.isEmpty {
      let missing = min(SHA256.blockSize - rest.count, bytes.count)
      rest += bytes.prefix(missing)
      bytes = bytes.dropFirst(missing)
      guard rest.count == SHA256.blockSize else { return }
      let block = rest
      block.withUnsafeBytes { compress($0) }
      rest = []
    }
    let whole = bytes.count / SHA256.blockSize * SHA256.blockSize
    compress(UnsafeRawBufferPointer(rebasing: bytes.prefix(whole)))
    rest += bytes.dropFirst(whole)
  }

  /// The digest of all added bytes: 64 hexadecimal digits.
  public func digest() -> String {
    var last = self
    let zeros = (119 - Int(count % 64)) % 64
    var padding = [0x80] + [UInt8](repeating: 0, count: zeros)
    for shift in stride(from: 56, through: 0, by: -8) {
      padding.append(UInt8(truncatingIfNeeded: (count &* 8) >> UInt64(shift)))
    }
    padding.withUnsafeBytes { last.add($0) }
    let words = [
      last.state.0, last.state.1, last.state.2, last.state.3,
      last.state.4, last.state.5, last.state.6, last.state.7,
    ]
    return words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }.joined()
  }

  /// Processes whole blocks.
  private mutating func compress(_ bytes: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
      SHA256.constants.withUnsafeBufferPointer { constants in
        for start in stride(from: 0, to: bytes.count, by: SHA256.blockSize) {
          for index in 0..<16 {
            words[index] = UInt32(
              bigEndian: bytes.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self))
          }
          round(words, constants)
        }
      }
    }
  }

  @inline(__always)
  private mutating func round(
    _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
  ) {
    for index in 16..<64 {
      let (early, late) = (words[index - 15], words[index - 2])
      let first = right(early, 7) ^ right(early, 18) ^ early >> 3
      let second = right(late, 17) ^ right(late, 19) ^ late >> 10
      words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
    }
    var (a, b, c, d, e, f, g, h) = state
    for index in 0..<64 {
      let mixed = right(e, 6) ^ right(e, 11) ^ right(e, 25)
      let chosen = e & f ^ ~e & g
      let first = h &+ mixed &+ chosen &+ constants[index] &+ words[index]
      let turned = right(a, 2) ^ right(a, 13) ^ right(a, 22)
      let second = turned &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    state = (
      state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d,
      state.4 &+ e, state.5 &+ f, state.6 &+ g, state.7 &+ h
    )
  }

  @inline(__always)
  private func right(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word &>> count | word &<< (32 &- count)
  }

  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4,
    0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE,
    0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F,
    0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA, 0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7,
    0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC,
    0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
    0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070, 0x19A4_C116,
    0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7,
    0xC671_78F2,
  ]
}
