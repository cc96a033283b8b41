/// A way to write delimited text: delimiter, quote, line ends, and an optional byte order mark.
struct RandomDialect {
  private enum Quoting: CaseIterable { case needed, everySecondColumn, all }

  let delimiter: String
  private let ends: [String]
  private let quoting: Quoting
  private let hasMark: Bool

  init(_ generator: inout SeededGenerator) {
    delimiter = [",", ";", "\t", "|"].randomElement(using: &generator)!
    ends = [["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]].randomElement(using: &generator)!
    quoting = Quoting.allCases.randomElement(using: &generator)!
    hasMark = Int.random(in: 0..<5, using: &generator) == 0
  }

  /// The text of records with these fields. The last record may have no line end.
  func text(of records: [[[UInt8]]], _ generator: inout SeededGenerator) -> [UInt8] {
    var text: [UInt8] = hasMark ? [0xEF, 0xBB, 0xBF] : []
    for (number, fields) in records.enumerated() {
      text += fields.enumerated().map { field($1, column: $0) }
        .joined(separator: Array(delimiter.utf8))
      let isLast = number == records.count - 1
      if !isLast || Bool.random(using: &generator) {
        text += Array(ends.randomElement(using: &generator)!.utf8)
      }
    }
    return text
  }

  private func field(_ value: [UInt8], column: Int) -> [UInt8] {
    let special = [10, 13, UInt8(ascii: "\"")] + Array(delimiter.utf8)
    let isQuoted =
      value.contains { special.contains($0) } || quoting == .all
      || (quoting == .everySecondColumn && column % 2 == 1)
    guard isQuoted else { return value }
    return Array("\"".utf8) + value.flatMap { $0 == 34 ? [34, 34] : [$0] } + [34]
  }
}
