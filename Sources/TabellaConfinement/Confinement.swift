import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// Permanently removes all abilities of this process that its rules do not grant.
///
/// A worker calls ``begin(_:telling:prefix:on:)`` before it loads foreign code, and ``tighten(_:on:)`` afterwards. Only
/// the first call protects against hostile code: code that has run since then may have changed this process and so the
/// second call. docs/security.md lists the remaining abilities.
package enum Confinement {
  /// The time in milliseconds that other threads have to confine themselves.
  private static let patience: Int32 = 5000

  /// Sets limits, gives up capabilities, and installs Landlock and seccomp. Libraries can still be loaded.
  ///
  /// From now on, each denial is sent to `socket`, if there is one. A packet consists of `prefix` (at most 64 bytes)
  /// and a record for ``Denial``. Sending never blocks, so packets are lost if nobody reads them. The other threads of
  /// the process are confined, too; they must answer signals.
  ///
  /// The report lists the missing kernel features. Throws ``TableError``: `.denied` if a feature is missing and the
  /// rules are strict, `.conflict` if a path of the rules leads to another file than the host found, `.io` if an
  /// existing feature fails. After an error, less is forbidden than the rules require, and the process must not load
  /// foreign code.
  package static func begin(
    _ rules: WorkerRules, telling socket: Int32? = nil, prefix: [UInt8] = [],
    on kernel: KernelFeatures = .running
  ) throws(TableError) -> ConfinementReport {
    var report = ConfinementReport(kernel, rules)
    try Limits.set(rules, &report)
    let told = prefix.withUnsafeBytes {
      tabella_denials_begin(socket ?? -1, $0.baseAddress, $0.count)
    }
    guard told == 0 else { throw failed("the handler of refused calls", told) }
    tabella_accounts_from_files()
    let readable = readable(rules) + SystemPaths.pathsForLoading
    if let lacking = SystemMounts.protect(
      SystemPaths.devices + readable + rules.libraries.map(\.path), rules)
    {
      report.lacking.append(lacking)
    }
    if rules.isStrict, !report.lacking.isEmpty {
      throw TableError(
        .denied,
        "the provider's process cannot be confined enough to edit: this system lacks \(report.lacking.joined(separator: "; "))"
      ).with(.acceptWeakIsolation)
    }
    report.absent = try restrict(
      readable, rules.libraries, rules, on: kernel, kept: Capabilities.kept(rules))
    report.inForce.append(Capabilities.described)
    if kernel.seccomp { try filter(rules, kernel) }
    return report
  }

  /// Removes the access that only loading needed. The granted files and the basic system files remain.
  ///
  /// Throws ``TableError`` with `.io` as above, also if a thread of the library does not answer.
  package static func tighten(_ rules: WorkerRules, on kernel: KernelFeatures = .running)
    throws(TableError)
  {
    guard kernel.landlock > 0 else { return }
    _ = try restrict(readable(rules), [], rules, on: kernel, kept: .max)
  }

  /// The system files that a worker may read while it works.
  private static func readable(_ rules: WorkerRules) -> [[UInt8]] {
    SystemPaths.pathsForWork + (rules.network ? SystemPaths.network : [])
  }

  /// Applies the rules to all threads. `readable` and `libraries` may be read in addition. Returns those paths of the
  /// rules that do not exist.
  private static func restrict(
    _ readable: [[UInt8]], _ libraries: [Grant], _ rules: WorkerRules, on kernel: KernelFeatures,
    kept: UInt64
  ) throws(TableError) -> [[UInt8]] {
    guard kernel.landlock > 0 else {
      try confineThreads(-1, kept)
      return []
    }
    let landlock = try Landlock(version: kernel.landlock, rules)
    // Missing system files are normal, so they are not reported.
    for path in SystemPaths.devices {
      _ = try landlock.allow([.read, .write, .truncate], at: path)
    }
    for path in readable { _ = try landlock.allow(.reading, at: path) }
    for library in libraries { _ = try landlock.allow(.reading, for: library) }
    var absent: [[UInt8]] = []
    let granted: [([Grant], Landlock.Rights)] = [
      (rules.readable, .reading), (rules.saving, .saving),
      (rules.writable, rules.links ? [.changing, .makeLink] : .changing),
    ]
    for (grants, rights) in granted {
      for grant in grants where try !landlock.allow(rights, for: grant) {
        absent.append(grant.path)
      }
    }
    try confineThreads(landlock.descriptor, kept)
    return absent
  }

  private static func confineThreads(_ landlock: Int32, _ kept: UInt64) throws(TableError) {
    var rules = tabella_thread_rules(landlock: landlock, capabilities: kept)
    let result = tabella_confine_threads(&rules, patience)
    guard result != -ETIME else {
      throw TableError(
        .io,
        "the process cannot be confined: one of its threads does not answer signals (it blocks SIGSYS, or waits in the kernel)"
      )
    }
    guard result == 0 else { throw failed("its threads", result) }
  }

  private static func filter(_ rules: WorkerRules, _ kernel: KernelFeatures) throws(TableError) {
    var calls = tabella_call_rules(
      landlock: kernel.landlock > 0, truncates: kernel.landlock >= 3,
      changes: rules.allowsChanges, signals: rules.signals, network: rules.network)
    let result = tabella_seccomp_install(&calls)
    guard result == 0 else { throw failed("seccomp", result) }
  }

  /// The error for a path that leads to another file than a moment ago.
  package static func replaced(_ path: [UInt8]) -> TableError {
    TableError(
      .conflict,
      "\(String(decoding: path, as: UTF8.self)) was replaced while the provider's process was started; try again"
    )
  }

  static func failed(_ what: String, _ result: Int32) -> TableError {
    TableError(
      .io, "the process cannot be confined: \(what): \(errorText(-result))")
  }
}
