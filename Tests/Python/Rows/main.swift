import Glibc
import TabellaProviders

// A program that embeds Tabella in Swift, for the matrix (Tests/Python/programs.py). `Words.swift` describes its options.
// `rows` prints the rows of a location, `edit` waits for a line of input and then sets a cell, and `follow` prints
// changes. The other commands open, read, edit, follow and close many times. An error is one line with the name of its
// code, and the status 1.

/// Prints a line at once, for a reader that waits for it.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

func fail(_ code: TableError.Code, _ problem: String) -> Never {
  let line = "\(code.name): \(problem)\n"
  write(2, line, line.utf8.count)
  exit(1)
}

do {
  let words = try Words(CommandLine.arguments.dropFirst())
  switch words.command {
  case "rows": try printRows(words)
  case "edit": try edit(words)
  case "follow": follow(words)
  case "cycles": try cycles(words.location)
  case "async": asyncCycles(words.location)
  case "threads": try threads(words.location)
  case "forks": forks(words.location)
  default: throw TableError(.invalidArgument, "there is no command \(words.command)")
  }
} catch let error as TableError {
  fail(error.code, "\(error)")
} catch let error as ReceiptError {
  fail(error.code, "\(error)")
}
