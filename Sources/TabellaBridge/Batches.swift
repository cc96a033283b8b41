import CTabella
import Synchronization
import Tabella

/// Fills a C batch from a Swift batch without copying cells. The C batch retains the Swift batch.
func exportBatch(_ batch: Batch, to out: UnsafeMutablePointer<tabella_batch>) {
  let columns = batch.columns + (batch.ids.map { [$0] } ?? [])
  exportRows(batch.rowCount, columns.map(exportColumn), to: &out.pointee.array)
  out.pointee.flags = batch.isUTF8 ? TABELLA_BATCH_UTF8 : 0
}

/// Fills a C struct array of rows. It owns its columns.
package func exportRows(
  _ count: Int, _ columns: [ArrowArray], to out: UnsafeMutablePointer<ArrowArray>
) {
  // A consumer that takes a child over copies its struct, so one allocation can contain all of them.
  let children = UnsafeMutablePointer<ArrowArray>.allocate(capacity: max(columns.count, 1))
  children.initialize(from: columns, count: columns.count)
  let list = UnsafeMutablePointer<UnsafeMutablePointer<ArrowArray>?>.allocate(
    capacity: max(columns.count, 1))
  for index in columns.indices { (list + index).initialize(to: children + index) }
  let buffers = UnsafeMutablePointer<UnsafeRawPointer?>.allocate(capacity: 1)
  buffers.initialize(to: nil)
  out.pointee = ArrowArray(
    length: Int64(count), null_count: 0, offset: 0, n_buffers: 1,
    n_children: Int64(columns.count), buffers: buffers, children: list, dictionary: nil,
    release: { array in
      if let children = array.pointee.private_data?.assumingMemoryBound(to: ArrowArray.self) {
        for index in 0..<Int(array.pointee.n_children) {
          children[index].release?(children + index)
        }
        children.deallocate()
      }
      array.pointee.children?.deallocate()
      array.pointee.buffers?.deallocate()
      array.pointee.release = nil
    }, private_data: children)
}

/// The buffers of a column in C, and what keeps them alive.
private typealias ExportedColumn = ManagedBuffer<
  (column: ColumnBatch, owner: AnyObject?), UnsafeRawPointer?
>

/// The C form of a column, without a copy of its cells.
package func exportColumn(_ column: ColumnBatch) -> ArrowArray {
  column.withUnsafeLayout { layout in
    let validity = layout.validity.map { UnsafeRawPointer($0) }
    let buffers =
      column.type.isBytes
      ? [validity, layout.offsets.map { UnsafeRawPointer($0) }, layout.values]
      : [validity, layout.values]
    return exportColumn(column, as: buffers, from: layout.start, owner: nil)
  }
}

/// The C form of a column with other buffers, which `column` or `owner` keeps alive. The first cell has the index `start`
/// in them.
package func exportColumn(
  _ column: ColumnBatch, as pointers: [UnsafeRawPointer?], from start: Int, owner: AnyObject?
) -> ArrowArray {
  let exported = ExportedColumn.create(minimumCapacity: pointers.count) { _ in (column, owner) }
  let buffers = exported.withUnsafeMutablePointerToElements { $0 }
  buffers.initialize(from: pointers, count: pointers.count)
  return ArrowArray(
    length: Int64(column.count), null_count: Int64(column.missingCount), offset: Int64(start),
    n_buffers: Int64(pointers.count), n_children: 0, buffers: buffers, children: nil,
    dictionary: nil,
    release: { array in
      if let data = array.pointee.private_data {
        Unmanaged<ExportedColumn>.fromOpaque(data).release()
      }
      array.pointee.release = nil
    }, private_data: Unmanaged.passRetained(exported).toOpaque())
}

/// Owns a C batch, and releases it with the last Swift copy.
private final class ImportedArray {
  private var array: ArrowArray
  private let witness: ReleaseWitness

  init(_ array: ArrowArray, _ witness: ReleaseWitness) {
    self.array = array
    self.witness = witness
  }

  deinit {
    array.release?(&array)
    witness.released("a batch", isCleared: array.release == nil)
  }
}

/// Records a faulty release until an error can be reported. A batch is released on any thread, and a release cannot
/// throw.
final class ReleaseWitness: Sendable {
  private let complaint = Mutex<String?>(nil)

  /// Records that an object was released. The release function must have cleared `release`.
  func released(_ what: String, isCleared: Bool) {
    guard !isCleared else { return }
    complaint.withLock { $0 = "releasing \(what) did not clear its release" }
  }

  /// Throws the recorded fault once.
  func check() throws(TableError) {
    let noted = complaint.withLock { complaint in
      defer { complaint = nil }
      return complaint
    }
    if let noted { throw TableError(.misbehaved, noted) }
  }
}

/// The Swift form of a C batch, without copying cells. It checks the C batch and takes its ownership.
///
/// Throws ``TableError`` with `.misbehaved` for everything that could make reading a cell unsafe, as far as it is
/// visible. Arrow's C structs do not contain the lengths of buffers.
func importBatch(
  _ raw: tabella_batch, answering request: RowRequest, of columns: [Column],
  _ witness: ReleaseWitness
) throws(TableError) -> Batch {
  guard raw.array.release != nil else {
    throw TableError(
      .misbehaved, "returned a batch without release: set array.release, which frees the batch")
  }
  let owner = ImportedArray(raw.array, witness)
  // The requests know the columns that were valid last.
  guard request.columns.allSatisfy(columns.indices.contains) else { throw .changedColumns }
  let array = raw.array
  let wanted = request.columns.count + (request.includesIDs ? 1 : 0)
  guard array.offset == 0, array.null_count == 0 || array.null_count == -1, array.dictionary == nil
  else {
    throw TableError(
      .misbehaved,
      "returned an array that is no plain struct: offset and null_count must be 0, and dictionary "
        + "null")
  }
  guard array.n_children == wanted else {
    throw wrongColumns(Int(array.n_children) &- (request.includesIDs ? 1 : 0), request)
  }
  guard (0...Int64(request.count)).contains(array.length) else {
    throw wrongRowCount(Int(array.length), request)
  }
  var imported: [ColumnBatch] = []
  imported.reserveCapacity(wanted)
  for index in 0..<wanted {
    let type = index < request.columns.count ? columns[request.columns[index]].type : .binary
    guard let child = array.children?[index] else {
      throw TableError(.misbehaved, "column \(index) of the batch is null", column: index)
    }
    guard child.pointee.length == array.length else {
      throw wrongCellCount(
        Int(child.pointee.length), rows: Int(array.length),
        index < request.columns.count ? columns[request.columns[index]] : nil)
    }
    imported.append(try importColumn(child.pointee, type, index, owner))
  }
  let ids = request.includesIDs ? imported.removeLast() : nil
  return Batch(
    rowCount: Int(array.length), columns: imported, ids: ids,
    isUTF8: raw.flags & TABELLA_BATCH_UTF8 != 0)
}

private func importColumn(
  _ array: ArrowArray, _ type: ColumnType, _ index: Int, _ owner: ImportedArray
) throws(TableError) -> ColumnBatch {
  let buffers = type.isBytes ? 3 : 2
  guard let pointers = array.buffers, array.n_children == 0, array.dictionary == nil,
    array.n_buffers == buffers
  else {
    throw TableError(
      .misbehaved,
      "column \(index) of the batch is not a plain array: type \(type.name) has n_buffers \(buffers), "
        + "no children and no dictionary",
      column: index)
  }
  guard (0...Int64(Int32.max)).contains(array.offset) else {
    throw TableError(
      .misbehaved, "column \(index) of the batch has the offset \(array.offset)", column: index)
  }
  let layout = ColumnBatch.Layout(
    validity: pointers[0].map { $0.assumingMemoryBound(to: UInt8.self) },
    values: type.isBytes ? pointers[2] : pointers[1],
    offsets: type.isBytes ? pointers[1].map { $0.assumingMemoryBound(to: Int32.self) } : nil,
    start: Int(array.offset))
  // In Arrow, -1 means "not counted".
  let count = Int(array.length)
  let missing =
    array.null_count == -1
    ? countMissing(layout, count) : Int(truncatingIfNeeded: array.null_count)
  return ColumnBatch(
    unsafeLayout: layout, type: type, count: count, missingCount: missing, owner: owner)
}

private func countMissing(_ layout: ColumnBatch.Layout, _ count: Int) -> Int {
  guard let validity = layout.validity else { return 0 }
  return (layout.start..<layout.start + count).count { bit in
    validity[bit >> 3] & (1 << UInt8(bit & 7)) == 0
  }
}
