import Foundation
import Tabella
import TabellaBridge
import TabellaCSV
import TabellaConformance
import TabellaDirectory
import TabellaHost
import TabellaProcesses
import TabellaSDK
import TabellaText
import Testing

@testable import TabellaTestSupport

/// One suite on every road: each provider in the process, through the C contract, and as a library.
@Suite struct ProviderConformanceTests {
  /// A provider and its location.
  struct Subject: Sendable, CustomStringConvertible {
    var provider: any Provider.Type
    var location: String
    var scheme: String?
    var options: [String: String] = [:]

    var description: String { "\(provider.id) \(location) \(options)" }

    func open() throws(TableError) -> any TableDataSource {
      try provider.init().open(
        OpenRequest(location: Array(location.utf8), scheme: scheme, options: options))
    }

    /// Copies of the location, for edits with `open`; nil if it must not be edited or is too large.
    func scratch(
      _ open: @escaping (Subject) throws(TableError) -> any TableDataSource = {
        subject throws(TableError) in try subject.open()
      }
    ) -> ConformanceSuite.Scratch? {
      guard isEdited else { return nil }
      return {
        let folder = try TemporaryFolder(inMemory: true)
        var copy = self
        // The user's trash would keep all deleted copies.
        if provider.id == DirectoryProvider.id { copy.options["permanent"] = "true" }
        copy.location = "\(folder.path)/\((location as NSString).lastPathComponent)"
        try FileManager.default.copyItem(atPath: location, toPath: copy.location)
        // The folder lives as long as the closure that opens it.
        return { [copy] () throws(TableError) in
          defer { withExtendedLifetime(folder) {} }
          return try open(copy)
        }
      }
    }

    /// Locations outside are not edited. Trees are not, either, because each edit changes the rows of folders;
    /// DirectoryEditingTests covers them.
    private var isEdited: Bool {
      location.hasPrefix(packageFolder) && options["recursive"] == nil
    }
  }

  static let subjects: [Subject] = [
    Subject(provider: ProcessesProvider.self, location: "", scheme: "processes"),
    Subject(
      provider: CSVProvider.self, location: "/etc/passwd",
      options: ["delimiter": ":", "header": "false"]),
    Subject(
      provider: CSVProvider.self,
      location: "\(packageFolder)/Tests/TabellaTests/Providers/Corpus/csv/short-rows.csv"),
    Subject(
      provider: CSVProvider.self, location: "\(packageFolder)/Package.swift",
      options: ["types": "infer", "delimiter": "space", "header": "false"]),
    Subject(provider: TextProvider.self, location: "\(packageFolder)/README.md"),
    Subject(
      provider: TextProvider.self, location: "\(packageFolder)/README.md",
      options: ["sections": "headings"]),
    Subject(
      provider: TextProvider.self, location: "\(packageFolder)/LICENSE",
      options: ["sections": "paragraphs"]),
    Subject(provider: TextProvider.self, location: "/bin/true"),
    Subject(provider: DirectoryProvider.self, location: "\(packageFolder)/Plugins/CSV"),
    Subject(provider: DirectoryProvider.self, location: "\(packageFolder)/Sources"),
    Subject(
      provider: DirectoryProvider.self, location: "\(packageFolder)/Sources",
      options: ["recursive": "true", "hidden": "true"]),
    Subject(
      provider: DirectoryProvider.self, location: "\(packageFolder)/Sources",
      options: ["recursive": "true", "sections": "folder"]),
  ]

  /// With `TABELLA_ALL_ROADS`, all subjects.
  static let some = sample(6, of: subjects)

  static let oneOfEach = subjects.indices.filter { index in
    !subjects[..<index].contains { $0.provider.id == subjects[index].provider.id }
  }.map { subjects[$0] }

  @Test(arguments: some)
  func inProcess(_ subject: Subject) {
    expectConformance(scratch: subject.scratch()) { () throws(TableError) in
      try subject.open()
    }
  }

  /// One subject of each provider, or with `TABELLA_ALL_ROADS` all. The libraries below cross the contract, too.
  @Test(arguments: takesAllRoads ? subjects : oneOfEach)
  func throughTheContract(_ subject: Subject) {
    func open(_ subject: Subject) throws(TableError) -> any TableDataSource {
      try importSource(exportSource(subject.open()), provider: subject.provider.id)
    }
    expectConformance(scratch: subject.scratch(open)) { () throws(TableError) in
      try open(subject)
    }
  }

  @Test(
    arguments: takesAllRoads ? subjects : oneOfEach, takesAllRoads ? [1, 2, 3] : [1] as [UInt64])
  func throughALibrary(_ subject: Subject, seed: UInt64) {
    expectLaws(of: subject, by: Host(), seed: seed)
  }

  /// The remote source is an ordinary source. Tests two subjects, or with `TABELLA_ALL_ROADS` all.
  @Test(arguments: sample(2, of: subjects))
  func inAWorker(_ subject: Subject) {
    let host = Host()
    host.isolation = .always
    expectLaws(of: subject, by: host, seed: 1)
  }

  private func expectLaws(of subject: Subject, by host: TabellaHost.Host, seed: UInt64) {
    func open(_ subject: Subject) throws(TableError) -> any TableDataSource {
      let location = subject.scheme.map { "\($0):" } ?? ""
      return try host.open(
        Location(location + subject.location), provider: subject.provider.id,
        options: subject.options
      ).source
    }
    expectConformance(seed: seed, scratch: subject.scratch(open)) { () throws(TableError) in
      try open(subject)
    }
  }

  /// A library returns the same data as the same code in the process.
  @Test func roadsAgree() throws {
    for subject in Self.subjects where !subject.location.isEmpty {
      let direct = try subject.open()
      let loaded = try Host().open(
        Location(subject.location), provider: subject.provider.id, options: subject.options
      ).source
      #expect(direct.columns == loaded.columns)
      #expect(try direct.version() == loaded.version())
      #expect(try readAll(direct) == readAll(loaded))
    }
  }

  /// Runs alone, because it measures the heap.
  @Test func memoryReturns() async {
    await #expect(processExitsWith: .success) {
      let host = Host()
      for subject in sample(2, of: Self.subjects) {
        expectConformance(laws: ConformanceSuite.laws.filter(\.needsQuiet)) {
          () throws(TableError) in
          let location = subject.scheme.map { "\($0):" } ?? ""
          return try host.open(
            Location(location + subject.location), provider: subject.provider.id,
            options: subject.options
          ).source
        }
      }
    }
  }
}
