import Tabella
import TabellaBridge

/// The manifest of a provider, which suffices to choose a provider without running its code.
///
/// docs/contract.md, "The manifest", describes the format.
public struct Manifest: Hashable, Sendable {
  /// The kinds of files that a provider opens by path.
  public enum PathKind: String, CaseIterable, Hashable, Sendable {
    case file
    case directory
  }

  /// Bytes at a fixed offset in all files of a format.
  public struct Magic: Hashable, Sendable {
    /// The offset in bytes, 0 to 4096.
    public var offset: Int
    /// The bytes, at least one.
    public var bytes: [UInt8]
  }

  /// The id of the provider: lower-case letters, digits, `.`, `-` and `+`.
  public var id: String
  /// The version of the provider.
  public var version: String
  /// The contract version for which the library was built, such as `0.1`.
  public var contract: String
  /// The path of the library as the manifest contains it: absolute, or relative to the folder of the manifest.
  public var library: String
  /// A short description for people.
  public var summary: String
  /// The schemes of locations that the provider claims.
  public var schemes: [String]
  /// Patterns of file names. `*` matches any bytes, `?` matches one byte.
  public var patterns: [String]
  /// Magic bytes of file formats. Any of them suffices.
  public var magic: [Magic]
  /// The kinds of files that the provider opens; `file` if the manifest names none.
  public var accepts: [PathKind]
  /// The columns if all sources of the provider have the same; otherwise nil.
  public var columns: [Column]?
  /// The options of the provider.
  public var options: [OptionDeclaration]
  /// The abilities of the provider's sources, for people and for completion. The host does not rely on them.
  public var capabilities: [String]
  /// The permissions that the provider requests for its worker.
  public var permissions: Permissions

  /// Parses a manifest. Throws `TableError` with `.noProvider` and the fault.
  public init(parsing text: [UInt8]) throws(TableError) {
    let json: JSONValue
    do throws(TableError) {
      json = try JSONValue(parsing: text)
    } catch {
      throw TableError(.noProvider, "the manifest is not JSON: \(error.message)")
    }
    let fields = ManifestFields(json: json)
    id = try fields.text("id")
    guard Manifest.isName(id) else {
      throw TableError(
        .noProvider, "the manifest's id \"\(id)\" must consist of a-z, 0-9, '.', '-' and '+'")
    }
    version = try fields.text("version")
    contract = try fields.text("contract")
    library = try fields.text("library")
    guard !library.isEmpty else { throw TableError(.noProvider, "the manifest names no library") }
    summary = try fields.text("summary", default: "")
    schemes = try fields.texts("schemes")
    if let bad = schemes.first(where: { !Manifest.isName($0) }) {
      throw TableError(.noProvider, "the manifest's scheme \"\(bad)\" is not a name")
    }
    patterns = try fields.texts("patterns")
    capabilities = try fields.texts("capabilities")
    magic = try fields.objects("magic").map { fields throws(TableError) in try Magic(fields) }
    let kinds = try fields.texts("accepts").map { kind throws(TableError) in
      try fields.choice("accepts", kind, from: PathKind.allCases, by: \.rawValue)
    }
    accepts = kinds.isEmpty ? [.file] : PathKind.allCases.filter { kinds.contains($0) }
    columns =
      json["columns"] == nil
      ? nil
      : try fields.objects("columns").map { fields throws(TableError) in try Column(fields) }
    permissions =
      try json["confinement"].map { json throws(TableError) in
        try Permissions(json)
      } ?? .none
    options = try fields.objects("options").map { fields throws(TableError) in
      try OptionDeclaration(fields)
    }
  }

  /// Parses only the claims of a manifest, regardless of faults in the rest. Returns nil if even the id is unreadable.
  ///
  /// The result serves to report a refused provider, never to choose one.
  init?(claimsOf text: [UInt8]) {
    guard let json = try? JSONValue(parsing: text) else { return nil }
    let fields = ManifestFields(json: json)
    func texts(_ key: String) -> [String] { (json[key]?.array ?? []).compactMap(\.string) }
    guard let name = json["id"]?.string, Manifest.isName(name) else { return nil }
    id = name
    (version, contract, library, summary) = ("", "", "", "")
    schemes = texts("schemes")
    patterns = texts("patterns")
    magic = (try? fields.objects("magic"))?.compactMap { try? Magic($0) } ?? []
    let kinds = texts("accepts")
    accepts = kinds.isEmpty ? [.file] : PathKind.allCases.filter { kinds.contains($0.rawValue) }
    (columns, options, capabilities, permissions) = (nil, [], [], .none)
  }

  /// Whether a text can be an id or a scheme.
  package static func isName(_ text: String) -> Bool {
    text.utf8.first.map { 0x61...0x7A ~= $0 } ?? false
      && text.utf8.allSatisfy { byte in
        0x61...0x7A ~= byte || 0x30...0x39 ~= byte || [0x2E, 0x2D, 0x2B].contains(byte)
      }
  }

  /// Checks option values against the declared options.
  ///
  /// Throws `TableError` with `.invalidArgument` and the list of declared options.
  public func check(_ options: [String: String]) throws(TableError) {
    for (name, value) in options.sorted(by: { $0.key < $1.key }) {
      guard let declaration = self.options.first(where: { $0.name == name }) else {
        let known = self.options.map(\.name)
        throw TableError(
          .invalidArgument,
          "provider \(id) has no option \(name); its options are "
            + (known.isEmpty ? "none" : known.joined(separator: ", ")))
      }
      try declaration.check(value)
    }
  }
}

/// The members of a manifest, or of an object in it. Errors name the member with its path: `options[1].type`.
private struct ManifestFields {
  let json: JSONValue
  /// The list that contains the object, and its position there; nil for the manifest itself.
  var place: (key: String, index: Int)?
  /// The path of the object; empty for the manifest itself. Only errors need it.
  private var path: String { place.map { "\($0.key)[\($0.index)]" } ?? "" }

  /// The error for a member.
  func fault(_ key: String, _ what: String) -> TableError {
    TableError(.noProvider, "the manifest's \"\(path.isEmpty ? key : "\(path).\(key)")\" \(what)")
  }

  func text(_ key: String, default fallback: String? = nil) throws(TableError) -> String {
    guard let value = json[key] else {
      if let fallback { return fallback }
      throw path.isEmpty
        ? TableError(.noProvider, "the manifest has no \"\(key)\"") : fault(key, "is missing")
    }
    guard let text = value.string else { throw fault(key, "is not a string") }
    return text
  }

  func flag(_ key: String) throws(TableError) -> Bool {
    switch json[key] {
    case nil: return false
    case .boolean(let value): return value
    default: throw fault(key, "is not true or false")
    }
  }

  func list(_ key: String) throws(TableError) -> [JSONValue] {
    guard let value = json[key] else { return [] }
    guard let list = value.array else { throw fault(key, "is not an array") }
    return list
  }

  func texts(_ key: String) throws(TableError) -> [String] {
    try list(key).map { value throws(TableError) in
      guard let text = value.string else {
        throw fault(key, "contains something that is not a string")
      }
      return text
    }
  }

  /// The objects of a list.
  func objects(_ key: String) throws(TableError) -> [ManifestFields] {
    let list = try list(key)
    return try list.indices.map { index throws(TableError) in
      guard case .object = list[index] else {
        throw fault("\(key)[\(index)]", "is not an object")
      }
      return ManifestFields(json: list[index], place: (key, index))
    }
  }

  /// The value with a name.
  func choice<Value>(
    _ key: String, _ name: String, from values: [Value], by naming: (Value) -> String
  ) throws(TableError) -> Value {
    guard let value = values.first(where: { naming($0) == name }) else {
      let names = values.map(naming).joined(separator: ", ")
      throw fault(key, "is \"\(name)\", and must be one of: \(names)")
    }
    return value
  }
}

extension Manifest.Magic {
  fileprivate init(_ fields: ManifestFields) throws(TableError) {
    let hex = Array(try fields.text("bytes").utf8)
    let bytes = stride(from: 0, to: hex.count - 1, by: 2).compactMap {
      UInt8(String(decoding: hex[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
    guard hex.count % 2 == 0, !bytes.isEmpty, bytes.count * 2 == hex.count else {
      throw fields.fault("bytes", "must be bytes in hexadecimal digits, such as \"25504446\"")
    }
    let offset = fields.json["offset"].map { $0.integer ?? -1 } ?? 0
    guard 0...4096 ~= offset else { throw fields.fault("offset", "must be 0 to 4096") }
    self.init(offset: offset, bytes: bytes)
  }
}

extension Column {
  fileprivate init(_ fields: ManifestFields) throws(TableError) {
    let type = try fields.choice(
      "type", try fields.text("type", default: "text"), from: ColumnType.allCases, by: \.name)
    self.init(
      try fields.text("name"), type, unit: Unit(rawValue: try fields.text("unit", default: "")),
      isOnRequest: try fields.flag("on-request"))
  }
}

extension OptionDeclaration {
  fileprivate init(_ fields: ManifestFields) throws(TableError) {
    let kind = try fields.choice(
      "type", try fields.text("type", default: "text"), from: Kind.allCases, by: \.name)
    self.init(
      try fields.text("name"), kind,
      default: fields.json["default"] == nil ? nil : try fields.text("default"),
      choices: try fields.texts("choices"), summary: try fields.text("summary", default: ""))
  }
}
