import Tabella
import TabellaHost

/// What is kept of an edit that was done: enough to list it and, where the provider can, to take it back.
struct Receipt {
  /// Where a table was, so that it is found again from any folder.
  struct Place: Hashable {
    /// An absolute path, or `SCHEME:REST` as it was given.
    var location: [UInt8]
    /// The folder in which a location with a scheme was given; nil for a path.
    var folder: [UInt8]?
    /// The same for all ways to name the same file: its real path, or else the location.
    var key: [UInt8]
  }

  var id: ReceiptID
  var provider: String
  var place: Place
  /// The provider's options.
  var options: [String: String]
  var from: String?
  var to: String?
  /// What was done, for people: `change 1 row (born): Ada`; of an undo `undo: ` before what it took back.
  var summary: String
  /// What the provider takes it back by; nil if it cannot be taken back.
  var receipt: [UInt8]?
  /// The receipt that this edit took back.
  var undoes: ReceiptID?
  /// Whether it took an edit back. To take that back is to do the edit again, and no undo.
  var isUndo: Bool

  /// What was done, taken back or done again.
  var edits: Substring {
    undoes == nil ? summary[...] : summary.drop { $0 != " " }.dropFirst()
  }
}

/// The name of a receipt: the moment in UTC, to the microsecond, and six random digits. Ids stand in the
/// order of their moments, and are safe as names of files.
struct ReceiptID: Hashable, Comparable, CustomStringConvertible {
  let text: String

  /// Nil for what is not written as ids are.
  init?(_ text: String) {
    let pattern = Array("00000000T000000.000000Z-xxxxxx".utf8)
    let bytes = Array(text.utf8)
    guard bytes.count == pattern.count else { return nil }
    for (byte, wanted) in zip(bytes, pattern) {
      let fits =
        switch wanted {
        case UInt8(ascii: "0"): 48...57 ~= byte
        case UInt8(ascii: "x"): 48...57 ~= byte || 97...102 ~= byte
        default: byte == wanted
        }
      guard fits else { return nil }
    }
    self.text = text
    guard time != nil else { return nil }
  }

  /// A new one for a moment.
  init(at time: Timestamp) {
    // To the microsecond, always with six digits.
    let microseconds = time.nanoseconds / 1000
    let whole = Timestamp(nanoseconds: microseconds / 1_000_000 * 1_000_000_000)
    let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
    let moment = whole.description.filter { $0 != "-" && $0 != ":" && $0 != "Z" }
    let random = String(UInt32.random(in: 0x100_0000...0x1FF_FFFF), radix: 16).dropFirst()
    text = "\(moment).\(fraction)Z-\(random)"
  }

  var time: Timestamp? {
    let digits = Array(text.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: digits[range], as: UTF8.self) }
    let date = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))"
    let moment = "\(date)T\(part(9..<11)):\(part(11..<13)):\(part(13..<22))Z"
    return Array(moment.utf8).withUnsafeBytes { Timestamp(rfc3339: $0) }
  }

  var description: String { text }

  static func < (left: ReceiptID, right: ReceiptID) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension Receipt {
  /// The receipt as it is kept, without its id, which is the name of its file.
  var json: JSONValue {
    var members = members
    members["digest"] = .string(Receipt.digest(of: members))
    return .object(members)
  }

  /// What shows that a receipt is as it was written: by a damaged one wrong bytes would be put back.
  static func digest(of members: [String: JSONValue]) -> String {
    var text: [UInt8] = []
    JSONValue.object(members).append(to: &text)
    return String(text.withUnsafeBytes { digest64($0) }, radix: 16)
  }

  private var members: [String: JSONValue] {
    func text(_ bytes: [UInt8]?) -> JSONValue { bytes.map { cellJSON(.text($0)) } ?? .null }
    func text(_ string: String?) -> JSONValue { string.map { .string($0) } ?? .null }
    return [
      "id": .string(id.text), "time": text(id.time?.description), "provider": .string(provider),
      "location": text(place.location), "folder": text(place.folder), "place": text(place.key),
      "options": .object(options.mapValues { .string($0) }),
      "version": .object(["from": text(from), "to": text(to)]), "edits": .string(summary),
      "undoable": .boolean(receipt != nil),
      "receipt": receipt.map { .string($0.withUnsafeBytes { base64($0) }) } ?? .null,
      "undoes": text(undoes?.text), "undo": .boolean(isUndo),
    ]
  }

  /// Reads what was kept; throws ``TableError`` with `.invalidArgument` that says what is wrong with it.
  init(parsing text: [UInt8], id: ReceiptID) throws(TableError) {
    guard case .object(var members) = try JSONValue(parsing: text),
      members.removeValue(forKey: "digest") == .string(Receipt.digest(of: members))
    else { throw .damaged("it") }
    let fields = ReceiptFields(json: .object(members))
    guard try fields.text("id") == id.text else { throw .damaged("\"id\"") }
    self.id = id
    guard let provider = try fields.text("provider"),
      let location = try fields.bytes("location"), let key = try fields.bytes("place"),
      !location.isEmpty, !location.contains(0), !key.isEmpty
    else { throw .damaged("\"provider\", \"location\" or \"place\"") }
    self.provider = provider
    place = Place(location: location, folder: try fields.bytes("folder"), key: key)
    guard place.folder?.contains(0) != true, case .object(let members)? = fields.json["options"]
    else { throw .damaged("\"folder\" or \"options\"") }
    options = [:]
    for (name, value) in members {
      guard let value = value.string else { throw .damaged("\"options\"") }
      options[name] = value
    }
    let version = ReceiptFields(json: fields.json["version"] ?? .null)
    (from, to) = (try version.text("from"), try version.text("to"))
    summary = try fields.text("edits") ?? ""
    receipt = try fields.text("receipt").map { text throws(TableError) in
      guard let bytes = TabellaCLI.bytes(base64: text) else { throw .damaged("\"receipt\"") }
      return bytes
    }
    undoes = try fields.text("undoes").map { text throws(TableError) in
      guard let id = ReceiptID(text) else { throw .damaged("\"undoes\"") }
      return id
    }
    guard case .boolean(let isUndo)? = fields.json["undo"], !isUndo || undoes != nil else {
      throw .damaged("\"undo\"")
    }
    self.isUndo = isUndo
  }
}

/// The members of a receipt; those that are not there are nil.
private struct ReceiptFields {
  let json: JSONValue

  func text(_ key: String) throws(TableError) -> String? {
    guard let value = json[key], value != .null else { return nil }
    guard let text = value.string else { throw .damaged("\"\(key)\"") }
    return text
  }

  func bytes(_ key: String) throws(TableError) -> [UInt8]? {
    if let encoded = json[key]?["base64"]?.string {
      guard let bytes = TabellaCLI.bytes(base64: encoded) else { throw .damaged("\"\(key)\"") }
      return bytes
    }
    return try text(key).map { Array($0.utf8) }
  }
}

extension TableError {
  fileprivate static func damaged(_ what: String) -> TableError {
    TableError(.invalidArgument, "\(what) is not as it was written")
  }
}
