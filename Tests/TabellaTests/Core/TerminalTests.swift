import Tabella
import TabellaTerminal
import Testing

@testable import TabellaTestSupport

@Suite struct TerminalTests {
  /// Safe text never contains control characters, bidi overrides or invalid UTF-8.
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
    ("\u{3164}", "\\u{3164}"), ("🏴\u{E0067}", "🏴\\u{e0067}"),
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

  /// Every scalar appears unchanged or as an escape, and JSON escapes the same ones.
  @Test func whatIsUnsafeIsEscapedEverywhere() throws {
    var wrong: [Unicode.Scalar] = []
    for scalar in (0..<0x110000).compactMap({ Unicode.Scalar(UInt32($0)) }) {
      let safe = SafeText(String(scalar))
      guard scalar.isUnsafeToPrint else {
        if safe.string != String(scalar) { wrong.append(scalar) }
        continue
      }
      #expect(
        safe.string.utf8.allSatisfy { 0x20..<0x7F ~= $0 } && safe.width == safe.string.utf8.count)
      let json = JSONValue.string("é\(scalar)é").text
      #expect(!json.unicodeScalars.contains(scalar), "\(scalar.value)")
      #expect(try JSONValue(parsing: Array(json.utf8)) == .string("é\(scalar)é"))
    }
    #expect(wrong.isEmpty)
  }

  /// Scripts and emoji need these invisible characters.
  @Test func whatTextNeedsIsKept() {
    for text in [
      "👩\u{200D}💻", "नी\u{200C}", "❤\u{FE0F}", "葛\u{E0100}", "ក\u{200B}ខ", "a\u{AD}b", "\u{E0B0}",
      "\u{110BD}", "\u{378}",
    ] {
      #expect(SafeText(text).string == text)
    }
  }

  @Test func marksBeyondTheEighthAreOneEllipsis() {
    let marks = String(repeating: "\u{301}", count: 8)
    #expect(safe("Z\(marks)a\(marks)b").string == "Z\(marks)a\(marks)b")
    let zalgo = safe("Z\(marks)\(marks)\u{302}a\u{303}")
    #expect(Array(zalgo.string.unicodeScalars) == Array("Z\(marks)…a\u{303}".unicodeScalars))
    #expect(zalgo.width == 3)
    // Combining marks do not cover an escape either.
    #expect(safe("\u{1B}\(marks)\(marks)").string == "\\x1b\(marks)…")
  }

  @Test func theWidthIsThatOfTheString() {
    var generator = SeededGenerator(seed: 11)
    for rules in [WidthRules(), WidthRules(ambiguousIsWide: true)] {
      for _ in 0..<5000 {
        let safe = SafeText(String.nasty(&generator), by: rules)
        #expect(displayWidth(of: safe.string, by: rules) == safe.width)
        #expect(!safe.isCut)
      }
    }
  }

  @Test func fittingCutsBetweenGraphemesAndNeverExceeds() {
    var generator = SeededGenerator(seed: 12)
    let texts = ["abcdefgh", "漢字漢字漢字", "a漢b字c", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧"]
    for text in texts + (0..<1000).map({ _ in String.nasty(&generator) }) {
      let whole = SafeText(text)
      for limit in 0...16 {
        let fitted = whole.fitted(to: limit)
        #expect(fitted.width <= limit)
        #expect(displayWidth(of: fitted.string) == fitted.width)
        if whole.width <= limit {
          #expect(fitted == whole)
        } else if limit > 0 {
          #expect(fitted.string.unicodeScalars.last == "…")
          let kept = fitted.string.unicodeScalars.dropLast()
          let end = whole.string.unicodeScalars.index(
            whole.string.startIndex, offsetBy: kept.count)
          #expect(kept.elementsEqual(whole.string.unicodeScalars[..<end]))
          #expect(end == whole.string.endIndex || whole.string.indices.contains(end))
          // The next character would not fit.
          let next = whole.string[end...].first.map { displayWidth(of: String($0)) } ?? 0
          #expect(fitted.width + next > limit)
        }
      }
    }
  }

  /// Reading only the visible part of a text gives the same result.
  @Test func aLimitedTextFitsAsTheWholeDoes() {
    var generator = SeededGenerator(seed: 13)
    for round in 0..<2000 {
      let text = round % 4 == 0 ? "plain text" : String.nasty(&generator)
      let whole = SafeText(text)
      for limit in 0...12 {
        let limited = Array(text.utf8).withUnsafeBytes { SafeText(bytes: $0, columns: limit) }
        #expect((limited.width > limit) == (whole.width > limit))
        if whole.width <= limit { #expect(limited == whole) }
        for room in 0...limit { #expect(limited.fitted(to: room) == whole.fitted(to: room)) }
      }
    }
  }

  /// The cost of a huge cell depends on its visible part, even if the text has no width.
  @Test(arguments: [
    "a", "é", "漢", "\u{301}", "\u{200D}", "\u{200B}", "👩\u{200D}", "\n", "\u{202E}",
  ])
  func aHugeCellIsNotWalked(_ unit: String) {
    let bytes = Array(String(repeating: unit, count: 10_000_000 / unit.utf8.count).utf8)
    let clock = ContinuousClock()
    let time = clock.measure {
      for _ in 0..<100 {
        let text = bytes.withUnsafeBytes { SafeText(bytes: $0, columns: 20) }
        #expect(text.isCut && text.width > 20 && text.string.utf8.count < 64 * 22)
        let fitted = text.fitted(to: 20)
        #expect(fitted.width <= 20 && fitted.string.hasSuffix("…"))
      }
    }
    #expect(time < .seconds(2))
  }

  @Test func rightToLeftIsIsolated() {
    for text in ["שלום", "abc ع", "٣٤", "a\u{5D0}"] {
      let safe = SafeText(text)
      #expect(safe.isolated.string == "\u{2068}\(text)\u{2069}")
      #expect(displayWidth(of: safe.isolated.string) == safe.isolated.width)
      #expect(
        safe.isolated.padded(to: 9, alignedRight: true).string
          == String(repeating: " ", count: 9 - safe.width) + safe.isolated.string)
    }
    for text in ["abc", "é漢😀", "٪x", "12", ""] {
      #expect(SafeText(text).isolated.string == text)
    }
    // Isolating characters of the text are escaped, so that those of tabella stay paired.
    #expect(isolated("א\u{2069}") == "\u{2068}א\\u{2069}\u{2069}")
    // Only the visible part counts.
    #expect(isolated("abcdef שלום", 5) == "abcd…")
    #expect(isolated("שלום abcdef", 5).hasPrefix("\u{2068}"))
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
        // Numbers are complete or missing; text and names stay readable.
        let cells = natural[column.index]
        #expect(column.width >= (canShrink[column.index] ? min(cells, 8) : cells))
        #expect(column.width >= min(names[column.index], 12))
        #expect(column.width <= max(cells, names[column.index]))
      }
      // Nothing is cut or omitted without need.
      let whole = zip(natural, names).map { max($0, $1) }
      if whole.reduce(0, +) + gap * (whole.count - 1) <= width {
        #expect(layout.columns.map(\.width) == whole)
      }
    }
  }

  /// Less important columns leave before more important ones are cut to less than half of the width.
  @Test(arguments: [20, 40, 80, 200])
  func importantColumnsStay(_ width: Int) {
    var generator = SeededGenerator(seed: UInt64(width) + 1)
    for _ in 0..<500 {
      let natural = (0..<Int.random(in: 1...9, using: &generator)).map { _ in
        Int.random(in: 0...60, using: &generator)
      }
      let canShrink = natural.map { _ in Bool.random(using: &generator) }
      let names = natural.map { _ in Int.random(in: 0...10, using: &generator) }
      let ranks = natural.map { _ in [nil, 0, 1, 2, 3].randomElement(using: &generator)! }
      let layout = TableLayout(
        cells: natural, names: names, canShrink: canShrink, ranks: ranks, width: width)
      #expect(layout.total <= width)
      let shown = layout.columns.map(\.index)
      #expect(shown == shown.sorted() && Set(shown + layout.dropped) == Set(natural.indices))
      #expect(layout.fitting >= shown.count)
      func order(_ index: Int) -> (Int, Int) { (ranks[index] ?? .max, index) }
      let last = shown.map(order).max { $0 < $1 }!
      #expect(layout.dropped.allSatisfy { order($0) > last })
      for column in layout.columns where shown.count > 1 {
        let cells = natural[column.index]
        #expect(column.width >= (canShrink[column.index] ? min(cells, 8) : cells))
        guard ranks[column.index] ?? .max < last.0 else { continue }
        #expect(column.width >= (canShrink[column.index] ? min(cells, width / 2) : cells))
      }
      let whole = zip(natural, names).map { max($0, $1) }
      if whole.reduce(0, +) + 2 * (whole.count - 1) <= width {
        #expect(layout.columns.map(\.width) == whole)
      }
    }
  }

  /// A tab becomes spaces up to the next stop of its cell; other control characters stay escapes.
  @Test(arguments: [
    ("\tx", "        x"), ("a\tb", "a       b"), ("1234567\tb", "1234567 b"),
    ("12345678\tb", "12345678        b"), ("漢\tb", "漢      b"), ("a\t\t", "a               "),
    ("\u{1B}\t\n", "\\x1b    \\n"),
  ])
  func tabsExpand(_ text: String, _ expected: String) {
    let safe = Array(text.utf8).withUnsafeBytes { SafeText(bytes: $0, columns: .max, tabStop: 8) }
    #expect(safe.string == expected && safe.width == displayWidth(of: expected))
    let limited = Array(text.utf8).withUnsafeBytes { SafeText(bytes: $0, columns: 4, tabStop: 8) }
    #expect(limited.fitted(to: 4) == safe.fitted(to: 4))
  }

  /// Styles of settings contain numbers only, so that no other escape reaches the terminal.
  @Test func renditionsAreNumbers() {
    for text in ["01;34", "0;1", "38;5;208", ";"] { #expect(Rendition(text) != nil, "\(text)") }
    for text in ["", "0", "00", "1m\u{1B}]", "1:2", "x", " 1", String(repeating: "1", count: 61)] {
      #expect(Rendition(text) == nil, "\(text)")
    }
  }

  /// A match is painted with whole graphemes, and the text stays the same.
  @Test func matchesArePainted() {
    let palette = Palette(isColoured: true)
    let text = SafeText("a漢e\u{301}b")
    let painted = palette.paint(text, Rendition("32"), matches: [1..<4, 5..<6])
    #expect(
      painted.string
        == "\u{1B}[32ma\u{1B}[0m\u{1B}[1;31m漢e\u{301}\u{1B}[0m\u{1B}[32mb\u{1B}[0m")
    #expect(painted.width == text.width)
    #expect(palette.paint(text, nil as Rendition?, matches: []) == text)
    #expect(Palette(isColoured: false).paint(text, Rendition("32"), matches: [0..<9]) == text)
  }

  @Test(
    arguments: [
      (0, "0"), (1023, "1023"), (1024, "1.0K"), (1536, "1.5K"), (10240, "10K"), (1_048_575, "1.0M"),
      (1 << 30, "1.0G"), (-2048, "-2.0K"), (5_368_709_120, "5.0G"), (10188, "9.9K"), (10189, "10K"),
    ] as [(Int64, String)])
  func readableBytes(_ count: Int64, _ text: String) { #expect(Readable.bytes(count) == text) }

  /// Literals of the source code are trusted. Inserted values are made safe.
  @Test func onlyLiteralsAreTrusted() {
    let evil = "\u{1B}[31m\n"
    let line: SafeText = "\u{1B}[1m\(evil)\u{1B}[0m \(7)\n"
    #expect(line.string == "\u{1B}[1m\\x1b[31m\\n\u{1B}[0m 7\n")
    #expect(SafeText(lines: "a\u{9B}b\nc").string == "a\\u{9b}b\nc")
    let link = SafeText(evil).linked(to: "file://h/\u{1B}")
    #expect(link.string == SafeText(evil).string)
  }

  /// Wrapping loses no text and makes no line too wide.
  @Test func wrappingLosesNothing() {
    var generator = SeededGenerator(seed: 12)
    for _ in 0..<500 {
      let text = SafeText(String.nasty(&generator) + " some words " + String.nasty(&generator))
      let columns = Int.random(in: 2...30, using: &generator)
      let lines = text.wrapped(to: columns)
      // A line is wider only if a single grapheme is wider than a line.
      #expect(lines.allSatisfy { $0.width <= columns || $0.string.count == 1 })
      let kept = lines.map(\.string).joined().filter { $0 != " " }
      #expect(kept == text.string.filter { $0 != " " })
    }
  }

  /// Safe text from a value. A literal would be trusted.
  private func safe(_ text: String) -> SafeText { SafeText(text) }

  /// Safe text, cut and isolated.
  private func isolated(_ text: String, _ columns: Int = 80) -> String {
    SafeText(text).fitted(to: columns).isolated.string
  }
}
