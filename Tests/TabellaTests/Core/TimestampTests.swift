import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

@Suite struct TimestampTests {
  /// Comparison with Foundation over the whole range.
  @Test func writesAsFoundationDoes() {
    var generator = SeededGenerator(seed: 5)
    let formatter = ISO8601DateFormatter()
    for _ in 0..<2000 {
      let second = Int64.random(in: -9_223_372_036...9_223_372_036, using: &generator)
      let moment = Timestamp(seconds: second)
      #expect(
        moment?.description == formatter.string(from: Date(timeIntervalSince1970: Double(second))))
    }
  }

  @Test func readsWhatItWrites() {
    var generator = SeededGenerator(seed: 6)
    for _ in 0..<2000 {
      let moment = Timestamp(nanoseconds: Int64.random(in: .min...(.max), using: &generator))
      #expect(parse(moment.description) == moment)
    }
    for nanoseconds in [Int64.min, -1, 0, 1, 999_999_999, .max] {
      let moment = Timestamp(nanoseconds: nanoseconds)
      #expect(parse(moment.description) == moment)
    }
  }

  func parse(_ text: String) -> Timestamp? {
    var text = text
    return text.withUTF8 { Timestamp(rfc3339: UnsafeRawBufferPointer($0)) }
  }

  @Test(arguments: [
    ("2024-02-29", "2024-02-29T00:00:00Z"), ("2024-02-29T23:59:59.5Z", "2024-02-29T23:59:59.500Z"),
    ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"),
    ("1969-12-31 23:59:59.999999999z", "1969-12-31T23:59:59.999999999Z"),
    ("2000-01-01T00:00:00-23:59", "2000-01-01T23:59:00Z"),
  ])
  func reads(_ text: String, _ expected: String) { #expect(parse(text)?.description == expected) }

  @Test(arguments: [
    "", "2024", "2024-2-29", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "2024-01-01T",
    "2024-01-01T10:00", "2024-01-01T10:00:00", "2024-01-01T24:00:00Z", "2024-01-01T10:60:00Z",
    "2024-01-01T10:00:00.Z", "2024-01-01T10:00:00+1:00", "2024-01-01T10:00:00Zx", " 2024-01-01",
    "9999-01-01", "20240101", "2024-01-01T10:00:60Z", "1900-02-29",
  ])
  func refuses(_ text: String) { #expect(parse(text) == nil) }

  /// A time without a zone is that of a clock in UTC. A text with a zone is the same moment as in RFC 3339.
  @Test(
    arguments: [
      ("2026-11-24 10:00", "2026-11-24T10:00:00Z"), ("2026-11-24T10", "2026-11-24T10:00:00Z"),
      ("2026-11-24T10:00:00.25", "2026-11-24T10:00:00.250Z"),
      ("2026-11-24", "2026-11-24T00:00:00Z"),
      ("2026-11-24T10:00:00+01:00", "2026-11-24T09:00:00Z"), ("2026-11-24 25:00", nil),
      ("soon", nil), ("9999-01-01 10:00", nil),
    ] as [(String, String?)])
  func readsAClock(_ text: String, _ expected: String?) {
    var text = text
    let time = text.withUTF8 { Timestamp(clock: UnsafeRawBufferPointer($0)) }
    #expect(time?.description == expected)
  }
}
