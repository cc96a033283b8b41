import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The files of a ``ReceiptStore`` during one operation. A user who can write them decides what an undo does, so
/// folder and files are used only if nobody else can write them.
///
/// The object keeps the folder that it checked. Make another one for the next operation.
final class ReceiptFolder {
  /// The maximum number of receipts.
  static let limit = 1000
  /// The maximum total size, in bytes.
  static let mostBytes = 256 << 20
  /// The maximum size of the bytes for undo. Longer ones would leave no room for other receipts.
  static let longestWayBack = 64 << 20
  /// The reserved size, which is enough for most receipts.
  private static let room = 1 << 16
  /// The maximum length of the line of a receipt, in bytes.
  private static let longestHead = 16 << 20
  private static let suffix = ".receipt"

  let folder: [UInt8]
  var path: String { String(decoding: folder, as: UTF8.self) }
  private var opened: OwnFolder?

  /// `folder` is an absolute path. The folder need not exist.
  init(_ folder: [UInt8]) { self.folder = folder }

  /// The folder, checked once; nil if it does not exist. Throws an error with `.denied` if other users can write to
  /// it, or could have created it.
  @discardableResult func open() throws(ReceiptError) -> OwnFolder? {
    if let opened { return opened }
    do throws(TableError) {
      opened = try OwnFolder(folder)
    } catch {
      throw ReceiptError(
        .folder, nil, TableError(error.code, "the receipts cannot be used: \(error.message)"))
    }
    return opened
  }

  /// Reserves room for a receipt, before the edit is made.
  func reserve() throws(TableError) -> DurableFile {
    try makeFolders(folder)
    return try DurableFile(in: folder, room: ReceiptFolder.room)
  }

  /// Throws if a receipt could not be stored. Changes nothing, so it cannot detect every error.
  func checkPlace() throws(TableError) {
    try DurableFile.tryOut(in: folder, rooms: [ReceiptFolder.room])
  }

  /// A new id that is newer than all others.
  func newID(at time: Timestamp) -> ReceiptID {
    ReceiptID(at: time, after: (try? ids())?.first)
  }

  /// Stores a receipt with its bytes, and removes the oldest receipts beyond the limits.
  func keep(
    _ receipt: Receipt, _ wayBack: [UInt8], in file: DurableFile
  ) throws(TableError) {
    try file.write(
      receipt.head + [10] + wayBack, name: receipt.id.text + ReceiptFolder.suffix)
    guard let ids = try? ids() else { return }
    var bytes = 0
    for (number, old) in ids.enumerated() {
      bytes += size(of: old)
      // Only the oldest are removed. If one in between were missing, undo would not notice.
      guard number >= ReceiptFolder.limit || (number > 0 && bytes > ReceiptFolder.mostBytes) else {
        continue
      }
      _ = path(of: old).withCString { unlink($0) }
    }
  }

  private func size(of id: ReceiptID) -> Int {
    stat(at: path(of: id), followsLink: false).map { Int($0.st_size) } ?? 0
  }

  private func path(of id: ReceiptID) -> [UInt8] {
    folder + Array("/\(id.text)\(ReceiptFolder.suffix)".utf8)
  }

  /// The ids of all receipts, newest first.
  func ids() throws(ReceiptError) -> [ReceiptID] {
    guard let opened = try open() else {
      if folder.withCString({ access($0, F_OK) }) == 0 || errno == ENOENT { return [] }
      throw ReceiptError(.folder, path, .system(errno, "cannot be read"))
    }
    let list = openat(opened.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard list >= 0, let stream = fdopendir(list) else {
      throw ReceiptError(.folder, path, .system(errno, "cannot be read"))
    }
    defer { closedir(stream) }
    var ids: [ReceiptID] = []
    while let entry = readdir(stream) {
      // An entry is only as long as its name, so it must not be read as a whole.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
      let name = String(
        cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      guard name.hasSuffix(ReceiptFolder.suffix),
        let id = ReceiptID(String(name.dropLast(ReceiptFolder.suffix.count)))
      else { continue }
      ids.append(id)
    }
    return ids.sorted(by: >)
  }

  /// Reads a receipt without the bytes for undo.
  func receipt(_ id: ReceiptID) throws(ReceiptError) -> Receipt {
    try reading(id) { file throws(TableError) in
      let head = try file.head(upTo: ReceiptFolder.longestHead)
      return try Receipt(parsing: head, id: id, rest: file.size - head.count - 1)
    }
  }

  /// Reads the bytes that the provider needs to undo the edit.
  func wayBack(of receipt: Receipt) throws(ReceiptError) -> [UInt8] {
    guard let wayBack = receipt.wayBack else { return [] }
    return try reading(receipt.id) { file throws(TableError) in
      let bytes = try file.bytes(at: file.size - wayBack.count, count: wayBack.count)
      guard bytes.count == wayBack.count, Receipt.digest(of: bytes) == wayBack.digest else {
        throw TableError(.invalidArgument, "the data for undo was changed after it was written")
      }
      return bytes
    }
  }

  /// Opens the file of a receipt. Errors contain the name of the file.
  private func reading<R>(
    _ id: ReceiptID, _ body: (ReceiptFile) throws(TableError) -> R
  ) throws(ReceiptError) -> R {
    guard let folder = try open() else {
      throw ReceiptError(.noReceipt(id), "receipt:\(id)", .noReceipt)
    }
    do throws(TableError) {
      return try body(ReceiptFile(id.text + ReceiptFolder.suffix, in: folder))
    } catch {
      throw ReceiptError(
        error == .noReceipt ? .noReceipt(id) : .unreadable(id), "receipt:\(id)", named(error, id))
    }
  }

  /// Adds the name of the file to the error for a damaged receipt.
  private func named(_ error: TableError, _ id: ReceiptID) -> TableError {
    guard error.code == .invalidArgument else { return error }
    let file = "\(path)/\(id)\(ReceiptFolder.suffix)"
    return TableError(.io, "the receipt is damaged: \(error.message); remove the file \(file)")
  }
}
