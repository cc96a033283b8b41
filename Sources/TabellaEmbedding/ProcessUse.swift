import Glibc
import Synchronization
import Tabella

/// Whether this process, or a parent before a fork, has used the library.
///
/// A fork copies one thread only. Locks of other threads stay locked in the child, and workers belong to the parent. So a
/// child of a process that had used the library must not use it.
enum ProcessUse {
  private static let unused = 0
  private static let used = 1
  private static let inherited = 2
  private static let state = Atomic(unused)

  /// Notes that this process uses the library. Throws ``TableError`` with `.invalidState` if a parent did so before a fork.
  static func begin() throws(TableError) {
    let (isFirst, _) = state.compareExchange(
      expected: unused, desired: used, ordering: .acquiringAndReleasing)
    if isFirst {
      pthread_atfork(
        nil, nil, { ProcessUse.state.store(ProcessUse.inherited, ordering: .releasing) })
    }
    try check()
  }

  /// Whether a parent of this process used the library before a fork.
  static var isInherited: Bool { state.load(ordering: .acquiring) == inherited }

  /// Throws ``TableError`` with `.invalidState` if a parent of this process used the library before a fork.
  static func check() throws(TableError) {
    if isInherited { throw TableError(.invalidState, inheritedMessage) }
  }

  static let inheritedMessage =
    "this process was forked from one that had used libtabella; use the library in the child only, or start the child with exec"
}
