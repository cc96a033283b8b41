import Synchronization

/// The groups of rows, in the order of display.
///
/// Titles and cells are made when they are needed. A class, so that the use of one group copies no array.
package final class Groups {
  /// The values of one key of a grouping.
  final class Key {
    private let numbers: KeyNumbers
    /// For each group, the number of its value.
    let valueOfGroup: [UInt32]

    init(_ numbers: KeyNumbers, _ valueOfGroup: [UInt32]) {
      self.numbers = numbers
      self.valueOfGroup = valueOfGroup
    }

    var grouping: Grouping { numbers.grouping }
    /// The number of missing cells, if there are any.
    var missing: UInt32? { numbers.missing }

    /// The title of a group's value; nil for missing cells.
    func title(ofGroup group: Int) -> String? { numbers.title(of: valueOfGroup[group]) }

    /// Calls `body` with the title of each of some groups.
    func forEachTitle(ofGroups groups: Range<Int>, _ body: (UnsafeRawBufferPointer?) -> Void) {
      numbers.forEachTitle(of: valueOfGroup[groups], body)
    }

    /// The cell that makes a row a member of a group; nil if rows of the group have several values.
    func cell(ofGroup group: Int) -> Cell? { numbers.cell(of: valueOfGroup[group]) }
  }

  let keys: [Key]
  /// The number of rows of each group. Computed on demand.
  private(set) lazy var counts = rowCounts(ofGroups: 0..<count)
  private let sizes: GroupSizes
  /// The number of the group of each row. Computed on demand, because a list of all groups does not need it.
  private(set) lazy var groupOfRow = numberedRows()
  /// Empty once ``groupOfRow`` is computed.
  private var rows: RowGroups
  /// The number of each group in ``GroupKeys``, which counts groups in the order of their first rows.
  let numbersInKeys: [UInt32]

  fileprivate init(keys: [Key], sizes: GroupSizes, rows: RowGroups, numbersInKeys: [UInt32]) {
    self.keys = keys
    self.sizes = sizes
    self.rows = rows
    self.numbersInKeys = numbersInKeys
  }

  /// The number of groups.
  package var count: Int { numbersInKeys.count }

  /// The number of rows of a group.
  func rowCount(ofGroup group: Int) -> Int { sizes[numbersInKeys[group]] }

  /// The numbers of rows of some groups.
  package func rowCounts(ofGroups groups: Range<Int>) -> [Int] {
    // Nothing else happens in this loop, so that the processor waits for many counts at once.
    numbersInKeys[groups].map { sizes[$0] }
  }

  private func numberedRows() -> [UInt32] {
    var numbers = [UInt32](repeating: 0, count: numbersInKeys.count)
    for (number, group) in numbersInKeys.enumerated() {
      numbers[Int(group)] = UInt32(truncatingIfNeeded: number)
    }
    var groups = rows.all
    rows = RowGroups()
    for row in groups.indices { groups[row] = numbers[Int(groups[row])] }
    return groups
  }

  /// The title of a group: `north · 2026-02`. It is nil if all keys are missing; this group is the last.
  func title(ofGroup group: Int) -> String? {
    if keys.count == 1 { return keys[0].title(ofGroup: group) }
    let titles = keys.map { $0.title(ofGroup: group) }
    guard titles.contains(where: { $0 != nil }) else { return nil }
    return titles.map { $0 ?? Cell.missing.description }.joined(separator: " · ")
  }

  /// Calls `body` with the title of each of some groups; nil if all keys are missing. The bytes need not be UTF-8.
  package func forEachTitle(
    ofGroups groups: Range<Int>, _ body: (UnsafeRawBufferPointer?) -> Void
  ) {
    if keys.count == 1 { return keys[0].forEachTitle(ofGroups: groups, body) }
    for group in groups { title(ofGroup: group).withUTF8(body) }
  }

  /// The first letters of titles, each with its first group. Empty if such an index is of little use.
  /// - Complexity: O(groups)
  func indexTitles() -> [(title: String, group: Int)] {
    guard count >= 5 else { return [] }
    var index: [(title: String, group: Int)] = []
    var seen: Set<String> = []
    for group in 0..<count {
      guard var title = title(ofGroup: group) else { continue }
      let letter = title.withUTF8 { ClassKeys.letter(of: UnsafeRawBufferPointer($0)) }
      if seen.insert(letter).inserted { index.append((letter, group)) }
    }
    return index.count >= 2 ? index : []
  }
}

extension String? {
  /// Calls `body` with the bytes of the text, if there is one.
  func withUTF8(_ body: (UnsafeRawBufferPointer?) -> Void) {
    guard var text = self else { return body(nil) }
    text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

/// Determines the groups of rows from batches of cells. Rows of a group have the same value of every key.
///
/// It uses 4 bytes of memory per row. A group uses 8 bytes and those of its keys in a ``KeyTable``. Rows and groups of
/// values that nearly all differ use less: see ``RowGroups`` and ``GroupSizes``.
struct GroupKeys: RowCollector {
  /// The columns to read, without repetition. A batch has exactly these columns.
  let columns: [Int]
  private var keys: [KeyNumbers]
  /// For each key, the index of its column in a batch.
  private let places: [Int]
  /// The groups, as sequences of the numbers of their values. Empty for a single key, whose values are the groups.
  private var tuples = KeyTable()
  private var scratch: [[UInt32]]
  /// The group of each row. Groups are numbered in the order of their first rows.
  private var rows = RowGroups()
  private var sizes = GroupSizes()
  /// The number of values from which on they may become a list; nil if never.
  private let listsFrom: Int?
  /// The number of values at which the next decision about a list is due.
  private var nextDecision: Int
  /// With fewer groups, a table of all of them is in the fast caches of a processor.
  static let usualListsFrom = 1 << 14

  /// The last decision. The keys of all shares have it in common.
  private let lastDecision = Decision()

  private final class Decision: Sendable {
    let isList = Atomic<Bool>(false)
  }

  /// The number of groups.
  var groupCount: Int { sizes.count }
  /// The number of rows of each group.
  var counts: [Int] { sizes.all }
  var hasEmptyGroup: Bool { sizes.hasEmpty }

  /// `zone` is the zone of days and hours. If there are `listsFrom` values of a single key, they may become a list. Rows
  /// with equal values are then in several groups until ``sortGroups()``.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if a column does not exist, or if its values cannot be grouped in this
  /// way.
  init(
    _ groupings: [Grouping], in columns: [Column], zone: Zone = .utc, listsFrom: Int? = nil
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
    self.listsFrom = keys.count == 1 && keys[0].canBeList ? listsFrom : nil
    nextDecision = self.listsFrom ?? .max
    self.keys = keys
    places = groupings.map { grouping in wanted.firstIndex(of: grouping.column) ?? 0 }
    scratch = groupings.map { _ in [] }
    // Without keys, all rows are one group, even if there are none.
    if keys.isEmpty { sizes = GroupSizes([0]) }
  }

  /// The number of rows of a group.
  func rowCount(ofGroup group: UInt32) -> Int { sizes[group] }

  /// Adds rows, and stores the group of each row.
  mutating func append(_ batch: Batch) {
    let first = groupCount
    if list(batch) {
      rows.appendSingles(batch.rowCount, from: UInt32(truncatingIfNeeded: first))
    } else {
      storeSingles()
      // The rows are moved out of the keys, because `number` changes the keys, too.
      var copy = RowGroups()
      swap(&copy, &rows)
      copy.change { number(batch, &$0) }
      swap(&copy, &rows)
    }
    decideOnList()
  }

  /// Adds rows and a group for each of them, if the values are a list and no cell is missing. Returns whether that was so.
  private mutating func list(_ batch: Batch) -> Bool {
    if groupCount == 0, let listsFrom, nextDecision != .max,
      lastDecision.isList.load(ordering: .relaxed)
    {
      keys[0].startList()
      nextDecision = listsFrom * 4
    }
    guard keys.count == 1, keys[0].list(batch.columns[places[0]]) else { return false }
    sizes.appendSingles(batch.rowCount)
    return true
  }

  private mutating func storeSingles() {
    rows.store()
    sizes.store()
  }

  /// Makes the values a list if nearly all differ, and ends the list if it has many repeats. The caller must do this after
  /// ``number(_:_:)`` and ``mergeGroups(_:)``.
  ///
  /// The decision is made again each time when there are four times as many values. Returns the new number of each group
  /// if the list ended.
  @discardableResult
  mutating func decideOnList() -> [UInt32]? {
    guard !keys.isEmpty, keys[0].count >= nextDecision else { return nil }
    nextDecision = keys[0].count * 4
    let (different, total) = (keys[0].differentValues, sizes.total)
    defer { lastDecision.isList.store(keys[0].isList, ordering: .relaxed) }
    if different >= total / 16 * 15 {
      keys[0].startList()
    } else if keys[0].isList, different < total / 2 {
      return endList()
    }
    return nil
  }

  /// Ends the list of values. Groups with equal values become one. Returns the new number of each group.
  private mutating func endList() -> [UInt32] {
    storeSingles()
    let numbers = keys[0].endList()
    var merged = GroupSizes()
    for (group, number) in numbers.enumerated() {
      merged.add(sizes[UInt32(truncatingIfNeeded: group)], to: number)
    }
    sizes = merged
    rows.change { for row in $0.indices { $0[row] = numbers[Int($0[row])] } }
    return numbers
  }

  /// The same keys without groups.
  var emptied: GroupKeys {
    var copy = self
    for key in keys.indices { copy.keys[key] = keys[key].emptied }
    (copy.tuples, copy.rows) = (KeyTable(), RowGroups())
    copy.sizes = GroupSizes(keys.isEmpty ? [0] : [])
    copy.nextDecision = listsFrom ?? .max
    return copy
  }

  /// Adds the rows of other keys with the same groupings.
  mutating func merge(_ next: GroupKeys) {
    _ = mergeGroups(next)
    decideOnList()
  }

  /// Adds the groups and rows of other keys with the same groupings. Returns the number of each of their groups here.
  mutating func mergeGroups(_ next: GroupKeys) -> [UInt32] {
    let first = UInt32(truncatingIfNeeded: groupCount)
    if keys.count == 1, next.sizes.areSingles, keys[0].list(next.keys[0]) {
      rows.appendSingles(next.rows.count, from: first)
      sizes.appendSingles(next.groupCount)
      return Array(first..<UInt32(truncatingIfNeeded: groupCount))
    }
    storeSingles()
    let values = keys.indices.map { keys[$0].merge(next.keys[$0]) }
    let numbers: [UInt32]
    switch keys.count {
    case 0: numbers = [0]
    case 1: numbers = values[0]
    default:
      var tuple = [UInt32](repeating: 0, count: keys.count)
      numbers = (0..<next.groupCount).map { group in
        let group = UInt32(truncatingIfNeeded: group)
        for key in keys.indices { tuple[key] = values[key][Int(next.value(ofGroup: group, key))] }
        return tuple.withUnsafeBytes { tuples.number(of: $0) }
      }
    }
    for (group, number) in numbers.enumerated() {
      sizes.add(next.sizes[UInt32(truncatingIfNeeded: group)], to: number)
    }
    rows.change { rows in
      let more = next.rows.all
      rows.makeRoom(for: more.count)
      for group in more { rows.append(numbers[Int(group)]) }
    }
    return numbers
  }

  /// Adds rows of the only group. There are no groupings.
  mutating func add(rows: Int) { sizes.add(rows, to: 0) }

  /// Adds rows, and appends the number of the group of each row to `groups`. Groups are numbered in the order of their
  /// first rows.
  mutating func number(_ batch: Batch, _ groups: inout [UInt32]) {
    let first = UInt32(truncatingIfNeeded: groupCount)
    if list(batch) {
      groups += first..<UInt32(truncatingIfNeeded: groupCount)
      return
    }
    sizes.store()
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
    groups.withUnsafeBufferPointer { sizes.add($0[start...]) }
  }

  /// Returns the groups of all added rows. The keys then have no rows, and keep their groups.
  mutating func finish() -> Groups {
    let order = sortGroups().order
    return Groups(
      keys: keys.indices.map { key in
        Groups.Key(keys[key], keys.count == 1 ? order : order.map { value(ofGroup: $0, key) })
      },
      sizes: sizes, rows: takeRows(), numbersInKeys: order)
  }

  /// Returns the groups of all added rows, which are the same groups as those of `groups`.
  mutating func finish(as groups: Groups) -> Groups {
    let order = groups.numbersInKeys
    return Groups(keys: groups.keys, sizes: sizes, rows: takeRows(), numbersInKeys: order)
  }

  /// Removes the rows.
  private mutating func takeRows() -> RowGroups {
    defer { rows = RowGroups() }
    return rows
  }

  /// Replaces all rows by the rows of these groups.
  mutating func replaceRows(_ groups: [UInt32]) {
    sizes = GroupSizes(Array(repeating: 0, count: groupCount))
    sizes.add(groups)
    rows = RowGroups(groups)
  }

  /// Removes the groups without rows. Returns the new number of each group, which is `.max` for a removed one.
  mutating func removeEmptyGroups() -> [UInt32] {
    let counts = counts
    var numbers = [UInt32](repeating: .max, count: counts.count)
    var next: UInt32 = 0
    for (group, count) in counts.enumerated() where count > 0 {
      numbers[group] = next
      next += 1
    }
    if keys.count == 1 {
      _ = keys[0].keep { counts[Int($0)] > 0 }
    } else {
      rebuildTuples(counts.indices.filter { counts[$0] > 0 })
    }
    sizes = GroupSizes(counts.filter { $0 > 0 })
    rows.store()
    rows.change { for row in $0.indices { $0[row] = numbers[Int($0[row])] } }
    return numbers
  }

  /// Keeps the tuples of some groups, and the values in them.
  private mutating func rebuildTuples(_ groups: [Int]) {
    let groups = groups.map { UInt32(truncatingIfNeeded: $0) }
    var rows = groups.map { group in keys.indices.map { value(ofGroup: group, $0) } }
    for key in keys.indices {
      let used = Set(rows.map { $0[key] })
      let numbers = keys[key].keep { used.contains($0) }
      for row in rows.indices { rows[row][key] = numbers[Int(rows[row][key])] }
    }
    tuples = KeyTable()
    for tuple in rows { _ = tuple.withUnsafeBytes { tuples.number(of: $0) } }
  }

  /// Returns the groups in the order of their keys, the first key first. Missing values are the last.
  ///
  /// This ends a list of values, and later values do not become one. `repeats` are the groups of the list that were removed,
  /// if there were any.
  mutating func sortGroups() -> (order: [UInt32], repeats: Repeats?) {
    nextDecision = .max
    guard keys.count == 1, keys[0].isList else { return (sortedGroups(), nil) }
    let (order, repeats) = keys[0].sortList()
    guard !repeats.isEmpty else { return (order, nil) }
    sizes.remove(repeats)
    rows.remove(repeats)
    return (order, repeats)
  }

  private func sortedGroups() -> [UInt32] {
    guard keys.count != 1 else { return keys[0].ordered }
    var groups = Array(0..<UInt32(truncatingIfNeeded: groupCount))
    // The place of each group by the keys so far.
    var places = [UInt32](repeating: 0, count: groupCount)
    for key in keys.indices {
      var ranks = [UInt32](repeating: 0, count: keys[key].count)
      for (rank, value) in keys[key].ordered.enumerated() {
        ranks[Int(value)] = UInt32(truncatingIfNeeded: rank)
      }
      var words = groups.map { group in
        UInt64(places[Int(group)]) << 32 | UInt64(ranks[Int(value(ofGroup: group, key))])
      }
      radixSort(&words, &groups)
      var place: UInt32 = 0
      for (index, group) in groups.enumerated() {
        if index > 0, words[index] != words[index - 1] { place += 1 }
        places[Int(group)] = place
      }
    }
    return groups
  }

  /// The numbers of the values of groups.
  private func values(ofGroups groups: ArraySlice<UInt32>, _ key: Int) -> ArraySlice<UInt32> {
    keys.count == 1 ? groups : groups.map { value(ofGroup: $0, key) }[...]
  }

  /// The number of a group's value of a key.
  private func value(ofGroup group: UInt32, _ key: Int) -> UInt32 {
    guard keys.count > 1 else { return group }
    return tuples.withKey(group) { tuple in
      tuple.loadUnaligned(fromByteOffset: key * MemoryLayout<UInt32>.size, as: UInt32.self)
    }
  }

  /// Appends the values of a key of some groups to a column like ``resultColumn(_:name:)``.
  func append(_ key: Int, ofGroups groups: ArraySlice<UInt32>, to builder: ColumnBuilder) {
    keys[key].append(values(ofGroups: groups, key), to: builder)
  }

  /// Whether the values of a key of some groups have at most `limit` bytes.
  func fit(_ key: Int, ofGroups groups: ArraySlice<UInt32>, into limit: Int) -> Bool {
    keys[key].fit(values(ofGroups: groups, key), into: limit)
  }

  /// The column of a key's values in a table of groups: a column like the grouped one for equal values, otherwise text.
  func resultColumn(_ key: Int, name: String) -> Column { keys[key].resultColumn(name: name) }
}
