/// A command-line argument: bytes, since names of files are.
struct Argument: Hashable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The argument as text, repaired where it is not UTF-8.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
