import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// Numbers in hexadecimal.
@Suite struct HexadecimalTests {
  /// Joined numbers have the digits of `String(_:radix:)`.
  @Test func joinedNumbersAreThoseOfStrings() {
    var generator = SeededGenerator(seed: 1)
    let edges = [0, 1, -1, 9, 10, 15, 16, -16, 255, 256, .max, .min, .max - 1, .min + 1]
    for _ in 0..<500 {
      let numbers = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        Bool.random(using: &generator)
          ? edges.randomElement(using: &generator)!
          : Int.random(in: .min ... .max, using: &generator)
            >> Int.random(in: 0...63, using: &generator)
      }
      let expected = numbers.map { String($0, radix: 16) }.joined(separator: ".")
      #expect(Hexadecimal.joined(numbers) == expected)
    }
  }
}
