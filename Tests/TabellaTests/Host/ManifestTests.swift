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
}
