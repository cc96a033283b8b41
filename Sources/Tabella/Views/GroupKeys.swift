/// A column to group rows by, and the kind of its groups.
public struct Grouping: Hashable, Sendable {
  /// The rule that determines which values form a group.
  public enum Class: String, Sendable, CaseIterable {
    /// Equal values.
    case value
    /// The first letter of a text, in upper case. Texts that do not begin with a letter form the group `#`.
    case letter
    /// The day of a date, in UTC.
    case day
    /// The month of a date, in UTC.
    case month
    /// The order of magnitude: powers of ten, or 1 KiB, 1 MiB, 1 GiB for a column of bytes.
    case size
  }

  /// The number of the column.
  public var column: Int
  /// The kind of the groups.
  public var by: Class

  /// Creates a grouping.
  public init(column: Int, by: Class = .value) {
    self.column = column
    self.by = by
  }
}

/// The groups of rows, in the order of display.
struct Groups {
  /// The title of each group. It is nil for the group of missing cells, which is the last.
  var titles: [String?]
  /// The value that all rows of a group share; missing if there is none.
  var cells: [Cell]
  /// The number of rows of each group.
  var counts: [Int]
  /// The number of the group of each row.
  var groupOfRow: [UInt32]
  /// The first letters of titles, each with its first group. Empty if such an index is of little use.
  var indexTitles: [(title: String, group: Int)]
}

/// Determines the groups of rows from batches of cells.
///
/// It uses 4 bytes of memory per row, plus the key of each group.
struct GroupKeys {
  private let grouping: Grouping
  private let column: Column
  private var table = KeyTable()
  private var groupOfRow: [UInt32] = []
  private var counts: [Int] = []
  /// The number of the group of missing cells, if there is one.
  private var missing: UInt32?
  private var key: [UInt8] = []

  /// Throws ``TableError`` with `.invalidArgument` if the column's values cannot be grouped in this way.
  init(_ grouping: Grouping, in columns: [Column]) throws(TableError) {
    column = columns[grouping.column]
    self.grouping = grouping
    let isPossible =
      switch grouping.by {
      case .value: true
      case .letter: column.type == .text
      case .day, .month: column.type == .date || column.type == .text
      case .size: column.type == .integer || column.type == .real || column.type == .text
      }
    guard isPossible else {
      throw TableError(
        .invalidArgument,
        "\(column.name) is \(column.type.name) and cannot be grouped by \(grouping.by.rawValue)",
        column: grouping.column)
    }
  }

  /// Adds rows. The batch contains only the grouped column.
  mutating func append(_ batch: Batch) {
    let cells = batch.columns[0]
    for row in 0..<cells.count {
      let group: UInt32
      if cells.missingCount > 0, cells.isMissing(row) {
        group = missingGroup()
      } else if grouping.by == .value {
        group =
          cells.type.isBytes
          ? cells.withBytes(at: row) { table.number(of: $0) }
          : withUnsafeBytes(of: GroupKeys.word(cells, row)) { table.number(of: $0) }
      } else {
        makeKey(cells, row)
        group = key.withUnsafeBytes { table.number(of: $0) }
      }
      if Int(group) == counts.count { counts.append(0) }
      counts[Int(group)] += 1
      groupOfRow.append(group)
    }
  }

  private mutating func missingGroup() -> UInt32 {
    if let missing { return missing }
    let group = table.addAnonymous()
    missing = group
    return group
  }

  /// The key of a value that is neither text nor binary.
  @inline(__always)
  private static func word(_ cells: ColumnBatch, _ row: Int) -> Int64 {
    switch cells.type {
    case .boolean: return cells.boolean(row) ? 1 : 0
    case .real:
      let real = cells.real(row)
      return Int64(bitPattern: (real.isNaN ? .nan : real == 0 ? 0 : real).bitPattern)
    default: return cells.integer(row)
    }
  }

  /// Stores the key of a cell in `key`, for all kinds except `value`. The byte order of keys is the order of
  /// groups.
  private mutating func makeKey(_ cells: ColumnBatch, _ row: Int) {
    key.removeAll(keepingCapacity: true)
    switch grouping.by {
    case .value: break
    case .letter:
      cells.withBytes(at: row) { key += Array(GroupKeys.letter(of: $0).utf8) }
    case .day, .month:
      let length = grouping.by == .day ? 10 : 7
      if !appendDate(cells, row, length) { key += Array("other".utf8) }
    case .size:
      key.append(
        SizeClass.number(
          of: GroupKeys.magnitude(cells, row, hasComma: column.hasDecimalComma),
          isBytes: column.unit == .bytes))
    }
  }

  /// The first letter in upper case, or `#`.
  static func letter(of text: UnsafeRawBufferPointer) -> String {
    var decoder = UTF8()
    var bytes = text.prefix(4).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&bytes), scalar.properties.isAlphabetic
    else { return "#" }
    return scalar.properties.uppercaseMapping
  }

  /// Appends the first `length` characters of a date in UTC. Returns false for a date outside the years 0 to 9999.
  private mutating func appendDate(_ cells: ColumnBatch, _ row: Int, _ length: Int) -> Bool {
    guard let day = GroupKeys.day(cells, row) else { return false }
    let date = civilDate(day)
    guard 0...9999 ~= date.year else { return false }
    for (value, divisor) in [(date.year, 1000 as Int64), (date.month, 10), (date.day, 10)] {
      if divisor == 10 { key.append(UInt8(ascii: "-")) }
      var divisor = divisor
      while divisor > 0 {
        key.append(UInt8(truncatingIfNeeded: 48 + value / divisor % 10))
        divisor /= 10
      }
    }
    key.removeLast(10 - length)
    return true
  }

  /// The day of a date, counted from 1970-01-01.
  private static func day(_ cells: ColumnBatch, _ row: Int) -> Int64? {
    let length: Int64 = 86_400_000_000_000
    if cells.type == .date { return floorDivide(cells.integer(row), length) }
    return cells.withBytes(at: row) { text in
      // A date and time without a zone counts as its date.
      let moment =
        Timestamp.nanoseconds(rfc3339: text)
        ?? (text.count > 10
          ? Timestamp.nanoseconds(rfc3339: UnsafeRawBufferPointer(rebasing: text[..<10])) : nil)
      return moment.map {
        Int64((($0 % Int128(length)) < 0 ? $0 - Int128(length) : $0) / Int128(length))
      }
    }
  }

  private static func magnitude(
    _ cells: ColumnBatch, _ row: Int, hasComma: Bool
  ) -> Double? {
    switch cells.type {
    case .integer: Double(cells.integer(row))
    case .real: cells.real(row)
    default: cells.withBytes(at: row) { number(in: $0, hasComma: hasComma) }
    }
  }

  /// Returns the groups of all added rows.
  mutating func finish() -> Groups {
    let order = sortedGroups()
    var numbers = [UInt32](repeating: 0, count: order.count)
    for (number, group) in order.enumerated() {
      numbers[Int(group)] = UInt32(truncatingIfNeeded: number)
    }
    for row in groupOfRow.indices { groupOfRow[row] = numbers[Int(groupOfRow[row])] }
    let titles = order.map { title(ofGroup: $0) }
    return Groups(
      titles: titles, cells: order.map { cell(ofGroup: $0) },
      counts: order.map { counts[Int($0)] }, groupOfRow: groupOfRow,
      indexTitles: GroupKeys.indexTitles(titles))
  }

  /// The groups in the order of their values, with the group of missing cells last.
  private func sortedGroups() -> [UInt32] {
    let isValue = grouping.by == .value
    let builder = BatchBuilder([isValue ? column.type : .binary], capacity: counts.count)
    for group in counts.indices {
      let group = UInt32(truncatingIfNeeded: group)
      if group == missing {
        builder.columns[0].appendMissing()
      } else if isValue {
        builder.columns[0].append(cell(ofGroup: group))
      } else {
        table.withKey(group) { builder.columns[0].append(bytes: $0) }
      }
    }
    let key = Column(
      column.name, isValue ? column.type : .binary, reads: isValue ? column.reads : nil,
      hasDecimalComma: column.hasDecimalComma)
    var keys = SortKeys([SortDescriptor(column: 0)], in: [key])
    keys.append(builder.finish(rowCount: counts.count))
    return keys.sortedRows { false } ?? []
  }

  private func cell(ofGroup group: UInt32) -> Cell {
    guard grouping.by == .value, group != missing else { return .missing }
    return table.withKey(group) { (key: UnsafeRawBufferPointer) -> Cell in
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

  private func title(ofGroup group: UInt32) -> String? {
    if group == missing { return nil }
    if grouping.by == .value { return cell(ofGroup: group).description }
    return table.withKey(group) { (key: UnsafeRawBufferPointer) -> String in
      return grouping.by == .size
        ? SizeClass.title(of: key[0], isBytes: column.unit == .bytes)
        : String(decoding: key, as: UTF8.self)
    }
  }

  private static func indexTitles(_ titles: [String?]) -> [(title: String, group: Int)] {
    guard titles.count >= 5 else { return [] }
    var index: [(title: String, group: Int)] = []
    var seen: Set<String> = []
    for (group, title) in titles.enumerated() {
      guard var title else { continue }
      let letter = title.withUTF8 { GroupKeys.letter(of: UnsafeRawBufferPointer($0)) }
      if seen.insert(letter).inserted { index.append((letter, group)) }
    }
    return index.count >= 2 ? index : []
  }
}

/// The orders of magnitude. Their numbers have the same order.
private enum SizeClass {
  private static let bytes = ["under 1 KiB", "1 KiB to 1 MiB", "1 MiB to 1 GiB", "1 GiB and more"]
  private static let other: UInt8 = 255

  static func number(of value: Double?, isBytes: Bool) -> UInt8 {
    guard let value, !value.isNaN else { return other }
    if value < 0 { return 0 }
    if value == 0 { return 1 }
    if isBytes {
      let limits: [Double] = [1024, 1_048_576, 1_073_741_824]
      return UInt8(2 + limits.count { value >= $0 })
    }
    if value < 1 { return 2 }
    var number: UInt8 = 3
    var limit = 10.0
    while value >= limit, number < 250 {
      limit *= 10
      number += 1
    }
    return number
  }

  static func title(of number: UInt8, isBytes: Bool) -> String {
    switch number {
    case 0: return "below 0"
    case 1: return "0"
    case other: return "other"
    case _ where isBytes: return bytes[Int(number) - 2]
    case 2: return "below 1"
    default: return "from 1" + String(repeating: "0", count: Int(number) - 3)
    }
  }
}

/// Assigns numbers to byte strings, in the order of their first appearance.
private struct KeyTable {
  /// Two words and the length of a key. They usually suffice to distinguish keys without comparing bytes.
  ///
  /// Up to 16 bytes, the two words contain the whole key. For a longer key, one word is a digest.
  private struct KeyDigest: Equatable {
    var first: UInt64
    var last: UInt64
    var count: Int

    @inline(__always)
    init(_ key: UnsafeRawBufferPointer) {
      func word<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> UInt64 {
        UInt64(truncatingIfNeeded: key.loadUnaligned(fromByteOffset: offset, as: T.self))
      }
      count = key.count
      switch count {
      case 8...16: (first, last) = (word(0, UInt64.self), word(count - 8, UInt64.self))
      case 4...7: (first, last) = (word(0, UInt32.self), word(count - 4, UInt32.self))
      case 1...3:
        first = word(0, UInt8.self)
        last = word(count / 2, UInt8.self) << 8 | word(count - 1, UInt8.self)
      case 0: (first, last) = (0, 0)
      default: (first, last) = (digest64(key), 0)
      }
    }

    var isWholeKey: Bool { count <= 16 }

    /// The two halves of a product, combined by XOR, so that every input bit affects many output bits.
    var hash: UInt64 {
      let product = (first ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
        by: last ^ 0xD6E8_FEB8_6659_FD93 &+ UInt64(truncatingIfNeeded: count))
      return product.high ^ product.low
    }
  }

  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The digest of each key; nil for a number without a key.
  private var digests: [KeyDigest?] = []
  /// A hash table with open addressing. Each slot holds the number of a key, or `.max`.
  private var slots = [UInt32](repeating: .max, count: 1 << 10)

  /// Returns the number of a key, and adds the key if it is new.
  /// - Complexity: O(bytes)
  mutating func number(of key: UnsafeRawBufferPointer) -> UInt32 {
    let digest = KeyDigest(key)
    var slot = Int(truncatingIfNeeded: digest.hash) & (slots.count - 1)
    while slots[slot] != .max {
      let number = slots[slot]
      if digests[Int(number)] == digest, digest.isWholeKey || isKey(number, key) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    let number = UInt32(truncatingIfNeeded: ends.count)
    slots[slot] = number
    bytes.append(contentsOf: key)
    ends.append(bytes.count)
    digests.append(digest)
    if ends.count * 2 > slots.count { grow() }
    return number
  }

  /// Returns a new number without a key.
  mutating func addAnonymous() -> UInt32 {
    ends.append(bytes.count)
    digests.append(nil)
    return UInt32(truncatingIfNeeded: ends.count - 1)
  }

  func withKey<R>(_ number: UInt32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      let start = number == 0 ? 0 : ends[Int(number) - 1]
      return body(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[Int(number)]]))
    }
  }

  private func isKey(_ number: UInt32, _ key: UnsafeRawBufferPointer) -> Bool {
    withKey(number) { areEqual($0, key) }
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt32](repeating: .max, count: old.count * 2)
    for number in old where number != .max {
      guard let digest = digests[Int(number)] else { continue }
      var slot = Int(truncatingIfNeeded: digest.hash) & (slots.count - 1)
      while slots[slot] != .max { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = number
    }
  }
}
