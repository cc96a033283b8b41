import CTabellaSystem
import Synchronization
import Tabella
import TabellaChecking
import TabellaHost
import TabellaSystem
import TabellaTerminal

/// The report of a run of checks: a line per check, the findings in full, and a summary; or JSON.
final class CheckReport {
  private let checker: Checker
  private let output: Output
  private let invocation: Invocation
  private let seed: UInt64
  private let operands: [Argument]
  private var findings: [Finding] = []
  /// The first finding of each cause, and the number of later checks that it breaks, in the order of the causes.
  private var causes: [(first: Finding, more: Int)] = []
  private let began = now()

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

  /// Shows on a terminal that the library is loaded and the locations are opened.
  func beginOpening() {
    Progress.begin("opening \(operands.last?.text ?? "")", since: began)
  }

  /// Shows on a terminal which check runs.
  func begin(_ check: Check) {
    let only = invocation.checks.only
    let count = only.isEmpty ? Check.all.count : Set(only).count
    Progress.begin("check \(findings.count + 1) of \(count), \(check.name)", since: began)
  }

  /// Writes the line of one check, unless it was skipped, or has the cause of an earlier finding.
  func add(_ finding: Finding) throws(Failure) {
    findings.append(finding)
    if isNewCause(finding), !invocation.isJSON, finding.status != .skipped,
      !invocation.checks.isQuiet || finding.isTold
    {
      let note = finding.status == .passed ? nil : finding.detail
      try write(finding.check.name, finding.status, note)
    }
    if CheckReport.isStopped.load(ordering: .relaxed) {
      throw Failure(
        status: .failed, subject: checker.library, code: "cancelled", message: "cancelled")
    }
  }

  /// Counts a finding under its cause. Returns false if an earlier finding has this cause.
  private func isNewCause(_ finding: Finding) -> Bool {
    guard finding.isTold else { return true }
    if let index = causes.firstIndex(where: { $0.first.cause == finding.cause }) {
      causes[index].more += 1
      return false
    }
    causes.append((finding, 0))
    return true
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

  /// Writes a line per cause that breaks several checks.
  private func writeRepeated() throws(Failure) {
    for (first, more) in causes where more > 0 {
      let checks = "… and \(more) more check\(more == 1 ? "" : "s")"
      try write(checks, first.status, "for the same reason as \(first.check.name)")
    }
  }

  /// Writes a line per part of a large table to which checks were limited.
  private func writeSampled() throws(Failure) {
    let parts = findings.filter { $0.status == .passed }.compactMap(\.detail)
    for (index, part) in parts.enumerated() where parts.firstIndex(of: part) == index {
      let count = parts.count { $0 == part }
      var line = output.screen.paint(SafeText("sampled").padded(to: 9), .faint)
      let checks = "\(count) check\(count == 1 ? "" : "s")"
      line.append("  " + SafeText(checks).padded(to: CheckReport.nameWidth))
      line.append("  \(SafeText(part))")
      try output.write(output.screen.fitted(line) + "\n")
    }
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
      try writeRepeated()
      if !invocation.checks.isQuiet {
        try writeSampled()
        try writeSkipped()
      }
      let told = findings.filter(\.isTold)
      for (finding, _) in causes {
        let others = told.filter { $0.cause == finding.cause && $0.check != finding.check }
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
      let names = others.prefix(3).map { "\($0.check.name) (\($0.status.rawValue))" }
      let more = others.count > 3 ? " … and \(others.count - 3) more" : ""
      lines.append("  also      \(SafeText(names.joined(separator: ", ") + more))")
    }
    lines.append("  hint      \(SafeText(finding.hint))")
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
    /// The name of an earlier check with the same cause.
    func firstName(ofCauseOf finding: Finding) -> String? {
      guard finding.isTold, let first = causes.first(where: { $0.first.cause == finding.cause })
      else { return nil }
      return first.first.check == finding.check ? nil : first.first.check.name
    }
    let checks = findings.map { finding in
      var members: JSONObject = [
        "name": .string(finding.check.name), "level": .string(finding.check.level.rawValue),
        "status": .string(finding.status.rawValue), "expected": .string(finding.check.summary),
        "came": text(finding.detail), "hint": .string(finding.hint),
        "location": text(finding.place), "cause": text(firstName(ofCauseOf: finding)),
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
      "summary": .object(JSONObject(counts)),
    ])
  }
}

extension Finding {
  /// The actual result without the details of one check. Equal texts have a common cause in the provider.
  ///
  /// Numbers are left out, because a faulty answer to another request has other numbers. If the provider broke the
  /// contract, only the function and the fault count, not the request.
  fileprivate var cause: String {
    guard let detail else { return check.name }
    var text = detail[...]
    let start = "an unexpected error: "
    if text.hasPrefix(start) { text = text.dropFirst(start.count) }
    if let seed = text.utf8.position(of: " (seed ".utf8) { text = text[..<seed] }
    for mark in [" broke the contract in ", " returned an invalid batch: "] {
      if let place = text.utf8.position(of: mark.utf8) { text = text[place...] }
    }
    return text.split { $0.isNumber }.joined(separator: "#")
  }

  fileprivate var isWarning: Bool { status == .warning }

  /// Whether the report describes it in full.
  fileprivate var isTold: Bool { isFailure || isWarning }
}
