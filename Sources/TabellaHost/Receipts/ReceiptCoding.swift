import Tabella

// The file format of a receipt: a line of JSON, then the unchanged bytes of the provider. Edits can be listed
// without reading those bytes.

extension Receipt {
  /// The line, without its end.
  var head: [UInt8] {
    var members = members
    members["digest"] = .string(Receipt.digest(of: members))
    var text: [UInt8] = []
    JSONValue.object(members).append(to: &text)
    return text
  }

  /// A digest that detects changed bytes. Undoing with damaged bytes would restore wrong data.
  static func digest(of bytes: [UInt8]) -> String {
    String(bytes.withUnsafeBytes { digest64($0) }, radix: 16)
  }

  static func digest(of members: JSONObject) -> String {
    var text: [UInt8] = []
    JSONValue.object(members).append(to: &text)
    return digest(of: text)
  }

  /// Bytes as a string, or as `{"base64":…}` if they are not UTF-8.
  private static func json(of bytes: [UInt8]) -> JSONValue {
    Cell.text(bytes).string.map { .string($0) }
      ?? .object(["base64": .string(bytes.withUnsafeBytes { base64($0) })])
  }

  private var members: JSONObject {
    func text(_ bytes: [UInt8]?) -> JSONValue { bytes.map { Receipt.json(of: $0) } ?? .null }
    func text(_ string: String?) -> JSONValue { string.map { .string($0) } ?? .null }
    return [
      "id": .string(id.text), "provider": .string(provider), "scheme": text(place.scheme),
      "rest": text(place.rest), "folder": text(place.folder),
      "options": .object(JSONObject(options.map { ($0, .string($1)) })),
      "version": .object(["from": text(from), "to": text(to)]), "edits": .string(summary),
      "kind": .string(kind.rawValue), "undoes": text(undoes?.text), "trouble": text(trouble),
      "remainder": text(remainder),
      "receipt": wayBack.map {
        .object(["bytes": .number("\($0.count)"), "digest": .string($0.digest)])
      } ?? .null,
    ]
  }

  /// Parses a stored line; `rest` is the number of bytes after it.
  ///
  /// Throws `TableError` with `.invalidArgument` if the line is not valid.
  init(parsing head: [UInt8], id: ReceiptID, rest: Int) throws(TableError) {
    guard case .object(var members) = try JSONValue(parsing: head) else { throw .damaged("it") }
    let digest = members["digest"]
    members["digest"] = nil
    guard digest == .string(Receipt.digest(of: members)) else { throw .damaged("it") }
    let fields = ReceiptFields(json: .object(members))
    guard try fields.text("id") == id.text else { throw .damaged("\"id\"") }
    self.id = id
    guard let provider = try fields.text("provider"), let path = try fields.bytes("rest") else {
      throw .damaged("\"provider\" or \"rest\"")
    }
    self.provider = provider
    let scheme = try fields.text("scheme")
    let folder = try fields.bytes("folder")
    guard scheme != nil || !path.isEmpty, !path.contains(0), folder?.contains(0) != true,
      scheme?.utf8.contains(0) != true
    else { throw .damaged("\"scheme\", \"rest\" or \"folder\"") }
    place = Place(scheme: scheme, rest: path, folder: folder)
    guard case .object(let members)? = fields.json["options"] else { throw .damaged("\"options\"") }
    options = [:]
    for member in members {
      guard let value = member.value.string else { throw .damaged("\"options\"") }
      options[member.key] = value
    }
    let version = ReceiptFields(json: fields.json["version"] ?? .null)
    (from, to) = (try version.text("from"), try version.text("to"))
    summary = try fields.text("edits") ?? ""
    undoes = try fields.text("undoes").map { text throws(TableError) in
      guard let id = ReceiptID(text) else { throw .damaged("\"undoes\"") }
      return id
    }
    trouble = try fields.text("trouble")
    remainder = try fields.text("remainder")
    guard let kind = try fields.text("kind").flatMap({ Kind(rawValue: $0) }),
      (kind == .edit) == (undoes == nil), kind != .edit || trouble == nil
    else { throw .damaged("\"kind\"") }
    self.kind = kind
    wayBack = try fields.wayBack("receipt")
    guard wayBack?.count ?? 0 == rest else { throw .damaged("\"receipt\"") }
  }
}

/// The members of a receipt; absent members are nil.
private struct ReceiptFields {
  let json: JSONValue

  func text(_ key: String) throws(TableError) -> String? {
    guard let value = json[key], value != .null else { return nil }
    guard let text = value.string else { throw .damaged("\"\(key)\"") }
    return text
  }

  func bytes(_ key: String) throws(TableError) -> [UInt8]? {
    if let encoded = json[key]?["base64"]?.string {
      guard let bytes = Tabella.bytes(base64: encoded) else { throw .damaged("\"\(key)\"") }
      return bytes
    }
    return try text(key).map { Array($0.utf8) }
  }

  func wayBack(_ key: String) throws(TableError) -> Receipt.WayBack? {
    guard let value = json[key], value != .null else { return nil }
    guard let count = value["bytes"]?.integer, count >= 0, let digest = value["digest"]?.string
    else { throw .damaged("\"\(key)\"") }
    return Receipt.WayBack(count: count, digest: digest)
  }
}

extension TableError {
  fileprivate static func damaged(_ what: String) -> TableError {
    TableError(.invalidArgument, "\(what) was changed after it was written")
  }
}
