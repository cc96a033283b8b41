import Glibc

/// Reads the first `limit` bytes of a file. `isAll` is true if the file ends there.
func contents(
  of file: Int32, upTo limit: Int
) throws(Failure) -> (bytes: [UInt8], isAll: Bool) {
  var bytes = [UInt8](repeating: 0, count: limit)
  var count = 0
  while count < limit {
    let got = bytes.withUnsafeMutableBytes {
      Glibc.read(file, $0.baseAddress! + count, limit - count)
    }
    if got == 0 { return (Array(bytes[..<count]), true) }
    if got > 0 {
      count += got
    } else if errno == EAGAIN, count > 0 {
      // Reading on would block.
      break
    } else if errno != EINTR {
      throw Failure(errno)
    }
  }
  return (Array(bytes[..<count]), false)
}
