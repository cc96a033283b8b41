// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names of the functions are those of the header.

import CTabella
import CTabellaEmbed
import Glibc
import Tabella
import TabellaHost

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
        out.pointee = ArrowSchema()
        guard let stream = state(of: stream) else { return EINVAL }
        stream.writeSchema(to: out)
        return 0
      },
      get_next: { stream, out in
        out.pointee = ArrowArray()
        return state(of: stream)?.writeNext(to: out) ?? EINVAL
      },
      get_last_error: { stream in
        guard !ProcessUse.isInherited else { return inheritedMessage }
        return state(of: stream)?.lastErrorText
      },
      release: { stream in
        state(of: stream)?.stop()
        release(stream.pointee.private_data.map { OpaquePointer($0) }, RowStream.self, \.table.host)
        stream.pointee.private_data = nil
        stream.pointee.release = nil
      }, private_data: Unmanaged.passRetained(stream).toOpaque())
  }
}

/// The state of a stream; nil in a forked child.
private func state(of stream: UnsafeMutablePointer<ArrowArrayStream>) -> RowStream? {
  guard !ProcessUse.isInherited, let data = stream.pointee.private_data else { return nil }
  return Unmanaged<RowStream>.fromOpaque(data).takeUnretainedValue()
}

/// The text of the error in a forked child. It lives until the process ends.
nonisolated(unsafe) private let inheritedMessage = UnsafePointer(
  strdup(ProcessUse.inheritedMessage))
