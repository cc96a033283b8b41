import Tabella

/// The layout of output for people. It does not change the data.
struct DisplayOptions {
  /// The arrangement of the rows of a section.
  enum Style: String, CaseIterable {
    /// One table, with the titles of sections between rows; the plain style of UIKit.
    case plain
    /// A framed table per section; the grouped style of UIKit.
    case grouped
    /// A grid of the first cell of each row, as in `ls`; a collection in UIKit.
    case collection
  }

  /// Whether a row is a record with one line per cell.
  enum Vertical: String, CaseIterable {
    /// If less than a third of the columns fit.
    case auto
    case always
    /// Columns that do not fit are left out.
    case never
  }

  enum When: String, CaseIterable {
    /// If the output supports it.
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
  /// Whether output that is longer than the screen goes to a pager.
  var pages = true
  /// Whether characters of ambiguous width (UAX 11) take two columns.
  var ambiguousIsWide = false
  /// Whether dates are in UTC instead of the local zone.
  var usesUTC = false
}

extension OptionSpec {
  static let style = choice(
    "--style", "STYLE",
    "how sections look"
  ) { $0.display.style = $1 }

  static let vertical = choice(
    "--vertical", "WHEN",
    "one line per cell"
  ) { $0.display.vertical = $1 }

  static let color = choice(
    "--color", "WHEN", "colours"
  ) {
    $0.display.colour = $1
  }

  static let hyperlink = choice(
    "--hyperlink", "WHEN", "file names as links"
  ) { $0.display.links = $1 }

  static let width = OptionSpec(
    names: ["--width"], argument: "N",
    summary: "fit the output to N columns"
  ) { invocation, value throws(Failure) in
    guard let width = Int(value.text), 1...100_000 ~= width else {
      throw .usage("must be a number from 1 to 100000")
    }
    invocation.display.width = width
  }

  static let ambiguousWidth = OptionSpec(
    names: ["--ambiguous-width"], argument: "1|2",
    summary: "the width of ambiguous-width characters",
    values: .choices(["1", "2"])
  ) { invocation, value throws(Failure) in
    guard let width = Int(value.text), 1...2 ~= width else { throw .usage("must be 1 or 2") }
    invocation.display.ambiguousIsWide = width == 2
  }

  static let noPager = OptionSpec(
    names: ["--no-pager"], argument: nil, summary: "print long output without a pager"
  ) { invocation, _ throws(Failure) in invocation.display.pages = false }

  /// The options for the layout of a table for people.
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
