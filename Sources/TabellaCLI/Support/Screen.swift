import Glibc
import Tabella
import TabellaTerminal

/// The terminal or file of standard output, with its size and the display options.
struct Screen {
  /// Whether it is a terminal. Then every format is made safe to print.
  var isTerminal: Bool
  /// The number of columns; nil means no limit.
  var width: Int?
  /// The number of lines, if it is a terminal.
  let height: Int?
  /// Whether the output can contain characters beyond ASCII. The locale and the width of lines decide.
  var isUnicode: Bool
  /// Whether it supports cursor movement, colours and links.
  private let isSmart: Bool
  var palette: Palette
  var hasLinks: Bool
  /// Whether dates are in UTC instead of the local zone.
  private var usesUTC = false
  /// The colours of file names, as the variable LS_COLORS of `ls` describes them.
  var fileColours: String?

  /// Examines a descriptor, by default standard output.
  init(descriptor: Int32 = 1) {
    isTerminal = isatty(descriptor) == 1
    var size = winsize()
    // Some pseudo-terminals have no size.
    let isSized = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    width =
      isTerminal
      ? isSized && size.ws_col > 0 ? Int(size.ws_col) : environmentNumber("COLUMNS") ?? 80 : nil
    height =
      isTerminal
      ? isSized && size.ws_row > 0 ? Int(size.ws_row) : environmentNumber("LINES") ?? 24 : nil
    isUnicode = localeIsUnicode()
    let terminal = environment("TERM") ?? "dumb"
    isSmart = isTerminal && terminal != "dumb"
    palette = Palette(isColoured: wantsColour(isSmart))
    hasLinks = isSmart && terminal != "linux"
    fileColours = environment("LS_COLORS")
  }

  /// Applies the display options.
  mutating func adopt(_ display: DisplayOptions) {
    if let width = display.width { self.width = width }
    usesUTC = display.usesUTC
    if display.ambiguousIsWide { isUnicode = false }
    switch display.colour {
    case .auto: break
    case .always: palette.isColoured = true
    case .never: palette.isColoured = false
    }
    switch display.links {
    case .auto: break
    case .always: hasLinks = true
    case .never: hasLinks = false
    }
  }

  /// Whether output longer than the screen can go to a pager.
  var canPage: Bool { isSmart && isatty(2) == 1 }

  /// Whether a table can be redrawn in place.
  var canRedraw: Bool { isSmart }

  /// The zone of dates in output for people.
  var zone: Zone { usesUTC ? .utc : .local }

  /// The text for a missing value in output for people.
  var missing: SafeText { isUnicode ? "∅" : "null" }

  /// The mark at the end of cut text.
  var ellipsis: SafeText { isUnicode ? "…" : "..." }

  func paint(_ text: SafeText, _ style: TextStyle) -> SafeText { palette.paint(text, style) }

  /// The text, cut to the width of the screen.
  func fitted(_ text: SafeText) -> SafeText {
    width.map { text.fitted(to: $0, ellipsis: ellipsis) } ?? text
  }

  /// The text for a line with other texts. On a terminal, right-to-left text is isolated, so that it does not
  /// reorder the line.
  func isolated(_ text: SafeText) -> SafeText { isTerminal ? text.isolated : text }

  /// A horizontal line.
  func rule(_ count: Int) -> SafeText {
    SafeText(repeating: isUnicode ? "─" : "-", count: count)
  }
}

/// The value of an environment variable; nil if it is not set or empty.
func environment(_ name: String) -> String? {
  guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
  return value
}

private func environmentNumber(_ name: String) -> Int? {
  environment(name).flatMap { Int($0) }.flatMap { 1...10_000 ~= $0 ? $0 : nil }
}

private func localeIsUnicode() -> Bool {
  for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
    guard let value = environment(name)?.uppercased() else { continue }
    return ["UTF-8", "UTF8"].contains { value.utf8.position(of: $0.utf8) != nil }
  }
  return false
}

/// Whether to print colours. NO_COLOR (no-color.org) overrides CLICOLOR_FORCE (bixense.com/clicolors) and FORCE_COLOR.
private func wantsColour(_ isSmart: Bool) -> Bool {
  if environment("NO_COLOR") != nil { return false }
  if (environment("CLICOLOR_FORCE") ?? environment("FORCE_COLOR") ?? "0") != "0" { return true }
  return isSmart && environment("CLICOLOR") != "0"
}
