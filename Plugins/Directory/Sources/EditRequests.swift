import Tabella

/// The requests of a batch per entry, parsed from its cells and paths. Nothing is checked against the file system.
struct EditRequests {
  /// A requested value and the index of the edit that requests it.
  struct Requested<Value> {
    var value: Value
    var edit: Int
  }

  /// The requested changes of an existing entry.
  struct Change {
    var name: Requested<[UInt8]>?
    /// The number of the new folder.
    var folder: Requested<Int>?
    var mode: Requested<UInt32>?
    var modified: Requested<Moment>?
    var deletion: Requested<Void>?
    /// Whether an edit sets cells, even to their present values.
    var isSet = false
    /// Whether an edit sets or deletes the entry's section. Then no other edit may name the entry.
    var isOfSection = false

    var isEmpty: Bool { name == nil && folder == nil && mode == nil && modified == nil }
  }

  /// The request for a new entry, and the index of the edit that requests it.
  struct CreationRequest {
    var place: FolderEntry
    var creation: Creation
    var edit: Int
  }

  /// The entry that an edit changes.
  enum Subject {
    case entry(Int)
    /// A new entry, by its index in ``creations``.
    case new(Int)
  }

  /// The entries in the order in which the batch first names them.
  private(set) var entries: [Int] = []
  private(set) var changes: [Int: Change] = [:]
  private(set) var creations: [CreationRequest] = []
  /// The subject of each edit.
  private(set) var subjects: [Subject] = []

  private let source: DirectorySource

  init(_ edits: [EditBatch.Edit], _ source: DirectorySource) throws(TableError) {
    self.source = source
    try checkSections(edits)
    for (index, edit) in edits.enumerated() {
      switch edit {
      case .insert(let target, _) where target.isSection:
        subjects.append(.new(creations.count))
        try insertSection(titled: edit.title, at: target.section, index)
      case .delete(let row) where row.isSection:
        try changeSection(row) { change, _, _ throws(TableError) in
          change.deletion = Requested(value: (), edit: index)
        }
      case .set(let row, _) where row.isSection:
        let source = source
        try changeSection(row) { change, entry, section throws(TableError) in
          change.isSet = true
          let name = try source.name(ofSection: section, entry, titled: edit.title)
          change.name = Requested(value: name, edit: index)
        }
      case .insert(let target, let cells):
        subjects.append(.new(creations.count))
        try insert(at: target, cells, index)
      case .delete(let row):
        try change(row) { change, _ throws(TableError) in
          guard change.deletion == nil else {
            throw TableError(.invalidArgument, "a row is deleted twice")
          }
          change.deletion = Requested(value: (), edit: index)
        }
      case .set(let row, let cells):
        let source = source
        try change(row) { change, entry throws(TableError) in
          change.isSet = true
          for (column, cell) in cells.sorted(by: { $0.key < $1.key }) {
            try EditRequests.set(column, cell, of: entry, &change, index, source)
          }
        }
      case .move(let row, let target): try move(row, to: target, index)
      }
    }
    for (entry, change) in changes where change.deletion != nil && (change.isSet || !change.isEmpty)
    {
      throw TableError(
        .invalidArgument, "\(source.text(entry)) is deleted and changed in the same batch")
    }
  }

  private mutating func change(
    _ row: RowReference,
    _ body: (inout Change, Int) throws(TableError) -> Void
  ) throws(TableError) {
    let entry = try source.entry(row)
    subjects.append(.entry(entry))
    if changes[entry] == nil { entries.append(entry) }
    var change = changes[entry] ?? Change()
    if change.isOfSection { throw EditRequests.namedTwice(source, entry) }
    try body(&change, entry)
    changes[entry] = change
  }

  // Sections

  /// Checks the rules for section edits that need no file system: titles are valid, and no edit names an index path
  /// that another edit of the batch makes ambiguous.
  private func checkSections(_ edits: [EditBatch.Edit]) throws(TableError) {
    guard edits.contains(where: \.isOfSection) else {
      return try source.check(titlesIn: EditBatch(edits))
    }
    guard source.hasSections else {
      throw TableError(
        .notSupported,
        "the rows of a folder are not sections; use -o sections=folder to show each folder as a section"
      )
    }
    try source.check(titlesIn: EditBatch(edits))
    for edit in edits {
      switch edit {
      case .move(let row, _) where row.isSection:
        throw TableError(
          .constraint,
          "the sections are in the order of their folders' names; to move a folder to another one, move its row"
        )
      case .insert(let target, _) where !target.isSection:
        throw EditRequests.indexPathsAreAmbiguous
      case .move: throw EditRequests.indexPathsAreAmbiguous
      default: break
      }
    }
  }

  /// Renaming, creating or deleting a folder changes the numbers of the sections after it.
  private static let indexPathsAreAmbiguous = TableError(
    .notSupported,
    "sections are in the order of their names, so a batch that edits sections cannot know positions in them: "
      + "insert and move rows in another batch")

  private static func namedTwice(_ source: DirectorySource, _ entry: Int) -> TableError {
    TableError(
      .invalidArgument,
      "the folder \(source.text(entry)) is named twice, by its section and by another edit")
  }

  private mutating func changeSection(
    _ row: RowReference,
    _ body: (inout Change, _ entry: Int, _ section: Int) throws(TableError) -> Void
  ) throws(TableError) {
    guard case .path(let path) = row else { return }
    let folder = try source.folder(ofSection: path.section)
    guard let entry = source.listing.folders[folder].entry else {
      throw TableError(
        .constraint,
        "section \(path.section) is the opened folder, which cannot be edited",
        section: path.section)
    }
    guard changes[entry] == nil else { throw EditRequests.namedTwice(source, entry) }
    subjects.append(.entry(entry))
    entries.append(entry)
    var change = Change(isOfSection: true)
    try body(&change, entry, path.section)
    changes[entry] = change
  }

  private mutating func insertSection(
    titled title: String?, at section: Int, _ edit: Int
  ) throws(TableError) {
    guard let title else {
      throw TableError(.constraint, "a new folder needs a name: add title=PATH")
    }
    let count = try source.numberOfSections(knowing: .max).value
    guard 0...count ~= section else { throw .noSection(section) }
    var creation = Creation()
    creation.kind = .directory
    let place = try source.place(ofPath: Array(title.utf8))
    creations.append(CreationRequest(place: place, creation: creation, edit: edit))
  }

  // Cells

  private static func set(
    _ number: Int, _ cell: Cell, of entry: Int, _ change: inout Change, _ edit: Int,
    _ source: DirectorySource
  ) throws(TableError) {
    switch try column(number) {
    case .name:
      let place = try source.place(of: try text(cell, .name), renaming: entry)
      change.name = Requested(value: place.name, edit: edit)
      if place.folder != source.listing.folder(of: entry) {
        change.folder = Requested(value: place.folder, edit: edit)
      }
    case .mode: change.mode = Requested(value: try mode(cell), edit: edit)
    case .modified: change.modified = Requested(value: try moment(cell), edit: edit)
    case let column: throw readOnly(column)
    }
  }

  private static func column(_ number: Int) throws(TableError) -> DirectoryColumn {
    guard let column = DirectoryColumn(rawValue: number) else {
      throw TableError(.invalidArgument, "there is no column \(number)", column: number)
    }
    return column
  }

  private static func readOnly(_ column: DirectoryColumn) -> TableError {
    TableError(
      .readOnly, "\(column) cannot be set; name, mode and modified can",
      column: column.rawValue)
  }

  private static func wrong(_ column: DirectoryColumn, _ rule: String) -> TableError {
    TableError(.constraint, "\(column) must be \(rule)", column: column.rawValue)
  }

  private static func text(_ cell: Cell, _ column: DirectoryColumn) throws(TableError) -> [UInt8] {
    guard case .text(let text) = cell else { throw wrong(column, "text") }
    return text
  }

  private static func mode(_ cell: Cell) throws(TableError) -> UInt32 {
    guard let mode = parsePermissions(try text(cell, .mode)) else {
      throw wrong(.mode, "permissions like rwxr-xr-x, or octal like 644")
    }
    return mode
  }

  private static func moment(_ cell: Cell) throws(TableError) -> Moment {
    guard case .date(let date) = cell else { throw wrong(.modified, "a date") }
    return Moment(date)
  }

  // Insertions

  private mutating func insert(
    at target: IndexPath, _ cells: [Int: Cell], _ edit: Int
  ) throws(TableError) {
    var creation = Creation()
    var name: [UInt8]?
    var hasTarget = false
    for (number, cell) in cells.sorted(by: { $0.key < $1.key }) where cell != .missing {
      switch try EditRequests.column(number) {
      case .name: name = try EditRequests.text(cell, .name)
      case .kind:
        let kinds: [EntryKind] = [.file, .directory, .link]
        guard
          let kind = kinds.first(where: {
            Array("\($0.name)".utf8) == (try? Self.text(cell, .kind))
          })
        else { throw EditRequests.wrong(.kind, "file, directory or link") }
        creation.kind = kind
      case .target:
        creation.target = try EditRequests.text(cell, .target)
        hasTarget = true
      case .mode: creation.mode = try EditRequests.mode(cell)
      case .modified: creation.modified = try EditRequests.moment(cell)
      case let column:
        throw TableError(
          .readOnly, "\(column) cannot be chosen for a new entry", column: column.rawValue)
      }
    }
    guard let name else {
      throw TableError(
        .constraint,
        "a new entry needs a name: add name=NAME (and kind=directory for a folder)")
    }
    try EditRequests.check(creation, hasTarget: hasTarget)
    let place = try source.place(ofNew: name, inSection: target.section)
    creations.append(CreationRequest(place: place, creation: creation, edit: edit))
  }

  private static func check(_ creation: Creation, hasTarget: Bool) throws(TableError) {
    guard creation.kind == .link else {
      if hasTarget { throw wrong(.target, "missing, except for the kind link") }
      return
    }
    if creation.mode != nil { throw wrong(.mode, "missing, because a link has no mode") }
    let longest = 4095
    guard (1...longest).contains(creation.target.count), !creation.target.contains(0) else {
      throw wrong(.target, "1 to \(longest) bytes without NUL")
    }
  }

  // Moves

  private mutating func move(
    _ row: RowReference, to target: IndexPath, _ edit: Int
  ) throws(TableError) {
    guard source.hasSections else {
      throw TableError(
        .notSupported,
        "rows are in the order of their names; to move files between folders, set the name to another path (-o recursive=true), or move rows between sections (-o sections=folder)"
      )
    }
    let source = source
    try change(row) { change, entry throws(TableError) in
      guard change.folder == nil else {
        throw TableError(.invalidArgument, "\(source.text(entry)) is moved twice")
      }
      let folder = try source.folder(ofSection: target.section)
      if folder == source.listing.folder(of: entry) {
        // A move to the present index path is allowed.
        guard try source.path(of: entry) == target else { throw DirectorySource.orderIsByName }
        return
      }
      change.folder = Requested(value: folder, edit: edit)
    }
  }
}

extension DirectorySource {
  static let orderIsByName = TableError(
    .constraint, "rows of a folder are in the order of their names")

  /// The entry of a row.
  func entry(_ row: RowReference) throws(TableError) -> Int {
    switch row {
    case .id(let id): return try entry(at: indexPath(forID: id))
    case .path(let path):
      guard !path.isSection else {
        throw TableError(.constraint, "a section is a folder: edit that folder's row instead")
      }
      return try entry(at: path)
    }
  }

  /// The path of an entry, as text for people.
  func text(_ entry: Int) -> String { readable(listing.path(of: entry)) }

  /// The folder and name that a new value of the column `name` means. In a tree, the value is a path.
  fileprivate func place(
    of value: [UInt8], renaming entry: Int
  ) throws(TableError) -> FolderEntry {
    let folder = listing.folder(of: entry)
    let path = showsPaths ? listing.path(ofFolder: folder) : []
    let name = value.dropFirst(path.count)
    // The fast path: the folder stays the same.
    let stays =
      !showsPaths
      || (value.starts(with: path) && !name.isEmpty && !name.contains(UInt8(ascii: "/")))
    return try stays ? place(Array(name), in: folder) : place(ofPath: value)
  }

  /// The folder and name of a new entry: in the folder of its section or, in a tree, at its path.
  fileprivate func place(
    ofNew value: [UInt8], inSection section: Int
  ) throws(TableError) -> FolderEntry {
    if hasSections {
      return try place(value, in: folder(ofSection: section))
    }
    guard section == 0 else { throw .noSection(section) }
    return try showsPaths ? place(ofPath: value) : place(value, in: 0)
  }

  /// The name that a new title gives to the folder of a section. A title is the folder's path below the root.
  fileprivate func name(
    ofSection section: Int, _ entry: Int, titled title: String?
  ) throws(TableError) -> [UInt8] {
    let path = listing.path(ofFolder: listing.folder(of: entry))
    guard let title else {
      throw TableError(
        .constraint, "the title of a section is its folder's path, which cannot be missing",
        section: section)
    }
    let place = try place(ofPath: Array(title.utf8))
    guard place.folder == listing.folder(of: entry) else {
      throw TableError(
        .constraint,
        "the title of a section is the path of its folder; only the last name of it can change: "
          + "\(readable(path))NAME; to move a folder to another one, move its row",
        section: section)
    }
    return place.name
  }

  fileprivate func place(ofPath path: [UInt8]) throws(TableError) -> FolderEntry {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return try place(path, in: 0) }
    let folder = Array(path[...slash])
    guard let number = try folderNumber(folder) else {
      throw TableError(
        .notFound, "there is no folder \(readable(folder))",
        column: DirectoryColumn.name.rawValue)
    }
    let name = Array(path[(slash + 1)...])
    guard !name.isEmpty else {
      throw TableError(
        .constraint, "\(readable(path)) has no name at its end: write \(readable(path))NAME",
        column: DirectoryColumn.name.rawValue)
    }
    return try place(name, in: number)
  }

  private func place(_ name: [UInt8], in folder: Int) throws(TableError) -> FolderEntry {
    try EntryName.check(name)
    return FolderEntry(folder: folder, name: name)
  }

  /// The number of a folder by its path, which ends with a slash; nil if there is none.
  private func folderNumber(_ path: [UInt8]) throws(TableError) -> Int? {
    let index = try index()
    let names = path.dropLast().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return names.reduce(0) { folder, name in
      folder.flatMap { listing.entry(named: Array(name), in: $0) }.flatMap(index.folder)
    }
  }
}
