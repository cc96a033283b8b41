import Tabella

/// The meaning of text. A terminal shows it by colour and weight, which never carry information alone.
package enum TextStyle: Sendable, CaseIterable {
  /// The title of a section.
  case title
  /// The name of a column.
  case heading
  /// Text that is not data: lines, counts, footers, symbols for missing values.
  case faint
  case emphasis
  case strong
  case code
  case warning
  case error
  /// Activity: a running process.
  case active
  /// Text that a search or a pattern matched.
  case match
  /// A row that a comparison finds only in the new table.
  case inserted
  /// A row that a comparison finds only in the old table.
  case deleted

  /// The parameters of SGR (ECMA-48, 8.3.117). They use only the 16 colours of the terminal's theme.
  var parameters: String {
    switch self {
    case .title: "1;36"
    case .heading, .strong: "1"
    case .faint: "2"
    case .emphasis: "3"
    case .code: "36"
    case .warning: "33"
    case .error, .deleted: "31"
    case .active, .inserted: "32"
    case .match: "1;31"
    }
  }

  package var rendition: Rendition { Rendition(trusted: parameters) }

  /// The style of a provider's text; nil if the provider's style is unknown, which means plain text.
  package init?(_ style: StyledText.Style) {
    switch style {
    case .emphasis: self = .emphasis
    case .strong: self = .strong
    case .dim: self = .faint
    case .code: self = .code
    case .warning: self = .warning
    case .error: self = .error
    default: return nil
    }
  }
}

/// The parameters of SGR (ECMA-48, 8.3.117), such as `01;34`.
package struct Rendition: Hashable, Sendable {
  let parameters: String

  init(trusted parameters: String) { self.parameters = parameters }

  /// Creates parameters from a setting of the user. Nil if they are not numbers, or if they mean plain text.
  package init?(_ text: some StringProtocol) {
    let bytes = text.utf8
    guard (1...60).contains(bytes.count), bytes.allSatisfy({ 48...57 ~= $0 || $0 == 59 }),
      !bytes.allSatisfy({ $0 == 48 })
    else { return nil }
    parameters = String(text)
  }
}

/// Applies styles to text, if styles are enabled.
package struct Palette: Sendable {
  /// Whether styles are enabled.
  package var isColoured: Bool

  /// Creates a palette.
  package init(isColoured: Bool) { self.isColoured = isColoured }

  /// The text in a style. Fit the text to its width before, because styled text cannot be cut.
  package func paint(_ text: SafeText, _ style: TextStyle?) -> SafeText {
    paint(text, style?.rendition)
  }

  /// The text with these parameters, and with the style of matches in some ranges of its UTF-8. Fit the text before.
  ///
  /// A match includes the whole of each grapheme that it touches.
  package func paint(
    _ text: SafeText, _ rendition: Rendition?, matches: [Range<Int>] = []
  ) -> SafeText {
    guard isColoured, text.width > 0, rendition != nil || !matches.isEmpty else { return text }
    var painted = ""
    func add(_ part: Substring, _ rendition: Rendition?) {
      guard let rendition, !part.isEmpty else {
        painted += part
        return
      }
      painted += "\u{1B}[\(rendition.parameters)m\(part)\u{1B}[0m"
    }
    var rest = text.string[...]
    if !matches.isEmpty {
      var (offset, at, isMatch) = (0, rest.startIndex, false)
      while at < rest.endIndex {
        let next = rest.index(after: at)
        let end = offset + rest[at..<next].utf8.count
        let touches = matches.contains { $0.overlaps(offset..<end) }
        if touches != isMatch {
          add(rest[..<at], isMatch ? TextStyle.match.rendition : rendition)
          (rest, isMatch) = (rest[at...], touches)
        }
        (offset, at) = (end, next)
      }
      if isMatch {
        add(rest, TextStyle.match.rendition)
        rest = ""
      }
    }
    add(rest, rendition)
    return SafeText(trusted: painted, width: text.width, hasRightToLeft: text.hasRightToLeft)
  }

  /// A provider's styled text on one line of at most `columns` columns.
  package func paint(_ text: StyledText, columns: Int?, ellipsis: SafeText) -> SafeText {
    let whole = text.bytes.withUnsafeBytes { SafeText(bytes: $0) }
    if let columns, whole.width > columns { return whole.fitted(to: columns, ellipsis: ellipsis) }
    guard isColoured else { return whole }
    var painted = SafeText()
    var next = 0
    func add(_ range: Range<Int>, _ style: TextStyle?) {
      let part = text.bytes[range].withUnsafeBytes { SafeText(bytes: $0) }
      painted.append(paint(part, style))
    }
    // The spans come from a provider. Spans that are out of order or outside the text are ignored.
    for span in text.spans
    where span.bytes.lowerBound >= next && span.bytes.upperBound <= text.bytes.count {
      add(next..<span.bytes.lowerBound, nil)
      add(span.bytes, TextStyle(span.style))
      next = span.bytes.upperBound
    }
    add(next..<text.bytes.count, nil)
    return painted
  }
}

extension SafeText {
  /// The text as a hyperlink, for terminals that support OSC 8.
  ///
  /// If the address contains anything but printable ASCII, the text stays unchanged, so percent-encode the address.
  package func linked(to address: String) -> SafeText {
    guard address.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return self }
    return SafeText(
      trusted: "\u{1B}]8;;\(address)\u{1B}\\\(string)\u{1B}]8;;\u{1B}\\", width: width)
  }
}
