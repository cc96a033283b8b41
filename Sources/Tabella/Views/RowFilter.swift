/// Finds the rows that satisfy all conditions and contain a search text.
struct RowFilter {
  /// The numbers of the columns that the filter needs, without repetition. A search needs all columns except those on
  /// request.
  let columns: [Int]
  /// Terms that every row contains that satisfies the filter, each in a text column.
  private(set) var terms: [SearchTerm] = []
  private var tests: [Test]
  private var search: TextFinder?
  private var converter: Zone.Converter
  private var rows: [Int32] = []
  private var scratch = [UInt8](repeating: 0, count: ColumnBatch.longestText)

  private struct Test {
    /// The index of the column in a batch.
    var index: Int
    var column: Column
    var comparison: Condition.Comparison
    var value: ConditionValue

    /// Terms that every cell contains that satisfies the test.
    var terms: [SearchTerm] {
      guard column.type == .text else { return [] }
      switch value {
      case .pattern(let pattern) where comparison == .matches: return pattern.requiredTexts
      // Other text is equal only byte by byte.
      case .text(let text, number: nil, date: nil) where comparison == .equal && !text.isEmpty:
        return [SearchTerm([text])]
      default: return []
      }
    }

    /// Whether the text of the column is compared as values of another type. A pattern applies to the text. A date in a
    /// text may state no zone, and a decimal number may have more digits than a double.
    var readsValues: Bool {
      guard let reads = column.reads, reads != .date else { return false }
      switch value {
      case .pattern, .decimal, .cells: return false
      default: return true
      }
    }
  }

  /// Creates a filter for a table with these columns. An empty search matches every row.
  ///
  /// `dates` is the zone and the present moment of dates. Throws ``TableError`` with `.invalidArgument` for a column that
  /// does not exist, for a value that does not fit the column's type, and for an invalid pattern.
  init(
    _ conditions: [Condition], search: [UInt8]?, in columns: [Column], dates: DateContext = .utc
  ) throws(TableError) {
    converter = Zone.Converter(dates.zone)
    var wanted: [Int] = search.map { _ in columns.usualNumbers } ?? []
    tests = []
    for condition in conditions {
      guard columns.indices.contains(condition.column) else {
        throw TableError(
          .invalidArgument,
          "there is no column \(condition.column) to filter by; there are \(columns.count)",
          column: condition.column)
      }
      if !wanted.contains(condition.column) { wanted.append(condition.column) }
      let value: ConditionValue
      if let other = condition.otherColumn {
        let cells = try OtherCells(condition, in: columns, dates)
        if !wanted.contains(other) { wanted.append(other) }
        value = .cells(cells.at(wanted.firstIndex(of: other) ?? 0))
      } else {
        value = try ConditionValue(condition, columns[condition.column], dates)
      }
      tests.append(
        Test(
          index: wanted.firstIndex(of: condition.column) ?? 0, column: columns[condition.column],
          comparison: condition.comparison, value: value))
    }
    self.columns = wanted
    self.search = search.map { TextFinder($0) }
    terms = tests.flatMap(\.terms)
    if let text = self.search?.term, columns.usualNumbers.allSatisfy({ columns[$0].type == .text })
    {
      terms.append(text)
    }
  }

  /// The rows of a batch that satisfy the conditions, in ascending order. The batch has exactly ``columns``.
  mutating func passing(_ batch: Batch) -> [Int32] {
    rows.removeAll(keepingCapacity: true)
    for row in 0..<batch.rowCount { rows.append(Int32(truncatingIfNeeded: row)) }
    batch.withUnownedColumns { batch in
      for index in tests.indices { apply(index, to: batch) }
      if search != nil { applySearch(to: batch) }
    }
    return rows
  }

  private mutating func apply(_ index: Int, to batch: Batch) {
    let test = tests[index]
    let comparison = test.comparison
    var column = batch.columns[test.index]
    if test.readsValues { column = test.column.values(of: column) }
    let hasComma = test.column.hasDecimalComma
    switch test.value {
    case .integers(let below, let upTo):
      keep(column, comparison) { row in
        let value = Int128(column.integer(row))
        return comparison.holds(value < below ? -1 : value > upTo ? 1 : 0)
      }
    case .real(let wanted):
      keep(column, comparison) { row in
        let value = column.real(row)
        if value.isNaN || wanted.isNaN { return comparison == .notEqual }
        return comparison.holds(value < wanted ? -1 : value > wanted ? 1 : 0)
      }
    case .decimal(let wanted, let number):
      wanted.withUnsafeBytes { wanted in
        keep(column, comparison) { row in
          column.withBytes(at: row) { cell in
            // Text that is no number counts as missing.
            guard let value = NumberText(cell, hasComma: hasComma) else {
              return comparison.isNegated
            }
            return comparison.holds(NumberText.compare(value, cell, number, wanted))
          }
        }
      }
    case .boolean(let wanted):
      keep(column, comparison) { row in
        comparison.holds((column.boolean(row) ? 1 : 0) - (wanted ? 1 : 0))
      }
    case .date(let wanted):
      var converter = converter
      if column.type == .date {
        keep(column, comparison) { row in
          comparison.holds(
            wanted.order(of: Timestamp(nanoseconds: column.integer(row)), &converter))
        }
      } else {
        keep(column, comparison) { row in
          guard let date = column.withBytes(at: row, { StatedTime($0) }) else {
            // An empty cell counts as missing.
            return comparison.isNegated
          }
          return comparison.holds(wanted.order(of: date, &converter))
        }
      }
      self.converter = converter
    case .text(let wanted, let number, let date):
      var converter = converter
      wanted.withUnsafeBytes { wanted in
        keep(column, comparison) { row in
          column.withBytes(at: row) {
            RowFilter.holds(
              comparison, $0, wanted, number, date, &converter, hasComma: hasComma)
          }
        }
      }
      self.converter = converter
    case .binary(let wanted):
      wanted.withUnsafeBytes { wanted in
        keep(column, comparison) { row in
          comparison.holds(column.withBytes(at: row) { NaturalOrder.compareBytes($0, wanted) })
        }
      }
    case .pattern(var pattern):
      // The pattern is stored again, because its cache of states has changed.
      keepMatching(column, comparison) { pattern.isFound(in: $0) }
      tests[index].value = .pattern(pattern)
    case .cells(var cells):
      let other = batch.columns[cells.index]
      let order = cells.comparing(column, of: test.column, with: other, comparison)
      keep(column, comparison) { row in
        other.isMissing(row) ? comparison.isNegated : order(row)
      }
      tests[index].value = .cells(cells)
    }
  }

  /// Keeps the rows whose cell satisfies the comparison. A missing cell satisfies only negated comparisons.
  private mutating func keep(
    _ column: ColumnBatch, _ comparison: Condition.Comparison, _ passes: (Int) -> Bool
  ) {
    let mayMiss = column.missingCount > 0
    rows.removeAll { row in
      mayMiss && column.isMissing(Int(row)) ? !comparison.isNegated : !passes(Int(row))
    }
  }

  static func holds(
    _ comparison: Condition.Comparison, _ cell: UnsafeRawBufferPointer,
    _ wanted: UnsafeRawBufferPointer, _ wantedNumber: NumberText?,
    _ wantedDate: DateValue?, _ converter: inout Zone.Converter, hasComma: Bool
  ) -> Bool {
    let isEquality = comparison == .equal || comparison == .notEqual
    if isEquality, cell.count == wanted.count, cell.elementsEqual(wanted) {
      return comparison == .equal
    }
    if let wantedNumber, let number = NumberText(cell, hasComma: hasComma) {
      return comparison.holds(NumberText.compare(number, cell, wantedNumber, wanted))
    }
    // A line of a log begins with its date. Only an order ignores the rest of the line.
    if let wantedDate,
      let date = StatedTime(anyForm: cell) ?? StatedTime(month: cell)
        ?? (isEquality ? nil : StatedTime(startOf: cell))
    {
      return comparison.holds(wantedDate.order(of: date, &converter))
    }
    // A cell of another kind than the value is unequal to it, and neither less nor greater.
    if isEquality || wantedNumber != nil || wantedDate != nil
      || number(in: cell, hasComma: hasComma) != nil
    {
      return comparison == .notEqual
    }
    return comparison.holds(NaturalOrder.compare(cell, wanted))
  }

  private mutating func keepMatching(
    _ column: ColumnBatch, _ comparison: Condition.Comparison,
    _ isFound: (UnsafeRawBufferPointer) -> Bool
  ) {
    var scratch = scratch
    keep(column, comparison) { row in
      RowFilter.withText(of: column, row, &scratch, isFound) != comparison.isNegated
    }
  }

  private mutating func applySearch(to batch: Batch) {
    guard let search else { return }
    var scratch = scratch
    rows.removeAll { row in
      !batch.columns.contains { column in
        !column.isMissing(Int(row))
          && RowFilter.withText(of: column, Int(row), &scratch) { search.isFound(in: $0) }
      }
    }
  }

  /// Calls `body` with the exact text of a cell: its bytes, or ``Cell/description``.
  private static func withText(
    of column: ColumnBatch, _ row: Int, _ scratch: inout [UInt8],
    _ body: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    switch column.type {
    case .text: return column.withBytes(at: row, body)
    case .binary:
      let text = Array(column[row].description.utf8)
      return text.withUnsafeBytes { body($0) }
    default:
      return scratch.withUnsafeMutableBytes { place in
        let count = column.writeText(of: row, to: place.baseAddress!)
        return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(place)[..<count]))
      }
    }
  }
}

/// Searches for a text in other texts. The case of ASCII letters matters only if the text has an upper-case letter.
struct TextFinder {
  private let wanted: [UInt8]
  private let isFolding: Bool
  /// For each byte, the number of bytes to advance after a mismatch, if the byte is the last one compared
  /// (Horspool).
  private let steps: [Int]

  init(_ wanted: [UInt8]) {
    self.init(wanted, isFolding: !wanted.contains { $0 &- 65 < 26 })
  }

  init(_ text: [UInt8], isFolding: Bool) {
    self.isFolding = isFolding
    wanted = isFolding ? text.map { NaturalOrder.folded($0) } : text
    var steps = [Int](repeating: max(1, wanted.count), count: 256)
    for (index, byte) in wanted.dropLast().enumerated() {
      steps[Int(byte)] = wanted.count - 1 - index
      if isFolding, byte &- 97 < 26 { steps[Int(byte & 0xDF)] = wanted.count - 1 - index }
    }
    self.steps = steps
  }

  /// The searched text as a term; nil if it is empty.
  var term: SearchTerm? { wanted.isEmpty ? nil : SearchTerm([wanted], ignoresCase: isFolding) }

  /// Whether the searched text occurs in `text`.
  /// - Complexity: O(bytes × wanted) in the worst case, usually O(bytes / wanted).
  func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    let count = wanted.count
    guard count > 0 else { return true }
    return wanted.withUnsafeBufferPointer { wanted in
      steps.withUnsafeBufferPointer { steps in
        var end = count - 1
        while end < text.count {
          var back = 0
          while back < count {
            let byte = text[end - back]
            let folded = isFolding ? NaturalOrder.folded(byte) : byte
            if folded != wanted[count - 1 - back] { break }
            back += 1
          }
          if back == count { return true }
          end += steps[Int(text[end])]
        }
        return false
      }
    }
  }
}
