import CTabella
import Glibc
import Tabella
import TabellaBridge
import TabellaSystem
import TabellaThreads

/// The state of an `ArrowArrayStream`: a table, and the place in it.
///
/// From the second batch on, a thread reads the next batch while the caller's thread makes the arrays of the last one and
/// uses them. Every read holds the lock of the host, on whichever thread it runs.
final class RowStream {
  /// A failure of a stream, as its functions return it.
  struct Failure: Error {
    var number: Int32
    var message: String

    init(_ number: Int32, _ message: String) { (self.number, self.message) = (number, message) }

    init(_ error: TableError, in table: EmbeddedTable) {
      number =
        error.code == .cancelled ? ECANCELED : error.code == .invalidState ? EINVAL : EIO
      message = "\(table.name): \(error.description)"
    }
  }

  /// The cells of a batch before they are arrays. At the end of the stream, there are no parts.
  private struct Cells {
    var parts: [StreamCursor.Part] = []
    /// The columns about the sections, if they are requested.
    var sections: [ColumnBatch] = []
  }

  let table: EmbeddedTable
  private let request: StreamRequest
  private let columns: [Column]
  private let hasSections: Bool
  private var cursor: StreamCursor
  /// The stamp of the table's position at the start.
  private let stamp: Int
  /// The number of cancellations at the start. A later one ends the stream.
  private let cancellations: Int
  private var failure: Failure?
  /// The number of batches that were read. A caller of one batch wants only the first rows.
  private var batchCount = 0
  private var ahead: Background<Result<Cells, Failure>>?
  /// One thread at a time uses the stream.
  private let serial = Lock()
  /// The text of the last error, which C reads.
  private var lastError: ExportedMemory?
  private(set) var lastErrorText: UnsafePointer<CChar>?

  init(_ table: EmbeddedTable, _ request: StreamRequest) throws(TableError) {
    try table.position.check()
    self.table = table
    self.request = request
    columns = table.source.columns
    hasSections = table.source.sections != nil
    if let section = request.section {
      // Names a section that does not exist.
      _ = try table.source.numberOfRows(inSection: section, knowing: 0)
    }
    cursor = StreamCursor(table.source, request)
    stamp = table.position.stamp
    cancellations = table.cancellations.count
  }

  func writeSchema(to out: UnsafeMutablePointer<ArrowSchema>) {
    exportSchema(request.fields(of: columns), to: out)
  }

  /// Fills the next batch; at the end, `out` has no release. Returns 0 or the number of an error.
  func writeNext(to out: UnsafeMutablePointer<ArrowArray>) -> Int32 {
    serial.lock()
    defer { serial.unlock() }
    do throws(Failure) {
      if let failure { throw failure }
      out.pointee = try next()
      return 0
    } catch {
      failure = error
      return report(error)
    }
  }

  private func next() throws(Failure) -> ArrowArray {
    // A thread is taken once, also if its reading failed.
    let readAhead = ahead?.take()
    ahead = nil
    let cells = try (readAhead ?? read()).get()
    guard !cells.parts.isEmpty else { return ArrowArray() }
    do {
      table.host.lock.lock()
      defer { table.host.lock.unlock() }
      // The table may have moved on, or may have been cancelled, after the cells were read.
      try check()
    }
    batchCount += 1
    if batchCount > 1, Cores.count > 1 { ahead = Background { [unowned self] in read() } }
    return try batch(of: cells)
  }

  /// Waits for the thread that reads. Must be called before the release.
  func stop() {
    serial.lock()
    _ = ahead?.take()
    ahead = nil
    serial.unlock()
  }

  /// Throws if the table moved on or was cancelled since the stream began.
  private func check() throws(Failure) {
    guard table.cancellations.count == cancellations else {
      throw Failure(TableError(.cancelled, "cancelled"), in: table)
    }
    guard table.position.stamp == stamp else {
      throw Failure(
        TableError(
          .conflict, "the table was edited or pulled since the stream began; start a new one"),
        in: table)
    }
  }

  /// Reads the next batch under the lock of the host.
  private func read() -> Result<Cells, Failure> {
    table.host.lock.lock()
    defer { table.host.lock.unlock() }
    do throws(Failure) { return .success(try cells()) } catch { return .failure(error) }
  }

  private func cells() throws(Failure) -> Cells {
    try check()
    defer { table.cancellations.endCall() }
    do throws(TableError) {
      try table.cancellations.beginCall(since: cancellations)
      let parts = try cursor.next(flag: table.cancellations.flag)
      return Cells(parts: parts, sections: request.includesSection ? try sections(of: parts) : [])
    } catch {
      throw Failure(error, in: table)
    }
  }

  /// The arrays of a batch. Needs no lock, because it does not use the source, which another thread may read.
  private func batch(of cells: Cells) throws(Failure) -> ArrowArray {
    let parts = cells.parts
    var arrays = cells.sections.map { $0.arrow(request.form) }
    defer { for index in arrays.indices { arrays[index].release?(&arrays[index]) } }
    let chosen = request.columns.map { columns[$0] }
    let values = chosen.values(
      of: chosen.indices.map { place in
        ColumnBatch(concatenating: parts.map { $0.rows.columns[place] })
      })
    for (values, column) in zip(values, chosen) {
      arrays.append(try array(values, of: column, parts))
    }
    if request.includesID {
      let ids = ColumnBatch(concatenating: parts.compactMap(\.rows.ids))
      arrays.append(ids.retyped(.text).arrow(request.form))
    }
    var batch = ArrowArray()
    exportRows(parts.reduce(0) { $0 + $1.rows.rowCount }, arrays, to: &batch)
    arrays = []
    return batch
  }

  /// The array of a column of values.
  private func array(
    _ values: ColumnBatch, of column: Column, _ parts: [StreamCursor.Part]
  ) throws(Failure) -> ArrowArray {
    guard values.type == .text, request.form != .binary,
      !(values.missingCount == 0 && parts.allSatisfy(\.rows.isUTF8))
    else { return values.arrow(request.form) }
    let (text, wrong) = values.asUTF8
    if let wrong { throw noUTF8(row: wrong, column, parts) }
    return text.arrow(request.form)
  }

  private func noUTF8(row: Int, _ column: Column, _ parts: [StreamCursor.Part]) -> Failure {
    var rest = row
    let part = parts.first { part in
      if rest < part.rows.rowCount { return true }
      rest -= part.rows.rowCount
      return false
    }
    let section = hasSections ? "\(part?.section ?? 0):" : ""
    return Failure(
      EILSEQ,
      "\(table.name): row \(section)\((part?.first ?? 0) + rest), counted from 0, has text in column \"\(column.name)\" that is not UTF-8; request binary text, or open the location with its encoding"
    )
  }

  /// The number and the title of each row's section.
  private func sections(of parts: [StreamCursor.Part]) throws(TableError) -> [ColumnBatch] {
    let builder = BatchBuilder(
      [.integer, .text], capacity: parts.reduce(0) { $0 + $1.rows.rowCount })
    var last: (section: Int, title: String?)?
    for part in parts {
      if last?.section != part.section {
        let title = try table.source.sections?.title(.header, ofSection: part.section)
        last = (part.section, title)
      }
      for _ in 0..<part.rows.rowCount {
        builder.columns[0].append(Int64(part.section))
        if let title = last?.title {
          builder.columns[1].append(title)
        } else {
          builder.columns[1].appendMissing()
        }
      }
    }
    return builder.finish().columns
  }

  /// Keeps a message for `get_last_error`, and returns the number.
  private func report(_ failure: Failure) -> Int32 {
    let memory = ExportedMemory()
    lastErrorText = memory.array(failure.message.utf8CString.map { $0 })
    lastError = memory
    return failure.number
  }
}

extension ColumnBatch {
  /// The same cells as another type of bytes.
  fileprivate func retyped(_ type: ColumnType) -> ColumnBatch {
    withUnsafeLayout { layout in
      ColumnBatch(
        unsafeLayout: layout, type: type, count: count, missingCount: missingCount,
        owner: Kept(self))
    }
  }
}

/// Keeps a column alive.
private final class Kept {
  let column: ColumnBatch

  init(_ column: ColumnBatch) { self.column = column }
}
