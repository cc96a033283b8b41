import Foundation
import Testing

@testable import TabellaTestSupport

/// Standard input and output are open files that other programs can share, and that this program may be unable to open
/// again. `-` opened `/dev/stdin`, so sockets and files of other users failed, and rows that another program had already
/// read came again.
@Suite struct SharedStreamTests {
  let folder = try! TemporaryFolder()

  /// Runs a shell line in the folder.
  private func shell(_ line: String) throws -> ProgramResult {
    try run(
      "/bin/bash", ["-c", line],
      environment: ["PATH": "\(buildFolder):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"],
      directory: folder.path)
  }

  static let places = ["--in-process", "--isolate"]

  @Test(arguments: places)
  func theRestOfAnInputIsRead(_ place: String) throws {
    try folder.write("a.csv", (0..<50_000).map { "\($0),x\n" }.joined())
    for lines in [0, 1, 7, 40_000] {
      let read = "(for ((i = 0; i < \(lines); i++)); do read -r line; done;"
      let export =
        "tabella export - --provider csv -o header=false --no-header --format csv \(place)"
      let result = try shell("cmp <(\(read) \(export)) < a.csv) <(\(read) cat) < a.csv)")
      #expect(result.status == 0 && result.errors.isEmpty, "\(lines): \(result)")
    }
  }

  /// A descriptor that only writes was opened again and read.
  @Test func anInputThatOnlyWritesIsRefused() throws {
    try folder.write("a.csv", "a\n1\n")
    let result = try shell("tabella count - 0>> a.csv")
    #expect(result.status == 1 && result.errors.contains("for writing only"), "\(result)")
  }

  /// Runs a program whose standard input or output is one end of a pair of sockets, or of a pipe.
  private func start(
    _ arguments: [String], input: FileHandle, output: FileHandle
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "\(buildFolder)/tabella")
    process.arguments = arguments
    process.environment = inheritedEnvironment.merging(["XDG_STATE_HOME": folder.path + "/state"]) {
      $1
    }
    process.standardInput = input
    process.standardOutput = output
    try process.start()
    return process
  }

  @Test func aSocketIsRead() throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (ours, theirs) = (
      FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
      FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    )
    // Others that share a socket can make it non-blocking.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    let output = Pipe()
    let process = try start(
      ["show", "-", "--provider", "csv", "--format", "csv"], input: theirs,
      output: output.fileHandleForWriting)
    try ours.write(contentsOf: Data("a,b\n1,x\n".utf8))
    usleep(200_000)
    try ours.write(contentsOf: Data("2,y\n".utf8))
    shutdown(ends[0], Int32(SHUT_WR))
    try output.fileHandleForWriting.close()
    let text = String(
      decoding: try #require(try output.fileHandleForReading.readToEnd()), as: UTF8.self)
    process.waitForEnd()
    #expect(process.terminationStatus == 0 && text == "a,b\n1,x\n2,y\n", "\(text)")
  }

  /// The rest of the output was lost.
  @Test func aNonBlockingOutputIsComplete() throws {
    let rows = (0..<100_000).map { "\($0),some text\n" }.joined()
    try folder.write("a.csv", "a,b\n" + rows)
    let output = Pipe()
    let write = output.fileHandleForWriting
    _ = fcntl(write.fileDescriptor, F_SETFL, O_WRONLY | O_NONBLOCK)
    let process = try start(
      ["export", folder.path + "/a.csv", "--format", "csv"], input: .nullDevice, output: write)
    try write.close()
    usleep(200_000)
    let text = try #require(try output.fileHandleForReading.readToEnd())
    process.waitForEnd()
    #expect(process.terminationStatus == 0)
    #expect(String(decoding: text, as: UTF8.self) == "a,b\n" + rows)
  }

  /// A batch from a pipe that was still empty could not be read.
  @Test func aNonBlockingBatchIsApplied() throws {
    try folder.write("a.csv", "a,b\n1,x\n")
    let (input, output) = (Pipe(), Pipe())
    let read = input.fileHandleForReading
    _ = fcntl(read.fileDescriptor, F_SETFL, O_NONBLOCK)
    let process = try start(
      ["apply", folder.path + "/a.csv", "-", "--yes"], input: read,
      output: output.fileHandleForWriting)
    usleep(200_000)
    let line = #"{"op":"set","row":"0:0","cells":{"b":"y"}}"# + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
    try input.fileHandleForWriting.close()
    process.waitForEnd()
    #expect(process.terminationStatus == 0)
    #expect(try folder.read("a.csv") == Array("a,b\n1,y\n".utf8))
  }

  /// With a umask for the owner, nobody but root could read the receipt or enter its folder, so the edit could not be undone.
  @Test func aUmaskLeavesTheOwnersRights() throws {
    try folder.write("a.csv", "a,b\n1,x\n")
    let done = try shell(
      "export XDG_STATE_HOME=$PWD/state; umask 0777; tabella set a.csv 0 b=y --yes; umask 022; "
        + "find state -printf '%m %y\\n' | sort -u; tabella undo a.csv --yes; cat a.csv")
    #expect(done.status == 0 && done.text.contains("600 f\n700 d\n"), "\(done)")
    #expect(done.text.hasSuffix("a,b\n1,x\n"), "\(done)")
  }

  /// Advice with such a name named another file.
  @Test func adviceQuotesCharactersThatMessagesEscape() throws {
    for name in ["a\u{202E}b.csv", "a\u{85}.csv", "a\u{FEFF}.csv", "ä b.csv"] {
      try folder.write(name, "a,b\n1,x\n")
      let refused = try shell("tabella delete '\(name)' 0 < /dev/null")
      let advice = refused.errors.components(separatedBy: "to edit without it: ").last ?? ""
      let line = advice.components(separatedBy: " (see").first ?? ""
      #expect(refused.status == 2 && line.hasPrefix("tabella delete"), "\(refused)")
      let done = try shell(line)
      #expect(done.status == 0, "\(line) \(done)")
      #expect(try folder.read(name) == Array("a,b\n".utf8))
    }
  }
}
