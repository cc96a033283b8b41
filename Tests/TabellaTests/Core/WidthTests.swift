import Foundation
import TabellaTerminal
import Testing

@testable import TabellaTestSupport

/// The width of text from a table generated from Unicode, compared with other implementations of Unicode.
@Suite struct WidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("漢字", 4), ("é", 1), ("e\u{301}", 1), ("ｱ", 1), ("Ａ", 2), ("a\u{AD}b", 3),
    // Jamo: the leading one has the width of the syllable.
    ("가", 2), ("\u{1100}\u{1161}\u{11A8}", 2), ("\u{1161}", 0),
    // Every letter and spacing mark has a width; nonspacing marks have none.
    ("ก่า", 2), ("น้ำ", 2), ("กำ", 2), ("क्षि", 3), ("நி", 2), ("لا", 2), ("שָׁלוֹם", 4),
    // Signs that span a number are visible, unlike other format characters.
    ("\u{600}1", 2), ("a\u{200B}b\u{200C}c\u{200D}d", 4),
    // Emoji.
    ("😀", 2), ("⌚", 2), ("❤", 1), ("🇩🇪", 2), ("🇩🇪🇫", 3), ("👨‍👩‍👧‍👦", 2), ("👍🏽", 2), ("☝🏽", 2),
    ("👩🏽‍💻", 2), ("🏳️‍🌈", 2), ("⛹🏽‍♀️", 2), ("❤️", 2), ("©️", 2), ("1️⃣", 2), ("1\u{20E3}", 1), ("🏴", 2),
    // U+FE0E requests text style and does not change the width.
    ("⌚\u{FE0E}", 2), ("❤\u{FE0E}", 1),
    // Without a partner to join or colour, each character keeps its width.
    ("a\u{FE0F}", 1), ("a🏽", 3), ("😀🏽", 4), ("🏽", 2), ("a\u{200D}b", 2), ("❤\u{200B}\u{200D}🔥", 3),
    // Reserved for future emoji.
    ("\u{1FAFF}", 2), ("\u{2FFFD}", 2), ("\u{10FFFD}", 1),
  ])
  func widths(_ text: String, _ width: Int) { #expect(displayWidth(of: text) == width) }

  @Test func ambiguousIsAChoice() {
    let wide = WidthRules(ambiguousIsWide: true)
    for text in ["±", "…", "│", "α", "я", "①", "\u{E0B0}"] {
      #expect(displayWidth(of: text) == 1)
      #expect(displayWidth(of: text, by: wide) == 2)
    }
    for text in ["a", "漢", "ｱ", "😀", "e\u{301}", "א", "क्षि"] {
      #expect(displayWidth(of: text) == displayWidth(of: text, by: wide))
    }
  }

  /// The scalars assigned in the version of the table, according to the standard library.
  static let assigned: [Unicode.Scalar] = {
    let parts = WidthRules.unicodeVersion.split(separator: ".").compactMap { Int($0) }
    let version = (parts[0], parts[1])
    return (0..<0x110000).compactMap { Unicode.Scalar(UInt32($0)) }.filter { scalar in
      scalar.properties.age.map { ($0.major, $0.minor) <= version } ?? false
    }
  }()

  /// Signs in front of a number: visible format characters.
  static let visibleFormat: Set<UInt32> = [
    0xAD, 0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD,
    0x110CD,
  ]

  @Test func agreesWithTheStandardLibrary() {
    var wrong: [String] = []
    for scalar in WidthTests.assigned {
      let width = displayWidth(of: String(scalar))
      if let expected = WidthTests.slowWidth(scalar), width != expected {
        wrong.append("\(String(scalar.value, radix: 16)): \(width), not \(expected)")
      }
    }
    #expect(WidthTests.assigned.count > 280_000)
    #expect(wrong.isEmpty)
  }

  /// The width according to the properties of the standard library; nil if they do not determine it.
  static func slowWidth(_ scalar: Unicode.Scalar) -> Int? {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    case .format: return visibleFormat.contains(scalar.value) ? 1 : 0
    case .privateUse: return 1
    default: break
    }
    if 0x1F1E6...0x1F1FF ~= scalar.value { return 1 }
    if properties.isEmojiPresentation { return 2 }
    if properties.isIdeographic, properties.generalCategory == .otherLetter { return 2 }
    guard let name = properties.name else { return nil }
    for (prefix, width) in [
      ("HANGUL JUNGSEONG", 0), ("HANGUL JONGSEONG", 0), ("HANGUL CHOSEONG", 2),
      ("HANGUL SYLLABLE", 2), ("HALFWIDTH", 1), ("FULLWIDTH", 2), ("HIRAGANA LETTER", 2),
      ("KATAKANA LETTER", 2), ("LATIN SMALL", 1), ("GREEK CAPITAL", 1), ("CYRILLIC SMALL", 1),
      ("ARABIC LETTER", 1), ("THAI CHARACTER", 1), ("DEVANAGARI", 1), ("TAMIL", 1), ("BOX DRAW", 1),
    ] where name.hasPrefix(prefix) { return width }
    return nil
  }

  /// The C library has its own table.
  @Test func agreesWithTheCLibrary() throws {
    let symbol = try #require(dlsym(nil, "wcwidth"))
    let wcwidth = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    let locale = try #require(newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
    let before = uselocale(locale)
    defer {
      uselocale(before)
      freelocale(locale)
    }
    // glibc treats eight ambiguous numbers as wide; Unicode 16 made the others wide.
    let known: [ClosedRange<UInt32>] = [
      0x3248...0x324F, 0x2630...0x2637, 0x268A...0x268F, 0x1D300...0x1D356, 0x1D360...0x1D376,
    ]
    var wrong: [String] = []
    for scalar in WidthTests.assigned where !known.contains(where: { $0 ~= scalar.value }) {
      let theirs = Int(wcwidth(Int32(scalar.value)))
      let ours = displayWidth(of: String(scalar))
      // -1 means a control character, or one that is newer than the library.
      if theirs >= 0, scalar.value > 0, ours != theirs {
        wrong.append("\(String(scalar.value, radix: 16)): \(ours), not \(theirs)")
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test func everyPictureTakesTwoColumns() {
    let tones = (0x1F3FB...0x1F3FF).map { String(Unicode.Scalar(UInt32($0))!) }
    for scalar in WidthTests.assigned where scalar.properties.isEmoji {
      let properties = scalar.properties
      if !properties.isEmojiPresentation {
        #expect(displayWidth(of: "\(scalar)\u{FE0F}") == 2)
      }
      guard properties.isEmojiModifierBase else { continue }
      for tone in tones {
        #expect(displayWidth(of: "\(scalar)\(tone)") == 2)
        #expect(displayWidth(of: "\(scalar)\u{FE0F}\(tone)") == 2)
        #expect(displayWidth(of: "\(scalar)\(tone)\u{200D}♂\u{FE0F}") == 2)
      }
    }
    let letters = (0x1F1E6...0x1F1FF).map { String(Unicode.Scalar(UInt32($0))!) }
    for first in letters {
      for second in letters { #expect(displayWidth(of: first + second) == 2) }
    }
  }

  /// Python has a table of directions.
  @Test(.needs("python3")) func agreesWithPythonOnDirections() throws {
    // For each code point: unassigned, or whether it is right-to-left.
    let script = """
      import unicodedata as u
      def of(c): return u.bidirectional(c) in ('R', 'AL', 'AN')
      print(''.join('-' if u.category(c) == 'Cn' else '01'[of(c)] for c in map(chr, range(0x110000))))
      """
    let answers = try run(findProgram("python3"), ["-c", script]).output
    try #require(answers.count == 0x110001)
    var compared = 0
    var wrong: [UInt32] = []
    for (point, answer) in answers.dropLast().enumerated() where answer != UInt8(ascii: "-") {
      guard let scalar = Unicode.Scalar(UInt32(point)) else { continue }
      // Escapes are ASCII.
      let text = SafeText(String(scalar))
      guard text.string.unicodeScalars.first == scalar else { continue }
      if text.hasRightToLeft != (answer == UInt8(ascii: "1")) { wrong.append(scalar.value) }
      compared += 1
    }
    #expect(compared > 100_000 && wrong.isEmpty)
  }

  /// Therefore cutting between graphemes never changes a width.
  @Test func textIsAsWideAsItsGraphemes() {
    var generator = SeededGenerator(seed: 10)
    for _ in 0..<20_000 {
      let text = String.nasty(&generator)
      #expect(displayWidth(of: text) == text.reduce(0) { $0 + displayWidth(of: String($1)) })
    }
  }
}

extension String {
  /// Text of scalars that join, cover, reorder, hide or are wide.
  static func nasty(_ generator: inout SeededGenerator) -> String {
    let scalars: [Unicode.Scalar] = [
      "a", "1", "#", " ", "é", "漢", "ｱ", "±", "я", "א", "ع", "٣", "क", "\u{94D}", "ष", "\u{93F}",
      "ก",
      "\u{E33}", "\u{E48}", "\u{1100}", "\u{1161}", "\u{11A8}", "가", "\u{301}", "\u{20E3}", "❤",
      "☝", "©", "⌚", "👩", "👍", "🏳", "🌈", "🏽", "🏿", "🇩", "🇪", "\u{200D}", "\u{200D}", "\u{200D}",
      "\u{FE0F}", "\u{FE0F}", "\u{FE0E}", "\u{200B}", "\u{200C}", "\u{AD}", "\u{600}", "\u{9BE}",
      "\u{E0100}", "\u{1FAFF}", "\u{E000}", "\n", "\t", "\u{1B}", "\u{202E}", "\u{2068}",
      "\u{E0067}",
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0...10, using: &generator) {
      text.unicodeScalars.append(scalars.randomElement(using: &generator)!)
    }
    return text
  }
}
