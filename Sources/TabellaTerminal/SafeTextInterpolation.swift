import Tabella

/// Literals in the source code are trusted. Interpolated strings are made safe.
///
///     output.write("\(title): \(count) rows\n")
///
/// A string from elsewhere thus cannot be printed without being made safe.
extension SafeText: ExpressibleByStringInterpolation {
  /// The text of an interpolated literal under construction.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text: SafeText

    package init(literalCapacity: Int, interpolationCount: Int) { text = SafeText() }

    package mutating func appendLiteral(_ literal: String) {
      text.append(SafeText(trusted: literal, width: displayWidth(of: literal)))
    }

    package mutating func appendInterpolation(_ text: SafeText) { self.text.append(text) }
    package mutating func appendInterpolation(_ text: String) { self.text.append(SafeText(text)) }
    package mutating func appendInterpolation(_ number: some BinaryInteger) {
      let digits = String(number)
      text.append(SafeText(trusted: digits, width: digits.utf8.count))
    }
  }

  package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.text }

  package init(stringLiteral value: String) {
    self.init(trusted: value, width: displayWidth(of: value))
  }

  /// Creates text of several lines. Everything except the line ends is made safe.
  package init(lines text: String) {
    self = .joined(
      text.split(separator: "\n", omittingEmptySubsequences: false).map { SafeText(String($0)) },
      separator: "\n")
  }

  /// Creates an empty text.
  package init() { self.init(trusted: "", width: 0) }

  /// A text of `count` spaces.
  package static func spaces(_ count: Int) -> SafeText { SafeText(repeating: " ", count: count) }

  /// Repeats a character of one column: an ASCII or box-drawing character.
  package init(repeating character: Character, count: Int) {
    self.init(trusted: String(repeating: character, count: max(0, count)), width: max(0, count))
  }

  /// The two texts, one after the other.
  package static func + (left: SafeText, right: SafeText) -> SafeText {
    var text = left
    text.append(right)
    return text
  }

  /// The texts in order, with a separator between them.
  package static func joined(_ texts: [SafeText], separator: SafeText) -> SafeText {
    var all = SafeText()
    for (number, text) in texts.enumerated() {
      if number > 0 { all.append(separator) }
      all.append(text)
    }
    return all
  }

  /// The text in lines of at most `columns` columns.
  ///
  /// A line is broken at a space if there is one in its second half, otherwise between two graphemes.
  package func wrapped(to columns: Int) -> [SafeText] {
    guard width > columns, columns > 0 else { return [self] }
    var lines: [SafeText] = []
    var line = SafeText()
    /// The line up to its last space, and the rest of the line.
    var split: (head: SafeText, tail: SafeText)?
    for character in string {
      let wide = displayWidth(of: String(character))
      if line.width + wide > columns {
        if let (head, tail) = split, head.width * 2 > columns {
          lines.append(SafeText(trusted: String(head.string.dropLast()), width: head.width - 1))
          line = tail
        } else {
          lines.append(line)
          line = SafeText()
        }
        split = nil
      }
      let next = SafeText(trusted: String(character), width: wide)
      line.append(next)
      if character == " " {
        split = (line, SafeText())
      } else if split != nil {
        split?.tail.append(next)
      }
    }
    lines.append(line)
    return lines
  }
}
