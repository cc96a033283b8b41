import Foundation
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// The output of `--follow` for random changes of a table in this process: lines of JSON that can be replayed, and rows
/// that arrive.
@Suite struct ChangePrinterTests {
  private static let cases = ChangeSequenceTests.cases / 4

  /// Follows a table and collects the printed lines.
  private final class Follower {
    let source: MovingTable
    let frame = FrameLines(limit: .max)
    var printer: any ChangePrinter
    let follower: TableFollower

    init(_ source: MovingTable, format: String) throws {
      self.source = source
      let output = Output(frame, screen: Screen(descriptor: -1))
      var shown = ShownTable(ShapedTable(source), hasHeader: false)
      shown.isFollowed = true
      printer =
        format == "jsonl"
        ? ChangeLinesPrinter(ChangeLinesFormat(output), shown, output)
        : ArrivalPrinter(
          Formats.make(format, output, DisplayOptions()), shown, section: nil, output)
      try printer.begin(0..<Int.max)
      follower = try TableFollower(source, keepsIDs: printer.needsOldIDs)
    }

    var lines: [String] { frame.lines.map { String(decoding: $0.text, as: UTF8.self) } }

    /// Pulls once and prints. Returns false if the rows could not be read.
    func advance(conflicts: Int = 0) throws -> Bool {
      do {
        let changes = try follower.pull()
        source.conflicts = conflicts
        defer { source.conflicts = 0 }
        try printer.print(changes)
        return true
      } catch let error as TableError where error.code == .conflict {
        return false
      }
    }
  }

  /// The table that lines of JSON describe, by docs/json.md: each line changes the table that the lines before it left.
  private func replayed(_ lines: [String], hasSections: Bool) throws -> NaiveTable {
    var table = NaiveTable([])
    for line in lines {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let change = try #require(object["change"] as? String)
      if change == "reset" {
        table = NaiveTable([])
        continue
      }
      let section = try #require(object["section"] as? Int)
      let from = object["from"] as? [String: Int]
      func cell(_ name: String) -> Cell {
        let cells = object["cells"] as? [String: Any]
        return (cells?[name] as? String).map { .text(Array($0.utf8)) } ?? .missing
      }
      guard let row = object["row"] as? Int else {
        let title = object["title"] as? String
        switch change {
        case "insert":
          table.sections.insert(NaiveTable.Section(title: title, rows: []), at: section)
        case "delete": table.sections.remove(at: section)
        case "move":
          let from = try #require(from?["section"])
          table.sections.insert(table.sections.remove(at: from), at: section)
        case "reload": table.sections[section] = NaiveTable.Section(title: title, rows: [])
        default: table.sections[section].title = title
        }
        continue
      }
      let id = object["id"] as? String
      let content = NaiveTable.Row(id: id, cells: [cell("c0"), cell("c1")])
      switch change {
      case "insert": table.sections[section].rows.insert(content, at: row)
      case "delete":
        #expect(table.sections[section].rows.remove(at: row).id == id)
      case "move":
        let moved = table.sections[try #require(from?["section"])].rows
          .remove(at: try #require(from?["row"]))
        #expect(moved.id == id)
        table.sections[section].rows.insert(moved, at: row)
      case "reload":
        #expect(table.sections[section].rows[row].id == object["oldId"] as? String)
        table.sections[section].rows[row] = content
      default:
        #expect(table.sections[section].rows[row].id == id)
        table.sections[section].rows[row] = content
      }
    }
    return table
  }

  /// Replayed lines are the table, with and without ids, for sources that list their changes and sources that do not,
  /// and if rows of a batch can no longer be read.
  @Test func linesOfJSONReplay() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let hasIDs = seed % 3 != 0
      func made(_ table: NaiveTable) -> NaiveTable { hasIDs ? table : table.withoutIDs }
      var content = made(NaiveTable.random(&generator))
      let source = MovingTable(content, hasIDs: hasIDs)
      let follower = try Follower(source, format: "jsonl")
      #expect(try replayed(follower.lines, hasSections: true) == content, "seed \(seed)")
      for _ in 0..<4 {
        let next = made(content.changed(&generator))
        let list = try TableSnapshot(of: MovingTable(content, hasIDs: hasIDs), columns: [0, 1])
          .changes(to: TableSnapshot(of: MovingTable(next, hasIDs: hasIDs), columns: [0, 1]))
        source.coming = [(next, Bool.random(using: &generator) ? list : nil)]
        content = next
        let conflicts = Int.random(in: 0..<6, using: &generator) == 0 ? 1 : 0
        if try !follower.advance(conflicts: conflicts) {
          #expect(try follower.advance())
        }
        #expect(
          try replayed(follower.lines, hasSections: true) == content,
          "seed \(seed): \(follower.lines)")
      }
    }
  }

  /// A line per change, as docs/json.md shows them.
  @Test func theLinesThemselves() throws {
    func table(_ rows: [(id: String, cell: String)]) -> NaiveTable {
      NaiveTable([
        NaiveTable.Section(
          title: "s",
          rows: rows.map {
            NaiveTable.Row(id: $0.id, cells: [.text(Array($0.cell.utf8)), .missing])
          })
      ])
    }
    let source = MovingTable(
      table([("a", "1"), ("b", "2"), ("c", "3"), ("z", "9")]), hasIDs: true)
    let follower = try Follower(source, format: "jsonl")
    source.coming = [
      (table([("z", "9"), ("a", "4"), ("q", "5"), ("c", "3"), ("e", "6")]), nil),
      (table([("z", "9"), ("a", "4"), ("c", "3"), ("e", "6")]), nil),
    ]
    #expect(try follower.advance())
    #expect(try follower.advance())
    #expect(
      follower.lines == [
        #"{"change":"insert","section":0,"title":"s"}"#,
        #"{"change":"insert","section":0,"row":0,"id":"a","cells":{"c0":"1","c1":null}}"#,
        #"{"change":"insert","section":0,"row":1,"id":"b","cells":{"c0":"2","c1":null}}"#,
        #"{"change":"insert","section":0,"row":2,"id":"c","cells":{"c0":"3","c1":null}}"#,
        #"{"change":"insert","section":0,"row":3,"id":"z","cells":{"c0":"9","c1":null}}"#,
        #"{"change":"move","from":{"section":0,"row":3},"section":0,"row":0,"id":"z"}"#,
        #"{"change":"insert","section":0,"row":4,"id":"e","cells":{"c0":"6","c1":null}}"#,
        #"{"change":"update","section":0,"row":1,"id":"a","cells":{"c0":"4","c1":null}}"#,
        #"{"change":"reload","section":0,"row":2,"id":"q","oldId":"b","cells":{"c0":"5","c1":null}}"#,
        #"{"change":"delete","section":0,"row":2,"id":"q"}"#,
      ])
  }

  /// More changes than are read together: insertions in front, between and behind, updates, deletions and a move.
  @Test func manyChangesReplay() throws {
    func row(_ number: Int, _ cell: String = "x") -> NaiveTable.Row {
      NaiveTable.Row(id: "r\(number)", cells: [.text(Array(cell.utf8)), "y"])
    }
    func table(_ rows: [NaiveTable.Row]) -> NaiveTable {
      NaiveTable([NaiveTable.Section(title: "s", rows: rows)])
    }
    let old = table((0..<9000).map { row($0) })
    let source = MovingTable(old, hasIDs: true)
    let follower = try Follower(source, format: "jsonl")
    var rows = (0..<9000).filter { $0 % 5 != 1 }.map { row($0, $0 % 3 == 0 ? "new" : "x") }
    rows.insert(rows.removeLast(), at: 3)
    for number in 0..<5000 { rows.insert(row(20_000 + number), at: min(number * 3, rows.count)) }
    let new = NaiveTable([
      NaiveTable.Section(title: "s", rows: rows),
      NaiveTable.Section(title: "t", rows: (0..<5000).map { row(40_000 + $0) }),
    ])
    source.coming = [(new, nil)]
    #expect(try follower.advance())
    #expect(try replayed(follower.lines, hasSections: true) == new)
  }

  /// A table without sections never prints an object about a section: if everything is new, it prints a reset.
  @Test func aTableWithoutSectionsIsReset() throws {
    let row = NaiveTable.Row(id: "r", cells: ["1", "2"])
    let table = NaiveTable([NaiveTable.Section(title: nil, rows: [row])])
    let source = MovingTable(table, hasIDs: true, hasSections: false)
    let follower = try Follower(source, format: "jsonl")
    source.coming = [(table, [.reload(.section(0))])]
    #expect(try follower.advance())
    let changes = try follower.lines.map { try jsonObject($0)["change"] as? String }
    #expect(changes == ["insert", "reset", "insert"], "\(follower.lines)")
  }

  /// Exactly the inserted and reloaded rows are printed, in the order of the table, and those of new sections.
  @Test func arrivingRowsArePrintedOnce() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      var content = NaiveTable.random(&generator)
      let source = MovingTable(content, hasIDs: true)
      let follower = try Follower(source, format: "plain")
      func line(_ row: NaiveTable.Row) -> String {
        row.cells.map(\.description).joined(separator: "\t")
      }
      var expected = content.sections.flatMap { $0.rows.map(line) }
      #expect(follower.lines == expected)
      for _ in 0..<4 {
        let next = content.changed(&generator)
        let list = try TableSnapshot(of: MovingTable(content, hasIDs: true), columns: [0, 1])
          .changes(to: TableSnapshot(of: MovingTable(next, hasIDs: true), columns: [0, 1]))
        source.coming = [(next, Bool.random(using: &generator) ? list : nil)]
        content = next
        let plan = try BatchPlan(
          list, numberOfSections: { .atLeast($0) }, numberOfRows: { .atLeast($1) })
        var arrived: [Tabella.IndexPath] = []
        for change in list {
          switch change {
          case .insert(let path): arrived.append(path)
          case .reload(let path): arrived.append(try #require(plan.path(of: path)))
          default: break
          }
        }
        for path in arrived.sorted() {
          let rows = next.sections[path.section].rows
          expected += path.isSection ? rows.map(line) : [line(rows[path.row])]
        }
        #expect(try follower.advance())
        #expect(follower.lines == expected, "seed \(seed): \(list)")
      }
    }
  }

  /// Rows that cannot be read at first are printed later, once, unless they are gone by then.
  @Test func rowsThatMoveOnArePrintedLater() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      var rows: [NaiveTable.Row] = []
      let source = MovingTable(
        NaiveTable([NaiveTable.Section(title: nil, rows: [])]), hasIDs: true)
      let follower = try Follower(source, format: "plain")
      var (all, hasFailed) = (0, false)
      for _ in 0..<12 {
        for _ in 0..<Int.random(in: 0..<3, using: &generator) {
          all += 1
          let end = rows.count
          rows.insert(
            NaiveTable.Row(id: "\(all)", cells: [.text(Array("\(all)".utf8)), .missing]),
            at: Int.random(in: 0...end, using: &generator))
        }
        // Only rows that are printed disappear.
        if !hasFailed, Bool.random(using: &generator), !rows.isEmpty { rows.removeFirst() }
        source.coming = [(NaiveTable([NaiveTable.Section(title: nil, rows: rows)]), nil)]
        let conflicts = Int.random(in: 0..<3, using: &generator) == 0 ? 1 : 0
        hasFailed = try !follower.advance(conflicts: conflicts)
      }
      while try !follower.advance() {}
      let printed = follower.lines.map { $0.prefix { $0 != "\t" } }
      #expect(Set(printed).count == printed.count, "seed \(seed): \(printed)")
      for row in rows { #expect(printed.contains { $0 == row.id! }, "seed \(seed)") }
    }
  }
}
