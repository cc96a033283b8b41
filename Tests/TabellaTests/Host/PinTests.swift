import CTabellaSystem
import Foundation
import Tabella
import TabellaBridge
import TabellaFiles
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

private typealias Host = TabellaHost.Host

/// Pinned libraries, and the permissions granted with a pin.
@Suite struct PinTests {
  let folder: TemporaryFolder
  let library: String
  var file: String { folder.path + "/config/tabella/pins.json" }
  var pins: Pins { Pins(at: file) }
  static let permissions = Manifest.Permissions(write: ["~/planets"], network: true)

  init() throws {
    folder = try TemporaryFolder()
    library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    try writeManifest(permissions: #"{"write": ["~/planets"], "network": true}"#)
  }

  func writeManifest(permissions: String) throws {
    let path = try folder.write(
      "planets.tabella.json",
      """
      {"id":"planets","version":"1","contract":"\(contractVersionName)","library":"planets.so",
       "schemes":["planets"],"confinement":\(permissions)}
      """)
    #expect(chmod(path, 0o644) == 0)
  }

  private func host() -> Host { Host(searchPath: SearchPath([folder.path]), pins: pins) }

  private func entry(_ host: Host) throws -> Catalogue.Entry {
    try host.catalogue.entry(id: "planets")
  }

  func pin() throws {
    let host = host()
    try pins.change(adding: [host.newPin(for: entry(host))])
  }

  func change() throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: library))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data([0]))
    try handle.close()
  }

  func refusal(_ body: () throws -> Void) throws -> TableError {
    do { try body() } catch let error as TableError { return error }
    throw TableError(.internal, "nothing was refused")
  }

  // Hashes

  /// The examples of FIPS 180-4.
  @Test func sha256() {
    let vectors: [(String, Int, String)] = [
      ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
      ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ]
    for (text, count, digest) in vectors {
      let bytes = Array(String(repeating: text, count: count).utf8)
      #expect(SHA256.digest(of: bytes) == digest)
    }
  }

  /// The hash does not depend on the sizes of the pieces, and equals that of sha256sum.
  @Test func sha256InPieces() throws {
    var generator = SeededGenerator(seed: 1)
    for count in [1, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 262_144, 262_145] {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let whole = SHA256.digest(of: bytes)
      var hash = SHA256()
      var at = 0
      while at < count {
        let end = min(count, at + Int.random(in: 1...150, using: &generator))
        bytes[at..<end].withUnsafeBytes { hash.add($0) }
        at = end
      }
      #expect(hash.digest() == whole)
      let file = try folder.write("bytes", bytes)
      let descriptor = open(file, O_RDONLY)
      defer { close(descriptor) }
      #expect(try SHA256.digest(ofFile: descriptor) == whole)
      #expect(try run(findProgram("sha256sum"), [file]).text.hasPrefix(whole))
    }
  }

  // Checking

  @Test func aPinnedLibraryIsHeldToWhatItWas() throws {
    try pin()
    let host = host()
    let report = try host.report(on: try entry(host))
    #expect(report.pin?.sha256 == (try report.sha256()) && report.pin?.id == "planets")
    let digest = try report.sha256()
    try change()
    let error = try refusal { _ = try host.report(on: try entry(host)) }
    #expect(error.code == .denied)
    let now = try run(findProgram("sha256sum"), [library]).text.prefix(64)
    for part in ["is not trusted (pin)", digest, String(now)] {
      #expect(error.message.contains(part), "\(error.message)")
    }
    #expect(error.remedies == [.pinAgain(provider: "planets")])
    #expect(try refusal { _ = try host.load(try entry(host)) }.code == .denied)
    // Also by its path alone, for every id in a manifest.
    #expect(try refusal { _ = try host.report(onLibraryAt: library) }.code == .denied)
    #expect(try refusal { _ = try loadLibrary(at: library, pins: pins) }.code == .denied)
    #expect(try checkLibrary(at: library, pins: .none).path == report.library.path)
    try pin()
    #expect(try self.host().load(try entry(host)).id == "planets")
  }

  @Test func withoutPinsThereIsNothingToHold() throws {
    let host = host()
    #expect(try host.report(on: try entry(host)).pin == nil)
    #expect(try Pins.none.read().isEmpty && pins.read().isEmpty)
  }

  // Granting

  @Test func permissionsOfPinnedProvidersAreGranted() throws {
    #expect(host().grantedPermissions(for: try entry(host())) == .none)
    try pin()
    #expect(host().grantedPermissions(for: try entry(host())) == Self.permissions)
    // The same permissions in another order are equal, but others are not.
    try writeManifest(permissions: #"{"network": true, "write": ["~/planets"], "signals": false}"#)
    #expect(host().grantedPermissions(for: try entry(host())) == Self.permissions)
    try writeManifest(permissions: #"{"write": ["~/planets", "/etc"], "network": true}"#)
    #expect(host().grantedPermissions(for: try entry(host())) == .none)
    try pins.change(adding: [], removing: ["planets"])
    try writeManifest(permissions: #"{"write": ["~/planets"], "network": true}"#)
    #expect(host().grantedPermissions(for: try entry(host())) == .none)
  }

  @Test func shippedProvidersHaveTheirWishes() throws {
    let host = Host(searchPath: SearchPath([buildFolder]), pins: .none)
    for entry in host.catalogue.entries {
      #expect(entry.isShipped)
      #expect(host.grantedPermissions(for: entry) == entry.manifest.permissions)
      #expect(entry.manifest.permissions != .none)
    }
  }

  // The file

  @Test func thePinsAreTheirOwnersAlone() throws {
    try pin()
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path + "/config/tabella") == [
        "pins.json"
      ])
    let read = try #require(try pins.read().first)
    #expect(read.id == "planets" && read.permissions == Self.permissions)
    #expect(read.library == realpath(library, nil).map { String(cString: $0) })
  }

  @Test func pinsAreAddedReplacedAndRemoved() throws {
    func pin(_ id: String, _ digit: String) -> Pins.Pin {
      Pins.Pin(
        id: id, library: "/\(id).so", sha256: String(repeating: digit, count: 64),
        permissions: .none)
    }
    try pins.change(adding: [pin("b", "1"), pin("a", "2")])
    try pins.change(adding: [pin("c", "3"), pin("b", "4")])
    #expect(try pins.read() == [pin("a", "2"), pin("b", "4"), pin("c", "3")])
    try pins.change(adding: [pin("d", "5")], removing: ["a", "b"])
    #expect(try pins.read() == [pin("c", "3"), pin("d", "5")])
  }

  /// A damaged file does not count as a file without pins.
  @Test func damagedPinsRefuseEverythingAdded() throws {
    try pin()
    let good = try String(contentsOfFile: file, encoding: .utf8)
    let sha = try #require(try pins.read().first).sha256
    let damages = [
      "", "{", "[]", "{}", #"{"version":2,"pins":[]}"#, #"{"version":1}"#,
      #"{"version":1,"pins":{}}"#, #"{"version":1,"pins":[{}]}"#,
      good.replacingOccurrences(of: sha, with: sha.uppercased()),
      good.replacingOccurrences(of: sha, with: String(sha.dropLast())),
      good.replacingOccurrences(of: "\"planets\"", with: "\"Planets\""),
      good.replacingOccurrences(of: "\"library\":\"/", with: "\"library\":\""),
      good.replacingOccurrences(of: "\"network\":true", with: "\"network\":1"),
      good.replacingOccurrences(of: "~/planets", with: "planets"),
      good.replacingOccurrences(of: "\n  ]", with: ",\n" + good.split(separator: "\n")[3] + "]"),
      String(repeating: " ", count: 1 << 20) + good,
    ]
    for damage in damages where damage != good {
      try Data(damage.utf8).write(to: URL(fileURLWithPath: file))
      let error = try refusal { _ = try host().report(on: try entry(host())) }
      #expect(error.code == .denied)
      #expect(error.message.contains("the pins are damaged") && error.message.contains(file))
      #expect(!error.message.contains("\n"), "\(error.message)")
      #expect(host().grantedPermissions(for: try entry(host())) == .none)
      // A damaged file is not overwritten either.
      #expect(throws: TableError.self) { try pin() }
      #expect(try String(contentsOfFile: file, encoding: .utf8) == damage)
    }
    // Shipped providers are not affected.
    let shipped = Host(searchPath: SearchPath([buildFolder]), pins: pins)
    #expect(throws: Never.self) { try shipped.report(on: try shipped.catalogue.entry(id: "csv")) }
  }

  @Test func pinsThatOthersMayWriteAreRefused() throws {
    try pin()
    for path in [file, folder.path + "/config"] {
      #expect(chmod(path, 0o777) == 0)
      let error = try refusal { _ = try host().report(on: try entry(host())) }
      #expect(error.code == .denied && error.message.contains("the pins cannot be used"))
      #expect(error.message.contains("(mode)"))
      #expect(chmod(path, 0o700) == 0)
    }
    #expect(throws: Never.self) { try host().report(on: try entry(host())) }
  }

  /// A dangling link, for example to a disk that is not mounted, counted as no pins, so changed libraries were used.
  @Test func aLinkToNothingIsNotNoPins() throws {
    try pin()
    #expect(rename(file, folder.path + "/elsewhere") == 0)
    #expect(symlink(folder.path + "/elsewhere", file) == 0)
    #expect(throws: Never.self) { try host().report(on: try entry(host())) }
    #expect(unlink(folder.path + "/elsewhere") == 0)
    let error = try refusal { _ = try host().report(on: try entry(host())) }
    #expect(error.code == .denied && error.message.contains("the pins cannot be used"))
    #expect(unlink(file) == 0)
    #expect(throws: Never.self) { try host().report(on: try entry(host())) }
  }

  /// Pins that were written, but whose folder could not be synced, were reported as not written.
  @Test(.needs("strace")) func pinsThatMayNotSurviveAreSaidToBeThere() throws {
    #expect(mkdir(folder.path + "/config", 0o700) == 0)
    #expect(mkdir(folder.path + "/config/tabella", 0o700) == 0)
    let result = try run(
      findProgram("strace"),
      [
        "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=2",
        buildFolder + "/tabella", "providers", "--pin",
      ],
      environment: [
        "TABELLA_PROVIDER_PATH": folder.path, "XDG_CONFIG_HOME": folder.path + "/config",
      ])
    #expect(result.status == 1)
    #expect(
      result.errors
        == "tabella: pins: pins.json was written, but may be lost in a power failure: Input/output error\n"
    )
    #expect(try pins.read().map(\.id) == ["planets"])
  }

  @Test func oneWritesAtATime() throws {
    try pin()
    let descriptor = open(folder.path + "/config/tabella", O_RDONLY)
    #expect(tabella_system_lock(descriptor) == 0)
    let error = try refusal { try pins.change(adding: []) }
    #expect(error.code == .conflict && error.message.contains("another process"))
    // Closing alone did not unlock while a program that another test started had a copy of the descriptor.
    #expect(tabella_system_unlock(descriptor) == 0)
    close(descriptor)
    #expect(throws: Never.self) { try pins.change(adding: []) }
  }

  // The command

  func tabella(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramResult
  {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "LC_ALL": "C.UTF-8", "TABELLA_PROVIDER_PATH": folder.path,
        "XDG_CONFIG_HOME": folder.path + "/config",
      ].merging(environment) { $1 })
  }

  @Test func pinsAreMadeByTheCommand() throws {
    #expect(try tabella("providers").text.contains("planets    1        unpinned"))
    let pinned = try tabella("providers", "--pin")
    #expect(pinned.status == 0 && pinned.errors.isEmpty)
    #expect(pinned.text.contains("write ~/planets, network"))
    #expect(try tabella("providers").text.contains("planets    1        pinned"))
    let json = try jsonObject(try tabella("providers", "--json").text)
    let providers = try #require(json["providers"] as? [[String: Any]])
    #expect(providers.first { $0["id"] as? String == "planets" }?["pinned"] as? Bool == true)
    #expect(providers.first { $0["id"] as? String == "csv" }?["pinned"] is NSNull)

    let rows = try tabella("show", "planets:")
    #expect(rows.status == 0)
    try change()
    let refused = try tabella("show", "planets:")
    #expect(refused.status == 4 && refused.text.isEmpty)
    #expect(refused.errors.contains("(pin)") && refused.errors.split(separator: "\n").count == 1)
    let listed = try tabella("providers")
    #expect(listed.status == 0 && listed.errors.contains("refused: planets: "))
    #expect(try tabella("describe", library).status == 4)

    #expect(try tabella("providers", "--pin", "planets").status == 0)
    #expect(try tabella("show", "planets:").text == rows.text)
    #expect(try tabella("providers", "--unpin", "planets").status == 0)
    #expect(try tabella("providers").text.contains("unpinned"))
    #expect(try tabella("providers", "--unpin", "planets").status == 1)
  }

  /// Paths that did not exist when they were granted were not reported.
  @Test func describeTellsWhatConfinesAWorker() throws {
    try writeManifest(permissions: #"{"read": ["~/absent", "~/there"]}"#)
    let home = folder.path + "/home"
    try FileManager.default.createDirectory(
      atPath: home + "/there", withIntermediateDirectories: true)
    #expect(try tabella("providers", "--pin", "planets", environment: ["HOME": home]).status == 0)
    let described = try tabella("describe", "planets:", "--json", environment: ["HOME": home])
    #expect(described.status == 0, "\(described.errors)")
    let worker = try #require(jsonObject(described.text)["worker"] as? [String: [String]])
    #expect(worker["absent"] == [home + "/absent"])
    #expect(worker["confined by"]?.first == "no new privileges" && worker["lacking"] != nil)
  }

  @Test func whatCannotBePinned() throws {
    let cases: [([String], Int32, String)] = [
      (["--pin", "csv"], 2, "ships with tabella"), (["--pin", "nobody"], 3, "no provider nobody"),
      (["--unpin"], 2, "requires the IDs"),
      (["--pin", "--unpin", "planets"], 2, "cannot be combined"),
      (["planets"], 2, "planets needs --pin or --unpin"),
    ]
    for (arguments, status, reason) in cases {
      let result = try run(
        buildFolder + "/tabella", ["providers"] + arguments,
        environment: [
          "TABELLA_PROVIDER_PATH": folder.path, "XDG_CONFIG_HOME": folder.path + "/config",
        ])
      #expect(result.status == status && result.errors.contains(reason), "\(result.errors)")
    }
    try folder.write("planets.so", "no library")
    let broken = try tabella("providers", "--pin")
    #expect(broken.status == 3 && broken.errors.contains("not an ELF file"))
    #expect(access(file, F_OK) != 0)
    let nowhere = try tabella(
      "providers", "--pin", "planets", environment: ["XDG_CONFIG_HOME": "", "HOME": ""])
    #expect(nowhere.status == 3)
  }
}
