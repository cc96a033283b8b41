import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaChecking
import TabellaHost
import TabellaTerminal

extension Command {
  static let check = Command(
    name: "check", operands: "LIBRARY|PROVIDER [LOCATION]", operandValues: [.provider, .location],
    summary: "checks a provider against the contract, each check in a process of its own",
    discussion: """
      Loads any provider's library and runs the conformance suite on it: its entry, its sources, locations \
      that are empty, huge or hostile, calls in any order and without sense, edits and what they say of \
      themselves, leaks. It needs no build of yours, only the library. docs/check.md tells of each check.

      LOCATION is what is opened. Without one, the manifest beside the library decides: samples are made for \
      its patterns, or its schemes are opened with nothing behind them. LOCATION itself is never edited: what \
      edits works on copies of a file or folder, which are opened anew to see whether an edit is stored. The rows of \
      a scheme cannot be copied, so their edits are not checked. `--edit` lets the checks edit it all the same, \
      at random: for data that may be lost.

      A check passes, fails, crashes, is timed out or skipped; one that is only recommended warns. Findings \
      are exit status 1, a library that cannot be loaded 3, one that trust refuses 4; warnings are no findings. \
      What is drawn at random is decided by the seed, another one each time unless it is given. `--reproduce` \
      repeats a run and tells the last calls before each finding.
      """,
    options: [
      .seed, .reproduce, .only, .listChecks, .editLocation, .silence, .option, .inProcess, .quiet,
      .color,
      .json,
    ],
    examples: [
      ("tabella check ./libmine.so data.csv", "a library with a file that it opens"),
      ("tabella check csv", "a provider that is found, with samples"),
      ("tabella check --list", "all checks"),
      (
        "tabella check ./libmine.so data.csv --only cuts-agree --reproduce 1",
        "one check again, with the seed of another run"
      ),
    ], seeAlso: ["providers", "describe"]
  ) { invocation, output throws(Failure) in
    let arguments = invocation.checks
    for name in arguments.only where !Check.all.contains(where: { $0.name == name }) {
      throw .usage(
        "there is no check \(name)\(Suggestion.hint(name, among: Check.all.map(\.name)))",
        command: "check")
    }
    if arguments.lists { return try list(invocation, output) }
    guard let operand = invocation.operands.first else {
      throw .usage("a library or a provider is missing", command: "check")
    }
    guard invocation.operands.count <= 2 else {
      throw .usage("\(invocation.operands[2].text) is not expected", command: "check")
    }
    let host = Host(invocation)
    if let silence = arguments.silence {
      host.limits.silence = silence
      host.limits.grace = min(silence, host.limits.grace)
    }
    var options = CheckOptions()
    options.seed = arguments.seed ?? UInt64.random(in: 1...999_999_999)
    options.only = arguments.only.isEmpty ? nil : Set(arguments.only)
    options.mayEdit = arguments.mayEdit
    options.keepsCalls = arguments.reproduces
    options.values = invocation.options
    let entry = host.catalogue.entries.first { $0.manifest.id == operand.text }
    // Who types a path means the folder that they are in.
    let path = try Failure.about(operand.text) { () throws(TableError) in
      if let entry { return entry.library }
      if access(operand.text, F_OK) != 0 { try host.catalogue.checkNotRefused(operand.text) }
      return String(decoding: try absolute(operand.bytes), as: UTF8.self)
    }
    let checker = Checker(
      library: path,
      location: invocation.operands.dropFirst().first.map { Location($0.bytes) },
      options: options, host: host)
    let report = CheckReport(
      checker, output, invocation, seed: options.seed, operands: invocation.operands)
    do {
      try checker.run(onStart: { _ in try report.begin() }) { try report.add($0) }
    } catch let failure as Failure {
      throw failure
    } catch let error as TableError {
      throw .of(error, subject: operand.text)
    } catch {
      throw Failure(
        status: .failed, subject: operand.text, code: "internal", message: "\(error)")
    }
    return try report.end()
  }

  /// Lists the checks.
  private static func list(
    _ invocation: Invocation, _ output: Output
  ) throws(Failure) -> ExitStatus {
    let only = invocation.checks.only
    let checks = Check.all.filter { only.isEmpty || only.contains($0.name) }
    if invocation.isJSON {
      try output.write(
        json: .object([
          "checks": .array(
            checks.map { check in
              .object([
                "name": .string(check.name), "level": .string(check.level.rawValue),
                "subject": .string(check.subject.rawValue), "summary": .string(check.summary),
                "hint": .string(check.hint),
              ])
            })
        ]))
      return .done
    }
    try writeTable(
      ["name", "level", "subject", "summary"],
      checks.map { [$0.name, $0.level.rawValue, $0.subject.rawValue, $0.summary] }, output)
    return .done
  }
}

/// What `check` is told beside its operands.
struct CheckArguments: Sendable {
  var seed: UInt64?
  /// Whether the run repeats another, so that what led to a finding is wanted.
  var reproduces = false
  var only: [String] = []
  var lists = false
  var mayEdit = false
  var isQuiet = false
  /// Seconds.
  var silence: Double?
}

extension OptionSpec {
  fileprivate static let seed = OptionSpec(
    names: ["--seed"], argument: "N", summary: "decides what is drawn at random"
  ) { invocation, value throws(Failure) in
    guard let seed = UInt64(value.text) else { throw .usage("must be a whole number, 0 or more") }
    invocation.checks.seed = seed
  }

  fileprivate static let reproduce = OptionSpec(
    names: ["--reproduce"], argument: "SEED",
    summary: "repeats the run of this seed, and tells the last calls before each finding"
  ) { invocation, value throws(Failure) in
    guard let seed = UInt64(value.text) else { throw .usage("must be the seed of a run") }
    invocation.checks.seed = seed
    invocation.checks.reproduces = true
  }

  fileprivate static let only = OptionSpec(
    names: ["--only"], argument: "NAME,…", summary: "these checks only; may be repeated",
    values: .choices(Check.all.map(\.name)), repeats: true
  ) { invocation, value throws(Failure) in
    invocation.checks.only += value.text.split(separator: ",").map(String.init)
  }

  fileprivate static let listChecks = OptionSpec(
    names: ["--list"], argument: nil, summary: "tell which checks there are, and make none"
  ) { invocation, _ throws(Failure) in invocation.checks.lists = true }

  fileprivate static let editLocation = OptionSpec(
    names: ["--edit"], argument: nil,
    summary: "edit what a scheme shows, at random: only for data that may be lost"
  ) { invocation, _ throws(Failure) in invocation.checks.mayEdit = true }

  fileprivate static let silence = OptionSpec(
    names: ["--timeout"], argument: "SECONDS",
    summary: "how long a call may give no sign of life; the default is 10",
    detail: "With signs of life it may take twelve times as long"
  ) { invocation, value throws(Failure) in
    guard let seconds = Double(value.text), seconds >= 0.1, seconds <= 86_400 else {
      throw .usage("must be a number of seconds from 0.1 to 86400")
    }
    invocation.checks.silence = seconds
  }

  fileprivate static let quiet = OptionSpec(
    names: ["--quiet"], argument: nil, summary: "no line for what passed or was skipped"
  ) { invocation, _ throws(Failure) in invocation.checks.isQuiet = true }
}
