import Foundation
import Tabella

/// What a program showed on a terminal, and how it ended.
struct Shown: Sendable {
  var status: Int32
  /// Standard output and standard error, as the terminal got them, but with plain line ends.
  var bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Runs a program with a terminal of this size as its standard output and error, to its end.
///
/// Unless the environment says otherwise, the terminal is dumb: no colours, links or pager. With answers it
/// is the program's standard input too: each is typed once what it answers is on the screen, after `before`
/// was called.
func runOnTerminal(
  _ program: String, _ arguments: [String], width: Int, height: Int = 100,
  environment: [String: String] = [:], directory: String? = nil,
  answers: [(question: String, answer: String)] = [], before: () throws -> Void = {}
) throws -> Shown {
  let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
  guard master >= 0 else { throw MissingTool("a pseudo-terminal") }
  defer { close(master) }
  // Not imported: TIOCGPTN, TIOCSPTLCK.
  var number: UInt32 = 0
  var lock: Int32 = 0
  guard ioctl(master, 0x8004_5430, &number) == 0, ioctl(master, 0x4004_5431, &lock) == 0 else {
    throw MissingTool("a pseudo-terminal's name")
  }
  let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
  guard slave >= 0 else { throw MissingTool("a pseudo-terminal's other end") }
  var size = winsize()
  size.ws_col = UInt16(width)
  size.ws_row = UInt16(height)
  _ = ioctl(slave, UInt(TIOCSWINSZ), &size)

  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
  let own = ["LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"]
  process.environment = inheritedEnvironment.merging(own) { $1 }
    .merging(environment) { $1 }
  let end = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
  process.standardInput = answers.isEmpty ? FileHandle.nullDevice : end
  process.standardOutput = end
  process.standardError = end
  try process.run()
  try end.close()
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  var unanswered = answers[...]
  var answered = 0
  while true {
    let count = read(master, &buffer, buffer.count)
    // The last one to leave the other end makes this an error.
    if count <= 0 { break }
    bytes += buffer[..<count]
    if let (question, answer) = unanswered.first,
      String(decoding: bytes[answered...], as: UTF8.self).contains(question)
    {
      try before()
      unanswered.removeFirst()
      answered = bytes.count
      let line = Array("\(answer)\n".utf8)
      guard write(master, line, line.count) == line.count else { throw MissingTool("a keyboard") }
    }
  }
  process.waitUntilExit()
  var plain: [UInt8] = []
  for (index, byte) in bytes.enumerated() {
    if byte == 13, index + 1 < bytes.count, bytes[index + 1] == 10 { continue }
    plain.append(byte)
  }
  return Shown(status: process.terminationStatus, bytes: plain)
}
