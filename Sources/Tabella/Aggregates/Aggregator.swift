/// Computes aggregates of groups of rows from batches, in one pass.
///
/// Its memory depends on the number of groups. In addition, medians and percentiles store the numbers of all rows, and
/// `distinct` stores the different values.
struct Aggregator {
  /// The columns to read, without repetition.
  let columns: [Int]
  private let aggregates: [Aggregate]
  /// For each of ``columns``, the numbers of the aggregates that read it.
  private let readers: [[Int]]
  private var states: [ColumnState]
  private let names: ColumnNames
  private(set) var groupCount = 0
  /// The number of rows of each group; empty if no aggregate needs it.
  private var counts: [Int] = []
  private let countsRows: Bool

  /// If `countsRows` is false, the caller counts the rows of groups.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist or has no such aggregate.
  init(
    _ aggregates: [Aggregate], in columns: [Column], countsRows: Bool = true
  ) throws(TableError) {
    var (wanted, readers): ([Int], [[Int]]) = ([], [])
    var places: [Int: Int] = [:]
    for (number, aggregate) in aggregates.enumerated() {
      try aggregate.check(in: columns)
      guard let column = aggregate.readColumn else { continue }
      if let place = places[column] {
        readers[place].append(number)
      } else {
        places[column] = wanted.count
        wanted.append(column)
        readers.append([number])
      }
    }
    self.columns = wanted
    self.readers = readers
    self.aggregates = aggregates
    self.countsRows = countsRows && aggregates.contains { $0.function == .rows }
    names = ColumnNames(columns)
    let columns = columns.withUniqueNames
    states = zip(wanted, readers).map { column, numbers in
      ColumnState(columns[column], number: column, Set(numbers.map { aggregates[$0].function }))
    }
  }

  /// Whether a result depends on the order of the rows.
  var needsOrder: Bool { aggregates.contains { $0.function == .first || $0.function == .last } }

  /// Makes room for groups. All groups exist from then on, even without rows.
  mutating func makeRoom(forGroups count: Int) {
    guard count > groupCount else { return }
    groupCount = count
    if countsRows {
      counts.makeRoom(for: count - counts.count)
      counts += repeatElement(0, count: count - counts.count)
    }
    for index in states.indices { states[index].makeRoom(forGroups: count) }
  }

  /// Adds rows to a group without reading cells. Possible if no aggregate reads a column.
  mutating func append(rows: Int, group: Int) {
    precondition(columns.isEmpty, "the cells of the rows are needed")
    if countsRows { counts[group] += rows }
  }

  /// Adds rows. `groups` holds the number of the group of each row, below the number of groups that there is room for.
  ///
  /// `cells` holds the columns of ``columns``. Throws ``TableError`` with `.wrongData` for text that should be a number;
  /// its row is the row in the batch.
  mutating func append(
    _ cells: [ColumnBatch], groups: UnsafeBufferPointer<UInt32>
  ) throws(TableError) {
    if countsRows { for group in groups { counts[Int(group)] += 1 } }
    for index in states.indices { try states[index].append(cells[index], groups) }
  }

  /// The same aggregates without groups.
  var emptied: Aggregator {
    var copy = self
    (copy.groupCount, copy.counts) = (0, [])
    for index in states.indices { copy.states[index] = states[index].emptied }
    return copy
  }

  /// Whether ``merge(_:groups:)`` gives the same result as adding all rows to one value. A sum of doubles depends on the
  /// order of the additions.
  var canMerge: Bool { states.allSatisfy(\.canMerge) }

  /// Adds the rows of another value of the same aggregates, which follow. `groups` holds the number of each of its groups
  /// here, below the number of groups that there is room for.
  mutating func merge(_ next: Aggregator, groups: [UInt32]) {
    counts.combine(next.counts, groups, +=)
    for index in states.indices { states[index].combine(next.states[index], groups) }
  }

  /// Makes groups one. `groups` holds the new number of each group. The numbers follow the order of the first group of
  /// each number. Needs ``canMerge``.
  mutating func renumber(_ groups: [UInt32]) {
    groupCount = groups.max().map { Int($0) + 1 } ?? 0
    counts.combine(nil, groups, +=)
    for index in states.indices { states[index].combine(nil, groups) }
  }

  /// The results for some groups, one column per aggregate. Only values of these groups may be read, because they decide the
  /// type of a column. `rowCount` returns the number of rows of a group if the caller counts them.
  func results(_ groups: [UInt32], rowCount: ((UInt32) -> Int)? = nil) -> [AggregateColumn] {
    var results = [AggregateColumn?](repeating: nil, count: aggregates.count)
    for (number, aggregate) in aggregates.enumerated() where aggregate.readColumn == nil {
      let count = rowCount ?? { [counts] in counts[Int($0)] }
      results[number] = AggregateColumn(name: aggregate.name(names), count)
    }
    for (numbers, state) in zip(readers, states) {
      // All functions of a column use the same order of its values.
      let order = state.order
      for number in numbers {
        let aggregate = aggregates[number]
        results[number] = state.result(
          aggregate.function, name: aggregate.name(names), groups, order)
      }
    }
    return results.map { $0! }
  }
}

extension Array {
  /// Adds the elements of groups to the elements of other groups.
  ///
  /// `groups` holds the number here of each group in `other`. If `other` is nil, the array itself has these groups, and has
  /// one element per number afterwards. `add` adds an element to that of an earlier group. It runs in the order of `groups`.
  mutating func combine(
    _ other: [Element]?, _ groups: [UInt32], _ add: (inout Element, Element) -> Void
  ) {
    if let other {
      for (group, element) in other.enumerated() { add(&self[Int(groups[group])], element) }
      return
    }
    var kept = 0
    for group in indices {
      let number = Int(groups[group])
      if number < kept {
        add(&self[number], self[group])
      } else {
        if group > kept { swapAt(group, kept) }
        kept += 1
      }
    }
    removeLast(count - kept)
  }
}
