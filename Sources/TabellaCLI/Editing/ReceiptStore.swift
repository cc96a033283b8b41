import Glibc
import Tabella
import TabellaFiles
import TabellaHost

/// The folder of receipts: `$XDG_STATE_HOME/tabella/receipts`, a file for each.
struct ReceiptStore {
  /// How many are kept.
  private static let limit = 1000
  /// No receipt is larger.
  private static let mostBytes = 1 << 30
  /// What most receipts need.
  private static let room = 1 << 16
  private static let suffix = ".json"

  let folder: [UInt8]
  var path: String { String(decoding: folder, as: UTF8.self) }

  /// Finds the folder, which need not be there.
  init() throws(Failure) {
    guard let state = stateFolder() else {
      throw Failure(
        status: .failed, subject: "receipts", code: "io",
        message: "there is no place for them: neither XDG_STATE_HOME nor HOME is an absolute path")
    }
    folder = state + Array("/receipts".utf8)
  }

  /// Takes room for a receipt, before what it is for is done.
  func reserve() throws(TableError) -> DurableFile {
    try makeFolders(folder)
    return try DurableFile(in: folder, room: ReceiptStore.room)
  }

  /// Throws if no receipt could be kept, as far as that can be told without doing anything.
  func checkPlace() throws(TableError) {
    var place = folder[...]
    while true {
      let found = Array(place).withCString {
        faccessat(AT_FDCWD, $0, W_OK | X_OK, Int32(AT_EACCESS))
      }
      if found == 0 { return }
      let number = errno
      let parent = place.lastIndex(of: UInt8(ascii: "/")) ?? 0
      guard number == ENOENT, parent > 0 else {
        throw .system(number, "\(String(decoding: place, as: UTF8.self)) cannot be written into")
      }
      place = place[..<parent]
    }
  }

  /// Keeps a receipt. The oldest give way to it.
  func keep(_ receipt: Receipt, in file: DurableFile) throws(TableError) {
    var text: [UInt8] = []
    receipt.json.append(to: &text)
    try file.write(text + [10], name: receipt.id.text + ReceiptStore.suffix)
    guard let ids = try? ids() else { return }
    for old in ids.dropFirst(ReceiptStore.limit) {
      _ = path(of: old).withCString { unlink($0) }
    }
  }

  private func path(of id: ReceiptID) -> [UInt8] {
    folder + Array("/\(id.text)\(ReceiptStore.suffix)".utf8)
  }

  /// The receipts that there are, the newest first.
  func ids() throws(Failure) -> [ReceiptID] {
    guard let stream = folder.withCString({ opendir($0) }) else {
      if errno == ENOENT { return [] }
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

  /// Reads a receipt.
  func receipt(_ id: ReceiptID) throws(Failure) -> Receipt {
    try Failure.about("receipt:\(id)") { () throws(TableError) in
      let text = try content(of: id)
      do throws(TableError) {
        return try Receipt(parsing: text, id: id)
      } catch {
        throw TableError(
          .io, "the receipt is damaged: \(error.message); it is \(path)/\(id)\(ReceiptStore.suffix)"
        )
      }
    }
  }

  private func content(of id: ReceiptID) throws(TableError) -> [UInt8] {
    let descriptor = path(of: id).withCString {
      open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    }
    guard descriptor >= 0 else {
      throw errno == ENOENT
        ? TableError(.notFound, "there is no such receipt; tabella log lists them")
        : .system(errno, "the receipt cannot be read")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= ReceiptStore.mostBytes
    else { throw TableError(.io, "the receipt is damaged: it is no file of at most 1 GiB") }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var got = 0
    while got < bytes.count {
      let count = bytes.withUnsafeMutableBytes { buffer in
        read(descriptor, buffer.baseAddress! + got, buffer.count - got)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system(errno, "the receipt cannot be read") }
      if count == 0 { break }
      got += count
    }
    bytes.removeLast(bytes.count - got)
    return bytes
  }
}

extension Receipt.Place {
  /// The place that an operand names, whichever provider it was edited by.
  init(_ operand: Argument) throws(Failure) {
    let schemes = Host().catalogue.entries.flatMap(\.manifest.schemes)
    self = try Failure.about(operand.text) { () throws(TableError) in
      try Receipt.Place(operand.bytes, schemes: schemes)
    }
  }

  /// Where a location is; `schemes` are those of its provider.
  ///
  /// Throws ``TableError`` with `.io` if it cannot be found out.
  init(_ location: [UInt8], schemes: [String]) throws(TableError) {
    let scheme = location.prefix { $0 != UInt8(ascii: ":") }
    let hasScheme =
      scheme.count < location.count && schemes.contains { $0.utf8.elementsEqual(scheme) }
    let rest = hasScheme ? location[(scheme.count + 1)...] : location[...]
    var isRelative = rest.first != UInt8(ascii: "/")
    if hasScheme { isRelative = isRelative && !rest.isEmpty }
    let folder = isRelative ? workingDirectory() : nil
    guard !isRelative || folder != nil else {
      throw TableError(.io, "the working directory is gone: name the location by its whole path")
    }
    self.location = hasScheme ? location : absolute(location[...], in: folder)
    self.folder = hasScheme ? folder : nil
    key =
      rest.isEmpty ? location : try realPath(rest) ?? (hasScheme ? location : self.location)
  }
}

private func absolute(_ path: ArraySlice<UInt8>, in folder: [UInt8]?) -> [UInt8] {
  folder.map { $0 + [UInt8(ascii: "/")] + path } ?? Array(path)
}

private func workingDirectory() -> [UInt8]? {
  guard let path = getcwd(nil, 0) else { return nil }
  defer { free(path) }
  return UnsafeRawBufferPointer(start: path, count: strlen(path)).map { $0 }
}

/// The path without links and dots; nil if nothing is there.
private func realPath(_ path: ArraySlice<UInt8>) throws(TableError) -> [UInt8]? {
  guard let found = Array(path).withCString({ realpath($0, nil) }) else {
    // Under another key the receipt would not be found again.
    guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
      throw .system(errno, "its place cannot be found out")
    }
    return nil
  }
  defer { free(found) }
  return UnsafeRawBufferPointer(start: found, count: strlen(found)).map { $0 }
}
