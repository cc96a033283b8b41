import Foundation
import Testing

@testable import TabellaTestSupport

/// Pipes, full disks, pagers, progress and interruption: `tabella` as part of a shell line.
@Suite struct StreamTests {
  let folder: TemporaryFolder
  static let formats = SafetyTests.formats.map { ["--format"] + $0 }

  /// The content of many.csv, which every test has in its folder.
  private static let many = Array(
    ("id,name\n" + (0..<20_000).map { "\($0),name \($0)\n" }.joined()).utf8)

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("many.csv", Self.many)
    try folder.write("few.csv", "id,name\n1,a\n2,b\n")
  }

  /// Runs a shell line with `tabella` on the path.
  func shell(_ line: String) throws -> ProgramResult {
    try run(
      "/bin/bash", ["-o", "pipefail", "-c", line],
      environment: [
        "PATH": "\(buildFolder):\(searchPath)", "LC_ALL": "C.UTF-8", "TERM": "dumb",
        "NO_COLOR": "",
      ],
      directory: folder.path)
  }

  /// The same on a terminal with colours, 60 columns and 20 lines.
  func terminal(_ line: String, _ environment: [String: String] = [:]) throws -> Shown {
    try runOnTerminal(
      "/bin/bash", ["-o", "pipefail", "-c", line], width: 60, height: 20,
      environment: [
        "PATH": "\(buildFolder):\(searchPath)", "TERM": "xterm", "NO_COLOR": "1", "LESS": "",
      ].merging(environment) { $1 }, directory: folder.path)
  }

  // The output

  @Test(arguments: formats) func aReaderThatLeavesIsNoError(_ format: [String]) throws {
    let result = try shell(
      "tabella show many.csv \(format.joined(separator: " ")) | head -n 1 > first")
    #expect(result.status == 141 && result.errors.isEmpty, "\(result.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/first")).count > 1)
  }

  @Test(arguments: formats) func aFullDiskIsAnError(_ format: [String]) throws {
    for file in ["few.csv", "many.csv"] {
      let result = try shell(
        "tabella show \(file) \(format.joined(separator: " ")) > /dev/full")
      #expect(result.status == 1)
      #expect(result.errors.contains("standard output"))
      #expect(result.errors.contains("cannot be written: No space left on device"))
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }

  @Test func aClosedOutputIsAnError() throws {
    let result = try shell("tabella show few.csv >&-")
    #expect(result.status == 1 && result.errors.contains("standard output"))
  }

  /// The output for a pipe and for a file is the same, complete, and without terminal features.
  @Test func aPipeIsNoTerminal() throws {
    let piped = try shell("tabella show many.csv | cat")
    #expect(piped.lines.count == 20_002 && !piped.text.contains("\u{1B}"))
    let forced = try shell("CLICOLOR_FORCE=1 tabella show few.csv | cat")
    #expect(forced.text.contains("\u{1B}[1mid\u{1B}[0m") && !forced.text.contains("\u{1B}]8"))
    #expect(try !shell("NO_COLOR=1 CLICOLOR_FORCE=1 tabella show few.csv").text.contains("\u{1B}"))
    #expect(try shell("NO_COLOR=1 tabella show few.csv --color always").text.contains("\u{1B}[1m"))
    #expect(try !shell("FORCE_COLOR=1 tabella show few.csv --color never").text.contains("\u{1B}"))
  }

  // Standard input

  @Test func standardInput() throws {
    for line in [
      "tabella export - --provider csv < many.csv",
      "cat many.csv | tabella export - --provider csv",
      "tabella export - --provider csv < <(cat many.csv)",
      "mkfifo pipe; cat many.csv > pipe & tabella export pipe --provider csv; rm pipe",
    ] {
      let result = try shell("cmp many.csv <(\(line))")
      #expect(result.status == 0 && result.errors.isEmpty, "\(line): \(result.text)")
    }
    #expect(try shell("tabella count - --provider text < /dev/null").text == "0\n")
    #expect(try shell("tail -n +3 many.csv | tabella show - --provider csv -n 1").lines.count == 3)
  }

  /// A worker could not read a stream of more than 1 MiB, because it may not create a temporary file.
  @Test func aLongStreamIsReadInAWorker() throws {
    let make = "seq 1 3000000 | sed '1i number'"
    let sum = #"awk '{ sum += $1 } END { printf "%d %.0f\n", NR, sum }'"#
    let result = try shell(
      "\(make) | tabella export - --provider csv --isolate | tail -n +2 | \(sum)")
    #expect(result.text == "3000000 4500001500000\n" && result.errors.isEmpty, "\(result)")
    // First at the end, then at the start.
    let sorted = try shell(
      "\(make) | tabella show - --provider csv --isolate --sort number:desc -n 2 --format csv")
    #expect(sorted.lines == ["number", "3000000", "2999999"], "\(sorted)")
  }

  /// The error for a stream beyond that limit names the remedy.
  @Test func aStreamThatIsTooLongForAWorkerSaysSo() throws {
    let result = try shell(
      "ulimit -v 400000; head -c 400000000 /dev/zero | tr '\\0' '\\n' | tabella count - --provider text --isolate"
    )
    #expect(result.status == 1 && result.errors.contains("save the stream to a file"), "\(result)")
  }

  /// A closed standard input counted as an empty table.
  @Test func aClosedInputIsAnError() throws {
    let result = try shell("tabella count - --provider csv <&-")
    #expect(result.status == 1 && result.errors.contains("closed") && result.output.isEmpty)
  }

  // The pager

  @Test func thePagerHasWhatDoesNotFit() throws {
    let pager = "cat > paged; echo \"LESS is $LESS\""
    let long = try terminal("unset LESS; PAGER='\(pager)' tabella show many.csv")
    #expect(long.status == 0 && long.text == "LESS is FRX\n")
    let paged = try String(contentsOfFile: folder.path + "/paged", encoding: .utf8)
    #expect(paged.split(separator: "\n").count == 20_003)
    let own = try terminal("LESS=S PAGER='\(pager)' tabella show many.csv")
    #expect(own.text == "LESS is S\n")
    // Output that fits on the screen needs no pager.
    #expect(try terminal("PAGER=false tabella show few.csv").text.contains("name"))
    let first = "TABELLA_PAGER='head -n 1' PAGER=false tabella show many.csv"
    let left = try terminal(first)
    #expect(left.status == 0 && left.text.split(separator: "\n").count == 1, "\(left.text)")
    for none in ["PAGER=", "PAGER=cat", "TABELLA_PAGER= PAGER=false"] {
      let shown = try terminal("\(none) tabella show many.csv").text
      // A slow machine measures fewer rows, and then the column is narrower.
      #expect(shown.hasSuffix(" id  name\n20,000 rows, 2 columns\n"))
    }
    let off = try terminal("PAGER=false tabella show many.csv --no-pager")
    #expect(off.status == 0 && off.text.contains("id  name\n20,000"), "the header comes again")
    let dumb = try terminal("PAGER=false tabella show many.csv", ["TERM": "dumb"])
    #expect(dumb.status == 0)
  }

  @Test func aPagerThatIsNotThere() throws {
    let result = try terminal("PAGER=there-is-no-such-pager tabella show many.csv")
    #expect(result.status == 1)
    #expect(
      result.text.contains(
        "tabella: pager: PAGER=there-is-no-such-pager could not be run; use --no-pager to print without a pager\n"
      ))
  }

  /// A failed pager counted like one that the user had left, so nothing was shown with status 0.
  @Test(arguments: ["many.csv", "some.csv"])
  func aPagerThatFailsIsSaid(_ file: String) throws {
    try folder.write("some.csv", "id,name\n" + (0..<40).map { "\($0),name \($0)\n" }.joined())
    for (variable, pager, status) in [
      ("PAGER", "false", 1), ("TABELLA_PAGER", "exit 3", 3), ("PAGER", "kill -9 $$", 137),
    ] {
      let result = try terminal("tabella show \(file)", [variable: pager])
      #expect(result.status == 1, "\(pager)")
      let line =
        "tabella: pager: \(variable)=\(pager) ended with status \(status), so rows may not have been shown; use --no-pager to print without a pager\n"
      #expect(result.text == line)
    }
    let unclosed = try terminal("tabella show \(file)", ["PAGER": "\"unclosed"])
    #expect(unclosed.status == 1)
    #expect(unclosed.text.contains("tabella: pager: PAGER=\"unclosed ended with status 2"))
    // A reader who leaves a pager has seen enough.
    for pager in ["head -n 1", "kill -INT $$", "kill -PIPE $$", "sh -c 'kill -INT $$'; exit 130"] {
      #expect(try terminal("tabella show \(file)", ["PAGER": pager]).status == 0, "\(pager)")
    }
  }

  /// Errors appear after the pager ends, and determine the status.
  @Test func errorsFollowThePager() throws {
    let result = try terminal(
      "printf 'a\\n\"b\\n' > open.csv; PAGER='cat; echo LEFT' tabella show many.csv open.csv")
    let parts = result.text.components(separatedBy: "LEFT\n")
    #expect(parts.count == 2 && parts[1].contains("never closed"), "\(result.text.suffix(300))")
  }

  // Progress and interruption

  @Test func progressIsShownAndWiped() throws {
    let slow = "(sleep 1.2; cat few.csv) | tabella count - --provider csv"
    let shown = try terminal(slow)
    #expect(
      shown.status == 0 && shown.text.contains("\r-  ") && shown.text.contains("s so far"),
      "\(shown.text)")
    #expect(shown.text.hasSuffix("\r\u{1B}[K2\n"))
    #expect(try terminal(slow, ["TERM": "dumb"]).text == "2\n")
    #expect(try terminal("\(slow) 2> errors; cat errors").text == "2\n")
    // Progress is neither drawn over the output nor for short operations.
    #expect(try !terminal("tabella show few.csv").text.contains("\r"))
  }

  /// The progress line also appears while the output goes to a pipe.
  @Test func progressOfAnExport() throws {
    let shown = try terminal(
      "mkfifo pipe; (sleep 1.2; cat few.csv) > pipe & tabella export pipe --provider csv > out")
    #expect(shown.text.contains("\rpipe  ") && shown.text.hasSuffix("\r\u{1B}[K"), "\(shown.text)")
  }

  /// SIGQUIT led to a crash report of the Swift runtime, and the command continued.
  @Test func anInterruptEndsAtOnceAndCleanly() throws {
    for number in ["INT", "TERM", "HUP", "QUIT"] {
      let line =
        "rm -f pipe; mkfifo pipe; exec 9<>pipe; "
        + "env --default-signal timeout -k 5 --foreground --preserve-status -s \(number) 1 "
        + "tabella count pipe --provider csv; "
        + "echo $?"
      let shown = try terminal(line)
      let status = ["INT": 130, "TERM": 143, "HUP": 129, "QUIT": 131][number]!
      #expect(shown.text.hasSuffix("\r\u{1B}[K\(status)\n"), "\(number): \(shown.text)")
      #expect(!shown.text.contains("crashed") && !shown.text.contains("Backtrace"), "\(shown.text)")
    }
  }

  /// An interrupt while the pager runs leaves the pager open.
  @Test func anInterruptWaitsForThePager() throws {
    let shown = try terminal(
      "PAGER='trap \"\" INT; head -n 1; sleep 1; echo LEFT' env --default-signal timeout -k 5 --foreground -s INT 0.3"
        + " tabella show many.csv; echo $?")
    #expect(shown.text.contains("LEFT\n"), "\(shown.text)")
  }

  /// If everything was written, Ctrl-C ended the program and left the pager on the terminal of the shell.
  @Test func interruptsAfterTheLastRowWaitForThePager() throws {
    try folder.write("few.csv", "a\n" + (0..<200).map { "\($0)\n" }.joined())
    let shown = try terminal(
      "PAGER='trap \"\" INT; cat > /dev/null; kill -INT $PPID; sleep 0.3; kill -INT $PPID; sleep 0.5; echo LEFT'"
        + " env --default-signal tabella show few.csv; echo $?")
    #expect(shown.text.hasSuffix("LEFT\n130\n"), "\(shown.text)")
  }
}
