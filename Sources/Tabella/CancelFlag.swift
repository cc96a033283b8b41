import Synchronization

/// A flag by which any thread stops a running call of a source. Most sources use it for
/// ``TableDataSource/cancellation``.
///
/// A long call begins with ``begin()`` and calls ``check()`` every few milliseconds. A cancellation while no call
/// is running has no effect.
public final class CancelFlag: Sendable {
  private let isRaised = Atomic(false)

  /// Creates a flag that is not set.
  public init() {}

  /// A value for ``TableDataSource/cancellation``.
  public var cancellation: @Sendable () -> Void { { self.raise() } }

  /// Cancels the running call. Any thread may call it.
  public func raise() { isRaised.store(true, ordering: .relaxed) }

  /// Whether the running call is cancelled.
  public var isSet: Bool { isRaised.load(ordering: .relaxed) }

  /// Forgets earlier cancellations. The source calls it at the start of a call.
  public func begin() { isRaised.store(false, ordering: .relaxed) }

  /// Throws ``TableError`` with `.cancelled` if the running call is cancelled.
  public func check() throws(TableError) {
    if isSet { throw TableError(.cancelled, "cancelled") }
  }
}
