import Tabella
import TabellaHost

extension Command {
  static let diff = Command(
    name: "diff", operands: "A B", operandValues: [.location, .location],
    summary: "print what differs between two tables",
    discussion: """
      Prints the changes that lead from the table A to the table B. Each line begins with a sign: `-` a row of A is \
      deleted, `+` a row of B is inserted, `~` cells are changed, `>` a row or section is moved. Positions behind `-` \
      and `~` are those of A, and positions behind `+` are those of B. The last line counts the changes.

        - 0:3  name: Bob, city: Bonn
        ~ 0:5  name: Cy, city: Rome → Oslo
        + 0:7  name: Dee, city: Riga

      `--key` names the columns that identify a row. Without it, equal rows belong together.

      Columns are paired by their names; their order is not compared. If the types of two columns differ, their cells \
      are compared as text. The options apply to both tables. With `--columns`, only these columns are compared. The \
      order of rows is not compared with `--sort`, and if it changes by itself (folders, processes).

      `--format apply` prints the changes as lines for `tabella apply A -`, with the same `-o` and `--provider`. \
      Options that change positions are refused. `apply` cannot fill a section that the same batch inserts. In that \
      case a note says so: apply the lines, then run both commands again.

      The status is 0, or with `--exit-code` 1 if the tables differ.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [
      .columns, .key, .diffFormat, .json, .exitCode, .utc, .width, .color, .ambiguousWidth,
      .noPager,
    ],
    examples: [
      ("tabella diff old.csv new.csv --key id", "show the changed rows, identified by a column"),
      (
        "tabella diff old.csv new.csv --format apply | tabella apply old.csv -",
        "make the rows of old.csv equal to those of new.csv"
      ),
      (
        "tabella diff src/ backup/ --key name --columns name,size",
        "compare the files of two folders by name and size"
      ),
      ("tabella diff old.csv new.csv --key id --json", "print the changes for a program"),
    ], seeAlso: ["apply", "show", "edit"]
  ) { invocation, output throws(Failure) in
    let count = invocation.operands.count
    guard count == 2 else {
      throw .usage(
        count == 0
          ? "the locations are missing"
          : count == 1
            ? "the second location is missing" : "\(invocation.operands[2].text) is not expected",
        command: "diff")
    }
    guard invocation.operands.contains(where: { $0.text != "-" }) else {
      throw .usage("standard input (-) can be read only once", command: "diff")
    }
    do throws(Failure) {
      let run = try DiffRun(invocation)
      return try run.write(output)
    } catch {
      throw error.status == .usage && error.subject == nil ? error.about(command: "diff") : error
    }
  }
}
