import CTabellaSystem
import Tabella

/// Delays signals that end the program until ``CommandTable/run(_:)`` is done, so that the program reports what it
/// did. Until then a signal only cancels the call of the source.
func holdSignals(cancelling source: any TableDataSource) {
  // Never released, because it is used until the program ends.
  let cancellation = Unmanaged.passRetained(Cancellation(source.cancellation))
  tabella_system_hold_signals(
    { Unmanaged<Cancellation>.fromOpaque($0!).takeUnretainedValue().cancel?() },
    cancellation.toOpaque())
}

private final class Cancellation {
  let cancel: (@Sendable () -> Void)?

  init(_ cancel: (@Sendable () -> Void)?) { self.cancel = cancel }
}
