/// The median, minimum and maximum of some figures.
struct Spread: Equatable {
  let median: Double
  let least: Double
  let most: Double

  /// Summarises figures in any order. Returns nil if there are none.
  init?(_ figures: [Double]) {
    let sorted = figures.sorted()
    guard let least = sorted.first, let most = sorted.last else { return nil }
    self.least = least
    self.most = most
    let middle = sorted.count / 2
    median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// The median of the ratios of each round; nil if no round has both figures.
///
/// Both figures of a round suffer from the same disturbances, so the ratio is computed per round.
func pairedRatio(_ figures: [Double], to base: [Double]) -> Double? {
  // A clock that has not advanced would make the ratio infinite.
  Spread(zip(figures, base).map { $0 / max($1, 1e-6) })?.median
}
