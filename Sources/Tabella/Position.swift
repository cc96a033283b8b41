extension Collection where Element: Equatable {
  /// Where other elements stand in these for the first time, one behind the other; nil if nowhere.
  ///
  /// The standard library has this for texts, in a library of its own that each start would load.
  package func position(of part: some Collection<Element>) -> Index? {
    indices.first { self[$0...].starts(with: part) }
  }
}
