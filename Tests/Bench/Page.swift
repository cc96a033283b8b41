import Foundation

/// The page `docs/benchmarks.md`: the method, the machine and the figures.
struct Page {
  let results: [CaseResult]
  let crossing: [Crossing.Figure]
  let growth: Growth?
  let bench: Bench
  let tabella: String

  static let path = Floors.sources.appendingPathComponent("../../docs/benchmarks.md").standardized

  func write() throws {
    try Data(text.utf8).write(to: Self.path)
  }

  private var text: String {
    """
    # Benchmarks

    \(Self.introduction)

    ## The machine and the versions

    \(Report.table(head: ["", ""], rows: facts))
    ## Aims

    \(aims)

    ## Figures

    \(Report.sections(results, hiding: bench.cache))
    ## Crossing to a provider

    Measured inside one program (`Tests/Bench/Crossing.swift`), the rounds of all figures taking turns: a \
    provider in C whose cells cost nothing to make, in this process and in a worker, and the same cells \
    as a virtual table of SQLite.

    \(Report.table(head: ["", "median", "least to most"], rows: crossing.map(\.row)))
    ## Growth

    The same commands at a hundredth and a tenth of the size: time that grows in step with the data has \
    10 in the column in the middle, less where the start counts.

    \(Report.table(head: Growth.head, rows: growth?.rows ?? []))
    """
  }

  private static let introduction = """
    `make bench-peers && make bench WRITE=1 SIZE=10000000` writes this page; do not edit it.
    `Tests/Bench` is what runs: a program in Swift that makes its data, compiles its floors and takes
    no figure from anywhere else. What stands in the way of an aim is in [performance.md](performance.md).

    **Floors.** Each case begins with a small program in C (`Tests/Bench/Floors`) that does this one
    thing to this one format, with the widest vectors of the processor, and checks nothing. It is
    what the machine allows. Where only a start is measured, the floor is an empty Swift program.
    Ratios are to the floor.

    **Rounds.** The commands of a case take turns. The first turn does not count. The figures are
    medians, with the least and the most in parentheses; a ratio is taken within each round, and its
    median is shown. Peers that need a hundred times as long as the floor run once where the data is
    large (over 500,000 rows), and their outputs are compared at smaller sizes only.

    **What is counted.** Wall time is from before the start of the process to its end. CPU time is
    the process's own and the system's on its behalf (`wait4`), all threads together. Peak is the
    most memory resident at once, over a pipe the sum; pages of a mapped file count. A small
    launcher in C starts every command, because a process inherits the peak of the one that starts
    it: what it adds is in the table below. Python's start and the loading of its modules are in
    duckdb's and polars' figures. Standard output is `/dev/null`, the locale is `C`.

    **What is compared.** An extra run, not measured, writes to a file, and what must agree with the
    reference is compared: counts, rows, the same lines in order or in any order. A case where
    tabella differs is marked WRONG, and `make bench` fails; a peer that differs says so.

    **State.** Before each case its file is dropped from memory and read back, so that every command
    finds it in the page cache, laid out alike. The files of a folder have just been made: their
    inodes are in memory.
    """

  // MARK: Facts

  private var facts: [[String]] {
    let sizes = bench.cache.sizes
    return [
      ["date", String(ISO8601DateFormatter().string(from: Date()).prefix(10))],
      ["processor", "\(Machine.processor), \(ProcessInfo.processInfo.activeProcessorCount) cores"],
      ["memory", "\(ProcessInfo.processInfo.physicalMemory >> 30) GiB"],
      ["system", Machine.system],
      ["load at the end", Machine.load],
      [
        "sizes",
        """
        \(sizes.plain) rows plain, \(sizes.quoted) quoted, \(sizes.text) lines, \
        \(sizes.files) files, \(sizes.processes) processes, seed \(bench.cache.seed)
        """,
      ],
      ["rounds", "\(bench.rounds)"],
      ["peak of `true`", truePeak],
      ["tabella", output([tabella, "--version"]) ?? "unknown"],
      ["Swift", output(["swiftc", "--version"]) ?? "unknown"],
      ["peers", peers.compactMap(bench.tools.version).joined(separator: "; ")],
      ["absent", absent.isEmpty ? "none" : absent.joined(separator: ", ")],
    ]
  }

  private var peers: [String] {
    let tools = results.flatMap { $0.case.commands.compactMap(\.tool) }
    return Set(tools).subtracting(["true"]).filter(bench.tools.has).sorted()
  }

  private var absent: [String] { bench.absentTools(results.map(\.case)) }

  private var truePeak: String {
    guard let run = try? bench.launcher.run([["true"]]) else { return "unknown" }
    return String(format: "%.1f MiB", run.peak / 1_048_576)
  }

  // MARK: Aims

  private var aims: String {
    let standings = results.flatMap { result in
      result.entries.flatMap { entry in
        result.case.aims.compactMap { aim in
          result.standing(of: aim, for: entry).map { (result.case.name, $0) }
        }
      }
    }
    let missed = standings.filter { $0.1.isMet == false }
    let met = standings.count { $0.1.isMet == true }
    let unknown = standings.count - met - missed.count
    let counts = "\(met) met, \(missed.count) missed, \(unknown) not measured"
    let list = missed.map { "- \($0.0), \($0.1.aim.command): \(Report.text($0.1))" }
    return """
      Set for 10,000,000 rows; where less is read, starting counts for more. \
      Of \(standings.count): \(counts)\(list.isEmpty ? "." : ":\n\n" + list.joined(separator: "\n"))
      """
  }
}

extension Bench {
  /// The programs for some cases that are not installed.
  func absentTools(_ cases: [Case]) -> [String] {
    Set(cases.flatMap { $0.commands.compactMap(\.tool) }).filter { !tools.has($0) }.sorted()
  }
}

/// The facts about this machine.
enum Machine {
  static var processor: String {
    let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n")
    let model = value(of: "model name", lines) ?? "unknown"
    let flags = value(of: "flags", lines)?.split(separator: " ") ?? []
    let widest = ["avx512bw", "avx2"].first { flags.contains(Substring($0)) }
    return model + (widest.map { ", \($0)" } ?? "")
  }

  private static func value(of key: String, _ lines: [Substring]) -> String? {
    lines.first { $0.hasPrefix(key) }?.split(separator: ":", maxSplits: 1).last
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  static var system: String { output(["uname", "-sr"]) ?? "unknown" }

  static var load: String {
    (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?
      .split(separator: " ").first.map(String.init) ?? "unknown"
  }
}
