/// The extension of a file name: the bytes after its last dot, in lower case.
///
/// The name can be a path; then its last component counts. The result is nil if the name has no dot, ends with one, or
/// has dots only at its start, as in `.bashrc`.
public func fileExtension(of path: UnsafeRawBufferPointer) -> [UInt8]? {
  let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
  let name = path[start...].drop { $0 == UInt8(ascii: ".") }
  guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot + 1 < name.endIndex else { return nil }
  let own = name[(dot + 1)...]
  guard own.contains(where: { $0 >= 0x80 }), let text = String(validating: own, as: UTF8.self)
  else { return own.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 } }
  return Array(text.lowercased().utf8)
}
