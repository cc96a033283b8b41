import Glibc

/// The processors that share long work.
package enum Cores {
  /// The number of threads for long work; at least 1.
  ///
  /// The environment variable `TABELLA_THREADS` sets it. Without a number from 1 to 1024 there, it is ``usable``.
  package static let count = requested ?? usable

  private static var requested: Int? {
    guard let text = getenv("TABELLA_THREADS"), let number = Int(String(cString: text)),
      1...1024 ~= number
    else { return nil }
    return number
  }

  /// The number of processors on which this process may run; at least 1.
  package static let usable: Int = {
    var processors = cpu_set_t()
    guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &processors) == 0 else { return 1 }
    return withUnsafeBytes(of: &processors) { bytes in
      max(1, bytes.reduce(0) { $0 + $1.nonzeroBitCount })
    }
  }()
}
