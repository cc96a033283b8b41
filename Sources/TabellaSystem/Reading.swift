import Tabella

/// Calls `body`, which returns -1 and sets `errno` on failure, again while a signal interrupts it.
///
/// Throws the ``TableError`` of the failed call; `errorPrefix` is the text in front of the system's message.
package func readRetrying(_ errorPrefix: String, _ body: () -> Int) throws(TableError) -> Int {
  while true {
    let result = body()
    if result >= 0 { return result }
    if errno != EINTR { throw .system(errno, errorPrefix) }
  }
}

/// Reads an open file from its own offset. If the file is non-blocking, waits for input. Another program that has the same
/// open file may have made it so.
///
/// Throws like ``readRetrying(_:_:)``.
package func readWaiting(
  _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, _ errorPrefix: String
) throws(TableError) -> Int {
  while true {
    let got = read(file, buffer.baseAddress, buffer.count)
    if got >= 0 { return got }
    if errno == EAGAIN {
      _ = hasInput(file)
    } else if errno != EINTR {
      throw .system(errno, errorPrefix)
    }
  }
}

/// Reads an open file at an offset until `buffer` is full or the file ends. Returns the number of bytes.
///
/// Throws like ``readRetrying(_:_:)``.
package func readFull(
  _ file: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer, _ errorPrefix: String
) throws(TableError) -> Int {
  var done = 0
  while done < buffer.count {
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
    let got = try readRetrying(errorPrefix) {
      pread(file, rest.baseAddress, rest.count, off_t(offset + done))
    }
    if got == 0 { break }
    done += got
  }
  return done
}

/// Reads bytes of an open file at an offset; fewer at the end of the file.
///
/// Throws like ``readRetrying(_:_:)``.
package func readFull(
  _ file: Int32, at offset: Int, count: Int, _ errorPrefix: String
) throws(TableError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  let result = bytes.withUnsafeMutableBytes { buffer in
    Result { () throws(TableError) in try readFull(file, at: offset, into: buffer, errorPrefix) }
  }
  bytes.removeLast(count - (try result.get()))
  return bytes
}

/// Reads an open file from its offset to its end, at most `limit` bytes. Returns nil with `errno` set on failure.
///
/// `isAll` tells whether the end was reached. If the file is non-blocking, waits for input. With `stopsAtBlock`, it
/// counts as read up to there instead, or as failed if nothing was read.
package func readAll(
  _ file: Int32, upTo limit: Int = .max, stopsAtBlock: Bool = false
) -> (bytes: [UInt8], isAll: Bool)? {
  let buffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: max(1, min(limit, 1 << 17)), alignment: 16)
  defer { buffer.deallocate() }
  var bytes: [UInt8] = []
  while bytes.count < limit {
    let got = read(file, buffer.baseAddress, min(buffer.count, limit - bytes.count))
    if got == 0 { return (bytes, true) }
    if got > 0 {
      bytes.append(contentsOf: buffer[..<got])
    } else if errno == EAGAIN, !stopsAtBlock {
      _ = hasInput(file)
    } else if errno == EAGAIN, !bytes.isEmpty {
      break
    } else if errno != EINTR {
      return nil
    }
  }
  return (bytes, false)
}

/// The bytes of a small file, such as a file of `/proc`. Returns nil with `errno` set if it cannot be read.
package func readSmallFile(_ path: String, upTo limit: Int = 4096) -> [UInt8]? {
  guard let file = Descriptor(opening: path, O_RDONLY) else { return nil }
  return readAll(file.raw, upTo: limit)?.bytes
}

/// Waits until an open file accepts output, or has failed.
package func waitForRoom(_ file: Int32) {
  var output = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
  while poll(&output, 1, -1) < 0, errno == EINTR {}
}

/// Waits until an open file has input, has ended, or has failed. Without a time, it waits as long as necessary.
///
/// Returns false if that did not happen within the time.
package func hasInput(_ file: Int32, within milliseconds: Int32 = -1) -> Bool {
  var input = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
  while true {
    let ready = poll(&input, 1, milliseconds)
    if ready >= 0 { return ready > 0 }
    if errno != EINTR { return true }
  }
}
