import Tabella
import TabellaConformance
import Testing

@testable import TabellaTestSupport

/// Tables with false results of edits. The laws of editing must notice each.
@Suite struct EditLawTests {
  @Test(arguments: BrokenEdit.allCases)
  func isCaught(_ lie: BrokenEdit) {
    // Each seed draws a few batches, and not all of them trigger the lie.
    let broken = (1...5).reduce(into: Set()) { broken, seed in
      broken.formUnion(brokenLaws(seed: seed) { LawBreaker(lie) })
    }
    #expect(broken.contains(lie.law), "\(lie) was noticed by \(broken), not by \(lie.law)")
  }

  /// A table that is created again at each opening reports edits as done and loses them.
  @Test func editsThatAreNotStoredAreNoticed() {
    let suite = ConformanceSuite(open: { LawBreaker(nil) }, scratch: { { LawBreaker(nil) } })
    let law = ConformanceSuite.laws.filter { $0.name == "edits-are-stored" }
    #expect(law.count == 1 && suite.run(law).allSatisfy(\.isFailure))
  }

  @Test func honestLiarPasses() {
    let laws = [BrokenEdit.allCases.map(\.law)].joined()
    let findings = ConformanceSuite(
      open: { LawBreaker(nil) },
      scratch: {
        let source = LawBreaker(nil)
        return { source }
      }
    ).run(ConformanceSuite.laws.filter { !$0.needsQuiet })
    for finding in findings where finding.isFailure { Issue.record("\(finding)") }
    // None of them is skipped.
    for law in Set(laws) {
      #expect(findings.contains { $0.law.name == law && $0.outcome == .passed }, "\(law)")
    }
  }
}

enum BrokenEdit: String, CaseIterable {
  case dryRunEdits, dryRunIsSure, dryRunForesees, wrongChange, forgottenChange, otherVersion,
    staleIsFine,
    takesTwice, halfDone, setsNothing, setsAnotherRow, setsAnotherAndSaysSo, newIDForSet,
    undoesNothing, undoesTwice, undoesDryly, deletesAnotherAndSaysSo, insertsNoCells,
    keepsTheVersion, setsWhatCannotBeSet, forgetsTitles, movesFixedSections, isRefuted

  /// The law that must notice the lie.
  var law: String {
    switch self {
    case .dryRunEdits, .dryRunIsSure, .dryRunForesees: "dry-runs-change-nothing"
    case .wrongChange, .forgottenChange, .otherVersion, .deletesAnotherAndSaysSo, .insertsNoCells,
      .keepsTheVersion, .isRefuted:
      "edits-replay"
    case .staleIsFine: "stale-versions-conflict"
    case .takesTwice, .halfDone, .setsWhatCannotBeSet: "refused-edits-change-nothing"
    case .setsNothing, .setsAnotherRow, .setsAnotherAndSaysSo, .newIDForSet: "set-reads-back"
    case .forgetsTitles, .movesFixedSections: "sections-have-their-titles"
    case .undoesNothing, .undoesTwice, .undoesDryly: "undo-restores"
    }
  }
}

/// An honest table with one lie about its edits.
final class LawBreaker: TableDataSource, TableEditing, TableSectionEditing, TableUndoing,
  TableIdentity
{
  let base = InMemorySource(
    [Column("a"), Column("b")],
    rows: (0..<12).map { [.text("\($0)"), $0 % 4 == 1 ? nil : .text("\($0 % 3)")] })
  let lie: BrokenEdit?
  private var renamed: String?

  init(_ lie: BrokenEdit?) { self.lie = lie }

  var columns: [Column] { base.columns }
  var editing: (any TableEditing)? { self }
  var undoing: (any TableUndoing)? { self }
  var sections: (any TableSections)? { base }
  var sectionEditing: (any TableSectionEditing)? { self }
  var identity: (any TableIdentity)? { self }

  func version() throws(TableError) -> Version? {
    lie == .keepsTheVersion ? Version("always") : base.version()
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    let batch = try base.rows(request)
    guard let renamed, batch.ids != nil else { return batch }
    let builder = BatchBuilder([], ids: true)
    for row in 0..<batch.rowCount {
      let id = batch.id(row) ?? ""
      builder.ids?.append(id == renamed ? "new-\(id)" : id)
    }
    return Batch(
      rowCount: batch.rowCount, columns: batch.columns, ids: builder.finish().ids, isUTF8: false)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try base.indexPath(forID: id.hasPrefix("new-") ? String(id.dropFirst(4)) : id)
  }

  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try base.editability(ofRows: rows, inSection: section)
  }

  func editability(
    ofSections sections: Range<Int>
  ) throws(TableError) -> [SectionEditability] {
    try base.editability(ofSections: sections).map {
      lie == .movesFixedSections ? $0.subtracting(.move) : $0
    }
  }

  func canInsertSections() -> Bool { true }

  func editableColumns() throws(TableError) -> [Bool]? {
    lie == .setsWhatCannotBeSet ? [false, true] : nil
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    var honest = batch
    switch lie {
    case .dryRunEdits: honest.isDryRun = false
    case .dryRunIsSure where !batch.isDryRun && batch.edits.count > 1:
      throw TableError(.constraint, "not two at once")
    case .isRefuted where !batch.isDryRun:
      // The host throws this error. The laws took the edit for a refused one, and were skipped.
      throw TableError(.misbehaved, "reported another version than that of the table")
    case .staleIsFine: honest.version = nil
    case .takesTwice: honest.edits = Array(Set(batch.edits))
    case .halfDone where batch.edits.count > 1:
      _ = try base.commit(EditBatch([batch.edits[0]], isDryRun: batch.isDryRun))
      honest.edits.removeFirst()
    case .setsNothing:
      honest.edits = batch.edits.filter { if case .set = $0 { false } else { true } }
    case .deletesAnotherAndSaysSo:
      let last = IndexPath(section: 0, row: try base.exactNumberOfRows(inSection: 0) - 1)
      let first = batch.edits.firstIndex { if case .delete = $0 { true } else { false } }
      var other = batch.edits
      if let first { other[first] = .delete(.path(last)) }
      // Unless the batch itself names the last row.
      if (try? base.commit(EditBatch(other, isDryRun: true))) != nil { honest.edits = other }
    case .insertsNoCells:
      honest.edits = batch.edits.map { edit in
        if case .insert(let path, _) = edit { .insert(at: path, cells: [:]) } else { edit }
      }
    case .forgetsTitles:
      honest.edits = batch.edits.map { edit in
        if case .insert(let path, _) = edit, path.isSection {
          .insertSection(at: path.section)
        } else {
          edit
        }
      }
    case .setsAnotherRow, .setsAnotherAndSaysSo:
      let last = try base.exactNumberOfRows(inSection: 0) - 1
      if batch.edits.count == 1, case .set(_, let cells) = batch.edits[0] {
        honest.edits = [.set(.path(IndexPath(section: 0, row: last)), cells: cells)]
      }
    default: break
    }
    var result = try base.commit(honest)
    result.outcomes += batch.edits.dropFirst(result.outcomes.count).map { _ in .init() }
    switch lie {
    case .dryRunForesees where batch.isDryRun:
      for index in result.outcomes.indices { result.outcomes[index].isFinal = true }
    case .wrongChange:
      result.changes.changes = result.changes.changes?.map {
        if case .delete(let path) = $0 {
          .delete(IndexPath(section: path.section, row: path.row == 0 ? 1 : 0))
        } else {
          $0
        }
      }
    case .forgottenChange: result.changes.changes = []
    case .keepsTheVersion:
      (result.changes.from, result.changes.to) = (Version("always"), Version("always"))
    case .otherVersion: result.changes.to = Version("later")
    case .setsAnotherRow:
      result.changes.changes = batch.edits.compactMap {
        if case .set(.path(let path), _) = $0 { .reconfigure(path) } else { nil }
      }
    case .newIDForSet:
      if case .set(.path(let path), _) = batch.edits.first {
        renamed = try base.rows(
          RowRequest(first: path.row, count: 1, columns: [], includesIDs: true)
        ).id(0)
        result.outcomes[0].id = renamed.map { "new-\($0)" }
      }
    default: break
    }
    return result
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    switch lie {
    case .undoesNothing: return try base.undo(receipt, isDryRun: true)
    case .undoesTwice:
      do throws(TableError) { return try base.undo(receipt, isDryRun: isDryRun) } catch {
        guard Int(String(decoding: receipt, as: UTF8.self)) != nil else { throw error }
        return EditResult(
          outcomes: [.init()],
          changes: ChangeBatch(from: base.version(), to: base.version(), changes: []))
      }
    case .undoesDryly: return try base.undo(receipt, isDryRun: false)
    default: return try base.undo(receipt, isDryRun: isDryRun)
    }
  }
}
