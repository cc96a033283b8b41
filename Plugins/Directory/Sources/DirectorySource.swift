import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSDK
import TabellaSystem

/// The entries of a folder or of a tree at the time of the listing.
///
/// Names and kinds come from the listing. Other cells are read on request, or come from ``StatusCache`` if a view read
/// them a moment ago.
final class DirectorySource: ProviderSource, TableSections, TableGathering, TableIdentity,
  TableAccessories, TableDiagnostics
{
  /// The maximum number of rows per batch. The data of so many entries fits into a core's cache.
  static let batchRows = 1 << 12
  /// The number of bytes of names after which a batch ends early, because paths in a deep tree can be long.
  private static let batchBytes = 4 << 20

  let columns = DirectoryColumn.declarations
  let hasVolatileOrder = true
  let lastingPath: LastingPath
  private var openedRoot: Descriptor
  /// The reader of the folders of ``listing``.
  private(set) var reader: FolderReader
  var listing: Listing { reader.listing }
  let settings: DirectorySettings
  private(set) var traversal: Traversal
  let cancel = CancelFlag()
  private var users = AccountNames(.user)
  private var groups = AccountNames(.group)
  private var statusCache = StatusCache()
  /// Examines the rows that the viewer will request next.
  let ahead = ExaminingAhead()
  /// Whether the last request for rows needed statuses.
  private(set) var needsStatuses = false
  /// The cells that callers have seen.
  var cells = ShownCells()
  /// Entries that could not be examined.
  private var listingDiagnostics = ListingDiagnostics()
  /// A cache of the path built last, the entries of its folder, and the length of the folder's path in bytes.
  private var cachedPath: (path: [UInt8], entries: Range<Int>, prefix: Int) = ([], 0..<0, 0)
  private var cachedIndex: EntryIndex?
  private var hasLookedForID = false
  /// The rows by entry, of a tree without sections.
  private var cachedRows: [UInt32]?
  /// The reasons why the shown entries are outdated, or updated late.
  var listingWarnings: [Diagnostic] = []
  /// False if the version after an edit could not be determined.
  private var hasVersion = true
  private var cachedVersion: Version?
  /// Watches the listed folders while a listener is set.
  var watcher: FolderWatcher?
  /// The time at which a pull first found no folder at the path; nil if the last pull found one.
  var missingSince: Double?
  /// The time for which a watched folder may be missing, in seconds. Only tests use another one.
  var patience = 0.9

  init(path: [UInt8], _ settings: DirectorySettings) throws(TableError) {
    lastingPath = LastingPath(path)
    self.settings = settings
    let result = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    guard let opened = Descriptor(result) else {
      throw result == -ENOTDIR
        ? TableError(.invalidArgument, "is a file, not a directory")
        : .system(-result, "cannot be opened")
    }
    reader = FolderReader(Listing(showsHidden: settings.showsHidden), nil)
    do throws(Failure) {
      try reader.addRoot(opened.raw, isRecursive: settings.isRecursive)
    } catch {
      throw error.error("cannot be read")
    }
    traversal = Traversal(reader, root: opened.raw, isRecursive: settings.isRecursive)
    openedRoot = opened
  }

  deinit {
    // The thread uses the descriptor of the root.
    ahead.stop()
  }

  /// The descriptor of the root, valid during the lifetime of this object.
  var root: Int32 { openedRoot.raw }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }
  var sections: (any TableSections)? { hasSections ? self : nil }
  var moving: (any TableMoving)? { hasSections ? self : nil }
  var sectionEditing: (any TableSectionEditing)? { hasSections ? self : nil }

  var showsHidden: Bool { settings.showsHidden }
  var isRecursive: Bool { settings.isRecursive }
  var hasSections: Bool { settings.hasSections }

  /// Lists the root again. If that fails, keeps the old listing and returns the reason.
  @discardableResult func reload() -> Failure? {
    lseek(root, 0, SEEK_SET)
    let fresh = FolderReader(Listing(showsHidden: showsHidden), watcher)
    do throws(Failure) {
      try fresh.addRoot(root, isRecursive: isRecursive)
    } catch {
      listingWarnings.append(
        Diagnostic(
          .warning,
          "the folder could not be listed again, so the old list is shown: \(error.reason)"))
      return error
    }
    show(
      fresh,
      Traversal(fresh, root: root, isRecursive: isRecursive, traversal.listingDiagnostics),
      ShownCells())
    return nil
  }

  /// Shows another listing.
  private func show(
    _ reader: FolderReader, _ traversal: Traversal, _ cells: ShownCells
  ) {
    ahead.stop()
    self.reader = reader
    self.traversal = traversal
    self.cells = cells
    cachedPath = ([], 0..<0, 0)
    cachedIndex = nil
    cachedRows = nil
    cachedVersion = nil
    hasVersion = true
    hasLookedForID = false
    statusCache = StatusCache()
  }

  /// Shows another listing of a root that was opened again.
  func show(
    _ root: consuming Descriptor, _ reader: FolderReader, _ traversal: Traversal,
    _ cells: ShownCells
  ) {
    ahead.stop()
    openedRoot = root
    show(reader, traversal, cells)
  }

  /// Forgets statuses that no caller has seen, or that are cached for a moment.
  func forgetStatuses() {
    ahead.stop()
    statusCache = StatusCache()
  }

  // Sections and rows

  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    cancel.begin()
    guard hasSections else { return .exact(1) }
    try go { $0.folders.count >= minimum }
    let count = traversal.folders.count
    return traversal.isComplete ? .exact(count) : .atLeast(count)
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    guard hasSections else { return nil }
    let folder = try self.folder(ofSection: section)
    guard place == .header else { return nil }
    // The title of the root is its location. Other titles are paths below the root.
    let given = lastingPath.given
    let name = folder == 0 ? given : listing.path(ofFolder: folder).dropLast()
    return String(decoding: name.isEmpty ? given : name, as: UTF8.self)
  }

  /// The number of the folder that a section shows.
  func folder(ofSection section: Int) throws(TableError) -> Int {
    guard section >= 0 else { throw .noSection(section) }
    try go { $0.folders.count > section }
    guard section < traversal.folders.count else { throw .noSection(section) }
    return traversal.folders[section]
  }

  private func entries(ofSection section: Int) throws(TableError) -> Range<Int> {
    // This call can extend the listing, so it comes first.
    let folder = try folder(ofSection: section)
    return listing.folders[folder].entries
  }

  func go(until isEnough: (borrowing Traversal) -> Bool) throws(TableError) {
    try traversal.go(cancel, until: isEnough)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    cancel.begin()
    if hasSections {
      return .exact(try entries(ofSection: section).count)
    }
    guard section == 0 else { throw .noSection(section) }
    try go { $0.order.count >= minimum }
    let count = traversal.order.count
    return traversal.isComplete ? .exact(count) : .atLeast(count)
  }

  /// The entries of a range of rows; empty at the end of the table.
  func entries(
    _ first: Int, _ count: Int, ofSection section: Int
  ) throws(TableError) -> [Int] {
    if hasSections {
      let entries = try entries(ofSection: section)
      guard first <= entries.count else {
        throw .noRow(first, inSection: section, of: entries.count)
      }
      return Array(entries.dropFirst(first).prefix(count))
    }
    guard section == 0 else { throw .noSection(section) }
    let end = first.addingReportingOverflow(count)
    try go { $0.order.count >= (end.overflow ? .max : end.partialValue) }
    guard first <= traversal.order.count else {
      throw .noRow(first, inSection: section, of: traversal.order.count)
    }
    return traversal.order.dropFirst(first).prefix(count).map { Int($0) }
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    cancel.begin()
    let entries = try entries(
      request.first, min(request.count, DirectorySource.batchRows), ofSection: request.section)
    return try batch(fitting(entries), request.columns, includesIDs: request.includesIDs) {
      entries, wanted throws(TableError) in
      let examined = try examine(entries, for: wanted)
      // A request without names looks for certain rows, and a second request for them will follow.
      if !wanted.contains(.name), wanted.contains(where: \.needsStatus) {
        statusCache.keep(entries, examined)
      }
      return examined
    }
  }

  /// The first of `entries` that fit into a batch, at least one.
  private func fitting(_ entries: [Int]) -> [Int] {
    guard showsPaths else { return entries }
    var bytes = 0
    let end = entries.firstIndex { entry in
      defer { bytes += withPath(of: entry) { $0.count } }
      return bytes >= DirectorySource.batchBytes
    }
    return Array(entries[..<(end ?? entries.count)])
  }

  func rows(
    at paths: [IndexPath], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: numbers, includesIDs: includesIDs)
    cancel.begin()
    let entries = try paths.prefix(DirectorySource.batchRows).map { path throws(TableError) in
      try entry(at: path)
    }
    return try batch(fitting(entries), numbers, includesIDs: includesIDs) {
      entries, wanted throws(TableError) in
      if let examined = statusCache.examined(entries) { return examined }
      return try examine(entries, for: wanted)
    }
  }

  private func batch(
    _ entries: [Int], _ numbers: [Int], includesIDs: Bool,
    _ examine: ([Int], [DirectoryColumn]) throws(TableError) -> [Examined]
  ) throws(TableError) -> Batch {
    let wanted = numbers.compactMap(DirectoryColumn.init)
    let builder = BatchBuilder(
      numbers.map { columns[$0].type }, ids: includesIDs, capacity: entries.count)
    let examined = try examine(entries, wanted)
    for (cells, column) in zip(builder.columns, wanted) {
      switch column {
      case .name: appendNames(entries, to: cells)
      case .kind: appendKinds(entries, examined, to: cells)
      case .target: try appendTargets(entries, examined, to: cells)
      case .extension: appendExtensions(entries, examined, to: cells)
      case .total: try appendTotals(entries, examined, to: cells)
      default: append(column, of: examined, to: cells)
      }
    }
    if let ids = builder.ids { for entry in entries { ids.append(id(of: entry)) } }
    return builder.finish(rowCount: entries.count)
  }

  /// Examines the entries as far as the columns need it. Returns an empty array if they need nothing.
  private func examine(
    _ entries: [Int], for wanted: [DirectoryColumn]
  ) throws(TableError) -> [Examined] {
    let needsAll = wanted.contains { $0.needsStatus }
    needsStatuses = needsAll
    let needsKinds = wanted.contains(.kind) || wanted.contains(.extension)
    let needsLinks = wanted.contains(.target)
    func isWanted(_ kind: EntryKind) -> Bool {
      needsAll || (kind == .unknown && (needsKinds || needsLinks)) || (kind == .link && needsLinks)
    }
    let mayNeedSome = needsKinds || needsLinks
    guard needsAll || (mayNeedSome && entries.contains { isWanted(listing.kind($0)) }) else {
      return []
    }
    var examined = needsAll ? ahead.take(entries) : []
    if examined.count < entries.count {
      examined += try examine(Array(entries.dropFirst(examined.count)), where: isWanted)
    }
    for (entry, one) in zip(entries, examined) {
      if !one.isGood {
        listingDiagnostics.note(.unexaminedEntry, entry, Failure(one.error), in: listing)
      }
      if isWanted(listing.kind(entry)) { cells.seen.see(entry, one) }
    }
    return examined
  }

  /// Examines entries of a listing. `root` is the descriptor of its root; nil means that of the shown listing.
  func examine(
    _ entries: [Int], of listing: Listing, root: Int32?
  ) throws(TableError) -> [Examined] {
    do throws(Failure) {
      return try Examiner(root: root ?? self.root, listing: listing, cancel: cancel)
        .examine(entries)
    } catch {
      throw error.error("entries cannot be examined")
    }
  }

  func examine(
    _ entries: [Int], where isWanted: (EntryKind) -> Bool
  ) throws(TableError) -> [Examined] {
    do throws(Failure) {
      return try Examiner(root: root, listing: listing, cancel: cancel)
        .examine(entries, where: isWanted)
    } catch {
      throw error.error("entries cannot be examined")
    }
  }

  private func appendNames(_ entries: [Int], to cells: ColumnBuilder) {
    if showsPaths {
      for entry in entries { withPath(of: entry) { cells.append(bytes: $0) } }
    } else {
      var room = 0
      for (index, entry) in entries.enumerated() {
        listing.prefetch(entries[min(index + 16, entries.count - 1)])
        room += listing.withName(entry) { $0.count }
      }
      cells.append(entries.count, room: room) { number, place in
        listing.withName(entries[number]) {
          place.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
          return $0.count
        }
      }
    }
  }

  /// Whether the column `name` shows the path below the root.
  var showsPaths: Bool { isRecursive && !hasSections }

  /// Calls `body` with the path of an entry below the root.
  private func withPath<R>(of entry: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    guard isRecursive else { return listing.withName(entry, body) }
    if cachedPath.entries.contains(entry) {
      cachedPath.path.removeLast(cachedPath.path.count - cachedPath.prefix)
    } else {
      let folder = listing.folder(of: entry)
      cachedPath.path = listing.path(ofFolder: folder)
      cachedPath.entries = listing.folders[folder].entries
      cachedPath.prefix = cachedPath.path.count
    }
    listing.withName(entry) { cachedPath.path.append(contentsOf: $0) }
    return cachedPath.path.withUnsafeBytes(body)
  }

  private func appendKinds(_ entries: [Int], _ examined: [Examined], to cells: ColumnBuilder) {
    cells.append(entries.count, room: entries.count * EntryKind.longestName) { number, place in
      let name = kind(entries[number], examined, number).name
      place.copyMemory(from: name.utf8Start, byteCount: name.utf8CodeUnitCount)
      return name.utf8CodeUnitCount
    }
  }

  /// The kind of an entry: the examined one, or the listed one if nothing was examined.
  private func kind(_ entry: Int, _ examined: [Examined], _ index: Int) -> EntryKind {
    examined.isEmpty ? listing.kind(entry) : examined[index].kind
  }

  private func appendTargets(
    _ entries: [Int], _ examined: [Examined], to cells: ColumnBuilder
  ) throws(TableError) {
    let opener = FolderOpener(root: root, listing)
    for (index, entry) in entries.enumerated() {
      guard kind(entry, examined, index) == .link, examined[index].isGood,
        let target = try target(of: entry, opener)
      else {
        cells.appendMissing()
        continue
      }
      target.withUnsafeBytes { cells.append(bytes: $0) }
    }
  }

  private func appendExtensions(
    _ entries: [Int], _ examined: [Examined], to cells: ColumnBuilder
  ) {
    for (index, entry) in entries.enumerated() {
      let text =
        kind(entry, examined, index) == .directory
        ? nil : listing.withName(entry) { fileExtension(of: $0) }
      guard let text else {
        cells.appendMissing()
        continue
      }
      text.withUnsafeBytes { cells.append(bytes: $0) }
    }
  }

  /// Appends the sizes of files, and the totals of folders. The cell of a folder that cannot be read is missing.
  private func appendTotals(
    _ entries: [Int], _ examined: [Examined], to cells: ColumnBuilder
  ) throws(TableError) {
    let isFolder = examined.map { $0.isGood && $0.kind == .directory }
    let new = entries.indices.filter { isFolder[$0] && self.cells.totals[entries[$0]] == nil }
      .map { entries[$0] }
    for (entry, total) in zip(new, try count(new, of: listing, root: nil)) {
      self.cells.totals[entry] = .some(total)
    }
    for (index, entry) in entries.enumerated() {
      let total =
        isFolder[index]
        ? self.cells.totals[entry] ?? nil
        : examined[index].isGood ? Int64(clamping: examined[index].status.size) : nil
      if let total { cells.append(total) } else { cells.appendMissing() }
    }
  }

  /// The totals of folders of a listing. `root` is the descriptor of its root; nil means that of the shown listing.
  func count(
    _ folders: [Int], of listing: Listing, root: Int32?
  ) throws(TableError) -> [Int64?] {
    if folders.isEmpty { return [] }
    let result: TreeCounter.Result
    do throws(Failure) {
      result = try TreeCounter(root: root ?? self.root, listing, cancel).count(folders)
    } catch {
      throw error.error("folders cannot be counted")
    }
    for problem in result.problems {
      listingDiagnostics.note(problem.what, problem.failure, path: problem.path)
    }
    return result.totals
  }

  func target(of entry: Int, _ opener: FolderOpener) throws(TableError) -> [UInt8]? {
    guard let directory = try folder(of: entry, opener) else { return nil }
    return listing.withCName(entry) { readLink(directory, $0) }
  }

  /// A descriptor of the folder that contains an entry; nil if it cannot be opened.
  func folder(of entry: Int, _ opener: FolderOpener) throws(TableError) -> Int32? {
    do throws(Failure) {
      return try opener.descriptor(listing.folder(of: entry))
    } catch {
      if error.isOfCall { throw error.error("a folder cannot be opened") }
      return nil
    }
  }

  private func append(
    _ column: DirectoryColumn, of examined: [Examined], to cells: ColumnBuilder
  ) {
    func each(_ append: (tabella_status) -> Void) {
      for one in examined { if one.isGood { append(one.status) } else { cells.appendMissing() } }
    }
    switch column {
    case .size: each { cells.append(Int64(clamping: $0.size)) }
    case .modified:
      each {
        let moment = Timestamp(seconds: $0.modified, nanoseconds: Int64($0.modified_rest))
        if let moment { cells.append(moment) } else { cells.appendMissing() }
      }
    case .mode: appendModes(examined, to: cells)
    case .owner: append(&users, of: examined, to: cells) { $0.owner }
    case .group: append(&groups, of: examined, to: cells) { $0.group }
    case .links: each { cells.append(Int64($0.links)) }
    case .name, .kind, .target, .extension, .total: break
    }
  }

  private func appendModes(_ examined: [Examined], to cells: ColumnBuilder) {
    let length = MemoryLayout<Permissions>.size
    cells.append(examined.count, room: examined.count * length) { number, place in
      guard examined[number].isGood else { return -1 }
      place.storeBytes(of: permissions(examined[number].status.mode), as: Permissions.self)
      return length
    }
  }

  private func append(
    _ names: inout AccountNames, of examined: [Examined], to cells: ColumnBuilder,
    _ account: (tabella_status) -> UInt32
  ) {
    // Neighbouring entries usually have the same owner.
    var runs: [(end: Int, name: [UInt8])] = []
    var last: UInt32?
    for (index, one) in examined.enumerated() where one.isGood {
      let number = account(one.status)
      if number != last { runs.append((index, names[number])) }
      runs[runs.count - 1].end = index + 1
      last = number
    }
    let longest = runs.reduce(0) { max($0, $1.name.count) }
    var run = 0
    cells.append(examined.count, room: examined.count * longest) { number, place in
      guard examined[number].isGood else { return -1 }
      while runs[run].end <= number { run += 1 }
      runs[run].name.withUnsafeBytes {
        place.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
      }
      return runs[run].name.count
    }
  }

  // Ids and version

  private func id(of entry: Int) -> String {
    withPath(of: entry) { id(inode: listing.inode(entry), $0) }
  }

  /// The id of an entry: its inode, and a digest of its name or, in a tree, of its path.
  func id(inode: UInt64, path: [UInt8]) -> String {
    path.withUnsafeBytes { id(inode: inode, $0) }
  }

  private func id(inode: UInt64, _ path: UnsafeRawBufferPointer) -> String {
    "\(String(inode, radix: 16)).\(String(digest64(path), radix: 16))"
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    cancel.begin()
    guard let inode = id.split(separator: ".").first.flatMap({ UInt64($0, radix: 16) }),
      let row = try row(withInode: inode, id)
    else {
      throw TableError(.notFound, "there is no entry with the id \(id); it was renamed or removed")
    }
    return hasSections
      ? try path(of: Int(traversal.order[row])) : IndexPath(section: 0, row: row)
  }

  private func row(withInode inode: UInt64, _ id: String) throws(TableError) -> Int? {
    func isIt(_ row: Int) -> Bool {
      let entry = Int(traversal.order[row])
      return listing.inode(entry) == inode && self.id(of: entry) == id
    }
    // A second search for an id means that many will follow.
    if hasLookedForID {
      return try index().rows(withInode: inode).first(where: isIt)
    }
    hasLookedForID = true
    // The first search lists only as far as needed.
    var checked = 0
    while true {
      while checked < traversal.order.count {
        if isIt(checked) { return checked }
        checked += 1
      }
      if traversal.isComplete { return nil }
      try go { $0.order.count > checked }
    }
  }

  /// The index of the complete listing, built at first use.
  func index() throws(TableError) -> EntryIndex {
    if let cachedIndex { return cachedIndex }
    try go { _ in false }
    let index = EntryIndex(listing, traversal.order)
    cachedIndex = index
    return index
  }

  /// The index path of an entry in a table with sections.
  func path(of entry: Int) throws(TableError) -> IndexPath {
    let folder = listing.folder(of: entry)
    // The numbers in `folders` are in ascending order.
    let section = traversal.folders.partitioningIndex { $0 >= folder }
    guard section < traversal.folders.count, traversal.folders[section] == folder else {
      throw TableError(.internal, "a folder with entries is not a section")
    }
    return IndexPath(
      section: section, row: entry - listing.folders[folder].entries.lowerBound)
  }

  /// The path of an entry's row; nil if the traversal has not come to it.
  func rowPath(of entry: Int) throws(TableError) -> IndexPath? {
    if hasSections { return try path(of: entry) }
    if !isRecursive { return IndexPath(section: 0, row: entry) }
    if cachedRows?.count != listing.count || !traversal.isComplete {
      var rows = [UInt32](repeating: .max, count: listing.count)
      for (row, entry) in traversal.order.enumerated() { rows[Int(entry)] = UInt32(row) }
      cachedRows = rows
    }
    guard let row = cachedRows?[entry], row != .max else { return nil }
    return IndexPath(section: 0, row: Int(row))
  }

  /// The version, if it is known without listing more folders.
  func knownVersion() throws(TableError) -> Version? {
    traversal.isComplete ? try currentVersion() : cachedVersion
  }

  func version() throws(TableError) -> Version? {
    cancel.begin()
    return try currentVersion()
  }

  private func currentVersion() throws(TableError) -> Version? {
    guard hasVersion else { return nil }
    if let cachedVersion { return cachedVersion }
    try go { _ in false }
    // Sections give the same entries other index paths. The other options need no mark, since they show other entries.
    var digest: UInt64 = hasSections ? 1 : 0
    for folder in traversal.folders {
      var bytes = listing.path(ofFolder: folder)
      for entry in listing.folders[folder].entries {
        listing.withName(entry) { bytes += $0 }
        bytes.append(0)
        withUnsafeBytes(of: listing.inode(entry)) { bytes += $0 }
      }
      withUnsafeBytes(of: digest) { bytes += $0 }
      digest = bytes.withUnsafeBytes { digest64($0) }
    }
    cachedVersion = Version(String(digest, radix: 16))
    return cachedVersion
  }

  /// The version after an edit; nil if it cannot be determined, because the edit is already done.
  ///
  /// After nil, ``version()`` returns nil too until the next listing, so that nobody sees two versions.
  func versionAfterEdit() -> Version? {
    do throws(TableError) {
      return try version()
    } catch {
      hasVersion = false
      return nil
    }
  }

  // Index paths and locations of rows

  /// The mode of an entry after following links, or the `errno` value.
  func follow(_ entry: Int) throws(TableError) -> (mode: mode_t, error: Int32) {
    let opener = FolderOpener(root: root, listing)
    guard let directory = try folder(of: entry, opener) else { return (0, ENOENT) }
    return listing.withCName(entry) { name in
      guard let status = stat(of: name, in: directory, followsLink: true) else {
        return (0, errno)
      }
      return (status.st_mode, 0)
    }
  }

  func entry(at path: IndexPath) throws(TableError) -> Int {
    // The fast path: the row is already listed.
    if !hasSections, path.section == 0, traversal.order.indices.contains(path.row) {
      return Int(traversal.order[path.row])
    }
    guard path.row >= 0, let entry = try entries(path.row, 1, ofSection: path.section).first else {
      throw .noRow(path.row, inSection: path.section, of: path.row)
    }
    return entry
  }

  /// The path of a row's file or folder, also if a link leads to it; nil for other rows.
  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    cancel.begin()
    let entry = try entry(at: path)
    guard try examine([entry], where: { _ in true })[0].isGood else { return nil }
    let (mode, error) = try follow(entry)
    guard error == 0, [S_IFREG, S_IFDIR].contains(mode & S_IFMT) else { return nil }
    var location = lastingPath.current
    // A path must not look like `SCHEME:REST` or like an option.
    let first = location.prefix { $0 != UInt8(ascii: "/") }
    if first.contains(UInt8(ascii: ":")) || first.first == UInt8(ascii: "-") {
      location = Array("./".utf8) + location
    }
    if location.last != UInt8(ascii: "/") { location.append(UInt8(ascii: "/")) }
    return withPath(of: entry) { location + $0 }
  }

  // Diagnostics

  func nextDiagnostic() -> Diagnostic? {
    if !listingWarnings.isEmpty { return listingWarnings.removeFirst() }
    return traversal.listingDiagnostics.next() ?? listingDiagnostics.next()
  }
}
