/// A digest of a text, as hexadecimal digits.
func fingerprint(_ text: String, digits: Int) -> String {
  var text = text
  let number = text.withUTF8 { String(digest64(UnsafeRawBufferPointer($0)), radix: 16) }
  return String(repeating: "0", count: max(0, digits - number.utf8.count)) + number.suffix(digits)
}
