import Foundation

/// The figures of one run of a command.
struct Run {
  /// The elapsed time in seconds, including the start of the process.
  let wall: Double
  /// The processor time in seconds, of the process and of the kernel for it.
  let cpu: Double
  /// The peak of memory in bytes.
  let peak: Double
  /// The exit status; 128 plus the signal number if a signal ended the run.
  let status: Int
}

/// Starts commands through a small program, whose memory does not affect the measurements.
struct Launcher {
  let program: String
  /// The file that receives standard error.
  let errors: String

  /// Runs and measures a command or a pipe. `path` receives its standard output.
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

  /// The last line of standard error of the last command. Python prints its error there.
  var complaint: String {
    let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").last.map(String.init) ?? ""
  }
}

/// Many sleeping processes, which the program `herd` starts and ends.
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
