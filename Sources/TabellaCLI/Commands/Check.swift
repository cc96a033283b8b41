import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaChecking
import TabellaFiles
import TabellaHost
import TabellaSystem
import TabellaTerminal

extension Command {
  static let check = Command(
    name: "check", operands: "LIBRARY|PROVIDER [LOCATION]", operandValues: [.provider, .location],
    summary: "check a provider against the contract",
    discussion: """
      Loads the library of any provider and runs the conformance suite on it. The suite checks the entry function, \
      the sources, and locations that are empty, huge or hostile. It makes calls in any order and with wrong \
      arguments. It makes edits and compares the results with the reported outcomes. It also looks for memory leaks. \
      Each check runs in a process of its own. \
      The command needs only the library, no special build. `--list` describes the checks.

      LOCATION is the location to open. Without LOCATION, the manifest beside the library decides: the command \
      creates samples that match its patterns, or opens its schemes with an empty rest. The checks edit copies of a \
      file or folder, never LOCATION itself, and open each copy again to see whether the edit is stored. The rows of a \
      scheme cannot be copied, so by default their edits are not checked. With `--edit` the checks edit those rows at \
      random; use it only if the data may be lost.

      A check passes, fails, crashes, times out or is skipped. A check that is only recommended warns instead of \
      failing. The exit status is 1 if there are findings, 3 if the library cannot be loaded, and 4 if trust refuses \
      it. Warnings are not findings. A seed determines all random choices; without `--seed` each run has a new seed. \
      `--reproduce` repeats a run and prints the last calls before each finding.
      """,
    options: [
      .seed, .reproduce, .only, .listChecks, .editLocation, .silence, .option, .inProcess, .quiet,
      .color,
      .json,
    ],
    examples: [
      ("tabella check ./libmine.so data.csv", "check a library with a file that it opens"),
      ("tabella check csv", "check an installed provider with samples"),
      ("tabella check --list", "list all checks"),
      (
        "tabella check ./libmine.so data.csv --only cuts-agree --reproduce 1",
        "repeat one check with the seed of an earlier run"
      ),
    ], seeAlso: ["providers", "describe"], group: .providers
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
    // A relative path is relative to the current folder.
    let path = try Failure.about(operand.text) { () throws(TableError) in
      if let entry { return entry.library }
      if access(operand.text, F_OK) != 0 { try host.catalogue.checkNotRefused(operand.text) }
      return String(decoding: try absolutePath(operand.bytes), as: UTF8.self)
    }
    let location = invocation.operands.dropFirst().first.map { Location($0.bytes) }
    // A missing file is no fault of the provider.
    if let location, location.isPath, !location.isStandardInput, realPath(location.bytes) == nil {
      throw .of(.system(errno, "cannot be opened"), subject: location.description)
    }
    let checker = Checker(
      library: path,
      location: location,
      options: options, host: host)
    let report = CheckReport(
      checker, output, invocation, seed: options.seed, operands: invocation.operands)
    report.beginOpening()
    do {
      try checker.run(onStart: { _ in try report.begin() }, onCheck: { report.begin($0) }) {
        try report.add($0)
      }
      Progress.end()
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

/// The options of `check`.
struct CheckArguments: Sendable {
  var seed: UInt64?
  /// Whether the run repeats another one, so that the report includes the calls before each finding.
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
    names: ["--seed"], argument: "N", summary: "set the seed for all random choices"
  ) { invocation, value throws(Failure) in
    guard let seed = UInt64(value.text) else { throw .usage("must be a whole number, 0 or more") }
    invocation.checks.seed = seed
  }

  fileprivate static let reproduce = OptionSpec(
    names: ["--reproduce"], argument: "SEED",
    summary: "repeat the run with this seed, and print the last calls before each finding"
  ) { invocation, value throws(Failure) in
    guard let seed = UInt64(value.text) else { throw .usage("must be the seed of a run") }
    invocation.checks.seed = seed
    invocation.checks.reproduces = true
  }

  fileprivate static let only = OptionSpec(
    names: ["--only"], argument: "NAME,…", summary: "run only these checks; can be repeated",
    values: .choices(Check.all.map(\.name)), repeats: true
  ) { invocation, value throws(Failure) in
    invocation.checks.only += value.text.split(separator: ",").map(String.init)
  }

  fileprivate static let listChecks = OptionSpec(
    names: ["--list"], argument: nil, summary: "list the checks, and run none"
  ) { invocation, _ throws(Failure) in invocation.checks.lists = true }

  fileprivate static let editLocation = OptionSpec(
    names: ["--edit"], argument: nil,
    summary: "edit the rows of a scheme at random; use it only if the data may be lost"
  ) { invocation, _ throws(Failure) in invocation.checks.mayEdit = true }

  fileprivate static let silence = OptionSpec(
    names: ["--timeout"], argument: "SECONDS",
    summary: "the time that a call may run without a sign of life; the default is 10",
    detail: "A call with signs of life may run twelve times as long"
  ) { invocation, value throws(Failure) in
    guard let seconds = Double(value.text), seconds >= 0.1, seconds <= 86_400 else {
      throw .usage("must be a number of seconds from 0.1 to 86400")
    }
    invocation.checks.silence = seconds
  }

  fileprivate static let quiet = OptionSpec(
    names: ["--quiet"], argument: nil,
    summary: "print no line for checks that passed or were skipped"
  ) { invocation, _ throws(Failure) in invocation.checks.isQuiet = true }
}
