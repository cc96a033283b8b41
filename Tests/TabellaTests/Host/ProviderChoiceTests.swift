import Foundation
import Tabella
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// The explanation of a choice names the provider that the host chooses, for each kind of reason and of refusal.
@Suite struct ProviderChoiceTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("good.so", "")
    try folder.write("open.so", "")
    #expect(chmod(folder.path + "/open.so", 0o777) == 0)
    try add("a", "short", #""patterns":["*.x"]"#)
    try add("b", "long", #""patterns":["*.tar.x"]"#)
    try add("c", "magic", #""magic":[{"offset":1,"bytes":"cafe"}]"#)
    try add("d", "lost", #""patterns":["*.lost"],"schemes":["lost"]"#, library: "lost.so")
    try add("e", "open", #""patterns":["*.open"]"#, library: "open.so")
    try add("f", "all", #""patterns":["*"]"#)
    try add("g", "scheme", #""schemes":["scheme", "other"]"#)
    try add("h", "short", #""patterns":["*.x"]"#)
    try add("i", "future", #""patterns":["*.future"]"#, contract: "9.0")
    try folder.write("j.tabella.json", "{ broken")
    for name in ["1.x", "2.tar.x", "4.other", "5.lost", "6.open", "7.future"] {
      try folder.write(name, "zz")
    }
    try folder.write("3.bin", [0, 0xCA, 0xFE])
    try folder.write("8.lost", [0, 0xCA, 0xFE])
  }

  func add(
    _ file: String, _ id: String, _ rest: String, library: String = "good.so",
    contract: String = "0.9"
  ) throws {
    try folder.write(
      "\(file).tabella.json",
      "{\"id\":\"\(id)\",\"version\":\"1\",\"contract\":\"\(contract)\",\"library\":\"\(library)\",\(rest)}"
    )
  }

  var host: TabellaHost.Host { Host(searchPath: SearchPath([folder.path])) }

  @Test func theExplanationAgreesWithTheChoice() throws {
    let host = host
    let names = ["1.x", "2.tar.x", "3.bin", "4.other", "5.lost", "6.open", "7.future", "8.lost"]
    var locations = names.map { Location("\(folder.path)/\($0)") }
    locations += ["scheme:x", "other:", "lost:x", "nobody:x", "all:x", "/no/such.x"].map {
      Location($0)
    }
    for location in locations {
      for provider in [nil, "short", "lost", "all", "magic", "nobody"] {
        let chosen = try? host.catalogue.choose(location, provider: provider).entry.manifest.id
        let explained = host.explain(location, provider: provider).chosen?.provider
        #expect(chosen == explained, "\(location), \(provider ?? "no name")")
      }
    }
  }

  @Test func reasonsAndOrder() throws {
    func explain(_ name: String) -> [String] {
      // The shipped provider of text is refused if its library is not next to this program.
      host.explain(Location(name.contains(":") ? name : "\(folder.path)/\(name)")).candidates.filter
      {
        $0.provider != "text"
      }.map {
        "\($0.provider): \($0.reason.text)\($0.refusal == nil ? "" : ", refused")"
      }
    }
    #expect(
      explain("2.tar.x") == [
        "long: its pattern *.tar.x fits", "short: its pattern *.x fits", "all: it opens any name",
      ])
    #expect(
      explain("3.bin") == [
        "magic: its 2 magic bytes are at offset 1", "all: it opens any name",
      ])
    #expect(
      explain("8.lost") == [
        "lost: its pattern *.lost fits, refused", "magic: its 2 magic bytes are at offset 1",
        "all: it opens any name",
      ])
    #expect(explain("other:x") == ["scheme: it claims the scheme other:"])
    #expect(explain("nobody:x") == [])
  }

  @Test func refusalsAreNamed() throws {
    func refusals(_ name: String) -> String {
      let choice = host.explain(Location("\(folder.path)/\(name)"))
      return (choice.candidates.compactMap(\.refusal) + choice.refusals.map(\.reason))
        .joined(separator: "\n")
    }
    #expect(refusals("5.lost").contains("lost.so does not exist"))
    #expect(refusals("6.open").contains("can write to it"))
    #expect(refusals("7.future").contains("built for contract 9.0"))
    // The second manifest of an id fits, too. A broken manifest can mean any location.
    #expect(refusals("1.x").contains("the id short is taken"))
    #expect(!refusals("4.other").contains("the id short is taken"))
    #expect(host.explain(Location("x")).refusals.contains { $0.path.hasSuffix("j.tabella.json") })
  }
}
