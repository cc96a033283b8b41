import Foundation
import Testing

@testable import TabellaTestSupport

/// `tabella` as a user runs it.
@Suite struct CommandLineTests {
  let folder: TemporaryFolder
  let people: String

  init() throws {
    folder = try TemporaryFolder()
    people = try folder.write(
      "people.csv",
      "name,born,note\nAda,1815,\"poet's \"\"daughter\"\"\"\nGrace,1906\nLinus,1969,\n")
  }

  func tabella(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramResult
  {
    try run(
      buildFolder + "/tabella", arguments,
      environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_DATA_HOME": folder.path].merging(
        environment
      ) { $1 })
  }

  func json(_ result: ProgramResult) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
  }

  func cells(_ result: ProgramResult) throws -> [[Any]] {
    let sections = try #require(try json(result)["sections"] as? [[String: Any]])
    return try sections.flatMap { section in
      try #require(section["rows"] as? [[String: Any]]).map { try #require($0["cells"] as? [Any]) }
    }
  }

  // show

  @Test func showsATable() throws {
    let result = try tabella("show", people)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      result.text == """
        name   born  note
        ─────  ────  ─────────────────
        Ada    1815  poet's "daughter"
        Grace  1906  ∅
        Linus  1969

        """)
    let ascii = try tabella("show", people, "-n", "2", environment: ["LC_ALL": "C"])
    #expect(ascii.text.contains("-----  ----") && ascii.text.contains("null"))
  }

  /// Groups of missing or empty values had no title, and a table without rows showed nothing in some styles.
  @Test func nothingIsSeen() throws {
    let file = try folder.write("groups.csv", "a,b\n1,\n2\n3,x\n")
    let plain = try tabella("show", file, "--section-by", "b")
    #expect(plain.text.contains("── \"\" · 1 row") && plain.text.contains("── ∅ · 1 row"))
    let empty = try folder.write("empty.csv", "a,b\n")
    #expect(try tabella("show", empty, "--style", "grouped").text.contains("│ a │ b │"))
    #expect(try tabella("show", empty, "--vertical", "always").text == "0 rows\n")
    #expect(try tabella("show", empty).text == "a  b\n─  ─\n")
  }

  /// Names in a header that is not UTF-8 were repaired silently.
  @Test func aHeaderThatIsNotUTF8IsSaid() throws {
    let file = try folder.write("latin.csv", [0x6E, 0xEF, 0x2C, 0x62, 10, 0xE9, 0x2C, 0x31, 10])
    let result = try tabella("export", file)
    #expect(result.status == 0 && result.errors.contains("-o encoding=latin1"))
    #expect(Array(result.output.suffix(4)) == [0xE9, 0x2C, 0x31, 10])
    let converted = try tabella("export", file, "-o", "encoding=latin1")
    #expect(converted.text == "nï,b\né,1\n" && converted.errors.isEmpty)
  }

  /// `describe` of a row used the provider's rows after `show` had shown those of a view.
  @Test func describesRowsOfAView() throws {
    let row = try tabella("describe", people, "0", "--sort", "born:desc", "--json")
    #expect(row.text.contains("Linus"))
    let groups = try tabella("describe", people, "--section-by", "name", "--json")
    #expect(try json(groups)["titles"] as? [String] == ["Ada", "Grace", "Linus"])
  }

  @Test func showsCSV() throws {
    let result = try tabella("show", people, "--format", "csv")
    #expect(
      result.text
        == "name,born,note\nAda,1815,\"poet's \"\"daughter\"\"\"\nGrace,1906,\nLinus,1969,\n")
    #expect(try tabella("show", people, "--format=csv", "--no-header", "-n1").lines.count == 1)
  }

  /// Quoting works in steps of many bytes. The test compares cells of every length, with special characters at every
  /// offset, with naive quoting.
  @Test func quotesWhereItMust() throws {
    let cells = (0...40).flatMap { length in
      ["", "\"", ",", "\n", "\r", "\"\"", "\0", "é"].flatMap { special in
        Set([0, length / 2, length]).sorted().map { place in
          String(repeating: "x", count: place) + special
            + String(repeating: "y", count: length - place)
        }
      }
    }
    func field(_ cell: String, always: Bool) -> String {
      let isSpecial = cell.utf8.contains { [10, 13, 34, 44].contains($0) }
      guard always || isSpecial else { return cell }
      return "\"" + cell.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
    func text(always: Bool) -> String {
      "a,b\n" + cells.map { field($0, always: always) + ",1\n" }.joined()
    }
    let file = try folder.write("quotes.csv", text(always: true))
    #expect(try tabella("export", file).text == text(always: false))
  }

  @Test func showsJSON() throws {
    let result = try tabella("show", people, "--json")
    let document = try json(result)
    #expect(document["provider"] as? String == "csv")
    #expect(document["location"] as? String == people)
    #expect((document["version"] as? String)?.isEmpty == false)
    #expect(
      (document["columns"] as? [[String: Any]])?.map { $0["name"] as? String } == [
        "name", "born", "note",
      ])
    let rows = try cells(result)
    #expect(rows.count == 3)
    #expect(rows[0] as? [String] == ["Ada", "1815", "poet's \"daughter\""])
    #expect(rows[1][2] is NSNull)
    #expect(rows[2] as? [String] == ["Linus", "1969", ""])
    #expect(document["error"] == nil)
  }

  @Test func typesAreInferredOnDemand() throws {
    let result = try tabella("show", people, "--json", "-o", "types=infer")
    #expect(try cells(result)[0][1] as? Int == 1815)
  }

  /// A cell that is not UTF-8 keeps its bytes in every format.
  @Test func bytesAreKept() throws {
    let file = try folder.write("bytes.csv", Array("a,b\n".utf8) + [0xFF, 0x2C, 0x00, 0x0A])
    #expect(
      try tabella("show", file, "--format", "csv").output
        == Data(Array("a,b\n".utf8) + [0xFF, 0x2C, 0x00, 0x0A]))
    let row = try cells(tabella("show", file, "--json"))[0]
    #expect((row[0] as? [String: String])?["base64"] == "/w==")
    #expect(row[1] as? String == "\0")
    #expect(try tabella("show", file).text.contains("\\xff"))
  }

  @Test(arguments: [
    (["--rows", "1..2"], ["Grace", "Linus"]), (["--rows=0..0"], ["Ada"]),
    (["-n", "2"], ["Ada", "Grace"]),
    (["--rows", "1..", "-n", "1"], ["Grace"]), (["--rows", "..1"], ["Ada", "Grace"]),
    (["--rows", "7..9"], []), (["-n0"], []),
  ])
  func ranges(_ options: [String], _ names: [String]) throws {
    let result = try run(
      buildFolder + "/tabella",
      ["show", people, "--columns", "name", "--format", "csv", "--no-header"] + options)
    #expect(result.status == 0)
    #expect(result.lines == names)
  }

  @Test func columnsInTheOrderAsked() throws {
    #expect(
      try tabella("show", people, "--columns", "born,name", "--format", "csv", "-n", "1").text
        == "born,name\n1815,Ada\n")
    let file = try folder.write("twice.csv", "a,a\n1,2\n")
    #expect(
      try tabella("show", file, "--columns", "a 2,a", "--format", "csv", "--no-header").text
        == "2,1\n")
    let unknown = try tabella("show", people, "--columns", "name,age")
    #expect(unknown.status == 2)
    #expect(unknown.errors.contains("no column age") && unknown.errors.contains("name, born, note"))
  }

  // Comparison with standard tools

  @Test func agreesWithPasswd() throws {
    let result = try tabella(
      "show", "/etc/passwd", "--provider", "csv", "-o", "delimiter=:", "-o", "header=false",
      "--json")
    let expected = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
      .split(separator: "\n").map { line in
        line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      }
    #expect(try cells(result).map { $0.compactMap { $0 as? String } } == expected)
  }

  @Test func agreesWithLs() throws {
    for name in ["b", "a", ".hidden", "é"] { try folder.write(name, "12345") }
    func shell(_ command: String) throws -> String {
      try run("/bin/sh", ["-c", "LC_ALL=C \(command)"], directory: folder.path).text
    }
    for location in [folder.path, folder.path + "/", "directory:" + folder.path] {
      #expect(
        try tabella("show", location, "--columns", "name", "--format", "csv", "--no-header").text
          == shell("ls"))
    }
    #expect(
      try tabella("count", folder.path, "-o", "hidden=true").text == shell("ls -A | wc -l"))
  }

  @Test func agreesWithWcSedAndCut() throws {
    var text = "id,city,amount\n"
    for index in 0..<5000 { text += "\(index),city \(index % 37),\(index * 7 % 1000)\n" }
    let file = try folder.write("real.csv", text)
    func shell(_ command: String) throws -> String {
      try run("/bin/sh", ["-c", command], directory: folder.path).text
    }
    #expect(try tabella("count", file).text == shell("tail -n +2 real.csv | wc -l | tr -d ' '"))
    #expect(
      try tabella("show", file, "--rows", "1200..1300", "--format", "csv", "--no-header").text
        == shell("sed -n '1202,1302p' real.csv"))
    #expect(
      try tabella("show", file, "--columns", "id,amount", "--format", "csv").text
        == shell("cut -d, -f1,3 real.csv"))
    #expect(try tabella("show", file, "--format", "csv").text == text)
  }

  @Test(.needs("ps")) func agreesWithPS() throws {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sleep")
    child.arguments = ["600"]
    // The child must not hold the test's own output open.
    child.standardOutput = FileHandle.nullDevice
    child.standardError = FileHandle.nullDevice
    try child.start()
    defer { child.terminate() }
    let pid = Int(child.processIdentifier)
    let rows = try cells(
      tabella("show", "processes:", "--json", "--columns", "pid,parent,user,nice,command,arguments")
    )
    let row = try #require(rows.first { $0[0] as? Int == pid })
    let ps = try run(
      findProgram("ps"), ["-o", "pid=,ppid=,user:32=,ni=,comm=,args=", "-p", "\(pid)"]
    ).text
    let fields = ps.split(separator: " ", omittingEmptySubsequences: true).map {
      $0.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    #expect(row.map { "\($0)" } == Array(fields[0..<5]) + [fields[5...].joined(separator: " ")])
    let pids = Set(rows.compactMap { $0[0] as? Int })
    #expect(pids.contains(Int(ProcessInfo.processInfo.processIdentifier)) && pids.contains(1))
  }

  // Errors: one clear line and the documented status

  struct Trouble: Sendable, CustomStringConvertible {
    var arguments: [String]
    var status: Int32
    var says: [String]

    var description: String { arguments.joined(separator: " ") }
  }

  @Test(arguments: [
    Trouble(arguments: ["frobnicate"], status: 2, says: ["frobnicate"]),
    Trouble(arguments: ["show"], status: 2, says: ["location"]),
    Trouble(arguments: ["show", "/bin/sh", "b.csv"], status: 1, says: ["b.csv"]),
    Trouble(
      arguments: ["show", "/nowhere/a.csv"], status: 1, says: ["/nowhere/a.csv", "No such file"]),
    Trouble(arguments: ["show", "--colour", "x"], status: 2, says: ["--colour"]),
    Trouble(arguments: ["show", "x", "--rows", "5..2"], status: 2, says: ["--rows"]),
    Trouble(arguments: ["show", "x", "--rows", "a..b"], status: 2, says: ["--rows"]),
    Trouble(arguments: ["show", "x", "-n", "-3"], status: 2, says: ["-n"]),
    Trouble(arguments: ["show", "x", "-n"], status: 2, says: ["-n"]),
    Trouble(arguments: ["show", "x", "--format", "xml"], status: 2, says: ["csv, tsv, json"]),
    Trouble(arguments: ["show", "x", "-o", "novalue"], status: 2, says: ["KEY=VALUE"]),
    Trouble(
      arguments: ["show", "csv:/etc/passwd", "-o", "colour=1"], status: 2,
      says: ["colour", "delimiter"]),
    Trouble(arguments: ["show", "csv:/etc/passwd", "-o", "skip=x"], status: 2, says: ["integer"]),
    Trouble(
      arguments: ["show", "/etc/passwd", "--provider", "nobody"], status: 3,
      says: ["nobody", "csv"]),
    Trouble(arguments: ["show", "csv:/tmp"], status: 2, says: ["directory"]),
    Trouble(arguments: ["show", "processes:x"], status: 2, says: ["processes"]),
    Trouble(arguments: ["describe", "/etc/passwd.so"], status: 3, says: ["/etc/passwd.so"]),
    Trouble(arguments: ["describe", "csv:/etc/passwd", "99999"], status: 1, says: ["99999"]),
    Trouble(arguments: ["describe", "csv:/etc/passwd", "x"], status: 2, says: ["x"]),
    Trouble(arguments: ["help", "show", "count"], status: 2, says: ["count"]),
    Trouble(arguments: ["count", "csv:/etc/passwd", "--columns", "no"], status: 2, says: ["no"]),
    Trouble(
      arguments: ["show", "csv:/etc/passwd", "-o", "encoding="], status: 2, says: ["encoding"]),
    Trouble(arguments: ["help", "nothing"], status: 2, says: ["nothing"]),
  ])
  func trouble(_ trouble: Trouble) throws {
    let result = try run(buildFolder + "/tabella", trouble.arguments)
    #expect(result.status == trouble.status, "\(result.errors)")
    #expect(result.output.isEmpty)
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == 1 && lines[0].hasPrefix("tabella: "), "\(result.errors)")
    for text in trouble.says { #expect(result.errors.contains(text), "\(result.errors)") }
    // The same error as JSON.
    let asJSON = try run(buildFolder + "/tabella", trouble.arguments + ["--json"])
    if !["frobnicate", "help"].contains(trouble.arguments.first),
      trouble.arguments.last != "-n"
    {
      let object =
        try JSONSerialization.jsonObject(with: Data(asJSON.errors.utf8)) as? [String: Any]
      #expect((object?["error"] as? [String: Any])?["status"] as? Int == Int(trouble.status))
    }
  }

  /// The test uses a write-only file of sysfs, which even root cannot read, or a file without permissions.
  @Test func anUnreadableFileIsRefused() throws {
    var path = try folder.write("secret.csv", "a\n")
    chmod(path, 0)
    if geteuid() == 0 {
      let found = try run(
        "/usr/bin/find",
        ["/sys/bus", "-maxdepth", "4", "-type", "f", "-perm", "0200", "-print", "-quit"])
      path = try #require(found.lines.first)
    }
    let result = try tabella("show", "csv:\(path)")
    #expect(result.status == 4)
    #expect(result.errors.contains("Permission denied") && result.errors.contains(path))
  }

  @Test func badLibraries() throws {
    let text = try folder.write("text.so", "no library")
    let notELF = try tabella("describe", text)
    #expect(notELF.status == 3 && notELF.errors.contains("not an ELF file"))
    let other = try compileLibrary(
      folder.write("o.c", "int o(void);\nint o(void) { return 1; }\n"), into: folder, name: "o.so")
    let noEntry = try tabella("describe", other)
    #expect(noEntry.status == 3 && noEntry.errors.contains("tabella_provider_entry"))
    let liar = packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c"
    let old = try compileLibrary(
      liar, into: folder, name: "old.so", flags: ["-DOTHER_CONTRACT=0x00020005u"])
    let version = try tabella("describe", old, "--load")
    #expect(version.status == 3 && version.errors.contains("2.5") && version.errors.contains("0.9"))
    for result in [notELF, noEntry, version] {
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }

  /// Compiles the lying provider. Returns the environment in which tabella finds it.
  private func liar() throws -> [String: String] {
    _ = try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c", into: folder, name: "liar.so")
    try folder.write(
      "liar.tabella.json",
      "{\"id\":\"liar\",\"version\":\"1\",\"contract\":\"0.9\",\"library\":\"liar.so\",\"schemes\":[\"liar\"]}"
    )
    return ["TABELLA_PROVIDER_PATH": folder.path]
  }

  /// The provider lies in the middle of the rows. The rows in front are shown, the document is closed, one line
  /// describes the fault, and the status blames the provider.
  @Test func aLyingProviderIsOneErrorLine() throws {
    let environment = try liar()
    let good = try tabella("show", "liar:", environment: environment)
    #expect(good.status == 0 && good.text.contains("Animals") && good.text.contains("gnu"))
    let bad = try tabella("show", "liar:wrong-count", "--json", environment: environment)
    #expect(bad.status == 3)
    #expect((try json(bad)["error"] as? [String: Any])?["code"] as? String == "misbehaved")
    #expect(try cells(bad).count == 8)
    for lie in ["bad-offsets", "negative-length", "false-utf8", "no-source", "unknown-format"] {
      let result = try tabella("show", "liar:\(lie)", environment: environment)
      #expect(result.status == 3, "\(lie)")
      #expect(
        result.errors.split(separator: "\n").count == 1 && result.errors.contains("provider liar"),
        "\(result.errors)")
    }
  }

  /// `describe` shows elements of every form. An element that fails becomes an error line among the others.
  @Test func describesElements() throws {
    let environment = try liar()
    let good = try tabella("describe", "liar:", "2", environment: environment)
    #expect(good.status == 0 && good.errors.isEmpty)
    #expect(
      good.text.hasSuffix(
        """
        supplementary:
          note: a note
          odd:
            odd \\xff
            text \\x1b[31m
          table:
            word  number
            ant   0
            bee   10
            cat   20
            dog   30
            elk   40
            fox   50
            gnu   60
            hen   70

        """))
    let elements = try #require(
      try json(tabella("describe", "liar:", "2", "--json", environment: environment))[
        "supplementary"] as? [String: Any])
    #expect(elements["note"] as? String == "a note")
    let odd = (elements["odd"] as? [String: String])?["base64"].flatMap { Data(base64Encoded: $0) }
    #expect(odd == Data("odd ".utf8 + [0xFF] + "\ntext \u{1B}[31m".utf8))
    let table = try #require(elements["table"] as? [String: Any])
    #expect(
      (table["columns"] as? [[String: Any]])?.map { $0["type"] as? String } == ["text", "integer"])
    #expect((table["rows"] as? [[Any]])?.count == 8 && table["truncated"] == nil)

    for (lie, status, kind) in [
      ("failing-element", 1, "note"), ("span-beyond-text", 3, "note"), ("unknown-form", 3, "note"),
      ("lying-table", 3, "table"), ("failing-kinds", 1, nil),
    ] as [(String, Int32, String?)] {
      let bad = try tabella("describe", "liar:\(lie)", "2", environment: environment)
      #expect(bad.status == status, "\(lie)")
      #expect(bad.errors.split(separator: "\n").count == 1)
      #expect(bad.errors.hasPrefix("tabella: liar:\(lie): the \(kind ?? "kinds of elements")"))
      #expect(bad.text.contains("  word  cat\n"))
      if let kind { #expect(bad.text.contains("  odd:\n") && !bad.text.contains("  \(kind):")) }
      let asJSON = try tabella("describe", "liar:\(lie)", "2", "--json", environment: environment)
      #expect(try (json(asJSON)["row"] as? String)?.hasPrefix("id:") == true)
      let error = try JSONSerialization.jsonObject(with: Data(asJSON.errors.utf8)) as? [String: Any]
      #expect((error?["error"] as? [String: Any])?["status"] as? Int == Int(status))
    }
  }

  /// Elements of the shipped providers, through their libraries.
  @Test func describesPreviewsAndDetails() throws {
    let odd = [0xFF] + Array("odd\n".utf8)
    try folder.write("odd.txt", odd)
    let text = try tabella("describe", folder.path, "0")
    #expect(text.status == 0 && text.text.hasSuffix("supplementary:\n  preview: \\xffodd\n"))
    let elements = try json(tabella("describe", folder.path, "0", "--json"))["supplementary"]
    let preview = (elements as? [String: [String: String]])?["preview"]?["base64"]
    #expect(preview.flatMap { Data(base64Encoded: $0) } == Data(odd.dropLast()))

    let id = try json(tabella("show", "processes:", "--filter", "pid=\(getpid())", "--json"))
    let rows = (id["sections"] as? [[String: Any]])?.first?["rows"] as? [[String: Any]]
    let own = try #require(rows?.first?["id"] as? String)
    let details = try tabella("describe", "processes:", "id:\(own)")
    #expect(details.status == 0)
    let folder = FileManager.default.currentDirectoryPath
    #expect(details.text.contains("\n    folder               \(folder)\n"), "\(details.text)")
  }

  /// A command ends with an error line for all invalid counts of a provider.
  @Test(arguments: ["endless-count", "endless-sections", "uncounted-length", "misaligned-offsets"])
  func absurdNumbers(_ lie: String) throws {
    let environment = try liar()
    for command in ["show", "count"] {
      let result = try tabella(command, "liar:\(lie)", environment: environment)
      let isCaught = result.status == 3 && result.errors.contains("provider liar")
      #expect(isCaught || (command == "count" && result.status == 0), "\(result.errors)")
    }
  }

  @Test func theLargestNumbers() throws {
    for range in ["9223372036854775807..", "9223372036854775807..9223372036854775807"] {
      let result = try tabella("show", people, "--rows", range, "--format", "csv", "--no-header")
      #expect(result.status == 0 && result.output.isEmpty)
    }
    for most in ["9223372036854775807", "9223372036854775808", "99999999999999999999999999"] {
      #expect(try tabella("show", people, "-n", most).status == 0)
    }
  }

  /// JSON is valid for all contents, on both outputs, and never reaches a terminal unescaped.
  @Test func jsonEscapesWhatIsUnsafe() throws {
    let file = try folder.write("un\u{202E}safe.csv", "a\n\u{9B}31m\u{202E}\u{FEFF}x\u{E0041}\n")
    let result = try tabella("show", file, "--json")
    #expect(try cells(result)[0][0] as? String == "\u{9B}31m\u{202E}\u{FEFF}x\u{E0041}")
    #expect(!result.text.unicodeScalars.contains { $0.value == 0x202E || $0.value == 0x9B })
    let row = try tabella("describe", file, "0", "--json")
    #expect(!row.text.unicodeScalars.contains { $0.value == 0x202E || $0.value == 0x9B })
    for options in [["--json"], ["--format", "json"], ["--format=json"]] {
      let absent = try run(buildFolder + "/tabella", ["show", "no\u{202E}file.csv"] + options)
      let object =
        try JSONSerialization.jsonObject(with: Data(absent.errors.utf8)) as? [String: Any]
      let error = try #require(object?["error"] as? [String: Any])
      #expect(error["subject"] as? String == "no\u{202E}file.csv" && error["status"] as? Int == 1)
    }
  }

  @Test func optionsEndAtTwoHyphens() throws {
    try folder.write("--help", "a\n1\n")
    let result = try run(
      buildFolder + "/tabella", ["count", "--provider", "csv", "--", "--help"],
      directory: folder.path)
    #expect(result.status == 0 && result.text == "1\n")
  }

  /// Looking at a pipe must not end its writer.
  @Test func describesAPipe() throws {
    let result = try run(
      "/bin/sh",
      [
        "-c",
        "mkfifo p.csv && { printf 'a,b\\n1,2\\n' > p.csv & } && '\(buildFolder)/tabella' describe p.csv",
      ], directory: folder.path)
    #expect(result.status == 0 && result.text.contains("a  text"), "\(result.errors)")
  }

  /// A FIFO that no process had opened for writing yet counted as empty.
  @Test func waitsForTheWriterOfAPipe() throws {
    let result = try run(
      "/bin/sh",
      [
        "-c",
        "mkfifo p && { sleep 0.3; seq 3 > p; } & sleep 0.1; '\(buildFolder)/tabella' count text:p",
      ], directory: folder.path)
    #expect(result.status == 0 && result.text == "3\n", "\(result.errors)")
  }

  @Test func readsStandardInput() throws {
    let result = try run(
      "/bin/sh", ["-c", "printf 'a\\n1\\n' | '\(buildFolder)/tabella' count - --provider csv"])
    #expect(result.status == 0 && result.text == "1\n")
    // It had no provider unless an option named one.
    let unnamed = try run(
      "/bin/sh", ["-c", "printf 'a\\n1\\n' | '\(buildFolder)/tabella' count -"])
    #expect(unnamed.status == 0 && unnamed.text == "2\n")
  }

  @Test func aClosedOutputIsAnError() throws {
    let result = try run("/bin/sh", ["-c", "'\(buildFolder)/tabella' show '\(people)' >&-"])
    #expect(result.status == 1 && result.errors.contains("standard output"))
  }

  /// An error for a name that is no path suggests the probable meaning.
  @Test func typosAreExplained() throws {
    let bare = try tabella("show", "processes")
    #expect(bare.status == 1 && bare.errors.contains("did you mean processes:"))
    let scheme = try tabella("show", "foo:bar")
    #expect(scheme.status == 3 && scheme.errors.contains("no provider has the scheme foo:"))
    try folder.write(
      "gone.tabella.json",
      "{\"id\":\"gone\",\"version\":\"1\",\"contract\":\"0.9\",\"library\":\"gone.so\",\"schemes\":[\"gone\"]}"
    )
    let refused = try tabella(
      "show", "gone:x", environment: ["TABELLA_PROVIDER_PATH": folder.path])
    #expect(refused.status == 3 && refused.errors.contains("gone.so does not exist"))
  }

  /// Wide cells after the measured rows lost digits although the line had room.
  @Test func lateWideCellsAreShownWhole() throws {
    var text = "i,note\n"
    for index in 0..<1200 { text += "\(index * index),\(index)\n" }
    let file = try folder.write("late.csv", text)
    let result = try run(
      "/bin/sh",
      [
        "-c",
        "stty cols 80 2>/dev/null; '\(buildFolder)/tabella' show '\(file)' -o types=infer --rows 0..1199 | tail -1",
      ])
    #expect(result.text.contains("1437601") && result.text.contains("1199"))
  }

  @Test func warningsDoNotFail() throws {
    let file = try folder.write("open.csv", "a\n\"never ends\nx\n")
    let result = try tabella("show", file, "--format", "csv")
    #expect(result.status == 0)
    #expect(result.text == "a\n\"never ends\nx\n\"\n")
    #expect(result.errors.contains("warning") && result.errors.contains("never closed"))
  }

  // Further tests

  @Test func providersAndDescribe() throws {
    let providers = try json(tabella("providers", "--json"))
    let ids = (providers["providers"] as? [[String: Any]])?.map { $0["id"] as? String }
    #expect(ids == ["csv", "directory", "processes", "text"])
  }

  @Test func describesEverything() throws {
    let table = try json(tabella("describe", people, "--json"))
    #expect(table["provider"] as? String == "csv" && table["order"] as? String == "stable")
    let row = try tabella("describe", people, "1")
    #expect(row.text.contains("Grace") && row.text.contains("∅"))
    #expect(try tabella("describe", people).text.contains("\nrows in section 0: 3\n"))
    try folder.write("notes.txt", "one\ntwo\n")
    #expect(
      try tabella("describe", folder.path, "0", "-o", "hidden=false").text
        .contains("accessory: "))
    #expect(
      try tabella("describe", folder.path + "/notes.txt", "0").text.contains(
        "  preview:\n    one\n    two\n"))
    let byID = try #require(try json(tabella("describe", people, "2", "--json"))["id"] as? String)
    #expect(try tabella("describe", people, "id:\(byID)").text.contains("Linus"))
    #expect(try tabella("describe", "processes").text.contains("pid"))
    let library = try json(
      tabella("describe", buildFolder + "/libtabella-csv.so", "--load", "--json"))
    #expect((library["loaded"] as? [String: Any])?["id"] as? String == "csv")
  }

  @Test func helpForEveryCommand() throws {
    let overview = try tabella("help")
    #expect(overview.status == 0)
    for command in ["show", "count", "describe", "providers", "help"] {
      #expect(overview.text.contains(command))
      let help = try tabella("help", command)
      #expect(help.status == 0 && help.text.hasPrefix("Usage: tabella \(command)"))
      #expect(try tabella(command, "--help").text == help.text)
    }
    #expect(try tabella("--version").text.hasPrefix("tabella 0."))
  }

  @Test func aReaderThatGoesAwayIsNoError() throws {
    let many = try folder.write("many.csv", String(repeating: "a,b,c\n", count: 200_000))
    let result = try run(
      "/bin/sh", ["-c", "'\(buildFolder)/tabella' show '\(many)' --format csv | head -n 1"])
    #expect(result.text == "a,b,c\n" && result.errors.isEmpty)
  }

  @Test func aFullDiskIsAnError() throws {
    let result = try run(
      "/bin/sh", ["-c", "'\(buildFolder)/tabella' show '\(people)' > /dev/full"])
    #expect(result.status == 1 && result.errors.contains("No space left"))
  }

  /// The built files still work after they are copied to another folder together.
  @Test func aCopyWorks() throws {
    try copyPrograms(
      "tabella", "libtabella-csv.so", "libtabella-directory.so", "libtabella-processes.so",
      "libtabella-text.so", to: folder.path)
    let result = try run(folder.path + "/tabella", ["count", people])
    #expect(result.status == 0 && result.text == "3\n")
    try FileManager.default.removeItem(atPath: folder.path + "/libtabella-csv.so")
    let broken = try run(folder.path + "/tabella", ["count", "csv:\(people)"])
    #expect(broken.status == 3)
  }

  /// Only the entry point is visible in a shipped library.
  @Test(.needs(anyOf: "nm", "llvm-nm"), arguments: ["csv", "directory", "processes", "text"])
  func exportsTheEntryAlone(_ name: String) throws {
    let nm = try findProgram("nm", "llvm-nm")
    let result = try run(nm, ["-D", "--defined-only", "\(buildFolder)/libtabella-\(name).so"])
    #expect(result.lines.count == 1)
    #expect(result.text.hasSuffix(" T tabella_provider_entry\n"))
  }
}
