import Foundation
import Synchronization

/// The result of a program.
struct ProgramResult: Sendable {
  var status: Int32
  var output: Data
  var errors: String

  var text: String { String(decoding: output, as: UTF8.self) }
  var lines: [String] { text.split(separator: "\n").map(String.init) }
}

/// The environment of this process without variables that change the output of programs, and with UTC as the local
/// time, so that expectations do not depend on the user.
let inheritedEnvironment = ProcessInfo.processInfo.environment.filter {
  ![
    "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "LESS", "LS_COLORS",
  ].contains($0.key)
}.merging(["TZ": "UTC"]) { $1 }

/// Runs a program to its end, without input.
func run(
  _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
  directory: String? = nil
) throws -> ProgramResult {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
  let folder = try TemporaryFolder()
  // The files that the program leaves are removed with the folder.
  process.environment =
    inheritedEnvironment
    .merging(["XDG_STATE_HOME": folder.path + "/state"]) { $1 }.merging(environment) { $1 }
  process.standardInput = FileHandle.nullDevice
  // Files instead of pipes, so that no program can block on its output.
  let output = folder.path + "/output"
  let errors = folder.path + "/errors"
  for path in [output, errors] { try Data().write(to: URL(fileURLWithPath: path)) }
  process.standardOutput = FileHandle(forWritingAtPath: output)
  process.standardError = FileHandle(forWritingAtPath: errors)
  try process.start()
  process.waitForEnd()
  return ProgramResult(
    status: process.terminationStatus, output: try Data(contentsOf: URL(fileURLWithPath: output)),
    errors: try String(contentsOfFile: errors, encoding: .utf8))
}

/// Copies programs of the build folder into `destination`, a folder or the path of one copy.
///
/// `cp` writes the copies, because a program that another process holds open for writing cannot start ("text file
/// busy"). If this process wrote them, each program that another test starts in that moment would hold them open.
func copyPrograms(_ names: String..., to destination: String) throws {
  let copied = try run(
    findProgram("cp"), names.map { "\(buildFolder)/\($0)" } + [destination])
  guard copied.status == 0 else { throw MissingTool("copies of \(names): \(copied.errors)") }
}

extension Process {
  /// Starts the program with no signal blocked, as a shell does. The testing library's threads block most signals, and
  /// a program inherits that: `kill` had no effect on the programs of a test.
  func start() throws {
    var (none, old) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &old)
    defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
    try run()
  }

  /// Waits for the end of the program. `waitUntilExit` alone can notice it 50 ms late.
  func waitForEnd() {
    var information = siginfo_t()
    let options = WEXITED | WNOWAIT
    while waitid(P_PID, id_t(processIdentifier), &information, options) < 0, errno == EINTR {}
    // Foundation takes the status on a thread of its own. Then the wait returns at once, and releases the process.
    while isRunning { usleep(100) }
    waitUntilExit()
  }
}

/// The build folder with this program, `tabella` and the shipped libraries.
let buildFolder: String = {
  URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
}()

/// The folder of the package.
let packageFolder: String = {
  URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent().path
}()

/// Compiles a C file into a shared library. Returns its path.
///
/// A file of the package is compiled once per run with the same flags, and then copied.
func compileLibrary(
  _ source: String, into folder: TemporaryFolder, name: String, flags: [String] = []
) throws -> String {
  let library = "\(folder.path)/\(name)"
  guard source.hasPrefix(packageFolder + "/"), !flags.contains(where: { $0.hasPrefix("/") }) else {
    try compile(source, to: library, flags: flags)
    return library
  }
  // Like a compiler, this replaces a library with that name.
  try? FileManager.default.removeItem(atPath: library)
  try FileManager.default.copyItem(
    atPath: CompiledLibraries.shared.path(of: source, flags: flags), toPath: library)
  return library
}

/// The libraries of the package's C files that this run has compiled.
private final class CompiledLibraries: Sendable {
  static let shared = CompiledLibraries()

  /// A library that the first caller compiles, while the others wait.
  private final class Entry: Sendable {
    let number: Int
    let result = Mutex<Result<String, any Error>?>(nil)

    init(_ number: Int) { self.number = number }
  }

  private let folder = Result { try TemporaryFolder() }
  private let entries = Mutex<[[String]: Entry]>([:])

  private init() {
    // Nothing releases a static object, so its folder is removed at the end of the run.
    atexit {
      if case .success(let folder) = CompiledLibraries.shared.folder {
        try? FileManager.default.removeItem(atPath: folder.path)
      }
    }
  }

  func path(of source: String, flags: [String]) throws -> String {
    let key = [source] + flags
    let entry = entries.withLock { entries in
      let entry = entries[key] ?? Entry(entries.count)
      entries[key] = entry
      return entry
    }
    return try entry.result.withLock { result in
      if let result { return result }
      let compiled = Result {
        let library = try "\(folder.get().path)/\(entry.number).so"
        try compile(source, to: library, flags: flags)
        return library
      }
      result = compiled
      return compiled
    }.get()
  }
}

private func compile(_ source: String, to library: String, flags: [String]) throws {
  let result = try run(
    findProgram("clang"),
    [
      "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
      "-I\(packageFolder)/Sources/CTabella/include", "-o", library, source,
    ] + flags)
  guard result.status == 0 else { throw MissingTool("a compiled \(source): \(result.errors)") }
}
