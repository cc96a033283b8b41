import CTabellaSystem
import Tabella
import TabellaFiles

/// Gives up, for this process and for good, what its rules do not grant.
///
/// A worker calls ``begin(_:telling:prefix:on:)`` before it loads foreign code and
/// ``tighten(_:on:)`` after it. What keeps foreign code in is the first: code that has run since may
/// have changed this process, the second included. docs/security.md says what is left to it.
public enum Confinement {
  /// How long other threads have to give up what this one does.
  private static let patience: Int32 = 5000

  /// Sets limits, gives up capabilities, and lets Landlock and seccomp forbid what is not granted; libraries
  /// may still be loaded.
  ///
  /// What is refused from now on is told to `socket`, if there is one: a packet for each, of `prefix` (64
  /// bytes at most) and a record that ``Denial`` reads. It is not waited for, and for whoever does not read
  /// it is lost. Other threads of the process are confined with it; they must answer signals.
  ///
  /// The report says what the kernel lacks. Throws ``TableError``: `.denied` if it lacks anything and the rules
  /// are strict, `.conflict` if a path of the rules leads elsewhere than the host found, `.io` if something
  /// that the kernel has fails. Then less is forbidden than the rules say, and foreign code is not to be
  /// loaded.
  public static func begin(
    _ rules: Rules, telling socket: Int32? = nil, prefix: [UInt8] = [], on kernel: Kernel = .running
  ) throws(TableError) -> Report {
    var report = Report(kernel, rules)
    try Limits.set(rules, &report)
    let told = prefix.withUnsafeBytes {
      tabella_denials_begin(socket ?? -1, $0.baseAddress, $0.count)
    }
    guard told == 0 else { throw failed("the handler of refused calls", told) }
    tabella_accounts_from_files()
    let readable = readable(rules) + SystemPaths.loading
    if let lacking = SystemMounts.protect(
      SystemPaths.devices + readable + rules.libraries.map(\.path), rules)
    {
      report.lacking.append(lacking)
    }
    if rules.isStrict, !report.lacking.isEmpty {
      throw TableError(
        .denied,
        "the provider's process cannot be confined as it must be to edit: this system lacks \(report.lacking.joined(separator: "; ")); --weak-isolation accepts that"
      )
    }
    report.absent = try restrict(
      readable, rules.libraries, rules, on: kernel, kept: Capabilities.kept(rules))
    report.inForce.append(Capabilities.described)
    if kernel.seccomp { try filter(rules, kernel) }
    return report
  }

  /// Takes away what only loading needed: of files no more than the location's is left, and what the system
  /// tells every process.
  ///
  /// Throws ``TableError`` with `.io` as above, also if a thread that the library started does not answer.
  public static func tighten(_ rules: Rules, on kernel: Kernel = .running) throws(TableError) {
    guard kernel.landlock > 0 else { return }
    _ = try restrict(readable(rules), [], rules, on: kernel, kept: .max)
  }

  /// What of the system may be read at work.
  private static func readable(_ rules: Rules) -> [[UInt8]] {
    SystemPaths.working + (rules.network ? SystemPaths.network : [])
  }

  /// Puts all threads under the rules, with what may be read of the system and of libraries; returns the paths
  /// of the rules that are not there.
  private static func restrict(
    _ readable: [[UInt8]], _ libraries: [Grant], _ rules: Rules, on kernel: Kernel, kept: UInt64
  ) throws(TableError) -> [[UInt8]] {
    guard kernel.landlock > 0 else {
      try confineThreads(-1, kept)
      return []
    }
    let landlock = try Landlock(version: kernel.landlock, rules)
    // What is not there of the system's is no news.
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

  private static func filter(_ rules: Rules, _ kernel: Kernel) throws(TableError) {
    var calls = tabella_call_rules(
      landlock: kernel.landlock > 0, truncates: kernel.landlock >= 3,
      changes: rules.allowsChanges, signals: rules.signals, network: rules.network)
    let result = tabella_seccomp_install(&calls)
    guard result == 0 else { throw failed("seccomp", result) }
  }

  /// The error for a path that leads elsewhere than a moment ago.
  static func replaced(_ path: [UInt8]) -> TableError {
    TableError(
      .conflict,
      "\(String(decoding: path, as: UTF8.self)) was replaced while the provider's process was started; try again"
    )
  }

  static func failed(_ what: String, _ result: Int32) -> TableError {
    TableError(
      .io, "the process cannot be confined: \(what): \(String(cString: strerror(-result)))")
  }
}
