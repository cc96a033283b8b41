// Changes of a sorted view. Rows that keep their cells keep their order. Few other rows are placed by binary search.
//
// The search reads rows that no change lists. If such a row has changed in the meantime, the search goes wrong, and a later
// batch lists that row. Then the section is sorted again.

extension SortedSource {
  func follow(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    let (old, oldCompared) = (orders, compared)
    (orders, heads, compared) = ([:], [:], [:])
    // The caller can know how many rows a section has, although they are not sorted yet.
    let reloaded = changes.editedSections.filter {
      old[$0] == nil && changes.sectionAfter(of: $0) != nil
    }
    var rows = RowChanges()
    for (section, order) in old {
      guard let now = changes.sectionAfter(of: section) else { continue }
      guard changes.touched[section] != nil || changes.arrivals[now] != nil else {
        orders[now] = order
        compared[now] = oldCompared[section]
        continue
      }
      var move = SectionMove(self, section, now, order.rows, changes)
      let moved = try move.order(comparedBefore: oldCompared[section] ?? [], &rows)
      guard let moved, try base.exactNumberOfRows(inSection: now) == moved.count else { return nil }
      orders[now] = Order(rows: moved)
      compared[now] = move.compared
    }
    return changes.sectionChanges(reloading: reloaded)
      + rows.changes { changes.sectionAfter(of: $0) }
  }
}

/// The way of one section from its order before a batch to the order after it.
private struct SectionMove {
  private let view: SortedSource
  private let section: Int
  private let now: Int
  private let old: [UInt32]
  private let renumbered: RowRenumbering
  private let arrivals: [BaseChanges.Arrival]
  /// The base rows after the batch with which arrivals were compared.
  private(set) var compared: [Int] = []

  init(
    _ view: SortedSource, _ section: Int, _ now: Int, _ old: [UInt32], _ changes: BaseChanges
  ) {
    (self.view, self.section, self.now, self.old) = (view, section, now, old)
    renumbered = RowRenumbering(changes, ofSection: section)
    arrivals = changes.arrivals[now] ?? []
  }

  /// Returns the order after the batch, and adds the rows that leave their places and those that arrive. Returns nil if
  /// the base has other rows than the batch says.
  ///
  /// `before` are the rows with which the arrivals of the last batch were compared.
  mutating func order(
    comparedBefore before: [Int], _ rows: inout RowChanges
  ) throws(TableError) -> [UInt32]? {
    var untouched: [UInt32] = []
    untouched.reserveCapacity(old.count)
    for (row, baseRow) in old.enumerated() {
      if let new = renumbered(Int(baseRow)) {
        untouched.append(UInt32(truncatingIfNeeded: new))
      } else {
        depart(row, &rows)
      }
    }
    let known = before.compactMap { renumbered($0) }
    guard known.count == before.count, isFaster(untouched.count) else {
      return try sortAgain(untouched, &rows)
    }
    if arrivals.isEmpty {
      compared = known
      return untouched
    }
    return try place(among: untouched, &rows)
  }

  private func depart(_ row: Int, _ rows: inout RowChanges) {
    rows.depart(
      IndexPath(section: section, row: row),
      base: IndexPath(section: section, row: Int(old[row])))
  }

  /// Whether to place the arrivals is faster than to sort the section.
  private func isFaster(_ untouched: Int) -> Bool {
    let steps = Int.bitWidth - untouched.leadingZeroBitCount
    return arrivals.isEmpty || arrivals.count * (steps + 1) < arrivals.count + untouched
  }

  /// Places the arrivals by binary search.
  private mutating func place(
    among untouched: [UInt32], _ rows: inout RowChanges
  ) throws(TableError) -> [UInt32] {
    var keys = PlacedKeys(view: view, section: now)
    var result: [UInt32] = []
    result.makeRoom(for: untouched.count + arrivals.count)
    var next = 0
    for place in try keys.places(of: arrivals.map(\.row), among: untouched) {
      result += untouched[next..<place.gap]
      next = place.gap
      let arrival = arrivals[place.arrival]
      rows.arrive(IndexPath(section: now, row: result.count), arrival)
      result.append(UInt32(truncatingIfNeeded: arrival.row))
    }
    let arriving = arrivals.map(\.row)
    compared = keys.rows.filter { arriving.binarySearch($0) == nil }
    return result + untouched[next...]
  }

  /// Sorts the section. The longest selection of untouched rows that keep their order stays.
  private func sortAgain(
    _ untouched: [UInt32], _ rows: inout RowChanges
  ) throws(TableError) -> [UInt32]? {
    let new = try view.sorted(now)
    guard new.count == untouched.count + arrivals.count else { return nil }
    // The place of each base row among the untouched ones, or -1.
    var places = [Int32](repeating: -1, count: new.count)
    for (place, row) in untouched.enumerated() {
      guard Int(row) < places.count else { return nil }
      places[Int(row)] = Int32(truncatingIfNeeded: place)
    }
    let inOrder = new.map { places[Int($0)] }.filter { $0 >= 0 }
    var stays = [Bool](repeating: false, count: untouched.count)
    for index in longestIncreasing(inOrder) { stays[Int(inOrder[index])] = true }
    var origins: [Int32: IndexPath] = [:]
    var place = 0
    for (row, baseRow) in old.enumerated() where renumbered(Int(baseRow)) != nil {
      if !stays[place] {
        depart(row, &rows)
        origins[Int32(truncatingIfNeeded: place)] = IndexPath(section: section, row: Int(baseRow))
      }
      place += 1
    }
    let arriving = arrivals.map(\.row)
    for (row, baseRow) in new.enumerated() {
      let (path, place) = (IndexPath(section: now, row: row), places[Int(baseRow)])
      if place < 0 {
        guard let index = arriving.binarySearch(Int(baseRow)) else { return nil }
        rows.arrive(path, arrivals[index])
      } else if let origin = origins[place] {
        rows.arrive(
          path, BaseChanges.Arrival(row: Int(baseRow), origin: origin, content: .same))
      }
    }
    return new
  }
}

/// Compares some rows of a base section by their sort keys, and reads no other rows.
private struct PlacedKeys {
  let view: SortedSource
  let section: Int
  private var batches: [Batch] = []
  /// The position of the cells of each row that was read.
  private var picks: [Int: RowSelection] = [:]
  /// All rows that were read.
  var rows: [Int] { Array(picks.keys) }

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
