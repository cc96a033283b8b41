import Tabella

/// The name of a receipt: the time in UTC, in microseconds, and six random digits. Ids sort in the order of their
/// creation, and are safe as file names.
public struct ReceiptID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The id as text: `20261121T150733.000000Z-1f3a9c`.
  public let text: String

  /// Nil if the text does not have the form of an id.
  public init?(_ text: String) {
    let pattern = Array("00000000T000000.000000Z-xxxxxx".utf8)
    let bytes = Array(text.utf8)
    guard bytes.count == pattern.count else { return nil }
    for (byte, wanted) in zip(bytes, pattern) {
      let fits =
        switch wanted {
        case UInt8(ascii: "0"): 48...57 ~= byte
        case UInt8(ascii: "x"): 48...57 ~= byte || 97...102 ~= byte
        default: byte == wanted
        }
      guard fits else { return nil }
    }
    self.text = text
    guard time != nil else { return nil }
  }

  /// Creates an id for a time.
  init(at time: Timestamp) {
    // Microseconds, always with six digits.
    let microseconds = time.nanoseconds / 1000
    // Also of a time before 1970, when a clock is wrong.
    let part = (microseconds % 1_000_000 + 1_000_000) % 1_000_000
    let whole = Timestamp(nanoseconds: (microseconds - part) * 1000)
    let fraction = String(1_000_000 + part).dropFirst()
    let moment = whole.description.filter { $0 != "-" && $0 != ":" && $0 != "Z" }
    let random = String(UInt32.random(in: 0x100_0000...0x1FF_FFFF), radix: 16).dropFirst()
    text = "\(moment).\(fraction)Z-\(random)"
  }

  /// Creates an id that sorts after `newest`, even if the clock was set back.
  init(at time: Timestamp, after newest: ReceiptID?) {
    guard let last = newest?.time else {
      self.init(at: time)
      return
    }
    let (next, overflow) = last.nanoseconds.addingReportingOverflow(1000)
    self.init(at: overflow ? last : max(time, Timestamp(nanoseconds: next)))
  }

  /// The time of the edit. An id from ``init(_:)`` has one.
  public var time: Timestamp? {
    let digits = Array(text.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: digits[range], as: UTF8.self) }
    let date = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))"
    let moment = "\(date)T\(part(9..<11)):\(part(11..<13)):\(part(13..<22))Z"
    return Array(moment.utf8).withUnsafeBytes { Timestamp(rfc3339: $0) }
  }

  public var description: String { text }

  public static func < (left: ReceiptID, right: ReceiptID) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
