import CTabellaSystem
import Tabella
import TabellaFiles

/// The limits on the resources of the process; see getrlimit(2).
enum Limits {
  /// Sets the limits and adds them to the report. Throws ``TableError`` with `.io`.
  static func set(_ rules: WorkerRules, _ report: inout ConfinementReport) throws(TableError) {
    // A core dump would write the memory of the process to the disk. The limit is 1 byte, because with 0 the kernel
    // would still pipe dumps to a program; see core(5).
    try set(RLIMIT_CORE, 1)
    var words: [String] = []
    for (kind, value, unit) in [
      (RLIMIT_DATA, rules.memory, "bytes of memory"),
      (RLIMIT_AS, rules.addresses, "bytes of addresses"),
      (RLIMIT_NOFILE, rules.files, "open files"),
      (RLIMIT_CPU, rules.processorSeconds, "seconds of processor time"),
    ] where value > 0 {
      try set(kind, value)
      words.append("\(value) \(unit)")
    }
    if let size = rules.fileSize {
      try set(RLIMIT_FSIZE, size)
      words.append("\(size) bytes in a file")
    }
    // Exceeding the file size then fails `write` instead of killing the process.
    signal(SIGXFSZ, SIG_IGN)
    if !words.isEmpty { report.inForce.append("at most " + words.joined(separator: ", ")) }
  }

  private static func set(_ kind: __rlimit_resource, _ value: Int) throws(TableError) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(kind.rawValue)
    guard getrlimit(resource, &limit) == 0 else { throw Confinement.failed("limits", -errno) }
    // A lower limit that is already set stays.
    let most = min(rlim_t(value), limit.rlim_max)
    limit = rlimit(rlim_cur: most, rlim_max: most)
    guard setrlimit(resource, &limit) == 0 else { throw Confinement.failed("limits", -errno) }
  }
}
