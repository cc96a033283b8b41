import Foundation
import Tabella
import TabellaBridge
import TabellaConformance
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

@Suite struct HostTests {
  let folder: TemporaryFolder
  let liar = packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c"

  init() throws { folder = try TemporaryFolder() }

  func manifest(_ id: String, _ library: String, _ more: String = "") -> String {
    "{\"id\":\"\(id)\",\"version\":\"1\",\"contract\":\"\(contractVersionName)\",\"library\":\"\(library)\"\(more)}"
  }

  func refusal(_ body: () throws -> Void) throws -> TableError {
    do { try body() } catch let error as TableError { return error }
    throw TableError(.internal, "nothing was refused")
  }

  // Libraries

  @Test func theExampleInCKeepsTheLaws() throws {
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so")
    try folder.write(
      "planets.tabella.json",
      String(
        contentsOfFile: packageFolder + "/Examples/provider-c/planets.tabella.json",
        encoding: .utf8))
    #expect(FileManager.default.fileExists(atPath: library))
    for seed in 1...5 as ClosedRange<UInt64> {
      let host = Host(searchPath: SearchPath([folder.path]))
      expectConformance(seed: seed) { () throws(TableError) in
        try host.open("planets:").source
      }
    }
  }

  @Test func whatIsNoLibrary() throws {
    let cases: [(String, [UInt8], String)] = [
      ("empty.so", [], "not an ELF file"), ("text.so", Array("hello".utf8), "not an ELF file"),
      (
        "script.so", Array(("#!/bin/sh\n" + String(repeating: "#", count: 200)).utf8),
        "not an ELF file"
      ),
    ]
    for (name, bytes, reason) in cases {
      let path = try folder.write(name, bytes)
      let error = try refusal { _ = try loadLibrary(at: path) }
      #expect(error.code == .noProvider)
      #expect(error.message.contains(reason) && error.message.contains(name), "\(error)")
    }
    let absent = try refusal { _ = try loadLibrary(at: folder.path + "/absent.so") }
    #expect(absent.code == .noProvider)
    let directory = try refusal { _ = try loadLibrary(at: folder.path) }
    #expect(directory.code == .noProvider)
  }

  /// A library without the entry point is refused before it is loaded, so its constructors never run.
  @Test func aLibraryWithoutTheEntryIsNotLoaded() throws {
    let marker = folder.path + "/loaded"
    let source = try folder.write(
      "other.c",
      """
      #include <stdio.h>
      int unrelated(void);
      int unrelated(void) { return 1; }
      __attribute__((constructor)) static void begin(void) {
        FILE *file = fopen("\(marker)", "w");
        if (file) fclose(file);
      }
      """)
    let library = try compileLibrary(source, into: folder, name: "other.so")
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.code == .noProvider)
    #expect(error.message.contains("exports no function tabella_provider_entry"))
    #expect(!FileManager.default.fileExists(atPath: marker))
  }

  @Test func anEntryThatIsDataIsRefused() throws {
    let source = try folder.write(
      "data.c",
      "__attribute__((visibility(\"default\"))) int tabella_provider_entry = 1;\n")
    let library = try compileLibrary(source, into: folder, name: "data.so")
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.message.contains("exports no function"))
  }

  /// dlsym finds the entry point of a dependency, but the library itself must export it.
  @Test func anEntryOfADependencyIsRefused() throws {
    _ = try compileLibrary(liar, into: folder, name: "libinner.so")
    let source = try folder.write("outer.c", "int outer(void);\nint outer(void) { return 1; }\n")
    let library = try compileLibrary(
      source, into: folder, name: "outer.so",
      flags: ["-Wl,--no-as-needed", "\(folder.path)/libinner.so", "-Wl,-rpath,\(folder.path)"])
    #expect(throws: TableError.self) { try loadLibrary(at: library) }
  }

  @Test func anotherContractVersionNamesBoth() throws {
    let library = try compileLibrary(
      liar, into: folder, name: "old.so", flags: ["-DOTHER_CONTRACT=0x00030002u"])
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.code == .noProvider)
    #expect(error.message.contains("3.2") && error.message.contains(contractVersionName))
  }

  @Test func aProviderThatRefusesSaysWhy() throws {
    let library = try compileLibrary(liar, into: folder, name: "no.so", flags: ["-DREFUSES"])
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.code == .noProvider && error.message.contains("no licence today"))
  }

  @Test(arguments: ["-DWITHOUT_ID", "-DWITHOUT_OPEN"])
  func anIncompleteProviderMisbehaves(_ flag: String) throws {
    let library = try compileLibrary(liar, into: folder, name: "half\(flag).so", flags: [flag])
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.code == .misbehaved)
  }

  @Test func anUnresolvedSymbolIsFoundAtLoading() throws {
    let source = try folder.write(
      "lost.c",
      """
      #include "tabella.h"
      int32_t nowhere(tabella_entry *entry);
      int32_t tabella_provider_entry(tabella_entry *entry) { return nowhere(entry); }
      """)
    let library = try compileLibrary(source, into: folder, name: "lost.so")
    let error = try refusal { _ = try loadLibrary(at: library) }
    #expect(error.code == .noProvider && error.message.contains("nowhere"))
  }

  @Test func theIDsMustAgree() throws {
    _ = try compileLibrary(liar, into: folder, name: "liar.so")
    try folder.write("a.tabella.json", manifest("truth", "liar.so", ",\"schemes\":[\"truth\"]"))
    let host = Host(searchPath: SearchPath([folder.path]))
    let error = try refusal { _ = try host.open("truth:") }
    #expect(error.code == .misbehaved)
    #expect(error.message.contains("truth") && error.message.contains("liar"))
  }

  // Catalogue

  @Test func badManifestsAreRefusedWithTheReason() throws {
    _ = try compileLibrary(liar, into: folder, name: "liar.so")
    let manifests: [(String, String, String)] = [
      ("a", "{", "not JSON"), ("b", "{}", "no \"id\""),
      ("c", manifest("Upper", "liar.so"), "Upper"),
      ("d", manifest("d", "absent.so"), "absent.so does not exist"),
      (
        "e", manifest("e", "liar.so").replacingOccurrences(of: contractVersionName, with: "9.9"),
        "9.9"
      ),
      ("f", manifest("csv", "liar.so"), "is taken"),
      ("f2", manifest("f2", "liar.so", ",\"schemes\":[\"csv\"]"), "scheme csv is taken"),
      ("g", manifest("g", "liar.so", ",\"magic\":[{\"bytes\":\"abc\"}]"), "magic"),
      ("h", manifest("h", "liar.so", ",\"schemes\":\"x\""), "not an array"),
      ("i", manifest("i", "liar.so", ",\"id\":\"i\""), "repeated"),
      (
        "j", manifest("j", "liar.so", ",\"columns\":[{\"name\":\"x\",\"type\":\"colour\"}]"),
        "colour"
      ),
    ]
    for (name, text, _) in manifests { try folder.write("\(name).tabella.json", text) }
    let catalogue = Host(searchPath: SearchPath([buildFolder, folder.path])).catalogue
    for (name, _, reason) in manifests {
      let refusal = catalogue.refusals.first { $0.path.hasSuffix("/\(name).tabella.json") }
      #expect(
        refusal?.reason.contains(reason) == true, "\(name): \(refusal?.reason ?? "not refused")")
    }
  }

  @Test func relativeDirectoriesAreNotSearched() {
    let catalogue = Catalogue(SearchPath(["relative", ".", "/nonexistent"]))
    #expect(catalogue.refusals.contains { $0.path == "relative" && $0.reason.contains("absolute") })
  }

  @Test func shippedProvidersAreFoundBesideTheExecutable() {
    let catalogue = Host(searchPath: SearchPath([buildFolder])).catalogue
    #expect(
      catalogue.entries.filter(\.isShipped).map(\.manifest.id) == [
        "csv", "directory", "processes", "text",
      ])
  }

  @Test func choosesBySchemePatternAndMagic() throws {
    _ = try compileLibrary(liar, into: folder, name: "liar.so")
    try folder.write("a.tabella.json", manifest("short", "liar.so", ",\"patterns\":[\"*.x\"]"))
    try folder.write("b.tabella.json", manifest("long", "liar.so", ",\"patterns\":[\"*.tar.x\"]"))
    try folder.write(
      "c.tabella.json",
      manifest("magic", "liar.so", ",\"magic\":[{\"offset\":2,\"bytes\":\"cafe\"}]"))
    try folder.write("d.tabella.json", manifest("all", "liar.so", ",\"patterns\":[\"*\"]"))
    try folder.write(
      "e.tabella.json",
      manifest("folders", "liar.so", ",\"accepts\":[\"directory\"],\"patterns\":[\"*\"]"))
    try folder.write("f.tabella.json", manifest("sch", "liar.so", ",\"schemes\":[\"sch\"]"))
    let catalogue = Host(searchPath: SearchPath([folder.path])).catalogue
    func chosen(_ location: String, _ provider: String? = nil) throws -> String {
      let choice = try catalogue.choose(Location(location), provider: provider)
      return "\(choice.entry.manifest.id) \(String(decoding: choice.rest, as: UTF8.self))"
    }
    let path = folder.path
    for name in ["1.x", "2.tar.x", "3.bin", "4.other"] { try folder.write(name, "zz") }
    try folder.write("3.bin", [0, 0, 0xCA, 0xFE])
    #expect(try chosen("\(path)/1.x") == "short \(path)/1.x")
    #expect(try chosen("\(path)/2.tar.x") == "long \(path)/2.tar.x")
    #expect(try chosen("\(path)/3.bin") == "magic \(path)/3.bin")
    #expect(try chosen("\(path)/4.other") == "all \(path)/4.other")
    #expect(try chosen(path) == "folders \(path)")
    #expect(try chosen("sch:a:b") == "sch a:b")
    #expect(try chosen("\(path)/1.x", "long") == "long \(path)/1.x")
    #expect(try refusal { _ = try chosen("nope:x") }.code == .noProvider)
    #expect(try refusal { _ = try chosen("\(path)/1.x", "nobody") }.code == .noProvider)
    #expect(try refusal { _ = try chosen("") }.code == .invalidArgument)
  }

  /// If the provider of a file was refused, the next matching one was silently used. It showed other rows, so an edit
  /// by index path changed the wrong row.
  @Test func noOtherProviderTakesThePlaceOfOneThatIsRefused() throws {
    func manifest(_ id: String, _ library: String, _ rest: String) -> String {
      "{\"id\":\"\(id)\",\"version\":\"1\",\"contract\":\"0.9\",\"library\":\"\(library)\"\(rest)}"
    }
    try folder.write("good.so", "")
    try folder.write("open.so", "")
    #expect(chmod(folder.path + "/open.so", 0o777) == 0)
    try folder.write("a.tabella.json", manifest("all", "good.so", ",\"patterns\":[\"*\"]"))
    try folder.write("b.tabella.json", manifest("lost", "lost.so", ",\"patterns\":[\"*.lost\"]"))
    try folder.write("c.tabella.json", manifest("open", "open.so", ",\"patterns\":[\"*.open\"]"))
    try folder.write(
      "d.tabella.json",
      manifest("magic", "lost.so", ",\"magic\":[{\"offset\":0,\"bytes\":\"cafe\"}]"))
    // This provider is found first, so another one with the same id is refused and has no effect.
    try folder.write("e.tabella.json", manifest("all", "lost.so", ",\"patterns\":[\"*\"]"))
    let catalogue = Host(searchPath: SearchPath([folder.path])).catalogue
    for name in ["1.lost", "2.open", "4.other"] { try folder.write(name, "zz") }
    try folder.write("3.bin", [0xCA, 0xFE])
    func chosen(_ name: String) throws -> String {
      try catalogue.choose(Location("\(folder.path)/\(name)"), provider: nil).entry.manifest.id
    }
    for (name, provider, code) in [
      ("1.lost", "lost", TableError.Code.noProvider), ("2.open", "open", .denied),
      ("3.bin", "magic", .noProvider),
    ] {
      let error = try refusal { _ = try chosen(name) }
      #expect(error.code == code, "\(error)")
      #expect(error.message.hasPrefix("provider \(provider), which opens this, is refused: "))
      #expect(error.remedies == [.chooseProvider(ids: ["all"])])
      let location = Location("\(folder.path)/\(name)")
      #expect(try catalogue.choose(location, provider: "all").entry.manifest.id == "all")
    }
    #expect(try chosen("4.other") == "all")
  }

  /// A scheme of a refused provider was taken for the start of a file name. A later provider replaced a refused one. So
  /// did any other provider if the manifest had an irrelevant mistake. A duplicate id blocked other providers.
  @Test func refusedProvidersCountInTheOrderInWhichTheyAreFound() throws {
    func add(_ file: String, _ id: String, _ rest: String, library: String = "good.so") throws {
      try folder.write(
        "\(file).tabella.json",
        "{\"id\":\"\(id)\",\"version\":\"1\",\"contract\":\"0.9\",\"library\":\"\(library)\",\(rest)}"
      )
    }
    try folder.write("good.so", "")
    try add("a", "first", #""patterns":["*.first"],"schemes":["first"]"#, library: "lost.so")
    try add("b", "second", #""patterns":["*.first", "*.second"]"#)
    try add("c", "first", #""patterns":["*.first"],"schemes":["first"]"#)
    try add("d", "second", #""patterns":["long.second"]"#, library: "lost.so")
    try add("e", "wrong", #""patterns":["*.wrong"],"options":[{"name":"x","type":"y"}]"#)
    try add("f", "rest", #""patterns":["*"]"#)
    let catalogue = Host(searchPath: SearchPath([folder.path])).catalogue
    for name in ["1.first", "long.second", "1.wrong", "first:x"] { try folder.write(name, "zz") }
    func choose(_ location: String, _ provider: String? = nil) throws -> Catalogue.Choice {
      try catalogue.choose(Location(location), provider: provider)
    }
    for (location, provider) in [
      ("\(folder.path)/1.first", "first"), ("first:x", "first"), ("first:", "first"),
      ("\(folder.path)/1.wrong", "wrong"),
    ] {
      let error = try refusal { _ = try choose(location) }
      #expect(error.code == .noProvider, "\(location): \(error)")
      #expect(
        error.message.hasPrefix("provider \(provider), which opens this, is refused: "), "\(error)")
      #expect(error.remedies == [.chooseProvider(ids: ["second", "first", "rest"])])
    }
    #expect(try choose("\(folder.path)/1.first", "first").entry.library.hasSuffix("/good.so"))
    #expect(try choose("\(folder.path)/long.second").entry.library.hasSuffix("/good.so"))
    let named = try refusal { _ = try choose("\(folder.path)/1.wrong", "wrong") }
    #expect(named.remedies == [.chooseProvider(ids: ["second", "first", "rest"])])
  }

  @Test(arguments: [
    ("data.csv", "*.csv", true), ("data.csv", "*.CSV", false), (".csv", "*.csv", true),
    ("a", "?", true), ("", "?", false), ("", "*", true), ("abc", "a*c", true), ("ab", "a*c", false),
    ("aXbXc", "a*b*c", true), ("aaaaaaaaaaaaaaaaaaaaaaaa", "*a*a*a*a*a*a*b", false),
    ("x.tar.gz", "*.tar.*", true),
  ])
  func patterns(_ name: String, _ pattern: String, _ expected: Bool) {
    #expect(matches(Array(name.utf8)[...], Array(pattern.utf8)[...]) == expected)
  }

  // Options

  @Test func unknownOptionsListTheKnown() throws {
    let file = try folder.write("t.csv", "a\n1\n")
    let host = Host(searchPath: SearchPath([buildFolder]))
    let unknown = try refusal { _ = try host.open(Location(file), options: ["colour": "red"]) }
    #expect(unknown.code == .invalidArgument)
    #expect(unknown.message.contains("colour") && unknown.message.contains("delimiter"))
    let bad = try refusal { _ = try host.open(Location(file), options: ["header": "perhaps"]) }
    #expect(bad.code == .invalidArgument && bad.message.contains("true or false"))
    let choice = try refusal { _ = try host.open(Location(file), options: ["types": "magic"]) }
    #expect(choice.message.contains("text, infer"))
  }

  @Test func filesWithAnyBytesInTheirNames() throws {
    let name = Array("\(folder.path)/".utf8) + [0xFF, 0x0A, 0x20] + Array(".csv".utf8)
    _ = (name + [0]).withUnsafeBufferPointer { path in
      path.withMemoryRebound(to: CChar.self) { close(creat($0.baseAddress!, 0o600)) }
    }
    let host = Host(searchPath: SearchPath([buildFolder]))
    #expect(try host.open(Location(name)).source.exactNumberOfRows(inSection: 0) == 0)
  }

  /// Two hosts in one process have separate provider objects and do not disturb each other.
  @Test func twoHosts() throws {
    let file = try folder.write("t.csv", "a\n1\n")
    let first = try Host(searchPath: SearchPath([buildFolder])).open(Location(file))
    let second = try Host(searchPath: SearchPath([buildFolder])).open(Location(file))
    #expect(try readAll(first.source) == readAll(second.source))
  }
}
