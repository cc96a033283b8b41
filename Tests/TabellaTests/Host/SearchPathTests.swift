import Foundation
import Tabella
import Testing

@testable import TabellaHost

private let mayBecomeOthers = geteuid() == 0 && findProgram("setpriv") != nil

/// Where providers are looked for, and who decides that.
@Suite struct SearchPathTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  func path(isPrivileged: Bool = false, _ variables: [String: String]) -> SearchPath {
    SearchPath(isPrivileged: isPrivileged) { variables[$0] }
  }

  @Test func theEnvironmentNamesDirectories() {
    let path = path([
      "TABELLA_PROVIDER_PATH": "/a:/b:/a", "XDG_DATA_HOME": "/data", "HOME": "/home",
    ])
    #expect(path.directories.prefix(2) == ["/a", "/b"])
    #expect(path.directories.last == "/data/tabella/providers" && path.refused.isEmpty)
    #expect(path.directories.count == 5 && path.directories[2] == buildFolder)
    #expect(self.path(["HOME": "/home"]).directories.last == "/home/.local/share/tabella/providers")
    #expect(self.path([:]).directories.count == 2)
    #expect(self.path(["TABELLA_PROVIDER_PATH": ""]).refused.isEmpty)
  }

  /// Whatever depends on the current directory is refused, and said.
  @Test func relativeAndEmptyEntriesAreRefused() {
    let path = path([
      "TABELLA_PROVIDER_PATH": "/a::lib:.:", "XDG_DATA_HOME": "share", "HOME": "home",
    ])
    #expect(path.directories.first == "/a" && path.directories.count == 3)
    let refused = path.refused.map { "\($0.path): \($0.reason)" }
    #expect(refused.count == 5)
    #expect(refused.count { $0.hasPrefix("TABELLA_PROVIDER_PATH: has an empty entry") } == 2)
    #expect(refused.contains { $0.hasPrefix("lib: not an absolute path") })
    #expect(refused.contains { $0.hasPrefix(".: not an absolute path") })
    #expect(refused.contains { $0.hasPrefix("share: XDG_DATA_HOME is ignored") })
  }

  /// Who starts a program that has more rights than they do must not say what it runs.
  @Test func aPrivilegedProcessIgnoresTheEnvironment() {
    let variables = [
      "TABELLA_PROVIDER_PATH": "/a:/b", "XDG_DATA_HOME": "/data", "HOME": "/home",
    ]
    let path = path(isPrivileged: true, variables)
    #expect(path.directories == path.ownDirectories && path.directories.count == 2)
    #expect(path.refused.map(\.path) == ["/a:/b"])
    #expect(path.refused.first?.reason.contains("rights that its user has not") == true)
  }

  /// What a setuid program does that an ordinary user starts.
  @Test(.enabled(if: mayBecomeOthers)) func aSetuidCopyIgnoresTheEnvironment() throws {
    let copy = folder.path + "/tabella"
    try FileManager.default.copyItem(atPath: buildFolder + "/tabella", toPath: copy)
    _ = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    let manifest = packageFolder + "/Examples/provider-c/planets.tabella.json"
    #expect(mkdir(folder.path + "/added", 0o755) == 0)
    for name in ["planets.so", "planets.tabella.json"] {
      let source = name.hasSuffix("json") ? manifest : folder.path + "/" + name
      try FileManager.default.copyItem(atPath: source, toPath: "\(folder.path)/added/\(name)")
      #expect(chmod("\(folder.path)/added/\(name)", 0o755) == 0)
    }
    #expect(chmod(folder.path + "/added", 0o755) == 0)
    func providers(_ mode: mode_t) throws -> ProgramResult {
      #expect(chmod(copy, mode) == 0)
      return try run(
        try #require(findProgram("setpriv")),
        ["--reuid=65534", "--regid=65534", "--clear-groups", copy, "providers"],
        environment: [
          "TABELLA_PROVIDER_PATH": folder.path + "/added", "HOME": folder.path,
          "XDG_CONFIG_HOME": folder.path, "SWIFT_BACKTRACE": "enable=no",
        ])
    }
    let ordinary = try providers(0o755)
    #expect(ordinary.status == 0 && ordinary.text.contains("planets"), "\(ordinary.errors)")
    let privileged = try providers(0o4755)
    #expect(privileged.status == 0 && !privileged.text.contains("planets"))
    #expect(privileged.errors.contains("TABELLA_PROVIDER_PATH is ignored"), "\(privileged.errors)")
  }

  // What is refused is said, with its status

  func tabella(_ arguments: String...) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "LC_ALL": "C.UTF-8", "TABELLA_PROVIDER_PATH": folder.path + "/added",
        "XDG_CONFIG_HOME": folder.path,
      ])
  }

  @Test func untrustedProvidersAreStatus4() throws {
    let added = folder.path + "/added"
    #expect(mkdir(added, 0o755) == 0 && chmod(added, 0o755) == 0)
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "added/planets.so")
    let manifest = added + "/planets.tabella.json"
    try FileManager.default.copyItem(
      atPath: packageFolder + "/Examples/provider-c/planets.tabella.json", toPath: manifest)
    #expect(chmod(manifest, 0o644) == 0 && chmod(library, 0o755) == 0)
    #expect(try tabella("count", "planets:").text == "8\n")
    for (path, mode, usual) in [
      (added, 0o777, 0o755), (library, 0o757, 0o755), (manifest, 0o666, 0o644),
    ] as [(String, mode_t, mode_t)] {
      #expect(chmod(path, mode) == 0)
      let shown = try tabella("count", "planets:")
      #expect(shown.status == 4 && shown.text.isEmpty)
      let real = realpath(path, nil).map { String(cString: $0) } ?? ""
      let octal = "0" + String(mode, radix: 8)
      for part in ["is not trusted (mode)", "\(real) has mode \(octal)", "chmod"] {
        #expect(shown.errors.contains(part), "\(shown.errors)")
      }
      #expect(shown.errors.split(separator: "\n").count == 1)
      #expect(try tabella("count", "planets:", "--provider", "planets").status == 4)
      let listed = try tabella("providers")
      #expect(listed.status == 0 && listed.errors.contains("is not trusted (mode)"))
      #expect(try tabella("describe", library).status == (path == manifest ? 0 : 4))
      #expect(chmod(path, usual) == 0)
    }
    try folder.write("added/planets.so", "no library")
    let broken = try tabella("count", "planets:")
    #expect(broken.status == 3 && broken.errors.contains("is not an ELF file"))
  }

  @Test func describeTellsWhatIsTrusted() throws {
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    let result = try run(
      buildFolder + "/tabella", ["describe", "./planets.so", "--json"],
      environment: ["XDG_CONFIG_HOME": folder.path], directory: folder.path)
    let trust = try #require(try jsonObject(result.text)["trust"] as? [String: Any])
    #expect(trust["mode"] as? String == "0755" && trust["pin"] is NSNull)
    #expect(trust["path"] as? String == realpath(library, nil).map { String(cString: $0) })
    let digest = try run(try #require(findProgram("sha256sum")), [library]).text.prefix(64)
    #expect(trust["sha256"] as? String == String(digest))
  }
}
