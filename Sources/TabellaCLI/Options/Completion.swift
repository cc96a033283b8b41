/// The kind of a word on the command line, for the completions.
enum Completion: Hashable, Sendable {
  /// Any text; there are no completions.
  case none
  case choices([String])
  /// A path of any file.
  case path
  case location
  /// A location or a provider.
  case subject
  /// A location or the receipt of an edit.
  case receipt
  /// A command or a topic of the help.
  case helpPage
  case provider
  /// `KEY=VALUE`, with an option that the provider declares.
  case providerOption
  /// Columns of the table that the command line names: one, a list, a list with `:desc`, a list with
  /// classes of groups, and one with an operator.
  case column, columns, sortColumns, groupings, filter
  /// Aggregates of these columns: a list, and one with `:desc`.
  case aggregates, sectionOrder
  /// Columns of the result of `summarize`: a list, a list with `:desc`, and one with an operator.
  case resultColumns, resultSort, resultFilter
  /// `COLUMN=`, with a column of that table.
  case assignment
  /// The titles of the sections of that table, and of its index.
  case sectionTitle, indexTitle
}
