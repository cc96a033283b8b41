/// A path as text within one line: control characters become `?`, and a long path loses its beginning.
func readable(_ path: [UInt8]) -> String {
  let longest = 200
  let end = path.suffix(longest).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
  return (path.count > end.count ? "…" : "") + String(decoding: end, as: UTF8.self)
}
