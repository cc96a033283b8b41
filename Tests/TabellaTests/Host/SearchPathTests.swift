import Foundation
import Tabella
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// The folders in which the host looks for providers, and the users who can choose them.
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

  /// The catalogue of an earlier host is used only while no folder has changed.
  @Test func laterHostsSeeChangedFolders() throws {
    let searchPath = path(["XDG_DATA_HOME": folder.path])
    func refused() -> [String] {
      Host(searchPath: searchPath).catalogue.refusals.map(\.path)
    }
    #expect(refused() == [])
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/tabella/providers", withIntermediateDirectories: true)
    try folder.write("tabella/providers/a.tabella.json", "{}")
    #expect(refused() == ["\(folder.path)/tabella/providers/a.tabella.json"])
    for _ in 0..<2 {
      #expect(unlink("\(folder.path)/tabella/providers/a.tabella.json") == 0)
      // Now a folder without manifests is old enough to be known by its times.
      usleep(2_100_000)
      #expect(refused() == [] && refused() == [])
      try folder.write("tabella/providers/a.tabella.json", "{}")
      #expect(refused().count == 1)
    }
    #expect(Host(searchPath: path([:])).catalogue.refusals.isEmpty)
  }

  /// Entries that depend on the current directory are refused and reported.
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

  /// A user who starts a more privileged program must not choose the code that it runs.
  @Test func aPrivilegedProcessIgnoresTheEnvironment() {
    let variables = [
      "TABELLA_PROVIDER_PATH": "/a:/b", "XDG_DATA_HOME": "/data", "HOME": "/home",
    ]
    let path = path(isPrivileged: true, variables)
    #expect(path.directories == path.ownDirectories && path.directories.count == 2)
    #expect(path.refused.map(\.path) == ["/a:/b"])
    #expect(path.refused.first?.reason.contains("more rights than its user") == true)
  }

  /// The behaviour of a setuid program that an ordinary user starts.
  @Test(.needs(.root)) func aSetuidCopyIgnoresTheEnvironment() throws {
    let copy = folder.path + "/tabella"
    try copyPrograms("tabella", to: copy)
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
        findProgram("setpriv"),
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

  /// Such a program ignores the environment also for its files and for the programs that it starts.
  @Test(.needs(.root)) func aSetuidCopyTakesNothingFromTheEnvironment() throws {
    for name in ["bin", "lib", "lib/tabella", "lib/tabella/providers", "config", "config/tabella"] {
      #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0)
    }
    // Receipts are used only in a folder that nobody else may write to.
    #expect(
      mkdir(folder.path + "/own", 0o755) == 0 && chown(folder.path + "/own", 65534, 65534) == 0)
    let copy = folder.path + "/bin/tabella"
    for name in ["tabella", "libtabella-text.so"] {
      try FileManager.default.copyItem(
        atPath: "\(buildFolder)/\(name)", toPath: "\(folder.path)/bin/\(name)")
    }
    let providers = "lib/tabella/providers"
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder,
      name: providers + "/planets.so")
    let manifest = "\(folder.path)/\(providers)/planets.tabella.json"
    try FileManager.default.copyItem(
      atPath: packageFolder + "/Examples/provider-c/planets.tabella.json", toPath: manifest)
    #expect(chmod(manifest, 0o644) == 0 && chmod(library, 0o755) == 0)
    try folder.write("config/tabella/pins.json", "damaged")
    try folder.write("lines.txt", (1...500).map { "\($0)\n" }.joined())
    try folder.write("many.txt", String(repeating: "0123456789\n", count: 3_000_000))
    let environment = [
      "PATH": "/usr/bin:/bin", "HOME": folder.path + "/own", "TMPDIR": folder.path + "/nowhere",
      "XDG_STATE_HOME": folder.path + "/own", "XDG_CONFIG_HOME": folder.path + "/config",
      "PAGER": "touch \(folder.path)/own/paged", "SWIFT_BACKTRACE": "enable=no",
    ]
    let setpriv = try findProgram("setpriv")
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    func tabella(_ line: String) throws -> ProgramResult {
      try run(
        setpriv, nobody + ["/bin/sh", "-c", line.replacing("tabella", with: "'\(copy)'")],
        environment: environment, directory: folder.path)
    }
    for isPrivileged in [false, true] {
      #expect(chmod(copy, isPrivileged ? 0o4755 : 0o755) == 0)
      // HOME and XDG_STATE_HOME.
      let log = try tabella("tabella log")
      #expect(log.status == (isPrivileged ? 1 : 0), "\(log.errors)")
      #expect(log.errors.contains("neither XDG_STATE_HOME nor HOME") == isPrivileged)
      // Pins, in XDG_CONFIG_HOME.
      let listed = try tabella("tabella providers")
      #expect(listed.text.contains("planets") == isPrivileged, "\(listed.errors)")
      #expect(listed.errors.contains("the pins are damaged") == !isPrivileged, "\(listed.errors)")
      // TMPDIR, for the part of a pipe that exceeds the buffer in memory.
      let count = try tabella("cat many.txt | tabella count - --provider text")
      #expect(count.status == (isPrivileged ? 0 : 1), "\(count.errors)")
      #expect(count.errors.contains("a temporary file in \(folder.path)/nowhere") == !isPrivileged)
      // The pager.
      _ = try runOnTerminal(
        setpriv, nobody + [copy, "show", "lines.txt"], width: 60, height: 20,
        environment: environment.merging(["TERM": "xterm"]) { $1 }, directory: folder.path)
      #expect((access(folder.path + "/own/paged", F_OK) == 0) == !isPrivileged)
      unlink(folder.path + "/own/paged")
    }
  }

  // Reports and statuses of refusals

  func tabella(_ arguments: String..., preload: [String: String] = [:]) throws -> ProgramResult {
    try tabella(arguments, preload: preload)
  }

  func tabella(_ arguments: [String], preload: [String: String] = [:]) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "LC_ALL": "C.UTF-8", "TABELLA_PROVIDER_PATH": folder.path + "/added",
        "XDG_CONFIG_HOME": folder.path,
      ].merging(preload) { $1 })
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
      // No option circumvents the refusal.
      for option in [["--provider", "planets"], ["--in-process"], ["--isolate"]] {
        let refused = try run(
          buildFolder + "/tabella", ["count", "planets:"] + option,
          environment: ["TABELLA_PROVIDER_PATH": added, "XDG_CONFIG_HOME": folder.path])
        #expect(refused.status == 4, "\(option): \(refused.errors)")
      }
      let listed = try tabella("providers")
      #expect(listed.status == 0 && listed.errors.contains("is not trusted (mode)"))
      #expect(try tabella("describe", library).status == (path == manifest ? 0 : 4))
      #expect(chmod(path, usual) == 0)
    }
    try folder.write("added/planets.so", "no library")
    let broken = try tabella("count", "planets:")
    #expect(broken.status == 3 && broken.errors.contains("is not an ELF file"))
  }

  /// A folder with a typing error was searched in silence, and the provider was simply not there.
  @Test func aMissingFolderIsReported() throws {
    let file = try folder.write("a.csv", "a\n1\n")
    #expect(mkdir(folder.path + "/dir", 0o755) == 0)
    let missing = "\(folder.path)/ad"
    let sentence = "TABELLA_PROVIDER_PATH names this folder, which does not exist"
    func run(_ arguments: String...) throws -> ProgramResult {
      try tabella(arguments, preload: ["TABELLA_PROVIDER_PATH": "\(folder.path)/dir:\(missing)"])
    }
    let listed = try run("providers")
    #expect(listed.status == 0 && listed.errors == "tabella: refused: \(missing): \(sentence)\n")
    let described = try run("describe", file)
    #expect(described.status == 0 && described.text.contains("\(missing): \(sentence)"))
    #expect(try run("describe", "csv").errors == "tabella: refused: \(missing): \(sentence)\n")
    // A command that finds its provider does not mention the folder.
    let shown = try run("show", file)
    #expect(shown.status == 0 && shown.errors.isEmpty)
    for arguments in [["show", "planets:"], ["show", file, "--provider", "planets"]] {
      let failed = try tabella(
        arguments, preload: ["TABELLA_PROVIDER_PATH": "\(folder.path)/dir:\(missing)"])
      #expect(failed.status == 3 && failed.errors.contains(missing), "\(failed.errors)")
      #expect(failed.errors.split(separator: "\n").count == 1)
    }
    try folder.write("ad", "no folder")
    #expect(try run("providers").errors.contains("which is no folder"))
  }

  @Test func describeTellsWhatIsTrusted() throws {
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    let result = try run(
      buildFolder + "/tabella", ["describe", "./planets.so", "--json"],
      environment: ["XDG_CONFIG_HOME": folder.path], directory: folder.path)
    let trust = try #require(try jsonObject(result.text)["trust"] as? [String: Any])
    #expect(trust["mode"] as? String == "0755" && trust["pin"] is NSNull)
    let names = try run(findProgram("id"), ["-un"])
    #expect(trust["owner"] as? String == names.lines.first)
    #expect(trust["path"] as? String == realpath(library, nil).map { String(cString: $0) })
    let digest = try run(findProgram("sha256sum"), [library]).text.prefix(64)
    #expect(trust["sha256"] as? String == String(digest))
  }

  /// Describing or listing a library runs none of its code.
  @Test func describingRunsNoCode() throws {
    let marker = folder.path + "/ran"
    let source = try folder.write(
      "begins.c",
      """
      #include "tabella.h"
      #include <stdio.h>
      __attribute__((constructor)) static void begin(void) {
        FILE *file = fopen("\(marker)", "w");
        if (file) fclose(file);
      }
      int32_t tabella_provider_entry(tabella_entry *entry) {
        begin();
        return entry == NULL;
      }
      """)
    #expect(mkdir(folder.path + "/added", 0o755) == 0)
    let library = try compileLibrary(source, into: folder, name: "added/begins.so")
    try folder.write(
      "added/begins.tabella.json",
      #"{"id":"begins","version":"1","contract":"0.9","library":"begins.so","schemes":["begins"]}"#)
    #expect(try tabella("describe", library).status == 0)
    #expect(try tabella("describe", "begins").status == 0)
    #expect(try tabella("providers").text.contains("begins"))
    #expect(access(marker, F_OK) != 0)
    #expect(try tabella("describe", library, "--load", "--in-process").status != 0)
    #expect(access(marker, F_OK) == 0)
  }

  /// At the moment of opening, another file has the name, or none.
  @Test(arguments: [("becomes-other", "changed"), ("vanishes", "removed")])
  func whatChangesAtThatMomentIsRefused(_ what: String, _ check: String) throws {
    let hooks = try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/file_system.c", into: folder,
      name: "libfiles.so", flags: ["-ldl"])
    for name in ["planets.so", "other.so"] {
      _ = try compileLibrary(
        packageFolder + "/Examples/provider-c/planets.c", into: folder, name: name)
    }
    let library = folder.path + "/planets.so"
    let result = try tabella(
      "describe", library,
      preload: ["LD_PRELOAD": hooks, "TABELLA_TEST_FILES": what, "SWIFT_BACKTRACE": "enable=no"])
    #expect(result.status == 4, "\(result.errors)")
    #expect(result.errors.contains("is not trusted (\(check))"), "\(result.errors)")
  }
}
