import Foundation

/// The options of the command line.
struct Options {
  var size = 1_000_000
  var seed: UInt64 = 1
  var rounds = 7
  /// The names of the cases; empty means all.
  var cases: [String] = []
  var cache = Cache.defaultFolder
  var tabella = ".build/release/tabella"
  var python: String?
  /// Whether the cost of crossing to a provider is measured, even if only some cases are named.
  var crossing = false
  /// Whether live tables are measured, even if only some cases are named.
  var live = false
  /// Whether tabella's commands are also measured with smaller data, even if only some cases are named.
  var growth = false
  var strict = false
  var write = false
  var clean = false
  var list = false
  var help = false

  /// Whether everything is measured.
  var isWhole: Bool { cases.isEmpty && !crossing && !live }

  static let usage = """
    Usage: tabella-bench [OPTION…]

    Measures tabella, the floors of this machine, and similar programs. The summary at the end has a line per case,
    and marks missed aims. The tables of a run without --case, --crossing and --live go to figures.md in the cache
    folder.

    Options:
      --size ROWS       rows of the plain CSV file; other sizes follow from it (1000000)
      --case NAME,…     only these cases; may be repeated
      --crossing        measure calls to a provider, alone or in addition to --case
      --live            measure live tables, alone or in addition to --case
      --growth          also measure the cases at a hundredth and a tenth of the size
      --rounds N        runs of each command (7)
      --seed N          seed of the generated data (1)
      --cache FOLDER    folder of data and floors ($TMPDIR/tabella-bench)
      --tabella FILE    the program to measure (.build/release/tabella)
      --python FILE     a Python, with duckdb and polars if installed (python3)
      --strict          also fail if tabella does not have a command yet
      --write           write docs/benchmarks.md and docs/benchmark-figures.md
      --list            list the cases
      --clean           remove the cache folder
      --help            show this help

    Exit status: 0 done; 1 an output was wrong, or the bench could not run; 2 wrong usage.
    """

  init(_ words: [String]) throws(UsageError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--strict": strict = true
      case "--crossing": crossing = true
      case "--live": live = true
      case "--growth": growth = true
      case "--write": write = true
      case "--clean": clean = true
      case "--list": list = true
      case "--help", "-h": help = true
      case "--size": size = try Self.number(after: word, &rest)
      case "--rounds": rounds = try Self.number(after: word, &rest)
      case "--seed": seed = UInt64(try Self.number(after: word, &rest))
      case "--case":
        cases += try Self.text(after: word, &rest).split(separator: ",").map(String.init)
      case "--cache": cache = URL(fileURLWithPath: try Self.text(after: word, &rest))
      case "--tabella": tabella = try Self.text(after: word, &rest)
      case "--python": python = try Self.text(after: word, &rest)
      default: throw UsageError("there is no option \(word)")
      }
    }
    guard size >= 1000 else { throw UsageError("--size: at least 1000") }
    // A part of the figures must not replace all of them.
    guard !write || cases.isEmpty else { throw UsageError("--write needs all cases") }
  }

  private static func text(
    after option: String, _ rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let word = rest.popFirst() else { throw UsageError("\(option) needs a value") }
    return word
  }

  private static func number(
    after option: String, _ rest: inout ArraySlice<String>
  ) throws(UsageError) -> Int {
    let word = try text(after: option, &rest)
    guard let number = Int(word), number > 0 else {
      throw UsageError("\(option) needs a number above 0, not \(word)")
    }
    return number
  }
}

/// An invalid command line.
struct UsageError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}
