import Foundation

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
  try process.run()
  process.waitUntilExit()
  return ProgramResult(
    status: process.terminationStatus, output: try Data(contentsOf: URL(fileURLWithPath: output)),
    errors: try String(contentsOfFile: errors, encoding: .utf8))
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
func compileLibrary(
  _ source: String, into folder: TemporaryFolder, name: String, flags: [String] = []
) throws -> String {
  let library = "\(folder.path)/\(name)"
  let result = try run(
    findProgram("clang"),
    [
      "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
      "-I\(packageFolder)/Sources/CTabella/include", "-o", library, source,
    ] + flags)
  guard result.status == 0 else { throw MissingTool("a compiled \(source): \(result.errors)") }
  return library
}
