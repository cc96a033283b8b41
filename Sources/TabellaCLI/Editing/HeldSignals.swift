import CTabellaSystem
import Tabella

/// Between doing something and telling of it a program must not end: from here on the signals that end a
/// program only cancel the source's call, and end the program when ``CommandTable/run(_:)`` is done.
func holdSignals(cancelling source: any TableDataSource) {
  // Kept for good: it is used until the program ends.
  let cancellation = Unmanaged.passRetained(Cancellation(source.cancellation))
  tabella_system_hold_signals(
    { Unmanaged<Cancellation>.fromOpaque($0!).takeUnretainedValue().cancel?() },
    cancellation.toOpaque())
}

private final class Cancellation {
  let cancel: (@Sendable () -> Void)?

  init(_ cancel: (@Sendable () -> Void)?) { self.cancel = cancel }
}
