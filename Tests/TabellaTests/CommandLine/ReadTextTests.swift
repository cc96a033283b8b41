import Tabella
import TabellaBridge
import TabellaConformance
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// Text that a provider declares as readable as another type.
@Suite struct ReadTextTests {
  /// A time without a zone was null in JSON, missing in a sort, and no law noticed.
  static let when = [
    "2026-11-24 10:00", "2026-11-24T09:30:00Z", "", "2026-11-25", "2026-11-24 08:00:30",
  ]

  static func table(_ texts: [String], reads: ColumnType = .date) -> InMemorySource {
    InMemorySource(
      [Column("when", reads: reads)], rows: texts.map { [.text($0)] }, persistence: .byAuthor)
  }

  static func batch(_ source: any TableDataSource) throws -> ColumnBatch {
    try source.rows(RowRequest(first: 0, count: 100, columns: [0])).columns[0]
  }

  static func json(_ source: any TableDataSource) throws -> [String] {
    let cells = try batch(source)
    let json = JSONColumns([source.columns[0]], Batch(rowCount: cells.count, columns: [cells]))
    return (0..<cells.count).map { row in
      var text: [UInt8] = []
      text.append(room: json.room(for: row..<row + 1, extra: 0)) {
        json.write(row..<row + 1, to: $0, beforeCell: { $1 }, afterRow: { $0 })
      }
      return String(decoding: text, as: UTF8.self)
    }
  }

  @Test(arguments: [false, true]) func aTimeWithoutAZoneKeepsItsText(_ crosses: Bool) throws {
    var source: any TableDataSource = Self.table(Self.when)
    if crosses { source = try importSource(exportSource(source), provider: "test") }
    #expect(
      try Self.json(source) == [
        "\"2026-11-24 10:00\"", "\"2026-11-24T09:30:00Z\"", "null", "\"2026-11-25T00:00:00Z\"",
        "\"2026-11-24 08:00:30\"",
      ])
    // Typed values never shift the clock.
    let values = source.columns[0].values(of: try Self.batch(source))
    #expect(
      (0..<values.count).map { values[$0].description } == [
        "2026-11-24T10:00:00Z", "2026-11-24T09:30:00Z", "missing", "2026-11-25T00:00:00Z",
        "2026-11-24T08:00:30Z",
      ])
    let sorted = try source.sorted(by: [SortDescriptor(column: 0)])
    let order = try Self.batch(sorted)
    #expect(
      (0..<order.count).map { order[$0].description } == [4, 1, 0, 3, 2].map { Self.when[$0] })
    let filtered = try source.filtered(by: [
      Condition(column: 0, comparison: .less, value: Array("2026-11-24 09:45".utf8))
    ])
    #expect(try Self.json(filtered) == ["\"2026-11-24T09:30:00Z\"", "\"2026-11-24 08:00:30\""])
    let law = ConformanceSuite.laws.filter { $0.name == "text-reads" }
    #expect(ConformanceSuite { Self.table(Self.when) }.run(law).map(\.outcome) == [.passed])
  }

  /// Text that breaks the declaration is shown, and the law names it.
  @Test(arguments: [
    (
      ColumnType.date, "soon",
      "row 0:1 has \"soon\" in column \"when\", which cannot be read as date"
    ),
    (.integer, "007", "cannot be read as integer"),
    (.boolean, "maybe", "cannot be read as boolean"),
    (.real, "1,5", "cannot be read as real"),
  ])
  func otherTextIsNotLost(_ type: ColumnType, _ text: String, _ message: String) throws {
    let source = Self.table(["", text], reads: type)
    #expect(try Self.json(source) == ["null", "\"\(text)\""])
    let law = ConformanceSuite.laws.filter { $0.name == "text-reads" }
    let finding = try #require(ConformanceSuite { source }.run(law).first)
    guard case .failed(let what) = finding.outcome else {
      Issue.record("\(finding.outcome)")
      return
    }
    #expect(what.contains(message), "\(what)")
  }
}
