import Synchronization
import TabellaBridge
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Versions, cancelling, progress, notices and elements that a view passes to its base.
@Suite struct ViewNoticesTests {
  static let isA = [Condition(column: 1, comparison: .equal, value: Array("a".utf8))]

  static func table(_ count: Int = 40_000) -> Recording {
    Recording(
      InMemorySource(
        [Column("n", .integer), Column("kind")],
        rows: (0..<count).map { [.integer(Int64($0 * 7919 % count)), $0 % 4 == 0 ? "a" : "b"] }))
  }

  static let exhausting: [(name: String, make: @Sendable (Recording) throws -> MappedSource)] = [
    ("filtered", { try $0.filtered(by: isA) }),
    ("sorted", { try $0.sorted(by: [SortDescriptor(column: 0, isDescending: false)]) }),
    ("grouped", { try $0.grouped(by: Grouping(column: 1, by: .value)) }),
  ]

  private func make(_ name: String, _ base: Recording) throws -> MappedSource {
    try #require(Self.exhausting.first { $0.name == name }).make(base)
  }

  @Test(arguments: exhausting.map(\.name))
  func aCancelledCallCanBeMadeAgain(_ name: String) throws {
    let base = Self.table()
    let view = try make(name, base)
    let cancel = try #require(view.cancellation)
    let request = RowRequest(first: name == "filtered" ? 9_900 : 0, count: 5, columns: [0, 1])
    // Cancelling without a running call does nothing.
    cancel()
    for stop in 0..<2 {
      var calls = 0
      base.onRows = { _ in
        if calls == stop { cancel() }
        calls += 1
      }
      do throws(TableError) {
        _ = try view.rows(request)
        Issue.record("the call was not cancelled")
      } catch { #expect(error.code == .cancelled) }
      #expect(calls == stop + 1)
    }
    base.onRows = nil
    let batch = try view.rows(request)
    let expected = try make(name, Self.table()).rows(request)
    #expect((0..<5).map { batch.row($0) } == (0..<5).map { expected.row($0) })
  }

  @Test(arguments: exhausting.map(\.name))
  func progressIsTold(_ name: String) throws {
    let base = Self.table()
    let view = try make(name, base)
    var told: [Int] = []
    view.onProgress = { told.append($0) }
    if name == "sorted" {
      _ = try view.rows(RowRequest(first: 0, count: 1, columns: []))
    } else {
      _ = try view.exactNumberOfRows(inSection: 0)
    }
    #expect(told.last == 40_000)
    #expect(told == told.sorted() && told.count >= 5 && told.count <= 7)
  }

  /// The base must not change while the view reads it, nor afterwards except through the view.
  @Test(arguments: ["sorted", "grouped"])
  func aVersionIsPinned(_ name: String) throws {
    let base = Self.table(20_000)
    let view = try make(name, base)
    let path = RowReference.path(IndexPath(section: 0, row: 3))
    func move() throws(TableError) { _ = try base.base.commit(EditBatch([.delete(path)])) }
    func expectConflict(_ body: () throws(TableError) -> Void) {
      do throws(TableError) {
        try body()
        Issue.record("no conflict")
      } catch { #expect(error.code == .conflict) }
    }
    let request = RowRequest(first: 0, count: 3, columns: [0])
    var calls = 0
    base.onRows = { _ throws(TableError) in
      calls += 1
      if calls == 2 { try move() }
    }
    expectConflict { () throws(TableError) in _ = try view.rows(request) }
    #expect(try view.rows(request).rowCount == 3)
    let version = try view.version()
    try move()
    expectConflict { () throws(TableError) in _ = try view.version() }
    #expect(try view.rows(request).rowCount == 3)
    expectConflict { () throws(TableError) in
      _ = try view.commit(EditBatch([.delete(path)], version: version))
    }
    _ = try view.rows(request)
    try move()
    let before = try Naive(reading: base.base).sections.map(\.rows)
    // The base refuses index paths of an old mapping, even without a version.
    expectConflict { () throws(TableError) in _ = try view.commit(EditBatch([.delete(path)])) }
    #expect(try Naive(reading: base.base).sections.map(\.rows) == before)
  }

  @Test func versionsOfViewsDiffer() throws {
    let base = Tables.everything()
    var versions: Set<Version> = [base.version()!]
    let views: [any TableDataSource] = [
      try base.filtered(by: [Condition(column: 0, comparison: .equal, value: [])]),
      try base.filtered(by: [Condition(column: 0, comparison: .notEqual, value: [])]),
      try base.filtered(by: [Condition(column: 0, comparison: .equal, value: [1])]),
      try base.filtered(by: []),
      try base.filtered(by: [], search: []),
      try base.sorted(by: []),
      try base.sorted(by: [SortDescriptor(column: 0, isDescending: false)]),
      try base.sorted(by: [SortDescriptor(column: 0, isDescending: true)]),
      try base.grouped(by: Grouping(column: 0, by: .value)),
      try base.grouped(by: Grouping(column: 0, by: .letter)), joined([("a", base)]),
      joined([("a", base), ("b", base)]),
    ]
    for view in views {
      let version = try #require(try view.version())
      #expect(versions.insert(version).inserted)
      #expect(try view.version() == version)
    }
    let version = try #require(try base.filtered(by: []).version())
    let own = try #require(base.version()).token
    #expect(version.token.hasPrefix(own + ".") && version.token.utf8.count == own.utf8.count + 9)
    #expect(try joined([("a", base), ("b", Unversioned())]).version() == nil)
    #expect(try Unversioned().sorted(by: []).version() == nil)
  }

  /// A view asked all tables of a joined one for their versions, once per section. So a filter of 2,000 files took 19
  /// seconds.
  @Test func versionsOfManyTablesAreSeldomCompared() throws {
    let count = 300
    let makers: [(any TableDataSource) throws -> any TableDataSource] = [
      { try $0.filtered(by: [Condition(column: 0, comparison: .notEqual, value: [])]) },
      { try $0.sorted(by: [SortDescriptor(column: 0)]) },
    ]
    for make in makers {
      let parts = (0..<count).map { _ in Recording(Tables.plain()) }
      let view = try make(joined(parts.enumerated().map { ("\($0)", $1) }))
      for section in 0..<(try view.numberOfSections(knowing: .max).value) {
        _ = try readAll(view, section: section)
      }
      // Four comparisons, three of later sections, and two calls for each.
      #expect(parts.reduce(0) { $0 + $1.versionCalls } < 20 * count)
    }
  }

  private final class Unversioned: TableDataSource {
    let columns: [Column] = []
    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
    func rows(_ request: RowRequest) -> Batch { .empty([]) }
  }

  /// Every version is short enough, for any length of the base's token.
  @Test func longVersionsAreShortened() throws {
    final class Long: TableDataSource {
      let columns: [Column] = []
      func version() -> Version? { Version(String(repeating: "v", count: 1024)) }
      func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
      func rows(_ request: RowRequest) -> Batch { .empty([]) }
    }
    let version = try #require(try Long().sorted(by: []).version())
    #expect(version.token.utf8.count <= Version.maximumLength)
  }

  /// Every shown range ends later with the same range, although the view maps its rows again in between.
  @Test func displayIsPaired() throws {
    let rows: [[Cell]] = (0..<20).map { [.integer(Int64(20 - $0)), $0 % 3 == 0 ? "b" : "a"] }
    for wrap in Views.all where wrap.name != "filtered to nothing" {
      let base = Recording(InMemorySource([Column("n", .integer), Column("kind")], rows: rows))
      var view: (any TableDataSource)? = try wrap.wrap(base)
      let shown = try #require(view)
      let last = try shown.numberOfSections(knowing: .max).value - 1
      for section in 0...last {
        let count = try shown.exactNumberOfRows(inSection: section)
        shown.display?.willDisplay(rows: 0..<count, inSection: section)
        shown.display?.willDisplay(rows: 0..<min(count, 2), inSection: section)
      }
      let old = base.version()
      base.base.editEverything()
      base.pulled = ChangeBatch(from: old, to: base.version(), changes: nil)
      #expect(try shown.changes?.pull().changes == nil)
      _ = try Naive(reading: shown)
      for section in 0...last {
        shown.display?.didEndDisplaying(rows: 0..<99, inSection: section)
        let count = wrap.name.hasPrefix("joined") && section == 0 ? 3 : 2
        shown.display?.didEndDisplaying(rows: 0..<count, inSection: section)
      }
      view = nil
      _ = shown
      expectPaired(base.log, isWhole: false)
    }
  }

  /// Ranges that are still shown when the view ends are ended then.
  @Test func displayEndsWithTheView() throws {
    for wrap in Views.all {
      let base = Recording(Tables.everything())
      func show() throws {
        let view = try wrap.wrap(base)
        for section in 0..<(try view.numberOfSections(knowing: .max).value) {
          let count = try view.exactNumberOfRows(inSection: section)
          view.display?.willDisplay(rows: 0..<count, inSection: section)
          view.display?.willDisplay(rows: 0..<min(count, 3), inSection: section)
          view.display?.didEndDisplaying(rows: 0..<min(count, 3), inSection: section)
          view.display?.didEndDisplaying(rows: 5..<6, inSection: section)
        }
      }
      try show()
      #expect(wrap.name == "filtered to nothing" || !base.log.isEmpty)
      expectPaired(base.log, isWhole: true)
    }
  }

  /// Every end has a beginning; with `isWhole`, every beginning has an end.
  private func expectPaired(
    _ log: [String], isWhole: Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var open: [Substring: Int] = [:]
    for line in log where !line.hasPrefix("fetch") && !line.hasPrefix("cancel") {
      let (what, rows) = (line.hasPrefix("will "), line.drop { $0 != " " })
      open[rows, default: 0] += what ? 1 : -1
      #expect(open[rows]! >= 0, sourceLocation: sourceLocation)
    }
    #expect(!isWhole || open.values.allSatisfy { $0 == 0 }, sourceLocation: sourceLocation)
  }

  @Test func noticesNameTheBasesRows() throws {
    let base = Recording(
      InMemorySource(
        [Column("n", .integer), Column("kind")],
        rows: ["a", "a", "b", "a", "b", "b", "a", "a"].enumerated().map {
          [.integer(Int64($0)), $1]
        }))
    let filtered = try base.filtered(by: Self.isA)
    filtered.prefetch(rows: 0..<2, inSection: 0)
    #expect(base.log.isEmpty && base.requests.isEmpty)
    filtered.willDisplay(rows: 1..<5, inSection: 0)
    filtered.didEndDisplaying(rows: 1..<5, inSection: 0)
    filtered.prefetch(rows: 3..<5, inSection: 0)
    filtered.cancelPrefetching(rows: 0..<2, inSection: 0)
    filtered.willDisplay(rows: 4..<7, inSection: 0)
    filtered.didEndDisplaying(rows: 4..<7, inSection: 0)
    #expect(
      base.log == [
        "will 0 1..<2", "will 0 3..<4", "will 0 6..<8", "did 0 1..<2", "did 0 3..<4",
        "did 0 6..<8", "fetch 0 6..<8", "cancel 0 0..<2",
      ])
  }

  /// A view whose base does not list its changes reports that everything must be read again.
  @Test func pullsAreReloads() throws {
    for wrap in Views.all {
      let base = Recording(Tables.everything())
      let view = try wrap.wrap(base)
      _ = try Naive(reading: view)
      let before = try view.version()
      let nothing = try #require(view.changes).pull()
      #expect(nothing == ChangeBatch(from: before, to: before, changes: []))
      let old = base.version()
      base.base.editEverything()
      base.pulled = ChangeBatch(from: old, to: base.version(), changes: nil)
      let change = try #require(view.changes).pull()
      base.pulled = nil
      #expect(change.changes == nil && change.from == before && change.to != before)
      #expect(try change.to == view.version())
      let fresh = try Naive(reading: wrap.wrap(base))
      #expect(
        try Naive(reading: view).sections.map { "\($0.rows)" }
          == fresh.sections.map { "\($0.rows)" })
    }
  }

  /// Elements and locations belong to the right rows.
  @Test func elementsFollowTheirRows() throws {
    for wrap in Views.all {
      let base = Tables.everything()
      let view = try wrap.wrap(base)
      var badges: [String] = []
      var leads: [String] = []
      let column = try #require(view.columns.firstIndex { $0.name == "count" })
      for section in 0..<(try view.numberOfSections(knowing: .max).value) {
        for row in 0..<(try view.exactNumberOfRows(inSection: section)) {
          let path = IndexPath(section: section, row: row)
          let cell = try view.gather([path], columns: [column], includesIDs: false).row(0)[0]
          if try view.supplementary?.supplementaryElement(ofKind: "badge", at: path) != nil {
            badges.append(cell.description)
          }
          if try view.accessories?.location(forRowAt: path) != nil {
            leads.append(cell.description)
          }
        }
      }
      let shown = try Naive(reading: view).sections.flatMap(\.rows).map { $0[column].description }
      #expect(badges == shown.filter { $0 == "995" }, "\(wrap.name)")
      #expect(leads == shown.filter { $0 == "-5" }, "\(wrap.name)")
    }
  }

  @Test func aNameIsBeforeAJoinedRemark() throws {
    let view = joined([("a", Tables.plain()), ("b", Tables.everything())])
    #expect(view.nextDiagnostic() == Diagnostic(.warning, "b: this is a test table"))
    #expect(view.nextDiagnostic() == nil)
  }

  /// Joined tables are asked for sections only if necessary.
  @Test func joinedAsksNoMoreThanItMust() throws {
    final class Endless: TableDataSource, TableSections {
      let columns = [Column("a")]
      var known = 0
      var sections: (any TableSections)? { self }
      func numberOfSections(knowing minimum: Int) -> Count {
        known = max(known, minimum)
        return .atLeast(known)
      }
      func title(_ place: TitlePlace, ofSection section: Int) -> String? { "\(section)" }
      func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
      func rows(_ request: RowRequest) -> Batch { .empty([.text]) }
    }
    let endless = Endless()
    let view = joined([("a", Tables.plain()), ("e", endless), ("b", Tables.plain())])
    #expect(try view.numberOfSections(knowing: 0) == .atLeast(1))
    #expect(endless.known == 0)
    #expect(try view.title(.header, ofSection: 5) == "e: 4")
    #expect(endless.known == 5)
    #expect(try view.numberOfSections(knowing: 3) == .atLeast(6))
  }
}

extension InMemorySource {
  /// Removes the first row.
  fileprivate func editEverything() {
    _ = try? commit(EditBatch([.delete(.path(IndexPath(section: 0, row: 0)))]))
  }
}
