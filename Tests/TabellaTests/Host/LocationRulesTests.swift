import Foundation
import TabellaConfinement
import Testing

@testable import TabellaTestSupport

/// The grants for a location: its target, and nothing else.
@Suite struct LocationRulesTests {
  let folder: TemporaryFolder
  /// Its path without links.
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
    try folder.write("a.csv", "a\n")
    for name in ["sub", "lib"] {
      try FileManager.default.createDirectory(
        atPath: "\(path)/\(name)", withIntermediateDirectories: false)
    }
    try folder.write("sub/b.csv", "b\n")
    symlink("sub/b.csv", "\(path)/link.csv")
    symlink("sub", "\(path)/shortcut")
    symlink("nowhere", "\(path)/broken")
    mkfifo("\(path)/pipe", 0o600)
    for name in ["libp.so", "libq.so.1", "notes.txt", "id_rsa", "libp.source", "x.so.txt"] {
      try folder.write("lib/\(name)", "")
    }
  }

  func rules(
    _ location: String, isPath: Bool = true, isEditing: Bool = false,
    permissions: GrantedPermissions = GrantedPermissions()
  ) throws -> WorkerRules {
    try WorkerRules.forLocation(
      Array(location.utf8), isPath: isPath, isEditing: isEditing,
      library: Array("\(path)/lib/libp.so".utf8), permissions: permissions)
  }

  func texts(_ grants: [Grant]) -> [String] {
    grants.map { String(decoding: $0.path, as: UTF8.self).replacing(path, with: "") }
  }

  @Test func toRead() throws {
    for (location, granted) in [
      ("a.csv", ["/a.csv"]), ("sub", ["/sub"]), ("link.csv", ["/sub/b.csv"]),
      ("shortcut", ["/sub"]), ("sub/../a.csv", ["/a.csv"]), ("pipe", ["/pipe"]),
      ("nowhere", []), ("broken", []),
    ] {
      let rules = try rules("\(path)/\(location)")
      #expect(texts(rules.readable) == granted, "\(location)")
      #expect(rules.writable.isEmpty && rules.saving.isEmpty)
      // A reader cannot write a byte to any file.
      #expect(rules.fileSize == 0)
    }
  }

  @Test func toEdit() throws {
    for (location, saving, writable) in [
      ("a.csv", ["" as String], [] as [String]), ("link.csv", ["/sub"], []),
      ("new.csv", [""], []), ("shortcut/new.csv", ["/sub"], []), ("broken", [""], []),
      ("sub", [], ["/sub"]), ("shortcut", [], ["/sub"]), ("pipe", [], ["/pipe"]),
      ("no/such/folder", [], []),
    ] {
      let rules = try rules("\(path)/\(location)", isEditing: true)
      #expect(texts(rules.saving) == saving, "\(location)")
      #expect(texts(rules.writable) == writable, "\(location)")
      #expect(rules.readable.isEmpty && rules.fileSize == nil)
    }
  }

  /// After a scheme comes a path, or another text that looks like one.
  @Test func behindAScheme() throws {
    #expect(texts(try rules("\(path)/a.csv", isPath: false).readable) == ["/a.csv"])
    #expect(texts(try rules("\(path)/a.csv", isPath: false, isEditing: true).saving) == [""])
    for location in ["", "host:5432/table", "\(path)/new.csv"] {
      let rules = try rules(location, isPath: false, isEditing: true)
      #expect(rules.readable.isEmpty && rules.writable.isEmpty && rules.saving.isEmpty)
    }
    #expect(try rules("", isEditing: true).saving.isEmpty)
  }

  @Test func permissions() throws {
    let permissions = GrantedPermissions(
      read: [Array("/r".utf8)], write: [Array("/w".utf8)], links: true, signals: true,
      network: true, processes: true)
    let reading = try rules("", isPath: false, permissions: permissions)
    #expect(texts(reading.readable) == ["/r", "/proc"])
    #expect(reading.writable.isEmpty && !reading.links && !reading.signals && reading.network)
    let editing = try rules("", isPath: false, isEditing: true, permissions: permissions)
    #expect(texts(editing.readable) == ["/r", "/proc"])
    #expect(texts(editing.writable) == ["/w"] && editing.links && editing.signals)
    #expect(try !rules("", isPath: false, isEditing: true).links)
  }

  /// Next to the library, only libraries are granted, and no other files of the folder.
  @Test func libraries() throws {
    #expect(
      Set(texts(try rules("").libraries)) == ["/lib/libp.so", "/lib/libq.so.1", "/lib/x.so.txt"])
  }
}
