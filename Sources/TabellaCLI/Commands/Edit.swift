import Tabella

extension Command {
  static let set = Command(
    name: "set", operands: "LOCATION [ROW…] COLUMN=VALUE…",
    operandValues: [.location, .assignment],
    summary: "change cells",
    discussion: """
      Changes the cells of each ROW. Without ROW, changes the cells of all rows that the options choose.

      In a column of text, VALUE is stored as it is. In other columns VALUE is a number, `true` or `false`, a date \
      (`2026-02-28T12:00:00Z`, or `2026-02-28` for midnight in UTC), or binary data in hexadecimal. An empty VALUE is \
      empty text in a column of text, and a missing cell in other columns. An assignment that matches two columns is \
      refused. A section has one cell, its title: `set notes.md 2: title=Plan`.
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella set data.csv 5 born=1816", "change one cell"),
      ("tabella set data.csv 0:5 name=Ada city='San José'", "change two cells of one row"),
      (
        "tabella set data.csv --filter 'city = Bonn' city=Berlin --yes",
        "change all rows that match"
      ),
      (
        "tabella set data.csv 0 born=1900 --sort born --dry-run", "print the edit without making it"
      ),
    ], seeAlso: ["rows", "edit", "apply"], group: .edits
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 2, command: "set", missing: "a COLUMN=VALUE")
    return try makeEdits(invocation, operands[0], "set", output) { run throws(Failure) in
      let words = operands.dropFirst()
      let rows = words.prefix { !run.cells.isAssignment($0) }
      let values = words.dropFirst(rows.count)
      guard let first = values.first else {
        let last = words.last.map { "after \($0.text), " } ?? ""
        throw .usage("\(last)a COLUMN=VALUE is missing")
      }
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
    summary: "insert a row or a section",
    discussion: """
      Inserts the new row before ROW. `end` inserts it after the last row, and `SECTION:end` after the last row of a \
      section. A cell that is not given is missing. If the provider cannot store a missing cell, it chooses the value or \
      refuses the row. `SECTION:` inserts a section before that \
      section; give it a title: `insert notes.md 2: title=Plan`.

      With `--section-by` the row gets the value of its section. In a sorted table the command stores the row after \
      the last row and shows it at its sorted position.
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella insert data.csv 0 name=Ada", "insert a row at the start"),
      ("tabella insert data.csv end name=Ada born=1815", "insert a row at the end"),
    ], seeAlso: ["rows", "edit"], group: .edits
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 2, command: "insert", missing: "a ROW")
    let place = try RowArgument(operands[1], command: "insert", as: .place)
    return try makeEdits(invocation, operands[0], "insert", output) { run throws(Failure) in
      var request = RequestedEdit(kind: .insert, place: place)
      try run.cells.give(operands[2...], to: &request)
      return [request]
    }
  }

  static let delete = Command(
    name: "delete", operands: "LOCATION [ROW…]", operandValues: [.location, .none],
    summary: "delete rows or sections",
    discussion: """
      Deletes each ROW. Without ROW, deletes all rows that the options choose. `SECTION:` deletes a section with its \
      rows.
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella delete data.csv 5 --yes", "delete one row"),
      (
        "tabella delete data.csv 0:5 0:7 --yes",
        "delete two rows; both positions are from before the command"
      ),
      ("tabella delete data.csv --filter 'born > 1900' --yes", "delete all rows that match"),
      ("tabella delete data.csv 0:3..9 --yes", "delete seven rows"),
    ], seeAlso: ["rows", "edit", "undo"], group: .edits
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 1, command: "delete", missing: "a ROW")
    let rows = try operands.dropFirst().map { operand throws(Failure) in
      try RowArgument(operand, command: "delete", as: .existing)
    }
    return try makeEdits(invocation, operands[0], "delete", output) { _ throws(Failure) in
      rows.isEmpty
        ? [.init(kind: .delete)] : rows.map { .init(kind: .delete, row: $0) }
    }
  }

  static let move = Command(
    name: "move", operands: "LOCATION ROW ROW", operandValues: [.location, .none, .none],
    summary: "move a row or a section",
    discussion: """
      The first ROW is the row to move. The second ROW is its new position, counted without the row itself: \
      `move data.csv 0 2` makes the first row the third. `end` is the position after the last row. \
      `move notes.md 3: 0:` makes the fourth section the first.

      The report contains the new position and the cells that the move changed. If the order changes by itself \
      (folders, processes), name the row by its id and the section by its title, as in `Berlin:end`.

      With `--sort` rows cannot be moved. With `--section-by` a row that moves to another section gets the value of \
      that section. This works only if each section stands for one value.
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella move data.csv 0 2", "make the first row the third"),
      ("tabella move data.csv 0:5 end", "make the sixth row the last"),
    ], seeAlso: ["rows", "edit"], group: .edits
  ) { invocation, output throws(Failure) in
    let operands = try invocation.operands(from: 3, to: 3, command: "move", missing: "a ROW")
    let row = try RowArgument(operands[1], command: "move", as: .one)
    let place = try RowArgument(operands[2], command: "move", as: .place)
    guard row.isSection == place.isSection else {
      throw .usage(
        "move a row to the position of a row, or a section (SECTION:) to the position of a section",
        command: "move")
    }
    return try makeEdits(invocation, operands[0], "move", output) { _ throws(Failure) in
      [.init(kind: .move, row: row, place: place)]
    }
  }

  private static func makeEdits(
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
