import Testing

@testable import Tabella
@testable import TabellaTestSupport

@Suite struct RegexExitsTests {
  /// Bytes whose bits carry far in a sum, and neighbours of the searched bytes.
  private static let bytes: [UInt8] = [0, 1, 0x60, 0x61, 0x62, 0x7F, 0x80, 0x81, 0xE1, 0xFE, 0xFF]

  private func randomText(_ generator: inout SeededGenerator, without rare: [UInt8]) -> [UInt8] {
    let usual = Self.bytes.filter { !rare.contains($0) }
    return (0..<Int.random(in: 0...40, using: &generator)).map { _ in
      Int.random(in: 0..<12, using: &generator) == 0
        ? rare.randomElement(using: &generator) ?? usual[0]
        : usual.randomElement(using: &generator)!
    }
  }

  /// The search finds the same offset as one that examines each byte.
  @Test func someBytesAreFoundAsByTheNaiveSearch() {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<3000 {
      let count = Int.random(in: 0...RegexExits.most, using: &generator)
      let wanted = Array(Self.bytes.shuffled(using: &generator).prefix(count))
      let exits = RegexExits(code: RegexExits(bytes: wanted).code)
      let text = randomText(&generator, without: wanted)
      let start = Int.random(in: 0...text.count, using: &generator)
      let naive = (start..<text.count).first { wanted.contains(text[$0]) } ?? text.count
      #expect(text.withUnsafeBytes { exits.first(in: $0, from: start) } == naive)
    }
  }

  /// A pair can begin with the last byte, because only the end of the text follows it.
  @Test func aPairIsFoundAsByTheNaiveSearch() {
    var generator = SeededGenerator(seed: 4)
    for _ in 0..<3000 {
      let wanted = (0..<2).map { _ in Self.bytes.randomElement(using: &generator)! }
      let exits = RegexExits(code: RegexExits(pair: wanted[0], wanted[1]).code)
      let text = randomText(&generator, without: wanted)
      let start = Int.random(in: 0...text.count, using: &generator)
      let naive = (start..<text.count).first { at in
        text[at] == wanted[0] && (at + 1 == text.count || text[at + 1] == wanted[1])
      }
      #expect(text.withUnsafeBytes { exits.first(in: $0, from: start) } == naive ?? text.count)
    }
  }
}
