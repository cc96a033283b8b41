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

/// The suite over every view, and every view of every view, of every provider, on every road.
@Suite struct ProviderViewsTests {
  /// The ways to reach a provider's table.
  enum Road: CaseIterable {
    /// The provider's own source in a view.
    case inProcess
    /// A view of it, through the C contract and back.
    case throughTheContract
    /// The source of a library in a view.
    case throughALibrary
  }

  static let names = Views.all.map(\.name)

  static let subjects: [ProviderConformanceTests.Subject] = [
    .init(
      provider: CSVProvider.self,
      location: "\(packageFolder)/Tests/TabellaTests/Providers/Corpus/csv/short-rows.csv"),
    .init(
      provider: CSVProvider.self, location: "\(packageFolder)/Examples/expected/people.csv",
      options: ["types": "infer"]),
    .init(
      provider: TextProvider.self, location: "\(packageFolder)/CONTRIBUTING.md",
      options: ["sections": "headings"]),
    .init(
      provider: DirectoryProvider.self, location: "\(packageFolder)/Plugins",
      options: ["recursive": "true", "sections": "folder"]),
    .init(provider: ProcessesProvider.self, location: "", scheme: "processes"),
  ]

  private static func wrap(
    _ name: String, _ base: any TableDataSource
  ) throws(TableError) -> any TableDataSource {
    guard let view = Views.all.first(where: { $0.name == name }) else {
      throw TableError(.internal, "there is no view \(name)")
    }
    return try view.wrap(base)
  }

  private static func open(
    _ subject: ProviderConformanceTests.Subject, by road: Road, _ host: TabellaHost.Host,
    _ views: [String]
  ) throws(TableError) -> any TableDataSource {
    var source: any TableDataSource
    if road == .throughALibrary {
      let scheme = subject.scheme.map { "\($0):" } ?? ""
      source = try host.open(
        Location(scheme + subject.location), provider: subject.provider.id,
        options: subject.options
      ).source
    } else {
      source = try subject.open()
    }
    for view in views { source = try wrap(view, source) }
    return road == .throughTheContract
      ? try importSource(exportSource(source), provider: "view") : source
  }

  /// A view and a provider by their numbers.
  static let pairs = subjects.indices.flatMap { subject in names.indices.map { (subject, $0) } }

  /// A third of the pairs, with the roads in turn; with `TABELLA_ALL_ROADS`, all pairs on all roads.
  @Test(arguments: sample(22, of: pairs))
  func ofEveryProvider(_ subject: Int, _ view: Int) {
    let host = TabellaHost.Host()
    for road in turn(subject + view, of: Road.allCases) {
      expectConformance { () throws(TableError) in
        try Self.open(Self.subjects[subject], by: road, host, [Self.names[view]])
      }
    }
  }

  /// Every 36th pair of each provider, with the roads in turn; with `TABELLA_ALL_ROADS`, all pairs on all roads.
  @Test(arguments: subjects.indices, names.indices)
  func ofViewsOfEveryProvider(_ subject: Int, _ inner: Int) {
    let host = TabellaHost.Host()
    for outer in Self.names.indices where isTurn(subject + inner + outer, ofEvery: 36) {
      for road in turn(outer, of: Road.allCases) {
        expectConformance { () throws(TableError) in
          try Self.open(
            Self.subjects[subject], by: road, host, [Self.names[inner], Self.names[outer]])
        }
      }
    }
  }

  /// An unknown provider in C: views of it in a worker, and pairs of views in the process. A third of the views and
  /// every 24th pair, or with `TABELLA_ALL_ROADS` all.
  @Test func ofTheProviderInC() throws {
    let folder = try TemporaryFolder()
    let example = packageFolder + "/Examples/provider-c/planets"
    _ = try compileLibrary(example + ".c", into: folder, name: "planets.so")
    try folder.write(
      "planets.tabella.json", String(contentsOfFile: example + ".tabella.json", encoding: .utf8))
    let host = TabellaHost.Host(searchPath: SearchPath([folder.path]))
    for view in sample(5, of: Self.names) {
      expectConformance { () throws(TableError) in
        try Self.wrap(view, host.open("planets:").source)
      }
    }
    host.isolation = .never
    for outer in Self.names.indices {
      for inner in Self.names.indices where isTurn(outer + inner, ofEvery: 24) {
        let names = (outer: Self.names[outer], inner: Self.names[inner])
        expectConformance { () throws(TableError) in
          try Self.wrap(names.outer, Self.wrap(names.inner, host.open("planets:").source))
        }
        expectConformance { () throws(TableError) in
          try importSource(
            exportSource(
              Self.wrap(names.outer, Self.wrap(names.inner, host.open("planets:").source))),
            provider: "view")
        }
      }
    }
  }
}
