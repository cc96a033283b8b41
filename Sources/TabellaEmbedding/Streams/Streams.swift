import CTabella
import CTabellaEmbed
import Glibc
import Tabella

// The function that makes Arrow streams, and the functions of a stream.

@c @implementation
public func tabella_embed_stream(
  _ table: OpaquePointer, _ request: UnsafePointer<tabella_embed_stream_request>?,
  _ out: UnsafeMutablePointer<ArrowArrayStream>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  out.pointee = ArrowArrayStream()
  let table: EmbeddedTable = object(table)
  return answer(error, on: table) { () throws(TableError) in
    let stream = try RowStream(table, try StreamRequest(request?.pointee, of: table.source))
    out.pointee = ArrowArrayStream(
      get_schema: { stream, out in
        answer(stream) { stream throws(RowStream.Failure) in stream.writeSchema(to: out) }
      },
      get_next: { stream, out in
        out.pointee = ArrowArray()
        return answer(stream) { stream throws(RowStream.Failure) in
          try stream.writeNext(to: out)
        }
      },
      get_last_error: { stream in
        guard !ProcessUse.isInherited else { return inheritedMessage }
        return stream.pointee.private_data.flatMap {
          Unmanaged<RowStream>.fromOpaque($0).takeUnretainedValue().lastErrorText
        }
      },
      release: { stream in
        release(stream.pointee.private_data.map { OpaquePointer($0) }, RowStream.self, \.table.host)
        stream.pointee.private_data = nil
        stream.pointee.release = nil
      }, private_data: Unmanaged.passRetained(stream).toOpaque())
  }
}

/// Runs `body` with the state of a stream, under the lock of its host. Returns 0 or an error number.
private func answer(
  _ stream: UnsafeMutablePointer<ArrowArrayStream>,
  _ body: (RowStream) throws(RowStream.Failure) -> Void
) -> Int32 {
  guard !ProcessUse.isInherited, let data = stream.pointee.private_data else { return EINVAL }
  let stream = Unmanaged<RowStream>.fromOpaque(data).takeUnretainedValue()
  stream.table.host.lock.lock()
  defer { stream.table.host.lock.unlock() }
  do throws(RowStream.Failure) {
    try body(stream)
    return 0
  } catch {
    return stream.report(error)
  }
}

/// The text of the error in a forked child. It lives until the process ends.
nonisolated(unsafe) private let inheritedMessage = UnsafePointer(
  strdup(ProcessUse.inheritedMessage))
