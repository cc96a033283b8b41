import Tabella
import TabellaBridge
import TabellaHost
import TabellaProviders
import TabellaSDK
import Testing

@testable import TabellaTestSupport

/// Providers that are linked into the program open what their libraries open.
@Suite struct LinkedProviderTests {
  private let linked = TabellaHost.Host(searchPath: SearchPath([]), linked: .shipped)
  private let loaded = TabellaHost.Host(searchPath: SearchPath([buildFolder]))

  @Test(arguments: ["people.csv", ".", "text:people.csv"])
  func linkedProvidersOpenTheSame(_ name: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("people.csv", "name,born\nAda,1815\nGrace,1906\n")
    let parts = name.split(separator: ":")
    let path = "\(folder.path)/\(parts.last ?? "")"
    let location = Location(parts.count > 1 ? "\(parts[0]):\(path)" : path)
    let (one, other) = (try linked.open(location), try loaded.open(location))
    #expect(one.manifest == other.manifest && one.worker == nil)
    #expect(one.columns == other.columns)
    #expect(try NaiveTable(of: one.source) == NaiveTable(of: other.source))
    #expect(AbilitySet(of: one.source) == AbilitySet(of: other.source))
  }

  @Test func processesAreShown() throws {
    #expect(try linked.open("processes:").rows().last() != nil)
    let entries = linked.catalogue.entries
    #expect(entries.map(\.manifest.id) == loaded.catalogue.entries.map(\.manifest.id))
    #expect(entries.allSatisfy { $0.isLinked && $0.isShipped && $0.library.hasPrefix("/") })
  }

  /// A linked provider cannot run in a worker, and the error says so.
  @Test func linkedProvidersHaveNoWorker() throws {
    linked.isolation = .always
    let error = #expect(throws: TableError.self) { try linked.open("processes:") }
    #expect(error?.code == .notSupported && error?.message.contains("linked") == true)
    linked.isolation = .never
    #expect(try linked.open("processes:").worker == nil)
  }

  /// With libraries of the same ids on the search path, the linked providers open the tables.
  @Test func aLinkedProviderComesFirst() throws {
    let both = TabellaHost.Host(searchPath: SearchPath([buildFolder]), linked: .shipped)
    let entries = both.catalogue.entries
    #expect(entries.map(\.manifest.id) == linked.catalogue.entries.map(\.manifest.id))
    #expect(entries.allSatisfy(\.isLinked) && loaded.catalogue.entries.allSatisfy { !$0.isLinked })
  }

  private struct Numbers: Provider {
    static let id = "numbers"
    static let version = "1"

    func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
      InMemorySource([Column("n", .integer)], rows: [[1], [2]])
    }
  }

  private static func manifest(id: String = "numbers", contract: String? = nil) -> [UInt8] {
    Array(
      """
      {"id": "\(id)", "version": "1", "contract": "\(contract ?? contractVersionName)",
       "library": "none.so", "summary": "numbers", "schemes": ["numbers"]}
      """.utf8)
  }

  /// A program links a provider of its own, which runs in its process.
  @Test func ownProvidersAreLinked() throws {
    let host = TabellaHost.Host(
      searchPath: SearchPath([]),
      linked: .shipped + [LinkedProvider(Numbers.self, manifest: Self.manifest())])
    let table = try host.open("numbers:")
    #expect(try table.decode(Int.self) == [1, 2] && table.worker == nil)
    #expect(host.catalogue.entries.last?.isShipped == false)
  }

  @Test(arguments: [
    ("0.0", "numbers", "contract 0.0"), (nil, "other", "the manifest says other"),
  ])
  func wrongManifestsAreRefused(_ contract: String?, _ id: String, _ message: String) throws {
    let host = TabellaHost.Host(
      searchPath: SearchPath([]),
      linked: [
        LinkedProvider(Numbers.self, manifest: Self.manifest(id: id, contract: contract))
      ])
    let error = #expect(throws: TableError.self) { try host.open("numbers:") }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}

extension RowCursor {
  /// Reads to the end.
  fileprivate func last() throws -> TableRow? {
    var (copy, last) = (self, TableRow?.none)
    while let row = try copy.next() { last = row }
    return last
  }
}
