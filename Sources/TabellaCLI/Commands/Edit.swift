import Tabella

extension Command {
  static let set = Command(
    name: "set", operands: "LOCATION [ROW…] COLUMN=VALUE…",
    operandValues: [.location, .assignment],
    summary: "changes cells",
    discussion: """
      The cells change in each ROW. Without a ROW they change in all rows that the options choose; then the command \
      asks as `delete` does, and a script says `--yes`.

      \(rows)

      VALUE is the bytes as they are, for a column of text; else a number, `true` or `false`, a date \
      (`2026-02-28`, `2026-02-28T12:00:00Z`), binary in hexadecimal. Nothing behind `=` is empty text, or for \
      other columns a missing value. A section has one value, its title: `set notes.md 2: title=Plan`.

      \(saving)
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella set data.csv 5 born=1816", "one cell"),
      ("tabella set data.csv 0:5 name=Ada city='San José'", "two cells"),
      ("tabella set data.csv --filter 'city = Bonn' city=Berlin --yes", "all rows that match"),
      ("tabella set data.csv 0 born=1900 --sort born --dry-run", "what would be done"),
    ], seeAlso: ["insert", "apply", "undo"]
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 2, command: "set", missing: "a COLUMN=VALUE")
    return try edit(invocation, operands[0], "set", output) { run throws(Failure) in
      let words = operands.dropFirst()
      let rows = words.prefix { !run.cells.isAssignment($0) }
      let values = words.dropFirst(rows.count)
      guard let first = values.first else { throw .usage("a COLUMN=VALUE is missing") }
      try run.refuseRow(first)
      guard !rows.isEmpty else {
        return [.init(kind: .set, cells: try run.cells.cells(values))]
      }
      return try rows.map { word throws(Failure) in
        var request = RequestedEdit(kind: .set)
        request.row = try RowArgument(word, command: "set", as: .existing)
        try run.cells.give(values, to: &request)
        return request
      }
    }
  }

  static let insert = Command(
    name: "insert", operands: "LOCATION ROW [COLUMN=VALUE…]",
    operandValues: [.location, .none, .assignment],
    summary: "inserts a row",
    discussion: """
      The new row stands before ROW; `end` is behind the last row, `SECTION:end` behind the last of a \
      section. Cells that are not given are as the provider begins a row. `SECTION:` inserts a section before that \
      one, with a title: `insert notes.md 2: title=Plan`.

      With `--section-by` the row gets the value of its section. In a table that is sorted it is put behind \
      the last row, and shown where it belongs.

      \(saving)
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella insert data.csv 0 name=Ada", "a new first row"),
      ("tabella insert data.csv end name=Ada born=1815", "a new last row"),
    ], seeAlso: ["set", "delete", "move"]
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 2, command: "insert", missing: "a ROW")
    let place = try RowArgument(operands[1], command: "insert", as: .place)
    return try edit(invocation, operands[0], "insert", output) { run throws(Failure) in
      var request = RequestedEdit(kind: .insert, place: place)
      try run.cells.give(operands[2...], to: &request)
      return [request]
    }
  }

  static let delete = Command(
    name: "delete", operands: "LOCATION [ROW…]", operandValues: [.location, .none],
    summary: "deletes rows",
    discussion: """
      Each ROW is deleted; without a ROW, all rows that the options choose are. `SECTION:` deletes a section with its \
      rows.

      \(rows)

      On a terminal the rows are shown, with what the provider says that it will do with them, and it is asked \
      whether they are meant; more than a hundred are confirmed by their number. Elsewhere `--yes` must say that \
      they are.

      Where the order changes by itself (folders, processes), a position may be another row's by the time \
      that it is used. Such rows are deleted by `id:ID`, by a position with `--if-version`, or by a position \
      that was confirmed on the terminal: what was shown is then known by its id.

      \(saving)
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella delete data.csv 5 --yes", "a row"),
      ("tabella delete data.csv 0:5 0:7 --yes", "two rows, both counted before"),
      ("tabella delete data.csv --filter 'born > 1900' --yes", "all rows that match"),
      ("tabella delete data.csv 0:3..9 --yes", "seven rows"),
    ], seeAlso: ["undo", "log"]
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 1, command: "delete", missing: "a ROW")
    let rows = try operands.dropFirst().map { operand throws(Failure) in
      try RowArgument(operand, command: "delete", as: .existing)
    }
    return try edit(invocation, operands[0], "delete", output) { _ throws(Failure) in
      rows.isEmpty
        ? [.init(kind: .delete)] : rows.map { .init(kind: .delete, row: $0) }
    }
  }

  static let move = Command(
    name: "move", operands: "LOCATION ROW ROW", operandValues: [.location, .none, .none],
    summary: "moves a row or a section",
    discussion: """
      \(rows)

      The first ROW is the row, the second where it ends up, counted as if it were gone from where it was: \
      `move data.csv 0 2` makes the first row the third. `end` is behind the last row. `move notes.md 3: 0:` makes \
      the fourth section the first.

      The report names the place where the row stands, and the cells that the move changed. Where the order changes by \
      itself (folders, processes), name the row by its id and the section by its title: `Berlin:end`.

      Rows can be moved where the order is the table's own: not with `--sort`. With `--section-by` a row that \
      moves to another section gets the value of that section, where each is one value.

      \(saving)
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella move data.csv 0 2", "the first row becomes the third"),
      ("tabella move data.csv 0:5 end", "the sixth row becomes the last"),
    ], seeAlso: ["insert", "undo"]
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 3, to: 3, command: "move", missing: "a ROW")
    let row = try RowArgument(operands[1], command: "move", as: .one)
    let place = try RowArgument(operands[2], command: "move", as: .place)
    guard row.isSection == place.isSection else {
      throw .usage(
        "a row is moved to a row, and a section (SECTION:) to a section", command: "move")
    }
    return try edit(invocation, operands[0], "move", output) { _ throws(Failure) in
      [.init(kind: .move, row: row, place: place)]
    }
  }

  /// How rows are named.
  static let rows = """
    ROW is `id:ID`, which `show --with-row` prints, or a position: `SECTION:ROW`, or `ROW` alone in the first section, \
    both counted from 0 in the table that the same options show. `A..B` and `SECTION:A..B` are rows A to B. SECTION is \
    a number or a title: `Berlin:0`; `title:3:0` names a title of digits. An id names the same row with any other \
    options, or the command is refused.
    """

  /// What holds for all of them.
  static let saving = """
    It is done or it is not, and lasts when the command ends. What was done is said on standard error with \
    the name of its receipt, which `tabella undo` takes; with `--json` on standard output. If the table has \
    changed since it was opened, nothing is done (status 5). If neither XDG_STATE_HOME nor HOME is an absolute \
    path, every edit is refused (status 1), since its receipt has no place.
    """

  private static func edit(
    _ invocation: Invocation, _ location: Argument, _ command: String, _ output: Output,
    _ requests: (EditRun) throws(Failure) -> [RequestedEdit]
  ) throws(Failure) -> ExitStatus {
    var run = try EditRun(invocation, location, command: command, output: output)
    do throws(Failure) {
      return try run.run(requests(run))
    } catch {
      throw error.status == .usage && error.subject == nil ? error.about(command: command) : error
    }
  }
}

extension Invocation {
  /// The operands, if there are enough of them and not too many.
  func operands(
    from least: Int, to most: Int = .max, command: String, missing: String
  ) throws(Failure) -> [Argument] {
    guard !operands.isEmpty else { throw .usage("a location is missing", command: command) }
    guard operands.count >= 2 || least < 3 else {
      throw .usage("a ROW is missing", command: command)
    }
    guard operands.count >= least else { throw .usage("\(missing) is missing", command: command) }
    guard operands.count <= most else {
      throw .usage("\(operands[most].text) is not expected", command: command)
    }
    return operands
  }
}
