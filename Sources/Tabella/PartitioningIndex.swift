extension RandomAccessCollection {
  /// The index of the first element for which the condition holds; `endIndex` if it holds for none. The
  /// condition must hold for every element behind one for which it holds.
  /// - Complexity: O(log n)
  @inlinable
  package func partitioningIndex(where holds: (Element) -> Bool) -> Index {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = index(low, offsetBy: distance(from: low, to: high) / 2)
      if holds(self[middle]) { high = middle } else { low = index(after: middle) }
    }
    return low
  }
}
