/// A JSON value (RFC 8259). Manifests and edit batches are written in JSON.
public enum JSONValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  /// A number, in the spelling of the document.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// Parses a document.
  ///
  /// Throws ``TableError`` with `.invalidArgument` and the line and column. A repeated key and more than 100 levels
  /// are errors. `isLine` means that the text is one line of a longer text; errors then name only the column.
  public init(parsing text: [UInt8], isLine: Bool = false) throws(TableError) {
    let result = text.withUnsafeBufferPointer { text in
      Result { () throws(TableError) in
        var parser = JSONParser(text: text, isLine: isLine)
        return try parser.document()
      }
    }
    self = try result.get()
  }

  /// The member of an object with this key; nil if there is none, or if the value is not an object.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  /// The string; nil if the value is not a string.
  public var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The elements; nil if the value is not an array.
  public var array: [JSONValue]? {
    guard case .array(let value) = self else { return nil }
    return value
  }

  /// The number; nil if the value is not an integer of 64 bits.
  public var integer: Int? {
    guard case .number(let value) = self else { return nil }
    return Int(value)
  }
}

private struct JSONParser {
  /// The document, which is valid while it is parsed. Every access must be in front of its end.
  let text: UnsafeBufferPointer<UInt8>
  /// Whether the text is one line of a longer one. Errors then name only the column.
  let isLine: Bool
  var at = 0
  var depth = 0

  init(text: UnsafeBufferPointer<UInt8>, isLine: Bool) {
    self.text = text
    self.isLine = isLine
  }

  mutating func document() throws(TableError) -> JSONValue {
    let value = try value()
    skipSpace()
    guard at == text.count else { throw error("there is text after the document") }
    return value
  }

  private func error(_ what: String) -> TableError {
    let before = text[..<min(at, text.count)]
    let line = before.count { $0 == 10 } + 1
    let column = before.count - (before.lastIndex(of: 10).map { $0 + 1 } ?? 0) + 1
    let place = isLine ? "column \(column)" : "JSON line \(line), column \(column)"
    return TableError(.invalidArgument, "\(place): \(what)")
  }

  private mutating func skipSpace() {
    while at < text.count, text[at] == 0x20 || 0x09...0x0A ~= text[at] || text[at] == 0x0D {
      at += 1
    }
  }

  private mutating func take(_ literal: String) -> Bool {
    guard text[at...].starts(with: literal.utf8) else { return false }
    at += literal.utf8.count
    return true
  }

  private mutating func take(byte: Unicode.Scalar) -> Bool {
    guard at < text.count, text[at] == UInt8(ascii: byte) else { return false }
    at += 1
    return true
  }

  private mutating func value() throws(TableError) -> JSONValue {
    skipSpace()
    guard at < text.count else { throw error("a value is missing") }
    switch text[at] {
    case UInt8(ascii: "{"): return try nested { parser throws(TableError) in try parser.object() }
    case UInt8(ascii: "["): return try nested { parser throws(TableError) in try parser.list() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), 48...57: return .number(try number())
    default:
      if take("null") { return .null }
      if take("true") { return .boolean(true) }
      if take("false") { return .boolean(false) }
      throw error("a value is missing")
    }
  }

  private mutating func nested(
    _ body: (inout JSONParser) throws(TableError) -> JSONValue
  ) throws(TableError) -> JSONValue {
    guard depth < 100 else { throw error("more than 100 levels") }
    depth += 1
    at += 1
    defer { depth -= 1 }
    return try body(&self)
  }

  private mutating func list() throws(TableError) -> JSONValue {
    var elements: [JSONValue] = []
    skipSpace()
    if take(byte: "]") { return .array(elements) }
    while true {
      elements.append(try value())
      skipSpace()
      if take(byte: "]") { return .array(elements) }
      guard take(byte: ",") else { throw error("a comma or ] is missing") }
    }
  }

  private mutating func object() throws(TableError) -> JSONValue {
    let start = at
    var members: [JSONObject.Member] = []
    skipSpace()
    if take(byte: "}") { return .object(JSONObject()) }
    members.reserveCapacity(8)
    while true {
      members.append(try member())
      skipSpace()
      if take(byte: "}") { break }
      guard take(byte: ",") else { throw error("a comma or } is missing") }
      skipSpace()
    }
    var repeated: Int?
    let object = JSONObject(parsed: members, repeated: &repeated)
    if let repeated {
      // The error names the end of the repeated member.
      at = start
      for _ in 0...repeated {
        skipSpace()
        _ = take(byte: ",")
        skipSpace()
        _ = try member()
      }
      throw error("the key \"\(members[repeated].key)\" is repeated")
    }
    return .object(object)
  }

  private mutating func member() throws(TableError) -> JSONObject.Member {
    guard at < text.count, text[at] == UInt8(ascii: "\"") else { throw error("a key is missing") }
    let key = try string()
    skipSpace()
    guard take(byte: ":") else { throw error("a colon is missing") }
    return JSONObject.Member(key: key, value: try value())
  }

  private mutating func number() throws(TableError) -> String {
    let start = at
    _ = take(byte: "-")
    if text[at...].first == 48 { at += 1 } else { try digits() }
    if take(byte: ".") { try digits() }
    if take(byte: "e") || take(byte: "E") {
      if !take(byte: "+") { _ = take(byte: "-") }
      try digits()
    }
    return String(decoding: text[start..<at], as: UTF8.self)
  }

  private mutating func digits() throws(TableError) {
    let start = at
    while at < text.count, 48...57 ~= text[at] { at += 1 }
    guard at > start else { throw error("a digit is missing") }
  }

  private mutating func string() throws(TableError) -> String {
    at += 1
    let start = at
    var isASCII = true
    while at < text.count, text[at] >= 0x20, text[at] != UInt8(ascii: "\""),
      text[at] != UInt8(ascii: "\\")
    {
      isASCII = isASCII && text[at] < 0x80
      at += 1
    }
    // Most strings have no escape, and all bytes are ASCII. They need neither a copy nor a check.
    if isASCII, at < text.count, text[at] == UInt8(ascii: "\"") {
      at += 1
      return String(decoding: UnsafeBufferPointer(rebasing: text[start..<at - 1]), as: UTF8.self)
    }
    var bytes = Array(text[start..<at])
    while at < text.count {
      let byte = text[at]
      at += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: bytes, as: UTF8.self) else {
          throw error("the string is not UTF-8")
        }
        return string
      case UInt8(ascii: "\\"): bytes += try escape()
      case 0..<0x20:
        at -= 1
        throw error("a control character in a string")
      default: bytes.append(byte)
      }
    }
    throw error("a string has no closing quote")
  }

  private mutating func escape() throws(TableError) -> [UInt8] {
    guard at < text.count else { throw error("a string has no closing quote") }
    let byte = text[at]
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [8]
    case UInt8(ascii: "f"): return [12]
    case UInt8(ascii: "n"): return [10]
    case UInt8(ascii: "r"): return [13]
    case UInt8(ascii: "t"): return [9]
    case UInt8(ascii: "u"):
      var unit = try hexadecimal()
      if 0xD800...0xDBFF ~= unit {
        guard take("\\u") else { throw error("a surrogate pair is incomplete") }
        let low = try hexadecimal()
        guard 0xDC00...0xDFFF ~= low else { throw error("a surrogate pair is incomplete") }
        unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(unit) else { throw error("a surrogate pair is incomplete") }
      return Array(String(scalar).utf8)
    default:
      throw error("an unknown escape")
    }
  }

  private mutating func hexadecimal() throws(TableError) -> UInt32 {
    guard at + 4 <= text.count, text[at] != UInt8(ascii: "+"), text[at] != UInt8(ascii: "-"),
      let value = UInt32(String(decoding: text[at..<at + 4], as: UTF8.self), radix: 16)
    else { throw error("four hexadecimal digits are missing") }
    at += 4
    return value
  }
}

extension JSONValue {
  /// Appends a string as a JSON string.
  public static func append(string text: String, to output: inout [UInt8]) {
    var text = text
    text.withUTF8 { append(string: UnsafeRawBufferPointer($0), to: &output) }
  }

  /// Appends the value. The members of objects are in the order of their keys.
  public func append(to output: inout [UInt8]) {
    switch self {
    case .null: output += Array("null".utf8)
    case .boolean(let value): output += Array((value ? "true" : "false").utf8)
    case .number(let text): output += Array(text.utf8)
    case .string(let text): JSONValue.append(string: text, to: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        element.append(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        JSONValue.append(string: member.key, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.append(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  /// The value as JSON text.
  public var text: String {
    var output: [UInt8] = []
    append(to: &output)
    return String(decoding: output, as: UTF8.self)
  }
}
