// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names of the functions are those of the header.

import CTabella
import CTabellaEmbed
import Tabella
import TabellaHost

// The functions about hosts and their tables.

private let version: StaticString = "0.1.0"

@c @implementation
public func tabella_embed_version() -> tabella_string {
  tabella_string(
    bytes: UnsafeRawPointer(version.utf8Start).assumingMemoryBound(to: CChar.self),
    length: Int64(version.utf8CodeUnitCount))
}

@c @implementation
public func tabella_embed_host_create(
  _ settings: UnsafePointer<tabella_embed_settings>?,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  answer(error, on: nil, into: out) { () throws(TableError) in
    try ProcessUse.begin()
    return try EmbeddedHost(settings?.pointee ?? tabella_embed_settings())
  }
}

@c @implementation
public func tabella_embed_host_release(_ host: OpaquePointer?) {
  release(host, EmbeddedHost.self) { $0 }
}

@c @implementation
public func tabella_embed_providers(
  _ host: OpaquePointer, _ out: UnsafeMutablePointer<OpaquePointer?>,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let host: EmbeddedHost = object(host)
  return answer(error, on: host, into: out) { () throws(TableError) in
    EmbeddedTable(host.host.providersTable, provider: "tabella", name: "providers", of: host)
  }
}
