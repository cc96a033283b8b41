import Foundation
import Testing

@testable import TabellaTestSupport

/// Standard input appeared at its end: `tail -f log | tabella show -` printed nothing. Now each row appears when it
/// arrives. The tests write a row after they have seen the one before it, so no test depends on times.
@Suite struct ArrivingInputTests {
  let folder = try! TemporaryFolder()

  /// A running `tabella` whose input is a pipe.
  final class Running {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private(set) var shown = ""

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
      process.executableURL = URL(fileURLWithPath: "\(buildFolder)/tabella")
      process.arguments = arguments
      process.environment = inheritedEnvironment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
        .merging(environment) { $1 }
      process.standardInput = input
      process.standardOutput = output
      try process.start()
    }

    func write(_ text: String) throws {
      try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// Reads the output until it contains a text, for at most 30 seconds.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
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

    /// Waits for the end of the program, while the input stays open.
    func expectEnd(_ status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let end = Date().addingTimeInterval(30)
      while process.isRunning, Date() < end { usleep(10_000) }
      #expect(!process.isRunning, sourceLocation: sourceLocation)
      if process.isRunning { process.terminate() }
      process.waitForEnd()
      #expect(process.terminationStatus == status, sourceLocation: sourceLocation)
      shown += String(
        decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    func closeInput() throws { try input.fileHandleForWriting.close() }
  }

  static let formats = ["table", "plain", "csv", "tsv", "jsonl", "json", "markdown", "vertical"]

  @Test(arguments: formats, ["--in-process", "--isolate"])
  func linesAppearAsTheyArrive(_ format: String, _ place: String) throws {
    let running = try Running(["show", "-", "--format", format, place])
    for word in ["first", "second", "third"] {
      try running.write("\(word)\n")
      try running.expect(word)
    }
    // Half a line is no row yet.
    try running.write("fou")
    try running.write("rth\nlast")
    try running.expect("fourth")
    #expect(!running.shown.contains("last"))
    try running.closeInput()
    try running.expectEnd()
    #expect(running.shown.contains("last"))
  }

  @Test(arguments: formats)
  func rowsOfTablesAppearAsTheyArrive(_ format: String) throws {
    for options in [
      [], ["-o", "delimiter=whitespace"], ["-o", "comment=#"], ["--filter", "a != zzz"],
    ] {
      let separator = options.contains("delimiter=whitespace") ? "  " : ","
      let running = try Running(
        ["show", "-", "--provider", "csv", "--format", format] + options)
      try running.write("a\(separator)b\nfirst\(separator)1\n")
      try running.expect("first")
      for word in ["second", "third"] {
        try running.write("zzz\(separator)2\n\(word)\(separator)3\n")
        try running.expect(word)
      }
      try running.closeInput()
      try running.expectEnd()
      #expect(running.shown.contains("zzz") == !options.contains("--filter"))
    }
  }

  /// `(seq 3; sleep 3) | tabella show - -n 2` waited for the end of its input.
  @Test(arguments: [2, 3], ["--in-process", "--isolate"])
  func enoughRowsAreEnough(_ lines: Int, _ place: String) throws {
    let running = try Running(["show", "-", "-n", "2", "--format", "csv", place])
    try running.write((1...lines).map { "\($0)\n" }.joined())
    try running.expectEnd()
    #expect(running.shown == "line\n1\n2\n")
    try running.closeInput()
  }

  /// A converted text arrives, too.
  @Test func encodedLinesAppearAsTheyArrive() throws {
    let running = try Running(["show", "-", "--format", "plain", "-o", "encoding=UTF-16LE"])
    for word in ["first", "second"] {
      try running.write(word.map { "\($0)\0" }.joined() + "\n\0")
      try running.expect(word + "\n")
    }
    try running.closeInput()
    try running.expectEnd()
  }

  /// The first bytes choose the provider, and without a claim the input is text. Before, `-` needed a provider.
  @Test func theFirstBytesChoose() throws {
    try folder.write(
      "magic.tabella.json",
      """
      {"id":"magic","version":"1","contract":"0.9","library":"absent.so",
       "magic":[{"offset":2,"bytes":"4d41474943"}]}
      """)
    let environment = ["TABELLA_PROVIDER_PATH": folder.path]
    // The claim is recognised even if its bytes arrive one after the other. Its provider is refused.
    let claimed = try Running(["show", "-"], environment: environment)
    for letter in "..MAGIC" { try claimed.write("\(letter)") }
    try claimed.write("\n")
    try claimed.closeInput()
    try claimed.expectEnd(3)
    let other = try Running(
      ["show", "-", "--format", "plain"], environment: environment)
    try other.write("..MAGI\n")
    try other.expect("..MAGI")
    try other.closeInput()
    try other.expectEnd()
    let empty = try run("\(buildFolder)/tabella", ["count", "-"], environment: environment)
    #expect(empty.status == 0 && empty.text == "0\n")
  }
}
