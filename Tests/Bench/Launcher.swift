import Foundation

/// The figures of one run of a command.
struct Run {
  /// Seconds from before it was started until it had ended.
  let wall: Double
  /// Seconds of processor time, its own and the system's for it.
  let cpu: Double
  /// The most memory that it held, in bytes.
  let peak: Double
  /// Its exit status; 128 and the signal if one ended it.
  let status: Int
}

/// Starts commands through a small program, whose own memory does not show in theirs.
struct Launcher {
  let program: String
  /// The file that receives standard error.
  let errors: String

  /// Runs a command or a pipe and measures it; its standard output goes to a path.
  func run(_ pipeline: [[String]], output path: String = "/dev/null") throws -> Run {
    let words = [program, path, errors] + Array(pipeline.joined(separator: ["|"]))
    guard let line = output(words) else {
      throw BenchError("cannot run \(pipeline.joined().joined(separator: " "))")
    }
    let figures = line.split(separator: " ").compactMap { Double($0) }
    guard figures.count == 4 else { throw BenchError("the launcher wrote \(line)") }
    return Run(
      wall: figures[0] / 1e9, cpu: figures[1] / 1e6, peak: figures[2] * 1024,
      status: Int(figures[3]))
  }

  /// The last line that the last command wrote to standard error: where Python says what it was.
  var complaint: String {
    let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").last.map(String.init) ?? ""
  }
}

/// Many sleeping processes, until it is ended.
struct Herd {
  private let process = Process()
  private let input = Pipe()

  init(_ program: String, count: Int) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = [String(count)]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let answer = output.fileHandleForReading.availableData
    guard answer.starts(with: "ready".utf8) else {
      end()
      throw BenchError("cannot start \(count) processes")
    }
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
