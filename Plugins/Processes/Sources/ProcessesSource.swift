import Tabella
import TabellaFiles
import TabellaSDK

/// The processes that ran when the source was made, sorted by pid.
final class ProcessesSource: ProviderSource, TableIdentity, TableSupplementary {
  /// The number of bytes of text after which a batch ends early.
  private static let batchSize = 4 << 20

  let columns = ProcessColumn.declarations
  let hasVolatileOrder = true
  let procfs: Procfs
  /// The current listing. Each commit replaces it.
  var snapshot: Snapshot
  let termination: TerminationOptions
  let cancel = CancelFlag()
  /// Notifies while a listener is set.
  var ticker: ProcessTicker?
  /// The columns that callers have requested.
  private(set) var shown: Set<ProcessColumn> = []
  private var id: [UInt8] = []

  /// Lists the processes under `root`. Only tests use another folder than `/proc`.
  init(root: String = "/proc", termination: TerminationOptions = TerminationOptions())
    throws(TableError)
  {
    procfs = try Procfs(root: root)
    snapshot = try Snapshot(procfs)
    self.termination = termination
  }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(snapshot.pids.count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    let rest = snapshot.pids.count - request.first
    guard rest >= 0 else { throw .noRow(request.first, inSection: 0, of: snapshot.pids.count) }
    let wanted = request.columns.compactMap(ProcessColumn.init)
    shown.formUnion(wanted)
    let neededFiles = NeededFiles(wanted, ids: request.includesIDs)
    let limit = min(request.count, rest)
    let builder = BatchBuilder(for: request, of: columns, capacity: limit)
    var count = 0
    while count < limit, byteCount(of: builder) < ProcessesSource.batchSize {
      let row = request.first + count
      let process = try snapshot.process(row, neededFiles)
      try append(wanted, of: process, row, to: builder)
      count += 1
    }
    return builder.finish(rowCount: count)
  }

  private func byteCount(of builder: BatchBuilder) -> Int {
    builder.columns.reduce(0) { $0 + $1.byteCount }
  }

  private func append(
    _ wanted: [ProcessColumn], of process: Snapshot.Process?, _ row: Int, to builder: BatchBuilder
  ) throws(TableError) {
    for (cells, column) in zip(builder.columns, wanted) {
      try append(column, of: process, row, to: cells)
    }
    if let ids = builder.ids {
      try makeID(of: process, row)
      id.withUnsafeBytes { ids.append(bytes: $0) }
    }
  }

  private func append(
    _ column: ProcessColumn, of process: Snapshot.Process?, _ row: Int, to cells: ColumnBuilder
  ) throws(TableError) {
    if column == .pid { return cells.append(Int64(snapshot.pids[row])) }
    guard let process else { return cells.appendMissing() }
    switch column {
    case .pid: break
    case .parent: cells.append(process.parent)
    case .user: snapshot.name(of: process.user).withUnsafeBytes { cells.append(bytes: $0) }
    case .state: withUnsafeBytes(of: process.state) { cells.append(bytes: $0) }
    case .nice: cells.append(process.nice)
    case .cpu: cells.append(process.cpu)
    case .memory: append(process.memory.value, to: cells)
    case .started: append(try snapshot.moment(ofTick: process.start), to: cells)
    case .command: append(process.command, to: cells)
    case .arguments: append(process.arguments.value, to: cells)
    }
  }

  private func append(_ value: Int64?, to cells: ColumnBuilder) {
    if let value { cells.append(value) } else { cells.appendMissing() }
  }

  private func append(_ value: Timestamp?, to cells: ColumnBuilder) {
    if let value { cells.append(value) } else { cells.appendMissing() }
  }

  private func append(_ text: Snapshot.Text?, to cells: ColumnBuilder) {
    guard let text else { return cells.appendMissing() }
    snapshot.withBytes(of: text) { cells.append(bytes: $0) }
  }

  // Ids and version

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    let parts = id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let number = decimal(parts[0]), let pid = Int32(exactly: number) else {
      throw TableError(
        .notFound,
        "the id is not a process id of this table. To choose by pid, use --filter 'pid = 1'")
    }
    guard let row = snapshot.row(ofPID: pid) else { throw ended(id) }
    try makeID(of: snapshot.process(row, .process), row)
    guard self.id.elementsEqual(id.utf8) else { throw ended(id) }
    return IndexPath(section: 0, row: row)
  }

  private func ended(_ id: String) -> TableError {
    TableError(.notFound, "the process \(id) has ended or never existed")
  }

  func version() throws(TableError) -> Version? { try version(of: snapshot) }

  func version(of snapshot: Snapshot) throws(TableError) -> Version? {
    if let version = snapshot.version { return version }
    var ids: [UInt8] = []
    for row in snapshot.pids.indices {
      try makeID(of: snapshot.process(row, .process), row, in: snapshot)
      ids += id
      ids.append(0)
    }
    snapshot.version = Version(String(ids.withUnsafeBytes { digest64($0) }, radix: 16))
    return snapshot.version
  }

  private func makeID(of process: Snapshot.Process?, _ row: Int) throws(TableError) {
    try makeID(of: process, row, in: snapshot)
  }

  /// Writes the row's id into ``id``: the pid, the start in ticks or `gone`, and the boot.
  private func makeID(
    of process: Snapshot.Process?, _ row: Int, in snapshot: Snapshot
  ) throws(TableError) {
    id.removeAll(keepingCapacity: true)
    id.append(contentsOf: String(snapshot.pids[row]).utf8)
    id.append(UInt8(ascii: "."))
    id.append(contentsOf: (process.map { String($0.start) } ?? "gone").utf8)
    id.append(UInt8(ascii: "."))
    id.append(contentsOf: try snapshot.boot())
  }

  // Details

  func supplementaryKinds() -> [String] { ["details"] }

  /// The details of a process, as a table of names and values.
  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    guard kind == "details", !path.isSection else { return nil }
    guard path.section == 0 else { throw .noSection(path.section) }
    guard snapshot.pids.indices.contains(path.row) else {
      throw .noRow(path.row, inSection: 0, of: snapshot.pids.count)
    }
    return try snapshot.details(path.row).map { details in
      .table(
        InMemorySource(
          [Column("name"), Column("value")], rows: details.facts.map { [.text($0.name), $0.value] })
      )
    }
  }
}
