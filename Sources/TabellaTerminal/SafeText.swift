import Tabella

/// Text that is safe to print: no control reaches the terminal, every byte is shown somehow.
///
/// The one sanitiser. What a terminal could take for a command (C0, DEL, C1), what reorders text
/// (bidi controls) and what is no UTF-8 appears as an escape: `\n`, `\x1b`, `\u{202e}`.
public struct SafeText: Hashable, Sendable, CustomStringConvertible {
  public private(set) var string: String
  /// How many columns of a terminal it takes.
  public private(set) var width: Int

  public var description: String { string }

  public init(_ text: String) {
    var text = text
    self = text.withUTF8 { SafeText(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Safe text of bytes that need not be UTF-8.
  public init(bytes: UnsafeRawBufferPointer) {
    if bytes.allSatisfy({ 0x20...0x7E ~= $0 }) {
      string = String(decoding: bytes, as: UTF8.self)
      width = bytes.count
      return
    }
    var safe = ""
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var at = 0
    decoding: while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar):
        SafeText.append(scalar, to: &safe)
        at += UTF8.width(scalar)
      case .error:
        // The decoder does not say how many bytes it dropped: find the next place where it agrees.
        safe += "\\x" + hex(UInt32(bytes[at]), 2)
        at += 1
        decoder = UTF8()
        iterator = UnsafeRawBufferPointer(rebasing: bytes[at...]).makeIterator()
      case .emptyInput: break decoding
      }
    }
    string = safe
    width = displayWidth(of: safe)
  }

  /// Text of our own making, which is shown as it is.
  init(trusted string: String, width: Int) {
    self.string = string
    self.width = width
  }

  public mutating func append(_ other: SafeText) {
    string += other.string
    width += other.width
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
    switch scalar.value {
    case 0x0A: text += "\\n"
    case 0x0D: text += "\\r"
    case 0x09: text += "\\t"
    case 0..<0x20, 0x7F: text += "\\x" + hex(scalar.value, 2)
    default:
      if scalar.isUnsafeToPrint {
        text += "\\u{" + hex(scalar.value, 1) + "}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The text cut to at most `limit` columns, with an ellipsis where something was cut.
  public func fitted(to limit: Int, ellipsis: SafeText = "…") -> SafeText {
    if width <= limit { return self }
    let room = limit - ellipsis.width
    guard room >= 0 else { return SafeText() }
    var cut = ""
    var used = 0
    for character in string {
      let next = displayWidth(of: character)
      if used + next > room { break }
      cut.append(character)
      used += next
    }
    return SafeText(trusted: cut, width: used) + ellipsis
  }

  /// The text with spaces before or behind it, to take `columns` columns.
  public func padded(to columns: Int, alignedRight: Bool = false) -> SafeText {
    if width >= columns { return self }
    let space = SafeText.spaces(columns - width)
    return alignedRight ? space + self : self + space
  }
}

private func hex(_ value: UInt32, _ digits: Int) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
