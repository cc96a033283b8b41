import Tabella

/// How what is for people is laid out; the data is the same.
struct DisplayOptions {
  /// How the rows of a section stand together.
  enum Style: String, CaseIterable {
    /// One table, the sections' titles in between; UIKit's plain style.
    case plain
    /// A framed table for each section; UIKit's grouped style.
    case grouped
    /// A grid of the rows' first cells, as `ls` has it; UIKit's collection.
    case collection
  }

  /// Whether a row is a record of several lines, a cell on each.
  enum Vertical: String, CaseIterable {
    /// When less than a third of the columns fit.
    case auto
    case always
    /// Columns are left out instead.
    case never
  }

  enum When: String, CaseIterable {
    /// Where it can be.
    case auto
    case always
    case never
  }

  var style = Style.plain
  var vertical = Vertical.auto
  /// The width to fit; nil means the terminal's.
  var width: Int?
  var colour = When.auto
  var links = When.auto
  /// Whether what is longer than the screen goes to a pager.
  var pages = true
  /// Whether characters of ambiguous width (UAX 11) take two columns.
  var ambiguousIsWide = false
}

extension OptionSpec {
  static let style = choice(
    "--style", "STYLE",
    "one table, a framed table for each section, or a grid of the rows' first cells"
  ) { $0.display.style = $1 }

  static let vertical = choice(
    "--vertical", "WHEN",
    "a record of several lines for each row; auto: when less than a third of the columns fit"
  ) { $0.display.vertical = $1 }

  static let color = choice(
    "--color", "WHEN", "colours; auto: on a terminal, unless NO_COLOR is set"
  ) {
    $0.display.colour = $1
  }

  static let hyperlink = choice(
    "--hyperlink", "WHEN", "link the names of files; auto: on a terminal"
  ) { $0.display.links = $1 }

  static let width = OptionSpec(
    names: ["--width"], argument: "N", summary: "fit N columns instead of the terminal's width"
  ) { invocation, value throws(Failure) in
    guard let width = Int(value.text), 1...100_000 ~= width else {
      throw .usage("must be a number from 1 to 100000")
    }
    invocation.display.width = width
  }

  static let ambiguousWidth = OptionSpec(
    names: ["--ambiguous-width"], argument: "1|2",
    summary: "the columns that a character of ambiguous width takes; the default is 1",
    values: .choices(["1", "2"])
  ) { invocation, value throws(Failure) in
    guard let width = Int(value.text), 1...2 ~= width else { throw .usage("must be 1 or 2") }
    invocation.display.ambiguousIsWide = width == 2
  }

  static let noPager = OptionSpec(
    names: ["--no-pager"], argument: nil, summary: "print what is longer than the screen as it is"
  ) { invocation, _ throws(Failure) in invocation.display.pages = false }

  /// How a table for people is laid out.
  static let display: [OptionSpec] = [
    .style, .vertical, .width, .color, .hyperlink, .ambiguousWidth, .noPager,
  ]

  /// An option with a fixed set of values, the first of which is the default.
  private static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, _ argument: String, _ summary: String,
    _ set: @escaping @Sendable (inout Invocation, Value) -> Void
  ) -> OptionSpec {
    let names = Value.allCases.map(\.rawValue)
    return OptionSpec(
      names: [name], argument: argument,
      summary: "\(names.joined(separator: ", ")): \(summary)", values: .choices(names)
    ) { invocation, value throws(Failure) in
      guard let choice = Value(rawValue: value.text) else {
        throw .usage("must be one of \(names.joined(separator: ", "))")
      }
      set(&invocation, choice)
    }
  }
}
