/// A source that shows the rows of another, its base, in other places: what the views of one base have
/// in common.
///
/// Columns and cells are the base's. Whatever names a row (an index path, an id, an edit, a notice) is
/// mapped to the base and back, and an ability is there exactly when the base has it. When the base
/// moves to another version by an edit or ``TableChanges/pull()`` through the view, the view answers
/// that everything must be read again and maps anew. A version's token is the base's with a digest of
/// what the view does.
public class MappedSource: TableDataSource {
  /// The source whose rows are shown; to be edited and moved on through the view only.
  public let base: any TableDataSource

  /// Called with the number of rows read so far while a call reads many, about once a batch and on
  /// the calling thread.
  public var onProgress: ((_ rowsDone: Int) -> Void)?

  /// At most this many rows are mapped and given at once.
  static let batchSize = 8192

  let flag = CancelFlag()
  private let digest: String
  /// The base's version that was mapped; nil if nothing is mapped yet or the base has no versions.
  private var pin: Version?
  private var shown = ShownRuns<[RunPlan.Run]>()

  /// `description` says what the view does, for the digest in versions.
  init(_ base: any TableDataSource, description: String) {
    self.base = base
    digest = hexadecimal(fingerprint(description.utf8) & 0xFFFF_FFFF, digits: 8)
  }

  deinit {
    // The base is told the end of whatever is still on show.
    for (_, runs) in shown.all { tellEnd(runs) }
  }

  // What a view is: these are called while a call runs, so they do not begin one.

  /// What ``numberOfRows(inSection:knowing:)`` answers.
  func count(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  /// Makes what mapping a section's rows takes.
  func prepare(section: Int) throws(TableError) {}

  /// Where the base has a row; throws `.notFound` if the view has no such row.
  func basePath(of path: IndexPath) throws(TableError) -> IndexPath { path }

  /// Where the base has rows that are in a section; they are there.
  func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    var paths: [IndexPath] = []
    paths.reserveCapacity(rows.count)
    for row in rows { paths.append(try basePath(of: IndexPath(section: section, row: row))) }
    return paths
  }

  /// Where the view shows a row of the base; nil if it does not.
  func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? { path }

  /// Where a title of the base's index leads that leads to this place of the base.
  func jump(toBase path: IndexPath) throws(TableError) -> IndexPath {
    guard !path.isSection else { return path }
    return try self.path(ofBase: path) ?? .section(path.section)
  }

  /// Whether sections are the base's, with the same numbers.
  var hasBaseSections: Bool { true }
  /// Whether every row of the base is shown.
  var showsEveryRow: Bool { true }
  /// Whether rows stand in the base's order.
  var hasBaseOrder: Bool { false }

  /// Where rows that are to end up at `targets` of the view end up in the base, when the rows at
  /// `gone` of the base are taken out in the same batch.
  ///
  /// The default is the end of the base's section, in the order of the targets.
  func baseTargets(
    of targets: [IndexPath], taking gone: [IndexPath]
  ) throws(TableError) -> [IndexPath] {
    try appended(targets, taking: gone) { $0.section }
  }

  /// How many shown rows of a section stand before a place of the base; only where rows stand in the
  /// base's order.
  func shownCount(before path: IndexPath) throws(TableError) -> Int { path.row }

  /// Whether a section can be mapped without reading the base.
  func isMapped(_ section: Int) -> Bool { true }

  /// The cells of a row that is inserted at a place of the view.
  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell] { cells }

  /// Forgets what was mapped, because the base shows another version now.
  func forget() { pin = nil }

  /// What ``rows(_:)`` answers to a request that passed ``check(_:)``.
  func read(_ request: RowRequest) throws(TableError) -> Batch {
    try prepare(section: request.section)
    let end = request.first.advancedUp(by: min(request.count, MappedSource.batchSize))
    let count = try count(inSection: request.section, knowing: end).value
    guard request.first <= count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let paths = try basePaths(
      of: request.first..<min(end, count), inSection: request.section)
    return try base.gather(paths, columns: request.columns, includesIDs: request.includesIDs)
  }

  // The data source

  public var columns: [Column] { base.columns }

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    flag.begin()
    return try count(inSection: section, knowing: minimum)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    flag.begin()
    try check(request)
    return try read(request)
  }

  /// The base's token with 8 hexadecimal digits that say what the view does.
  ///
  /// Throws ``TableError`` with `.conflict` if the base is no longer at the version that was mapped.
  public func version() throws(TableError) -> Version? { token(try baseVersion()) }

  public var hasVolatileOrder: Bool { base.hasVolatileOrder }

  public var cancellation: (@Sendable () -> Void)? {
    let (flag, cancelBase) = (flag, base.cancellation)
    return {
      flag.raise()
      cancelBase?()
    }
  }

  public var sections: (any TableSections)? { base.sections }

  /// The base's titles, if the view has a section index.
  public func sectionIndexTitles() throws(TableError) -> [String] {
    try base.sectionIndex?.sectionIndexTitles() ?? []
  }

  public func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
  {
    flag.begin()
    guard let sectionIndex = base.sectionIndex else {
      throw TableError(.notFound, "there is no section index")
    }
    return try jump(toBase: sectionIndex.indexPath(forIndexTitle: title, at: index))
  }

  public var sectionIndex: (any TableSectionIndex)? { base.sectionIndex.map { _ in self } }
  public var identity: (any TableIdentity)? { base.identity.map { _ in self } }
  public var gathering: (any TableGathering)? { self }
  public var changes: (any TableChanges)? { base.changes.map { _ in self } }
  public var editing: (any TableEditing)? { base.editing.map { _ in self } }
  public var moving: (any TableMoving)? { hasBaseOrder ? base.moving.map { _ in self } : nil }
  public var undoing: (any TableUndoing)? { base.undoing.map { _ in self } }
  public var supplementary: (any TableSupplementary)? { base.supplementary.map { _ in self } }
  public var accessories: (any TableAccessories)? { base.accessories.map { _ in self } }
  public var display: (any TableDisplay)? { base.display.map { _ in self } }
  public var prefetching: (any TablePrefetching)? { base.prefetching.map { _ in self } }
  public var diagnostics: (any TableDiagnostics)? { base.diagnostics }
}

extension MappedSource {
  // Versions

  /// The base's version, which is still the one that was mapped.
  private func baseVersion() throws(TableError) -> Version? {
    let version = try base.version()
    guard pin == nil || pin == version else { throw moved(to: version) }
    return version
  }

  private func moved(to version: Version?) -> TableError {
    let was = pin
    forget()
    return TableError(
      .conflict,
      "the table went from version \(was?.token ?? "none") to "
        + "\(version?.token ?? "none"); read it again")
  }

  private func token(_ version: Version?) -> Version? {
    guard let version else { return nil }
    let token = "\(version.token).\(digest)"
    if token.utf8.count <= Version.maximumLength { return Version(token) }
    return Version("\(hexadecimal(fingerprint(version.token.utf8), digits: 16)).\(digest)")
  }

  /// Runs what maps the base, at one version of it: throws `.conflict` if the base moves meanwhile.
  func mapping<R>(_ body: () throws(TableError) -> R) throws(TableError) -> R {
    let before = try baseVersion()
    let result = try body()
    let after = try base.version()
    guard before == after else {
      pin = before
      throw moved(to: after)
    }
    pin = before
    return result
  }

  /// Reads a section of the base to its end, in large batches; returns how many rows it has.
  ///
  /// `done` is how many rows were read before. All of them must have 32-bit numbers, as which views
  /// remember them.
  func readBase(
    section: Int, columns: [Int], done: Int = 0, _ body: (Batch) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    var count = 0
    while true {
      let batch = try base.rows(
        RowRequest(
          section: section, first: count, count: MappedSource.batchSize, columns: columns))
      try flag.check()
      if batch.rowCount == 0 { return count }
      count += batch.rowCount
      guard done + count < Int(UInt32.max) else {
        throw TableError(.notSupported, "more than \(UInt32.max) rows cannot be put in order")
      }
      try body(batch)
      onProgress?(done + count)
    }
  }
}

extension MappedSource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    flag.begin()
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    var basePaths: [IndexPath] = []
    for path in paths.prefix(MappedSource.batchSize) { basePaths.append(try basePath(of: path)) }
    return try base.gather(basePaths, columns: columns, includesIDs: includesIDs)
  }
}

extension MappedSource: TableIdentity, TableSectionIndex {
  public func indexPath(forID id: String) throws(TableError) -> IndexPath {
    flag.begin()
    return try shownPath(forID: id)
  }

  private func shownPath(forID id: String) throws(TableError) -> IndexPath {
    guard let identity = base.identity else { throw TableError(.notSupported, "rows have no ids") }
    guard let path = try path(ofBase: identity.indexPath(forID: id)) else {
      throw TableError(.notFound, "there is no row with the id \(id) in this view")
    }
    return path
  }
}

extension MappedSource: TableEditing, TableMoving {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    flag.begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    return try answers(for: rows, section, []) { rows, section throws(TableError) in
      try editing.editability(ofRows: rows, inSection: section)
    }
  }

  public func editableColumns() throws(TableError) -> [Bool]? {
    try base.editing?.editableColumns()
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    flag.begin()
    guard let moving else { throw .viewHasOtherOrder }
    guard moving === self, let moving = base.moving else { return [] }
    return try answers(for: rows, section, false) { rows, section throws(TableError) in
      try moving.movability(ofRows: rows, inSection: section)
    }
  }

  /// Asks the base about rows, a run at a time.
  private func answers<Answer>(
    for rows: Range<Int>, _ section: Int, _ none: Answer,
    _ ask: (Range<Int>, Int) throws(TableError) -> [Answer]
  ) throws(TableError) -> [Answer] {
    try checkRows(rows, section)
    var answers: [Answer] = []
    answers.reserveCapacity(rows.count)
    for chunk in rows.chunks {
      let paths = try basePaths(of: chunk, inSection: section)
      let plan = RunPlan(paths, joiningOver: RunPlan.readableGap)
      let begin = answers.count
      answers += repeatElement(none, count: chunk.count)
      for run in plan.runs {
        let some = try ask(run.rows, run.section)
        for member in plan.order[run.members] {
          let index = paths[member].row - run.rows.lowerBound
          if some.indices.contains(index) { answers[begin + member] = some[index] }
        }
      }
    }
    return answers
  }

  private func checkRows(_ rows: Range<Int>, _ section: Int) throws(TableError) {
    guard rows.lowerBound >= 0, section >= 0 else {
      throw TableError(.invalidArgument, "asked for section \(section), rows \(rows)")
    }
    let count = try count(inSection: section, knowing: rows.upperBound).value
    guard rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
  }

  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    flag.begin()
    guard hasBaseOrder, let moving = base.moving else { throw .viewHasOtherOrder }
    let from = try basePath(of: source)
    let to = try baseTargets(of: [proposed], taking: [from])[0]
    let target = try moving.target(ofMoveFrom: from, to: to)
    return target == to ? proposed : try path(ofBaseTarget: target, movingFrom: from)
  }

  /// Where a row of the base is shown once it has moved.
  private func path(
    ofBaseTarget target: IndexPath, movingFrom source: IndexPath
  ) throws(TableError) -> IndexPath {
    let isBehind = target.section == source.section && target.row >= source.row
    // The first row that will stand behind it, and how many are shown before that one.
    let next = IndexPath(section: target.section, row: target.row + (isBehind ? 1 : 0))
    return IndexPath(
      section: target.section, row: try shownCount(before: next) - (isBehind ? 1 : 0))
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    flag.begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    var mapped = batch
    if let wanted = batch.version {
      mapped.version = try baseVersion()
      guard token(mapped.version) == wanted else {
        throw TableError(
          .conflict,
          "the table is at version \(token(mapped.version)?.token ?? "none"), not \(wanted)")
      }
    }
    mapped.edits = try baseEdits(batch.edits)
    // What was mapped holds for that version of the base only.
    mapped.version = mapped.version ?? pin
    return followed(try editing.commit(mapped), isDryRun: batch.isDryRun)
  }

  private func baseEdits(_ edits: [EditBatch.Edit]) throws(TableError) -> [EditBatch.Edit] {
    var targets: [IndexPath] = []
    var gone: [IndexPath] = []
    for edit in edits {
      switch edit {
      case .insert(let target, _): targets.append(target)
      case .move(let reference, let target):
        guard moving != nil else { throw .viewHasOtherOrder }
        targets.append(target)
        gone.append(try placeInBase(reference))
      case .delete, .set: break
      }
    }
    try checkSections(edits, targets)
    if !targets.isEmpty {
      for case .delete(let reference) in edits { gone.append(try placeInBase(reference)) }
      targets =
        try targets.contains(where: \.isSection)
        ? targets : baseTargets(of: targets, taking: gone)
    }
    var rest = targets[...]
    return try edits.map { edit throws(TableError) in
      switch edit {
      case .set(let reference, let cells): return .set(try inBase(reference), cells: cells)
      case .delete(let reference): return .delete(try inBase(reference))
      case .move(let reference, _): return .move(try inBase(reference), to: rest.removeFirst())
      case .insert(let target, let cells):
        return .insert(at: rest.removeFirst(), cells: try baseCells(cells, insertedAt: target))
      }
    }
  }

  /// Sections can be edited where they are the base's, and not together with places of rows, which
  /// would be counted in the sections to come.
  private func checkSections(
    _ edits: [EditBatch.Edit], _ targets: [IndexPath]
  ) throws(TableError) {
    let aboutSections = edits.contains { edit in
      switch edit {
      case .insert(let target, _): target.isSection
      case .delete(let reference), .set(let reference, _): reference.isSection
      case .move(let reference, let target): reference.isSection || target.isSection
      }
    }
    guard aboutSections else { return }
    guard hasBaseSections else {
      throw TableError(.notSupported, "the sections of this view cannot be edited")
    }
    guard targets.allSatisfy(\.isSection) else {
      throw TableError(
        .notSupported, "sections and the places of rows cannot be edited in one batch of a view")
    }
  }

  private func inBase(_ reference: RowReference) throws(TableError) -> RowReference {
    switch reference {
    case .path(let path): return .path(path.isSection ? path : try basePath(of: path))
    case .id(let id):
      if !showsEveryRow { _ = try shownPath(forID: id) }
      return reference
    }
  }

  private func placeInBase(_ reference: RowReference) throws(TableError) -> IndexPath {
    switch reference {
    case .path(let path): return path.isSection ? path : try basePath(of: path)
    case .id(let id):
      guard let identity = base.identity else {
        throw TableError(.notSupported, "rows have no ids here")
      }
      return try identity.indexPath(forID: id)
    }
  }

  /// Places at the end of a section of the base each, in the order of the targets.
  func appended(
    _ targets: [IndexPath], taking gone: [IndexPath],
    to section: (IndexPath) throws(TableError) -> Int
  ) throws(TableError) -> [IndexPath] {
    var ends: [Int: Int] = [:]
    var places = targets
    for number in targets.indices.sorted(by: { targets[$0] < targets[$1] }) {
      let section = try section(targets[number])
      var end = ends[section] ?? 0
      if ends[section] == nil {
        end = try base.exactNumberOfRows(inSection: section)
        end -= Set(gone).count { $0.section == section }
      }
      places[number] = IndexPath(section: section, row: end)
      ends[section] = end + 1
    }
    return places
  }

  /// Moves on with the base: everything must be read again.
  private func followed(_ result: EditResult, isDryRun: Bool) -> EditResult {
    if !isDryRun { forget() }
    var result = result
    result.changes = reload(result.changes)
    return result
  }

  private func reload(_ change: ChangeBatch) -> ChangeBatch {
    let nothing = change.changes == [] && change.from == change.to
    return ChangeBatch(
      from: token(change.from), to: token(change.to), changes: nothing ? [] : nil)
  }
}

extension MappedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    flag.begin()
    guard let undoing = base.undoing else {
      throw TableError(.notSupported, "nothing can be taken back here")
    }
    return followed(try undoing.undo(receipt, isDryRun: isDryRun), isDryRun: isDryRun)
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try base.changes?.listen(notify)
  }

  public func pull() throws(TableError) -> ChangeBatch {
    flag.begin()
    guard let changes = base.changes else {
      throw TableError(.notSupported, "the table does not change")
    }
    let change = reload(try changes.pull())
    if change.changes == nil { forget() }
    return change
  }
}

extension MappedSource: TableSupplementary, TableAccessories {
  public func supplementaryKinds() throws(TableError) -> [String] {
    try base.supplementary?.supplementaryKinds() ?? []
  }

  public func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    flag.begin()
    if path.isSection, !hasBaseSections { return nil }
    return try base.supplementary?.supplementaryElement(
      ofKind: kind, at: path.isSection ? path : basePath(of: path))
  }

  public func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    flag.begin()
    return try base.accessories?.location(forRowAt: basePath(of: path))
  }
}

extension MappedSource: TableDisplay, TablePrefetching {
  public func willDisplay(rows: Range<Int>, inSection section: Int) {
    guard let display = base.display else { return }
    flag.begin()
    // The end is told of these runs, wherever the rows are by then.
    let runs = baseRuns(of: rows, section)
    shown.begin(rows, section, runs)
    for run in runs { display.willDisplay(rows: run.rows, inSection: run.section) }
  }

  public func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if let runs = shown.end(rows, section) { tellEnd(runs) }
  }

  fileprivate func tellEnd(_ runs: [RunPlan.Run]) {
    for run in runs { base.display?.didEndDisplaying(rows: run.rows, inSection: run.section) }
  }

  public func prefetch(rows: Range<Int>, inSection section: Int) {
    guard let prefetching = base.prefetching, isMapped(section) else { return }
    flag.begin()
    for run in baseRuns(of: rows, section) {
      prefetching.prefetch(rows: run.rows, inSection: run.section)
    }
  }

  public func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    guard let prefetching = base.prefetching, isMapped(section) else { return }
    flag.begin()
    for run in baseRuns(of: rows, section) {
      prefetching.cancelPrefetching(rows: run.rows, inSection: run.section)
    }
  }

  /// The runs of the base that these rows are; none for rows that are not there, since notices cannot
  /// fail.
  private func baseRuns(of rows: Range<Int>, _ section: Int) -> [RunPlan.Run] {
    var runs: [RunPlan.Run] = []
    do throws(TableError) {
      try checkRows(rows, section)
      for chunk in rows.chunks {
        let paths = try basePaths(of: chunk, inSection: section)
        runs += RunPlan(paths, joiningOver: 0).runs
      }
    } catch {
      return []
    }
    return runs
  }
}

extension RowReference {
  var isSection: Bool {
    if case .path(let path) = self { path.isSection } else { false }
  }
}

extension Range<Int> {
  /// The range in pieces of which each can be mapped at once.
  fileprivate var chunks: some Sequence<Range<Int>> {
    stride(from: lowerBound, to: upperBound, by: MappedSource.batchSize).lazy.map {
      $0..<Swift.min($0 + MappedSource.batchSize, upperBound)
    }
  }
}

extension Int {
  /// The sum, or the largest number there is.
  func advancedUp(by count: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(count)
    return overflow ? .max : sum
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  fileprivate static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved where the order is not the table's own")
}
