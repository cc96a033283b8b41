// Changes of a sorted view. Rows that keep their cells keep their order. Few other rows are placed by binary search.

extension SortedSource {
  /// A row that arrives in a section: its index among the arrivals, and the number of untouched rows in front of it.
  private struct Place {
    var arrival: Int
    var gap: Int
  }

  func follow(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    let old = orders
    (orders, heads) = ([:], [:])
    // The caller can know how many rows a section has, although they are not sorted yet.
    let reloaded = changes.editedSections.filter {
      old[$0] == nil && changes.sectionAfter(of: $0) != nil
    }
    var rows = RowChanges()
    for (section, order) in old {
      guard let now = changes.sectionAfter(of: section) else { continue }
      guard changes.touched[section] != nil || changes.arrivals[now] != nil else {
        orders[now] = order
        continue
      }
      let moved = try move(order.rows, from: section, to: now, changes, &rows)
      guard try base.exactNumberOfRows(inSection: now) == moved.count else { return nil }
      orders[now] = Order(rows: moved)
    }
    return changes.sectionChanges(reloading: reloaded)
      + rows.changes { changes.sectionAfter(of: $0) }
  }

  /// The order of a section after the batch.
  private func move(
    _ order: [UInt32], from section: Int, to now: Int, _ changes: BaseChanges,
    _ rows: inout RowChanges
  ) throws(TableError) -> [UInt32] {
    let renumbered = RowRenumbering(changes, ofSection: section)
    var untouched: [UInt32] = []
    untouched.reserveCapacity(order.count)
    for (row, baseRow) in order.enumerated() {
      if let new = renumbered(Int(baseRow)) {
        untouched.append(UInt32(truncatingIfNeeded: new))
      } else {
        rows.depart(
          IndexPath(section: section, row: row),
          base: IndexPath(section: section, row: Int(baseRow)))
      }
    }
    let arrivals = changes.arrivals[now] ?? []
    var result: [UInt32] = []
    result.makeRoom(for: untouched.count + arrivals.count)
    var next = 0
    for place in try places(of: arrivals.map(\.row), inSection: now, among: untouched) {
      result += untouched[next..<place.gap]
      next = place.gap
      let arrival = arrivals[place.arrival]
      rows.arrive(IndexPath(section: now, row: result.count), arrival)
      result.append(UInt32(truncatingIfNeeded: arrival.row))
    }
    return result + untouched[next...]
  }

  /// The places of base rows, in the order of the view. The rows are in ascending order.
  private func places(
    of rows: [Int], inSection section: Int, among untouched: [UInt32]
  ) throws(TableError) -> [Place] {
    if rows.isEmpty { return [] }
    let steps = Int.bitWidth - untouched.count.leadingZeroBitCount
    guard rows.count * (steps + 1) < rows.count + untouched.count else {
      return try placesBySorting(rows, section)
    }
    var keys = PlacedKeys(view: self, section: section)
    return try keys.places(of: rows, among: untouched).map {
      Place(arrival: $0.arrival, gap: $0.gap)
    }
  }

  /// Sorts the whole section again, which is cheaper if many rows arrive.
  private func placesBySorting(_ rows: [Int], _ section: Int) throws(TableError) -> [Place] {
    var places: [Place] = []
    for (number, row) in try sorted(section).enumerated() {
      guard let arrival = rows.binarySearch(Int(row)) else { continue }
      places.append(Place(arrival: arrival, gap: number - places.count))
    }
    return places
  }
}

/// Compares some rows of a base section by their sort keys, and reads no other rows.
private struct PlacedKeys {
  let view: SortedSource
  let section: Int
  private var batches: [Batch] = []
  /// The position of the cells of each row that was read.
  private var picks: [Int: RowSelection] = [:]

  init(view: SortedSource, section: Int) {
    self.view = view
    self.section = section
  }

  /// For each row, the number of rows of `sorted` in front of it, in the order of the view. `rows` is in ascending order.
  ///
  /// All rows are searched for at the same time, so the base is asked O(log n) times.
  mutating func places(
    of rows: [Int], among sorted: [UInt32]
  ) throws(TableError) -> [(arrival: Int, gap: Int)] {
    var ranges = [Range<Int>](repeating: 0..<sorted.count, count: rows.count)
    func middle(_ index: Int) -> Int { (ranges[index].lowerBound + ranges[index].upperBound) / 2 }
    while true {
      let open = rows.indices.filter { !ranges[$0].isEmpty }
      guard !open.isEmpty else { break }
      let ranks = try ranks(
        of: open.map { rows[$0] } + open.map { Int(sorted[middle($0)]) })
      for index in open {
        let (range, middle) = (ranges[index], middle(index))
        let isBefore = ranks[rows[index], default: 0] < ranks[Int(sorted[middle]), default: 0]
        ranges[index] = isBefore ? range.lowerBound..<middle : middle + 1..<range.upperBound
      }
    }
    let ranks = try ranks(of: rows)
    return rows.indices.sorted { ranks[rows[$0], default: 0] < ranks[rows[$1], default: 0] }
      .map { ($0, ranges[$0].lowerBound) }
  }

  /// The ranks of rows in the view. Rows with equal keys have the order of the base.
  private mutating func ranks(of rows: [Int]) throws(TableError) -> [Int: Int] {
    let rows = Set(rows).sorted()
    var keys = SortKeys(view.descriptors, in: view.base.columns)
    try read(rows.filter { picks[$0] == nil }, keys.columns)
    var rest = rows.compactMap { picks[$0] }[...]
    while !rest.isEmpty {
      let batch = Batch(picking: Array(rest), from: batches)
      keys.append(batch)
      rest.removeFirst(batch.rowCount)
    }
    guard let order = keys.sortedRows(isCancelled: { view.flag.isSet }) else {
      throw TableError(.cancelled, "cancelled")
    }
    return Dictionary(
      order.enumerated().map { (rows[Int($1)], $0) }, uniquingKeysWith: { first, _ in first })
  }

  private mutating func read(_ rows: [Int], _ columns: [Int]) throws(TableError) {
    let paths = rows.map { IndexPath(section: section, row: $0) }
    try view.readBase(at: paths, columns: columns) { batch, first in
      for row in 0..<batch.rowCount {
        picks[rows[first + row]] = RowSelection(
          batch: Int32(truncatingIfNeeded: batches.count), row: Int32(truncatingIfNeeded: row))
      }
      batches.append(batch)
    }
  }
}
