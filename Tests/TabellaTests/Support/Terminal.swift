import Foundation
import Tabella

/// The output of a program on a terminal, and its end.
struct Shown: Sendable {
  var status: Int32
  /// Standard output and standard error as the terminal received them, but with plain line ends.
  var bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Runs a program to its end, with a terminal of this size as its standard output and error.
///
/// Without other settings in the environment, the terminal is dumb: no colours, links or pager. With answers, the
/// terminal is the program's standard input, too. Each answer is typed as soon as its question is on the screen, after
/// a call of `before`.
func runOnTerminal(
  _ program: String, _ arguments: [String], width: Int, height: Int = 100,
  environment: [String: String] = [:], directory: String? = nil,
  answers: [(question: String, answer: String)] = [], before: () throws -> Void = {}
) throws -> Shown {
  let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
  guard master >= 0 else { throw MissingTool("a pseudo-terminal") }
  defer { close(master) }
  // TIOCGPTN and TIOCSPTLCK, which Swift does not import.
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
  try process.start()
  try end.close()
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  var unanswered = answers[...]
  var answered = 0
  while true {
    let count = read(master, &buffer, buffer.count)
    // When the last process closes the other end, reading fails.
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
  process.waitForEnd()
  var plain: [UInt8] = []
  for (index, byte) in bytes.enumerated() {
    if byte == 13, index + 1 < bytes.count, bytes[index + 1] == 10 { continue }
    plain.append(byte)
  }
  return Shown(status: process.terminationStatus, bytes: plain)
}
