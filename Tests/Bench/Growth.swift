import Foundation

/// Measures how time and memory grow with the data. It runs tabella's commands with a hundredth, a tenth and all of the
/// data.
struct Growth {
  /// The figures of one command at each size, the smallest first.
  struct Line {
    let name: String
    let cpu: [Double]
    let peak: [Double]
  }

  static let head = [
    "case", "CPU s at 1 %", "10 %", "100 %", "100 % / 10 %", "peak MiB at 1 %", "10 %", "100 %",
  ]

  private static let parts = [100, 10]

  let lines: [Line]

  /// Measures the smaller sizes; `results` contains the full size. `cases` returns the list of cases for another cache.
  init(
    beside results: [CaseResult], _ bench: Bench, _ cases: (Cache) -> [Case]
  ) throws {
    var columns: [[String: Entry]] = []
    for part in Self.parts {
      let cache = Cache(
        folder: bench.cache.folder.appendingPathComponent("growth-\(part)"),
        seed: bench.cache.seed, sizes: Sizes(plain: max(bench.cache.sizes.plain / part, 1000)))
      try cache.create()
      try cache.prepareSmallFiles()
      try cache.removeFolder()
      defer { try? cache.clean() }
      let small = Bench(
        cache: cache, floors: bench.floors, tools: bench.tools, rounds: bench.rounds)
      let wanted = cases(cache).filter { each in
        !each.needs.isEmpty && results.contains { $0.case.name == each.name }
      }
      columns.append(Self.entries(try wanted.map { try small.run($0.ofTabella) }))
    }
    columns.append(Self.entries(results.filter { !$0.case.needs.isEmpty }))
    let names = results.flatMap { result in
      result.case.ofTabella.commands.map { Self.name($0, result.case) }
    }
    lines = names.compactMap { name in
      let entries = columns.compactMap { $0[name] }
      let cpu = entries.compactMap { Spread($0.figures(.cpu))?.median }
      let peak = entries.compactMap { $0.figures(.peak).max() }
      guard cpu.count == columns.count else { return nil }
      return Line(name: name, cpu: cpu, peak: peak)
    }
  }

  private static func entries(_ results: [CaseResult]) -> [String: Entry] {
    let named = results.flatMap { result in
      result.entries.map { (name($0.command, result.case), $0) }
    }
    return Dictionary(named) { first, _ in first }
  }

  private static func name(_ command: Command, _ of: Case) -> String {
    command.label == "tabella" ? of.name : "\(of.name), \(command.label)"
  }

  var rows: [[String]] {
    lines.map { line in
      let seconds = line.cpu.map { String(format: "%.4f", $0) }
      let mebibytes = line.peak.map { String(format: "%.0f", $0 / 1_048_576) }
      let ratio = line.cpu[line.cpu.count - 1] / max(line.cpu[line.cpu.count - 2], 1e-6)
      return [line.name] + seconds + [String(format: "%.1f", ratio)] + mebibytes
    }
  }
}

extension Case {
  /// The same case without floors and other programs.
  var ofTabella: Case {
    Case(
      name: name, about: about, needs: needs,
      commands: commands.filter { $0.tool == nil && $0.label != "floor" }, reference: reference,
      aims: [])
  }
}
