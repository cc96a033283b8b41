import TabellaBridge
import TabellaConformance
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Sources that break one law each. The suite proves nothing unless it notices every one.
@Suite struct LiarTests {
  @Test(arguments: Lie.allCases)
  func isCaught(_ lie: Lie) {
    if lie == .leakedBatch { return }  // tested below, in a quiet process
    let broken = brokenLaws { Liar(lie) }
    #expect(!broken.isEmpty, "\(lie) was not noticed")
    #expect(broken.contains(lie.law), "\(lie) was noticed by \(broken), not by \(lie.law)")
  }

  @Test func leakIsCaught() async {
    await #expect(processExitsWith: .success) {
      let broken = brokenLaws(laws: ConformanceSuite.laws.filter(\.needsQuiet)) {
        Liar(.leakedBatch)
      }
      #expect(broken == ["memory-returns"])
    }
  }

  /// Views, cursors and comparisons took a section as complete that ended before its count, so `count --filter` and
  /// `summarize` had wrong results.
  @Test(arguments: [3, 0])
  func aSectionThatEndsBeforeItsCountIsNamed(_ end: Int) throws {
    func source() throws -> any TableDataSource {
      try importSource(exportSource(Short(end: end)), provider: "liar")
    }
    let all = Condition(column: 1, comparison: .greater, value: Array("0".utf8))
    let readers: [(String, (any TableDataSource) throws -> Void)] = [
      ("count", { _ = try $0.filtered(by: [all]).exactNumberOfRows() }),
      ("search", { _ = try $0.shaped(search: "a").exactNumberOfRows() }),
      ("groups", { _ = try $0.grouped(by: Grouping(column: 0, by: .value)).allSections() }),
      (
        "sorted rows",
        {
          let sorted = try $0.sorted(by: [SortDescriptor(column: 1)])
          _ = try sorted.rows(RowRequest(first: 0, count: 6, columns: [0]))
        }
      ),
      (
        "cursor",
        {
          var rows = try $0.rows()
          while try rows.next() != nil {}
        }
      ),
      ("each row", { try $0.forEachRow { _ in } }),
      (
        "sums",
        {
          let sums = try $0.summarized(computing: [Aggregate(.sum, ofColumn: 1)])
          _ = try sums.rows(RowRequest(first: 0, count: 1, columns: [0]))
        }
      ),
      (
        "comparison",
        {
          let rows = try ComparedRows($0)
          _ = try TableComparison(
            from: rows, to: rows, columns: ComparedColumns($0.columns, $0.columns))
        }
      ),
    ]
    for (name, read) in readers {
      let error = #expect(throws: TableError.self, "\(name)") { try read(try source()) }
      #expect(error?.code == .misbehaved && error?.provider == "liar", "\(name): \(error!)")
      let complaint = "section 0 has 6 rows by its count, but ends at row \(end)"
      #expect(error?.message.hasSuffix(complaint) == true, "\(name): \(error!)")
    }
  }

  private final class Short: TableDataSource {
    let end: Int
    let columns = [Column("a"), Column("n", .integer)]
    let base: InMemorySource

    init(end: Int) {
      self.end = end
      base = InMemorySource(columns, rows: (0..<end).map { [.text("a\($0)"), .integer(7)] })
    }

    func version() -> Version? { Version("1") }
    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(6) }
    func rows(_ request: RowRequest) throws(TableError) -> Batch {
      try base.rows(request)
    }
  }

  /// An index title that led nowhere showed an empty table.
  @Test(arguments: [IndexPath(section: 9, row: 0), IndexPath(section: 0, row: 99), .section(9)])
  func aTitleThatLeadsNowhereIsNamed(_ path: IndexPath) throws {
    let source = try importSource(exportSource(Nowhere(path)), provider: "liar")
    let index = try #require(source.sectionIndex)
    let error = #expect(throws: TableError.self) {
      try index.indexPath(forIndexTitle: "A", at: 0)
    }
    #expect(error?.code == .misbehaved)
    #expect(error?.message.hasSuffix("returned \(path), which does not exist") == true)
  }

  private final class Nowhere: TableDataSource, TableSectionIndex {
    let path: IndexPath
    let base = InMemorySource([Column("a")], rows: [["A"]])
    let columns = [Column("a")]

    init(_ path: IndexPath) { self.path = path }

    var sectionIndex: (any TableSectionIndex)? { self }
    func version() -> Version? { Version("1") }
    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      try base.numberOfRows(inSection: section, knowing: minimum)
    }
    func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }
    func sectionIndexTitles() -> [String] { ["A"] }
    func indexPath(forIndexTitle title: String, at index: Int) -> IndexPath { path }
  }

  /// Without a lie, the liar passes.
  @Test func honestLiarPasses() { expectConformance { Liar(nil) } }
}

enum Lie: String, CaseIterable {
  case wrongCount, fallingCount, changingExactCount, uncountedSection, overlappingCut,
    wrongProjection, changingCells, badOffsets, badNullCount, falseUTF8, wrongType, tooManyRows,
    duplicateID, changedID, idUnasked, idLeadsElsewhere, titleOutOfBounds, indexOutOfBounds,
    outOfRangeAccepted, untypedRefusal, restlessVersion, moreBehindTheEnd, endlessRemarks,
    noticesMatter, sortedGathering, leakedBatch, elementOfNoKind, elementNowhere, spanBeyondText,
    failingElement, unreadableText

  /// The law that must notice the lie.
  var law: String {
    switch self {
    case .wrongCount, .fallingCount, .changingExactCount, .moreBehindTheEnd: "counts-hold"
    case .uncountedSection: "sections-counted"
    case .overlappingCut: "cuts-agree"
    case .unreadableText: "text-reads"
    case .wrongProjection: "projection-agrees"
    case .changingCells: "cells-hold"
    case .badOffsets, .badNullCount, .falseUTF8, .wrongType, .tooManyRows: "batches-valid"
    case .duplicateID, .changedID, .idLeadsElsewhere: "ids-identify"
    case .idUnasked: "ids-only-when-asked"
    case .titleOutOfBounds: "titles-in-bounds"
    case .indexOutOfBounds: "index-in-bounds"
    case .outOfRangeAccepted, .untypedRefusal: "refusals"
    case .restlessVersion: "version-holds"
    case .endlessRemarks: "diagnostics-end"
    case .noticesMatter: "notices-are-harmless"
    case .sortedGathering: "gather-agrees"
    case .leakedBatch: "memory-returns"
    case .elementOfNoKind, .elementNowhere, .spanBeyondText, .failingElement: "supplements-answer"
    }
  }
}

/// An honest table with one lie.
final class Liar: TableDataSource, TableSections, TableSectionIndex, TableIdentity, TableGathering,
  TableDisplay, TableDiagnostics, TableSupplementary
{
  let base = Tables.everything()
  let lie: Lie?
  private var calls = 0
  private var isShowing = false
  private var kept: [Batch] = []

  init(_ lie: Lie?) { self.lie = lie }

  var columns: [Column] {
    var columns = base.columns
    if lie == .unreadableText { columns[0].reads = .integer }
    return columns
  }
  var sections: (any TableSections)? { self }
  var sectionIndex: (any TableSectionIndex)? { self }
  var identity: (any TableIdentity)? { self }
  var gathering: (any TableGathering)? { self }
  var display: (any TableDisplay)? { self }
  var diagnostics: (any TableDiagnostics)? { self }
  var supplementary: (any TableSupplementary)? { self }

  func version() throws(TableError) -> Version? {
    calls += 1
    return lie == .restlessVersion ? Version("v\(calls)") : base.version()
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    calls += 1
    let count = try base.numberOfRows(inSection: section, knowing: minimum)
    switch lie {
    case .wrongCount where section == 0: return .exact(count.value + 1)
    case .moreBehindTheEnd where section == 0: return .exact(count.value - 1)
    case .fallingCount: return .atLeast(max(minimum, 60 - calls))
    case .changingExactCount where section == 2: return .exact(calls % 2 == 0 ? 4 : 5)
    default: return count
    }
  }

  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    lie == .uncountedSection ? .exact(4) : base.numberOfSections(knowing: minimum)
  }

  func rows(_ asked: RowRequest) throws(TableError) -> Batch {
    calls += 1
    var request = asked
    switch lie {
    case .overlappingCut where request.first > 0 && request.count < 64: request.first -= 1
    case .wrongProjection: request.columns.sort()
    case .tooManyRows where request.count < 64: request.count += 1
    case .idUnasked: request.includesIDs = true
    case .outOfRangeAccepted:
      if request.first > 70 { return .empty(request.columns.map { columns[$0].type }) }
    case .untypedRefusal where request.first > 70:
      throw TableError(.internal, "oops")
    default: break
    }
    let batch = try base.rows(request)
    if lie == .leakedBatch { kept.append(batch) }
    return distorted(batch)
  }

  private func distorted(_ batch: Batch) -> Batch {
    guard batch.rowCount > 1, !batch.columns.isEmpty || batch.ids != nil else { return batch }
    switch lie {
    case .changingCells where calls % 2 == 0 && batch.columns.count > 1:
      let builder = BatchBuilder(batch.columns.map(\.type), ids: batch.ids != nil)
      for row in 0..<batch.rowCount {
        for (builder, cell) in zip(builder.columns, batch.row(row)) {
          builder.append(cell.type == .integer ? .integer(Int64(calls)) : cell)
        }
        builder.ids?.append(batch.id(row) ?? "")
      }
      return builder.finish(rowCount: batch.rowCount)
    case .noticesMatter where isShowing && batch.columns.count > 1:
      let builder = BatchBuilder(batch.columns.map(\.type))
      for _ in 0..<batch.rowCount { for column in builder.columns { column.appendMissing() } }
      return builder.finish(rowCount: batch.rowCount)
    case .badOffsets: return replacing(batch, .text) { $0.withBadOffsets }
    case .badNullCount: return replacing(batch, .text) { $0.withBadNullCount }
    case .falseUTF8:
      return replacing(batch, .text, isUTF8: true) { $0.withBadText }
    case .wrongType: return replacing(batch, .integer) { $0.asReal }
    case .duplicateID: return withIDs(batch) { $0 == 1 ? 0 : $0 }
    case .changedID: return withIDs(batch) { _ in calls }
    default: return batch
    }
  }

  private func replacing(
    _ batch: Batch, _ type: ColumnType, isUTF8: Bool = false,
    _ change: (ColumnBatch) -> ColumnBatch
  ) -> Batch {
    Batch(
      rowCount: batch.rowCount, columns: batch.columns.map { $0.type == type ? change($0) : $0 },
      ids: batch.ids, isUTF8: isUTF8)
  }

  private func withIDs(_ batch: Batch, _ number: (Int) -> Int) -> Batch {
    guard batch.ids != nil else { return batch }
    let builder = BatchBuilder([], ids: true)
    for row in 0..<batch.rowCount {
      builder.ids?.append(
        batch.id(number(row) % batch.rowCount)! + (lie == .changedID ? "\(calls)" : ""))
    }
    return Batch(
      rowCount: batch.rowCount, columns: batch.columns, ids: builder.finish().ids, isUTF8: false)
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    if lie == .titleOutOfBounds, section >= 3 { return "nowhere" }
    return try base.title(place, ofSection: section)
  }

  func sectionIndexTitles() -> [String] { base.sectionIndexTitles() }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    if lie == .indexOutOfBounds { return IndexPath(section: 9, row: 0) }
    return try base.indexPath(forIndexTitle: title, at: index)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    let path = try base.indexPath(forID: id)
    return lie == .idLeadsElsewhere ? IndexPath(section: 0, row: 0) : path
  }

  func rows(at paths: [IndexPath], columns: [Int], includesIDs: Bool) throws(TableError) -> Batch {
    try base.rows(
      at: lie == .sortedGathering ? paths.sorted() : paths, columns: columns,
      includesIDs: includesIDs)
  }

  func willDisplay(rows: Range<Int>, inSection section: Int) { isShowing = true }
  func didEndDisplaying(rows: Range<Int>, inSection section: Int) { isShowing = false }

  func supplementaryKinds() -> [String] { base.supplementaryKinds() }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    switch lie {
    case .elementOfNoKind where !supplementaryKinds().contains(kind): return .text(StyledText("?"))
    case .elementNowhere where path.row >= 70: return .text(StyledText("?"))
    case .spanBeyondText where kind == "badge":
      return .text(StyledText("?", spans: [.init(0..<2, .dim)]))
    case .failingElement where path.row == 60: throw TableError(.notFound, "there is no row 60")
    default: return base.supplementaryElement(ofKind: kind, at: path)
    }
  }

  func nextDiagnostic() -> Diagnostic? {
    lie == .endlessRemarks ? Diagnostic(.note, "again") : base.nextDiagnostic()
  }
}

extension ColumnBatch {
  /// Owns the memory of a distorted column.
  private final class Memory {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) {
      bytes = .allocate(byteCount: count, alignment: 16)
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
  }

  private func with(_ layout: Layout, missing: Int? = nil, owner: AnyObject) -> ColumnBatch {
    ColumnBatch(
      unsafeLayout: layout, type: type, count: count, missingCount: missing ?? missingCount,
      owner: owner)
  }

  /// The column with decreasing offsets.
  var withBadOffsets: ColumnBatch {
    let memory = Memory((count + 1) * 4 + 64)
    let offsets = memory.bytes.baseAddress!.assumingMemoryBound(to: Int32.self)
    for row in 0...count { offsets[row] = row % 2 == 0 ? 8 : 4 }
    return with(
      Layout(validity: nil, values: memory.bytes.baseAddress, offsets: offsets), missing: 0,
      owner: memory)
  }

  var withBadNullCount: ColumnBatch {
    withUnsafeLayout { with($0, missing: min(count, missingCount + 1), owner: KeptColumn(self)) }
  }

  /// The column with the byte 0xFF in every cell.
  var withBadText: ColumnBatch {
    let memory = Memory((count + 1) * 4 + count)
    let offsets = memory.bytes.baseAddress!.assumingMemoryBound(to: Int32.self)
    let text = memory.bytes.baseAddress! + (count + 1) * 4
    for row in 0...count { offsets[row] = Int32(row) }
    for row in 0..<count { text.storeBytes(of: 0xFF, toByteOffset: row, as: UInt8.self) }
    return with(Layout(validity: nil, values: text, offsets: offsets), missing: 0, owner: memory)
  }

  var asReal: ColumnBatch {
    withUnsafeLayout {
      ColumnBatch(
        unsafeLayout: $0, type: .real, count: count, missingCount: missingCount,
        owner: KeptColumn(self))
    }
  }
}

private final class KeptColumn {
  let column: ColumnBatch

  init(_ column: ColumnBatch) { self.column = column }
}
