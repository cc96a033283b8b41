import Synchronization
import Tabella

/// Cancels the calls on a table that run or wait at a moment, and the streams that were started before it.
final class Cancellations: Sendable {
  /// Stops the library's own work on the table.
  let flag = CancelFlag()
  private let cancellation: (@Sendable () -> Void)?
  private let number = Atomic(0)
  private let isCalled = Atomic(false)

  init(of source: any TableDataSource) { cancellation = source.cancellation }

  /// The number of cancellations until now. A call reads it before it waits for the lock of the host.
  var count: Int { number.load(ordering: .sequentiallyConsistent) }

  /// Cancels. Any thread may call it.
  func cancel() {
    number.add(1, ordering: .sequentiallyConsistent)
    flag.raise()
    // Other tables can share the source, and their calls go on.
    if isCalled.load(ordering: .sequentiallyConsistent) { cancellation?() }
  }

  /// Begins a call, under the lock of the host. Throws ``TableError`` with `.cancelled` if the table was cancelled after
  /// `count` was read.
  func beginCall(since count: Int) throws(TableError) {
    // A cancellation before the check is counted, and a later one finds the call.
    flag.begin()
    isCalled.store(true, ordering: .sequentiallyConsistent)
    guard count == self.count else {
      endCall()
      throw TableError(.cancelled, "cancelled")
    }
  }

  /// Ends a call, under the lock of the host.
  func endCall() { isCalled.store(false, ordering: .sequentiallyConsistent) }
}
