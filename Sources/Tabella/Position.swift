extension Collection where Element: Equatable {
  /// The index of the first occurrence of `part` as a contiguous run; nil if there is none.
  ///
  /// The standard library has this for strings, in a library that each start would have to load. Inlinable, because making
  /// the types of a generic function takes a start longer than the search itself.
  @inlinable package func position(of part: some Collection<Element>) -> Index? {
    indices.first { self[$0...].starts(with: part) }
  }
}
