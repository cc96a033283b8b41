import Foundation
import Testing

@testable import TabellaTestSupport

/// `show --follow` as a user runs it, over a provider whose table the test changes through a named pipe.
@Suite(.needs("env")) struct FollowTests {
  /// A running `tabella` with a table that this test changes.
  final class Running {
    let folder = try! TemporaryFolder()
    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    private let commands: Int32
    private(set) var shown = ""

    init(_ arguments: [String]) throws {
      let pipe = try FollowTests.install(in: folder)
      commands = open(pipe, O_RDWR | O_CLOEXEC)
      // The tests can run with SIGINT ignored.
      process.executableURL = URL(fileURLWithPath: try findProgram("env"))
      process.arguments =
        ["--default-signal", "\(buildFolder)/tabella", "show", "live:\(pipe)", "--in-process"]
        + arguments
      process.environment = inheritedEnvironment.merging([
        "LC_ALL": "C.UTF-8", "TABELLA_PROVIDER_PATH": folder.path,
      ]) { $1 }
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      process.standardError = errors
      try process.start()
    }

    deinit {
      if process.isRunning { process.terminate() }
      close(commands)
    }

    /// Sends commands to the provider; see live.c.
    func change(_ lines: String...) {
      let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
      #expect(write(commands, bytes, bytes.count) == bytes.count)
    }

    /// Reads the output until it contains a text, for at most 30 seconds.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
      let file = output.fileHandleForReading
      let end = Date().addingTimeInterval(30)
      while !shown.contains(text), Date() < end {
        var ready = pollfd(fd: file.fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 1000) > 0 else { continue }
        let data = file.availableData
        if data.isEmpty { break }
        shown += String(decoding: data, as: UTF8.self)
      }
      #expect(shown.contains(text), "\(shown)", sourceLocation: sourceLocation)
    }

    func closeOutput() throws { try output.fileHandleForReading.close() }

    /// Waits for the end of the program. Returns its messages.
    func end(
      _ status: Int32, by reason: Process.TerminationReason = .exit,
      sourceLocation: SourceLocation = #_sourceLocation
    ) -> String {
      let end = Date().addingTimeInterval(30)
      while process.isRunning, Date() < end { usleep(5000) }
      #expect(!process.isRunning, sourceLocation: sourceLocation)
      if process.isRunning { process.terminate() }
      process.waitForEnd()
      #expect(process.terminationStatus == status, sourceLocation: sourceLocation)
      #expect(process.terminationReason == reason, sourceLocation: sourceLocation)
      return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// The processor time that the program has used, in seconds.
    var time: Double {
      let text =
        (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8))
        ?? ""
      let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
        return .infinity
      }
      return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }

  /// Compiles the provider with its manifest, and makes its pipe. Returns the path of the pipe.
  static func install(in folder: TemporaryFolder, flags: [String] = []) throws -> String {
    _ = try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/live.c", into: folder, name: "live.so",
      flags: ["-Wl,-z,nodelete", "-D_GNU_SOURCE", "-pthread"] + flags)
    try folder.write(
      "live.tabella.json",
      #"{"id": "live", "version": "1", "contract": "0.9", "library": "live.so", "schemes": ["live"]}"#
    )
    let pipe = folder.path + "/pipe"
    guard mkfifo(pipe, 0o600) == 0 else { throw MissingTool("a named pipe") }
    return pipe
  }

  /// Each format prints an arriving row in its own form.
  static let formats: [(format: String, row: String)] = [
    ("table", "\nthird        5\n"), ("plain", "third\t5\n"), ("csv", "third,5\n"),
    ("tsv", "third\t5\n"), ("vertical", "0:2"),
    (
      "jsonl",
      #"{"change":"insert","section":0,"row":2,"id":"2","cells":{"word":"third","length":5}}"#
        + "\n"
    ),
  ]

  /// The existing rows come first, then each row as soon as it arrives.
  @Test(arguments: formats) func rowsAppearAsTheyArrive(_ format: String, _ row: String) throws {
    let running = try Running(["--follow", "--format", format])
    running.expect("second")
    running.change("+third")
    running.expect(row)
    running.change("+a much longer word than all before it")
    running.expect("a much longer word than all before it")
    running.change("+fifth")
    running.expect("fifth")
    #expect(running.shown.components(separatedBy: "third").count == 2)
    running.process.interrupt()
    #expect(running.end(SIGINT, by: .uncaughtSignal).isEmpty)
  }

  /// Rows that go or get other cells print nothing in formats of rows.
  @Test func onlyNewRowsArePrinted() throws {
    let running = try Running(["--follow", "--format", "csv", "--columns", "word"])
    running.expect("second\n")
    running.change("-0,", "=0 changed,", "+third")
    running.expect("third\n")
    running.change("^front", "+back")
    running.expect("back\n")
    #expect(running.shown == "word\nfirst\nsecond\nthird\nfront\nback\n")
  }

  /// A provider that says only that something changed is compared.
  @Test func aProviderThatHidesItsChanges() throws {
    let running = try Running(["--follow", "--format", "csv", "--columns", "word"])
    running.expect("second\n")
    running.change("?")
    running.change("^front,", "+third,", "-1")
    running.expect("third\n")
    #expect(running.shown == "word\nfirst\nsecond\nfront\nthird\n")
  }

  /// Filters and groups work for arriving rows. After rows of another group, a title appears again.
  @Test func shapesAreLive() throws {
    let filtered = try Running(
      ["--follow", "--format", "csv", "--filter", "word ~ ^k", "--columns", "word"])
    filtered.expect("word\n")
    filtered.change("+known", "+unknown", "+kept")
    filtered.expect("kept\n")
    #expect(filtered.shown == "word\nknown\nkept\n")
    let grouped = try Running(["--follow", "--section-by", "length"])
    grouped.expect("second")
    for (word, title) in [("fifth", "── 5"), ("sixth", "sixth"), ("eighth", "── 6")] {
      grouped.change("+\(word)")
      grouped.expect("\(word)")
      #expect(grouped.shown.contains(title))
    }
    let titles = grouped.shown.split(separator: "\n").filter { $0.hasPrefix("── ") }
    #expect(titles.map { $0.split(separator: " ")[1] } == ["5", "6", "5", "6"], "\(grouped.shown)")
  }

  /// Added columns have the values of arriving rows.
  @Test func addedColumnsAreLive() throws {
    let running = try Running([
      "--follow", "--format", "csv", "--section-by", "length", "--columns", "word",
      "--with-section", "--with-row", "--with-number",
    ])
    running.expect("6,id:1,1,second\n")
    running.change("+sixth")
    running.expect("5,id:2,2,sixth\n")
    running.change("^eighth")
    running.expect("6,id:3,0,eighth\n")
  }

  /// `-n` begins with the last rows, as `tail -n` does.
  @Test(arguments: [(0, "word\n"), (1, "word\nsecond\n"), (9, "word\nfirst\nsecond\n")])
  func theLastRowsComeFirst(_ count: Int, _ start: String) throws {
    let running = try Running(
      ["--follow", "-n", "\(count)", "--format", "csv", "--columns", "word"])
    running.expect(start)
    running.change("+third")
    running.expect("third\n")
    #expect(running.shown == start + "third\n")
  }

  /// A failing provider is one line and its status.
  @Test func aProviderThatFails() throws {
    let running = try Running(["--follow", "--format", "csv"])
    running.expect("second")
    running.change("!the pump is broken")
    let errors = running.end(1)
    #expect(errors == "tabella: live:\(running.folder.path)/pipe: the pump is broken\n")
  }

  /// A reader that leaves ends the command at once, even if nothing arrives.
  @Test func aReaderThatLeavesEndsTheWait() throws {
    let running = try Running(["--follow", "--format", "csv"])
    running.expect("second")
    try running.closeOutput()
    #expect(running.end(SIGPIPE, by: .uncaughtSignal).isEmpty)
  }

  /// Waiting takes no processor time, and a row is printed at once. `make bench` has the percentiles.
  @Test func waitingIsFreeAndRowsAreFast() throws {
    let running = try Running(["--follow", "--format", "plain"])
    running.expect("second")
    usleep(200_000)
    let before = running.time
    usleep(800_000)
    #expect(running.time - before < 0.02)
    var times: [Double] = []
    for number in 0..<20 {
      let start = Date()
      running.change("+row \(number) ends")
      running.expect("row \(number) ends")
      times.append(Date().timeIntervalSince(start))
    }
    #expect(times.sorted()[10] < 0.05, "\(times)")
  }

  /// Options that make no sense with rows that arrive are usage errors, which name the command that works.
  @Test(arguments: [
    (
      ["--sort", "word"],
      "--format jsonl, because a new row can be anywhere; run: tabella show x.csv --follow --sort word --format jsonl"
    ),
    (
      ["--section-by", "a", "--sections-by", "rows"],
      "--sections-by with --follow works only with --format jsonl"
    ),
    (["--json"], "to get each change as JSON, run: tabella show x.csv --follow --format jsonl"),
    (["--format", "markdown"], "--follow works with table, vertical, plain, csv, tsv, jsonl"),
    (["--footer", "rows"], "--follow does not work with --footer; use --watch"),
    (["--style", "collection"], "--follow does not work with --style collection"),
    (["--rows", "1..3"], "because positions change; -n N begins with the last N rows"),
    (["--per-section", "2"], "because positions change"),
    (["--at-index", "A"], "because positions change"),
    (["--watch"], "--follow and --watch cannot be combined"),
    (["--format", "jsonl", "--with-row"], "--with-row does not work with --follow --format jsonl"),
  ])
  func optionsThatExcludeFollowing(_ options: [String], _ message: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("x.csv", "word,a\n1,2\n")
    let result = try run(
      "\(buildFolder)/tabella", ["show", "x.csv", "--follow"] + options, directory: folder.path)
    #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
    #expect(result.output.isEmpty)
  }

  /// A table without changes is refused with the option that works.
  @Test func aTableWithoutChanges() throws {
    let folder = try TemporaryFolder()
    _ = try Self.install(in: folder, flags: ["-DWITHOUT_CHANGES"])
    let file = try folder.write("lines", "a\nb\n")
    let result = try run(
      "\(buildFolder)/tabella", ["show", "live:\(file)", "--follow", "--in-process"],
      environment: ["TABELLA_PROVIDER_PATH": folder.path])
    #expect(result.status == 4 && result.errors.contains("reports no changes"), "\(result.errors)")
    #expect(result.errors.contains("use --watch"))
  }

  /// Standard input is followed anyway.
  @Test func standardInputSimplyWorks() throws {
    for format in ["csv", "jsonl"] {
      let running = try ArrivingInputTests.Running(
        ["show", "-", "--provider", "csv", "--follow", "--format", format])
      try running.write("a,b\n1,2\n")
      try running.expect(format == "csv" ? "1,2\n" : #""cells":{"a":"1","b":"2"}}"#)
      try running.closeInput()
      try running.expectEnd()
    }
  }
}
