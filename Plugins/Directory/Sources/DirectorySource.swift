import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSDK

/// The entries of a folder or of a tree, as they were when they were listed; what is more than a name is
/// read when it is asked for.
final class DirectorySource: ProviderSource, TableSections, TableGathering, TableIdentity,
  TableSupplementary, TableAccessories, TableDiagnostics
{
  /// How many rows a batch has at most.
  private static let batchRows = 1 << 14

  let columns = DirectoryColumn.declarations
  let hasVolatileOrder = true
  private let path: [UInt8]
  private let root: Int32
  private let listing: Listing
  private let isRecursive: Bool
  private let hasSections: Bool
  private let showsHidden: Bool
  private var traversal: Traversal
  private let cancel = CancelFlag()
  private var users = AccountNames(.user)
  private var groups = AccountNames(.group)
  /// Entries that could not be examined: how many, and the first with the reason.
  private var unexamined: (count: Int, first: (path: [UInt8], reason: String)?) = (0, nil)
  /// The folder whose path was made last.
  private var folderPath: (folder: Int, path: [UInt8]) = (0, [])

  init(
    path: [UInt8], showsHidden: Bool, isRecursive: Bool, hasSections: Bool
  ) throws(TableError) {
    self.path = path
    self.showsHidden = showsHidden
    self.isRecursive = isRecursive
    self.hasSections = hasSections
    root = (path + [0]).withUnsafeBufferPointer {
      $0.withMemoryRebound(to: CChar.self) {
        tabella_system_open_directory(AT_FDCWD, $0.baseAddress!, 1)
      }
    }
    listing = Listing(showsHidden: showsHidden)
    guard root >= 0 else {
      throw root == -ENOTDIR
        ? TableError(.invalidArgument, "is a file, not a directory")
        : .system(-root, "cannot be opened")
    }
    do throws(TableError) {
      _ = try listing.add(root, parent: nil, entry: nil)
    } catch {
      close(root)
      throw error
    }
    traversal = Traversal(listing, root: root, isRecursive: isRecursive)
  }

  deinit { close(root) }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }
  var sections: (any TableSections)? { hasSections ? self : nil }

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
    // The root by its name, the others below it.
    let name = folder == 0 ? path : listing.path(ofFolder: folder).dropLast()
    return String(decoding: name.isEmpty ? path : name, as: UTF8.self)
  }

  private func folder(ofSection section: Int) throws(TableError) -> Int {
    guard section >= 0 else { throw .noSection(section) }
    try go { $0.folders.count > section }
    guard section < traversal.folders.count else { throw .noSection(section) }
    return traversal.folders[section]
  }

  private func entries(ofSection section: Int) throws(TableError) -> Range<Int> {
    // The listing grows while the folder is looked for.
    let folder = try folder(ofSection: section)
    return listing.folders[folder].entries
  }

  private func go(until isEnough: (Traversal) -> Bool) throws(TableError) {
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

  /// The entries of some rows; empty at the end.
  private func entries(
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
    return try batch(entries, request.columns, includesIDs: request.includesIDs)
  }

  func rows(
    at paths: [IndexPath], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: numbers, includesIDs: includesIDs)
    cancel.begin()
    let entries = try paths.prefix(DirectorySource.batchRows).map { path throws(TableError) in
      try entry(at: path)
    }
    return try batch(entries, numbers, includesIDs: includesIDs)
  }

  private func batch(
    _ entries: [Int], _ numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    let wanted = numbers.compactMap(DirectoryColumn.init)
    let builder = BatchBuilder(
      numbers.map { columns[$0].type }, ids: includesIDs, capacity: entries.count)
    let needsStatus =
      wanted.contains { $0.needsStatus }
      || (wanted.contains(.kind) && entries.contains { listing.kind($0) == .unknown })
    let examined = needsStatus ? Examiner(root: root, listing: listing).examine(entries) : []
    noteErrors(examined, entries)
    for (cells, column) in zip(builder.columns, wanted) {
      switch column {
      case .name: appendNames(entries, to: cells)
      case .kind: appendKinds(entries, examined, to: cells)
      case .target: appendTargets(entries, to: cells)
      default: for one in examined { append(column, of: one, to: cells) }
      }
    }
    if let ids = builder.ids { for entry in entries { ids.append(id(of: entry)) } }
    return builder.finish(rowCount: entries.count)
  }

  private func appendNames(_ entries: [Int], to cells: ColumnBuilder) {
    guard isRecursive, !hasSections else {
      for entry in entries { listing.withName(entry) { cells.append(bytes: $0) } }
      return
    }
    for entry in entries {
      let path = relativePath(of: entry)
      path.withUnsafeBytes { cells.append(bytes: $0) }
    }
  }

  /// The path of an entry below the root.
  private func relativePath(of entry: Int) -> [UInt8] {
    guard isRecursive else { return listing.name(entry) }
    if !listing.folders[folderPath.folder].entries.contains(entry) {
      let folder = listing.folder(of: entry)
      folderPath = (folder, listing.path(ofFolder: folder))
    }
    return folderPath.path + listing.name(entry)
  }

  private func appendKinds(_ entries: [Int], _ examined: [Examined], to cells: ColumnBuilder) {
    for (index, entry) in entries.enumerated() {
      var kind = listing.kind(entry)
      if kind == .unknown, index < examined.count, examined[index].isGood {
        kind = EntryKind(mode: examined[index].status.mode)
      }
      cells.append(
        bytes: UnsafeRawBufferPointer(
          start: kind.name.utf8Start, count: kind.name.utf8CodeUnitCount))
    }
  }

  private func appendTargets(_ entries: [Int], to cells: ColumnBuilder) {
    let opener = FolderOpener(root: root, listing)
    for entry in entries {
      let kind = listing.kind(entry)
      guard kind == .link || kind == .unknown, let target = target(of: entry, opener) else {
        cells.appendMissing()
        continue
      }
      target.withUnsafeBytes { cells.append(bytes: $0) }
    }
  }

  private func target(of entry: Int, _ opener: FolderOpener) -> [UInt8]? {
    guard let directory = try? opener.descriptor(listing.folder(of: entry)) else { return nil }
    return listing.withName(entry) { name in
      var size = 256
      while true {
        var count = 0
        let target = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
          count = readlinkat(
            directory, name.baseAddress!.assumingMemoryBound(to: CChar.self),
            UnsafeMutableRawPointer(buffer.baseAddress!).assumingMemoryBound(to: CChar.self), size)
          filled = max(0, count)
        }
        if count < 0 { return nil }
        // A target that fills the buffer may be longer.
        if count < size { return target }
        size *= 4
      }
    }
  }

  private func append(
    _ column: DirectoryColumn, of examined: Examined, to cells: ColumnBuilder
  ) {
    guard examined.isGood else { return cells.appendMissing() }
    let status = examined.status
    switch column {
    case .size: cells.append(Int64(clamping: status.size))
    case .modified:
      if let moment = Timestamp(
        seconds: status.modified, nanoseconds: Int64(status.modified_rest))
      {
        cells.append(moment)
      } else {
        cells.appendMissing()
      }
    case .mode: withUnsafeBytes(of: permissions(status.mode)) { cells.append(bytes: $0) }
    case .owner: users[status.owner].withUnsafeBytes { cells.append(bytes: $0) }
    case .group: groups[status.group].withUnsafeBytes { cells.append(bytes: $0) }
    case .links: cells.append(Int64(status.links))
    case .name, .kind, .target: break
    }
  }

  private func noteErrors(_ examined: [Examined], _ entries: [Int]) {
    for (index, one) in examined.enumerated() where !one.isGood {
      unexamined.count += 1
      if unexamined.first == nil {
        unexamined.first = (listing.path(of: entries[index]), reason(one.error))
      }
    }
  }

  private func reason(_ error: Int32) -> String {
    error == ENOENT ? "has vanished" : String(cString: strerror(error))
  }

  // Ids and version

  private func id(of entry: Int) -> String {
    let path = relativePath(of: entry)
    let digest = path.withUnsafeBytes { digest64($0) }
    return "\(String(listing.inodes[entry], radix: 16)).\(String(digest, radix: 16))"
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    cancel.begin()
    let inode = id.split(separator: ".").first.flatMap { UInt64($0, radix: 16) }
    var isFound = false
    var checked = 0
    // As far as it takes to find it.
    try go { traversal in
      for row in checked..<traversal.order.count {
        let entry = Int(traversal.order[row])
        isFound = listing.inodes[entry] == inode && self.id(of: entry) == id
        if isFound { return true }
        checked = row + 1
      }
      return false
    }
    while !isFound, checked < traversal.order.count {
      let entry = Int(traversal.order[checked])
      isFound = listing.inodes[entry] == inode && self.id(of: entry) == id
      if !isFound { checked += 1 }
    }
    guard isFound else {
      throw TableError(.notFound, "there is no entry with the id \(id); it was renamed or is gone")
    }
    let entry = Int(traversal.order[checked])
    guard hasSections else { return IndexPath(section: 0, row: checked) }
    let folder = listing.folder(of: entry)
    guard let section = traversal.folders.firstIndex(of: folder) else {
      throw TableError(.internal, "a folder with entries is no section")
    }
    return IndexPath(
      section: section, row: entry - listing.folders[folder].entries.lowerBound)
  }

  func version() throws(TableError) -> Version? {
    cancel.begin()
    try go { _ in false }
    var digest: UInt64 = 0
    for folder in traversal.folders {
      var bytes = listing.path(ofFolder: folder)
      for entry in listing.folders[folder].entries {
        listing.withName(entry) { bytes += $0 }
        bytes.append(0)
        withUnsafeBytes(of: listing.inodes[entry]) { bytes += $0 }
      }
      withUnsafeBytes(of: digest) { bytes += $0 }
      digest = bytes.withUnsafeBytes { digest64($0) }
    }
    return Version(String(digest, radix: 16))
  }

  // Beside the rows

  func supplementaryKinds() -> [String] { ["badge"] }

  /// The badge of a folder says how many entries it has; that of any other, what is wrong with it.
  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    guard kind == "badge", !path.isSection else { return nil }
    cancel.begin()
    let entry = try entry(at: path)
    let opener = FolderOpener(root: root, listing)
    func warning(_ text: String) -> SupplementaryElement {
      .text(StyledText(text, spans: [.init(0..<text.utf8.count, .warning)]))
    }
    do throws(TableError) {
      let directory = try opener.descriptor(listing.folder(of: entry))
      var followed = stat()
      let (examined, result) = listing.withName(entry) { name in
        let name = name.baseAddress!.assumingMemoryBound(to: CChar.self)
        var status = tabella_status()
        let error = -tabella_system_status(directory, name, &status)
        return (
          Examined(status: status, error: error),
          fstatat(directory, name, &followed, 0) == 0 ? 0 : errno
        )
      }
      guard examined.isGood else { return warning(reason(examined.error)) }
      switch EntryKind(mode: examined.status.mode) {
      case .directory:
        let descriptor = try opener.open(entry, in: directory)
        defer { close(descriptor) }
        let own = Listing(showsHidden: showsHidden)
        _ = try own.add(descriptor, parent: nil, entry: nil)
        return .text(StyledText(own.count == 1 ? "1 entry" : "\(own.count) entries"))
      case .link where result == ELOOP: return warning("a loop of links")
      case .link where result == ENOENT: return warning("leads nowhere")
      case .link where result != 0: return warning(reason(result))
      default: return nil
      }
    } catch {
      return warning("unreadable: \(error.message)")
    }
  }

  private func entry(at path: IndexPath) throws(TableError) -> Int {
    // Nearly always it is listed already.
    if !hasSections, path.section == 0, traversal.order.indices.contains(path.row) {
      return Int(traversal.order[path.row])
    }
    guard path.row >= 0, let entry = try entries(path.row, 1, ofSection: path.section).first else {
      throw .noRow(path.row, inSection: path.section, of: path.row)
    }
    return entry
  }

  /// Folders and files lead to themselves, links to what they lead to.
  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    cancel.begin()
    let entry = try entry(at: path)
    let opener = FolderOpener(root: root, listing)
    guard let directory = try? opener.descriptor(listing.folder(of: entry)) else { return nil }
    var status = stat()
    let result = listing.withName(entry) {
      fstatat(directory, $0.baseAddress!.assumingMemoryBound(to: CChar.self), &status, 0)
    }
    guard result == 0, [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { return nil }
    var location = self.path
    // A path must not be taken for SCHEME:REST, nor for an option.
    let first = location.prefix { $0 != UInt8(ascii: "/") }
    if first.contains(UInt8(ascii: ":")) || first.first == UInt8(ascii: "-") {
      location = Array("./".utf8) + location
    }
    if location.last != UInt8(ascii: "/") { location.append(UInt8(ascii: "/")) }
    return location + relativePath(of: entry)
  }

  // Remarks

  func nextDiagnostic() -> Diagnostic? {
    if let first = traversal.takeUnreadable() {
      return remark(first.count, "folder", "be read", first.path, first.reason)
    }
    guard let first = unexamined.first else { return nil }
    defer { unexamined = (0, nil) }
    return remark(unexamined.count, "entry", "be examined", first.path, first.reason)
  }

  private func remark(
    _ count: Int, _ noun: String, _ what: String, _ path: [UInt8], _ reason: String
  ) -> Diagnostic {
    let many = noun == "entry" ? "entries" : "\(noun)s"
    let name = String(decoding: path, as: UTF8.self)
    return Diagnostic(
      .warning,
      count == 1
        ? "1 \(noun) could not \(what): \(name): \(reason)"
        : "\(count) \(many) could not \(what); the first: \(name): \(reason)")
  }
}
