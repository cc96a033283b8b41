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

  /// The values in order, with missing cells last.
  ///
  /// Texts that are equal in the order of sorting, such as `2` and `2.0`, are in the order of their bytes. So the order
  /// of values does not depend on the order of rows.
  var ordered: [UInt32] {
    let isValue = grouping.by == .value
    let key = Column(
      column.name, isValue ? column.type : .binary, reads: isValue ? column.reads : nil,
      hasDecimalComma: column.hasDecimalComma)
    var keys = SortKeys([SortDescriptor(column: 0)], in: [key])
    let (empty, size) = (keys.emptied, KeyNumbers.sharedKeys)
    let parts = (count + size - 1) / size
    produceInOrder(parts, threads: Cores.count, ahead: Cores.count + 1) { part in
      var keys = empty
      append(part * size..<min((part + 1) * size, count), of: key, to: &keys)
      return keys
    } consume: { _, part in
      keys.merge(part)
      return .all
    }
    func precedes(_ left: UInt32, _ right: UInt32) -> Bool {
      // An empty text that should be a number is sorted with missing cells.
      if left == missing || right == missing { return left != missing }
      return table.withKey(left) { left in
        table.withKey(right) { NaturalOrder.compareBytes(left, $0) < 0 }
      }
    }
    let hasTexts = isValue && column.type == .text
    return keys.sortedRows(breaksTie: hasTexts ? precedes : nil) { false } ?? []
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

  /// The titles of some values; nil for missing cells.
  func titles(of numbers: ArraySlice<UInt32>) -> [String?] {
    guard grouping.by == .value, column.type == .text else { return numbers.map(title) }
    var titles: [String?] = []
    titles.reserveCapacity(numbers.count)
    table.forEachKey(numbers) { number, key in
      titles.append(number == missing ? nil : String(decoding: key, as: UTF8.self))
    }
    return titles
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

  /// Appends a value to a column like ``resultColumn(name:)``.
  func append(_ number: UInt32, to builder: ColumnBuilder) {
    if number == missing { return builder.appendMissing() }
    if grouping.by != .value { return builder.append(title(of: number) ?? "") }
    if column.type.isBytes { return table.withKey(number) { builder.append(bytes: $0) } }
    builder.append(cell(of: number) ?? .missing)
  }

  /// The maximum number of bytes that a value adds to a column.
  func byteCount(of number: UInt32) -> Int {
    // The title of a class is short or as long as its key.
    max(table.withKey(number) { $0.count }, grouping.by == .value ? 0 : 1 << 10)
  }
}
