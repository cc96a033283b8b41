/// The keys of the groups of a class, except of equal values. The byte order of keys is the order of groups.
struct ClassKeys {
  private let by: Grouping.Class
  private let column: Column
  private var converter: Zone.Converter
  private var key: [UInt8] = []
  /// The day and the hour whose key ``key`` is. The rows of a log often have the same ones.
  private var last: (day: Int64, hour: Int64)?

  /// The key of texts that are no date, and the title of a group of values without a key of their own.
  private static let other = "other"

  init(_ by: Grouping.Class, of column: Column, in zone: Zone) {
    self.by = by
    self.column = column
    converter = Zone.Converter(zone)
  }

  /// Calls `body` with the key of a cell, which is not missing.
  mutating func withKey<R>(
    _ cells: ColumnBatch, _ row: Int, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R {
    if by.isOfDates {
      makeKey(ofDate: civilTime(cells, row))
      return key.withUnsafeBytes(body)
    }
    key.removeAll(keepingCapacity: true)
    switch by {
    case .value, .hour, .day, .week, .weekday, .month, .year: break
    case .letter: cells.withBytes(at: row) { key += ClassKeys.letter(of: $0).utf8 }
    case .fileExtension: cells.withBytes(at: row) { key += fileExtension(of: $0) ?? [] }
    case .size: key.append(sizeClass(cells, row))
    case .bins(let width): append(bin: number(cells, row).flatMap { width.bin(of: $0) })
    }
    return key.withUnsafeBytes(body)
  }

  /// The title of the group with a key.
  func title(of key: UnsafeRawBufferPointer) -> String {
    switch by {
    case .size: return SizeClass.title(of: key[0], isBytes: column.unit == .bytes)
    case .weekday: return 1...7 ~= key[0] ? ClassKeys.weekdays[Int(key[0]) - 1] : ClassKeys.other
    case .fileExtension where key.isEmpty: return "no extension"
    case .bins(let width):
      guard key.count == MemoryLayout<Int128>.size else { return ClassKeys.other }
      let word = UInt128(bigEndian: key.loadUnaligned(as: UInt128.self))
      let bin = Int128(truncatingIfNeeded: word ^ 1 << 127)
      return width.title(ofBin: bin, hasComma: column.hasDecimalComma) ?? ClassKeys.other
    default: return String(decoding: key, as: UTF8.self)
    }
  }

  // Texts

  /// The first letter in upper case, or `#`.
  static func letter(of text: UnsafeRawBufferPointer) -> String {
    var decoder = UTF8()
    var bytes = text.prefix(4).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&bytes), scalar.properties.isAlphabetic
    else { return "#" }
    return scalar.properties.uppercaseMapping
  }

  // Dates

  private static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  /// Makes the key of a date, or of a text that is none in the years 0 to 9999.
  private mutating func makeKey(ofDate time: CivilTime?) {
    let place = time.map { (day: $0.dayNumber, hour: by == .hour ? $0.hour : 0) }
    if let place, let last, place == last { return }
    last = place
    key.removeAll(keepingCapacity: true)
    let date = time?.date
    let year = by == .week ? time?.week.year : date?.year
    guard let time, let date, let year, 0...9999 ~= year else {
      key += by == .weekday ? [.max] : Array(ClassKeys.other.utf8)
      return
    }
    if by == .weekday { return key.append(UInt8(truncatingIfNeeded: time.weekday)) }
    append(year, digits: 4)
    if by == .week {
      key += "-W".utf8
      append(time.week.number, digits: 2)
    }
    guard by == .month || by == .day || by == .hour else { return }
    key.append(UInt8(ascii: "-"))
    append(date.month, digits: 2)
    guard by != .month else { return }
    key.append(UInt8(ascii: "-"))
    append(date.day, digits: 2)
    guard by == .hour else { return }
    key.append(UInt8(ascii: " "))
    append(time.hour, digits: 2)
    key += ":00".utf8
  }

  private mutating func append(_ value: Int64, digits: Int) {
    var divisor = ExactNumber.powers[digits - 1]
    while divisor > 0 {
      key.append(UInt8(truncatingIfNeeded: 48 + value / divisor % 10))
      divisor /= 10
    }
  }

  /// The civil time that a cell names; nil for other text. A text without a zone never shifts.
  private mutating func civilTime(_ cells: ColumnBatch, _ row: Int) -> CivilTime? {
    if cells.type == .date {
      return converter.civil(Timestamp(nanoseconds: cells.integer(row)))
    }
    return cells.withBytes(at: row) { text in
      if let time = StatedTime(anyForm: text) { return converter.civil(time) }
      // Text that begins with a date, such as a line of a log, counts as the date.
      guard text.count > 10 else { return nil }
      if let time = StatedTime(leading: text) { return converter.civil(time) }
      if let time = StatedTime(otherFormAtStartOf: text), by != .hour || time.extent != .day {
        return converter.civil(time)
      }
      guard by != .hour else { return nil }
      return converter.civil(text: UnsafeRawBufferPointer(rebasing: text[..<10]))
    }
  }

  // Numbers

  private func sizeClass(_ cells: ColumnBatch, _ row: Int) -> UInt8 {
    let isBytes = column.unit == .bytes
    // A double can be a rounded number, and so belong to another class.
    if cells.type != .real, let number = number(cells, row) {
      return SizeClass.number(of: number, isBytes: isBytes)
    }
    return SizeClass.number(of: magnitude(cells, row), isBytes: isBytes)
  }

  private func magnitude(_ cells: ColumnBatch, _ row: Int) -> Double? {
    switch cells.type {
    case .integer: Double(cells.integer(row))
    case .real: cells.real(row)
    default:
      cells.withBytes(at: row) { Tabella.number(in: $0, hasComma: column.hasDecimalComma) }
    }
  }

  private func number(_ cells: ColumnBatch, _ row: Int) -> ExactNumber? {
    switch cells.type {
    case .integer: ExactNumber(cells.integer(row))
    case .real: ExactNumber(cells.real(row))
    default: cells.withBytes(at: row) { ExactNumber($0, hasComma: column.hasDecimalComma) }
    }
  }

  /// Appends 16 bytes with the order of the bins, or 17 bytes for a value without a bin.
  private mutating func append(bin: Int128?) {
    guard let bin else {
      key += repeatElement(.max, count: MemoryLayout<Int128>.size + 1)
      return
    }
    let word = (UInt128(truncatingIfNeeded: bin) ^ 1 << 127).bigEndian
    withUnsafeBytes(of: word) { key += $0 }
  }
}

/// The orders of magnitude. Their numbers have the same order.
enum SizeClass {
  private static let bytes = ["under 1 KiB", "1 KiB to 1 MiB", "1 MiB to 1 GiB", "1 GiB and more"]
  private static let byteLimits: [Double] = [1024, 1_048_576, 1_073_741_824]
  private static let other: UInt8 = 255

  static func number(of value: ExactNumber, isBytes: Bool) -> UInt8 {
    let (isNegative, digits, scale): (Bool, Int, Int)
    switch value {
    case .small(let mantissa, let places):
      digits = ExactNumber.powers.count { mantissa >= $0 }
      (isNegative, scale) = (mantissa < 0, Int(places))
    case .large(let decimal):
      (isNegative, digits, scale) = (decimal.isNegative, decimal.digits.count, decimal.scale)
    }
    if isNegative { return 0 }
    if digits == 0 { return 1 }
    if isBytes {
      return UInt8(
        2 + byteLimits.count { ExactNumber.compare(value, ExactNumber(Int64($0))) >= 0 })
    }
    // The digits in front of the decimal point.
    return UInt8(2 + min(max(0, digits - scale), 248))
  }

  static func number(of value: Double?, isBytes: Bool) -> UInt8 {
    guard let value, !value.isNaN else { return other }
    if value < 0 { return 0 }
    if value == 0 { return 1 }
    if isBytes {
      return UInt8(2 + byteLimits.count { value >= $0 })
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
