import Glibc
import Tabella
import TabellaFiles
import TabellaHost

/// The folder of receipts: `$XDG_STATE_HOME/tabella/receipts`, a file for each. A user who can write them decides
/// what `undo` does, so folder and files are used only if nobody else can write them.
final class ReceiptStore {
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

  init(folder: [UInt8]) { self.folder = folder }

  /// Finds the path of the folder. The folder need not exist.
  init() throws(Failure) {
    guard let state = stateFolder() else {
      throw Failure(
        status: .failed, subject: "receipts", code: "io",
        message:
          "there is no folder for receipts, because neither XDG_STATE_HOME nor HOME is an absolute path; set one of them"
      )
    }
    folder = state + Array("/receipts".utf8)
  }

  /// The folder, checked once; nil if it does not exist. Throws a failure with ``ExitStatus/refused`` if other users
  /// can write to it, or could have created it.
  @discardableResult func open() throws(Failure) -> OwnFolder? {
    if let opened { return opened }
    do throws(TableError) {
      opened = try OwnFolder(folder)
    } catch {
      throw .of(
        TableError(error.code, "the receipts cannot be used: \(error.message)"), subject: nil)
    }
    return opened
  }

  /// Reserves room for a receipt, before the edit is made.
  func reserve() throws(TableError) -> DurableFile {
    try makeFolders(folder)
    return try DurableFile(in: folder, room: ReceiptStore.room)
  }

  /// Throws if a receipt could not be stored. Changes nothing, so it cannot detect every error.
  func checkPlace() throws(TableError) {
    try DurableFile.tryOut(in: folder, rooms: [ReceiptStore.room])
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
      receipt.head + [10] + wayBack, name: receipt.id.text + ReceiptStore.suffix)
    guard let ids = try? ids() else { return }
    var bytes = 0
    for (number, old) in ids.enumerated() {
      bytes += size(of: old)
      // Only the oldest are removed. If one in between were missing, undo would not notice.
      guard number >= ReceiptStore.limit || (number > 0 && bytes > ReceiptStore.mostBytes) else {
        continue
      }
      _ = path(of: old).withCString { unlink($0) }
    }
  }

  private func size(of id: ReceiptID) -> Int {
    var status = stat()
    return path(of: id).withCString { lstat($0, &status) } == 0 ? Int(status.st_size) : 0
  }

  private func path(of id: ReceiptID) -> [UInt8] {
    folder + Array("/\(id.text)\(ReceiptStore.suffix)".utf8)
  }

  /// The ids of all receipts, newest first.
  func ids() throws(Failure) -> [ReceiptID] {
    guard let opened = try open() else {
      if folder.withCString({ access($0, F_OK) }) == 0 || errno == ENOENT { return [] }
      throw .of(.system(errno, "cannot be read"), subject: path)
    }
    let list = openat(opened.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard list >= 0, let stream = fdopendir(list) else {
      throw .of(.system(errno, "cannot be read"), subject: path)
    }
    defer { closedir(stream) }
    var ids: [ReceiptID] = []
    while let entry = readdir(stream) {
      // An entry is only as long as its name, so it must not be read as a whole.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
      let name = String(
        cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      guard name.hasSuffix(ReceiptStore.suffix),
        let id = ReceiptID(String(name.dropLast(ReceiptStore.suffix.count)))
      else { continue }
      ids.append(id)
    }
    return ids.sorted(by: >)
  }

  /// Reads a receipt without the bytes for undo.
  func receipt(_ id: ReceiptID) throws(Failure) -> Receipt {
    try reading(id) { file throws(TableError) in
      let head = try file.head(upTo: ReceiptStore.longestHead)
      return try Receipt(parsing: head, id: id, rest: file.size - head.count - 1)
    }
  }

  /// Reads the bytes that the provider needs to undo the edit.
  func wayBack(of receipt: Receipt) throws(Failure) -> [UInt8] {
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
  ) throws(Failure) -> R {
    let folder = try open()
    return try Failure.about("receipt:\(id)") { () throws(TableError) in
      do throws(TableError) {
        guard let folder else { throw .noReceipt }
        return try body(ReceiptFile(id.text + ReceiptStore.suffix, in: folder))
      } catch {
        guard error.code == .invalidArgument else { throw error }
        let file = "\(path)/\(id)\(ReceiptStore.suffix)"
        throw TableError(
          .io, "the receipt is damaged: \(error.message); remove the file \(file)")
      }
    }
  }
}
