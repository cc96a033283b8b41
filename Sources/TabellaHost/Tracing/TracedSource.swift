import Tabella

/// A wrapper that traces all calls of a source. It has the same abilities as its base.
final class TracedSource: TableDataSource {
  private let base: any TableDataSource
  private let trace: Trace
  /// The provider and the number of the table, such as `csv#1`.
  private let name: String
  private let provider: String

  init(_ base: any TableDataSource, provider: String, _ trace: Trace, number: Int) {
    self.base = base
    self.trace = trace
    self.provider = provider
    name = "\(provider)#\(number)"
  }

  deinit { trace.note("\(name) released") }

  private func call<R>(
    _ what: String, _ body: () throws(TableError) -> R, words: (R) -> String
  ) throws(TableError) -> R {
    try trace.call("\(name) \(what)", body, words: words)
  }

  /// Traces a notification, which returns nothing.
  private func notice(_ what: String, _ rows: Range<Int>, _ section: Int, _ body: () -> Void) {
    let place = "\(section):\(rows.lowerBound) to \(rows.upperBound)"
    trace.call("\(name) \(what) \(place)", body, words: { _ in "ok" })
  }

  var columns: [Column] { base.columns }
  var hasVolatileOrder: Bool { base.hasVolatileOrder }
  var storesEdits: Bool { base.storesEdits }

  var cancellation: (@Sendable () -> Void)? {
    guard let cancel = base.cancellation else { return nil }
    let (trace, name) = (trace, name)
    return {
      trace.note("\(name) cancel")
      cancel()
    }
  }

  var sections: (any TableSections)? { base.sections.map { _ in self } }
  var sectionIndex: (any TableSectionIndex)? { base.sectionIndex.map { _ in self } }
  var identity: (any TableIdentity)? { base.identity.map { _ in self } }
  var gathering: (any TableGathering)? { base.gathering.map { _ in self } }
  var changes: (any TableChanges)? { base.changes.map { _ in self } }
  var editing: (any TableEditing)? { base.editing.map { _ in self } }
  var sectionEditing: (any TableSectionEditing)? { base.sectionEditing.map { _ in self } }
  var moving: (any TableMoving)? { base.moving.map { _ in self } }
  var undoing: (any TableUndoing)? { base.undoing.map { _ in self } }
  var supplementary: (any TableSupplementary)? { base.supplementary.map { _ in self } }
  var accessories: (any TableAccessories)? { base.accessories.map { _ in self } }
  var display: (any TableDisplay)? { base.display.map { _ in self } }
  var prefetching: (any TablePrefetching)? { base.prefetching.map { _ in self } }
  var diagnostics: (any TableDiagnostics)? { base.diagnostics.map { _ in self } }

  func version() throws(TableError) -> Version? {
    try call("version") { () throws(TableError) in
      try base.version()
    } words: {
      $0?.token ?? "none"
    }
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try call("row_count \(section) \(minimum.asked)") { () throws(TableError) in
      try base.numberOfRows(inSection: section, knowing: minimum)
    } words: {
      "\($0)"
    }
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try call(request.traced) { () throws(TableError) in
      try base.rows(request)
    } words: {
      $0.traced
    }
  }

  /// An ability of the base. It is present whenever a caller reached it through this wrapper.
  private func ability<A>(_ ability: A?) throws(TableError) -> A {
    guard let ability else { throw TableError(.notSupported, "the source has no such ability") }
    return ability
  }
}

extension TracedSource: TableSections, TableSectionIndex, TableIdentity, TableGathering {
  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try call("sections.count \(minimum.asked)") { () throws(TableError) in
      try base.numberOfSections(knowing: minimum)
    } words: {
      "\($0)"
    }
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try call("sections.title \(section) \(place)") { () throws(TableError) in
      try ability(base.sections).title(place, ofSection: section)
    } words: {
      $0?.tracedLength ?? "none"
    }
  }

  func sectionIndexTitles() throws(TableError) -> [String] {
    try call("section_index.titles") { () throws(TableError) in
      try ability(base.sectionIndex).sectionIndexTitles()
    } words: {
      "\($0.count) titles"
    }
  }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    try call("section_index.path \(index)") { () throws(TableError) in
      try ability(base.sectionIndex).indexPath(forIndexTitle: title, at: index)
    } words: {
      "\($0)"
    }
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try call("identity.find \(id.tracedID)") { () throws(TableError) in
      try ability(base.identity).indexPath(forID: id)
    } words: {
      "\($0)"
    }
  }

  func rows(at paths: [IndexPath], columns: [Int], includesIDs: Bool) throws(TableError) -> Batch {
    let what =
      "gathering.rows \(paths.shortened { "\($0)" }), \(columns.tracedColumns)"
      + (includesIDs ? ", with ids" : "")
    return try call(what) { () throws(TableError) in
      try ability(base.gathering).rows(at: paths, columns: columns, includesIDs: includesIDs)
    } words: {
      $0.traced
    }
  }
}

extension TracedSource: TableChanges, TableEditing, TableSectionEditing, TableMoving, TableUndoing {
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    let (trace, name) = (trace, name)
    let traced = notify.map { notify -> @Sendable () -> Void in
      {
        trace.note("\(name) notifies")
        notify()
      }
    }
    try call("changes.listen \(notify == nil ? "off" : "on")") { () throws(TableError) in
      try ability(base.changes).listen(traced)
    } words: { _ in
      "ok"
    }
  }

  func pull() throws(TableError) -> ChangeBatch {
    try call("changes.pull") { () throws(TableError) in
      try ability(base.changes).pull()
    } words: {
      $0.traced
    }
  }

  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    let what = "editing.editable \(section):\(rows.lowerBound) to \(rows.upperBound)"
    return try call(what) { () throws(TableError) in
      try ability(base.editing).editability(ofRows: rows, inSection: section)
    } words: {
      "\($0.count { !$0.isEmpty }) of \($0.count)"
    }
  }

  func editableColumns() throws(TableError) -> [Bool]? {
    try call("editing.editable_columns") { () throws(TableError) in
      try ability(base.editing).editableColumns()
    } words: {
      $0.map { "\($0.count { $0 })" } ?? "all"
    }
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    try call("editing.commit\(batch.traced)") { () throws(TableError) in
      try ability(base.editing).commit(batch)
    } words: {
      $0.traced
    }
  }

  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    let what = "section_editing.editable \(sections.lowerBound) to \(sections.upperBound)"
    return try call(what) { () throws(TableError) in
      try ability(base.sectionEditing).editability(ofSections: sections)
    } words: {
      "\($0.count { !$0.isEmpty }) of \($0.count)"
    }
  }

  func canInsertSections() throws(TableError) -> Bool {
    try call("section_editing.insertable") { () throws(TableError) in
      try ability(base.sectionEditing).canInsertSections()
    } words: {
      $0 ? "yes" : "no"
    }
  }

  func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    let what = "moving.movable \(section):\(rows.lowerBound) to \(rows.upperBound)"
    return try call(what) { () throws(TableError) in
      try ability(base.moving).movability(ofRows: rows, inSection: section)
    } words: {
      "\($0.count { $0 }) of \($0.count)"
    }
  }

  func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    try call("moving.target \(source) to \(proposed)") { () throws(TableError) in
      try ability(base.moving).target(ofMoveFrom: source, to: proposed)
    } words: {
      "\($0)"
    }
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let what = "undo.undo a receipt of \(receipt.count) bytes\(isDryRun ? ", dry run" : "")"
    return try call(what) { () throws(TableError) in
      try ability(base.undoing).undo(receipt, isDryRun: isDryRun)
    } words: {
      $0.traced
    }
  }
}

extension TracedSource: TableSupplementary, TableAccessories {
  func supplementaryKinds() throws(TableError) -> [String] {
    try call("supplementary.kinds") { () throws(TableError) in
      try ability(base.supplementary).supplementaryKinds()
    } words: {
      $0.shortened { $0 }
    }
  }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    let element = try call("supplementary.element \(kind) \(path)") { () throws(TableError) in
      try ability(base.supplementary).supplementaryElement(ofKind: kind, at: path)
    } words: {
      $0.traced
    }
    guard case .table(let table) = element else { return element }
    return .table(
      TracedSource(table, provider: provider, trace, number: trace.numberTable()))
  }

  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try call("accessories.location \(path)") { () throws(TableError) in
      try ability(base.accessories).location(forRowAt: path)
    } words: {
      $0.map { "\($0.count) bytes" } ?? "none"
    }
  }
}

extension TracedSource: TableDisplay, TablePrefetching, TableDiagnostics {
  func willDisplay(rows: Range<Int>, inSection section: Int) {
    notice("display.will_display", rows, section) {
      base.display?.willDisplay(rows: rows, inSection: section)
    }
  }

  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    notice("display.did_end_displaying", rows, section) {
      base.display?.didEndDisplaying(rows: rows, inSection: section)
    }
  }

  func prefetch(rows: Range<Int>, inSection section: Int) {
    notice("prefetching.prefetch", rows, section) {
      base.prefetching?.prefetch(rows: rows, inSection: section)
    }
  }

  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    notice("prefetching.cancel_prefetch", rows, section) {
      base.prefetching?.cancelPrefetching(rows: rows, inSection: section)
    }
  }

  func nextDiagnostic() -> Diagnostic? {
    trace.call("\(name) diagnostics.next") {
      base.diagnostics?.nextDiagnostic()
    } words: {
      $0.map { "a \($0.severity) of \($0.message.utf8.count) bytes" } ?? "none"
    }
  }
}

extension Int {
  /// The requested minimum in words.
  fileprivate var asked: String {
    switch self {
    case 0: "as known"
    case .max: "exactly"
    default: "up to \(self)"
    }
  }
}
