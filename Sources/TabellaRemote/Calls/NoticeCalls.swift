import Tabella

// Notices: the host ignores their answers, and they cannot fail.

extension Calls {
  typealias Notice = Call<WireNothing, Range<Int>, Int>

  static let willDisplay = notice(.willDisplay) {
    $0.display?.willDisplay(rows: $1, inSection: $2)
  }

  static let didEndDisplaying = notice(.didEndDisplaying) {
    $0.display?.didEndDisplaying(rows: $1, inSection: $2)
  }

  static let prefetch = notice(.prefetch) {
    $0.prefetching?.prefetch(rows: $1, inSection: $2)
  }

  static let cancelPrefetching = notice(.cancelPrefetching) {
    $0.prefetching?.cancelPrefetching(rows: $1, inSection: $2)
  }

  private static func notice(
    _ operation: Operation,
    _ send: @escaping @Sendable (any TableDataSource, Range<Int>, Int) -> Void
  ) -> Notice {
    Notice(
      operation, asked: tracedRange, answered: { _ in "ok" },
      make: { source, rows, section throws(TableError) in
        send(source, rows, section)
        return WireNothing()
      })
  }
}

extension ForwardingSource {
  package func willDisplay(rows: Range<Int>, inSection section: Int) {
    _ = try? call(Calls.willDisplay, rows, section)
  }

  package func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    _ = try? call(Calls.didEndDisplaying, rows, section)
  }

  package func prefetch(rows: Range<Int>, inSection section: Int) {
    _ = try? call(Calls.prefetch, rows, section)
  }

  package func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    _ = try? call(Calls.cancelPrefetching, rows, section)
  }
}

/// The answer to a notice.
struct WireNothing: WireValue {
  func write(to writer: inout WireWriter) {}

  static func read(_ reader: inout WireReader) throws(TableError) -> WireNothing { WireNothing() }
}
