import Synchronization
import TabellaThreads

/// The values of one key of a grouping, numbered in the order of their first rows.
struct KeyNumbers {
  let grouping: Grouping
  private let column: Column
  private var table = KeyTable()
  private var classes: ClassKeys
  /// The number of missing cells, if there are any.
  var missing: UInt32? { table.missing }

  init(_ grouping: Grouping, _ column: Column, in zone: Zone) throws(TableError) {
    guard grouping.by.fits(column.type) else {
      var kind = grouping.by.name
      if case .bins = grouping.by { kind = "bins of \(kind)" }
      throw TableError(
        .invalidArgument,
        "\(column.name) is \(column.type.name) and cannot be grouped by \(kind)",
        column: grouping.column)
    }
    self.grouping = grouping
    self.column = column
    classes = ClassKeys(grouping.by, of: column, in: zone)
  }

  /// The number of values.
  var count: Int { table.count }

  /// The same key without values.
  var emptied: KeyNumbers {
    var copy = self
    copy.table = KeyTable()
    return copy
  }

  /// Adds the values of another key with the same grouping. Returns the number of each of them here.
  mutating func merge(_ next: KeyNumbers) -> [UInt32] { table.merge(next.table) }

  /// Removes values. Returns the new number of each value, which is `.max` for a removed one.
  mutating func keep(_ isKept: (UInt32) -> Bool) -> [UInt32] {
    let old = table
    table = KeyTable()
    return (0..<UInt32(truncatingIfNeeded: old.count)).map { number in
      guard isKept(number) else { return .max }
      return number == old.missing
        ? table.numberOfMissing() : old.withKey(number) { table.number(of: $0) }
    }
  }

  /// Appends the number of each cell's value.
  mutating func number(_ cells: ColumnBatch, _ numbers: inout [UInt32]) {
    func isMissing(_ row: Int) -> Bool { cells.missingCount > 0 && cells.isMissing(row) }
    let isValue = grouping.by == .value
    if isValue, cells.type.isBytes {
      return withExtendedLifetime(cells) {
        table.append(cells.count, to: &numbers) { row in
          isMissing(row) ? nil : cells.withBytes(at: row) { $0 }
        }
      }
    }
    numbers.makeRoom(for: cells.count)
    for row in 0..<cells.count {
      if isMissing(row) {
        numbers.append(table.numberOfMissing())
      } else if isValue {
        numbers.append(withUnsafeBytes(of: cells.keyWord(row)) { table.number(of: $0) })
      } else {
        numbers.append(classes.withKey(cells, row) { table.number(of: $0) })
      }
    }
  }

  // Lists of values

  /// Whether equal values can have several numbers (see ``KeyTable/startList()``).
  var isList: Bool { table.isList }
  /// Whether these values can become a list: equal ones have equal bytes, and are side by side when they are sorted.
  var canBeList: Bool { grouping.by == .value && column.type == .text }
  /// The number of different values; an estimate for a list.
  var differentValues: Int { table.differentKeys }

  mutating func startList() { table.startList() }

  /// Adds each cell to a list, as a new value. Returns false if the values are no list, or if a cell is missing.
  mutating func list(_ cells: ColumnBatch) -> Bool {
    guard isList, cells.missingCount == 0 else { return false }
    table.list(cells)
    return true
  }

  /// Adds each value of another key to a list, as a new value. None of them is the missing cell. Returns false if the
  /// values are no list.
  mutating func list(_ next: KeyNumbers) -> Bool {
    guard isList else { return false }
    table.list(next.table)
    return true
  }

  /// Ends the list, so that all values differ. Returns the new number of each value.
  mutating func endList() -> [UInt32] { table.endList() }

  /// Ends the list. Returns the values in order, with missing cells last, and the repeats that were removed.
  mutating func sortList() -> (ordered: [UInt32], repeats: Repeats) {
    var (ordered, pairs) = sorted()
    let repeats = Repeats(pairs, among: count)
    table.remove(repeats)
    guard !repeats.isEmpty else { return (ordered, repeats) }
    var end = 0
    for index in ordered.indices where !repeats.contains(ordered[index]) {
      ordered[end] = repeats.newNumber(of: ordered[index])
      end += 1
    }
    ordered.removeLast(ordered.count - end)
    return (ordered, repeats)
  }

  // The order of values

  /// The values in order, with missing cells last.
  ///
  /// Texts that are equal in the order of sorting, such as `2` and `2.0`, are in the order of their bytes. So the order
  /// of values does not depend on the order of rows.
  var ordered: [UInt32] { sorted().ordered }

  /// The same order, and the values of a list that repeat earlier ones.
  private func sorted() -> (ordered: [UInt32], repeats: [Repeats.Pair]) {
    let isValue = grouping.by == .value
    let key = Column(
      column.name, isValue ? column.type : .binary, reads: isValue ? column.reads : nil,
      hasDecimalComma: column.hasDecimalComma)
    var keys = SortKeys([SortDescriptor(column: 0)], in: [key])
    let (empty, size) = (keys.emptied, KeyNumbers.sharedKeys)
    keys.makeRoom(for: count, bytes: key.type.isBytes ? table.byteCount : 0)
    let parts = (count + size - 1) / size
    produceInOrder(parts, threads: Cores.count, ahead: Cores.count + 1) { part in
      var keys = empty
      append(part * size..<min((part + 1) * size, count), of: key, to: &keys)
      return keys
    } consume: { _, part in
      keys.merge(part)
      return .all
    }
    let repeats = Mutex<[Repeats.Pair]>([])
    func sortEqual(_ values: UnsafeMutableBufferPointer<UInt32>) {
      var values = values
      values.sort { left, right in
        let order = compare(left, right)
        return order == 0 ? left < right : order < 0
      }
      guard isList else { return }
      var first = values[0]
      for value in values.dropFirst() {
        if compare(first, value) == 0 {
          repeats.withLock { $0.append((value, first)) }
        } else {
          first = value
        }
      }
    }
    let hasTexts = isValue && column.type == .text
    let ordered = keys.sortedRows(sortEqualRows: hasTexts ? sortEqual : nil) { false } ?? []
    return (ordered, repeats.withLock { $0 })
  }

  /// Compares two values by their bytes; a missing cell is the last.
  private func compare(_ left: UInt32, _ right: UInt32) -> Int {
    // An empty text that should be a number is sorted with missing cells.
    if left == missing || right == missing { return left == right ? 0 : left == missing ? 1 : -1 }
    return table.withKey(left) { left in
      table.withKey(right) { NaturalOrder.compareBytes(left, $0) }
    }
  }

  /// The number of values whose sort keys a thread makes at once.
  private static let sharedKeys = 1 << 15

  /// Appends the sort keys of some values, as cells of a column.
  private func append(_ numbers: Range<Int>, of column: Column, to keys: inout SortKeys) {
    keys.makeRoom(for: numbers.count)
    for number in numbers {
      let number = UInt32(truncatingIfNeeded: number)
      if number == missing {
        keys.append(.missing)
      } else if column.type.isBytes {
        table.withKey(number) { keys.append(bytes: $0) }
      } else {
        keys.append(cell(of: number) ?? .missing)
      }
    }
  }

  /// The cell that has the value; nil if cells of the class differ.
  func cell(of number: UInt32) -> Cell? {
    guard number != missing else { return .missing }
    guard grouping.by == .value else { return nil }
    return table.withKey(number) { (key: UnsafeRawBufferPointer) -> Cell in
      func word() -> Int64 { key.loadUnaligned(as: Int64.self) }
      return switch column.type {
      case .text: .text(Array(key))
      case .binary: .binary(Array(key))
      case .integer: .integer(word())
      case .real: .real(Double(bitPattern: UInt64(bitPattern: word())))
      case .boolean: .boolean(word() != 0)
      case .date: .date(Timestamp(nanoseconds: word()))
      }
    }
  }

  /// Calls `body` with the titles of some values; nil for missing cells. The bytes of a text need not be UTF-8.
  func forEachTitle(
    of numbers: ArraySlice<UInt32>, _ body: (UnsafeRawBufferPointer?) -> Void
  ) {
    guard grouping.by == .value, column.type == .text else {
      for number in numbers { title(of: number).withUTF8(body) }
      return
    }
    table.forEachKey(numbers) { body($0 == missing ? nil : $1) }
  }

  func title(of number: UInt32) -> String? {
    guard number != missing else { return nil }
    if grouping.by == .value {
      guard column.type == .text else { return cell(of: number)?.description }
      return table.withKey(number) { String(decoding: $0, as: UTF8.self) }
    }
    return table.withKey(number) { classes.title(of: $0) }
  }

  // Values as cells of a table of groups

  func resultColumn(name: String) -> Column {
    var result = grouping.by == .value ? column : Column(name)
    result.name = name
    if grouping.by == .year, (0..<UInt32(truncatingIfNeeded: count)).allSatisfy(isYear) {
      result.reads = .integer
    }
    return result
  }

  /// Whether a key is a year or missing, and not the key of other values.
  private func isYear(_ number: UInt32) -> Bool {
    number == missing || table.withKey(number) { $0.count == 4 && $0[0] != 48 }
  }

  /// Appends values to a column like ``resultColumn(name:)``.
  func append(_ numbers: ArraySlice<UInt32>, to builder: ColumnBuilder) {
    if grouping.by == .value, column.type.isBytes {
      return table.forEachKey(numbers) { number, key in
        if number == missing { builder.appendMissing() } else { builder.append(bytes: key) }
      }
    }
    for number in numbers {
      if number == missing {
        builder.appendMissing()
      } else if grouping.by == .value {
        builder.append(cell(of: number) ?? .missing)
      } else {
        builder.append(title(of: number) ?? "")
      }
    }
  }

  /// Whether the texts of values have at most `limit` bytes. The answer can be false for somewhat fewer bytes.
  func fit(_ numbers: ArraySlice<UInt32>, into limit: Int) -> Bool {
    // The title of a class is short or as long as its key.
    let titles = grouping.by == .value ? 0 : numbers.count << 10
    return titles + table.byteCount <= limit
      || numbers.reduce(titles) { $0 + table.byteCount(of: $1) } <= limit
  }
}
