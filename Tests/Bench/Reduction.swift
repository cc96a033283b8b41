import Foundation

/// The part of a command's output that must be the same in another's.
struct Reduction {
  enum Measure {
    /// The first number; the number of lines if there is no number.
    case number
    /// The number of lines.
    case lines
    /// The lines in their order.
    case order
    /// The lines in any order.
    case set
  }

  let measure: Measure
  /// The number of lines to skip at the beginning, such as a header.
  var skipping = 0
  /// The byte that ends the relevant part of a line; nil for the whole line.
  var upTo: UInt8?
  /// Only lines that contain this text count; nil for all lines.
  var containing: String?

  func measuring(_ measure: Measure) -> Reduction {
    Reduction(measure: measure, skipping: skipping, upTo: upTo, containing: containing)
  }

  /// Reduces a file to a few words for comparison and display.
  func callAsFunction(_ path: String) throws -> String {
    let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    return data.withUnsafeBytes { reduce($0) }
  }

  func reduce(_ bytes: UnsafeRawBufferPointer) -> String {
    if measure == .number, let number = firstNumber(bytes) { return number }
    var lines = 0
    var hash: UInt64 = 0
    eachLine(bytes) { line in
      lines += 1
      switch measure {
      case .number, .lines: break
      case .order: hash = hash &* 0x100_0000_01B3 &+ hashed(line)
      case .set: hash &+= hashed(line)
      }
    }
    switch measure {
    case .number: return "\(lines)"
    case .lines: return "\(lines) lines"
    case .order, .set: return "\(lines) lines, \(String(hash, radix: 16))"
    }
  }

  private func eachLine(
    _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    var rest = bytes[...]
    var number = 0
    while !rest.isEmpty {
      let line = until(UInt8(ascii: "\n"), rest)
      rest = rest[min(line.endIndex + 1, rest.endIndex)...]
      number += 1
      guard number > skipping else { continue }
      if let containing, !String(decoding: line, as: UTF8.self).contains(containing) { continue }
      body(UnsafeRawBufferPointer(rebasing: upTo.map { until($0, line) } ?? line))
    }
  }

  private func until(
    _ byte: UInt8, _ bytes: Slice<UnsafeRawBufferPointer>
  ) -> Slice<UnsafeRawBufferPointer> {
    guard let start = UnsafeRawBufferPointer(rebasing: bytes).baseAddress,
      let found = memchr(start, Int32(byte), bytes.count)
    else { return bytes }
    return bytes[..<(bytes.startIndex + (UnsafeRawPointer(found) - start))]
  }

  private func firstNumber(_ bytes: UnsafeRawBufferPointer) -> String? {
    let digits = bytes.drop { $0 < UInt8(ascii: "0") || $0 > UInt8(ascii: "9") }
      .prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
  }

  /// FNV-1a with additional mixing, so that sums of hashes are meaningful.
  private func hashed(_ line: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in line { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9
  }
}
