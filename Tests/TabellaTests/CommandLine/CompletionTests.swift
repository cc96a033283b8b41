import Foundation
import Testing

@testable import TabellaTestSupport

/// The candidates fit at the cursor, and the shells turn them into the intended arguments.
@Suite struct CompletionTests {
  let folder: TemporaryFolder
  let people: String
  /// A table whose columns contain every character with a meaning for a shell or the command line.
  let odd: String
  static let oddNames = [
    "plain", "two words", "it's", "say \"x\"", "a,b", "a", "b", "c:desc", "c", "d:size", "$HOME",
    "`id`",
    "[x]*?", "{1,2}", "back\\slash", "-n", "~", "#", "a=b", "<>|;&()", "!x", "é日本", "x", "x 2",
    "%s", "owls'",
  ]

  init() throws {
    folder = try TemporaryFolder()
    people = try folder.write("people.csv", "name,born\nAda,1815\nGrace,1906\n")
    let header = Self.oddNames.map { "\"\($0.replacingOccurrences(of: "\"", with: "\"\""))\"" }
    let cells = Self.oddNames.indices.map { "\($0)" }
    odd = try folder.write(
      "odd.csv",
      "\(header.joined(separator: ",")),\"new\nline\",\u{1B}[31m\n\(cells.joined(separator: ","))\n"
    )
  }

  private struct Answer {
    var flags: String
    var values: [String]
  }

  private func complete(_ words: String...) throws -> Answer {
    let result = try run(
      "\(buildFolder)/tabella", ["complete", "--"] + words,
      environment: ["LC_ALL": "C.UTF-8", "XDG_DATA_HOME": folder.path], directory: folder.path)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(result.text.hasPrefix(":"))
    return Answer(
      flags: result.lines[0],
      values: result.lines.dropFirst().map { $0.components(separatedBy: "\t")[0] })
  }

  private func values(_ words: String...) throws -> [String] {
    let result = try run(
      "\(buildFolder)/tabella", ["complete", "--"] + words, environment: ["LC_ALL": "C.UTF-8"],
      directory: folder.path)
    return result.lines.dropFirst().map { $0.components(separatedBy: "\t")[0] }
  }

  // Candidates

  @Test func commandsAndOptions() throws {
    #expect(try values("co") == ["count", "completions"])
    #expect(try values("--v") == ["--version"])
    #expect(try values("show", "--sec") == ["--section-by", "--sections-by", "--section"])
    #expect(try values("show", "--json", "--j").isEmpty)
    #expect(try values("show", "--filter", "a=b", "--fil") == ["--filter"])
    #expect(try values("show", "--", "--j").isEmpty)
    #expect(try values("nothing", "").isEmpty)
    #expect(try values("help", "pr") == ["providers"])
    #expect(try values("completions", "") == ["bash", "zsh", "fish"])
    #expect(try values("completions", "bash", "").isEmpty)
  }

  @Test func choices() throws {
    #expect(try values("show", "--format", "js") == ["json", "jsonl"])
    #expect(try values("show", "--format=jsonl") == ["--format=jsonl"])
    #expect(try values("export", "--format", "").contains("csv"))
    #expect(try values("show", "--rows", "").isEmpty)
    #expect(try values("show", "--provider", "c") == ["csv"])
    #expect(try values("show", "--provider=t") == ["--provider=text"])
  }

  @Test func locations() throws {
    let all = try complete("show", "")
    #expect(all.flags.contains("files=0"))
    #expect(all.values == ["csv:", "directory:", "processes:", "text:"])
    let rest = try complete("show", "a.csv", "csv:od")
    #expect(rest.flags.contains("files=4") && rest.values.isEmpty)
    #expect(try complete("show", "other:od").flags.contains("files=0"))
    #expect(try complete("describe", "t").values == ["text", "text:"])
    #expect(try complete("describe", people, "").values.isEmpty)
  }

  @Test func providerOptions() throws {
    #expect(try values("show", people, "-o", "").contains("delimiter="))
    #expect(try values("show", people, "-o", "t") == ["types="])
    #expect(try values("show", people, "-o", "types=infer", "-o", "t").isEmpty)
    #expect(
      try values("show", people, "-o", "types=") == ["types=text", "types=infer", "types=sample"])
    #expect(try values("show", people, "-otypes=i") == ["-otypes=infer"])
    #expect(try values("show", "-o", "hea") == ["header="])
    #expect(try values("show", "--provider", "directory", "-o", "hidden=t") == ["hidden=true"])
    #expect(try values("show", "processes:", "-o", "") == ["signal=", "wait="])
  }

  @Test func columnsOfTheTable() throws {
    #expect(try values("show", people, "--columns", "") == ["name", "born"])
    #expect(try values("show", people, "--columns", "born,") == ["born,name"])
    #expect(try values("show", people, "--columns=born,n") == ["--columns=born,name"])
    #expect(try values("show", people, "--columns", "born,name,").isEmpty)
    #expect(try values("show", people, "--sort", "bo") == ["born", "born:desc", "born:asc"])
    #expect(try values("show", people, "--sort", "born:desc,na").contains("born:desc,name:desc"))
    #expect(try values("count", people, "--section-by", "name:l") == ["name:letter"])
    #expect(try values("show", "processes:", "--section-by", "pid:") == ["pid:size"])
    #expect(try values("show", people, "--filter", "") == ["name", "born"])
    #expect(try values("show", people, "--filter", "born <") == ["born <", "born <="])
    #expect(try values("show", people, "--filter", "born!") == ["born!=", "born!~"])
    #expect(try values("show", people, "processes:", "--columns", "p") == ["pid", "parent"])
  }

  @Test func titles() throws {
    let notes = try folder.write("notes.md", "# Zoo\na\n# 12\nb\n# Ape\nc\n")
    let headings = try values("show", notes, "-o", "sections=headings", "--section", "")
    #expect(headings == ["Zoo", "title:12", "Ape"])
    for heading in headings {
      let result = try run(
        "\(buildFolder)/tabella",
        ["count", notes, "-o", "sections=headings", "--section", heading])
      #expect(result.text == "1\n")
    }
    #expect(try values("show", notes, "-o", "sections=headings", "--at-index", "A") == ["Ape"])
    #expect(
      try values("count", people, "--section-by", "name", "--section", "") == ["Ada", "Grace"])
    #expect(
      try values("count", people, "--section-by", "name", "--filter", "born>1900", "--section", "")
        .contains("Grace"))
    var many = ""
    for number in 0..<1000 { many += "# h\(number)\nx\n" }
    let file = try folder.write("many.md", many)
    let offered = try values("show", file, "-o", "sections=headings", "--section", "")
    #expect((100...1000).contains(offered.count))
  }

  /// Every offered column makes a valid command line, for all names.
  @Test func whatIsOfferedIsAccepted() throws {
    func accepted(_ option: String, _ value: String) throws {
      let result = try run(
        "\(buildFolder)/tabella", ["export", odd, option, value], environment: ["LC_ALL": "C.UTF-8"]
      )
      #expect(result.status == 0, "\(option) \(value): \(result.errors)")
    }
    let columns = try values("export", odd, "--columns", "")
    #expect(columns == Self.oddNames)
    for column in columns {
      try accepted("--columns", column)
      if let next = try values("export", odd, "--columns", column + ",").last {
        try accepted("--columns", next)
      }
      let sorts = try values("export", odd, "--sort", column)
      #expect(sorts.contains(column + ":desc"))
      try accepted("--sort", sorts.last ?? "")
      let groups = try values("export", odd, "--section-by", column)
      #expect(groups.contains(column))
      try accepted("--section-by", groups.last ?? "")
      // If a name continues like an operator, the longest form counts.
      let conditions = try values("export", odd, "--filter", column)
      try accepted("--filter", (conditions.last ?? "") + " 1")
    }
  }

  // Files that stay closed

  /// Completion does not open a pipe: its writer still waits.
  @Test func opensNoPipe() throws {
    let result = try run(
      "/bin/sh",
      [
        "-c",
        """
        mkfifo p.csv; (exec 3> p.csv; touch opened; echo a >&3) &
        '\(buildFolder)/tabella' complete -- show p.csv --columns ''
        '\(buildFolder)/tabella' complete -- show csv:p.csv --columns ''
        '\(buildFolder)/tabella' complete -- show p.csv -o ''
        test -e opened && echo OPENED
        cat p.csv > /dev/null
        """,
      ], directory: folder.path)
    #expect(!result.text.contains("OPENED") && result.errors.isEmpty, "\(result.text)")
  }

  /// Completion does not read standard input, under any name.
  @Test(arguments: ["-", "/dev/stdin", "/proc/self/fd/0", "csv:/dev/stdin"])
  func readsNoInput(_ location: String) throws {
    let result = try run(
      "/bin/sh",
      [
        "-c",
        "{ '\(buildFolder)/tabella' complete -- show \(location) --provider csv --columns ''; cat; } < people.csv",
      ], directory: folder.path)
    #expect(result.text.hasSuffix("name,born\nAda,1815\nGrace,1906\n"), "\(result.text)")
    #expect(!result.text.contains("text"))
  }

  @Test(arguments: [
    [], [""], ["show", "/nowhere/a.csv", "--columns", ""], ["show", "gone:", "--columns", ""],
    ["show", "/dev/zero", "--columns", ""], ["show", "", "--columns", ""],
    ["show", "csv:/tmp", "--sort", ""], ["show", "-o", "x=1", "/etc/passwd", "--columns", ""],
    ["show", "--provider", "none", "-o", ""], ["--help", "--"], ["show", "--rows", "x", "--form"],
    ["show", "--bogus", "--bogus=", ""], ["complete", ""],
  ])
  func neverFails(_ words: [String]) throws {
    let result = try run("\(buildFolder)/tabella", ["complete", "--"] + words)
    #expect(result.status == 0 && result.errors.isEmpty)
  }

  // The shells

  /// A program `tabella` that passes completion requests to the real one, and otherwise records its arguments.
  private func recorder() throws -> [String: String] {
    let bin = folder.path + "/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    let script = """
      #!/bin/sh
      case $1 in complete|completions) exec '\(buildFolder)/tabella' "$@" ;; esac
      { printf '%s\\n' "$@"; echo END; } > '\(folder.path)/said'
      """
    try folder.write("bin/tabella", script + "\n")
    chmod(bin + "/tabella", 0o755)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return ["PATH": "\(bin):\(path)", "LC_ALL": "C.UTF-8", "HOME": folder.path]
  }

  /// Types lines into a shell on a terminal, each followed by a tab and Enter. Returns the arguments that the program
  /// received.
  private func type(_ lines: [String], into command: [String], setup: String) throws -> [[String]] {
    let environment = try recorder()
    let script = """
      import json, os, pty, select, sys, time
      command, setup, lines, said = json.loads(sys.argv[1])
      pid, terminal = pty.fork()
      if pid == 0:
          os.environ.update(TERM="dumb", PS1="@@ ", PROMPT="@@ ", HISTFILE="/dev/null")
          os.execvp(command[0], command)
      seen = b""
      def read(done):
          global seen
          end = time.time() + 30
          while not done() and time.time() < end:
              if select.select([terminal], [], [], 0.05)[0]:
                  try: seen += os.read(terminal, 65536)
                  except OSError: return
      def prompted(): return seen.rstrip(b"\\x1b[?2004hJK").endswith(b"@@ ")
      def typed(text):
          global seen
          seen = b""
          os.write(terminal, text.encode())
      read(prompted)
      typed(setup + "; echo rea''dy\\n")
      read(lambda: b"ready" in seen and prompted())
      heard = []
      for line in lines:
          if os.path.exists(said): os.unlink(said)
          typed(line + "\\n")
          def ended(): return os.path.exists(said) and open(said).read().endswith("END\\n")
          read(ended)
          if not ended(): typed("\\x03")
          heard.append(open(said).read().splitlines()[:-1] if ended() else [])
          read(prompted)
      print(json.dumps(heard))
      os.close(terminal)
      """
    let arguments = try JSONSerialization.data(
      withJSONObject: [command, setup, lines, folder.path + "/said"])
    let result = try run(
      findProgram("python3"), ["-c", script, String(decoding: arguments, as: UTF8.self)],
      environment: environment,
      directory: folder.path)
    #expect(result.status == 0, "\(result.errors)")
    return try #require(try JSONSerialization.jsonObject(with: result.output) as? [[String]])
  }

  /// The text in front of the tab, and the resulting arguments, for all necessary quotes.
  static let typed: [(String, [String])] = [
    ("tabella sho\t", ["show"]),
    ("tabella show pro\t", ["show", "processes:"]),
    ("tabella show csv:peo\t", ["show", "csv:people.csv"]),
    ("tabella show my\t", ["show", "my file.csv"]),
    ("tabella show my\\ f\t --json", ["show", "my file.csv", "--json"]),
    ("tabella show deep/\t", ["show", "deep/in ner.csv"]),
    ("tabella show --format=mark\t", ["show", "--format=markdown"]),
    ("tabella show people.csv -o typ\tinfer", ["show", "people.csv", "-o", "types=infer"]),
    ("tabella show people.csv -o types=in\t", ["show", "people.csv", "-o", "types=infer"]),
    ("tabella show people.csv --sort born:d\t", ["show", "people.csv", "--sort", "born:desc"]),
    ("tabella show people.csv --sort=born:d\t", ["show", "people.csv", "--sort=born:desc"]),
    ("tabella show people.csv --columns=name,b\t", ["show", "people.csv", "--columns=name,born"]),
    ("tabella show odd.csv --columns two\t", ["show", "odd.csv", "--columns", "two words"]),
    ("tabella show odd.csv --columns it\t", ["show", "odd.csv", "--columns", "it's"]),
    ("tabella show odd.csv --columns say\t", ["show", "odd.csv", "--columns", "say \"x\""]),
    ("tabella show odd.csv --columns \\$H\t", ["show", "odd.csv", "--columns", "$HOME"]),
    ("tabella show odd.csv --columns \\`\t", ["show", "odd.csv", "--columns", "`id`"]),
    ("tabella show odd.csv --columns \\<\t", ["show", "odd.csv", "--columns", "<>|;&()"]),
    ("tabella show odd.csv --columns back\t", ["show", "odd.csv", "--columns", "back\\slash"]),
    ("tabella show odd.csv --columns plain,d\t", ["show", "odd.csv", "--columns", "plain,d:size"]),
    ("tabella show 'my file.csv' --columns na\t", ["show", "my file.csv", "--columns", "name"]),
  ]

  /// Creates files whose names need quotes. One name would be a command without quotes.
  private func prepare() throws {
    try folder.write("my file.csv", "name,born\n")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/deep", withIntermediateDirectories: true)
    try folder.write("deep/in ner.csv", "name\n")
  }

  @Test(.needs("python3")) func bashTypes() throws {
    try prepare()
    let quoted: [(String, [String])] = [
      ("tabella show 'my\t", ["show", "my file.csv"]),
      ("tabella show odd.csv --columns 'it\t", ["show", "odd.csv", "--columns", "it's"]),
      ("tabella show odd.csv --columns \"say\t", ["show", "odd.csv", "--columns", "say \"x\""]),
      ("tabella show odd.csv --columns 'owl\t", ["show", "odd.csv", "--columns", "owls'"]),
      ("tabella show odd.csv --columns \"\\$H\t", ["show", "odd.csv", "--columns", "$HOME"]),
      ("tabella show people.csv --sort 'born:d\t", ["show", "people.csv", "--sort", "born:desc"]),
    ]
    let cases = Self.typed + quoted
    let heard = try type(
      cases.map(\.0), into: [try findProgram("bash"), "--norc", "--noprofile", "-i"],
      setup: "bind 'set enable-bracketed-paste off'; source <(tabella completions bash)")
    for (typed, heard) in zip(cases, heard) { #expect(heard == typed.1, "\(typed.0)") }
  }

  @Test(.needs("zsh", "python3")) func zshTypes() throws {
    try prepare()
    let quoted: [(String, [String])] = [
      ("tabella show odd.csv --columns 'it\t'", ["show", "odd.csv", "--columns", "it's"]),
      ("tabella show odd.csv --columns \"say\t\"", ["show", "odd.csv", "--columns", "say \"x\""]),
    ]
    let cases = Self.typed + quoted
    let heard = try type(
      cases.map(\.0), into: [try findProgram("zsh"), "-f", "-i"],
      setup:
        "unset zle_bracketed_paste; unsetopt prompt_sp; autoload -U compinit; compinit -D -u; source <(tabella completions zsh)"
    )
    for (typed, heard) in zip(cases, heard) { #expect(heard == typed.1, "\(typed.0)") }
  }

  @Test(.needs("fish")) func fishCompletes() throws {
    try prepare()
    let environment = try recorder()
    let cases: [(String, [String])] = [
      ("tabella sh", ["show"]), ("tabella show my", ["my file.csv"]),
      ("tabella show 'my", ["my file.csv"]), ("tabella show csv:peo", ["csv:people.csv"]),
      ("tabella show deep/", ["deep/in ner.csv"]),
      ("tabella show --format=mark", ["--format=markdown"]),
      ("tabella show people.csv -o types=", ["types=text", "types=infer", "types=sample"]),
      ("tabella show people.csv --sort=born:d", ["--sort=born:desc"]),
      ("tabella show my\\ file.csv --columns name,", ["name,born"]),
      ("tabella show odd.csv --columns 'tw", ["two words"]),
      ("tabella show odd.csv --columns \"it", ["it's"]),
      ("tabella show odd.csv --columns \\$", ["$HOME"]),
      ("tabella show odd.csv --columns é", ["é日本"]),
      ("tabella show nowhere.csv --columns ", []),
    ]
    let script =
      "tabella completions fish | source; for line in $argv; complete -C $line; echo ==; end"
    let result = try run(
      try findProgram("fish"), ["--no-config", "-c", script] + cases.map(\.0),
      environment: environment,
      directory: folder.path)
    #expect(result.errors.isEmpty, "\(result.errors)")
    let answers = result.text.components(separatedBy: "==\n")
    for (typed, answer) in zip(cases, answers) {
      let values = answer.split(separator: "\n").map { $0.components(separatedBy: "\t")[0] }
      #expect(values == typed.1, "\(typed.0)")
    }
  }

  // The shells accept the scripts.
  @Test func bashParses() throws { try expectParses("bash") }
  @Test(.needs("zsh")) func zshParses() throws { try expectParses("zsh") }
  @Test(.needs("fish")) func fishParses() throws { try expectParses("fish") }

  private func expectParses(_ shell: String) throws {
    let script = try run("\(buildFolder)/tabella", ["completions", shell])
    #expect(script.status == 0)
    let file = try folder.write("script", script.text)
    let checked = try run(findProgram(shell), ["-n", file])
    #expect(checked.status == 0 && checked.errors.isEmpty)
  }

  @Test func otherShellsAreRefused() throws {
    let unknown = try run("\(buildFolder)/tabella", ["completions", "tcsh"])
    #expect(unknown.status == 2 && unknown.errors.contains("bash, zsh, fish"))
  }
}
