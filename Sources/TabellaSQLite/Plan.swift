import CTabellaSQLite
import Tabella

/// The plan of a scan: the answer of the planner, as text that SQLite keeps with the statement.
struct Plan: Equatable {
  /// The value of a constraint, which SQLite passes at the start of the scan.
  struct Argument: Equatable {
    var column: Int
    var op: Int32
    /// Whether the value is a list, as of IN.
    var isList: Bool
  }

  /// The columns that the statement reads: bit 63 means all from the 64th on.
  var columnsUsed: UInt64 = .max
  var arguments: [Argument] = []
  var order: [SortDescriptor] = []

  func uses(_ column: Int) -> Bool { columnsUsed & (1 << UInt64(min(column, 63))) != 0 }

  init() {}

  /// Reads the text of a plan.
  init(_ text: String) {
    for word in text.split(separator: " ") {
      let numbers = word.dropFirst().split(separator: ",").map { Int($0) ?? 0 }
      switch (word.first, numbers.count) {
      case ("u", 1): columnsUsed = UInt64(bitPattern: Int64(numbers[0]))
      case ("a", 3):
        arguments.append(
          Argument(column: numbers[0], op: Int32(numbers[1]), isList: numbers[2] != 0))
      case ("o", 2):
        order.append(SortDescriptor(column: numbers[0], isDescending: numbers[1] != 0))
      default: break
      }
    }
  }

  var text: String {
    let words =
      ["u\(Int64(bitPattern: columnsUsed))"]
      + arguments.map { "a\($0.column),\($0.op),\($0.isList ? 1 : 0)" }
      + order.map { "o\($0.column),\($0.isDescending ? 1 : 0)" }
    return words.joined(separator: " ")
  }
}

/// Makes a plan from the question of SQLite's planner.
struct Planner {
  private let api: SQLite
  private let info: UnsafeMutablePointer<tabella_sqlite_index>
  private let slots: [Declaration.Slot]
  /// The table; nil for the table function, whose table is known only later.
  private let table: LiveTable?
  private var plan = Plan()
  /// The expected share of rows that the constraints keep.
  private var share = 1.0
  private var isOneRow = false
  private var hasOther = false

  init(
    _ api: SQLite, _ info: UnsafeMutablePointer<tabella_sqlite_index>,
    _ slots: [Declaration.Slot], _ table: LiveTable?
  ) {
    self.api = api
    self.info = info
    self.slots = slots
    self.table = table
  }

  private var constraints: UnsafeBufferPointer<tabella_sqlite_constraint> {
    UnsafeBufferPointer(
      start: info.pointee.constraints, count: Int(info.pointee.constraint_count))
  }

  /// Answers the planner. Returns false if these constraints allow no plan.
  mutating func run() -> Bool {
    plan.columnsUsed = info.pointee.columns_used
    for index in constraints.indices where !isLimit(constraints[index]) {
      guard take(index) else { return false }
    }
    chooseOrder()
    for index in constraints.indices where isLimit(constraints[index]) { takeLimit(index) }
    info.pointee.text = api.copy(plan.text)
    info.pointee.frees_text = 1
    estimate()
    return true
  }

  private func isLimit(_ constraint: tabella_sqlite_constraint) -> Bool {
    constraint.op == UInt8(TABELLA_SQLITE_LIMIT) || constraint.op == UInt8(TABELLA_SQLITE_OFFSET)
  }

  /// Takes a constraint if it helps. Returns false if the scan is impossible without its value.
  private mutating func take(_ index: Int) -> Bool {
    let constraint = constraints[index]
    let column = Int(constraint.column)
    let op = Int32(constraint.op)
    guard column >= 0 else {
      guard op == TABELLA_SQLITE_EQ, constraint.usable != 0 else {
        hasOther = true
        return true
      }
      isOneRow = true
      add(index, omits: false)
      return true
    }
    switch slots[column] {
    case .location, .option:
      guard op == TABELLA_SQLITE_EQ else {
        hasOther = true
        return true
      }
      guard constraint.usable != 0 else { return false }
      add(index, omits: true)
    case .section where op == TABELLA_SQLITE_EQ && constraint.usable != 0:
      hasOther = true
      add(index, omits: false)
    case .section, .sectionTitle: hasOther = true
    case .cell(let number):
      hasOther = true
      guard constraint.usable != 0, helps(op, number, index) else { return true }
      let isList = op == TABELLA_SQLITE_EQ && api.pointee.vtab_in(info, Int32(index), -1) != 0
      if isList { _ = api.pointee.vtab_in(info, Int32(index), 1) }
      add(index, omits: false, isList: isList)
      share *= op == TABELLA_SQLITE_EQ ? 0.05 : 0.3
    }
    return true
  }

  /// Whether a view can decide a part of the constraint.
  private func helps(_ op: Int32, _ number: Int, _ index: Int) -> Bool {
    switch op {
    case TABELLA_SQLITE_ISNULL: return true
    case TABELLA_SQLITE_LIKE, TABELLA_SQLITE_GLOB:
      // Before, SQLite also offers the condition of a LEFT JOIN on the left table, whose other rows must stay.
      return api.pointee.libversion_number() >= 3_051_001
    case TABELLA_SQLITE_EQ, TABELLA_SQLITE_LT, TABELLA_SQLITE_LE, TABELLA_SQLITE_GT,
      TABELLA_SQLITE_GE:
      // Another collation has another order and other equal texts. Numbers have none.
      let collation = api.pointee.vtab_collation(info, Int32(index)).map { String(cString: $0) }
      guard collation?.uppercased() ?? "BINARY" != "BINARY" else { return true }
      guard let table else { return false }
      let type = table.declared[number].shownType
      return type == .integer || type == .real || type == .boolean
    default: return false
    }
  }

  private mutating func add(_ index: Int, omits: Bool, isList: Bool = false) {
    let constraint = constraints[index]
    plan.arguments.append(
      Plan.Argument(
        column: Int(constraint.column), op: Int32(constraint.op), isList: isList))
    info.pointee.usage?[index].argument = Int32(plan.arguments.count)
    info.pointee.usage?[index].omits = omits ? 1 : 0
  }

  /// Takes the limit as advice about the size of reads. Takes the offset if each row in front of it would be returned.
  ///
  /// Before version 3.46, SQLite also offers the offset if it tests each row by a condition that is no constraint, such as
  /// `a = b`. It counts only rows that pass, so the scan must not pass over others.
  private mutating func takeLimit(_ index: Int) {
    let isOffset = constraints[index].op == UInt8(TABELLA_SQLITE_OFFSET)
    if isOffset, api.pointee.libversion_number() < 3_046_000 { return }
    let isOrdered = info.pointee.order_count == 0 || info.pointee.order_is_consumed != 0
    guard constraints[index].usable != 0, isOrdered, !isOneRow, !(isOffset && hasOther) else {
      return
    }
    add(index, omits: isOffset)
  }

  /// Promises the order if a view has the order of SQLite.
  ///
  /// In SQLite, NULL is less than all else. In a view, missing cells come last: also in an ascending order, where a scan of
  /// one key begins with them.
  private mutating func chooseOrder() {
    let count = Int(info.pointee.order_count)
    guard count > 0, let table, let order = info.pointee.order else { return }
    var wanted: [SortDescriptor] = []
    for place in 0..<count {
      let column = Int(order[place].column)
      guard column >= 0, case .cell(let number) = slots[column] else { return }
      wanted.append(SortDescriptor(column: number, isDescending: order[place].descends != 0))
    }
    guard table.hasOrder(wanted) else { return }
    plan.order = wanted
    info.pointee.order_is_consumed = 1
  }

  private func estimate() {
    guard !isOneRow else {
      (info.pointee.cost, info.pointee.rows) = (10, 1)
      info.pointee.flags = TABELLA_SQLITE_SCAN_UNIQUE
      return
    }
    let known = (try? table?.source.numberOfRows(inSection: 0, knowing: 0)) ?? .atLeast(0)
    let rows = Double(known.isExact ? max(known.value, 1) : max(known.value, 1_000_000))
    // A view reads all rows, but SQLite handles only those that the view shows.
    info.pointee.cost = rows * (0.3 + 0.7 * share) + (plan.order.isEmpty ? 0 : rows * 0.2)
    info.pointee.rows = max(1, Int64(rows * share))
  }
}

extension LiveTable {
  /// Whether a sorted view of the present table has the order of SQLite.
  func hasOrder(_ order: [SortDescriptor]) -> Bool {
    let columns = source.columns
    return source.sections == nil && order.allSatisfy { columns.indices.contains($0.column) }
      && (order.count == 1 || order.allSatisfy(\.isDescending))
      && order.enumerated().allSatisfy { place, key in
        let column = columns[key.column]
        return column.reads == declared[key.column].reads
          && column.hasOrderOfSQL(isLast: place == order.count - 1)
      }
  }
}

extension Column {
  /// Whether a sorted view has the order of SQLite, except for missing cells. Text that reads as reals has more digits
  /// than SQLite sees. So equal numbers could be in another order than the next column requires.
  fileprivate func hasOrderOfSQL(isLast: Bool) -> Bool {
    switch valueType {
    case .integer, .boolean: true
    case .real: type == .text && isLast
    case .text, .date, .binary: false
    }
  }
}
