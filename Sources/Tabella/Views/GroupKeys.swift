/// The groups of rows, in the order of display.
struct Groups {
  /// The values of one key of a grouping, in the order of the groups.
  struct Key {
    let grouping: Grouping
    /// The title of each value; nil for missing cells, which are the last.
    var titles: [String?]
    /// The cell that makes a row a member of the group; nil if rows of the group have several values.
    var cells: [Cell?]
    /// For each group, the index of its value.
    var valueOfGroup: [UInt32]

    /// The title of a group's value.
    func title(ofGroup group: Int) -> String? { titles[Int(valueOfGroup[group])] }

    /// The cell that makes a row a member of a group.
    func cell(ofGroup group: Int) -> Cell? { cells[Int(valueOfGroup[group])] }
  }

  /// The title of each group. It is nil if all keys are missing; this group is the last.
  var titles: [String?]
  var keys: [Key]
  /// The number of rows of each group.
  var counts: [Int]
  /// The number of the group of each row.
  var groupOfRow: [UInt32]
  /// The first letters of titles, each with its first group. Empty if such an index is of little use.
  var indexTitles: [(title: String, group: Int)]
  /// The number of each group in ``GroupKeys``, which counts groups in the order of their first rows.
  var numbersInKeys: [UInt32]
}

/// Determines the groups of rows from batches of cells. Rows of a group have the same value of every key.
///
/// It uses 4 bytes of memory per row, plus the keys of each group.
struct GroupKeys {
  /// The columns to read, without repetition. A batch has exactly these columns.
  let columns: [Int]
  private var keys: [KeyNumbers]
  /// For each key, the index of its column in a batch.
  private let places: [Int]
  /// The groups, as sequences of the numbers of their values. Empty for a single key, whose values are the groups.
  private var tuples = KeyTable()
  private var scratch: [[UInt32]]
  private var groupOfRow: [UInt32] = []
  /// The number of rows of each group, in the order of their first rows.
  private(set) var counts: [Int] = []

  /// The number of groups, in the order of their first rows.
  var groupCount: Int { counts.count }

  /// `zone` is the zone of days and hours. Throws ``TableError`` with `.invalidArgument` if a column does not exist, or
  /// if its values cannot be grouped in this way.
  init(
    _ groupings: [Grouping], in columns: [Column], zone: Zone = .utc
  ) throws(TableError) {
    var wanted: [Int] = []
    var keys: [KeyNumbers] = []
    for grouping in groupings {
      guard columns.indices.contains(grouping.column) else {
        throw TableError(
          .invalidArgument,
          "there is no column \(grouping.column) to group by; there are \(columns.count)",
          column: grouping.column)
      }
      if !wanted.contains(grouping.column) { wanted.append(grouping.column) }
      keys.append(try KeyNumbers(grouping, columns[grouping.column], in: zone))
    }
    self.columns = wanted
    self.keys = keys
    places = groupings.map { grouping in wanted.firstIndex(of: grouping.column) ?? 0 }
    scratch = groupings.map { _ in [] }
    // Without keys, all rows are one group, even if there are none.
    if keys.isEmpty { counts = [0] }
  }

  /// Adds rows, and stores the group of each row.
  mutating func append(_ batch: Batch) {
    var rows: [UInt32] = []
    swap(&rows, &groupOfRow)
    number(batch, &rows)
    swap(&rows, &groupOfRow)
  }

  /// Adds rows, and appends the number of the group of each row to `groups`. Groups are numbered in the order of their
  /// first rows.
  mutating func number(_ batch: Batch, _ groups: inout [UInt32]) {
    let start = groups.count
    switch keys.count {
    case 0: groups += repeatElement(0, count: batch.rowCount)
    case 1: keys[0].number(batch.columns[places[0]], &groups)
    default:
      for key in keys.indices {
        scratch[key].removeAll(keepingCapacity: true)
        keys[key].number(batch.columns[places[key]], &scratch[key])
      }
      var tuple = [UInt32](repeating: 0, count: keys.count)
      for row in 0..<batch.rowCount {
        for key in keys.indices { tuple[key] = scratch[key][row] }
        groups.append(tuple.withUnsafeBytes { tuples.number(of: $0) })
      }
    }
    groups.withUnsafeBufferPointer { groups in
      for group in groups[start...] {
        if Int(group) == counts.count { counts.append(0) }
        counts[Int(group)] += 1
      }
    }
  }

  /// Returns the groups of all added rows. The keys then have no rows, and keep their groups.
  mutating func finish() -> Groups {
    let (order, values, ranks) = ordered()
    let rows = takeRows(inOrder: order)
    let groupKeys = keys.indices.map { key in
      Groups.Key(
        grouping: keys[key].grouping, titles: values[key].map { keys[key].title(of: $0) },
        cells: values[key].map { keys[key].cell(of: $0) },
        valueOfGroup: order.map { ranks[key][Int(value(ofGroup: $0, key))] })
    }
    let titles =
      keys.count == 1
      ? groupKeys[0].titles
      : order.indices.map { group in
        GroupKeys.joined(groupKeys.map { $0.title(ofGroup: group) })
      }
    return Groups(
      titles: titles, keys: groupKeys, counts: order.map { counts[Int($0)] },
      groupOfRow: rows, indexTitles: GroupKeys.indexTitles(titles), numbersInKeys: order)
  }

  /// Returns the groups of all added rows, which are the same groups as those of `groups`.
  mutating func finish(as groups: Groups) -> Groups {
    var groups = groups
    groups.groupOfRow = takeRows(inOrder: groups.numbersInKeys)
    groups.counts = groups.numbersInKeys.map { counts[Int($0)] }
    return groups
  }

  /// Removes the rows. Returns the group of each, with groups numbered by an order.
  private mutating func takeRows(inOrder order: [UInt32]) -> [UInt32] {
    var numbers = [UInt32](repeating: 0, count: order.count)
    for (number, group) in order.enumerated() {
      numbers[Int(group)] = UInt32(truncatingIfNeeded: number)
    }
    var rows: [UInt32] = []
    swap(&rows, &groupOfRow)
    for row in rows.indices { rows[row] = numbers[Int(rows[row])] }
    return rows
  }

  /// Replaces all rows by the rows of these groups.
  mutating func replaceRows(_ groups: [UInt32]) {
    counts = Array(repeating: 0, count: counts.count)
    for group in groups { counts[Int(group)] += 1 }
    groupOfRow = groups
  }

  /// Removes the groups without rows. Returns the new number of each group, which is `.max` for a removed one.
  mutating func removeEmptyGroups() -> [UInt32] {
    var numbers = [UInt32](repeating: .max, count: counts.count)
    var next: UInt32 = 0
    for (group, count) in counts.enumerated() where count > 0 {
      numbers[group] = next
      next += 1
    }
    if keys.count == 1 {
      _ = keys[0].keep { [counts] in counts[Int($0)] > 0 }
    } else {
      rebuildTuples()
    }
    counts.removeAll { $0 == 0 }
    for row in groupOfRow.indices { groupOfRow[row] = numbers[Int(groupOfRow[row])] }
    return numbers
  }

  /// Keeps the tuples of groups with rows, and the values in them.
  private mutating func rebuildTuples() {
    let groups = counts.indices.filter { counts[$0] > 0 }.map { UInt32(truncatingIfNeeded: $0) }
    var rows = groups.map { group in keys.indices.map { value(ofGroup: group, $0) } }
    for key in keys.indices {
      let used = Set(rows.map { $0[key] })
      let numbers = keys[key].keep { used.contains($0) }
      for row in rows.indices { rows[row][key] = numbers[Int(rows[row][key])] }
    }
    tuples = KeyTable()
    for tuple in rows { _ = tuple.withUnsafeBytes { tuples.number(of: $0) } }
  }

  /// The title of a group with several keys: `north · 2026-02`.
  private static func joined(_ titles: [String?]) -> String? {
    guard titles.contains(where: { $0 != nil }) else { return nil }
    return titles.map { $0 ?? Cell.missing.description }.joined(separator: " · ")
  }

  /// The groups in the order of their keys, the first key first. Missing values are the last.
  func sortedGroups() -> [UInt32] { ordered().groups }

  /// The groups in order, and for each key its values in order and the rank of each value.
  private func ordered() -> (groups: [UInt32], values: [[UInt32]], ranks: [[UInt32]]) {
    let values = keys.map(\.ordered)
    let ranks = values.map { values in
      var ranks = [UInt32](repeating: 0, count: values.count)
      for (rank, value) in values.enumerated() {
        ranks[Int(value)] = UInt32(truncatingIfNeeded: rank)
      }
      return ranks
    }
    if keys.count == 1 { return (values[0], values, ranks) }
    let builder = BatchBuilder(keys.map { _ in .integer }, capacity: counts.count)
    for group in counts.indices {
      for key in keys.indices {
        let value = value(ofGroup: UInt32(truncatingIfNeeded: group), key)
        builder.columns[key].append(Int64(ranks[key][Int(value)]))
      }
    }
    let columns = keys.map { _ in Column("", .integer) }
    var sort = SortKeys(columns.indices.map { SortDescriptor(column: $0) }, in: columns)
    sort.append(builder.finish(rowCount: counts.count))
    return (sort.sortedRows { false } ?? [], values, ranks)
  }

  /// The number of a group's value of a key.
  private func value(ofGroup group: UInt32, _ key: Int) -> UInt32 {
    guard keys.count > 1 else { return group }
    return tuples.withKey(group) { tuple in
      tuple.loadUnaligned(fromByteOffset: key * MemoryLayout<UInt32>.size, as: UInt32.self)
    }
  }

  /// A group's value of a key, as a cell of ``resultColumn(_:name:)``.
  func cell(_ key: Int, ofGroup group: UInt32) -> Cell {
    keys[key].resultCell(of: value(ofGroup: group, key))
  }

  /// The column of a key's values in a table of groups: a column like the grouped one for equal values, otherwise text.
  func resultColumn(_ key: Int, name: String) -> Column { keys[key].resultColumn(name: name) }

  private static func indexTitles(_ titles: [String?]) -> [(title: String, group: Int)] {
    guard titles.count >= 5 else { return [] }
    var index: [(title: String, group: Int)] = []
    var seen: Set<String> = []
    for (group, title) in titles.enumerated() {
      guard var title else { continue }
      let letter = title.withUTF8 { ClassKeys.letter(of: UnsafeRawBufferPointer($0)) }
      if seen.insert(letter).inserted { index.append((letter, group)) }
    }
    return index.count >= 2 ? index : []
  }
}
