import Glibc
import TabellaSystem

/// Reads the first `limit` bytes of a file. `isAll` is true if the file ends there.
func contents(
  of file: Int32, upTo limit: Int
) throws(Failure) -> (bytes: [UInt8], isAll: Bool) {
  guard let contents = readAll(file, upTo: limit, stopsAtBlock: true) else { throw Failure(errno) }
  return contents
}
