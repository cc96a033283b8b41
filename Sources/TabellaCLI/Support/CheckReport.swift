import CTabellaSystem
import Synchronization
import Tabella
import TabellaChecking
import TabellaHost
import TabellaTerminal

/// The report of a run of checks: a line per check, the findings in full, and a summary; or JSON.
final class CheckReport {
  private let checker: Checker
  private let output: Output
  private let invocation: Invocation
  private let seed: UInt64
  private let operands: [Argument]
  private var findings: [Finding] = []

  /// Set by a signal. The running check is then the last one, and the samples are removed.
  private static let isStopped = Atomic(false)

  init(
    _ checker: Checker, _ output: Output, _ invocation: Invocation, seed: UInt64,
    operands: [Argument]
  ) {
    self.checker = checker
    self.output = output
    self.invocation = invocation
    self.seed = seed
    self.operands = operands
    tabella_system_hold_signals(
      { _ in CheckReport.isStopped.store(true, ordering: .relaxed) }, nil)
  }

  /// Writes the checked library and its samples.
  func begin() throws(Failure) {
    guard !invocation.isJSON else { return }
    var line: SafeText = "checking \(SafeText(checker.library))"
    if let provider = checker.provider {
      line.append(" (\(SafeText(provider.id)) \(SafeText(provider.version)))")
    }
    if !checker.locations.isEmpty {
      let names = checker.locations.map(\.name).joined(separator: ", ")
      line.append(" with \(SafeText(names))")
    }
    try output.write(line + "\n")
    try output.flush()
  }

  /// Writes the line of one check, unless it was skipped.
  func add(_ finding: Finding) throws(Failure) {
    findings.append(finding)
    if !invocation.isJSON, finding.status != .skipped,
      !invocation.checks.isQuiet || finding.isFailure || finding.isWarning
    {
      let note = finding.status == .passed ? nil : finding.detail
      try write(finding.check.name, finding.status, note)
    }
    if CheckReport.isStopped.load(ordering: .relaxed) {
      throw Failure(
        status: .failed, subject: checker.library, code: "cancelled", message: "cancelled")
    }
  }

  private func write(
    _ name: String, _ status: Finding.Status, _ note: String?
  ) throws(Failure) {
    var line = output.screen.paint(SafeText(status.rawValue).padded(to: 9), style(of: status))
    line.append("  ")
    let name = SafeText(name)
    line.append(note == nil ? name : name.padded(to: CheckReport.nameWidth))
    if let note { line.append("  \(SafeText(Messages.shortened(note)))") }
    try output.write(output.screen.fitted(line) + "\n")
    try output.flush()
  }

  /// Writes a line per reason for which checks were skipped.
  private func writeSkipped() throws(Failure) {
    let skipped = findings.filter { $0.status == .skipped }
    for first in skipped where skipped.first(where: { $0.detail == first.detail }) == first {
      let count = skipped.count { $0.detail == first.detail }
      try write(count == 1 ? first.check.name : "\(count) checks", .skipped, first.detail)
    }
  }

  /// Writes the findings in full and returns the exit status.
  func end() throws(Failure) -> ExitStatus {
    if invocation.isJSON {
      try output.write(json: json)
    } else {
      if !invocation.checks.isQuiet { try writeSkipped() }
      let told = findings.filter { $0.isFailure || $0.isWarning }
      // A fault that breaks many checks is written once.
      for finding in told where told.first(where: { $0.fault == finding.fault }) == finding {
        let others = told.filter { $0.fault == finding.fault && $0 != finding }
        try output.write("\n")
        for line in full(finding, others: others) { try output.write(line + "\n") }
      }
      try output.write("\n\(SafeText(summary))\n")
    }
    if let failure = checker.failure { return .of(failure) }
    return findings.contains(where: \.isFailure) ? .failed : .done
  }

  private static let nameWidth = Check.all.map(\.name.count).max() ?? 0

  private func style(of status: Finding.Status) -> TextStyle {
    switch status {
    case .failed, .crashed, .timedOut: .error
    case .warning: .warning
    case .passed, .skipped: .faint
    }
  }

  /// A finding in full: the expected result, the actual result and a hint.
  private func full(_ finding: Finding, others: [Finding]) -> [SafeText] {
    let status = output.screen.paint(
      SafeText(finding.status.rawValue), style(of: finding.status))
    let title: SafeText =
      status + ": \(SafeText(finding.check.name)) (\(SafeText(finding.check.level.rawValue)))"
    var lines: [SafeText] = [title, "  expected  \(SafeText(finding.check.summary))"]
    if let detail = finding.detail {
      lines.append("  actual    \(SafeText(Messages.shortened(detail)))")
    }
    if let place = finding.place { lines.append("  with      \(SafeText(place))") }
    if !others.isEmpty {
      let names = others.map { "\($0.check.name) (\($0.status.rawValue))" }
      lines.append("  also      \(SafeText(names.joined(separator: ", ")))")
    }
    lines.append("  hint      \(SafeText(finding.check.hint))")
    lines.append("  again     \(SafeText(again(finding)))")
    if !finding.calls.isEmpty {
      lines.append("  calls")
      lines += finding.calls.map { "    \(SafeText($0))" }
    }
    return lines
  }

  /// The command line that repeats a check.
  private func again(_ finding: Finding) -> String {
    let words =
      ["tabella", "check"] + operands.map { ShellWords.quoted($0) }
      + invocation.options.sorted { $0.key < $1.key }.flatMap {
        ["-o", ShellWords.quoted("\($0)=\($1)")]
      }
      + (invocation.checks.mayEdit ? ["--edit"] : [])
      + ["--only", finding.check.name, "--reproduce", "\(seed)"]
    return words.joined(separator: " ")
  }

  /// `39 passed, 1 failed, 2 warnings, 5 skipped; seed 1`.
  private var summary: String {
    let parts = Finding.Status.allCases.compactMap { status -> String? in
      let count = findings.count { $0.status == status }
      guard count > 0 || status == .passed else { return nil }
      let isPlural = status == .warning && count > 1
      return "\(count) \(status.rawValue)\(isPlural ? "s" : "")"
    }
    return "\(parts.joined(separator: ", ")); seed \(seed)"
  }

  private var json: JSONValue {
    func text(_ value: String?) -> JSONValue {
      value.map { .string(Messages.shortened($0)) } ?? .null
    }
    let checks = findings.map { finding in
      var members: [String: JSONValue] = [
        "name": .string(finding.check.name), "level": .string(finding.check.level.rawValue),
        "status": .string(finding.status.rawValue), "expected": .string(finding.check.summary),
        "came": text(finding.detail), "hint": .string(finding.check.hint),
        "location": text(finding.place),
        "seconds": .number("\((finding.time * 1e6).rounded() / 1e6)"),
      ]
      if invocation.checks.reproduces {
        members["calls"] = .array(finding.calls.map { .string($0) })
      }
      return JSONValue.object(members)
    }
    let counts = Finding.Status.allCases.map { status in
      (status.rawValue, JSONValue.number("\(findings.count { $0.status == status })"))
    }
    let provider = checker.provider.map { provider in
      JSONValue.object(["id": .string(provider.id), "version": .string(provider.version)])
    }
    let places = checker.locations.map { place in
      JSONValue.object([
        "location": .string(place.name), "origin": .string(place.origin.rawValue),
      ])
    }
    return .object([
      "library": .string(checker.library), "provider": provider ?? .null,
      "locations": .array(places), "seed": .number("\(seed)"), "checks": .array(checks),
      "summary": .object(Dictionary(uniqueKeysWithValues: counts)),
    ])
  }
}

extension Finding {
  /// The actual result without the details of one check. Equal faults have a common cause in the provider.
  fileprivate var fault: String {
    let start = "an unexpected error: "
    guard let detail else { return check.name }
    let text = detail.hasPrefix(start) ? String(detail.dropFirst(start.count)) : detail
    let seed = text.hasSuffix(")") ? text.utf8.position(of: " (seed ".utf8) : nil
    return seed.map { String(text[..<$0]) } ?? text
  }

  fileprivate var isWarning: Bool { status == .warning }
}
