import Glibc
import Synchronization
import Tabella

/// Whether this process, or a parent before a fork, has used a host in a library that others load.
///
/// A fork copies one thread only. Locks of other threads stay locked in the child, and workers belong to the parent. So a
/// child of a process that had used a host must not use one.
package enum ProcessUse {
  private static let unused = 0
  private static let used = 1
  private static let inherited = 2
  private static let state = Atomic(unused)

  /// Notes that this process uses a host. Throws ``TableError`` with `.invalidState` if a parent did so before a fork.
  package static func begin() throws(TableError) {
    let (isFirst, _) = state.compareExchange(
      expected: unused, desired: used, ordering: .acquiringAndReleasing)
    if isFirst {
      pthread_atfork(
        nil, nil, { ProcessUse.state.store(ProcessUse.inherited, ordering: .releasing) })
    }
    try check()
  }

  /// Whether a parent of this process used a host before a fork.
  package static var isInherited: Bool { state.load(ordering: .acquiring) == inherited }

  /// Throws ``TableError`` with `.invalidState` if a parent of this process used a host before a fork.
  package static func check() throws(TableError) {
    if isInherited { throw TableError(.invalidState, inheritedMessage) }
  }

  package static let inheritedMessage =
    "this process was forked from one that had used Tabella; use it in the child only, or start the child with exec"
}
