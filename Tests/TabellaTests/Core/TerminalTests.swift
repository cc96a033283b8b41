import Tabella
import TabellaTerminal
import Testing

@Suite struct TerminalTests {
  /// No control, no bidi override, nothing that is no UTF-8 comes through, whatever the bytes.
  @Test func nothingUnsafeComesThrough() {
    var generator = SeededGenerator(seed: 9)
    for round in 0..<3000 {
      var bytes = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      if round % 3 == 0 { bytes += Array("\u{202E}\u{9B}31m\u{1B}]0;x\u{7}".utf8) }
      let safe = bytes.withUnsafeBytes { SafeText(bytes: $0) }
      for scalar in safe.string.unicodeScalars {
        #expect(scalar.value >= 0x20 && !(0x7F..<0xA0 ~= scalar.value))
        #expect(!(0x202A...0x202E ~= scalar.value) && !(0x2066...0x2069 ~= scalar.value))
      }
    }
  }

  @Test(arguments: [
    ("plain", "plain"), ("a\nb", "a\\nb"), ("a\tb\r", "a\\tb\\r"), ("\u{1B}[31m", "\\x1b[31m"),
    ("\u{7F}", "\\x7f"), ("\u{9B}", "\\u{9b}"), ("\u{202E}x", "\\u{202e}x"), ("é漢", "é漢"),
  ])
  func escapes(_ text: String, _ expected: String) { #expect(SafeText(text).string == expected) }

  @Test func bytesThatAreNoText() {
    let cases: [([UInt8], String)] = [
      ([0xFF], "\\xff"), ([0x61, 0xC3, 0x62], "a\\xc3b"), ([0xE2, 0x82], "\\xe2\\x82"),
      ([0xC3, 0xA9, 0xFF, 0x61], "é\\xffa"), ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"),
    ]
    for (bytes, expected) in cases {
      #expect(bytes.withUnsafeBytes { SafeText(bytes: $0).string } == expected)
    }
  }

  @Test(arguments: [
    ("", 0), ("abc", 3), ("漢字", 4), ("é", 1), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2),
    ("가", 2), ("ｱ", 1), ("한", 2),
  ])
  func widths(_ text: String, _ width: Int) { #expect(displayWidth(of: text) == width) }

  @Test func fittingNeverExceeds() {
    for text in ["abcdefgh", "漢字漢字漢字", "a漢b字c", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧"] {
      for limit in 0...16 {
        let fitted = SafeText(text).fitted(to: limit)
        #expect(fitted.width <= limit)
        #expect(displayWidth(of: fitted.string) == fitted.width)
        if SafeText(text).width <= limit { #expect(fitted.string == text) }
      }
    }
  }

  @Test(arguments: [20, 40, 80, 200])
  func layoutFits(_ width: Int) {
    var generator = SeededGenerator(seed: UInt64(width))
    for _ in 0..<300 {
      let natural = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
        Int.random(in: 0...60, using: &generator)
      }
      let canShrink = natural.map { _ in Bool.random(using: &generator) }
      let names = natural.map { _ in Int.random(in: 0...20, using: &generator) }
      let gap = Int.random(in: 1...3, using: &generator)
      let layout = TableLayout(
        cells: natural, names: names, canShrink: canShrink, gap: gap, width: width)
      #expect(layout.total <= width)
      #expect(layout.columns.map(\.index) + layout.dropped == Array(natural.indices))
      for column in layout.columns where layout.columns.count > 1 {
        // Numbers are whole or not there; text and names are left readable.
        let cells = natural[column.index]
        #expect(column.width >= (canShrink[column.index] ? min(cells, 8) : cells))
        #expect(column.width >= min(names[column.index], 12))
        #expect(column.width <= max(cells, names[column.index]))
      }
      // Nothing is cut or left out without need.
      let whole = zip(natural, names).map { max($0, $1) }
      if whole.reduce(0, +) + gap * (whole.count - 1) <= width {
        #expect(layout.columns.map(\.width) == whole)
      }
    }
  }

  @Test(
    arguments: [
      (0, "0"), (1023, "1023"), (1024, "1.0K"), (1536, "1.5K"), (10240, "10K"), (1_048_575, "1.0M"),
      (1 << 30, "1.0G"), (-2048, "-2.0K"), (5_368_709_120, "5.0G"), (10188, "9.9K"), (10189, "10K"),
    ] as [(Int64, String)])
  func readableBytes(_ count: Int64, _ text: String) { #expect(Readable.bytes(count) == text) }
}
