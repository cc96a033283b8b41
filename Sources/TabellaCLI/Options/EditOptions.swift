import Tabella

// The options of the commands that edit.

extension OptionSpec {
  static let yes = OptionSpec(
    names: ["--yes"], argument: nil, summary: "do not ask",
    detail: """
      Positions in an order that changes by itself (folders, processes) are asked about all the same: \
      name rows by `id:ID`, or say `--if-version`
      """
  ) { invocation, _ throws(Failure) in invocation.isConfirmed = true }

  static let needlessYes = OptionSpec(
    names: ["--yes"], argument: nil, summary: "nothing is asked here; it may be said all the same"
  ) { _, _ throws(Failure) in }

  static let dryRun = OptionSpec(
    names: ["--dry-run"], argument: nil,
    summary: "say what would be done and whether it would be refused, and do nothing"
  ) { invocation, _ throws(Failure) in invocation.isDryRun = true }

  static let ifVersion = OptionSpec(
    names: ["--if-version"], argument: "VERSION",
    summary: "only if the table is still at this version, which show --json prints"
  ) { invocation, value throws(Failure) in invocation.ifVersion = value.text }

  static let inPlace = OptionSpec(
    names: ["--in-place"], argument: nil,
    summary: "write into the file itself where it cannot be replaced",
    detail: """
      A file with several names (hard links) or one that is mounted on is refused without it. Should the \
      machine fail while the file is written, it is damaged; a save that replaces the file never is. The same \
      as `-o in-place=true`
      """
  ) { invocation, _ throws(Failure) in
    invocation.options["in-place"] = "true"
    invocation.savingOptions["in-place"] = "--in-place"
  }

  static let backup = OptionSpec(
    names: ["--backup"], argument: "SUFFIX", fallback: "~",
    summary: "keep the file as it was, under its name with SUFFIX (~) behind it",
    detail: "The same as `-o backup=SUFFIX`"
  ) { invocation, value throws(Failure) in
    guard !value.bytes.isEmpty else { throw .usage("the suffix is empty") }
    invocation.options["backup"] = value.text
    invocation.savingOptions["backup"] = "--backup"
  }

  /// The options of edits alone.
  static let committing: [OptionSpec] = [.yes, .dryRun, .ifVersion, .inPlace, .backup, .json]

  /// The options of all commands that edit.
  static let editing: [OptionSpec] = opening + shaping + committing
}
