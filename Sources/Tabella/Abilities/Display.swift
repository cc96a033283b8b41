/// Notices about the rows on display, strictly paired; UIKit's `willDisplay` and `didEndDisplaying`.
///
/// The corresponding C table is `tabella_display`.
public protocol TableDisplay: AnyObject {
  /// Reports that these rows come on display.
  func willDisplay(rows: Range<Int>, inSection section: Int)
  /// Follows each ``willDisplay(rows:inSection:)`` exactly once, with the same range.
  func didEndDisplaying(rows: Range<Int>, inSection section: Int)
}

/// Advice about rows that a caller will probably ask for. The methods must return quickly.
///
/// UIKit's `prefetchRowsAt` and `cancelPrefetchingForRowsAt`. The corresponding C table is `tabella_prefetching`.
public protocol TablePrefetching: AnyObject {
  /// Announces that these rows will probably be requested soon.
  func prefetch(rows: Range<Int>, inSection section: Int)
  /// Withdraws an announcement of ``prefetch(rows:inSection:)``.
  func cancelPrefetching(rows: Range<Int>, inSection section: Int)
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func willDisplay(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.display?.willDisplay(rows: rows, inSection: section) }
  }

  package func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.display?.didEndDisplaying(rows: rows, inSection: section) }
  }

  package func prefetch(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.prefetching?.prefetch(rows: rows, inSection: section) }
  }

  package func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.prefetching?.cancelPrefetching(rows: rows, inSection: section) }
  }
}
