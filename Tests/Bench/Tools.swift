import Foundation

/// The measured programs, and the compiler of the floors.
struct Tools {
  /// A Python that may have duckdb and polars; nil if there is none.
  let python: String?
  private let modules: Set<String>

  init(python wanted: String?) {
    python = wanted.flatMap(Self.find) ?? Self.find("python3")
    modules = ["duckdb", "polars"].filter { [python] module in
      guard let python else { return false }
      return output([python, "-c", "import \(module)"]) != nil
    }.reduce(into: []) { $0.insert($1) }
  }

  /// Whether a program or a Python module is installed.
  func has(_ name: String) -> Bool { modules.contains(name) || Self.find(name) != nil }

  /// The path of a program; nil if it is missing. A name with a slash is already a path.
  static func find(_ name: String) -> String? {
    let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    let candidates = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// The version that a program prints; nil if it prints none.
  func version(_ name: String) -> String? {
    if modules.contains(name), let python {
      return output([python, "-c", "import \(name); print(\(name).__version__)"])
        .map { "\(name) \($0)" }
    }
    // mawk has an option of its own.
    for option in ["--version", "-Wversion"] {
      guard let line = output([name, option]), !line.isEmpty else { continue }
      let version = upToNumber(line)
      return version.contains(name) ? version : "\(name) \(version)"
    }
    return nil
  }

  /// Shortens `/usr/bin/sed (GNU sed) 4.9 and more` to `sed (GNU sed) 4.9`.
  private func upToNumber(_ line: String) -> String {
    var words = line.split(separator: " ")
    let number = words.firstIndex { $0.first?.isNumber == true } ?? words.endIndex - 1
    words = Array(words.prefix(through: number))
    words[0] = words[0].split(separator: "/").last ?? words[0]
    return words.joined(separator: " ")
  }
}

/// Runs a command and returns the first line that it writes; nil if it fails. `showsErrors` shows its
/// standard error.
func output(_ words: [String], showsErrors: Bool = false) -> String? {
  guard let path = Tools.find(words[0]) else { return nil }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = Array(words.dropFirst())
  let pipe = Pipe()
  process.standardOutput = pipe
  if !showsErrors { process.standardError = FileHandle.nullDevice }
  process.standardInput = FileHandle.nullDevice
  guard (try? process.run()) != nil else { return nil }
  let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { return nil }
  return text.split(separator: "\n").first.map(String.init) ?? ""
}

/// The project's small programs, compiled for this machine at the start of the benchmark.
struct Floors {
  /// The folder `Tests/Bench` at the time of compilation.
  static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  let cache: Cache

  /// The path of a compiled program.
  func callAsFunction(_ name: String) -> String { cache.path("floor-\(name)") }

  var launch: String { cache.path("launch") }
  var herd: String { cache.path("tabella-herd") }

  /// Compiles all programs in about half a second, so that none comes from another machine.
  func build() throws {
    guard let compiler = Tools.find("clang") ?? Tools.find("gcc") else {
      throw BenchError("clang or gcc is needed to compile the floors")
    }
    let folder = Self.sources.appendingPathComponent("Floors")
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where file.hasSuffix(".c") {
      try compile([compiler], "Floors/\(file)", to: self(String(file.dropLast(2))))
    }
    try compile([compiler], "Helpers/launch.c", to: launch)
    try compile([compiler], "Helpers/herd.c", to: herd)
    guard let swift = Tools.find("swiftc") else {
      throw BenchError("swiftc is needed to compile the empty program")
    }
    let empty = Self.sources.appendingPathComponent("Floors/empty.swift").path
    try run([swift, "-O", empty, "-o", self("empty")])
  }

  private func compile(_ compiler: [String], _ source: String, to program: String) throws {
    let source = Self.sources.appendingPathComponent(source).path
    try run(compiler + ["-O3", "-march=native", source, "-o", program])
  }

  private func run(_ words: [String]) throws {
    guard output(words, showsErrors: true) != nil else {
      throw BenchError("failed: \(words.joined(separator: " "))")
    }
  }
}
