import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Sources with false results of edits. The host notices each and blames the right provider.
@Suite struct EditLiarTests {
  @Test(arguments: EditLie.allCases)
  func isCaught(_ lie: EditLie) throws {
    let liar = EditLiar(lie)
    let source = try importSource(exportSource(liar), provider: "liar")
    let old = try #require(liar.version())
    var new = old
    let error = #expect(throws: TableError.self, "\(lie) was not noticed") {
      defer { new = liar.version() ?? old }
      let result = try source.editing!.commit(EditLiar.batch)
      _ = try source.undoing!.undo(result.receipt!, isDryRun: false)
    }
    #expect(error?.code == .misbehaved && error?.provider == "liar")
    let call = lie.isAboutUndo ? "undo.undo" : "editing.commit"
    #expect(error?.message.hasPrefix("provider liar broke the contract in \(call): ") == true)
    let complaint = lie.complaint(from: old, to: new)
    #expect(error?.message.hasSuffix(complaint) == true, "\(error?.message ?? "")")
  }

  /// The host accepts an honest liar. It does not check edits with a message, nor dry runs.
  @Test func honestLiarPasses() throws {
    let honest = try importSource(exportSource(EditLiar(nil)), provider: "liar")
    let result = try #require(honest.editing).commit(EditLiar.batch)
    #expect(result.outcomes.allSatisfy { $0.code == nil })
    _ = try #require(honest.undoing).undo(#require(result.receipt), isDryRun: false)
    for lie in EditLie.allCases {
      let source = try importSource(exportSource(EditLiar(lie)), provider: "liar")
      var batch = EditLiar.batch
      batch.isDryRun = true
      if lie != .refusesAndActs, lie != .namesNoRow {
        _ = try #require(source.editing).commit(batch)
      }
    }
    for lie in [EditLie.setsNothing, .setsAnother, .insertsWithoutCells, .deletesNothing] {
      let liar = EditLiar(lie)
      liar.remark = "as far as it went"
      let source = try importSource(exportSource(liar), provider: "liar")
      _ = try #require(source.editing).commit(EditLiar.batch)
    }
  }

  /// A dry run must not edit.
  @Test func dryRunsThatEditAreCaught() throws {
    let liar = EditLiar(nil)
    let source = try importSource(exportSource(liar), provider: "liar")
    var dry = EditLiar.batch
    dry.isDryRun = true
    liar.editsInDryRuns = true
    let old = try #require(liar.version())
    let error = #expect(throws: TableError.self) { _ = try source.editing?.commit(dry) }
    #expect(error?.code == .misbehaved)
    let complaint =
      "editing.commit: a dry run changed the table: the version went from \(old) to \(liar.version()!)"
    #expect(error?.message.hasSuffix(complaint) == true, "\(error?.message ?? "")")
    let other = EditLiar(nil)
    let edited = try importSource(exportSource(other), provider: "liar")
    let receipt = try #require(edited.editing?.commit(EditLiar.batch).receipt)
    other.editsInDryRuns = true
    let undo = #expect(throws: TableError.self) {
      _ = try edited.undoing?.undo(receipt, isDryRun: true)
    }
    #expect(undo?.code == .misbehaved)
    #expect(undo?.message.contains("undo.undo: a dry run changed the table") == true)
  }

  /// Abilities may live longer than the source.
  @Test func abilitiesOutliveTheSource() throws {
    for lie in [nil, EditLie.setsNothing] {
      let editing = try #require(
        importSource(exportSource(EditLiar(lie)), provider: "liar").editing)
      #expect(try editing.editableColumns()?.count ?? 2 == 2)
      do throws(TableError) {
        _ = try editing.commit(EditLiar.batch)
        #expect(lie == nil)
      } catch {
        #expect(lie != nil && error.code == .misbehaved)
      }
    }
  }
}

enum EditLie: CaseIterable {
  case setsNothing, setsAnother, setsByPathOnly, insertsWithoutCells, insertsElsewhere,
    deletesNothing,
    staysAtTheVersion, cameFromElsewhere, ledElsewhere, refusesAndActs, listsTooMuch,
    listsTooLittle,
    listsTwice, listsOutOfBounds, listsNewSection, undoLedElsewhere, undoListsTooMuch, namesNoRow

  var isAboutUndo: Bool { self == .undoLedElsewhere || self == .undoListsTooMuch }

  /// The end of the complaint about an edit between two versions.
  func complaint(from old: Version, to new: Version) -> String {
    switch self {
    case .setsNothing: "reported that row id:r2 was set, but its note is \"old\", not \"new\""
    case .setsAnother: "reported that row id:r2 was set, but its note is \"other\", not \"new\""
    case .setsByPathOnly: "reported that row 0:3 was set, but its n is \"3\", not \"33\""
    case .insertsWithoutCells:
      "reported that row 0:0 was inserted, but its note is nothing, not \"in\""
    case .insertsElsewhere:
      "reported that row 0:0 was inserted, but its note is \"old\", not \"in\""
    case .deletesNothing: "reported that row id:r3 was deleted, but it still exists"
    case .staysAtTheVersion: "reported that the edit led to version \(old), but it is \(new)"
    case .cameFromElsewhere: "reported that the edit led from version x, but it was \(old)"
    case .ledElsewhere: "reported that the edit led to version x, but it is \(new)"
    case .refusesAndActs:
      "reported that nothing was done (no), but the version went from \(old) to \(new)"
    case .listsTooMuch:
      "the changes are not consistent: they lead to 4 rows in section 0, but there are 5"
    case .listsTooLittle:
      "the changes are not consistent: they lead to 6 rows in section 0, but there are 5"
    case .listsTwice:
      "the changes are not consistent: row 0:2 occurs twice; a batch can only combine "
        + "a set and a move of one row or section"
    case .listsOutOfBounds: "the changes are not consistent: there is no row 0:9; there are 5"
    case .listsNewSection:
      "the changes are not consistent: something is inserted at position 1, but there are 1 sections"
    case .undoLedElsewhere: "reported that the edit led to version x, but it is \(old)"
    case .namesNoRow:
      "the id of an outcome is not 1 to 16384 bytes of printable ASCII without blanks"
    case .undoListsTooMuch:
      "the changes are not consistent: something is inserted at position 5, but there are 5 rows in section 0"
    }
  }
}

/// A table of five rows with one lie about edits.
final class EditLiar: TableDataSource, TableEditing, TableUndoing {
  /// A deletion, two settings and an insertion, by id and by index path.
  static let batch = EditBatch([
    .set(.id("r2"), cells: [1: "new"]), .delete(.id("r3")),
    .insert(at: IndexPath(section: 0, row: 0), cells: [1: "in"]),
    .set(.path(IndexPath(section: 0, row: 3)), cells: [0: 33]),
  ])

  private let base = InMemorySource(
    [Column("n", .integer), Column("note")], rows: (0..<5).map { [.integer(Int64($0)), "old"] })
  private let lie: EditLie?
  var remark: String?
  var editsInDryRuns = false

  init(_ lie: EditLie?) { self.lie = lie }

  var columns: [Column] { base.columns }
  var identity: (any TableIdentity)? { lie == .setsByPathOnly ? nil : base }
  var editing: (any TableEditing)? { self }
  var undoing: (any TableUndoing)? { self }

  func version() -> Version? { base.version() }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }

  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]
  { try base.editability(ofRows: rows, inSection: section) }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    var batch = batch
    let row = { IndexPath(section: 0, row: $0) }
    switch lie {
    case .setsNothing: batch.edits[0] = .set(.id("r2"), cells: [:])
    case .setsAnother: batch.edits[0] = .set(.id("r2"), cells: [1: "other"])
    case .setsByPathOnly: batch.edits[3] = .set(.path(row(3)), cells: [:])
    case .insertsWithoutCells: batch.edits[2] = .insert(at: row(0), cells: [:])
    case .insertsElsewhere: batch.edits[2] = .insert(at: row(4), cells: [1: "in"])
    case .deletesNothing: batch.edits[1] = .set(.id("r3"), cells: [:])
    default: break
    }
    if editsInDryRuns { batch.isDryRun = false }
    var result = try base.commit(batch)
    if lie == .namesNoRow { result.outcomes[0].id = "no such id" }
    if lie == .refusesAndActs { throw TableError(.constraint, "no") }
    if let remark {
      for number in result.outcomes.indices { result.outcomes[number].message = remark }
    }
    // Dry runs have changes, too, but they are not checked.
    switch lie {
    case .insertsElsewhere:
      result.changes.changes?.removeAll { $0 == .insert(row(4)) }
      result.changes.changes?.append(.insert(row(0)))
    // A reload hides missing changes.
    case .deletesNothing: result.changes.changes = nil
    case .staysAtTheVersion: result.changes.to = result.changes.from
    case .cameFromElsewhere: result.changes.from = Version("x")
    case .ledElsewhere: result.changes.to = Version("x")
    case .listsTooMuch: result.changes.changes?.append(.delete(row(4)))
    case .listsTooLittle: result.changes.changes?.removeAll { $0 == .delete(row(2)) }
    case .listsTwice: result.changes.changes?.append(.reload(row(2)))
    case .listsOutOfBounds: result.changes.changes?.append(.reconfigure(row(9)))
    case .listsNewSection: result.changes.changes?.append(.insert(.section(1)))
    default: break
    }
    return result
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    var result = try base.undo(receipt, isDryRun: isDryRun && !editsInDryRuns)
    switch lie {
    case .undoLedElsewhere: result.changes.to = Version("x")
    case .undoListsTooMuch:
      result.changes.changes = [
        .insert(IndexPath(section: 0, row: 4)), .insert(IndexPath(section: 0, row: 5)),
      ]
    default: break
    }
    return result
  }
}
