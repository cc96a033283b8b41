import CTabellaSQLite
import Tabella

/// The values of a plan's constraints at the start of a scan.
struct WantedRows {
  /// A comparison with a value.
  struct Test {
    var op: Int32
    var values: [SQLValue]
    var isList: Bool

    func restriction(_ number: Int, _ column: Column) -> Restriction {
      isList
        ? Restriction(number, column, in: values)
        : Restriction(number, column, op, values.first ?? .null)
    }
  }

  /// The arguments of the table function.
  var location: [UInt8]?
  var options: [Int: [UInt8]] = [:]
  /// The comparisons of cells, by number of the column.
  var tests: [(Int, Test)] = []
  var rowID: Int64?
  var section: Int64?
  /// Advice about the number of rows.
  var limit: Int?
  var offset = 0

  /// Reads the values. Nil if no row can be wanted.
  init?(
    _ plan: Plan, _ values: [OpaquePointer], _ slots: [Declaration.Slot], _ api: SQLite
  ) throws(TableError) {
    for (argument, raw) in zip(plan.arguments, values) {
      if argument.op == TABELLA_SQLITE_LIMIT || argument.op == TABELLA_SQLITE_OFFSET {
        // A negative limit means no limit, and a negative offset none.
        let number = api.value(raw).wholeNumber.flatMap { Int(exactly: $0) } ?? -1
        if argument.op == TABELLA_SQLITE_OFFSET {
          offset = max(0, number)
        } else if number >= 0 {
          limit = number
        }
        continue
      }
      guard argument.column >= 0 else {
        guard let number = api.value(raw).asNumber.wholeNumber, rowID ?? number == number else {
          return nil
        }
        rowID = number
        continue
      }
      switch slots[argument.column] {
      case .cell(let number):
        let list = argument.isList ? api.list(raw) : [api.value(raw)]
        tests.append((number, Test(op: argument.op, values: list, isList: argument.isList)))
      case .section:
        guard let number = api.value(raw).wholeNumber, section ?? number == number else {
          // Text that is a number equals it after SQLite's conversion.
          if case .text = api.value(raw) { continue }
          return nil
        }
        section = number
      case .location:
        guard let text = api.text(raw), location ?? text == text else { return nil }
        location = text
      case .option(let number):
        guard let text = api.text(raw), options[number] ?? text == text else { return nil }
        options[number] = text
      case .sectionTitle: break
      }
    }
  }
}

extension SQLValue {
  /// Text that is a number as that number, because SQLite compares it with a row id so. Other values are as they are.
  fileprivate var asNumber: SQLValue {
    guard case .text(let bytes) = self else { return self }
    let blanks = (9...13).map { UInt8($0) } + [32]
    var text = bytes[...]
    while let last = text.last, blanks.contains(last) { text.removeLast() }
    let digits = String(decoding: text.drop { blanks.contains($0) }, as: UTF8.self)
    if let number = Int64(digits) { return .integer(number) }
    return Double(digits).map { .real($0) } ?? self
  }
}

extension SQLite {
  /// The text of a value; nil for NULL.
  fileprivate func text(_ raw: OpaquePointer) -> [UInt8]? {
    switch value(raw) {
    case .null: nil
    case .text(let bytes), .blob(let bytes): bytes
    case .integer(let number): Array("\(number)".utf8)
    case .real(let number): Array("\(number)".utf8)
    }
  }

  /// The values of a list, as of IN.
  fileprivate func list(_ raw: OpaquePointer) -> [SQLValue] {
    var values: [SQLValue] = []
    var item: OpaquePointer?
    var code = pointee.vtab_in_first(raw, &item)
    while code == TABELLA_SQLITE_OK, let present = item {
      values.append(value(present))
      code = pointee.vtab_in_next(raw, &item)
    }
    return values
  }

  // Results

  /// Returns a text to SQLite, or NULL.
  func result(_ text: [UInt8]?, _ context: OpaquePointer) {
    guard let text else { return pointee.result_null(context) }
    text.withUnsafeBytes {
      tabella_sqlite_result_text(self, context, $0.baseAddress, Int64($0.count))
    }
  }
}
