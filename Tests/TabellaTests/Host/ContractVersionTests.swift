import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// Providers and hosts of other contract versions: they work together, or one line refuses the provider.
@Suite struct ContractVersionTests {
  let folder: TemporaryFolder
  static let later = "\(FrozenContractTests.fixtures)/later"

  init() throws { folder = try TemporaryFolder() }

  @Test func versionsAreParsedAndCompared() {
    #expect(ContractVersion("0.9")?.number == 9)
    #expect(ContractVersion("1.3")?.number == 0x1_0003)
    #expect(ContractVersion("65535.65535")?.number == .max)
    for text in ["", "1", "1.", ".1", "1.2.3", "-1.2", "+1.2", "1.65536", "0x1.0", " 1.0", "1.0 "] {
      #expect(ContractVersion(text) == nil, "\(text)")
    }
    for text in ["0.9", "0.10", "1.0", "1.65535"] {
      #expect(ContractVersion(text)?.isAccepted == true, "\(text)")
    }
    for text in ["0.0", "0.1", "0.8", "2.0", "57005.48879"] {
      #expect(ContractVersion(text)?.isAccepted == false, "\(text)")
    }
  }

  private func host(_ isolation: TabellaHost.Host.Isolation) -> TabellaHost.Host {
    let host = TabellaHost.Host(searchPath: SearchPath([folder.path]))
    host.isolation = isolation
    return host
  }

  private func provide(_ source: String, _ contract: String, flags: [String] = []) throws {
    let id = source.split(separator: ".")[0]
    _ = try compileLibrary("\(Self.later)/\(source)", into: folder, name: "\(id).so", flags: flags)
    try folder.write(
      "\(id).tabella.json",
      """
      {"id": "\(id)", "version": "1", "contract": "\(contract)", "library": "\(id).so",
       "schemes": ["\(id)"], "future": {"member": [1]}, "capabilities": ["search", "supplementary"]}
      """)
  }

  private func refusal(
    _ location: Location, _ isolation: TabellaHost.Host.Isolation
  ) throws -> TableError {
    do throws(TableError) { _ = try host(isolation).open(location) } catch { return error }
    throw TableError(.internal, "nothing was refused")
  }

  /// Old host, new provider.
  @Test(arguments: [TabellaHost.Host.Isolation.never, .always])
  func aNewerProviderWorks(_ isolation: TabellaHost.Host.Isolation) throws {
    try provide("newer.c", "1.3")
    let source = try host(isolation).open("newer:").source
    let table = try NaiveTable(of: source)
    #expect(table.sections.first?.rows.count == 3)
    #expect(
      table.sections.first?.rows.first?.cells.last == .integer(Int64(ContractVersion.own.number)))
    let badge = try source.supplementary?.supplementaryElement(
      ofKind: "badge", at: Tabella.IndexPath(section: 0, row: 0))
    #expect(badge != nil)
    let hologram = try source.supplementary?.supplementaryElement(
      ofKind: "hologram", at: Tabella.IndexPath(section: 0, row: 0))
    #expect(hologram == nil)
  }

  @Test(arguments: [TabellaHost.Host.Isolation.never, .always])
  func aProviderThatNeedsANewerHostIsRefused(_ isolation: TabellaHost.Host.Isolation) throws {
    try provide("newer.c", "1.3", flags: ["-DNEEDS_NEWER_HOST"])
    let silent = try refusal("newer:", isolation)
    #expect(silent.code == .noProvider)
    #expect(silent.message.contains("1.3") && silent.message.contains(contractVersionName))
    try provide("newer.c", "1.3", flags: ["-DNEEDS_NEWER_HOST", "-DSAYS_WHY"])
    let spoken = try refusal("newer:", isolation)
    #expect(spoken.code == .noProvider && spoken.message.contains("needs tabella.searching/1"))
  }

  /// The manifest is wrong, so the host learns from the library that its structs differ.
  @Test(arguments: [TabellaHost.Host.Isolation.never, .always])
  func aProviderOfAnotherFamilyIsRefused(_ isolation: TabellaHost.Host.Isolation) throws {
    try provide("next.c", "0.9")
    let error = try refusal("next:", isolation)
    #expect(error.code == .noProvider)
    #expect(error.message.contains("2.0") && error.message.contains(contractVersionName))
    #expect(error.message.contains("newer version of tabella"))
  }

  @Test(arguments: ["0.1", "2.0", "soon", "1"])
  func aManifestOfAnotherFamilyIsRefused(_ contract: String) throws {
    try provide("newer.c", contract)
    let error = try refusal("newer:", .never)
    #expect(error.message.contains(contract) && error.message.contains(contractVersionName))
  }

  /// New host, present providers: those that ship, and one in C.
  @Test func presentProvidersAcceptTheHostsOfTheirFamily() throws {
    let program = folder.path + "/host"
    let compiled = try run(
      findProgram("clang"),
      [
        "-std=c11", "-Wall", "-Wextra", "-Werror", "-I\(packageFolder)/Sources/CTabella/include",
        "-o", program, "\(Self.later)/host.c",
      ])
    #expect(compiled.status == 0, "\(compiled.errors)")
    let file = try folder.write("t.csv", "a,b\n1,2\n3,4\n")
    let planets = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    for (library, location, rows) in [
      ("\(buildFolder)/libtabella-csv.so", file, "2 rows"),
      ("\(buildFolder)/libtabella-text.so", file, "3 rows"), (planets, "", "4 rows"),
    ] {
      for version in ["0x9", "0xA", "0x10000", "0x10007", "0x1FFFF"] {
        let result = try run(program, [library, version, location])
        #expect(result.text == "0 9\n\(rows)\n", "\(library) \(version): \(result)")
      }
      for version in ["0", "1", "8", "0x20000", "0xFFFFFFFF"] {
        let result = try run(program, [library, version, location])
        #expect(result.text == "1 9\n", "\(library) \(version): \(result)")
      }
    }
  }

  /// Old providers, present host: every frozen provider keeps the laws on every road.
  @Test(arguments: FrozenContractTests.contracts, [TabellaHost.Host.Isolation.never, .always])
  func frozenProvidersKeepTheLaws(_ contract: String, _ isolation: TabellaHost.Host.Isolation)
    throws
  {
    let frozen = "\(FrozenContractTests.fixtures)/\(contract)"
    for manifest in try FileManager.default.contentsOfDirectory(atPath: frozen)
    where manifest.hasSuffix(".tabella.json") {
      let id = manifest.split(separator: ".")[0]
      let library = try compileLibrary("\(frozen)/\(id).c", into: folder, name: "\(id).so")
      #expect(FileManager.default.fileExists(atPath: library))
      try folder.write(manifest, String(contentsOfFile: "\(frozen)/\(manifest)", encoding: .utf8))
      let data = "\(frozen)/\(id).data"
      let location = FileManager.default.fileExists(atPath: data) ? "\(id):\(data)" : "\(id):"
      expectConformance(seed: 1) { () throws(TableError) in
        try host(isolation).open(Location(location)).source
      }
    }
  }
}
