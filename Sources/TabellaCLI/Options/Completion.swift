/// What stands in a place of the command line, for the shells' completions.
enum Completion: Hashable, Sendable {
  /// Anything: nothing is offered.
  case none
  case choices([String])
  /// A path of any file.
  case path
  case location
  /// A location or a provider.
  case subject
  /// A location or the receipt of an edit.
  case receipt
  case command
  case provider
  /// `KEY=VALUE` of an option that a provider declared.
  case providerOption
  /// Columns of the table that the command line names: one, a list, a list with `:desc`, one with
  /// a class of groups, one with an operator.
  case column, columns, sortColumns, sectionColumn, filter
  /// `COLUMN=` of that table.
  case assignment
  /// Titles of that table's sections and of its index.
  case sectionTitle, indexTitle
}
