import Tabella

// Notices: nobody waits for their answers, and they cannot fail.

extension Calls {
  typealias Notice = Call<WireNothing, Range<Int>, Int>

  static let willDisplay = Notice(
    .willDisplay, asked: tracedRange, answered: ok,
    make: {
      source, rows, section throws(TableError) in
      source.display?.willDisplay(rows: rows, inSection: section)
      return WireNothing()
    })

  static let didEndDisplaying = Notice(
    .didEndDisplaying, asked: tracedRange, answered: ok,
    make: {
      source, rows, section throws(TableError) in
      source.display?.didEndDisplaying(rows: rows, inSection: section)
      return WireNothing()
    })

  static let prefetch = Notice(
    .prefetch, asked: tracedRange, answered: ok,
    make: {
      source, rows, section throws(TableError) in
      source.prefetching?.prefetch(rows: rows, inSection: section)
      return WireNothing()
    })

  static let cancelPrefetching = Notice(
    .cancelPrefetching, asked: tracedRange, answered: ok,
    make: {
      source, rows, section throws(TableError) in
      source.prefetching?.cancelPrefetching(rows: rows, inSection: section)
      return WireNothing()
    })
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

@Sendable private func ok(_: WireNothing) -> String { "ok" }
