import CTabellaSystem
import Tabella
import TabellaFiles

/// What the process may use: getrlimit(2).
enum Limits {
  /// Sets them, and says which there are. Throws ``TableError`` with `.io`.
  static func set(_ rules: Rules, _ report: inout Report) throws(TableError) {
    // What a crash would leave on the disk is what the process had in memory. One byte, since 0 does not keep
    // the kernel from handing it to a program: core(5).
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
    // Too large a file is then an error of write and not the end.
    signal(SIGXFSZ, SIG_IGN)
    if !words.isEmpty { report.inForce.append("at most " + words.joined(separator: ", ")) }
  }

  private static func set(_ kind: __rlimit_resource, _ value: Int) throws(TableError) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(kind.rawValue)
    guard getrlimit(resource, &limit) == 0 else { throw Confinement.failed("limits", -errno) }
    // A lower one that there was stays.
    let most = min(rlim_t(value), limit.rlim_max)
    limit = rlimit(rlim_cur: most, rlim_max: most)
    guard setrlimit(resource, &limit) == 0 else { throw Confinement.failed("limits", -errno) }
  }
}
