/// A digest of a text, as hexadecimal digits.
func fingerprint(_ text: String, digits: Int) -> String {
  var text = text
  let number = text.withUTF8 { String(digest64(UnsafeRawBufferPointer($0)), radix: 16) }
  var all = String(repeating: "0", count: max(0, digits - number.utf8.count))
  all += String(number.suffix(digits))
  return all
}

/// A digest of several texts. It depends on where one text ends and the next one begins.
func fingerprint(of texts: [String], digits: Int) -> String {
  fingerprint(texts.map { "\($0.utf8.count) \($0)" }.joined(separator: " "), digits: digits)
}

/// The numbers of the bytes. The description of an array contains them, too, but casts each byte to several protocols
/// (docs/performance.md, "What a start costs").
func described(_ bytes: [UInt8]) -> String {
  bytes.map { String($0) }.joined(separator: " ")
}
