import Tabella

@testable import TabellaRemote

/// The steps of a host with a source in a worker: one for each operation.
///
/// It counts the answered steps and reads every cell of the answers.
final class Steps {
  let session: RemoteSession
  private(set) var answered = 0
  /// The depth of nested supplementary tables.
  private var depth = 0

  init(_ session: RemoteSession) { self.session = session }

  /// Performs one step. The argument selects one of its forms.
  func take(_ operation: Operation, _ argument: UInt8, on source: any TableDataSource) {
    do throws(TableError) {
      let isAnswered =
        switch operation {
        case .listen, .pull, .editability, .editableColumns, .commit, .sectionEditability,
          .canInsertSections, .movability, .target, .undo:
          try edit(operation, argument, source)
        case .supplementaryKinds, .supplementaryElement, .location:
          try readBeside(operation, argument, source)
        case .load, .open, .statistics, .probe, .release, .nextDiagnostic, .willDisplay,
          .didEndDisplaying,
          .prefetch, .cancelPrefetching:
          try tell(operation, argument, source)
        default: try look(operation, argument, source)
        }
      if isAnswered { answered += 1 }
    } catch {
      sink &+= UInt64(error.message.utf8.count)
    }
  }

  // Rows and index paths

  private func look(
    _ operation: Operation, _ argument: UInt8, _ source: any TableDataSource
  ) throws(TableError) -> Bool {
    let section = Int(argument & 1)
    let minimum = [0, 1, 100, .max][Int(argument >> 1 & 3)]
    switch operation {
    case .version: return try source.version() != nil
    case .numberOfRows:
      let count = try source.numberOfRows(inSection: section, knowing: minimum)
      require(count.isExact || count.value >= minimum, "fewer rows than had to be known")
      require(count.value >= 0, "a negative number of rows")
    case .rows: return try readRows(argument, source)
    case .gather:
      guard let gathering = source.gathering else { return false }
      let paths = [3, 0, 2, 1].prefix(Int(argument & 3) + 1).map {
        IndexPath(section: 0, row: $0)
      }
      let columns = columns(argument >> 2, source)
      let ids = argument & 0x40 != 0 && source.identity != nil
      let batch = try gathering.rows(at: paths, columns: columns, includesIDs: ids)
      require(batch.rowCount <= paths.count, "more rows than were gathered")
      readCells(batch)
    case .numberOfSections:
      let count = try source.numberOfSections(knowing: minimum)
      require(count.isExact || count.value >= minimum, "fewer sections than had to be known")
    case .title:
      let place: TitlePlace = argument & 2 == 0 ? .header : .footer
      guard let sections = source.sections else { return false }
      read(try sections.title(place, ofSection: section))
    case .sectionIndexTitles:
      guard let index = source.sectionIndex else { return false }
      for title in try index.sectionIndexTitles() { read(title) }
    case .indexPathForTitle:
      guard let index = source.sectionIndex else { return false }
      read(try index.indexPath(forIndexTitle: "F", at: section))
    case .indexPathForID:
      guard let identity = source.identity else { return false }
      read(try identity.indexPath(forID: "r\(argument & 7)"))
    default: return false
    }
    return true
  }

  private func columns(_ argument: UInt8, _ source: any TableDataSource) -> [Int] {
    let all = Array(source.columns.indices)
    return switch argument & 3 {
    case 0: all
    case 1: all.reversed()
    case 2: Array(all.prefix(1))
    default: []
    }
  }

  /// Reads several consecutive batches, so that read-ahead happens.
  private func readRows(
    _ argument: UInt8, _ source: any TableDataSource
  ) throws(TableError) -> Bool {
    var request = RowRequest(
      section: Int(argument & 1), first: 0, count: [1, 2, 64, 512][Int(argument >> 4 & 3)],
      columns: columns(argument >> 2, source),
      includesIDs: argument & 0x40 != 0 && source.identity != nil)
    for _ in 0..<(argument & 2 == 0 ? 1 : 4) {
      let batch = try source.rows(request)
      require(batch.rowCount <= request.count, "more rows than were asked for")
      require((batch.ids != nil) == request.includesIDs, "ids where none were asked for")
      readCells(batch)
      if batch.rowCount == 0 { break }
      request.first += batch.rowCount
    }
    return true
  }

  // Edits and changes

  private func edit(
    _ operation: Operation, _ argument: UInt8, _ source: any TableDataSource
  ) throws(TableError) -> Bool {
    let rows = 0..<Int(argument & 63)
    switch operation {
    case .listen:
      guard let changes = source.changes else { return false }
      try changes.listen { sink &+= 1 }
      session.sourceNotified(Int(argument))
      if argument & 1 != 0 { try changes.listen(nil) }
    case .pull:
      guard let changes = source.changes else { return false }
      read(try changes.pull())
    case .editability:
      guard let editing = source.editing else { return false }
      let answers = try editing.editability(ofRows: rows, inSection: 0)
      require(answers.count == rows.count, "not an answer for each row")
    case .editableColumns:
      guard let editing = source.editing else { return false }
      let answers = try editing.editableColumns()
      require(
        answers.map { $0.count == source.columns.count } ?? true, "not an answer for each column")
    case .commit:
      guard let editing = source.editing else { return false }
      let batch = editBatch(argument)
      let result = try editing.commit(batch)
      require(result.outcomes.count == batch.edits.count, "not an outcome for each edit")
      read(result.changes)
    case .sectionEditability:
      guard let editing = source.sectionEditing else { return false }
      let answers = try editing.editability(ofSections: rows)
      require(answers.count == rows.count, "not an answer for each section")
    case .canInsertSections:
      guard let editing = source.sectionEditing else { return false }
      _ = try editing.canInsertSections()
    case .movability:
      guard let moving = source.moving else { return false }
      let answers = try moving.movability(ofRows: rows, inSection: 0)
      require(answers.count == rows.count, "not an answer for each row")
    case .target:
      guard let moving = source.moving else { return false }
      let from = IndexPath(section: 0, row: Int(argument & 3))
      read(try moving.target(ofMoveFrom: from, to: IndexPath(section: 0, row: 1)))
    case .undo:
      guard let undoing = source.undoing else { return false }
      read(try undoing.undo(Array("1".utf8), isDryRun: argument & 1 != 0).changes)
    default: return false
    }
    return true
  }

  private func editBatch(_ argument: UInt8) -> EditBatch {
    func row(_ row: Int) -> IndexPath { IndexPath(section: 0, row: row) }
    let cells: [Int: Cell] = [0: "new", 1: .integer(7)]
    let edits: [EditBatch.Edit] =
      switch argument & 7 {
      case 0: [.set(.path(row(1)), cells: cells)]
      case 1: [.delete(.path(row(0)))]
      case 2: [.insert(at: row(1), cells: cells)]
      case 3: [.move(.path(row(0)), to: row(2))]
      case 4: [.set(.id("r2"), cells: [2: .real(0.5)]), .delete(.id("r1"))]
      case 5:
        [
          .set(.path(row(0)), cells: cells), .move(.path(row(0)), to: row(3)),
          .delete(.path(row(1))), .insert(at: row(0), cells: [0: .missing]),
          .insertSection(at: 1, title: "é"),
        ]
      case 6: [.deleteSection(0), .renameSection(1, title: "new")]
      default: (0..<4).map { .set(.path(row($0)), cells: [3: .boolean(true)]) }
      }
    return EditBatch(
      edits, version: argument & 16 != 0 ? SeedSource.firstVersion : nil,
      isDryRun: argument & 8 != 0)
  }

  private func read(_ changes: ChangeBatch) {
    for change in changes.changes ?? [] {
      switch change {
      case .insert(let path), .delete(let path), .reload(let path), .reconfigure(let path):
        read(path)
      case .move(let from, let to):
        read(from)
        read(to)
      }
    }
  }

  // Notices, and elements in addition to cells

  private func tell(
    _ operation: Operation, _ argument: UInt8, _ source: any TableDataSource
  ) throws(TableError) -> Bool {
    let rows = 0..<Int(argument & 15)
    switch operation {
    case .willDisplay: source.display?.willDisplay(rows: rows, inSection: 0)
    case .didEndDisplaying: source.display?.didEndDisplaying(rows: rows, inSection: 0)
    case .prefetch: source.prefetching?.prefetch(rows: rows, inSection: 0)
    case .cancelPrefetching: source.prefetching?.cancelPrefetching(rows: rows, inSection: 0)
    case .nextDiagnostic:
      guard let diagnostic = source.diagnostics?.nextDiagnostic() else { return false }
      read(diagnostic.message)
    case .load:
      let loaded = try session.load(LoadRequest(library: "/l.so", name: "l"))
      for option in loaded.options { read(option.name) }
      for sentence in loaded.confinement?.lacking ?? [] { read(sentence) }
    case .statistics: sink &+= UInt64(truncatingIfNeeded: try session.statistics().heap)
    case .probe: read(try session.probe(ProbeRequest(name: "p", seed: 1, request: nil)).text)
    case .release: source.cancellation?()
    default: return false
    }
    return session.ended == nil
  }

  private func readBeside(
    _ operation: Operation, _ argument: UInt8, _ source: any TableDataSource
  ) throws(TableError) -> Bool {
    let path = argument & 4 != 0 ? .section(0) : IndexPath(section: 0, row: Int(argument & 3))
    switch operation {
    case .supplementaryKinds:
      guard let supplementary = source.supplementary else { return false }
      for kind in try supplementary.supplementaryKinds() { read(kind) }
    case .supplementaryElement:
      guard let supplementary = source.supplementary else { return false }
      let kind = argument & 8 != 0 ? "preview" : "badge"
      switch try supplementary.supplementaryElement(ofKind: kind, at: path) {
      case nil: return false
      case .text(let text):
        for span in text.spans { sink &+= UInt64(text.bytes[span.bytes].count) }
      case .table(let table):
        guard depth < 4 else { return true }
        depth += 1
        defer { depth -= 1 }
        if (try? readRows(argument, table)) == true { answered += 1 }
        _ = try? readBeside(.supplementaryElement, argument, table)
      }
    case .location:
      guard let accessories = source.accessories else { return false }
      sink &+= UInt64(try accessories.location(forRowAt: path)?.count ?? 0)
    default: return false
    }
    return true
  }

  private func read(_ text: String?) { sink &+= UInt64(text?.utf8.count ?? 0) }

  private func read(_ path: IndexPath) {
    require(path.section >= 0 && path.row >= -1, "a path that leads nowhere")
  }
}

/// Reads every cell and checks the promises of the batch.
func readCells(_ batch: Batch) {
  for column in batch.columns + (batch.ids.map { [$0] } ?? []) {
    require(column.count == batch.rowCount, "not a cell for each row")
    for row in 0..<column.count {
      let isMissing = column.isMissing(row)
      switch column.type {
      case .text, .binary:
        column.withBytes(at: row) { bytes in
          for byte in bytes { sink &+= UInt64(byte) }
          if batch.isUTF8, column.type == .text, !isMissing {
            require(String(validating: bytes, as: UTF8.self) != nil, "text that is not UTF-8")
          }
        }
      case .integer, .date: sink &+= UInt64(bitPattern: column.integer(row))
      case .real: sink &+= column.real(row).bitPattern
      case .boolean: sink &+= column.boolean(row) ? 1 : 0
      }
    }
  }
  for row in 0..<(batch.ids?.count ?? 0) {
    batch.ids?.withBytes(at: row) { id in
      require((1...RowID.maximumLength).contains(id.count), "an id without a length")
      require(id.allSatisfy { 0x21...0x7E ~= $0 }, "an id that cannot be printed")
    }
  }
}
