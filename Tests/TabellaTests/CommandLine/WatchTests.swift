import Foundation
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// `show --watch` on a real terminal: the screen of tmux.
@Suite(.needs("tmux", "env")) struct WatchTests {
  /// A tmux with one window, in which a shell runs, and a table that this test changes.
  final class Window {
    let folder = try! TemporaryFolder()
    let pipe: String
    private let tmux: String
    private let commands: Int32

    init(width: Int = 50, height: Int = 10, flags: [String] = []) throws {
      tmux = try findProgram("tmux")
      pipe = try FollowTests.install(in: folder, flags: flags)
      commands = open(pipe, O_RDWR | O_CLOEXEC)
      try folder.write("tmux.conf", "set -g status off\n")
      // The server would keep the descriptors by which `Process` notices the end of a program.
      let server = try spawn(
        [try findProgram("env")] + environment.map { "\($0)=\($1)" } + [
          tmux, "-L", "watch", "-f", "\(folder.path)/tmux.conf", "-u", "new-session", "-d", "-x",
          "\(width)", "-y", "\(height)", "env --default-signal sh",
        ])
      reap(server)
      type("PS1='$ '; cd \(folder.path); clear")
      expect("the prompt") { $0.first == "$" }
    }

    deinit {
      _ = try? tell("kill-server")
      close(commands)
    }

    private var environment: [String: String] {
      [
        "TMUX_TMPDIR": folder.path, "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "PATH": "\(buildFolder):\(searchPath)", "TABELLA_PROVIDER_PATH": folder.path,
      ]
    }

    @discardableResult
    private func tell(_ words: String...) throws -> ProgramResult {
      try run(tmux, ["-L", "watch"] + words, environment: environment)
    }

    func type(_ line: String) { _ = try? tell("send-keys", "-l", line + "\n") }
    func press(_ key: String) { _ = try? tell("send-keys", key) }
    func resize(_ width: Int, _ height: Int) throws {
      try tell("resize-window", "-x", "\(width)", "-y", "\(height)")
    }

    func change(_ lines: String...) {
      let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
      #expect(write(commands, bytes, bytes.count) == bytes.count)
    }

    /// The lines of the screen, without blanks at their ends.
    var screen: [String] {
      let text = (try? tell("capture-pane", "-p").text) ?? ""
      return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        String(line.reversed().drop { $0 == " " }.reversed())
      }
    }

    /// Waits until the screen satisfies a condition, for at most 20 seconds.
    func expect(
      _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
      _ holds: ([String]) -> Bool
    ) {
      let end = Date().addingTimeInterval(20)
      while Date() < end {
        if holds(screen) { return }
        usleep(20_000)
      }
      Issue.record("\(what): \(screen.joined(separator: "\n"))", sourceLocation: sourceLocation)
    }

    /// Whether a program shows the alternate screen, and whether the cursor is visible.
    var state: String {
      (try? tell("display-message", "-p", "#{alternate_on} #{cursor_flag}").lines.first) ?? ""
    }
  }

  /// The rows appear, and changes with their marks. The closing line counts them. Leaving restores the terminal.
  @Test(arguments: [(50, 10), (30, 6)]) func changesAreMarked(_ width: Int, _ height: Int) throws {
    let window = try Window(width: width, height: height)
    window.type("stty -a > before; tabella show live:pipe --watch --in-process; echo status $?")
    window.expect("the rows") { $0.contains { $0.hasPrefix("  second") } }
    #expect(window.state == "1 0")
    #expect(window.screen[0] == "  word    length")
    #expect(window.screen[height - 1].hasSuffix("q quits"))
    window.change("^front,", "=2 changed,", "-1")
    window.expect("the marks") {
      $0.contains { $0.hasPrefix("+ front ") } && $0.contains { $0.hasPrefix("~ changed") }
        && !$0.contains { $0.contains("first") }
    }
    window.expect("the counts") { $0[height - 1].hasPrefix("+1  ~1  ") }
    if width >= 50 {
      window.expect("the deleted row") { $0[height - 1].hasPrefix("+1  ~1  −1  live:pipe") }
    }
    // Marks last until the next change.
    window.change("+last")
    window.expect("the next marks") {
      $0.contains { $0.hasPrefix("+ last ") } && $0.contains { $0.hasPrefix("  front ") }
    }
    window.press("q")
    window.expect("the shell") { $0.contains { $0.hasSuffix("status 0") } }
    #expect(window.state == "0 1")
    window.type("stty -a | cmp - before && echo 'sa'me")
    window.expect("the terminal's modes") { $0.contains("same") }
  }

  /// Ctrl-C ends with status 130 and a restored terminal. So do other signals, with theirs.
  @Test(arguments: [("C-c", "130"), ("TERM", "143"), ("HUP", "129")])
  func signalsRestoreTheTerminal(_ signal: String, _ status: String) throws {
    let window = try Window()
    window.type(
      "stty -a > before; sh -c 'echo $$ > pid; exec tabella show live:pipe --watch --in-process'; echo status $?"
    )
    window.expect("the rows") { $0.contains { $0.hasPrefix("  second") } }
    if signal == "C-c" {
      window.press(signal)
    } else {
      let pid = try #require(
        pid_t(String(decoding: window.folder.read("pid").dropLast(), as: UTF8.self)))
      kill(pid, signal == "TERM" ? SIGTERM : SIGHUP)
    }
    window.expect("the end") { _ in window.state == "0 1" }
    window.type("echo status $?")
    window.expect("the status") { $0.contains { $0.hasSuffix("status \(status)") } }
    window.type("stty -a | cmp - before && echo 'sa'me")
    window.expect("the terminal's modes") { $0.contains("same") }
  }

  /// Ctrl-Z gives the shell its terminal, and `fg` draws again.
  @Test func aStoppedWatchContinues() throws {
    let window = try Window()
    window.type("set -m; tabella show live:pipe --watch --in-process; echo status $?")
    window.expect("the rows") { $0.contains { $0.hasPrefix("  second") } }
    window.press("C-z")
    window.expect("the shell") { $0.contains { $0.contains("topped") } }
    #expect(window.state == "0 1")
    window.type("fg")
    window.expect("the rows again") { $0.contains { $0.hasPrefix("  second") } }
    #expect(window.state == "1 0")
    window.press("q")
    window.expect("the end") { _ in window.state == "0 1" }
  }

  /// A signal to a stopped program restored the terminal once more, which stopped the program again.
  @Test func aStoppedWatchIsEndedByASignal() throws {
    let window = try Window()
    window.type("set -m; tabella show live:pipe --watch --in-process")
    window.expect("the rows") { $0.contains { $0.hasPrefix("  second") } }
    window.press("C-z")
    window.expect("the shell") { $0.contains { $0.contains("topped") } }
    window.type("clear; kill %1; kill -CONT %1; sleep 1; jobs")
    window.expect("the end") { $0.contains { $0.contains("Terminated") } }
    #expect(window.state == "0 1")
  }

  /// Another size of the terminal draws again. Only the rows that fit are shown.
  @Test func anotherSizeIsDrawnAgain() throws {
    let window = try Window(width: 50, height: 10)
    window.type("tabella show live:pipe --watch --in-process --filter 'length > 0'")
    window.expect("the rows") { $0.contains { $0.contains("second") } }
    window.change("+third", "+fourth", "+fifth", "+sixth", "+seventh", "+eighth", "+ninth")
    window.expect("as many as fit") {
      $0.contains { $0.contains("seventh") } && !$0.contains { $0.contains("eighth") }
    }
    try window.resize(40, 14)
    window.expect("all rows") { $0.contains { $0.contains("ninth") } && $0[13].contains("q quits") }
    try window.resize(40, 5)
    window.expect("two rows") { $0[2].contains("first") && $0[4].hasSuffix("q quits") }
  }

  /// A summary could be computed once, but not watched.
  @Test func aSummaryIsRedrawn() throws {
    let window = try Window(width: 60, height: 8)
    window.type("tabella summarize live:pipe --compute 'rows, sum length' --watch --in-process")
    window.expect("the sum") { $0.contains { $0.split(separator: " ") == ["2", "11"] } }
    window.change("+third")
    window.expect("the new sum") { $0.contains { $0.split(separator: " ") == ["~", "3", "16"] } }
    window.press("q")
    window.expect("the end") { _ in window.state == "0 1" }
  }

  /// If the provider fails, the rows stay, and the closing line has the error. Another attempt succeeds.
  @Test func aFailureIsTriedAgain() throws {
    let window = try Window(width: 70, height: 8)
    window.type("tabella show live:pipe --watch=1 --in-process")
    window.expect("the rows") { $0.contains { $0.hasPrefix("  second") } }
    window.change("!the pump is broken")
    window.expect("the error and the rows") {
      $0[7].hasPrefix("the pump is broken") && $0.contains { $0.hasPrefix("  second") }
    }
    // The table is opened again, and works.
    window.expect("the summary") { $0[7].contains("2 rows, 2 columns") }
    window.change("+third")
    window.expect("a new row") { $0.contains { $0.hasPrefix("+ third") } }
  }

  /// A table without changes is opened again and again. Its missing file is an error until it is back.
  @Test func aTableWithoutChangesIsOpenedAgain() throws {
    let window = try Window(width: 70, height: 8, flags: ["-DWITHOUT_CHANGES"])
    try window.folder.write("rows", "a 1\nb 2\n")
    window.type("tabella show live:rows --watch=0.2 --in-process")
    window.expect("the rows") { $0.contains { $0.hasPrefix("  b 2") } }
    try window.folder.write("rows", "a 1\nb 3\nc 4\n")
    window.expect("the marks") {
      $0.contains { $0.hasPrefix("~ b 3") } && $0.contains { $0.hasPrefix("+ c 4") }
    }
    try FileManager.default.removeItem(atPath: window.folder.path + "/rows")
    window.expect("the error") {
      $0[7].hasPrefix("rows is gone") && $0.contains { $0.hasPrefix("~ b 3") }
    }
    try window.folder.write("rows", "d 5\n")
    window.expect("the rows again") { $0.contains { $0.hasPrefix("  d 5") } }
    window.press("C-c")
    window.expect("the end") { _ in window.state == "0 1" }
  }

  /// Options that need another place are usage errors.
  @Test func watchingNeedsATerminal() throws {
    let folder = try TemporaryFolder()
    try folder.write("x.csv", "a\n1\n")
    let piped = try run(
      "\(buildFolder)/tabella", ["show", "x.csv", "--watch"], directory: folder.path)
    #expect(piped.status == 2 && piped.errors.contains("--watch works only on a terminal"))
    for (options, message) in [
      (["--watch=x"], "must be a number of seconds from 0.1 to 86400"),
      (["--watch", "--format", "csv"], "--watch works with table and vertical"),
    ] {
      let shown = try runOnTerminal(
        "\(buildFolder)/tabella", ["show", "x.csv"] + options, width: 80,
        environment: ["TERM": "xterm"], directory: folder.path)
      #expect(shown.status == 2 && shown.text.contains(message), "\(shown.text)")
    }
    let stream = try runOnTerminal(
      "\(buildFolder)/tabella", ["show", "/dev/stdin", "-", "--watch"], width: 80,
      environment: ["TERM": "xterm"])
    #expect(stream.status == 2 && stream.text.contains("--watch cannot open a stream again"))
    let dumb = try runOnTerminal(
      "\(buildFolder)/tabella", ["show", "x.csv", "--watch"], width: 80, directory: folder.path)
    #expect(dumb.status == 2 && dumb.text.contains("--watch works only on a terminal"))
  }
}

@Suite struct RowMarkTests {
  /// The closing line of `--watch` counted no rows that came or went with their section.
  @Test func rowsOfSectionsAreCounted() throws {
    func at(_ section: Int, _ row: Int) -> Tabella.IndexPath {
      Tabella.IndexPath(section: section, row: row)
    }
    let marks = try RowMarks(
      [
        .delete(.section(0)), .insert(.section(2)), .delete(at(1, 0)), .insert(at(1, 0)),
        .reload(.section(3)),
      ], rowsBefore: [3, 2, 4, 5], rowsAfter: [2, 5, 7, 6])
    #expect(marks.removedCount == 3 + 1 + 5 && marks.insertedCount == 7 + 1 + 6)
    #expect(marks[at(2, 6)] == .inserted && marks[at(1, 0)] == .inserted)
    #expect(marks[at(3, 0)] == .inserted && marks[at(0, 0)] == nil)
  }
}
