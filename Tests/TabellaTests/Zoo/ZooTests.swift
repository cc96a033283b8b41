import Foundation
import Tabella
import TabellaBridge
import TabellaConformance
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// Some animals of Tests/Zoo in a program that embeds the host. The program gets an error, continues, and serves the
/// next provider. `Tests/Zoo/run` runs all of them, each with a command; `make zoo` runs them with this suite, too.
@Suite(.serialized) struct ZooTests {
  /// A deed of a source in Tests/Zoo/Animals at a moment, and the expected message.
  struct Deed: CustomStringConvertible, Sendable {
    var source: String
    var name: String
    var moment: String
    var says: String

    init(_ source: String, _ name: String, _ moment: String, _ says: String) {
      (self.source, self.name, self.moment, self.says) = (source, name, moment, says)
    }

    var description: String { "\(name) in \(moment)" }

    func compile(into folder: TemporaryFolder) throws -> String {
      try compileAnimal(
        "\(source).c", into: folder, id: "animal",
        flags: ["-DDEED=\(name)", "-DMOMENT=\(moment)"])
    }
  }

  let folder: TemporaryFolder
  let host: TabellaHost.Host

  init() throws {
    folder = try TemporaryFolder()
    _ = try compileAnimal("good.c", into: folder, id: "good")
    host = Host(searchPath: SearchPath([folder.path]))
  }

  // The good animal

  @Test func theGoodOneKeepsTheLaws() {
    let (folder, host) = (folder, host)
    let scratch: ConformanceSuite.Scratch = { () throws in
      let file = try folder.write(UUID().uuidString, "")
      return { () throws(TableError) in try host.open(Location("good:\(file)")).source }
    }
    expectConformance(scratch: scratch) { () throws(TableError) in try host.open("good:").source }
  }

  /// Added providers are never loaded into this process, except on request.
  @Test func theGoodOneIsNotLoadedHere() throws {
    try expectGoodRows()
    // Other tests read a good.so in other folders at the same time.
    let name = (folder.path as NSString).lastPathComponent
    #expect(!(try isMapped("\(name)/good.so")))
    #expect(try host.open("good:").worker != nil)
    let file = try folder.write("t.csv", "a\n1\n")
    #expect(try Host().open(Location(file)).worker == nil)
  }

  // The bad animals

  @Test(arguments: [
    Deed("crash", "writes_to_null", "rows", "SIGSEGV"), Deed("crash", "leaves_0", "open", "0"),
    Deed("crash", "aborts", "constructor", "SIGABRT"),
    Deed("crash", "recurses", "schema", "SIGSEGV"),
    Deed("crash", "exits_from_a_thread", "count", "ended"),
    Deed("meddler", "closes_everything", "open", "ended"),
    Deed("wire", "sends_ones", "rows", "token"),
    Deed("wire", "sends_nothing", "open", "closed its connection"),
    Deed("wire", "shuts_down", "version", "in version"),
  ])
  func theNextIsServed(_ deed: Deed) throws {
    _ = try deed.compile(into: folder)
    let host = Host(searchPath: SearchPath([folder.path]))
    let error = try #require(failure { try readRows(host.open("animal:").source) })
    #expect(error.code == .misbehaved, "\(error)")
    #expect(error.message.contains(deed.says) && error.message.contains("animal"), "\(error)")
    try expectGoodRows(host)
    #expect(!(try isMapped("animal.so")))
  }

  /// The harness catches the animal in docs/zoo.md.
  @Test func theAnimalShownIsCaught() throws {
    let shown = DocumentationTests.blocks("c", in: try DocumentationTests.text("docs/zoo.md"))
    #expect(shown.count == 1)
    let source = try folder.write("animal.c", shown[0] + "\n")
    _ = try compileAnimal(source, into: folder, id: "animal")
    let host = Host(searchPath: SearchPath([folder.path]))
    let error = try #require(failure { try readRows(host.open("animal:").source) })
    #expect(error.code == .misbehaved && error.message.contains("-1"), "\(error)")
    try expectGoodRows(host)
  }

  /// The limits of a command; the tests below use shorter ones.
  @Test func theLimitsAreThose() {
    #expect(host.limits.silence == 10 && host.limits.total == 15 * 60)
  }

  /// The limit of duration ends an animal that is never silent, and the limit of silence a silent one.
  @Test(
    arguments: sample(
      3,
      of: [
        Deed("hang", "sleeps_deaf", "rows", "silent"),
        Deed("hang", "loops_with_children", "open", "silent"),
        Deed("noise", "prints_for_ever_and_never_comes_back", "rows", "more than"),
        Deed("hang", "runs_away_and_loops", "count", "silent"),
        Deed("wire", "floods_aside_and_never_comes_back", "rows", "more than"),
        Deed("noise", "logs_for_ever", "rows", "more than"),
      ]))
  func whatDoesNotComeBackIsEnded(_ deed: Deed) throws {
    _ = try deed.compile(into: folder)
    let host = Host(searchPath: SearchPath([folder.path]))
    host.limits.silence = 0.3
    host.limits.total = 1
    host.limits.grace = 0.1
    let began = Date()
    let error = try #require(failure { try readRows(host.open("animal:").source) })
    #expect([.timeout, .misbehaved].contains(error.code), "\(error)")
    #expect(error.message.contains(deed.says), "\(error)")
    #expect(Date().timeIntervalSince(began) < 8)
    try expectGoodRows(host)
  }

  /// The limit is the worker's: only the worker ends.
  @Test func memoryHasALimit() throws {
    _ = try Deed("eater", "eats_memory", "rows", "").compile(into: folder)
    let host = Host(searchPath: SearchPath([folder.path]))
    host.limits.memory = 1 << 30
    host.limits.silence = 60
    let error = try #require(failure { try readRows(host.open("animal:").source) })
    #expect(error.code == .misbehaved, "\(error)")
    try expectGoodRows(host)
  }

  /// All animals that `Tests/Zoo/run --house` has put into a folder, in one process.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["TABELLA_ZOO"] != nil,
      "only `make zoo` names a folder of animals"))
  func oneHostMeetsAllOfThem() throws {
    let zoo = try #require(ProcessInfo.processInfo.environment["TABELLA_ZOO"])
    let list = try String(contentsOfFile: "\(zoo)/animals.tsv", encoding: .utf8)
    let animals = list.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    let host = Host(searchPath: SearchPath(animals.map { "\(zoo)/\($0[0])" } + [folder.path]))
    host.limits.silence = 1
    host.limits.total = 4
    host.limits.grace = 0.1
    host.limits.memory = 2 << 30
    try expectGoodRows(host)
    let (files, memory) = (openFiles(), peakMemory())
    for (number, animal) in animals.enumerated() {
      let location = "\(animal[0]):\(animal.count > 1 ? animal[1] : "")"
      // The tests with commands check the errors; here the host must survive.
      _ = failure { try readRows(host.open(Location(location)).source) }
      try expectGoodRows(host, after: location)
      #expect(openFiles() <= files, "descriptors stay open after \(location)")
      if number % 50 == 0 { print("\(number) of \(animals.count), \(peakMemory()) MB") }
    }
    #expect(try !isMapped(zoo))
    print("\(animals.count) animals; memory grew from \(memory) to \(peakMemory()) MB")
  }

  // Helpers

  private func expectGoodRows(_ other: TabellaHost.Host? = nil, after animal: String = "") throws {
    let source = try (other ?? host).open("good:").source
    let rows = try readRows(source)
    #expect(rows.count == 300 && rows.first?.first == .text("ant 0"), "after \(animal)")
  }

  private func failure(_ body: () throws -> Void) -> TableError? {
    do { try body() } catch { return error as? TableError }
    return nil
  }

  /// Reads several hundred rows of the first sections of any provider.
  @discardableResult
  private func readRows(_ source: any TableDataSource) throws -> [[Cell]] {
    _ = try source.version()
    var rows: [[Cell]] = []
    for section in 0..<min(3, try source.numberOfSections(knowing: 3).value) {
      let count = min(300, try source.numberOfRows(inSection: section, knowing: 300).value)
      var first = 0
      while first < count {
        let batch = try source.rows(
          RowRequest(
            section: section, first: first, count: count - first,
            columns: Array(source.columns.indices.prefix(3))))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount { rows.append(batch.row(row)) }
        first += batch.rowCount
      }
    }
    return rows
  }
}

/// Compiles an animal, by the name of its source or by a path, with a manifest next to it. Its id is its scheme.
func compileAnimal(
  _ source: String, into folder: TemporaryFolder, id: String, flags: [String] = []
) throws -> String {
  try folder.write(
    "\(id).tabella.json",
    """
    {"id":"\(id)","version":"1","contract":"\(contractVersionName)","library":"\(id).so","schemes":["\(id)"]}
    """)
  return try compileLibrary(
    source.hasPrefix("/") ? source : "\(packageFolder)/Tests/Zoo/Animals/\(source)",
    into: folder, name: "\(id).so",
    flags: [
      "-std=gnu11", "-D_GNU_SOURCE", "-O0", "-Wno-infinite-recursion",
      "-I\(packageFolder)/Tests/Zoo",
      "-DZOO_ID=\"\(id)\"", "-pthread", "-lm",
    ] + flags)
}

/// The number of descriptors of this process.
private func openFiles() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}

/// The peak of memory of this process in MB.
private func peakMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
}

/// Whether a file with this text in its path is mapped into this process.
private func isMapped(_ part: String) throws -> Bool {
  try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).contains(part)
}
