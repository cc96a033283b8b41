extension Collection where Element: Equatable {
  /// The index of the first occurrence of `part` as a contiguous run; nil if there is none.
  ///
  /// The standard library has this for strings, in a library that each start would have to load.
  package func position(of part: some Collection<Element>) -> Index? {
    indices.first { self[$0...].starts(with: part) }
  }
}
