import TabellaThreads

extension FilteredSource: RowSharing {
  package var canShare: Bool { base.sharing != nil }

  package func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let sharing = base.sharing, let state = try reached(first, inSection: section) else {
      return nil
    }
    // The caller means the size of its result, and only some rows pass.
    let factor = max(1, min(state.read / max(1, state.passing.count), ShareSize.results / size))
    let shares = try sharing.shares(ofSection: section, from: state.read, size: size * factor)
    guard let shares else { return nil }
    return FilteredShares(self, section, shares, state)
  }

  package func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let sharing = base.sharing, let passing = known[section]?.passing else { return nil }
    let baseRows = rows.map { UInt32(truncatingIfNeeded: passing[Int($0)]) }
    return try withBuffer(of: baseRows) { rows throws(TableError) in
      try sharing.shares(gathering: rows, inSection: section, size: size)
    }
  }
}

/// The shown rows of a filtered section, divided like the rows of its base.
private final class FilteredShares: RowShares {
  private let view: FilteredSource
  private let shares: any RowShares
  private let section: Int
  private let state: FilteredSource.Section
  private let filters: SpareFilters
  private let earlier: (passing: Int, read: Int)

  init(
    _ view: FilteredSource, _ section: Int, _ shares: any RowShares, _ state: FilteredSource.Section
  ) {
    (self.view, self.section, self.shares, self.state) = (view, section, shares, state)
    filters = SpareFilters(of: view)
    earlier = (state.passing.count, state.read)
  }

  var count: Int { shares.count }
  var rowCount: Int? {
    shares.rowCount == nil ? nil : state.passing.count - earlier.passing
  }

  func share(_ number: Int) throws(TableError) -> any TableDataSource {
    let share = try filters.view(of: shares.share(number))
    share.earlier = earlier
    return share
  }

  func take(_ share: any TableDataSource) throws(TableError) {
    guard let share = share as? FilteredSource, let found = share.known[0], found.isComplete,
      view.known[section] === state
    else { throw TableError(.conflict, "the share was not read") }
    try shares.take(share.base)
    state.append(found)
    filters.add(share)
  }
}

/// The filters of views that have read their shares, for the views of other shares.
///
/// Matching changes a filter, because patterns learn. So two threads do not use the same one at a time. Several threads
/// may call every method.
final class SpareFilters: Sendable {
  private let conditions: [Condition]
  private let search: [UInt8]?
  private let dates: DateContext
  private let spares: Pool<RowFilter>

  /// The first filter is a copy of that of the view, which does not match rows while its shares do.
  init(of view: FilteredSource) {
    (conditions, search, dates) = (view.conditions, view.search, view.dates)
    spares = Pool(view.filter.map { [$0] } ?? [])
  }

  /// A view of the rows of a share.
  func view(of share: any TableDataSource) throws(TableError) -> FilteredSource {
    try FilteredSource(
      share, by: conditions, search: search, dates: dates, filter: spares.take())
  }

  /// Takes over the filter of a view, which must not be used again.
  func add(_ view: FilteredSource) {
    guard let filter = view.filter else { return }
    view.filter = nil
    spares.add(filter)
  }
}
