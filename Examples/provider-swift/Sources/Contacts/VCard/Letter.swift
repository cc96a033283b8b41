/// The letter of a section: A to Z, and `#` for all other names.
struct Letter: Hashable, Comparable {
  /// The titles of all letters, in order.
  static let titles = "ABCDEFGHIJKLMNOPQRSTUVWXYZ#".map { String($0) }

  /// The position in ``titles``.
  let number: Int

  var title: String { Letter.titles[number] }

  /// The letter of a name: that of its first character, without accents.
  init(of name: String) {
    let first = name.first { !$0.isWhitespace }
    number = first.flatMap { Letter.numbers[$0] } ?? Letter.titles.count - 1
  }

  static func < (left: Letter, right: Letter) -> Bool { left.number < right.number }

  /// The number of each character that begins like a letter of the alphabet.
  ///
  /// Swift compares characters by canonical equivalence. So `E` with a combining accent finds `É`.
  private static let numbers: [Character: Int] = {
    let accents =
      (0x300...0x30C).compactMap(Unicode.Scalar.init) + ["\u{323}", "\u{327}", "\u{328}"]
    var numbers: [Character: Int] = [
      "Æ": 0, "æ": 0, "Đ": 3, "đ": 3, "Ð": 3, "ð": 3, "Ł": 11, "ł": 11, "Ø": 14, "ø": 14, "Œ": 14,
      "œ": 14, "ß": 18,
    ]
    for (number, title) in titles.dropLast().enumerated() {
      for letter in [title, title.lowercased()] {
        numbers[Character(letter)] = number
        for accent in accents { numbers[Character(letter + String(Character(accent)))] = number }
      }
    }
    return numbers
  }()
}
