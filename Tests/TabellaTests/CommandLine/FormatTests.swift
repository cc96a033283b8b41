import Foundation
import Tabella
import TabellaTerminal
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// Formats that write the bytes of many rows at once, compared with rows that are put together cell by cell.
@Suite struct FormatTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static let texts = [
    "", "", "a", "abc", "  space ", "-1.5", "12", "3.25", "1e5", "tab\tx", "\u{1B}[1m", "Zürich",
    "日本", "שלום", "e\u{301}", "x*y_z", "<b>", "c|d", "back\\slash", "2026-01-02", "line\nend",
    "quote\"", String(repeating: "long ", count: 9), String(repeating: "w", count: 300),
  ]

  static func randomText(_ generator: inout SeededGenerator) -> Cell {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0: .missing
    case 1: .text([0xFF, 0x41])
    default: .text(Array(texts.randomElement(using: &generator)!.utf8))
    }
  }

  static func randomCell(_ column: Column, _ generator: inout SeededGenerator) -> Cell {
    guard column.type != .text else { return randomText(&generator) }
    if Int.random(in: 0..<8, using: &generator) == 0 { return .missing }
    return switch column.type {
    case .integer: .integer(Int64.random(in: -9_999_999...9_999_999, using: &generator))
    case .real: .real(Double(Int.random(in: -999...999, using: &generator)) / 8)
    case .boolean: .boolean(Bool.random(using: &generator))
    default: .date(Timestamp(nanoseconds: Int64.random(in: 0...(1 << 60), using: &generator)))
    }
  }

  @Test(arguments: 0..<80)
  func tablesAreTheSameInBothWays(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let kinds = [
      Column("text"), Column("note"), Column("price", reads: .real),
      Column("comma", reads: .real, hasDecimalComma: true), Column("n", .integer),
      Column("size", .integer, unit: .bytes), Column("real", .real), Column("yes", .boolean),
      Column("day", .date),
    ]
    let columns = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
      kinds.randomElement(using: &generator)!
    }
    let rows = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
      columns.map { Self.randomCell($0, &generator) }
    }
    let source = InMemorySource(columns, rows: rows)
    let isGrouped = Bool.random(using: &generator)
    let width = Bool.random(using: &generator) ? nil : Int.random(in: 10...120, using: &generator)
    // Only the first rows are measured, so that later cells can be wider.
    var limits = TableMeasure.Limits()
    limits.rows = Int.random(in: 1...40, using: &generator)
    limits.seconds = 3600
    let both = try [true, false].map { writesBytes in
      try folder.written(source, width: width) { output in
        var table = TableFormat(output, isGrouped: isGrouped, mayTurn: false, limits: limits)
        table.writesBytes = writesBytes
        return table
      }
    }
    #expect(both[0] == both[1])
  }

  @Test(arguments: 0..<40)
  func markdownCellsAreTheirTextsWithEscapes(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = (0..<Int.random(in: 1...4, using: &generator)).map {
      Column("c\($0)", Bool.random(using: &generator) ? .text : .integer)
    }
    let rows = (0..<Int.random(in: 0...50, using: &generator)).map { _ in
      columns.map { Self.randomCell($0, &generator) }
    }
    let lines = try folder.written(InMemorySource(columns, rows: rows)) { MarkdownFormat($0) }
      .split(separator: "\n").dropFirst(2)
    let naive = rows.map { row in
      let cells = row.map { cell in
        if case .integer(let number) = cell { return "\(number)" }
        guard case .text(let bytes) = cell else { return "" }
        let text = bytes.withUnsafeBytes { SafeText(bytes: $0).string }
        return text.map { "\\`*_{}[]<>#|~&!".contains($0) ? "\\\($0)" : "\($0)" }.joined()
      }
      return "| \(cells.joined(separator: " | ")) |"
    }
    #expect(lines.map(String.init) == naive)
  }

  /// GitHub shows the backslashes of a text that it takes as a link, so such a text must not look like one.
  @Test(arguments: [
    ("https://a.de/b_c?x=1&y=2#z", ##"https\://a.de/b\_c?x=1\&y=2\#z"##),
    ("see WWW.a_b.de, é", #"see WWW\.a\_b.de, é"#), ("https://a.de/b", "https://a.de/b"),
    ("www.a.de", "www.a.de"), ("www", "www"), ("a_b: c", #"a\_b: c"#), (":/_", #":/\_"#),
    ("ww._", #"ww.\_"#), (".www_", #".www\_"#),
  ])
  func markdownTextIsNoLinkIfItHasMarkup(_ text: String, _ shown: String) throws {
    let source = InMemorySource([Column("c")], rows: [[.text(text)]])
    let lines = try folder.written(source) { MarkdownFormat($0) }.split(separator: "\n")
    #expect(lines.last.map(String.init) == "| \(shown) |")
  }

  /// The parts of a JSON row around its cells are made once for all rows.
  @Test(arguments: 0..<40)
  func jsonRowsHaveTheirIDsAndPermissions(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (columns, hasIDs) = ([Column("a"), Column("n", .integer)], Bool.random(using: &generator))
    var expected: [NSDictionary] = []
    let text = try folder.written { output in
      var format = JSONFormat(output)
      try format.begin(ShownTable(ShapedTable(InMemorySource(columns, rows: [])), hasHeader: true))
      try format.beginSection(ShownSection(number: 0, count: .atLeast(0)))
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let count = Int.random(in: 1...150, using: &generator)
        let builder = BatchBuilder(columns.map(\.type), ids: hasIDs)
        var editable: [RowEditability] = []
        var movable: [Bool] = []
        for _ in 0..<count {
          let (text, number) = (
            Self.texts.randomElement(using: &generator)!,
            Int64.random(in: -99...99, using: &generator)
          )
          builder.columns[0].append(text)
          builder.columns[1].append(number)
          let id =
            "id\(expected.count)"
            + String(repeating: "\"", count: seed % 4 == 3 ? 16_000 : seed % 4)
          builder.ids?.append(id)
          editable.append(RowEditability(rawValue: UInt8.random(in: 0..<8, using: &generator)))
          movable.append(Bool.random(using: &generator))
          expected.append([
            "id": hasIDs ? id : NSNull(), "cells": [text, number] as [Any],
            "editable": !editable[editable.count - 1].isEmpty,
            "editingStyle": editable[editable.count - 1].style.rawValue,
            "movable": movable[movable.count - 1],
          ])
        }
        try format.write(
          ShownRows(
            batch: builder.finish(), first: IndexPath(section: 0, row: 0), editable: editable,
            movable: movable))
      }
      try format.endSection(ShownSection(number: 0, count: .exact(expected.count)))
      try format.end(failure: nil)
    }
    let document = try JSONSerialization.jsonObject(with: Data(text.utf8))
    let sections = try #require((document as? [String: Any])?["sections"] as? [[String: Any]])
    let rows = try #require(sections[0]["rows"] as? [NSDictionary])
    #expect(rows == expected)
  }
}
