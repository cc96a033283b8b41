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

  /// Parses a manifest. Throws ``TableError`` with `.noProvider` and the fault.
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
    magic = try fields.list("magic").map { json throws(TableError) in try Magic(json) }
    let kinds = try fields.texts("accepts")
    accepts = kinds.isEmpty ? [.file] : PathKind.allCases.filter { kinds.contains($0.rawValue) }
    columns =
      json["columns"] == nil
      ? nil : try fields.list("columns").map { json throws(TableError) in try Column(json) }
    permissions =
      try json["confinement"].map { json throws(TableError) in
        try Permissions(json)
      } ?? .none
    options = try fields.list("options").map { json throws(TableError) in
      try OptionDeclaration(json)
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
    magic = (try? fields.list("magic"))?.compactMap { try? Magic($0) } ?? []
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
  /// Throws ``TableError`` with `.invalidArgument` and the list of declared options.
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

/// The members of a manifest. Errors name the member.
private struct ManifestFields {
  let json: JSONValue

  func text(_ key: String, default fallback: String? = nil) throws(TableError) -> String {
    guard let value = json[key] else {
      if let fallback { return fallback }
      throw TableError(.noProvider, "the manifest has no \"\(key)\"")
    }
    guard let text = value.string else {
      throw TableError(.noProvider, "the manifest's \"\(key)\" is not a string")
    }
    return text
  }

  func list(_ key: String) throws(TableError) -> [JSONValue] {
    guard let value = json[key] else { return [] }
    guard let list = value.array else {
      throw TableError(.noProvider, "the manifest's \"\(key)\" is not an array")
    }
    return list
  }

  func texts(_ key: String) throws(TableError) -> [String] {
    try list(key).map { value throws(TableError) in
      guard let text = value.string else {
        throw TableError(
          .noProvider, "the manifest's \"\(key)\" contains something that is not a string")
      }
      return text
    }
  }
}

extension Manifest.Magic {
  fileprivate init(_ json: JSONValue) throws(TableError) {
    let hex = Array(try ManifestFields(json: json).text("bytes").utf8)
    let offset = json["offset"].map { $0.integer ?? -1 } ?? 0
    let bytes = stride(from: 0, to: hex.count - 1, by: 2).compactMap {
      UInt8(String(decoding: hex[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
    guard hex.count % 2 == 0, !bytes.isEmpty, bytes.count * 2 == hex.count, 0...4096 ~= offset
    else {
      throw TableError(
        .noProvider, "the manifest's \"magic\" must be {\"offset\": 0 to 4096, \"bytes\": \"hex\"}")
    }
    self.init(offset: offset, bytes: bytes)
  }
}

extension Column {
  fileprivate init(_ json: JSONValue) throws(TableError) {
    let fields = ManifestFields(json: json)
    let type = try fields.text("type", default: "text")
    guard let type = ColumnType.allCases.first(where: { $0.name == type }) else {
      throw TableError(.noProvider, "the manifest has a column with the unknown type \(type)")
    }
    self.init(
      try fields.text("name"), type, unit: Unit(rawValue: try fields.text("unit", default: "")),
      isOnRequest: json["on-request"] == .boolean(true))
  }
}

extension OptionDeclaration {
  fileprivate init(_ json: JSONValue) throws(TableError) {
    let fields = ManifestFields(json: json)
    let kind = try fields.text("type", default: "text")
    guard let kind = Kind.allCases.first(where: { $0.name == kind }) else {
      throw TableError(.noProvider, "the manifest has an option with the unknown type \(kind)")
    }
    self.init(
      try fields.text("name"), kind,
      default: json["default"] == nil ? nil : try fields.text("default"),
      choices: try fields.texts("choices"), summary: try fields.text("summary", default: ""))
  }
}
