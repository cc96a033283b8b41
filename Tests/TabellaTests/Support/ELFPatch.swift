import Foundation

/// The bytes of a library, with accessors for meaningful offsets, to damage them one at a time.
struct ELFPatch {
  private(set) var bytes: [UInt8]

  init(_ path: String) throws { bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

  func number(_ at: Int, _ size: Int) -> Int {
    (0..<size).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
  }

  mutating func set(_ at: Int, _ size: Int, _ value: Int) {
    for index in 0..<size { bytes[at + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
  }

  /// The offsets of the program headers of a type.
  func headers(_ type: Int) -> [Int] {
    (0..<number(56, 2)).map { number(32, 8) + 56 * $0 }.filter { number($0, 4) == type }
  }

  /// The offset of the entry with a tag in the dynamic section.
  func dynamic(_ tag: Int) -> Int? {
    guard let header = headers(2).first else { return nil }
    let start = number(header + 8, 8)
    let entries = stride(from: start, to: start + number(header + 32, 8), by: 16)
    return entries.first { number($0, 8) == tag }
  }

  /// The file offset of an address.
  func offset(_ address: Int) -> Int? {
    for header in headers(1) {
      let place = address - number(header + 16, 8)
      if place >= 0, place < number(header + 32, 8) { return number(header + 8, 8) + place }
    }
    return nil
  }

  /// The file offset of the table that an entry of the dynamic section names.
  func table(_ tag: Int) -> Int? { dynamic(tag).flatMap { offset(number($0 + 8, 8)) } }
}
