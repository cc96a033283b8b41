import Glibc
import Tabella
import TabellaTerminal

/// What standard output is shown on, and how: by the terminal, the environment, the options.
struct Screen {
  /// Whether it is a terminal: then every format is made safe to look at.
  let isTerminal: Bool
  /// How many columns there are; nil means as many as the lines need.
  var width: Int?
  /// How many lines there are, if it is a terminal.
  let height: Int?
  /// Whether what we draw may go beyond ASCII: by the locale's name, and if lines are a column wide.
  private(set) var isUnicode: Bool
  /// Whether it knows more than text: cursor movement, colours, links.
  private let isSmart: Bool
  var palette: Palette
  var hasLinks: Bool

  /// What a descriptor, standard output unless another is named, is shown on.
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
  }

  /// Does as the options say.
  mutating func adopt(_ display: DisplayOptions) {
    if let width = display.width { self.width = width }
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

  /// Whether what does not fit on it may go to a pager.
  var canPage: Bool { isSmart && isatty(2) == 1 }

  /// What stands for a missing value where people read.
  var missing: SafeText { isUnicode ? "∅" : "null" }

  /// What stands where text was cut.
  var ellipsis: SafeText { isUnicode ? "…" : "..." }

  func paint(_ text: SafeText, _ style: TextStyle) -> SafeText { palette.paint(text, style) }

  /// The text cut to the screen's width.
  func fitted(_ text: SafeText) -> SafeText {
    width.map { text.fitted(to: $0, ellipsis: ellipsis) } ?? text
  }

  /// The text as it stands in a line with others: what is written from right to left is kept apart
  /// where a terminal might reorder the line.
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

/// NO_COLOR (no-color.org) says no before CLICOLOR_FORCE (bixense.com/clicolors) or FORCE_COLOR say yes.
private func wantsColour(_ isSmart: Bool) -> Bool {
  if environment("NO_COLOR") != nil { return false }
  if (environment("CLICOLOR_FORCE") ?? environment("FORCE_COLOR") ?? "0") != "0" { return true }
  return isSmart && environment("CLICOLOR") != "0"
}
