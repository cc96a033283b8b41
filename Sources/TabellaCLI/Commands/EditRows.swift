import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

extension Command {
  static let edit = Command(
    name: "edit", operands: "LOCATION", operandValues: [.location],
    summary: "edit rows in your editor",
    discussion: """
      Opens the rows that the options show in `$VISUAL` or `$EDITOR`, a line per row. After you save and quit, the \
      command compares the lines with the rows, shows the edits as one batch, and asks for confirmation. In a script, \
      use `--yes`.

        1    a.txt    file
        2    b.txt    file

      Each line begins with the number of its row, and tabs separate the cells. Change a cell to set it, remove a line \
      to delete its row, and move a line to move its row. A line with `+` instead of a number inserts a row. A section \
      begins with a line `[0]`, a tab and its title. `[+]` inserts a section. Lines that begin with `#` are ignored. \
      In cells, `\\t` `\\n` `\\r` `\\\\` are a tab, a line feed, a carriage return and a backslash, `\\xff` is a byte, \
      and `\\N` is a missing cell.

      If the editor fails, nothing is changed (status 1). If a line is wrong, the command opens the editor again, or \
      without a terminal prints the number of the line (status 2). If an edit fails or is not confirmed, the message \
      names the file with your text.

      In a folder or the list of processes, rows are named by their ids, and cannot be moved within a section. The \
      text of the rows can have at most 64 MiB.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [.columns, .utc] + OptionSpec.committing,
    examples: [
      ("tabella edit src/ --columns name", "rename the files of a folder"),
      ("tabella edit data.csv --filter 'city = Bonn'", "edit some rows of a file"),
      ("tabella edit README.md -o sections=headings", "edit headings and lines, also their order"),
    ], seeAlso: ["set", "diff", "apply", "undo"], group: .edits
  ) { invocation, output throws(Failure) in
    guard let location = invocation.operands.first else {
      throw .usage("a location is missing", command: "edit")
    }
    guard invocation.operands.count == 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "edit")
    }
    do throws(Failure) {
      return try editRows(invocation, location, output)
    } catch {
      throw error.status == .usage && error.subject == nil ? error.about(command: "edit") : error
    }
  }

  private static func editRows(
    _ invocation: Invocation, _ location: Argument, _ output: Output
  ) throws(Failure) -> ExitStatus {
    let run = try EditRun(invocation, location, command: "edit", output: output)
    if !invocation.isConfirmed, !invocation.isDryRun, !Confirmation.isPossible {
      throw .usage(
        "there is no terminal for the confirmation; to edit without it: \(invocation.line("edit", adding: ["--yes"]))"
      )
    }
    let (editor, file) = try Failure.about(run.table.subject) { () throws(TableError) in
      (try Editor(), try BufferFile())
    }
    let buffer: RowBuffer
    do throws(Failure) {
      buffer = try RowBuffer(
        run.table, ChosenRows(run.table, range: run.invocation.range), to: file
      ) { help($0, run.table) }
    } catch {
      file.remove()
      throw error
    }
    Progress.end()
    var isChanged = false
    do throws(Failure) {
      guard let edits = try edits(run, buffer, editor, file, &isChanged) else {
        file.remove()
        if invocation.isJSON { return try run.make([]) }
        Messages.write("nothing changed", about: run.table.subject)
        return .done
      }
      let status = try run.make(edits)
      file.remove()
      return status
    } catch {
      guard isChanged else {
        file.remove()
        throw error
      }
      throw error.adding("; your text is kept in \(file.path.shown)")
    }
  }

  /// Runs the editor, and again after a wrong line if the user wants to. Returns nil if nothing was changed.
  private static func edits(
    _ run: EditRun, _ buffer: RowBuffer, _ editor: Editor, _ file: BufferFile,
    _ isChanged: inout Bool
  ) throws(Failure) -> [PlannedEdit]? {
    let subject = run.table.subject
    while true {
      var failure: TableError?
      do throws(TableError) { try editor.edit(file.path) } catch { failure = error }
      let text = try file.content()
      isChanged = text != buffer.text
      if let failure { throw .of(failure, subject: subject) }
      guard isChanged else { return nil }
      do throws(TableError) {
        let edits = try BufferEdits(
          buffer, EditedLines(text, of: buffer), cells: run.cells,
          editsSections: run.editsAllSections)
        return edits.edits.isEmpty ? nil : edits.edits
      } catch {
        let wrong = Failure.of(error, subject: subject)
        guard Confirmation.isPossible else { throw wrong.adding("; nothing was done") }
        Messages.write(wrong, asJSON: false)
        guard Confirmation.isAnswered("Edit again? [Y/n] ", byDefault: true) else {
          throw Failure(
            status: .failed, subject: subject, code: "cancelled",
            message: "not edited again; nothing was done")
        }
      }
    }
  }

  /// The comment at the top of a buffer.
  private static func help(_ facts: RowBuffer.Facts, _ table: ShapedTable) -> [String] {
    let fixed = zip(facts.shown, facts.isEditable).filter { !$1 }.map { facts.names[$0.0] }
    var lines = [
      "\(table.subject): \(facts.count) row\(facts.count == 1 ? "" : "s"). Save and quit to continue; leave the text unchanged to stop.",
      "Change cells. Remove lines to delete rows. To insert rows, add lines that begin with + and a tab.",
    ]
    if table.source.moving != nil, !table.source.hasVolatileOrder {
      lines.append("Move lines to move rows.")
    }
    if facts.hasSectionLines {
      lines.append("A line [0] begins a section; its title follows after a tab.")
    }
    if !fixed.isEmpty {
      lines.append("These columns cannot be changed: \(fixed.joined(separator: ", ")).")
    }
    lines.append(
      "Tabs separate cells. In a cell write \\t, \\n, \\r and \\\\; \\N is a missing cell.")
    return lines
  }
}

extension Failure {
  /// The same error with more text.
  func adding(_ more: String) -> Failure {
    var failure = Failure(
      status: status, subject: subject, code: code, message: text + more, column: column)
    if case .command(let name)? = help { failure = .usage(text + more, command: name) }
    return failure
  }
}
