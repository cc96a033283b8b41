/// Options that several commands share, and the one page that explains them. Other pages only name them.
struct OptionGroup {
  let title: String
  /// The command or topic that explains the options.
  let page: String
  private let options: [OptionSpec]

  static let all = [
    OptionGroup(
      title: "Choose and arrange rows; the options apply in this order", page: "show",
      options: OptionSpec.shaping),
    OptionGroup(
      title: "Content and format", page: "show",
      options: [
        .columns, .footer, .format, .json, .noHeader, .withSection, .withNumber, .withRow, .index,
        .utc,
      ]),
    OptionGroup(
      title: "Tables that change", page: "show", options: [.follow, .watch]),
    OptionGroup(title: "Looks", page: "show", options: OptionSpec.display),
    OptionGroup(title: "Provider", page: "show", options: OptionSpec.opening),
    OptionGroup(
      title: "Options of all edits", page: "edit",
      options: OptionSpec.committing.filter { !$0.names.contains("--json") }),
  ]

  /// The options with their explanations.
  var terms: [Term] { options.map { OptionGroup.term(of: $0) } }

  /// An option with its explanation.
  static func term(of spec: OptionSpec) -> Term {
    Term(
      name: spec.usage,
      meaning: spec.detail.isEmpty ? spec.summary : "\(spec.summary). \(spec.detail)")
  }

  /// Whether an option is one of the group. Options of one name can differ, as `--format` of `show` and `export`.
  func contains(_ spec: OptionSpec) -> Bool {
    options.contains { $0.usage == spec.usage && $0.summary == spec.summary }
  }

  /// The options of a command that another page explains: for each page, a term with the names of the options.
  static func shared(_ specs: [OptionSpec], notOn page: String) -> [Term] {
    var pages: [(name: String, options: [String])] = []
    for group in all where group.page != page {
      let names = specs.filter { group.contains($0) }.flatMap(\.names).map { "`\($0)`" }
      guard !names.isEmpty else { continue }
      if let last = pages.indices.last, pages[last].name == group.page {
        pages[last].options += names
      } else {
        pages.append((group.page, names))
      }
    }
    return pages.map {
      Term(name: "tabella help \($0.name)", meaning: $0.options.joined(separator: ", "))
    }
  }
}
