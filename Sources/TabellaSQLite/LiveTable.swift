import Tabella
import TabellaHost

/// A location, its table at the version that statements see, and the staged edits of a transaction.
///
/// A statement sees the newest version. While another statement reads the table, or while edits are staged, the version
/// stays.
final class LiveTable {
  let connection: Connection
  let arguments: TableArguments
  /// The options as the arguments of the table function, by number.
  var optionTexts: [Int: String] = [:]
  private(set) var opened: OpenedTable
  /// The state of the file when the location was opened; nil if it is unknown.
  private var file: FileState?
  /// The columns at the time of the declaration. An edit can change the types that the text of a file reads as.
  let declared: [Column]
  /// Whether the table belongs to the table function, which shows any columns.
  private let isOfFunction: Bool
  /// Whether the location was opened for the statement that reads it next.
  private var isFresh = true
  private var isLost = false
  private(set) var readers = 0
  /// The edits of the transaction.
  var staged = StagedEdits()
  /// The savepoints of the transaction, with the state of ``staged`` at each.
  var savepoints: [(number: Int32, state: Int)] = []
  /// The number of the next inserted row. A number is never used twice.
  var nextInserted = 1
  /// The receipt of the edits, from the commit of this table to the end of the whole transaction.
  var receipt: Receipt?
  /// The numbers of rows in the present version.
  private var numbering: RowNumbering? {
    didSet { if numbering == nil { knownEditability = KnownEditability() } }
  }
  /// The rows of the present version that the transaction has asked about.
  var knownEditability = KnownEditability()

  init(
    _ connection: Connection, _ arguments: TableArguments, isOfFunction: Bool
  ) throws(TableError) {
    self.connection = connection
    self.arguments = arguments
    self.isOfFunction = isOfFunction
    file = FileState(of: arguments.location)
    do throws(TableError) {
      opened = try connection.open(arguments, for: .reading)
    } catch {
      throw error.about(arguments.location.description)
    }
    declared = opened.source.columns
  }

  /// The table at its present version, without staged edits.
  var source: any TableDataSource { opened.source }

  /// Runs `body`. Errors name the location. If the provider ended, the next statement opens the location again.
  func running<R>(_ body: () throws(TableError) -> R) throws(TableError) -> R {
    do throws(TableError) { return try body() } catch {
      if error.isProviderGone { isLost = true }
      guard error != .changedPlan else { throw error }
      throw error.about(arguments.location.description)
    }
  }

  /// The table with the staged edits. It is made in constant time.
  var present: any TableDataSource { staged.isEmpty ? source : StagedSource(source, staged) }

  /// Begins to read for a statement.
  func beginReading() throws(TableError) {
    try refreshIfUnused()
    readers += 1
  }

  /// Moves to the newest version, unless a statement reads the table or edits are staged.
  func refreshIfUnused() throws(TableError) {
    if readers == 0, staged.isEmpty { try refresh() }
  }

  func endReading() { readers -= 1 }

  /// Notes that time passes before the first statement, so that it looks for a newer version.
  func expire() { isFresh = false }

  /// Moves to the newest version.
  private func refresh() throws(TableError) {
    defer { isFresh = false }
    if isFresh { return }
    let newest = fileState()
    if !isLost, let file, let newest, file.isKept(in: newest) { return }
    numbering = nil
    // The table of a file that is gone may still show its last rows. A statement must not.
    let manifest = try connection.host.manifest(for: arguments.location)
    if manifest.id != opened.manifest.id { isLost = true }
    // A pull would read a whole file for the digests of its rows. It is faster to open the file again.
    if !isLost, newest == nil, let changes = source.changes {
      do throws(TableError) {
        _ = try changes.pull()
        return try checkColumns(of: source)
      } catch {
        // The location is opened again, which also explains an error.
      }
    }
    try reopen()
  }

  /// The state of the file, if the table shows the bytes of a file and nothing else. Only shipped providers, which are in
  /// this process, are known to do so.
  private func fileState() -> FileState? {
    opened.worker == nil ? FileState(of: arguments.location) : nil
  }

  private func reopen() throws(TableError) {
    let state = fileState()
    let table = try connection.open(arguments, for: .reading)
    // The table that is open stays if the columns differ, so that the next statement gets the same error.
    try checkColumns(of: table.source)
    (opened, file, isLost, numbering) = (table, state, false, nil)
  }

  /// Shows the table that a commit has moved, or opens the location anew.
  func follow(_ committed: OpenedTable?) {
    numbering = nil
    staged = StagedEdits()
    savepoints = []
    if let committed { opened = committed } else { isLost = true }
    isFresh = false
  }

  /// Throws if the columns of a table are no longer those that SQLite knows.
  private func checkColumns(of table: any TableDataSource) throws(TableError) {
    let columns = table.columns
    guard
      isOfFunction
        || columns.count == declared.count
          && zip(columns, declared).allSatisfy({ $0.name == $1.name && $0.type == $1.type })
    else {
      throw TableError(.conflict, "the columns have changed; connect again to see them")
    }
  }

  /// Throws if the columns of the present version are no longer those that SQLite knows. A pull can have changed them.
  func checkColumns() throws(TableError) { try checkColumns(of: source) }

  /// The numbers of the rows of the present version.
  func rowNumbering() throws(TableError) -> RowNumbering {
    if let numbering { return numbering }
    let made = try RowNumbering(source)
    numbering = made
    return made
  }
}

/// The row ids of SQL for one version of a table.
///
/// A row id consists of a digest of the version, and of the number of the row through all sections. So a row id from
/// another version is not taken for a row of this one. Rows that a transaction inserts have negative row ids.
final class RowNumbering {
  private static let digits: Int64 = 39
  private let source: any TableDataSource
  private let stamp: Int64
  /// The number of rows in front of each section, as far as it is known.
  private var offsets = [0]

  init(_ source: any TableDataSource) throws(TableError) {
    self.source = source
    // Without versions, each opened table has a stamp of its own.
    let token = try source.version()?.token ?? "\(UInt64.random(in: 0 ... .max))"
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in token.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    stamp = Int64((digest ^ (digest >> 32)) & 0xFF_FFFF)
  }

  func rowID(of path: IndexPath) throws(TableError) -> Int64 {
    let number = try offset(ofSection: path.section) + path.row
    guard number < 1 << RowNumbering.digits else {
      throw TableError(
        .notSupported, "a table of SQL has at most \(1 << RowNumbering.digits) rows with row ids",
        section: path.section, row: path.row)
    }
    return (stamp << RowNumbering.digits) | Int64(number)
  }

  /// The path of a row; nil if there is no such row. Throws ``TableError`` with `.conflict` for a row of another version.
  /// - Complexity: O(log n) for a row in front of the last section that was asked for.
  func path(of rowID: Int64) throws(TableError) -> IndexPath? {
    guard rowID >> RowNumbering.digits == stamp else {
      throw TableError(
        .conflict,
        "the row id \(rowID) is from another version of the table; read the row again")
    }
    let number = Int(rowID & ((1 << RowNumbering.digits) - 1))
    var section = partition(offsets.count) { offsets[$0] > number } - 1
    if section + 1 < offsets.count {
      return IndexPath(section: section, row: number - offsets[section])
    }
    while try source.numberOfSections(knowing: section + 1).value > section {
      let row = number - (try offset(ofSection: section))
      if try source.numberOfRows(inSection: section, knowing: row + 1).value > row {
        return IndexPath(section: section, row: row)
      }
      section += 1
    }
    return nil
  }

  private func offset(ofSection section: Int) throws(TableError) -> Int {
    while offsets.count <= section {
      let last = offsets.count - 1
      offsets.append(offsets[last] + (try source.exactNumberOfRows(inSection: last)))
    }
    return offsets[section]
  }
}
