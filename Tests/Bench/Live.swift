import Foundation

/// The cost of live tables: the time from a write to the printed row, and the processor time of a table at rest.
struct Live {
  let tabella: String
  let tools: Tools
  let cache: Cache
  let herd: String

  /// The entries of the watched folder, the processes, the measured writes, and the seconds of a measured rest. A
  /// small run only tries them.
  private var isSmall: Bool { cache.sizes.plain < 1_000_000 }
  private var entries: Int { isSmall ? 1000 : 100_000 }
  private var processes: Int { isSmall ? 100 : 5000 }
  private var writes: Int { isSmall ? 20 : 300 }
  private var rest: Double { isSmall ? 1 : 10 }

  /// A row of the table in the page.
  struct Figure {
    let name: String
    let value: String
    let aim: String

    var row: [String] { [name, value, aim] }
    var isMissed: Bool { aim.hasSuffix("**missed**") }
  }

  func measure() throws -> [Figure] {
    let folder = cache.folder.appendingPathComponent("live")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var figures: [Figure] = []
    let log = folder.appendingPathComponent("app.log").path
    let csv = folder.appendingPathComponent("data.csv").path
    for (name, words, path) in [
      (
        "a line of a text file", [tabella, "show", "text:" + log, "--follow", "--format", "plain"],
        log
      ),
      ("a record of a CSV file", [tabella, "show", csv, "--follow", "--format", "csv"], csv),
      ("a line of a text file, `tail -f`", ["tail", "-f", log], log),
    ] {
      let times = try latencies(words, path).sorted()
      let p99 = times[times.count * 99 / 100]
      figures.append(
        Figure(
          name: "from the write to the printed row: \(name)",
          value: String(
            format: "median %.1f ms, 99th percentile %.1f ms", times[times.count / 2], p99),
          aim: words[0] == tabella ? aim("99th percentile ≤ 50 ms", p99 <= 50) : ""))
    }
    figures.append(try folderAtRest(folder.appendingPathComponent("many")))
    return figures + (try processesAtRest())
  }

  private func aim(_ text: String, _ isMet: Bool) -> String {
    "\(text): \(isMet ? "met" : "**missed**")"
  }

  // MARK: Latency

  /// The milliseconds from each write to the printed row.
  private func latencies(_ words: [String], _ path: String) throws -> [Double] {
    try Data("number\n".utf8).write(to: URL(fileURLWithPath: path))
    let running = try Running(words)
    defer { running.end() }
    try running.read(until: "number")
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seekToEnd()
    var times: [Double] = []
    // The first writes warm up and do not count.
    for number in -20..<writes {
      usleep(UInt32.random(in: 5_000...30_000))
      let text = "row-\(number + 1_000_000)"
      let begin = DispatchTime.now().uptimeNanoseconds
      try file.write(contentsOf: Data("\(text)\n".utf8))
      try running.read(until: text)
      let time = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e6
      if number >= 0 { times.append(time) }
    }
    return times
  }

  // MARK: Rest

  private func folderAtRest(_ folder: URL) throws -> Figure {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for number in 0..<entries {
      let file = open(folder.appendingPathComponent("\(number)").path, O_CREAT | O_WRONLY, 0o644)
      guard file >= 0 else { throw BenchError("cannot create \(entries) files") }
      close(file)
    }
    let running = try Running([
      tabella, "show", folder.path, "--follow", "--format", "jsonl", "--columns", "name",
    ])
    defer { running.end() }
    for _ in 0..<entries { try running.read(until: "\n") }
    // The first pull compares all entries once.
    sleep(2)
    let share = try running.share(ofSeconds: rest)
    return Figure(
      name: "a watched folder of \(entries) entries at rest",
      value: String(format: "%.2f %% of a core", share * 100),
      aim: aim("< 1 %", share < 0.01))
  }

  /// The processor time of a table of processes that is drawn once a second, and of `htop`.
  private func processesAtRest() throws -> [Figure] {
    let herd = try Herd(herd, count: processes)
    defer { herd.end() }
    func share(_ command: String) throws -> Double {
      // `script` gives the program a terminal.
      let running = try Running([
        "script", "-qfc", "stty cols 120 rows 40; exec \(command)", "/dev/null",
      ])
      defer { running.end() }
      running.discard()
      sleep(2)
      return try running.share(ofSeconds: rest)
    }
    let ours = try share("'\(tabella)' show processes: --watch=1 --sort cpu:desc")
    let theirs = tools.has("htop") ? try share("htop -d 10 --sort-key PERCENT_CPU") : nil
    var figures = [
      Figure(
        name: "\(processes) processes, drawn once a second by CPU",
        value: String(format: "%.1f %% of a core", ours * 100),
        aim: theirs.map { aim("≤ htop", ours <= $0) } ?? "")
    ]
    if let theirs {
      figures.append(
        Figure(
          name: "\(processes) processes, `htop -d 10`",
          value: String(format: "%.1f %% of a core", theirs * 100), aim: ""))
    }
    return figures
  }
}

/// A program that runs while its output is read.
private final class Running {
  private let process = Process()
  private let output = Pipe()
  private var buffer = Data()

  init(_ words: [String]) throws {
    guard let path = Tools.find(words[0]) else { throw BenchError("there is no \(words[0])") }
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = Array(words.dropFirst())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    var environment = ProcessInfo.processInfo.environment
    environment["TERM"] = "xterm-256color"
    process.environment = environment
    try process.run()
  }

  /// Reads until a text came, and forgets everything up to it.
  func read(until text: String) throws {
    let text = Data(text.utf8)
    while true {
      if let found = buffer.range(of: text) {
        buffer = Data(buffer[found.upperBound...])
        return
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw BenchError("the output ended too early") }
      buffer += more
    }
  }

  /// Reads and forgets all output from now on.
  func discard() { output.fileHandleForReading.readabilityHandler = { _ = $0.availableData } }

  /// The share of a core that the program and its children use during a rest.
  func share(ofSeconds seconds: Double) throws -> Double {
    let before = cpu()
    usleep(UInt32(seconds * 1e6))
    guard process.isRunning else { throw BenchError("the program ended too early") }
    return (cpu() - before) / seconds
  }

  /// The processor time in seconds of all threads of the program and its children so far.
  private func cpu() -> Double {
    let files = FileManager.default
    var nanoseconds = 0.0
    var rest = [Int(process.processIdentifier)]
    while let pid = rest.popLast() {
      let tasks = "/proc/\(pid)/task"
      for task in (try? files.contentsOfDirectory(atPath: tasks)) ?? [] {
        func words(_ name: String) -> [Substring] {
          ((try? String(contentsOfFile: "\(tasks)/\(task)/\(name)", encoding: .utf8)) ?? "").split {
            $0.isWhitespace
          }
        }
        nanoseconds += words("schedstat").first.flatMap { Double($0) } ?? 0
        rest += words("children").compactMap { Int($0) }
      }
    }
    return nanoseconds / 1e9
  }

  func end() {
    output.fileHandleForReading.readabilityHandler = nil
    process.terminate()
    process.waitUntilExit()
  }
}
