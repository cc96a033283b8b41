/// A command-line argument: bytes, because file names are bytes.
struct Argument: Hashable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The argument as text, with invalid UTF-8 replaced.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
