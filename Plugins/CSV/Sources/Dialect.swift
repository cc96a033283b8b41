/// How a text is divided into records and cells.
struct Dialect: Hashable {
  var delimiter: UInt8 = UInt8(ascii: ",")
  /// What encloses cells; nil if nothing does.
  var quote: UInt8? = UInt8(ascii: "\"")
  /// What makes the next character plain; nil if nothing does.
  var escape: UInt8?
}
