import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

@Suite struct BatchPlanTests {
  /// A plan predicts the positions that removing and inserting elements really produces.
  @Test func aPlanSaysWhereEverythingEndsUp() throws {
    for seed in 0..<2000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 0..<9, using: &generator)
      let gone = (0..<count).filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
      let arriving = Int.random(in: 0..<5, using: &generator)
      let places = (0..<count - gone.count + arriving).shuffled(using: &generator).prefix(arriving)
      let changes =
        gone.map { ChangeBatch.Change.delete(IndexPath(section: 0, row: $0)) }
        + places.map { .insert(IndexPath(section: 0, row: $0)) }
      // An inexact count leads to the same plan, as long as enough rows are requested.
      let plan = try BatchPlan(
        changes, numberOfSections: { _ in .exact(1) },
        numberOfRows: { _, minimum in
          minimum < count && seed % 2 == 0 ? .atLeast(minimum) : .exact(count)
        })
      guard let rows = plan.rows[0] else {
        #expect(changes.isEmpty && plan.sections == nil)
        continue
      }
      var naive = Array(0..<count)
      for row in gone.sorted(by: >) { naive.remove(at: row) }
      for (number, place) in places.enumerated().sorted(by: { $0.element < $1.element }) {
        naive.insert(-1 - number, at: place)
      }
      let applied = rows.applied(to: Array(0..<count)) { -1 - ($0.change - gone.count) }
      #expect(applied == naive, "seed \(seed)")
      for row in 0..<count { #expect(rows.indexAfter(of: row) == naive.firstIndex(of: row)) }
      for (place, element) in naive.enumerated() where rows.count.isExact {
        switch rows.origin(of: place) {
        case .survivor(let row): #expect(row == element)
        case .arrival(let arrival):
          #expect(arrival.indexAfter == place && -1 - (arrival.change - gone.count) == element)
          #expect(
            naive[place...].first { $0 >= 0 } ?? count == rows.survivor(
              place - naive[..<place].count { $0 < 0 }) ?? count)
        case nil: Issue.record("nothing is at \(place)")
        }
      }
      if rows.count.isExact {
        #expect(rows.origin(of: naive.count) == nil && rows.countAfter == .exact(naive.count))
      }
      #expect(rows.origin(of: -1) == nil)
    }
  }

  @Test func rulesAreKept() throws {
    func row(_ section: Int, _ row: Int) -> IndexPath { IndexPath(section: section, row: row) }
    let counts = [3, 2, 0]
    let cases: [(changes: [ChangeBatch.Change], code: TableError.Code?)] = [
      ([.reconfigure(row(0, 0)), .move(from: row(0, 0), to: row(0, 2))], nil),
      ([.reload(row(0, 0)), .move(from: row(0, 0), to: row(0, 2))], .invalidArgument),
      ([.delete(row(0, 0)), .reconfigure(row(0, 0))], .invalidArgument),
      ([.delete(row(0, 0)), .delete(row(0, 0))], .invalidArgument),
      ([.reconfigure(row(0, 0)), .reconfigure(row(0, 0))], .invalidArgument),
      ([.insert(row(0, 1)), .move(from: row(1, 0), to: row(0, 1))], .invalidArgument),
      ([.delete(row(0, 3))], .notFound), ([.delete(row(3, 0))], .notFound),
      ([.insert(row(0, 3))], nil), ([.insert(row(0, 4))], .notFound),
      ([.insert(row(0, .max))], .notFound), ([.delete(row(0, .max))], .notFound),
      ([.insert(row(3, 0))], .notFound), ([.insert(row(0, -2))], .invalidArgument),
      ([.delete(row(-1, 0))], .invalidArgument), ([.delete(row(-1, -1))], .invalidArgument),
      ([.move(from: row(0, 0), to: .section(0))], .invalidArgument),
      ([.delete(.section(0)), .delete(row(0, 0))], .invalidArgument),
      ([.reconfigure(.section(0)), .reconfigure(.section(0))], .invalidArgument),
      ([.reconfigure(.section(0)), .delete(.section(0))], .invalidArgument),
      ([.reconfigure(.section(0)), .move(from: .section(0), to: .section(2))], nil),
      ([.reconfigure(.section(3))], .notFound),
      ([.delete(.section(0)), .insert(row(0, 0))], nil),
      ([.delete(.section(0)), .insert(row(1, 0))], nil),
      ([.delete(.section(0)), .insert(row(2, 0))], .notFound),
      ([.insert(.section(1)), .insert(row(1, 0))], .invalidArgument),
      ([.insert(.section(1)), .insert(row(3, 0))], nil),
      ([.insert(.section(3))], nil), ([.insert(.section(4))], .notFound),
      ([.insert(.section(0)), .delete(row(3, 0))], .notFound),
      ([.insert(.section(0)), .delete(row(.max, 0))], .notFound),
      ([.insert(.section(0)), .delete(row(0, .max)), .insert(row(.max, .max))], .notFound),
      ([.delete(.section(2)), .insert(.section(.max))], .notFound),
      ([.reload(.section(1)), .delete(row(1, 0))], .invalidArgument),
      ([.reload(.section(1)), .insert(row(1, 0))], .invalidArgument),
      ([.move(from: .section(0), to: .section(2)), .delete(row(0, 2)), .insert(row(2, 2))], nil),
      ([.move(from: .section(0), to: .section(2)), .insert(row(2, 4))], .notFound),
      ([.move(from: .section(0), to: .section(2)), .insert(row(0, 2))], nil),
      ([.delete(.section(0)), .move(from: .section(0), to: .section(0))], .invalidArgument),
    ]
    for (changes, code) in cases {
      do throws(TableError) {
        // The plan requests no more sections than it needs.
        _ = try BatchPlan(
          changes, numberOfSections: { $0 < 3 ? .atLeast($0) : .exact(3) },
          numberOfRows: { section, _ throws(TableError) in
            guard counts.indices.contains(section) else { throw .noSection(section) }
            return .exact(counts[section])
          })
        #expect(code == nil, "\(changes) was accepted")
      } catch {
        #expect(error.code == code, "\(changes): \(error)")
        #expect(!error.message.isEmpty && !error.message.contains("\n"))
      }
    }
  }

  /// The example in docs/editing.md is right.
  @Test func theExampleIsTrue() throws {
    let page = try String(contentsOfFile: "\(packageFolder)/docs/editing.md", encoding: .utf8)
    func block(_ name: String) throws -> [[Substring]] {
      let begin = try #require(page.range(of: "```\(name)\n"))
      let end = try #require(page[begin.upperBound...].range(of: "```"))
      return page[begin.upperBound..<end.lowerBound].split(separator: "\n").map {
        $0.split(separator: " ", maxSplits: .max)
      }
    }
    func path(_ text: Substring) throws -> IndexPath {
      let numbers = try text.split(separator: ":").map { try #require(Int($0)) }
      return numbers.count == 1
        ? .section(numbers[0]) : IndexPath(section: numbers[0], row: numbers[1])
    }
    func table(_ name: String) throws -> [(String?, [Cell])] {
      var sections: [(String?, [Cell])] = []
      for line in try block(name) {
        let place = try path(line[0])
        let text = line.dropFirst().joined(separator: " ")
        if place.isSection {
          #expect(place.section == sections.count)
          sections.append((text == "-" ? nil : text, []))
        } else {
          #expect(place.section == sections.count - 1 && place.row == sections.last?.1.count)
          sections[sections.count - 1].1.append(.text(text))
        }
      }
      return sections
    }
    let before = try table("before")
    let source = InMemorySource(
      [Column("word")], sections: before.map { ($0.0, nil, nil, $0.1.map { [$0] }) })
    let edits = try block("batch").map { line -> EditBatch.Edit in
      let place = try path(line[1])
      let word = Cell.text(line.dropFirst(2).joined(separator: " "))
      switch line[0] {
      case "delete": return .delete(.path(place))
      case "move": return .move(.path(place), to: try path(line[3]))
      case "insert":
        return .insert(at: place, cells: [place.isSection ? EditBatch.sectionTitle : 0: word])
      default:
        #expect(line[0] == "set")
        return .set(.path(place), cells: [place.isSection ? EditBatch.sectionTitle : 0: word])
      }
    }
    #expect(edits.count == 11)
    for edits in [edits, edits.reversed()] {
      let result = try source.commit(EditBatch(edits))
      let expected = try table("after")
      #expect(
        try (0..<expected.count).map { try source.title(.header, ofSection: $0) }
          == expected.map(\.0))
      #expect(
        try Naive(reading: source).sections.map { $0.rows.map { $0[0] } } == expected.map(\.1))
      _ = try source.undo(try #require(result.receipt), isDryRun: false)
    }
  }
}
