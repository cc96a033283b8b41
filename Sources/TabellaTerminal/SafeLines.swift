import Tabella

/// Lines of safe text under construction. Appending plain bytes and numbers costs a copy, without a string for each.
package struct SafeLines {
  /// The text, in UTF-8.
  package private(set) var bytes: [UInt8] = []
  /// The width of all lines together, in terminal columns.
  package private(set) var width = 0
  private var hasRightToLeft = false

  /// Creates an empty text.
  package init() {}

  /// The lines as text.
  package var text: SafeText {
    SafeText(
      trusted: String(decoding: bytes, as: UTF8.self), width: width,
      hasRightToLeft: hasRightToLeft)
  }

  /// Appends a text, of which nothing was cut.
  package mutating func append(_ text: SafeText) {
    var string = text.string
    string.withUTF8 { bytes.append(contentsOf: $0) }
    width += text.width
    hasRightToLeft = hasRightToLeft || text.hasRightToLeft
  }

  /// Appends bytes if they are plain, behind a text; see ``SafeText/isPlain(_:)``. Returns whether they are.
  package mutating func append(
    ifPlain text: UnsafeRawBufferPointer, behind head: SafeText? = nil
  ) -> Bool {
    guard SafeText.isPlain(text) else { return false }
    if let head { append(head) }
    bytes.append(contentsOf: text)
    width += text.count
    return true
  }

  /// Appends the decimal digits of a number.
  package mutating func append(_ number: Int) {
    withUnsafeTemporaryAllocation(byteCount: Int64.longestText, alignment: 8) { place in
      let count = Int64(number).write(to: place.baseAddress!)
      bytes.append(contentsOf: place[..<count])
      width += count
    }
  }

  /// Appends the name of a row: `0:5`.
  package mutating func append(_ path: IndexPath) {
    append(path.section)
    bytes.append(UInt8(ascii: ":"))
    width += 1
    if !path.isSection { append(path.row) }
  }

  /// Ends a line.
  package mutating func endLine() { bytes.append(10) }

  /// Removes everything, and keeps its memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    (width, hasRightToLeft) = (0, false)
  }
}
