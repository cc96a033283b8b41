import Tabella

// The options of the commands that edit.

extension OptionSpec {
  static let yes = OptionSpec(
    names: ["--yes"], argument: nil, summary: "do not ask for confirmation",
    detail: """
      For positions in an order that changes by itself (folders, processes) this is not enough: name rows \
      by `id:ID`, or use `--if-version`
      """
  ) { invocation, _ throws(Failure) in invocation.isConfirmed = true }

  static let needlessYes = OptionSpec(
    names: ["--yes"], argument: nil,
    summary: "no effect, because this command does not ask for confirmation"
  ) { _, _ throws(Failure) in }

  static let dryRun = OptionSpec(
    names: ["--dry-run"], argument: nil,
    summary: "print the edits and any refusals, but change nothing"
  ) { invocation, _ throws(Failure) in invocation.isDryRun = true }

  static let ifVersion = OptionSpec(
    names: ["--if-version"], argument: "VERSION",
    summary: "edit only if the table still has this version; show --json prints versions"
  ) { invocation, value throws(Failure) in invocation.ifVersion = value.text }

  static let inPlace = OptionSpec(
    names: ["--in-place"], argument: nil,
    summary: "write into the existing file if it cannot be replaced",
    detail: """
      Files with several names (hard links) and files that are mount points need this option. If the machine \
      fails during an in-place save, the file is damaged; a save that replaces the file does not have this risk. \
      The same as `-o in-place=true`
      """
  ) { invocation, _ throws(Failure) in
    invocation.options["in-place"] = "true"
    invocation.savingOptions["in-place"] = "--in-place"
  }

  static let backup = OptionSpec(
    names: ["--backup"], argument: "SUFFIX", fallback: "~",
    summary: "keep the old file under its name plus SUFFIX, which is ~ by default",
    detail: "The same as `-o backup=SUFFIX`"
  ) { invocation, value throws(Failure) in
    guard !value.bytes.isEmpty else { throw .usage("the suffix is empty") }
    invocation.options["backup"] = value.text
    invocation.savingOptions["backup"] = "--backup"
  }

  /// The options that only commands that edit have.
  static let committing: [OptionSpec] = [.yes, .dryRun, .ifVersion, .inPlace, .backup, .json]

  /// All options of the commands that edit.
  static let editing: [OptionSpec] = opening + shaping + [.utc] + committing
}
