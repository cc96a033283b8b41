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
}

/// The shown rows of a filtered section, divided like the rows of its base.
private final class FilteredShares: RowShares {
  private let view: FilteredSource
  private let shares: any RowShares
  private let section: Int
  private let state: FilteredSource.Section
  private let (conditions, search, dates): ([Condition], [UInt8]?, DateContext)
  private let earlier: (passing: Int, read: Int)

  init(
    _ view: FilteredSource, _ section: Int, _ shares: any RowShares, _ state: FilteredSource.Section
  ) {
    (self.view, self.section, self.shares, self.state) = (view, section, shares, state)
    (conditions, search, dates) = (view.conditions, view.search, view.dates)
    earlier = (state.passing.count, state.read)
  }

  var count: Int { shares.count }

  func share(_ number: Int) throws(TableError) -> any TableDataSource {
    let share = try shares.share(number).filtered(by: conditions, search: search, dates: dates)
    share.earlier = earlier
    return share
  }

  func take(_ share: any TableDataSource) throws(TableError) {
    guard let share = share as? FilteredSource, let found = share.known[0], found.isComplete,
      view.known[section] === state
    else { throw TableError(.conflict, "the share was not read") }
    try shares.take(share.base)
    state.append(found)
  }
}
