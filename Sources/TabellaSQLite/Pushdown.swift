import CTabellaSQLite
import Tabella

/// The part of a WHERE clause that a view can decide.
///
/// SQLite and Tabella compare in different ways. So a restriction keeps all rows that SQLite wants, and perhaps others. SQLite
/// checks each row again.
enum Restriction: Equatable {
  /// All of these conditions are true for each wanted row.
  case conditions([Condition])
  /// No row is wanted.
  case nothing
  /// Any row can be wanted.
  case unknown

  /// The restriction by `column OP value`, as SQLite understands it.
  init(_ number: Int, _ column: Column, _ op: Int32, _ value: SQLValue) {
    if op == TABELLA_SQLITE_ISNULL {
      self = Restriction.missing(number, column)
      return
    }
    guard value != .null else {
      self = .nothing
      return
    }
    if op == TABELLA_SQLITE_LIKE || op == TABELLA_SQLITE_GLOB {
      self = Restriction.pattern(number, column, op, value)
      return
    }
    switch column.shownType {
    case .integer: self = Restriction.integer(number, op, value)
    case .real: self = Restriction.real(number, column, op, value)
    case .boolean: self = Restriction.boolean(number, op, value)
    case .text: self = Restriction.text(number, column, op, value)
    case .date: self = Restriction.date(number, op, value)
    case .binary: self = Restriction.binary(number, op, value)
    }
  }

  /// The restriction by `column IN (values)`: the range from the least to the greatest number.
  init(_ number: Int, _ column: Column, in values: [SQLValue]) {
    let values = values.filter { $0 != .null }
    guard !values.isEmpty else {
      self = .nothing
      return
    }
    let bounds = [TABELLA_SQLITE_GE, TABELLA_SQLITE_LE].map { op -> Restriction in
      guard let bound = Restriction.extreme(of: values, isLeast: op == TABELLA_SQLITE_GE) else {
        return .unknown
      }
      return Restriction(number, column, op, bound)
    }
    guard values.count > 1 else {
      self.init(number, column, TABELLA_SQLITE_EQ, values[0])
      return
    }
    let all = bounds.flatMap { bound -> [Condition] in
      guard case .conditions(let conditions) = bound else { return [] }
      return conditions
    }
    self = all.isEmpty ? .unknown : .conditions(all)
  }

  /// The least or greatest of some numbers; nil if not all are numbers.
  private static func extreme(of values: [SQLValue], isLeast: Bool) -> SQLValue? {
    var best: (value: SQLValue, number: Double)?
    for value in values {
      let number: Double
      switch value {
      case .integer(let integer): number = Double(integer)
      case .real(let real): number = real
      default: return nil
      }
      // Rounding keeps the order, but two values can round to one: the exact bound of both is then unknown.
      guard number.magnitude < 0x1p53 else { return nil }
      if let old = best, isLeast ? old.number <= number : old.number >= number { continue }
      best = (value, number)
    }
    return best?.value
  }

  private static func comparison(_ op: Int32) -> Condition.Comparison? {
    switch op {
    case TABELLA_SQLITE_EQ: .equal
    case TABELLA_SQLITE_LT: .less
    case TABELLA_SQLITE_LE: .lessOrEqual
    case TABELLA_SQLITE_GT: .greater
    case TABELLA_SQLITE_GE: .greaterOrEqual
    default: nil
    }
  }

  private static func condition(
    _ number: Int, _ comparison: Condition.Comparison, _ value: String
  ) -> Condition {
    Condition(column: number, comparison: comparison, value: Array(value.utf8))
  }

  /// The rows whose cell is missing. The pattern also keeps empty text. A real that is no number is NULL in SQLite.
  private static func missing(_ number: Int, _ column: Column) -> Restriction {
    guard column.type != .real else { return .unknown }
    return .conditions([condition(number, .doesNotMatch, ".")])
  }

  private static func integer(_ number: Int, _ op: Int32, _ value: SQLValue) -> Restriction {
    guard let comparison = comparison(op) else { return .unknown }
    switch value {
    case .integer(let value): return .conditions([condition(number, comparison, "\(value)")])
    // The text of a larger double can be the nearest short number instead of its exact value.
    case .real(let value) where value.magnitude < 0x1p53:
      return .conditions([condition(number, comparison, "\(value)")])
    case .real(let value):
      guard let whole = Int64(exactly: value) else { return .unknown }
      return .conditions([condition(number, comparison, "\(whole)")])
    default: return .unknown
    }
  }

  private static func real(
    _ number: Int, _ column: Column, _ op: Int32, _ value: SQLValue
  ) -> Restriction {
    guard let comparison = comparison(op) else { return .unknown }
    let wanted: Double
    switch value {
    // SQLite compares an integer exactly. A double holds smaller ones exactly, too.
    case .integer(let value) where value.magnitude < 1 << 53: wanted = Double(value)
    case .real(let value) where value.isFinite: wanted = value
    default: return .unknown
    }
    guard column.type == .text else {
      return .conditions([condition(number, comparison, "\(wanted)")])
    }
    // A view compares text with all its digits, and SQLite as a double. The doubles next to the value bound all texts that
    // become the value.
    var conditions: [Condition] = []
    let (below, above) = (wanted.nextDown, wanted.nextUp)
    if [.equal, .greater, .greaterOrEqual].contains(comparison), below.isFinite {
      conditions.append(condition(number, .greaterOrEqual, "\(below)"))
    }
    if [.equal, .less, .lessOrEqual].contains(comparison), above.isFinite {
      conditions.append(condition(number, .lessOrEqual, "\(above)"))
    }
    return conditions.isEmpty ? .unknown : .conditions(conditions)
  }

  private static func boolean(_ number: Int, _ op: Int32, _ value: SQLValue) -> Restriction {
    guard op == TABELLA_SQLITE_EQ, let value = value.wholeNumber, value == 0 || value == 1 else {
      return .unknown
    }
    return .conditions([condition(number, .equal, value == 1 ? "true" : "false")])
  }

  /// Text has another order in a view. Equal bytes are equal there, too.
  private static func text(
    _ number: Int, _ column: Column, _ op: Int32, _ value: SQLValue
  ) -> Restriction {
    guard op == TABELLA_SQLITE_EQ, column.reads == nil, case .text(let text) = value else {
      return .unknown
    }
    return .conditions([Condition(column: number, comparison: .equal, value: text)])
  }

  private static func binary(_ number: Int, _ op: Int32, _ value: SQLValue) -> Restriction {
    guard let comparison = comparison(op), case .blob(let bytes) = value else { return .unknown }
    return .conditions([Condition(column: number, comparison: comparison, value: bytes)])
  }

  /// The text of a date begins with its day, and has the order of days. So the day of the value bounds the days of the
  /// wanted cells.
  private static func date(_ number: Int, _ op: Int32, _ value: SQLValue) -> Restriction {
    guard let comparison = comparison(op), case .text(let text) = value,
      text.count >= 10, text.prefix(10).withUnsafeBytes({ Timestamp(rfc3339: $0) }) != nil
    else { return .unknown }
    let day = Array(text.prefix(10))
    let bound: Condition.Comparison =
      switch comparison {
      case .less, .lessOrEqual: .lessOrEqual
      case .greater, .greaterOrEqual: .greaterOrEqual
      default: .equal
      }
    return .conditions([Condition(column: number, comparison: bound, value: day)])
  }

  /// A cell that matches contains each run of letters of the pattern. The longest run decides.
  private static func pattern(
    _ number: Int, _ column: Column, _ op: Int32, _ value: SQLValue
  ) -> Restriction {
    guard column.type == .text, column.shownType == .text, case .text(let pattern) = value else {
      return .unknown
    }
    let isGlob = op == TABELLA_SQLITE_GLOB
    let isPlain: (UInt8) -> Bool = { byte in
      switch byte {
      case 48...57, 65...90, 97...122, UInt8(ascii: " "): true
      default: false
      }
    }
    // SQLite ends a pattern at a NUL. Behind a bracket, a letter can belong to a set of letters.
    let usable = pattern.prefix { $0 != 0 && !(isGlob && $0 == UInt8(ascii: "[")) }
    // The letters K and S are also the folded forms of characters that are not ASCII.
    let isSure: (UInt8) -> Bool = { byte in isGlob || ![0x4B, 0x53].contains(byte & 0xDF) }
    let runs = usable.split { !isPlain($0) || !isSure($0) }
    guard let longest = runs.max(by: { $0.count < $1.count }) else { return .unknown }
    let prefix = isGlob ? [] : Array("(?i)".utf8)
    return .conditions([
      Condition(column: number, comparison: .matches, value: prefix + longest)
    ])
  }
}
