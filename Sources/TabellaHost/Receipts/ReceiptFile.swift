import Glibc
import Tabella
import TabellaSystem

/// The open file of a receipt.
final class ReceiptFile {
  private let file: Descriptor
  let size: Int

  /// Throws `TableError` with `.denied` if others may have written the file, `.invalidArgument` if it is not a
  /// regular file, `.notFound`, or `.io`.
  init(_ name: String, in folder: OwnFolder) throws(TableError) {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(opening: name, in: folder.descriptor, flags) else {
      throw switch errno {
      case ENOENT: .noReceipt
      case ELOOP: TableError(.invalidArgument, "it is a symbolic link")
      default: .system(errno, "the receipt cannot be read")
      }
    }
    guard let status = stat(of: file.raw), status.kind == S_IFREG else {
      throw TableError(.invalidArgument, "it is not a regular file")
    }
    try folder.judge(file.raw, named: name)
    self.file = file
    size = Int(status.st_size)
  }

  /// The first line, without its end.
  func head(upTo limit: Int) throws(TableError) -> [UInt8] {
    var count = 4096
    while true {
      let bytes = try bytes(at: 0, count: min(count, size))
      if let end = bytes.firstIndex(of: 10) { return Array(bytes[..<end]) }
      guard bytes.count == count, count < limit else {
        throw TableError(.invalidArgument, "its first line is incomplete")
      }
      count *= 8
    }
  }

  /// Bytes from an offset on; fewer at the end of the file.
  func bytes(at offset: Int, count: Int) throws(TableError) -> [UInt8] {
    try readFull(file.raw, at: offset, count: count, "the receipt cannot be read")
  }
}

extension TableError {
  static let noReceipt = TableError(.notFound, "there is no such receipt")
}
