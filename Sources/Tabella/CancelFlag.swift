import Synchronization

/// Lets any thread stop a call that is running on a source: what most sources need for
/// ``TableDataSource/cancellation``.
///
/// A call that takes long begins with ``begin()`` and asks ``check()`` every few milliseconds. To
/// cancel when no call is running does nothing.
public final class CancelFlag: Sendable {
  private let isRaised = Atomic(false)

  public init() {}

  /// What ``TableDataSource/cancellation`` returns.
  public var cancellation: @Sendable () -> Void { { self.raise() } }

  /// Cancels the running call; from any thread.
  public func raise() { isRaised.store(true, ordering: .relaxed) }

  /// Whether the running call is cancelled.
  public var isSet: Bool { isRaised.load(ordering: .relaxed) }

  /// Forgets what was cancelled before; called at the start of a call.
  public func begin() { isRaised.store(false, ordering: .relaxed) }

  /// Throws ``TableError`` with `.cancelled` if the running call is cancelled.
  public func check() throws(TableError) {
    if isSet { throw TableError(.cancelled, "cancelled") }
  }
}
