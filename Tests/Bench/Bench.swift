import Foundation

/// Runs cases: prepares their data, compares the outputs, and measures in rounds.
struct Bench {
  let cache: Cache
  let floors: Floors
  let tools: Tools
  let rounds: Int

  var launcher: Launcher { Launcher(program: floors.launch, errors: cache.path("errors")) }

  func run(_ wanted: Case) throws -> CaseResult {
    let herd = try prepare(wanted.needs)
    defer {
      herd?.end()
      cache.removeCopies()
    }
    var entries = wanted.commands
      .filter { $0.tool.map(tools.has) ?? true }
      .map { Entry(command: $0) }
    try compareOutputs(&entries, reference: wanted.reference ?? "floor")
    try measure(&entries)
    return CaseResult(case: wanted, entries: entries)
  }

  private func prepare(_ needs: [Need]) throws -> Herd? {
    var herd: Herd?
    for need in needs {
      switch need {
      case .file(let kind): try cache.prepare(kind)
      case .copy: try cache.prepareCopy()
      case .changed: try cache.prepareChanged()
      case .cells: try cache.prepareCells()
      case .manyFiles: try cache.prepareFolder()
      case .herd: herd = try Herd(floors.herd, count: cache.sizes.processes)
      }
    }
    return herd
  }

  // MARK: Right

  /// Runs each command once without measuring and compares its output with the reference's.
  private func compareOutputs(_ entries: inout [Entry], reference label: String) throws {
    guard let reference = entries.first(where: { $0.command.label == label })?.command else {
      return
    }
    let expected = cache.path("expected")
    let actual = cache.path("actual")
    defer {
      unlink(expected)
      unlink(actual)
    }
    let right = try launcher.run(reference.compared ?? reference.pipeline, output: expected)
    guard right.status == 0 else { throw BenchError("\(label): \(launcher.complaint)") }
    for index in entries.indices where runsBefore(entries[index].command) {
      let command = entries[index].command
      let run = try launcher.run(command.compared ?? command.pipeline, output: actual)
      if run.status != 0 {
        entries[index].outcome = .failed(status: run.status, launcher.complaint)
      } else if let check = command.check, let base = reference.check {
        let want = try base.measuring(check.measure)(expected)
        let have = try check(actual)
        entries[index].outcome = want == have ? .right : .wrong("\(have), not \(want)")
      }
    }
  }

  /// Whether a command is run once before it is measured. Commands that take minutes are not.
  private func runsBefore(_ command: Command) -> Bool {
    command.speed != .far || cache.sizes.plain <= Command.Speed.large
  }

  // MARK: Fast

  /// Measures the commands in turns, so that a disturbance affects all of them. The first turn warms up and does not
  /// count.
  private func measure(_ entries: inout [Entry]) throws {
    for round in -1..<rounds {
      for index in entries.indices where entries[index].isMeasured {
        let command = entries[index].command
        guard round >= 0 || runsBefore(command),
          round < command.speed.rounds(of: rounds, rows: cache.sizes.plain)
        else { continue }
        let run = try launcher.run(command.pipeline)
        guard run.status == 0 else {
          entries[index].outcome = .failed(status: run.status, launcher.complaint)
          continue
        }
        if round >= 0 { entries[index].runs.append(run) }
      }
    }
  }
}
