/// The rows of a sorted section are gathered from its base, and then divided.
extension SortedSource: RowSharing {
  package var canShare: Bool { base.sharing != nil }

  package func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let sharing = base.sharing else { return nil }
    try begin()
    let order = try self.order(of: section)
    guard first < order.count else { return nil }
    return try withBuffer(of: order) { rows throws(TableError) in
      try sharing.shares(
        gathering: UnsafeBufferPointer(rebasing: rows[first...]), inSection: section, size: size)
    }
  }
}

/// Calls `body` with the elements of an array. The standard method does not pass typed errors on.
func withBuffer<Element, Result>(
  of array: [Element], _ body: (UnsafeBufferPointer<Element>) throws(TableError) -> Result
) throws(TableError) -> Result {
  try array.withUnsafeBufferPointer { elements in
    Swift.Result { () throws(TableError) in try body(elements) }
  }.get()
}
