import Foundation
import Tabella
import TabellaBridge
import TabellaFiles
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// The permissions that a manifest requests.
@Suite struct ManifestTests {
  func confinement(_ json: String) throws -> Manifest.Permissions {
    try Manifest(
      parsing: Array(
        """
        {"id":"x","version":"1","contract":"\(contractVersionName)","library":"x.so"\(json)}
        """.utf8)
    ).permissions
  }

  @Test func permissionsAreRead() throws {
    #expect(try confinement("") == .none)
    #expect(try confinement(#","confinement":{}"#) == .none)
    let all = try confinement(
      #"""
      ,"confinement":{"read":["/etc/services","$XDG_CONFIG_HOME/x"],"write":["~/b","~/a","~/b"],
      "links":true,"signals":true,"network":true,"processes":true,"later":1}
      """#)
    #expect(
      all
        == Manifest.Permissions(
          read: ["$XDG_CONFIG_HOME/x", "/etc/services"], write: ["~/a", "~/b"], links: true,
          signals: true, network: true, processes: true))
    #expect(all.write == ["~/a", "~/b"])
    #expect(
      all.descriptions == [
        "read $XDG_CONFIG_HOME/x", "read /etc/services", "write ~/a", "write ~/b", "links",
        "signals", "network", "all processes",
      ])
    #expect(Manifest.Permissions.none.descriptions.isEmpty)
  }

  @Test(arguments: [
    #""x""#, "[]", #"{"links":1}"#, #"{"read":"/x"}"#, #"{"read":[1]}"#, #"{"read":["x"]}"#,
    #"{"read":["./x"]}"#,
    #"{"write":["/a/../b"]}"#, #"{"write":["/a/./b"]}"#, #"{"write":["/a//b"]}"#,
    #"{"read":["~root/x"]}"#, #"{"read":["$HOME/x"]}"#, #"{"read":["$XDG_DATA_HOMES/x"]}"#,
    #"{"read":["~"]}"#, #"{"read":["/\u0000"]}"#, #"{"read":[""]}"#, #"{"network":"yes"}"#,
    #"{"signals":1}"#, #"{"processes":null}"#,
  ])
  func otherPermissionsAreNone(_ json: String) {
    let error = #expect(throws: TableError.self) { try confinement(",\"confinement\":\(json)") }
    #expect(error?.code == .noProvider && error?.message.contains("confinement") == true)
  }

  @Test func pathsMeanTheUsersFolders() {
    let folders = UserFolders { name in
      switch name {
      case "HOME": Array("/home/ada".utf8)
      case "XDG_DATA_HOME": Array("/data".utf8)
      case "XDG_CACHE_HOME": Array("relative".utf8)
      default: nil
      }
    }
    for (wish, path) in [
      ("/etc/x", "/etc/x"), ("~/x/y", "/home/ada/x/y"), ("$XDG_DATA_HOME/Trash", "/data/Trash"),
      ("$XDG_CACHE_HOME/x", "/home/ada/.cache/x"),
      ("$XDG_STATE_HOME/x", "/home/ada/.local/state/x"),
      ("$XDG_CONFIG_HOME/x", "/home/ada/.config/x"),
    ] {
      #expect(Manifest.Permissions.path(wish, in: folders) == Array(path.utf8))
    }
    let none = UserFolders { _ in nil }
    #expect(Manifest.Permissions.path("~/x", in: none) == nil)
    #expect(Manifest.Permissions.path("$XDG_DATA_HOME/x", in: none) == nil)
    #expect(Manifest.Permissions.path("/x", in: none) == Array("/x".utf8))
  }

  // Wrong members

  static let good = #"{"id":"x","version":"1","contract":"0.9","library":"x.so"}"#

  /// Each wrong manifest, and the path of the member that the fault must name.
  static let wrong: [(json: String, member: String)] = [
    (#""id":"X""#, "id"), (#""version":1"#, "version"), (#""library":"""#, "library"),
    (#""summary":[]"#, "summary"), (#""schemes":"x""#, "schemes"), (#""schemes":["X"]"#, "scheme"),
    (#""patterns":[1]"#, "patterns"), (#""magic":[{}]"#, "magic[0].bytes"),
    (#""magic":[{"bytes":"0"}]"#, "magic[0].bytes"),
    (#""magic":[{"bytes":"00"},{"bytes":"00","offset":5000}]"#, "magic[1].offset"),
    (#""magic":["00"]"#, "magic[0]"), (#""accepts":["folder"]"#, "accepts"),
    (#""options":[{}]"#, "options[0].name"),
    (#""options":[{"name":"a","type":"number"}]"#, "options[0].type"),
    (#""options":[{"name":"a","choices":[1]}]"#, "options[0].choices"),
    (#""options":[{"name":"a","default":1}]"#, "options[0].default"),
    (#""columns":{}"#, "columns"), (#""columns":[{"name":"a"},{"name":1}]"#, "columns[1].name"),
    (#""columns":[{"name":"a","type":"string"}]"#, "columns[0].type"),
    (#""columns":[{"name":"a","on-request":"yes"}]"#, "columns[0].on-request"),
    (#""capabilities":[1]"#, "capabilities"), (#""confinement":[]"#, "confinement"),
    (#""confinement":{"links":1}"#, "links"),
  ]

  static func manifest(with member: String) -> [UInt8] {
    let name = member.prefix { $0 != ":" }
    let others = good.dropFirst().dropLast().split(separator: ",").filter { !$0.hasPrefix(name) }
    return Array("{\((others + [member[...]]).joined(separator: ","))}".utf8)
  }

  /// Values of some members were ignored, such as `"accepts": ["folder"]`.
  @Test(arguments: wrong) func wrongMembersAreNamed(_ json: String, _ member: String) {
    let error = #expect(throws: TableError.self) {
      try Manifest(parsing: Self.manifest(with: json))
    }
    #expect(error?.message.contains(member) == true, "\(error?.message ?? "")")
  }

  @Test func ignoredMembersAreListed() throws {
    #expect(Manifest.ignored(in: Array(Self.good.utf8)).isEmpty)
    let text = #"""
      {"id":"x","pattern":[],"options":[{"name":"a"},{"sumary":""}],"confinement":{"later":1},
      "magic":[{"bytes":"00","size":1}],"columns":[{"colour":1},{"unit":"byte"},{"unit":"bytes"}],
      "capabilities":["ids","edits","sectionIndex","tabella.gathering/1","flying"]}
      """#
    let ignored = Manifest.ignored(in: Array(text.utf8))
    #expect(ignored.count == 10)
    for part in [
      "\"pattern\"; did you mean patterns?", "\"options[1].sumary\"; did you mean summary?",
      "\"confinement.later\"", "\"magic[0].size\"", "\"columns[0].colour\"",
      "\"columns[1].unit\" = \"byte\"; did you mean bytes?",
      "\"capabilities[1]\" = \"edits\"; did you mean edit?",
      "\"capabilities[2]\" = \"sectionIndex\"; did you mean index?",
      "\"capabilities[3]\" = \"tabella.gathering/1\"; did you mean gather?",
      "\"capabilities[4]\" = \"flying\" (the words are sections index ids ",
    ] { #expect(ignored.contains { $0.hasPrefix(part) }, "\(part) in \(ignored)") }
  }

  // The schema

  static let schema = Result {
    try JSONValue(
      parsing: Array(
        String(contentsOfFile: "\(packageFolder)/docs/manifest.schema.json", encoding: .utf8).utf8))
  }

  /// Whether a value fits a schema, for the words that docs/manifest.schema.json uses.
  static func fits(_ value: JSONValue, _ schema: JSONValue, _ root: JSONValue) -> Bool {
    if let name = schema["$ref"]?.string?.split(separator: "/").last,
      !fits(value, root["$defs"]![String(name)]!, root)
    {
      return false
    }
    if let choices = schema["enum"]?.array, !choices.contains(value) { return false }
    if let pattern = schema["pattern"]?.string, let text = value.string,
      text.range(of: pattern, options: .regularExpression) == nil
    {
      return false
    }
    if let least = schema["minLength"]?.integer, let text = value.string, text.count < least {
      return false
    }
    if let number = value.integer,
      number < schema["minimum"]?.integer ?? .min || number > schema["maximum"]?.integer ?? .max
    {
      return false
    }
    switch (schema["type"]?.string, value) {
    case (nil, _), ("string", .string), ("boolean", .boolean), ("integer", .number): return true
    case ("array", .array(let values)):
      return values.allSatisfy { fits($0, schema["items"]!, root) }
    case ("object", .object(let members)):
      let required = schema["required"]?.array?.compactMap(\.string) ?? []
      return required.allSatisfy { members[$0] != nil }
        && members.allSatisfy { member in
          schema["properties"]?[member.key].map { fits(member.value, $0, root) } ?? false
        }
    default: return false
    }
  }

  /// The schema accepts the manifests that a host accepts, and refuses those that it refuses.
  @Test func theSchemaAgreesWithTheParser() throws {
    let schema = try Self.schema.get()
    for (json, _) in Self.wrong {
      let manifest = try JSONValue(parsing: Self.manifest(with: json))
      #expect(!Self.fits(manifest, schema, schema), "\(json)")
    }
    var paths = ["provider-c/planets", "provider-c/memory"].map { "Examples/\($0).tabella.json" }
    paths += [
      ("CSV", "csv"), ("Text", "text"), ("Directory", "directory"), ("Processes", "processes"),
    ]
    .map { "Plugins/\($0)/tabella-\($1).json" }
    for path in paths {
      let text = try String(contentsOfFile: "\(packageFolder)/\(path)", encoding: .utf8)
      let manifest = try JSONValue(parsing: Array(text.utf8))
      #expect(Self.fits(manifest, schema, schema), "\(path)")
      #expect(Manifest.ignored(in: Array(text.utf8)).isEmpty)
    }
  }

  @Test func theSchemaHasAllMembers() throws {
    let schema = try Self.schema.get()
    func keys(_ schema: JSONValue?) -> Set<String> {
      guard case .object(let members) = schema?["properties"] else { return [] }
      return Set(members.keys)
    }
    for (object, members) in Manifest.members {
      let part = object.isEmpty ? schema : schema["properties"]?[object]
      #expect(keys(part?["items"] ?? part) == Set(members), "\(object)")
    }
    func choices(_ path: String...) -> Set<String> {
      let found = path.reduce(schema as JSONValue?) { $0?[$1] }
      return Set(found?["enum"]?.array?.compactMap(\.string) ?? [])
    }
    #expect(
      choices("properties", "columns", "items", "properties", "type")
        == Set(ColumnType.allCases.map(\.name)))
    #expect(
      choices("properties", "options", "items", "properties", "type")
        == Set(OptionDeclaration.Kind.allCases.map(\.name)))
    #expect(choices("properties", "capabilities", "items") == Set(Ability.allCases.map(\.name)))
    #expect(
      choices("properties", "accepts", "items") == Set(Manifest.PathKind.allCases.map(\.rawValue)))
  }
}
