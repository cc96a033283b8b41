import Foundation
import Tabella
import TabellaSystem
import TabellaTerminal
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// The looks of tables for people: columns that leave, alignment, colours, the closing line, the index.
@Suite struct LooksTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Runs `tabella` on a dumb terminal.
  private func show(
    _ arguments: String..., width: Int = 80, height: Int = 100, environment: [String: String] = [:]
  ) throws -> [String] {
    let shown = try runOnTerminal(
      buildFolder + "/tabella", arguments, width: width, height: height, environment: environment,
      directory: folder.path)
    #expect(shown.status == 0, "\(shown.text)")
    return shown.text.split(separator: "\n").map(String.init)
  }

  /// The same with colours, where `^` replaces ESC.
  private func showInColour(
    _ arguments: String..., environment: [String: String] = [:]
  ) throws -> [String] {
    let shown = try runOnTerminal(
      buildFolder + "/tabella", arguments + ["--hyperlink", "never", "--no-pager"], width: 80,
      environment: ["TERM": "xterm", "LS_COLORS": ""].merging(environment) { $1 },
      directory: folder.path)
    #expect(shown.status == 0, "\(shown.text)")
    return shown.text.replacingOccurrences(of: "\u{1B}", with: "^").split(separator: "\n")
      .map(String.init)
  }

  /// The separators were escaped like tabs in cells, so two cells read as three.
  @Test(arguments: ["plain", "tsv"]) func separatorsAreTabs(_ format: String) throws {
    try folder.write("t.csv", "k,v\n\"a\tx\",1\u{7}\n")
    let lines = try show("t.csv", "--format", format, "--no-pager")
    #expect(lines.last == "a\\tx\t1\\x07")
  }

  /// A footer was cut within numbers, which then read as others.
  @Test func aggregatesBreakBetweenNumbers() throws {
    try folder.write("n.csv", "n\n1\n10000000\n1111110\n")
    let lines = try show("n.csv", "--footer", "sum n, min n, max n", width: 30)
    #expect(lines.dropLast().suffix(2) == ["sum n: 11111111 · min n: 1", "max n: 10000000"])
    let narrow = try show("n.csv", "--footer", "sum n, rows", width: 12)
    #expect(narrow.dropLast().suffix(2) == ["sum n: 11111111", "rows: 3"])
    // Long text is cut.
    try folder.write("t.csv", "n,t\n1,\(String(repeating: "x", count: 300))\n")
    let cut = try show("t.csv", "--footer", "max t, sum n", width: 30)
    let xs = String(repeating: "x", count: 22)
    #expect(cut.dropLast().suffix(2) == ["max t: \(xs)…", "sum n: 1"])
  }

  /// The log cut the ids that `undo receipt:ID` needs.
  @Test func idsOfReceiptsAreNotCut() throws {
    let state = ["XDG_STATE_HOME": folder.path]
    let name = "a folder with a long name for a file.csv"
    try folder.write(name, "a,b\n1,2\n")
    let edit = try run(
      buildFolder + "/tabella", ["set", name, "0", "a=3"], environment: state,
      directory: folder.path)
    #expect(edit.status == 0, "\(edit.errors)")
    let lines = try show("log", width: 80, environment: state)
    #expect(lines.first?.hasPrefix("id ") == true && lines.first?.contains("edits") == true)
    #expect(
      lines.dropFirst().contains { $0.prefix(30).count { $0 == "-" } == 1 && $0.contains("Z-") })
  }

  /// Writes a source as a table for people into a file, and returns its lines.
  private func table(
    _ source: any TableDataSource, width: Int?, limits: TableMeasure.Limits,
    stream: RowStream? = nil
  ) throws -> [String] {
    try folder.written(source, width: width, stream: stream) {
      TableFormat($0, isGrouped: false, mayTurn: false, limits: limits)
    }.split(separator: "\n").map(String.init)
  }

  // Columns

  /// Columns left from the right, so a narrow terminal lost the commands of processes.
  @Test func aNarrowTerminalKeepsTheImportantColumns() throws {
    let lines = try show(
      "show", "processes:", "--filter", "pid = \(getpid())", "--vertical", "never", width: 60)
    let names = lines[0].split(separator: " ").map(String.init)
    #expect(Set(["pid", "user", "cpu", "memory", "command"]).isSubset(of: names), "\(lines)")
    #expect(!names.contains("started"))
    #expect(lines.last?.contains("columns that do not fit: ") == true)
  }

  /// Columns that the user names leave from the right, in the user's order.
  @Test func namedColumnsLeaveFromTheRight() throws {
    let lines = try show(
      "show", "processes:", "--filter", "pid = \(getpid())", "--columns", "parent,started,pid,nice",
      "--vertical", "never", width: 28)
    #expect(lines[0].split(separator: " ").prefix(2) == ["parent", "started"], "\(lines)")
    #expect(lines.last?.hasSuffix("columns that do not fit: pid, nice") == true)
  }

  /// Text that holds dates was cut like other text.
  @Test func datesAreNeverCut() throws {
    try folder.write(
      "a.csv", "name,day\n\(String(repeating: "x", count: 90)),2026-01-02T03:04:05+01:00\n")
    let lines = try show("show", "a.csv", width: 50, environment: [:])
    #expect(lines[2].hasSuffix("…  2026-01-02T03:04:05+01:00"), "\(lines)")
    #expect(lines[2].count == 50)
  }

  /// Columns without any value took space, and pushed others out.
  @Test func columnsWithoutAnyValueLeave() throws {
    try folder.write("a.csv", "a,empty,b,missing\n1,,2\n3,,4\n")
    let lines = try show("show", "a.csv")
    #expect(lines[0] == "a  b")
    #expect(
      lines.suffix(2) == [
        "2 rows, 4 columns (2 shown)",
        "tabella: a.csv: columns without any value: empty, missing",
      ])
    // Named columns stay, and so do columns that other rows could fill.
    #expect(try show("show", "a.csv", "--columns", "a,empty")[0] == "a  empty")
    #expect(try show("show", "a.csv", "-n", "1")[0] == "a  empty  b  missing")
    // A pipe gets everything.
    let piped = try run(buildFolder + "/tabella", ["show", folder.path + "/a.csv"])
    #expect(piped.lines[0] == "a  empty  b  missing" && piped.errors.isEmpty)
    // A table without any value keeps its columns.
    try folder.write("b.csv", "a,b\n,\n")
    #expect(try show("show", "b.csv")[0] == "a  b")
    try folder.write("c.csv", "a,b\n")
    #expect(try show("show", "c.csv")[0] == "a  b")
  }

  // Alignment

  /// The widths came from the first 500 rows, and later rows broke the columns.
  @Test(arguments: [nil, 40]) func laterRowsAreAligned(_ width: Int?) throws {
    let count = 3000
    let source = InMemorySource(
      [Column("first"), Column("number", .integer), Column("last")],
      rows: (0..<count).map { row in
        [
          .text(String(repeating: "x", count: 1 + row / 200)), .integer(Int64(row * row)),
          .text("end"),
        ]
      })
    let patient = TableMeasure.Limits(seconds: 60)
    let lines = try table(source, width: width, limits: patient)
    #expect(lines.count >= count + 2)
    let column = lines[2].distance(
      from: lines[2].startIndex, to: lines[2].range(of: "end")!.lowerBound)
    for line in lines[2..<count + 2] {
      #expect(line.count == column + 3 && line.hasSuffix("  end"))
    }
  }

  /// Beyond the measured rows, wider text is cut on a terminal, but numbers are not. Nothing is cut in a pipe.
  @Test func rowsBeyondTheMeasuredOnes() throws {
    let source = InMemorySource(
      [Column("text"), Column("number", .integer), Column("last")],
      rows: [["short", 1, "x"], ["much longer", 123_456, "y"], ["short", 2, "a longer end"]])
    let limits = TableMeasure.Limits(rows: 1)
    let shown = try table(source, width: 40, limits: limits)
    #expect(
      shown == [
        "text   number  last", "─────  ──────  ────", "short       1  x", "much…  123456  y",
        "short       2  a longer end",
      ], "\(shown)")
    let piped = try table(source, width: nil, limits: limits)
    #expect(
      piped == [
        "text   number  last", "─────  ──────  ────", "short       1  x",
        "much longer  123456  y", "short       2  a longer end",
      ], "\(piped)")
  }

  /// Every limit ends the measure, so that the held rows are bounded.
  @Test(
    arguments: [
      TableMeasure.Limits(rows: 10, seconds: 60), TableMeasure.Limits(bytes: 200, seconds: 60),
      TableMeasure.Limits(seconds: 0, least: (rows: 10, cells: 100)),
      TableMeasure.Limits(seconds: 0, least: (rows: 100, cells: 10)),
    ]) func limitsOfTheMeasure(_ limits: TableMeasure.Limits) throws
  {
    let source = InMemorySource(
      [Column("text")], rows: (0..<6000).map { [.text($0 == 5000 ? "wide text" : "x")] })
    let cells = ReadableCells(Output().screen, limit: nil)
    var measure = TableMeasure(source.columns, cells, limits)
    measure.add(
      ShownRows(
        batch: try source.rows(RowRequest(first: 0, count: 6000, columns: [0])),
        first: IndexPath(section: 0, row: 0)))
    #expect(measure.isOver && measure.hasSkippedRows && measure.widths(0).cells == 1)
  }

  /// The first section of a slow source alone determined the widths: cells of the second one were cut.
  @Test func slowRowsAreMeasured() throws {
    let cells = ReadableCells(Output().screen, limit: nil)
    for (patience, width) in [(60.0, 9), (0.0, 1)] {
      var measure = TableMeasure(
        [Column("text")], cells, TableMeasure.Limits(seconds: 0, patience: patience))
      for (section, text) in ["x", "wide text"].enumerated() where !measure.isOver {
        let source = InMemorySource([Column("text")], rows: [[.text(Array(text.utf8))]])
        measure.add(
          ShownRows(
            batch: try source.rows(RowRequest(first: 0, count: 1, columns: [0])),
            first: IndexPath(section: section, row: 0)))
      }
      #expect(measure.widths(0).cells == width && measure.isOver == (patience == 0))
    }
  }

  /// A stream measures the rows that came, and shows them before it reads more.
  @Test func aStreamShowsTheRowsThatCame() throws {
    let source = Recording(
      InMemorySource([Column("text")], rows: (0..<3).map { [.text("row \($0)")] }))
    source.batchLimit = 1
    let wide = InMemorySource(
      [Column("text")], rows: [["a"], [.text(String(repeating: "w", count: 30))]])
    let slow = Recording(wide)
    slow.batchLimit = 1
    let patient = TableMeasure.Limits(seconds: 60)
    #expect(try table(source, width: 40, limits: patient, stream: .file)[0] == "text")
    // The second row came too late to be measured.
    #expect(try table(slow, width: nil, limits: patient, stream: .file)[1] == "────")
    #expect(try table(slow, width: nil, limits: patient)[1].count == 30)
  }

  /// Decimal points were not below each other.
  @Test func decimalPointsLineUp() throws {
    try folder.write(
      "a.csv", "name,number\na,1.5\nb,-22.25\nc,3\nd,1e10\ne,0.125\nf,\n")
    let lines = try show("show", "a.csv")
    #expect(
      lines[..<8] == [
        "name   number", "────  ───────", "a       1.5", "b     -22.25", "c       3",
        "d       1e10",
        "e       0.125", "f",
      ], "\(lines)")
    try folder.write("b.csv", "number;x\n1,5;a\n22,25;b\n")
    let commas = try show("show", "b.csv", "-o", "decimal=,")
    #expect(commas[2...3] == ["  1,5   a", " 22,25  b"], "\(commas)")
    let source = InMemorySource(
      [Column("real", .real), Column("x")],
      rows: [[1.5, "a"], [.real(.nan), "b"], [.real(100), "c"]])
    #expect(
      try table(source, width: 80, limits: TableMeasure.Limits())[2...] == [
        "  1.5  a", "nan    b", "100    c",
      ])
  }

  /// A tab was shown as an escape.
  @Test func tabsExpandInCells() throws {
    try folder.write("a.txt", "a\tb\n\tc\u{1B}[31m\n")
    #expect(try show("show", "a.txt")[2...3] == ["a       b", "        c\\x1b[31m"])
    #expect(
      try show("show", "a.txt", "--vertical", "always")[1] == "line  a       b")
    // Formats for programs keep it.
    let plain = try run(
      buildFolder + "/tabella", ["show", folder.path + "/a.txt", "--format", "plain"])
    #expect(plain.lines[0] == "a\\tb")
  }

  // Colours

  /// File names had no colours. The columns for the colours need not be shown.
  @Test func fileNamesHaveTheColoursOfLs() throws {
    for name in ["plain", "run", "a.tar", "b.zip"] { try folder.write(name, "") }
    chmod(folder.path + "/run", 0o755)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/inner", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: "plain")
    chmod(folder.path + "/inner", 0o755)
    for columns in [
      ["--columns", "name"], ["--columns", "kind,name,mode"], ["--vertical", "always"],
    ] {
      let shown = try runOnTerminal(
        buildFolder + "/tabella",
        ["show", ".", "--hyperlink", "never", "--no-pager", "--filter", "name !~ ^shown"] + columns,
        width: 80,
        environment: ["TERM": "xterm", "LS_COLORS": "di=1;33:*.tar=31:*.zip=1m\u{1B}]0;x:ex=0"],
        directory: folder.path
      ).text.replacingOccurrences(of: "\u{1B}", with: "^")
      #expect(shown.contains("^[1;33minner^[0m") && shown.contains("^[01;36mlink^[0m"), "\(shown)")
      #expect(shown.contains("^[31ma.tar^[0m"))
      #expect(!shown.contains("mplain") && !shown.contains("mrun") && !shown.contains("mb.zip"))
    }
    let usual = try showInColour("show", ".", "--style", "collection")
    #expect(usual.contains { $0.contains("^[01;34minner^[0m") && $0.contains("^[01;32mrun^[0m") })
    let none = try showInColour("show", ".", environment: ["NO_COLOR": "1"])
    #expect(!none.contains { $0.contains("^") })
  }

  @Test(
    arguments: [
      ("d", "directory", "rwxrwxrwt", "30;42"), ("d", "directory", "rwxrwxrwx", "34;42"),
      ("d", "directory", "rwxr-xr-t", "37;44"), ("d", "directory", "rwxr-xr-x", "01;34"),
      ("f", "file", "rwsr-xr-x", "37;41"), ("f", "file", "rwxr-sr-x", "30;43"),
      ("f", "file", "rw-r--r-x", "01;32"), ("f", "fifo", "rw-r--r--", "33"),
      ("s", "socket", "", "01;35"), ("l", "link", "rwxrwxrwx", "01;36"), ("f", "", "", nil),
      ("x.A", "file", "rw-r--r--", "7"), ("f", "unknown", "rw-r--r--", nil),
    ] as [(String, String, String, String?)])
  func coloursOfFiles(_ name: String, _ kind: String, _ mode: String, _ expected: String?) {
    let colours = FileColours("*.A=1:*.A=7:bad:=:xx=99")
    let found = Array(name.utf8).withUnsafeBytes { name in
      Array(kind.utf8).withUnsafeBytes { kind in
        Array(mode.utf8).withUnsafeBytes { mode in
          colours.rendition(name, kind: kind, mode: mode)
        }
      }
    }
    #expect(found == expected.flatMap { Rendition($0) })
  }

  /// Matches of `--search` and `~` were not visible.
  @Test func matchesAreHighlighted() throws {
    try folder.write("a.csv", "name,other,n\nAnna Anton,banana,12\nBert,Hanna\\n\u{1B},7\n")
    let search = try showInColour("show", "a.csv", "--search", "an")
    #expect(search[2].hasPrefix("^[1;31mAn^[0mna ^[1;31mAn^[0mton"), "\(search)")
    #expect(search[2].contains("b^[1;31manan^[0ma") || search[2].contains("b^[1;31man^[0m"))
    #expect(search[3].hasPrefix("Bert        H^[1;31man^[0mna\\n\\x1b"), "\(search)")
    // An escape in front of a match is longer than its byte.
    try folder.write("c.csv", "name\n\u{1}\u{1}needle\n")
    let escaped = try showInColour("show", "c.csv", "--search", "needle")
    #expect(escaped[2] == "\\x01\\x01^[1;31mneedle^[0m", "\(escaped)")
    // A filter concerns its column only.
    let filter = try showInColour("show", "a.csv", "--filter", "name ~ t.n$|^B")
    #expect(filter[2].hasPrefix("Anna An^[1;31mton^[0m  banana"), "\(filter)")
    #expect(filter[3].hasPrefix("^[1;31mB^[0mert"))
    let number = try showInColour("show", "a.csv", "--filter", "n ~ 2")
    #expect(number[2].hasSuffix("1^[1;31m2^[0m"), "\(number)")
    let vertical = try showInColour("show", "a.csv", "--search", "bert", "--vertical", "always")
    #expect(vertical.contains { $0.hasSuffix("  ^[1;31mBert^[0m") }, "\(vertical)")
    // Other tests, other formats and other outputs have no highlights.
    #expect(
      try !showInColour("show", "a.csv", "--filter", "name !~ x").contains { $0.contains("1;31") })
    #expect(
      try !showInColour("show", "a.csv", "--search", "an", "--format", "csv").contains {
        $0.contains("^")
      })
  }

  /// A match that begins in the hidden part of a cut cell is not shown.
  @Test func matchesInCutCells() throws {
    try folder.write(
      "a.csv",
      "name,b\n\(String(repeating: "x", count: 70))needle-needle,\(String(repeating: "y", count: 8))\n"
    )
    let shown = try runOnTerminal(
      buildFolder + "/tabella",
      ["show", "a.csv", "--search", "needle", "--color", "always", "--width", "84"], width: 84,
      directory: folder.path
    ).text.replacingOccurrences(of: "\u{1B}", with: "^")
    #expect(shown.contains("xx^[1;31mnee^[0m…  yyyyyyyy"), "\(shown)")
  }

  /// States of processes have colours, and letters that say the same.
  @Test func statesHaveColours() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sleep")
    process.arguments = ["1000"]
    try process.start()
    let id = process.processIdentifier
    defer { kill(id, SIGKILL) }
    kill(id, SIGSTOP)
    var lines: [String] = []
    for _ in 0..<100 {
      lines = try showInColour(
        "show", "processes:", "--filter", "pid = \(id)", "--columns", "pid,state")
      if lines[2].contains("T") { break }
      usleep(20_000)
    }
    #expect(lines[2].hasSuffix("^[33mT^[0m"), "\(lines)")
  }

  // Lines around the table

  /// A table on a terminal did not say how long it was.
  @Test func theClosingLineCounts() throws {
    try folder.write("a.csv", "a,b\n" + (0..<2000).map { "\($0),\($0 % 3)\n" }.joined())
    func last(_ arguments: String...) throws -> String? {
      try runOnTerminal(
        buildFolder + "/tabella", ["show", "a.csv"] + arguments, width: 80, directory: folder.path
      ).text.split(separator: "\n").last.map(String.init)
    }
    #expect(try last() == "2,000 rows, 2 columns")
    #expect(try last("--columns", "b") == "2,000 rows, 2 columns (1 shown)")
    #expect(try last("--filter", "a = 7") == "1 row, 2 columns")
    #expect(try last("--filter", "a = x") == "0 rows, 2 columns")
    #expect(try last("--section-by", "b") == "2,000 rows, 3 sections, 2 columns")
    #expect(try last("--section-by", "b", "-n", "1") == "1 of 2,000 rows, 2 columns")
    #expect(try last("--section-by", "b", "--section", "title:2") == "666 of 2,000 rows, 2 columns")
    #expect(try last("--style", "collection") == "2,000 rows, 2 columns (1 shown)")
    #expect(try last("--style", "grouped", "-n", "1")?.contains("row") == true)
    #expect(try last("--vertical", "always") == "2,000 rows, 2 columns")
    #expect(try last("--format", "csv") == "1999,1")
    #expect(try last("--format", "markdown") == "| 1999 | 1 |")
    let piped = try run(buildFolder + "/tabella", ["show", folder.path + "/a.csv"])
    #expect(piped.lines.last == "1999  1")
  }

  /// The names of the columns scrolled away in the pager. Only a new enough `less` can keep them.
  @Test(arguments: [
    ("less", "643", "--header=2"), ("less -R", "600", "-R --header=2"), ("less", "590", ""),
    ("more", "643", ""), ("less --header=1", "643", "--header=1"), ("less; true", "643", ""),
    ("less", "nonsense", ""),
  ])
  func theHeaderStaysInThePager(_ pager: String, _ version: String, _ expected: String) throws {
    try folder.write("a.csv", "a,b\n" + (0..<100).map { "\($0),x\n" }.joined())
    for name in ["less", "more"] {
      let path = try folder.write(
        name,
        """
        #!/bin/sh
        if [ "$1" = --version ]; then echo "less \(version) (GNU)"; exit; fi
        cat > paged
        echo "arguments: $*"

        """)
      chmod(path, 0o755)
    }
    for (options, kept) in [
      ([], expected),
      (
        ["--style", "grouped"],
        pager.contains("=1") ? "--header=1" : pager.hasSuffix("-R") ? "-R" : ""
      ),
    ] {
      let shown = try runOnTerminal(
        buildFolder + "/tabella", ["show", "a.csv"] + options, width: 40, height: 20,
        environment: [
          "TERM": "xterm", "PAGER": pager, "PATH": "\(folder.path):\(searchPath)", "LESS": "",
        ], directory: folder.path)
      #expect(shown.text == "arguments: \(kept)\n", "\(shown.text)")
    }
    let paged = String(decoding: try folder.read("paged"), as: UTF8.self)
    #expect(paged.split(separator: "\n").count > 100)
  }

  /// Links contained `.` and `..`, which some terminals do not follow.
  @Test func linksHaveNoDots() throws {
    let base = folder.path + "/base"
    for path in ["", "/real/inner", "/other"] {
      try FileManager.default.createDirectory(
        atPath: base + path, withIntermediateDirectories: true)
    }
    try folder.write("base/real/file", "")
    try folder.write("base/other/wrong", "")
    try FileManager.default.createSymbolicLink(
      atPath: base + "/other/link", withDestinationPath: "../real/inner")
    let real = String(decoding: realPath(Array(base.utf8))!, as: UTF8.self)
    for (location, expected) in [
      (".", "/other/wrong"), ("./", "/other/wrong"), ("../real", "/real/file"),
      ("./../real/./", "/real/file"), ("link/..", "/real/file"), (".//link/../.", "/real/file"),
      (base + "/other/./", "/other/wrong"),
    ] {
      let shown = try runOnTerminal(
        buildFolder + "/tabella",
        ["show", location, "--hyperlink", "always", "--columns", "name"], width: 80,
        environment: ["TERM": "xterm"], directory: base + "/other")
      let addresses = shown.text.components(separatedBy: "\u{1B}]8;;").compactMap {
        $0.hasPrefix("file:") ? $0.components(separatedBy: "\u{1B}").first : nil
      }
      #expect(!addresses.isEmpty)
      #expect(
        addresses.allSatisfy { !$0.split(separator: "/").contains { [".", ".."].contains($0) } })
      #expect(
        addresses.contains { $0.hasSuffix(real + expected) || $0.hasSuffix(base + expected) },
        "\(location): \(addresses)")
    }
  }

  // The index

  /// The titles of the index were visible only in an error message.
  @Test func theIndexIsVisible() throws {
    try folder.write("a.csv", "name\n" + "ABCDEFGHIJ".map { "\($0)nna\n" }.joined())
    let arguments = ["show", "a.csv", "--section-by", "name:letter", "--index"]
    func first(_ width: Int) throws -> String? {
      try runOnTerminal(
        buildFolder + "/tabella", arguments, width: width, directory: folder.path
      ).text.split(separator: "\n").first.map(String.init)
    }
    #expect(try first(80) == "Index: A B C D E F G H I J")
    #expect(try first(26) == "Index: A B C D E F G H I J")
    #expect(try first(25) == "Index: A B C D E F G … J")
    #expect(try first(12) == "Index: A … J")
    #expect(try first(11) == "Index: … J")
    let piped = try run(
      buildFolder + "/tabella",
      ["show", folder.path + "/a.csv", "--section-by", "name:letter", "--index"])
    #expect(piped.lines[0] == "Index: A B C D E F G H I J")
    let described = try run(
      buildFolder + "/tabella", ["describe", folder.path + "/a.csv", "--section-by", "name:letter"])
    #expect(described.text.contains("index:\n  A\n  B\n"), "\(described.text)")
    try folder.write("a.md", "# First one\na\n# Second\nb\n")
    let markdown = try run(
      buildFolder + "/tabella",
      ["show", folder.path + "/a.md", "-o", "sections=headings", "--index"])
    #expect(markdown.lines[0] == "Index: First one · Second", "\(markdown)")
  }

  @Test func anIndexThatCannotBeShown() throws {
    try folder.write("a.csv", "name\nx\n")
    let none = try run(buildFolder + "/tabella", ["show", folder.path + "/a.csv", "--index"])
    #expect(none.status == 1 && none.errors.contains("the table has no index"))
    let format = try run(
      buildFolder + "/tabella", ["show", folder.path + "/a.csv", "--index", "--format", "csv"])
    #expect(format.status == 2 && format.errors.contains("--index works with table and vertical"))
  }
}
