import Tabella

/// In-memory tables with everything that a source can have.
enum Tables {
  /// A table with these rows in two sections, without titles.
  static func divided(
    _ columns: [Column], _ rows: [[Cell]], _ generator: inout SeededGenerator
  ) -> InMemorySource {
    let border = Int.random(in: 0...rows.count, using: &generator)
    return InMemorySource(
      columns,
      sections: [rows[..<border], rows[border...]].map {
        (header: nil, footer: nil, indexTitle: nil, rows: Array($0))
      })
  }

  /// A table with three sections, every type, missing cells, an index, elements, locations and diagnostics.
  static func everything() -> InMemorySource {
    let columns = [
      Column("name"), Column("count", .integer), Column("share", .real, unit: .percent),
      Column("open", .boolean), Column("since", .date), Column("raw", .binary),
      Column("size", .integer, unit: .bytes),
    ]
    func row(_ index: Int) -> [Cell] {
      [
        index % 7 == 3 ? .missing : .text("row \(index) é"), .integer(Int64(index) * 1000 - 5),
        index % 5 == 0 ? .missing : .real(Double(index) / 3), .boolean(index % 2 == 0),
        index % 4 == 1
          ? .missing : .date(Timestamp(nanoseconds: Int64(index) * 86_400_000_000_001)),
        .binary([UInt8(index & 0xFF), 0, 0xFF]), .integer(Int64(index) << 20),
      ]
    }
    return InMemorySource(
      columns,
      sections: [
        (header: "First", footer: "70 rows", indexTitle: "F", rows: (0..<70).map(row)),
        (header: nil, footer: nil, indexTitle: nil, rows: []),
        (header: "Zuletzt", footer: nil, indexTitle: "Z", rows: (70..<75).map(row)),
      ],
      elements: [
        "badge": [
          IndexPath(section: 0, row: 1): .text(StyledText("3 new", spans: [.init(0..<1, .strong)]))
        ],
        "preview": [
          .section(0): .table(InMemorySource([Column("line")], rows: [["a"], ["b"]]))
        ],
      ],
      locations: [IndexPath(section: 0, row: 0): Array("/etc/hosts".utf8)],
      diagnostics: [Diagnostic(.warning, "this is a test table")], persistence: .byAuthor)
  }

  /// A table with one section of text and an empty one.
  static func plain() -> InMemorySource {
    InMemorySource(
      [Column("a"), Column("b")], rows: [["1", "2"], ["3", nil], ["", "6"]], persistence: .byAuthor)
  }

  static func empty() -> InMemorySource { InMemorySource([], sections: [], persistence: .byAuthor) }
}
