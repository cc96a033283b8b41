import Glibc
import Tabella
import TabellaFiles

/// The open file of a receipt.
final class ReceiptFile {
  private let descriptor: Int32
  let size: Int

  /// Throws ``TableError`` with `.denied` if others may have written the file, `.invalidArgument` if it is not a
  /// regular file, `.notFound`, or `.io`.
  init(_ name: String, in folder: OwnFolder) throws(TableError) {
    let descriptor = name.withCString {
      openat(folder.descriptor, $0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    }
    guard descriptor >= 0 else {
      throw switch errno {
      case ENOENT: .noReceipt
      case ELOOP: TableError(.invalidArgument, "it is a symbolic link")
      default: .system(errno, "the receipt cannot be read")
      }
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw TableError(.invalidArgument, "it is not a regular file")
    }
    do throws(TableError) {
      try folder.judge(descriptor, named: name)
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

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
    var bytes = [UInt8](repeating: 0, count: count)
    var got = 0
    while got < count {
      let read = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress! + got, count - got, offset + got)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw .system(errno, "the receipt cannot be read") }
      if read == 0 { break }
      got += read
    }
    bytes.removeLast(count - got)
    return bytes
  }
}

extension TableError {
  static let noReceipt = TableError(.notFound, "there is no such receipt")
}
