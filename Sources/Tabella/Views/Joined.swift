/// Several tables as one: the sections of the first, then those of the second, and so on.
///
/// Columns are united by name (a repeated name with the same repetition of others), in the order in
/// which they first appear; where types differ, cells are their canonical text. An untitled section is
/// titled by its table's name, a titled one `NAME: TITLE`. An id is the table's number, `~`, and the
/// table's id.
public final class JoinedSource: TableDataSource {
  /// A table and how its columns are united with the others'.
  struct Part {
    let name: String
    let source: any TableDataSource
    /// For each column of the whole the table's own, if it has it.
    var ownColumns: [Int?] = []
  }

  /// A row or section of one of the tables.
  struct PartPath {
    var part: Int
    var path: IndexPath
  }

  /// A title of the index, and where its table has it; a table's own name has no number there.
  private struct IndexEntry {
    var title: String
    var part: Int
    var number: Int?
  }

  /// At most this many rows are converted to text at once.
  private static let convertedLimit = 1 << 16

  public private(set) var columns: [Column] = []
  private(set) var parts: [Part]
  /// The index, once it was asked for.
  private var indexed: [IndexEntry]?
  /// How many sections stand before each table, as far as the tables before it are counted.
  private(set) var starts = [0]
  private var shown = ShownRuns<PartPath>()
  /// Whether a table moved on and nobody was told yet.
  var owesReload = false

  /// The tables joined; to be edited and moved on through the whole only.
  public init(_ sources: [(name: String, source: any TableDataSource)]) {
    parts = sources.map { Part(name: $0.name, source: $0.source) }
    unite()
  }

  deinit {
    // The tables are told the end of whatever is still on show.
    for (rows, place) in shown.all { tellEnd(rows, place) }
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
        let name = Name(name: column.name, repetition: repetitions[column.name, default: 0])
        repetitions[column.name, default: 0] += 1
        if let number = numbers[name] {
          if columns[number].type != column.type { columns[number].type = .text }
          if columns[number].unit != column.unit { columns[number].unit = nil }
          if columns[number].reads != column.reads { columns[number].reads = nil }
          if !column.hasDecimalComma { columns[number].hasDecimalComma = false }
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

  /// Forgets what was counted, because a table shows another version now.
  func forget() {
    starts = [0]
    indexed = nil
    unite()
  }

  // Places

  /// Where a path of the whole is; asks no more tables for their sections than it must.
  func place(_ path: IndexPath) throws(TableError) -> PartPath {
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

  /// The number of the table that a section comes from.
  public func sourceNumber(ofSection section: Int) throws(TableError) -> Int {
    try place(.section(section)).part
  }

  func path(_ place: PartPath) throws(TableError) -> IndexPath {
    while starts.count <= place.part {
      let part = starts.count - 1
      let count = try parts[part].source.numberOfSections(knowing: .max)
      starts.append(starts[part] + count.value)
    }
    return IndexPath(section: starts[place.part] + place.path.section, row: place.path.row)
  }

  func source(_ place: PartPath) -> any TableDataSource { parts[place.part].source }

  // The data source

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    let place = try place(.section(section))
    return try source(place).numberOfRows(inSection: place.path.section, knowing: minimum)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let place = try place(.section(request.section))
    var own = request
    own.section = place.path.section
    own.columns = request.columns.compactMap { parts[place.part].ownColumns[$0] }
    if converts(request.columns, place.part) {
      own.count = min(own.count, JoinedSource.convertedLimit)
    }
    while true {
      let batch = try source(place).rows(own)
      if let united = try united(batch, place.part, request.columns) { return united }
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

  /// A table's batch with the columns of the whole; nil if it is too large and must be halved.
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
    // Binary takes two characters a byte as text.
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
          .notSupported, "an id of \(parts[part].name) is too long to be told from those of others")
      }
      bytes.withUnsafeBytes { builder.columns[0].append(bytes: $0) }
    }
    return builder.finish().columns[0]
  }

  /// A digest of the versions of all tables; nil if one has none.
  public func version() throws(TableError) -> Version? { token(try versions()) }

  func versions() throws(TableError) -> [Version?] {
    try parts.map { part throws(TableError) in try part.source.version() }
  }

  func token(_ versions: [Version?]) -> Version? {
    var text = "joined"
    for version in versions {
      guard let version else { return nil }
      // A space is in no token.
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
  public var display: (any TableDisplay)? { ifAny(\.display) }
  public var prefetching: (any TablePrefetching)? { ifAny(\.prefetching) }
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
    let at = try self.place(.section(section))
    let title = try source(at).sections?.title(place, ofSection: at.path.section)
    guard place == .header else { return title }
    return title.map { "\(parts[at.part].name): \($0)" } ?? parts[at.part].name
  }

  /// The titles of the tables' own indexes, or the tables' names if there are none.
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

  /// A table and its own id, from an id of the whole.
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
    let places = try paths.prefix(MappedSource.gatherSize).map { path throws(TableError) in
      try place(path)
    }
    var batches: [Batch] = []
    var picks = [Pick](repeating: Pick(part: 0, row: 0), count: places.count)
    // The table of the first path comes first, so that what others are cut off by is not read in
    // vain again and again.
    var end = places.count
    var done: Set<Int> = []
    for place in places where done.insert(place.part).inserted {
      let members = places[..<end].indices.filter { places[$0].part == place.part }
      guard !members.isEmpty else { continue }
      let batch = try gathered(members.map { places[$0].path }, place.part, columns, includesIDs)
      for (row, member) in members.prefix(batch.rowCount).enumerated() {
        picks[member] = Pick(
          part: Int32(truncatingIfNeeded: batches.count), row: Int32(truncatingIfNeeded: row))
      }
      if batch.rowCount < members.count { end = members[batch.rowCount] }
      batches.append(batch)
    }
    if batches.count == 1, batches[0].rowCount == end { return batches[0] }
    if batches.isEmpty {
      return .empty(columns.map { self.columns[$0].type }, ids: includesIDs)
    }
    return Batch(picking: Array(picks[..<end]), from: batches)
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
    let place = try place(path)
    return try source(place).supplementary?.supplementaryElement(ofKind: kind, at: place.path)
  }

  public func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    let place = try place(path)
    return try source(place).accessories?.location(forRowAt: place.path)
  }

  /// The oldest remark of the first table that has one, with the table's name before it.
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
    guard let place = try? place(.section(section)) else { return }
    shown.begin(rows, section, place)
    source(place).display?.willDisplay(rows: rows, inSection: place.path.section)
  }

  public func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if let place = shown.end(rows, section) { tellEnd(rows, place) }
  }

  private func tellEnd(_ rows: Range<Int>, _ place: PartPath) {
    source(place).display?.didEndDisplaying(rows: rows, inSection: place.path.section)
  }

  public func prefetch(rows: Range<Int>, inSection section: Int) {
    guard let place = try? place(.section(section)) else { return }
    source(place).prefetching?.prefetch(rows: rows, inSection: place.path.section)
  }

  public func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    guard let place = try? place(.section(section)) else { return }
    source(place).prefetching?.cancelPrefetching(rows: rows, inSection: place.path.section)
  }
}

/// One table of several, each with the name that its sections are titled by.
public func joined(_ sources: [(name: String, source: any TableDataSource)]) -> JoinedSource {
  JoinedSource(sources)
}
