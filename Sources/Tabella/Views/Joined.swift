/// Several tables as one: the sections of the first table, then those of the second, and so on.
///
/// Columns are united by name, in the order of their first appearance. The second column of a name is united with
/// the second column of that name in other tables. If types differ, cells become their canonical text.
///
/// The title of an untitled section is its table's name. Other titles become `NAME: TITLE`. An id consists of the
/// table's number, `~`, and the table's id.
public final class JoinedSource: TableDataSource {
  /// One of the joined tables.
  struct Part {
    let name: String
    let source: any TableDataSource
    /// For each united column, the number of the table's own column, if it has one.
    var ownColumns: [Int?] = []
  }

  /// A path in one of the tables.
  struct PartPath {
    var part: Int
    var path: IndexPath
  }

  /// A title of the index. `number` is its index in the table's own titles; nil for a table's name.
  private struct IndexEntry {
    var title: String
    var part: Int
    var number: Int?
  }

  /// The maximum number of rows to convert to text at once.
  private static let convertedLimit = 1 << 16
  /// The approximate number of bytes to gather at once. Each table gathers its rows, and then they are copied into the
  /// requested order.
  private static let gatheredSize = 32 << 20

  public private(set) var columns: [Column] = []
  private(set) var parts: [Part]
  /// The number of rows to gather at once. It follows from the size of the rows that were gathered last.
  private var mostGathered = 1 << 16
  /// The index, computed on demand.
  private var indexed: [IndexEntry]?
  /// The number of sections in front of each table, as far as they are counted.
  var starts = [0]
  private var shown = ShownRuns<PartPath>()
  // Whether a table receives notices. Callers ask before each batch, and a table can have thousands of parts.
  private lazy var hasDisplay = ifAny(\.display) != nil
  private lazy var hasPrefetching = ifAny(\.prefetching) != nil
  /// Whether a table has moved on and the caller has not received the change yet.
  var owesReload = false

  /// Joins tables. From then on, edit them and move them on only through the joined source.
  public init(_ sources: [(name: String, source: any TableDataSource)]) {
    parts = sources.map { Part(name: $0.name, source: $0.source) }
    unite()
  }

  deinit {
    // Tells the tables that the rows on display are gone.
    for (rows, partPath) in shown.all { notifyEndOfDisplay(rows, partPath) }
  }

  /// Unites the columns of all tables.
  private func unite() {
    struct Name: Hashable {
      var name: String
      var repetition: Int
    }
    var numbers: [Name: Int] = [:]
    columns = []
    var owners = parts.map { _ in [Int: Int]() }
    for (part, own) in parts.map(\.source.columns).enumerated() {
      var repetitions: [String: Int] = [:]
      for (ownNumber, column) in own.enumerated() {
        let key = bytewise(column.name)
        let name = Name(name: key, repetition: repetitions[key, default: 0])
        repetitions[key, default: 0] += 1
        if let number = numbers[name] {
          if columns[number].type != column.type { columns[number].type = .text }
          if columns[number].unit != column.unit { columns[number].unit = nil }
          if columns[number].reads != column.reads { columns[number].reads = nil }
          if !column.hasDecimalComma { columns[number].hasDecimalComma = false }
          if !column.isOnRequest { columns[number].isOnRequest = false }
          if columns[number].rank != column.rank { columns[number].rank = nil }
          if columns[number].role != column.role { columns[number].role = nil }
          owners[part][number] = ownNumber
        } else {
          numbers[name] = columns.count
          owners[part][columns.count] = ownNumber
          columns.append(column)
        }
      }
    }
    for part in parts.indices { parts[part].ownColumns = columns.indices.map { owners[part][$0] } }
  }

  /// Forgets everything that was counted, because a table shows another version.
  func forget() { moveOn(to: [0]) }

  /// Moves on with tables that show another version. `starts` are the numbers of sections in front of each table.
  func moveOn(to starts: [Int]) {
    self.starts = starts
    indexed = nil
    unite()
  }

  /// Forgets everything although the caller has not received a change that says so.
  func lose() {
    forget()
    owesReload = true
  }

  // Paths.

  /// The table and the own path of a path. Counts the sections of as few tables as possible.
  func partPath(of path: IndexPath) throws(TableError) -> PartPath {
    guard path.section >= 0 else { throw .noSection(path.section) }
    while path.section >= starts[starts.count - 1] {
      let part = starts.count - 1
      guard part < parts.count else { throw .noSection(path.section) }
      let section = path.section - starts[part]
      let count = try parts[part].source.numberOfSections(knowing: section.advancedUp(by: 1))
      if section < count.value {
        return PartPath(part: part, path: IndexPath(section: section, row: path.row))
      }
      starts.append(starts[part] + count.value)
    }
    let part = starts.partitioningIndex { $0 > path.section } - 1
    return PartPath(
      part: part, path: IndexPath(section: path.section - starts[part], row: path.row))
  }

  /// The number of the table that a section belongs to.
  public func sourceNumber(ofSection section: Int) throws(TableError) -> Int {
    try partPath(of: .section(section)).part
  }

  func path(_ partPath: PartPath) throws(TableError) -> IndexPath {
    while starts.count <= partPath.part {
      let part = starts.count - 1
      let count = try parts[part].source.numberOfSections(knowing: .max)
      starts.append(starts[part] + count.value)
    }
    return IndexPath(section: starts[partPath.part] + partPath.path.section, row: partPath.path.row)
  }

  func source(_ partPath: PartPath) -> any TableDataSource { parts[partPath.part].source }

  // The data source.

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    let partPath = try partPath(of: .section(section))
    return try source(partPath).numberOfRows(inSection: partPath.path.section, knowing: minimum)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let partPath = try partPath(of: .section(request.section))
    var own = request
    own.section = partPath.path.section
    own.columns = request.columns.compactMap { parts[partPath.part].ownColumns[$0] }
    if converts(request.columns, partPath.part) {
      own.count = min(own.count, JoinedSource.convertedLimit)
    }
    while true {
      let batch = try source(partPath).rows(own)
      if let united = try united(batch, partPath.part, request.columns) { return united }
      own.count = max(batch.rowCount / 2, 1)
    }
  }

  private func converts(_ columns: [Int], _ part: Int) -> Bool {
    columns.contains { number in
      parts[part].ownColumns[number].map {
        parts[part].source.columns[$0].type != self.columns[number].type
      } ?? false
    }
  }

  /// A table's batch with the united columns. Nil if the result is too large; the caller must then ask for half of
  /// the rows.
  private func united(
    _ batch: Batch, _ part: Int, _ numbers: [Int]
  ) throws(TableError) -> Batch? {
    guard batch.rowCount <= 1 || fits(batch, part) else { return nil }
    var own = batch.columns[...]
    var united: [ColumnBatch] = []
    for number in numbers {
      let type = columns[number].type
      guard parts[part].ownColumns[number] != nil, let column = own.popFirst() else {
        united.append(.missing(type, count: batch.rowCount))
        continue
      }
      guard column.type != type else {
        united.append(column)
        continue
      }
      guard column.byteCount < Int(Int32.max) / 2 else {
        throw TableError(.notSupported, "a cell is too large to be shown as text", column: number)
      }
      united.append(column.asText())
    }
    return Batch(
      rowCount: batch.rowCount, columns: united,
      ids: try batch.ids.map { ids throws(TableError) in try prefixed(ids, part) },
      isUTF8: batch.isUTF8)
  }

  private func fits(_ batch: Batch, _ part: Int) -> Bool {
    let ids = batch.ids.map { $0.byteCount + $0.count * 20 } ?? 0
    // As text, binary takes two characters per byte.
    return ids < Int(Int32.max)
      && batch.columns.allSatisfy { $0.type == .text || $0.byteCount < Int(Int32.max) / 2 }
  }

  private func prefixed(_ ids: ColumnBatch, _ part: Int) throws(TableError) -> ColumnBatch {
    let builder = BatchBuilder([.binary], capacity: ids.count)
    let prefix = Array("\(part)~".utf8)
    var bytes: [UInt8] = []
    for row in 0..<ids.count {
      bytes.removeAll(keepingCapacity: true)
      bytes += prefix
      ids.withBytes(at: row) { bytes += $0 }
      guard bytes.count <= RowID.maximumLength else {
        throw TableError(
          .notSupported, "an id of \(parts[part].name) is too long for a joined table")
      }
      bytes.withUnsafeBytes { builder.columns[0].append(bytes: $0) }
    }
    return builder.finish().columns[0]
  }

  /// A digest of the versions of all tables; nil if a table has no version.
  public func version() throws(TableError) -> Version? { token(try versions()) }

  func versions() throws(TableError) -> [Version?] {
    try parts.map { part throws(TableError) in try part.source.version() }
  }

  func token(_ versions: [Version?]) -> Version? {
    var text = "joined"
    for version in versions {
      guard let version else { return nil }
      // No token contains a space.
      text += " \(version.token)"
    }
    return Version(fingerprint(text, digits: 16))
  }

  public var hasVolatileOrder: Bool { parts.contains { $0.source.hasVolatileOrder } }
  public var storesEdits: Bool { parts.allSatisfy(\.source.storesEdits) }

  public var cancellation: (@Sendable () -> Void)? {
    let all = parts.compactMap(\.source.cancellation)
    if all.isEmpty { return nil }
    return { for cancel in all { cancel() } }
  }

  private func ifAny<Ability>(_ ability: (any TableDataSource) -> Ability?) -> JoinedSource? {
    parts.contains { ability($0.source) != nil } ? self : nil
  }

  public var sections: (any TableSections)? { self }
  public var sectionIndex: (any TableSectionIndex)? { self }
  public var identity: (any TableIdentity)? {
    parts.allSatisfy { $0.source.identity != nil } ? self : nil
  }
  public var gathering: (any TableGathering)? { self }
  public var changes: (any TableChanges)? { ifAny(\.changes) }
  public var editing: (any TableEditing)? { ifAny(\.editing) }
  public var sectionEditing: (any TableSectionEditing)? { ifAny(\.sectionEditing) }
  public var moving: (any TableMoving)? { ifAny(\.moving) }
  public var undoing: (any TableUndoing)? { ifAny(\.undoing) }
  public var supplementary: (any TableSupplementary)? { ifAny(\.supplementary) }
  public var accessories: (any TableAccessories)? { ifAny(\.accessories) }
  public var display: (any TableDisplay)? { hasDisplay ? self : nil }
  public var prefetching: (any TablePrefetching)? { hasPrefetching ? self : nil }
  public var diagnostics: (any TableDiagnostics)? { ifAny(\.diagnostics) }
}

extension JoinedSource: TableSections, TableSectionIndex {
  public func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    while starts.count <= parts.count {
      let part = starts.count - 1
      let count = try parts[part].source.numberOfSections(
        knowing: minimum == .max ? .max : max(minimum - starts[part], 0))
      guard count.isExact else { return .atLeast(starts[part] + count.value) }
      starts.append(starts[part] + count.value)
    }
    return .exact(starts[parts.count])
  }

  public func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    let at = try self.partPath(of: .section(section))
    let title = try source(at).sections?.title(place, ofSection: at.path.section)
    guard place == .header else { return title }
    return title.map { "\(parts[at.part].name): \($0)" } ?? parts[at.part].name
  }

  /// The titles of the tables' own indexes. A table without an index contributes its name.
  public func sectionIndexTitles() throws(TableError) -> [String] {
    try indexEntries().map(\.title)
  }

  public func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
  {
    let entries = try indexEntries()
    guard entries.indices.contains(index), entries[index].title == title else {
      throw TableError(.notFound, "there is no index title \(title) at \(index)")
    }
    let entry = entries[index]
    guard let number = entry.number, let own = parts[entry.part].source.sectionIndex else {
      return try path(PartPath(part: entry.part, path: .section(0)))
    }
    return try path(
      PartPath(part: entry.part, path: own.indexPath(forIndexTitle: title, at: number)))
  }

  private func indexEntries() throws(TableError) -> [IndexEntry] {
    if let indexed { return indexed }
    var entries: [IndexEntry] = []
    for (number, part) in parts.enumerated() {
      let titles = try part.source.sectionIndex?.sectionIndexTitles() ?? []
      entries += titles.enumerated().map { IndexEntry(title: $1, part: number, number: $0) }
    }
    if entries.isEmpty {
      for (number, part) in parts.enumerated()
      where try part.source.numberOfSections(knowing: 1).value > 0 {
        entries.append(IndexEntry(title: part.name, part: number, number: nil))
      }
    }
    indexed = entries
    return entries
  }
}

extension JoinedSource: TableIdentity, TableGathering {
  public func indexPath(forID id: String) throws(TableError) -> IndexPath {
    let (part, own) = try split(id)
    guard let identity = parts[part].source.identity else {
      throw TableError(.notSupported, "the rows of \(parts[part].name) have no ids")
    }
    return try path(PartPath(part: part, path: identity.indexPath(forID: own)))
  }

  /// Splits an id into the number of the table and the table's own id.
  func split(_ id: String) throws(TableError) -> (part: Int, own: String) {
    guard let end = id.utf8.firstIndex(of: UInt8(ascii: "~")), let part = Int(id[..<end]),
      parts.indices.contains(part), String(part) == id[..<end]
    else { throw TableError(.notFound, "there is no row with the id \(id)") }
    return (part, String(id[id.utf8.index(after: end)...]))
  }

  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let partPaths = try paths.prefix(mostGathered).map { path throws(TableError) in
      try partPath(of: path)
    }
    var batches: [Batch] = []
    var picks = [RowSelection](repeating: RowSelection(batch: 0, row: 0), count: partPaths.count)
    // Begin with the table of the first path. Otherwise rows of other tables could be read in vain again and again.
    var end = partPaths.count
    for (part, all) in JoinedSource.byPart(partPaths) {
      let members = all.prefix { $0 < end }
      guard !members.isEmpty else { continue }
      let batch = try gathered(
        members.map { partPaths[$0].path }, part, columns, includesIDs)
      for (row, member) in members.prefix(batch.rowCount).enumerated() {
        picks[member] = RowSelection(
          batch: Int32(truncatingIfNeeded: batches.count), row: Int32(truncatingIfNeeded: row))
      }
      if batch.rowCount < members.count { end = members[batch.rowCount] }
      batches.append(batch)
    }
    if batches.count == 1, batches[0].rowCount == end { return batches[0] }
    if batches.isEmpty {
      return .empty(columns.map { self.columns[$0].type }, ids: includesIDs)
    }
    noteSize(of: batches)
    return Batch(picking: Array(picks[..<end]), from: batches)
  }

  /// Adapts the number of rows to gather at once to the size of gathered rows.
  private func noteSize(of batches: [Batch]) {
    let rows = batches.reduce(0) { $0 + $1.rowCount }
    let bytes = batches.reduce(0) { $0 + $1.byteCount }
    guard rows > 0 else { return }
    let fitting = JoinedSource.gatheredSize / max(1, bytes / rows)
    mostGathered = max(1 << 10, min(fitting, MappedSource.gatherSize))
  }

  /// The indices of the paths of each table. The tables are in the order of their first paths.
  /// - Complexity: O(n)
  private static func byPart(_ paths: [PartPath]) -> [(part: Int, members: [Int])] {
    var numbers: [Int: Int] = [:]
    var groups: [(part: Int, members: [Int])] = []
    for (index, path) in paths.enumerated() {
      if let last = groups.last, last.part == path.part {
        groups[groups.count - 1].members.append(index)
      } else if let number = numbers[path.part] {
        groups[number].members.append(index)
      } else {
        numbers[path.part] = groups.count
        groups.append((path.part, [index]))
      }
    }
    return groups
  }

  private func gathered(
    _ paths: [IndexPath], _ part: Int, _ columns: [Int], _ includesIDs: Bool
  ) throws(TableError) -> Batch {
    let own = columns.compactMap { parts[part].ownColumns[$0] }
    var paths = paths
    while true {
      let batch = try parts[part].source.gather(paths, columns: own, includesIDs: includesIDs)
      if let united = try united(batch, part, columns) { return united }
      paths = Array(paths.prefix(max(batch.rowCount / 2, 1)))
    }
  }
}

extension JoinedSource: RowSearching {
  package var canSearch: Bool { parts.contains { $0.source.searching != nil } }

  /// A table whose columns are converted, or that cannot search, returns all rows of a batch.
  package func rows(
    _ request: RowRequest, containing terms: [SearchTerm]
  ) throws(TableError) -> FoundRows {
    try check(request)
    let partPath = try partPath(of: .section(request.section))
    var own = request
    own.section = partPath.path.section
    own.columns = request.columns.compactMap { parts[partPath.part].ownColumns[$0] }
    let united = request.columns.filter { parts[partPath.part].ownColumns[$0] != nil }
    let isSame = zip(own.columns, united).allSatisfy {
      source(partPath).columns[$0].type == columns[$1].type
    }
    guard isSame, let searching = source(partPath).searching else {
      return FoundRows(try rows(request), from: request.first)
    }
    let found = try searching.rows(own, containing: terms)
    guard let batch = try self.united(found.batch, partPath.part, request.columns) else {
      return FoundRows(try rows(request), from: request.first)
    }
    return FoundRows(batch, numbers: found.numbers, next: found.next)
  }
}

extension JoinedSource: RowSharing {
  package func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let (sharing, section) = try sharing(ofSection: section) else { return nil }
    return try sharing.shares(ofSection: section, from: first, size: size)
  }

  package func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let (sharing, section) = try sharing(ofSection: section) else { return nil }
    return try sharing.shares(gathering: rows, inSection: section, size: size)
  }

  /// The table that the section belongs to, and the number of its section. Nil if its columns differ from the united ones
  /// in any way, because a filter reads the cells of a share by the columns of the share.
  private func sharing(
    ofSection section: Int
  ) throws(TableError) -> (any RowSharing, section: Int)? {
    let partPath = try partPath(of: .section(section))
    let source = source(partPath)
    guard source.columns == columns, let sharing = source.sharing else { return nil }
    return (sharing, partPath.path.section)
  }
}

extension JoinedSource: TableSupplementary, TableAccessories, TableDiagnostics {
  public func supplementaryKinds() throws(TableError) -> [String] {
    var kinds: [String] = []
    for part in parts {
      let own = try part.source.supplementary?.supplementaryKinds() ?? []
      kinds += own.filter { !kinds.contains($0) }
    }
    return kinds
  }

  public func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    let partPath = try partPath(of: path)
    return try source(partPath).supplementary?.supplementaryElement(ofKind: kind, at: partPath.path)
  }

  public func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    let partPath = try partPath(of: path)
    return try source(partPath).accessories?.location(forRowAt: partPath.path)
  }

  /// The oldest diagnostic of the first table that has one, with the table's name in front.
  public func nextDiagnostic() -> Diagnostic? {
    for part in parts {
      guard var diagnostic = part.source.diagnostics?.nextDiagnostic() else { continue }
      diagnostic.message = "\(part.name): \(diagnostic.message)"
      return diagnostic
    }
    return nil
  }
}

extension JoinedSource: TableDisplay, TablePrefetching {
  public func willDisplay(rows: Range<Int>, inSection section: Int) {
    guard let partPath = try? partPath(of: .section(section)) else { return }
    shown.begin(rows, section, partPath)
    source(partPath).display?.willDisplay(rows: rows, inSection: partPath.path.section)
  }

  public func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if let partPath = shown.end(rows, section) { notifyEndOfDisplay(rows, partPath) }
  }

  private func notifyEndOfDisplay(_ rows: Range<Int>, _ partPath: PartPath) {
    source(partPath).display?.didEndDisplaying(rows: rows, inSection: partPath.path.section)
  }

  public func prefetch(rows: Range<Int>, inSection section: Int) {
    guard let partPath = try? partPath(of: .section(section)) else { return }
    source(partPath).prefetching?.prefetch(rows: rows, inSection: partPath.path.section)
  }

  public func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    guard let partPath = try? partPath(of: .section(section)) else { return }
    source(partPath).prefetching?.cancelPrefetching(rows: rows, inSection: partPath.path.section)
  }
}

/// Joins tables. The name of each table becomes part of the titles of its sections.
public func joined(_ sources: [(name: String, source: any TableDataSource)]) -> JoinedSource {
  JoinedSource(sources)
}
