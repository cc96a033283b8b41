import Foundation

/// The pages `docs/benchmarks.md`, with method, machine and aims, and `docs/benchmark-figures.md`, with a
/// table for each case.
struct Page {
  let results: [CaseResult]
  let crossing: [Crossing.Figure]
  let live: [Live.Figure]
  let growth: Growth?
  let bench: Bench
  let tabella: String

  private static let docs = Floors.sources.appendingPathComponent("../../docs").standardized

  func write() throws {
    for (name, text) in [("benchmarks.md", text), ("benchmark-figures.md", figures)] {
      try Data(text.utf8).write(to: Self.docs.appendingPathComponent(name))
    }
  }

  private var text: String {
    """
    # Benchmarks

    \(Self.introduction)

    ## The machine and the versions

    \(Report.table(head: ["", ""], rows: facts))
    ## Aims

    \(aims)

    ## Crossing to a provider

    One program measures these figures (`Tests/Bench/Crossing.swift`). The rounds of all figures alternate. \
    The source is a provider in C whose cells cost nothing to make, in this process and in a worker. For \
    comparison, SQLite reads the same cells from a virtual table.

    \(Report.table(head: ["", "median", "least to most"], rows: crossing.map(\.row)))
    ## Live tables

    One program follows tables with `--follow` and `--watch` (`Tests/Bench/Live.swift`). It writes a row and \
    waits until the row is printed, some hundred times. It also measures the processor time of tables at rest.

    \(Report.table(head: ["", "", "aim"], rows: live.map(\.row)))
    ## Growth

    The same commands at a hundredth and a tenth of the size. If time grows in proportion to the data, the \
    column in the middle shows 10. It shows less if the start is a large part.

    \(Report.table(head: Growth.head, rows: growth?.rows ?? []))
    """
  }

  private var figures: String {
    """
    # Benchmark figures

    The figures of each case. [benchmarks.md](benchmarks.md) explains how they are measured, and on which \
    machine. `make bench` writes both pages; do not edit them.

    \(Report.sections(results, hiding: bench.cache))
    """
  }

  private static let introduction = """
    This page says how fast Tabella is, and how that is measured. `make bench-peers && make bench WRITE=1
    SIZE=10000000` writes this page and [benchmark-figures.md](benchmark-figures.md); do not edit them. The
    program `Tests/Bench` creates its data, compiles its floors, and measures all figures itself.
    [performance.md](performance.md) explains the aims that are missed.

    **Floors.** Each case has a floor: a small program in C (`Tests/Bench/Floors`) that does the same
    task for one format, with the widest vectors of the processor and without checks. The floor shows what
    the machine allows. If a case measures only a start, its floor is an empty Swift program. Ratios are
    relative to the floor.

    **Rounds.** The commands of a case alternate. The first round does not count. The figures are medians,
    with the smallest and largest value in parentheses. Each round has its own ratio, and the page shows
    the median of the ratios. Peers that need a hundred times as long as the floor run only once on large
    data (over 500,000 rows). Their outputs are compared at smaller sizes only.

    **Quantities.** Wall time is the time from the start of the process to its end. CPU time is the time of the
    process and of the system on its behalf (`wait4`), for all threads. Peak is the largest resident memory;
    for a pipe, it is the sum; pages of a mapped file count. A small launcher in C starts every command,
    because a process inherits the peak of its parent. The table below shows the launcher's share. The
    figures of duckdb and polars include the start of Python and of its modules. Standard output is
    `/dev/null`, and the locale is `C`. `tabella` is an installed one, as its peers are
    (`Sources/Packaging/stage`).

    **Correctness.** An additional, unmeasured run of each command writes to a file. Its output is compared
    with the reference: counts, rows, or lines in order or in any order. If the output of tabella differs,
    the case is marked WRONG and `make bench` fails. If a peer differs, its row says so.

    **State.** Before each case, its file is dropped from memory and read again. So every command finds it
    in the page cache, with the same layout. The files of a folder are new, so their inodes are in memory.
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
      result.standings.map { (result.case.name, $0.standing) }
    }
    let missed = standings.filter { $0.1.isMet == false }
    let met = standings.count { $0.1.isMet == true }
    let unknown = standings.count - met - missed.count
    let counts = "\(met) met, \(missed.count) missed, \(unknown) not measured"
    let list = missed.map { "- \($0.0), \($0.1.aim.command): \(Report.text($0.1))" }
    return """
      The aims are for 10,000,000 rows. In cases that read less, the start is a larger part. \
      Of \(standings.count) aims: \(counts)\(list.isEmpty ? "." : ":\n\n" + list.joined(separator: "\n"))
      """
  }
}

extension Bench {
  /// The peers in these cases that are not installed.
  func absentTools(_ cases: [Case]) -> [String] {
    Set(cases.flatMap { $0.commands.compactMap(\.tool) }).filter { !tools.has($0) }.sorted()
  }
}

/// The machine that runs the bench.
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
