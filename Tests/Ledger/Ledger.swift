import Glibc
import TabellaSDK

/// An editable provider for tests: a table in a small file. Each commit rewrites the file.
///
/// The first line contains the columns (`name:text count:integer`). A line `# TITLE` begins a section. Every other line
/// is a row with tabs between its cells and `\N` for missing cells. The first cell is the row's id.
public struct Ledger: Provider {
  public static let id = "ledger"
  public static let version = "1"
  public static var options: [OptionDeclaration] {
    [
      .init("volatile", .boolean, summary: "say that the order changes by itself"),
      .init("read-only", .boolean, summary: "do not edit"),
      .init("moves", .boolean, summary: "reorder rows"),
      .init("undoes", .boolean, summary: "give receipts"),
      .init("final", .boolean, summary: "say that no receipt takes a deletion back"),
      .init("ids", .boolean, summary: "have ids"),
      .init("versions", .boolean, summary: "have versions"),
      .init("refuse", summary: "ids of rows that are not edited, with commas between them"),
      .init("code", .integer, summary: "the code that they are refused with"),
      .init("remark", summary: "what is said of each edit"),
      .init("lies", .boolean, summary: "commit, then answer against the contract"),
      .init("fails", .integer, summary: "the code that a commit throws"),
      .init("trouble", summary: "what goes wrong once it is done"),
      .init("pause", .integer, summary: "milliseconds that pass once it is done"),
      .init(
        "churn", .boolean, summary: "as if another program changed the file at the same moment"),
      .init("halves", .boolean, summary: "take back the first of several lines only"),
      .init("memory", .boolean, summary: "return a table in memory, which nobody writes"),
      .init("loses", .boolean, summary: "say that an edit is done, and write nothing"),
      .init("adds", .boolean, summary: "a row that begins with + stands for a new row"),
      .init("display", .boolean, summary: "take notices of what is on show"),
      .init("stops", .boolean, summary: "try nothing behind an edit that is refused"),
      .init("acts", .boolean, summary: "make the edit in a dry run, too"),
      .init("keeps", .boolean, summary: "say that an undo is done, and write nothing"),
      .init("crashes", summary: "where its process ends: edit (once it is done) or release"),
    ]
  }

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let source = try LedgerSource(request)
    return source.isOn("memory", by: false) ? source.table : source
  }
}

final class LedgerSource: ProviderSource {
  private typealias Section = (
    header: String?, footer: String?, indexTitle: String?, rows: [[Cell]]
  )

  private(set) var columns: [Column] = []
  private let path: [UInt8]
  private let options: [String: String]
  private var content: [UInt8] = []
  private(set) var table = InMemorySource([], sections: [])
  private var rows: [[[Cell]]] = []
  private var titles: [String?] = []

  init(_ request: OpenRequest) throws(TableError) {
    path = request.location
    options = request.options
    try load()
  }

  deinit { crash("release") }

  /// Ends the process if the option `crashes` names this place.
  private func crash(_ place: String) {
    if options["crashes"] == place { kill(getpid(), SIGSEGV) }
  }

  private func isFinal(_ edit: EditBatch.Edit) -> Bool {
    if case .delete = edit { isOn("final", by: false) } else { false }
  }

  fileprivate func isOn(_ option: String, by standard: Bool = true) -> Bool {
    options[option].flatMap(OptionDeclaration.boolean) ?? standard
  }

  private func load() throws(TableError) { show(try read()) }

  private func show(_ content: [UInt8]) {
    self.content = content
    var lines = content.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }[...]
    columns = (lines.popFirst() ?? "").split(separator: " ").map { name in
      let parts = name.split(separator: ":").map(String.init)
      return Column(parts[0], ColumnType.allCases.first { $0.name == parts[1] } ?? .text)
    }
    (rows, titles) = ([], [])
    for line in lines {
      if line.hasPrefix("# ") {
        titles.append(String(line.dropFirst(2)))
        rows.append([])
        continue
      }
      if rows.isEmpty { (rows, titles) = ([[]], [nil]) }
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false)
      rows[rows.count - 1].append(
        zip(cells, columns).map { text, column in
          text == "\\N" ? .missing : Cell(Array(text.utf8), as: column.type) ?? .missing
        })
    }
    if rows.isEmpty { (rows, titles) = ([[]], [nil]) }
    table = InMemorySource(
      columns, sections: zip(titles, rows).map { ($0, nil, nil, $1) as Section })
  }

  private func read() throws(TableError) -> [UInt8] {
    let file = (path + [0]).withUnsafeBytes {
      open($0.bindMemory(to: CChar.self).baseAddress!, O_RDONLY | O_CLOEXEC)
    }
    guard file >= 0 else { throw TableError(.notFound, "cannot be opened") }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = Glibc.read(file, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
  }

  private func write(_ bytes: [UInt8]) throws(TableError) {
    let file = (path + [0]).withUnsafeBytes {
      open($0.bindMemory(to: CChar.self).baseAddress!, O_WRONLY | O_TRUNC | O_CLOEXEC)
    }
    guard file >= 0 else { throw TableError(.denied, "cannot be written") }
    defer { close(file) }
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw TableError(.io, "cannot be written")
    }
  }

  private static func digest(_ bytes: [UInt8]) -> String {
    String(
      bytes.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 },
      radix: 16)
  }

  var hasVolatileOrder: Bool { isOn("volatile", by: false) }
  var editing: (any TableEditing)? { isOn("read-only", by: false) ? nil : self }
  var moving: (any TableMoving)? { isOn("moves") ? self : nil }
  var undoing: (any TableUndoing)? { isOn("undoes") ? self : nil }
  var identity: (any TableIdentity)? { isOn("ids") ? self : nil }
  var display: (any TableDisplay)? { isOn("display", by: false) ? self : nil }

  func version() -> Version? { isOn("versions") ? Version(LedgerSource.digest(content)) : nil }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard rows.indices.contains(section) else { throw .noSection(section) }
    return .exact(rows[section].count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let count = try numberOfRows(inSection: request.section, knowing: 0).value
    guard request.first <= count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let builder = BatchBuilder(for: request, of: columns)
    let range = request.first..<min(count, request.first + request.count)
    for row in rows[request.section][range] {
      for (builder, column) in zip(builder.columns, request.columns) { builder.append(row[column]) }
      builder.ids?.append(id(row))
    }
    return builder.finish(rowCount: range.count)
  }

  private func id(_ row: [Cell]) -> String {
    if row[0] == .missing || row[0].description.isEmpty { return "none" }
    return row[0].description.utf8.map { byte in
      0x21...0x7E ~= byte
        ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}

extension LedgerSource: TableSections, TableIdentity {
  func numberOfSections(knowing minimum: Int) -> Count { .exact(rows.count) }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    guard titles.indices.contains(section) else { throw .noSection(section) }
    return place == .header ? titles[section] : nil
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    for section in rows.indices {
      if let row = rows[section].firstIndex(where: { self.id($0) == id }) {
        return IndexPath(section: section, row: row)
      }
    }
    throw TableError(.notFound, "there is no row with the id \(id)")
  }
}

extension LedgerSource: TableEditing, TableMoving, TableUndoing {
  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]
  {
    let all = try table.editability(ofRows: rows, inSection: section)
    return zip(rows, all).map { standsForNew(self.rows[section][$0]) ? .insert : $1 }
  }

  private func standsForNew(_ row: [Cell]) -> Bool { isOn("adds", by: false) && id(row) == "+" }

  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool] {
    _ = try table.movability(ofRows: rows, inSection: section)
    return rows.map { !refused.contains(id(self.rows[section][$0])) }
  }

  private var refused: [String] {
    (options["refuse"] ?? "").split(separator: ",").map(String.init)
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    if let number = options["fails"].flatMap({ Int32($0) }) {
      throw TableError(.init(rawValue: number), "it fails, as it was told")
    }
    guard try read() == content else { throw TableError(.conflict, "the file has changed") }
    if let version = batch.version, version != self.version() {
      throw TableError(.conflict, "the file is not at version \(version)")
    }
    let code = TableError.Code(rawValue: options["code"].flatMap { Int32($0) } ?? 11)
    var (edits, outcomes) = ([EditBatch.Edit](), [EditResult.Outcome]())
    for edit in batch.edits {
      if let gone = gone(edit) {
        outcomes.append(.init(code: .notFound, message: gone))
        continue
      }
      if isOn("stops", by: false), outcomes.contains(where: { $0.code != nil }) {
        outcomes.append(.init(code: .cancelled, message: "not done, since one before it failed"))
        continue
      }
      let own = try self.edit(edit)
      if let row = own.row, standsForNew(row) {
        throw TableError(.readOnly, "+ stands for a new row")
      }
      let isRefused = own.row.map { refused.contains(id($0)) } ?? false
      if !isRefused { edits.append(own.edit) }
      outcomes.append(
        isRefused
          ? .init(code: code, message: "it is refused")
          : .init(
            message: options["remark"], id: idAfter(own.edit, own.row),
            isFinal: isFinal(own.edit)))
    }
    _ = try table.commit(EditBatch(edits))
    let (before, from) = (content, version())
    let after = try text()
    if isOn("loses", by: false), !batch.isDryRun {
      show(after)
      return EditResult(
        outcomes: outcomes, changes: ChangeBatch(from: from, to: version(), changes: nil),
        receipt: receipt(before))
    }
    if !batch.isDryRun || isOn("acts", by: false) { try write(after) }
    try load()
    crash("edit")
    // Many short sleeps, because a signal ends only one of them.
    for _ in 0..<(Int(options["pause"] ?? "") ?? 0) { usleep(1000) }
    if isOn("lies", by: false) { outcomes.append(.init()) }
    if !batch.isDryRun, let trouble = options["trouble"] {
      outcomes = outcomes.map { _ in .init(code: .io, message: trouble) }
    }
    if after == before {
      let changes = try churned() ? nil : [ChangeBatch.Change]()
      return EditResult(
        outcomes: outcomes, changes: ChangeBatch(from: from, to: version(), changes: changes))
    }
    return EditResult(
      outcomes: outcomes, changes: ChangeBatch(from: from, to: version(), changes: nil),
      receipt: batch.isDryRun || !isOn("undoes") ? nil : receipt(before))
  }

  /// The id of a row after an edit; nil if rows have no ids or the row is removed.
  private func idAfter(_ edit: EditBatch.Edit, _ row: [Cell]?) -> String? {
    guard identity != nil else { return nil }
    switch edit {
    case .delete: return nil
    case .move: return row.map { id($0) }
    case .insert(_, let cells), .set(_, let cells):
      return id([cells[0] ?? row?.first ?? .missing])
    }
  }

  /// Rewrites the file with another version of the same rows if the option `churn` is set. Returns whether it did.
  private func churned() throws(TableError) -> Bool {
    guard isOn("churn", by: false) else { return false }
    try write(content + [10])
    try load()
    return true
  }

  /// The reason why an edit is impossible in a table whose rows change; nil if its row exists.
  private func gone(_ edit: EditBatch.Edit) -> String? {
    guard hasVolatileOrder else { return nil }
    switch edit {
    case .delete(.id(let id)), .set(.id(let id), _):
      return (try? indexPath(forID: id)) == nil ? "\(id) is gone" : nil
    default: return nil
    }
  }

  /// The edit by index path, with its row.
  private func edit(
    _ edit: EditBatch.Edit
  ) throws(TableError) -> (edit: EditBatch.Edit, row: [Cell]?) {
    func find(_ reference: RowReference) throws(TableError) -> IndexPath {
      switch reference {
      case .path(let path): return path
      case .id(let id): return try indexPath(forID: id)
      }
    }
    func row(_ path: IndexPath) -> [Cell]? {
      rows.indices.contains(path.section) && rows[path.section].indices.contains(path.row)
        ? rows[path.section][path.row] : nil
    }
    switch edit {
    case .insert: return (edit, nil)
    case .delete(let reference):
      let path = try find(reference)
      return (.delete(.path(path)), row(path))
    case .set(let reference, let cells):
      let path = try find(reference)
      return (.set(.path(path), cells: cells), row(path))
    case .move(let reference, let target):
      let path = try find(reference)
      return (.move(.path(path), to: target), row(path))
    }
  }

  /// The text that stores the edited table.
  private func text() throws(TableError) -> [UInt8] {
    var text = columns.map { "\($0.name):\($0.type.name)" }.joined(separator: " ") + "\n"
    for section in rows.indices {
      if let title = titles[section] { text += "# \(title)\n" }
      let batch = try table.rows(
        RowRequest(
          section: section, first: 0, count: 1 << 20, columns: Array(columns.indices)))
      for row in 0..<batch.rowCount {
        text +=
          batch.row(row).map { $0 == .missing ? "\\N" : $0.description }
          .joined(separator: "\t") + "\n"
      }
    }
    return Array(text.utf8)
  }

  /// The content with only the first changed line of `wanted` if the option `halves` is set. With `churn`, no line
  /// changes.
  private func halved(_ wanted: [UInt8]) -> ([UInt8], EditResult.Outcome) {
    guard isOn("halves", by: false) else { return (wanted, .init()) }
    var lines = content.split(separator: 10)
    let targets = wanted.split(separator: 10)
    let others = lines.indices.filter { targets.indices.contains($0) && lines[$0] != targets[$0] }
    guard others.count > 1 else { return (wanted, .init()) }
    let count = isOn("churn", by: false) ? 0 : 1
    for line in others.prefix(count) { lines[line] = targets[line] }
    return (
      lines.flatMap { $0 + [10] },
      .init(code: .io, message: "\(count) of \(others.count) lines were taken back")
    )
  }

  /// The receipt: the version that undo may replace, and the old content.
  private func receipt(_ before: [UInt8]) -> [UInt8] {
    Array("\(LedgerSource.digest(content))\n".utf8) + before
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let parts = receipt.split(separator: 10, maxSplits: 1)
    guard parts.count == 2,
      String(decoding: parts[0], as: UTF8.self) == LedgerSource.digest(content)
    else { throw TableError(.conflict, "the file is no longer as the receipt says") }
    let (before, from) = (content, version())
    let (target, outcome) = halved(Array(parts[1]))
    if !isDryRun {
      if target == content || isOn("keeps", by: false) {
        let changes = try churned() ? nil : [ChangeBatch.Change]()
        return EditResult(
          outcomes: [outcome], changes: ChangeBatch(from: from, to: version(), changes: changes))
      }
      try write(target)
      try load()
    }
    return EditResult(
      outcomes: [outcome], changes: ChangeBatch(from: from, to: version(), changes: nil),
      receipt: isDryRun ? nil : self.receipt(outcome.code == nil ? before : Array(parts[1])))
  }
}

extension LedgerSource: TableDisplay {
  func willDisplay(rows: Range<Int>, inSection section: Int) {}
  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {}
}

// The contract fixes this name.
// swift-format-ignore: AlwaysUseLowerCamelCase
@c @implementation
public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
  Ledger.export(to: entry)
}
