import CTabellaSystem
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
  package static let usable = max(1, Int(tabella_system_processor_count()))
}
