// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names of the functions are those of the header.

import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge

// The functions about changes.

@c @implementation
public func tabella_embed_follow(
  _ table: OpaquePointer, _ out: UnsafeMutablePointer<OpaquePointer?>,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let table: EmbeddedTable = object(table)
  return answer(error, on: table, into: out) { () throws(TableError) in
    if let changes = table.source.changes, !table.position.isCurrent {
      _ = try table.position.pulling { () throws(TableError) in try changes.pull() }
    }
    return try EmbeddedFollower(table)
  }
}

@c @implementation
public func tabella_embed_pull(
  _ follower: OpaquePointer, _ out: UnsafeMutablePointer<tabella_changes>,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  out.pointee = tabella_changes()
  let follower: EmbeddedFollower = object(follower)
  return answer(error, on: follower.table) { () throws(TableError) in
    exportChanges(try follower.pull(), to: out)
  }
}

@c @implementation
public func tabella_embed_listen(
  _ follower: OpaquePointer, _ notify: tabella_notify?, _ context: UnsafeMutableRawPointer?,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let follower: EmbeddedFollower = object(follower)
  return answer(error, on: follower.table) { () throws(TableError) in
    follower.listening = nil
    guard let notify else { return }
    follower.listening = try Listening(to: follower.table.position, listener(notify, context))
  }
}

@c @implementation
public func tabella_embed_follower_release(_ follower: OpaquePointer?) {
  release(follower, EmbeddedFollower.self, \.table.host)
}
