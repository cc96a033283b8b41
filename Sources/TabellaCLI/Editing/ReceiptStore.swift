import Glibc
import Tabella
import TabellaFiles
import TabellaHost

/// The folder of receipts: `$XDG_STATE_HOME/tabella/receipts`, a file for each. A user who can write them decides
/// what `undo` does, so folder and files are used only if nobody else can write them.
final class ReceiptStore {
  /// How many are kept.
  static let limit = 1000
  /// How many bytes they may take together.
  static let mostBytes = 256 << 20
  /// A longer way back would leave no room for others.
  static let longestWayBack = 64 << 20
  /// What most receipts need.
  private static let room = 1 << 16
  /// No line of a receipt is longer.
  private static let longestHead = 16 << 20
  private static let suffix = ".receipt"

  let folder: [UInt8]
  var path: String { String(decoding: folder, as: UTF8.self) }
  private var opened: OwnFolder?

  init(folder: [UInt8]) { self.folder = folder }

  /// Finds the folder, which need not be there.
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

  /// The folder, judged once; nil if it is not there. Throws a failure with ``ExitStatus/refused`` if others may write
  /// to it, or could have made it.
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

  /// Takes room for a receipt, before what it is for is done.
  func reserve() throws(TableError) -> DurableFile {
    try makeFolders(folder)
    return try DurableFile(in: folder, room: ReceiptStore.room)
  }

  /// Throws if no receipt could be kept, as far as that can be told without doing anything.
  func checkPlace() throws(TableError) {
    try DurableFile.tryOut(in: folder, rooms: [ReceiptStore.room])
  }

  /// The id of a receipt that is to be the newest.
  func newID(at time: Timestamp) -> ReceiptID {
    ReceiptID(at: time, after: (try? ids())?.first)
  }

  /// Keeps a receipt with the bytes that it says it has. The oldest give way to it.
  func keep(
    _ receipt: Receipt, _ wayBack: [UInt8], in file: DurableFile
  ) throws(TableError) {
    try file.write(
      receipt.head + [10] + wayBack, name: receipt.id.text + ReceiptStore.suffix)
    guard let ids = try? ids() else { return }
    var bytes = 0
    for (number, old) in ids.enumerated() {
      bytes += size(of: old)
      // None in between goes: undo would not know that it was there.
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

  /// The receipts that there are, the newest first.
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

  /// Reads a receipt, but for its way back.
  func receipt(_ id: ReceiptID) throws(Failure) -> Receipt {
    try reading(id) { file throws(TableError) in
      let head = try file.head(upTo: ReceiptStore.longestHead)
      return try Receipt(parsing: head, id: id, rest: file.size - head.count - 1)
    }
  }

  /// Reads the bytes by which the provider takes an edit back.
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

  /// Opens a receipt's file; what is wrong with it is said with the file's name.
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
