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

/// One suite on every road: each provider in process, through the C contract, and as a library.
@Suite struct ProviderConformanceTests {
  /// A provider and what to open with it.
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
    Subject(provider: DirectoryProvider.self, location: "\(packageFolder)/Sources"),
    Subject(
      provider: DirectoryProvider.self, location: "\(packageFolder)/Sources",
      options: ["recursive": "true", "hidden": "true"]),
    Subject(
      provider: DirectoryProvider.self, location: "\(packageFolder)/Sources",
      options: ["recursive": "true", "sections": "folder"]),
  ]

  @Test(arguments: subjects)
  func inProcess(_ subject: Subject) {
    expectConformance { () throws(TableError) in try subject.open() }
  }

  @Test(arguments: subjects)
  func throughTheContract(_ subject: Subject) {
    expectConformance { () throws(TableError) in
      try importSource(exportSource(subject.open()), provider: subject.provider.id)
    }
  }

  @Test(arguments: subjects, [1, 2, 3] as [UInt64])
  func throughALibrary(_ subject: Subject, seed: UInt64) {
    let host = Host()
    expectConformance(seed: seed) { () throws(TableError) in
      let location = subject.scheme.map { "\($0):" } ?? ""
      return try host.open(
        Location(location + subject.location), provider: subject.provider.id,
        options: subject.options
      ).source
    }
  }

  /// What a library gives is what the same code gives in process.
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

  /// Judged alone, because it watches the heap.
  @Test func memoryReturns() async {
    await #expect(processExitsWith: .success) {
      let host = Host()
      for subject in Self.subjects {
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
