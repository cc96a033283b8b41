/// Notices of what is on show, strictly paired; UIKit's `willDisplay` and `didEndDisplaying`.
///
/// The corresponding C table is `tabella_display`.
public protocol TableDisplay: AnyObject {
  func willDisplay(rows: Range<Int>, inSection section: Int)
  /// Follows each ``willDisplay(rows:inSection:)`` once, with the same range.
  func didEndDisplaying(rows: Range<Int>, inSection section: Int)
}

/// Advice on what will probably be asked for; must return quickly.
///
/// UIKit's `prefetchRowsAt` and `cancelPrefetchingForRowsAt`. The corresponding C table is
/// `tabella_prefetching`.
public protocol TablePrefetching: AnyObject {
  func prefetch(rows: Range<Int>, inSection section: Int)
  func cancelPrefetching(rows: Range<Int>, inSection section: Int)
}
