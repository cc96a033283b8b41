import Foundation
import TabellaFiles
import Testing

@testable import Tabella
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// `tabella_edit.h` plans batches as `BatchPlan` does, and refuses the same batches with the same codes.
@Suite struct CPlanTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Compiles a C program of this folder, and runs it with a text as its input. Returns the lines of its output.
  private func output(of program: String, given input: String) throws -> [Substring] {
    let compiled = folder.path + "/" + program
    let result = try run(
      findProgram("clang"),
      [
        "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1",
        "-I\(packageFolder)/Sources/CTabella/include", "-o", compiled,
        "\(packageFolder)/Tests/TabellaTests/Host/Programs/\(program).c",
      ])
    try #require(result.status == 0, "\(result.errors)")
    let file = try folder.write("input", input)
    let ran = try run("/bin/sh", ["-c", "exec '\(compiled)' < '\(file)'"])
    try #require(ran.status == 0, "\(ran.status) \(ran.errors)")
    return ran.text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  @Test func plansAreThoseOfSwift() throws {
    let cases = (0..<8000 as Range<UInt64>).map { PlanCase(seed: $0) }
    var lines = try output(of: "plans", given: cases.map(\.text).joined(separator: "\n"))[...]
    var outcomes: [TableError.Code?: Int] = [:]
    for (seed, one) in cases.enumerated() {
      let end = try #require(lines.firstIndex(of: "end"), "the output ends before case \(seed)")
      let answer = Array(lines[..<end])
      lines = lines[(end + 1)...]
      let expected: [String]
      do throws(TableError) {
        expected = ["code 0"] + (try one.plan())
        outcomes[nil, default: 0] += 1
      } catch {
        expected = ["code \(error.code.rawValue)"]
        outcomes[error.code, default: 0] += 1
      }
      if answer.map(String.init) != expected {
        Issue.record("seed \(seed): \(one)\nC: \(answer)\nSwift: \(expected)")
        return
      }
    }
    // Each outcome occurs, and often.
    for code in [nil, .notFound, .invalidArgument, .constraint] as [TableError.Code?] {
      #expect(outcomes[code, default: 0] > 50, "\(outcomes)")
    }
  }

  /// A digest is the first half of SHA-256, however the bytes are cut.
  @Test func digestsAreThoseOfSwift() throws {
    var generator = SeededGenerator(seed: 7)
    var texts = (0...200).map { String(repeating: "a", count: $0) }
    for _ in 0..<100 {
      texts.append(
        String(
          decoding: (0..<Int.random(in: 0..<2000, using: &generator)).map { _ in
            UInt8.random(in: 33...126, using: &generator)
          }, as: UTF8.self))
    }
    let lines = try output(of: "digests", given: texts.joined(separator: "\n"))
    for (text, line) in zip(texts, lines) {
      let digest = SHA256.digest(of: Array(text.utf8)).prefix(32)
      #expect(line == "\(digest) \(digest) \(digest)", "\(text.count) bytes")
    }
    #expect(lines.count >= texts.count)
  }
}

/// A table, and a batch for it that may be invalid.
private struct PlanCase {
  let counts: [Int]
  let idsOfContent: Bool
  let edits: [EditBatch.Edit]

  init(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let counts = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
      Int.random(in: 0...5, using: &generator)
    }
    self.counts = counts
    idsOfContent = Bool.random(using: &generator)
    // Few wrong numbers, because one of them makes a whole batch invalid.
    func number(_ count: Int) -> Int {
      Int.random(in: 0..<12, using: &generator) == 0
        ? [-2, -1, count, count + 1, .max].randomElement(using: &generator)!
        : Int.random(in: 0..<max(1, count), using: &generator)
    }
    func row(after: Bool) -> IndexPath {
      let section = number(counts.count)
      let count = counts.indices.contains(section) ? counts[section] : 1
      return IndexPath(section: section, row: number(count + (after ? 1 : 0)))
    }
    func section() -> IndexPath { .section(number(counts.count)) }
    func cells() -> [Int: Cell] {
      let value: Cell = [.text(Array("new".utf8)), .integer(0), .missing].randomElement(
        using: &generator)!
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: return [0: value, 1: value]
      case 1: return [2: value]
      case 2: return [:]
      case 3: return [EditBatch.sectionTitle: value]
      default: return [0: .text(Array("new".utf8))]
      }
    }
    func title() -> [Int: Cell] {
      Int.random(in: 0..<8, using: &generator) == 0
        ? cells() : [EditBatch.sectionTitle: .text(Array("new".utf8))]
    }
    func reference(_ path: IndexPath) -> RowReference {
      path.row >= 0 && path.section >= 0 && Bool.random(using: &generator)
        ? .id("\(path.section).\(path.row)") : .path(path)
    }
    var edits: [EditBatch.Edit] = []
    for _ in 0..<Int.random(in: 1...5, using: &generator) {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0, 1: edits.append(.insert(at: row(after: true), cells: cells()))
      case 2: edits.append(.delete(reference(row(after: false))))
      case 3:
        let path = row(after: false)
        edits.append(.set(reference(path), cells: cells()))
        if Bool.random(using: &generator) {
          edits.append(.move(reference(path), to: row(after: true)))
        }
      case 4, 5: edits.append(.move(reference(row(after: false)), to: row(after: true)))
      case 6: edits.append(.insert(at: section(), cells: title()))
      case 7: edits.append(.delete(.path(section())))
      case 8: edits.append(.set(.path(section()), cells: title()))
      default:
        edits.append(
          .move(
            .path(section()),
            to: Int.random(in: 0..<20, using: &generator) == 0 ? row(after: true) : section()))
      }
    }
    self.edits = edits
  }

  /// The input of plans.c.
  var text: String {
    var numbers = [counts.count] + counts + [idsOfContent ? 1 : 0, edits.count]
    for edit in edits {
      var (kind, reference, target, cells) = (
        0, RowReference?.none, IndexPath.section(-1), [Int: Cell]()
      )
      switch edit {
      case .insert(let path, let new): (kind, target, cells) = (1, path, new)
      case .delete(let old): (kind, reference) = (2, old)
      case .set(let old, let new): (kind, reference, cells) = (3, old, new)
      case .move(let old, let path): (kind, reference, target) = (4, old, path)
      }
      var (from, isID) = (IndexPath.section(-1), 0)
      switch reference {
      case .path(let path): from = path
      case .id(let id):
        let parts = id.split(separator: ".").map { Int($0)! }
        (from, isID) = (IndexPath(section: parts[0], row: parts[1]), 1)
      case nil: break
      }
      numbers += [kind, isID, from.section, from.row, target.section, target.row, cells.count]
      for (column, cell) in cells { numbers += [column, cell.type.map { Int($0.rawValue) } ?? 0] }
    }
    return numbers.map(String.init).joined(separator: " ")
  }

  /// The plan in the form of plans.c, computed by an in-memory table and by `BatchPlan`.
  func plan() throws(TableError) -> [String] {
    // The cells of a row are its path before the batch, and the number of the edit that sets them.
    let source = InMemorySource(
      [Column("name"), Column("size", .integer)],
      sections: counts.enumerated().map { section, count in
        (
          "\(section)", nil, nil,
          (0..<count).map { [.text(Array("\(section) \($0)".utf8)), .missing] }
        )
      })
    let changes = try EditBatch(edits).changes(takingTitles: true) { id throws(TableError) in
      let parts = id.split(separator: ".").map { Int($0)! }
      guard counts.indices.contains(parts[0]), parts[1] < counts[parts[0]] else {
        throw TableError(.notFound, "there is no row \(id)")
      }
      return IndexPath(section: parts[0], row: parts[1])
    }
    let plan = try BatchPlan(changes, of: source)
    for edit in edits {
      switch edit {
      case .insert(let path, let cells) where !path.isSection: try source.check(setting: cells)
      case .set(let reference, let cells) where !reference.isSection:
        try source.check(setting: cells)
      default: break
      }
    }
    // Numbers say which edit is responsible.
    let named = edits.enumerated().map { number, edit -> EditBatch.Edit in
      let text = Cell.text(Array("\(number)".utf8))
      switch (edit, changes[number]) {
      case (.insert(let path, _), _) where path.isSection:
        return .insertSection(at: path.section, title: "-1 \(number)")
      case (.insert(let path, _), _): return .insert(at: path, cells: [0: text])
      case (.set(_, _), .reconfigure(let path)) where path.isSection:
        return .renameSection(path.section, title: "\(path.section) \(number)")
      case (.set(_, _), .reconfigure(let path)):
        return .set(
          .path(path), cells: [0: .text(Array("\(path.section) \(path.row) \(number)".utf8))])
      case (.delete(_), .delete(let path)): return .delete(.path(path))
      case (.move(_, _), .move(let from, let to)): return .move(.path(from), to: to)
      default: return edit
      }
    }
    _ = try source.commit(EditBatch(named))
    let arrivals = Set(
      changes.compactMap { change -> IndexPath? in
        switch change {
        case .insert(let path), .move(_, let path): path
        default: nil
        }
      })
    func arrives(_ path: IndexPath) -> Int { arrivals.contains(path) ? 1 : 0 }
    var lines = ["sections \(source.numberOfSections(knowing: .max).value)"]
    for section in 0..<source.numberOfSections(knowing: .max).value {
      let title = try source.title(.header, ofSection: section) ?? ""
      let count = try source.numberOfRows(inSection: section, knowing: .max).value
      lines.append(
        (title.contains(" ") ? title : "\(title) -1") + " \(arrives(.section(section))) \(count)")
      let rows = try source.rows(
        RowRequest(section: section, first: 0, count: count + 1, columns: [0]))
      for row in 0..<count {
        let words = "\(rows.row(row)[0])".split(separator: " ")
        let text =
          switch words.count {
          case 1: "-1 -1 \(words[0])"
          case 2: "\(words[0]) \(words[1]) -1"
          default: words.joined(separator: " ")
          }
        lines.append("\(text) \(arrives(IndexPath(section: section, row: row)))")
      }
    }
    for change in changes {
      let from = change.source ?? .section(-1)
      var to = change.target ?? .section(-1)
      if case .reconfigure(let path) = change { to = plan.path(of: path) ?? to }
      lines.append("edit \(from.section) \(from.row) \(to.section) \(to.row)")
    }
    lines += listed(changes)
    for (section, count) in counts.enumerated() {
      for row in -1..<count {
        let path = plan.path(of: IndexPath(section: section, row: row)) ?? .section(-1)
        lines.append("path \(path.section) \(path.row)")
      }
    }
    return lines
  }

  /// The changes in the form of plans.c. If ids are those of content, a row that is set becomes another row.
  private func listed(_ changes: [ChangeBatch.Change]) -> [String] {
    var sets: Set<IndexPath> = []
    var moves: Set<IndexPath> = []
    for change in changes {
      switch change {
      case .reconfigure(let path) where !path.isSection: sets.insert(path)
      case .move(let path, _): moves.insert(path)
      default: break
      }
    }
    func line(_ kind: Int, _ from: IndexPath?, _ to: IndexPath?) -> String {
      let (from, to) = (from ?? .section(-1), to ?? .section(-1))
      return "change \(kind) \(from.section) \(from.row) \(to.section) \(to.row)"
    }
    return changes.flatMap { change in
      switch change {
      case .reconfigure(let path) where idsOfContent && !path.isSection:
        moves.contains(path) ? [] : [line(4, path, nil)]
      case .move(let from, let to) where idsOfContent && sets.contains(from):
        [line(2, from, nil), line(1, nil, to)]
      case .insert(let path): [line(1, nil, path)]
      case .delete(let path): [line(2, path, nil)]
      case .move(let from, let to): [line(3, from, to)]
      case .reload(let path): [line(4, path, nil)]
      case .reconfigure(let path): [line(5, path, nil)]
      }
    }
  }
}
