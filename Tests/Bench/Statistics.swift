/// The middle of some figures and how far they lie apart.
struct Spread: Equatable {
  let median: Double
  let least: Double
  let most: Double

  /// Summarises figures in any order; nil where there are none.
  init?(_ figures: [Double]) {
    let sorted = figures.sorted()
    guard let least = sorted.first, let most = sorted.last else { return nil }
    self.least = least
    self.most = most
    let middle = sorted.count / 2
    median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// The median of the ratios of each round; nil where no round has both.
///
/// Rounds are paired, not medians: what disturbed a round disturbed both of its halves.
func pairedRatio(_ figures: [Double], to base: [Double]) -> Double? {
  // A clock that has not moved would make the ratio endless.
  Spread(zip(figures, base).map { $0 / max($1, 1e-6) })?.median
}
