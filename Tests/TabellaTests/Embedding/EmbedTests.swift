import CTabella
import CTabellaEmbed
import Foundation
import Synchronization
import Tabella
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// libtabella, called as a program in C calls it.
@Suite struct EmbedTests {
  let folder: TemporaryFolder
  let host: EmbedHost
  static let sales =
    "city,amount,date\nRome,10,2024-01-02\nOslo,20,2024-01-03\nRome,30,2024-02-01\n,5,\n"

  init() throws {
    folder = try TemporaryFolder()
    host = try EmbedHost(receipts: folder.path + "/receipts")
  }

  private func sales() throws -> String { try folder.write("sales.csv", EmbedTests.sales) }

  private func texts(_ table: EmbedTable, section: Int = 0) throws -> [String] {
    try readAll(table.source(), section: section).map { row in
      row.map { $0 == .missing ? "-" : $0.description }.joined(separator: ",")
    }
  }

  // The library

  /// A program sees only the functions of the header, and the library is never unmapped.
  @Test(.needs("nm"), .needs("readelf")) func onlyTheHeadersFunctionsAreVisible() throws {
    let symbols = try run(findProgram("nm"), ["-D", "--defined-only", EmbedLibrary.path])
    let names = symbols.lines.compactMap { $0.split(separator: " ").last.map(String.init) }
    let header = try String(
      contentsOfFile: packageFolder + "/Sources/CTabellaEmbed/include/tabella_embed.h",
      encoding: .utf8)
    let declared = header.matches(of: /\b(tabella_embed_\w+)\(/).map { String($0.1) }
    #expect(Set(names) == Set(declared) && names.count == 20)
    let dynamic = try run(findProgram("readelf"), ["-d", EmbedLibrary.path]).text
    #expect(dynamic.contains("Library soname: [libtabella.so.0]"))
    #expect(dynamic.contains("NODELETE"))
  }

  @Test func theVersionIsThatOfTheProgram() throws {
    let program = try run(buildFolder + "/tabella", ["--version"])
    #expect("tabella \(String(EmbedLibrary.shared.version()))\n" == program.text)
  }

  // Reading

  /// The rows and columns are those of the host in Swift.
  @Test func rowsAreThoseOfTheHost() throws {
    let readme = packageFolder + "/README.md"
    for location in [try sales(), readme, packageFolder + "/Examples", "csv:" + (try sales())] {
      let table = try host.open(location, flags: 0)
      let own = try TabellaHost.Host(searchPath: SearchPath([buildFolder])).open(
        Location(location))
      let source = try table.source()
      #expect(table.provider == own.manifest.id && source.columns == own.source.columns)
      #expect(try readAll(source) == readAll(own.source), "\(location)")
      #expect(try table.stream().all().rows == EmbedTests.streamed(own.source), "\(location)")
    }
  }

  /// The rows of a source as a stream delivers them.
  private static func streamed(_ source: any TableDataSource) throws -> [[Cell]] {
    let usual = source.columns.usualNumbers
    return try readAll(source, asValues: true).map { row in
      usual.map { column in
        guard case .date(let date) = row[column] else { return row[column] }
        let microseconds = Int64((Double(date.nanoseconds) / 1000).rounded(.down))
        let exact = date.nanoseconds / 1000 * 1000
        return .date(
          Timestamp(nanoseconds: date.nanoseconds < 0 ? microseconds * 1000 : exact))
      }
    }
  }

  @Test func tablesAreShapedSummarizedAndJoined() throws {
    let table = try host.open(try sales())
    let shaped = try table.shaped(
      filters: ["amount > 5", "date >= 2024-01-03"], sectionBy: "city", sort: "amount:desc",
      sectionsBy: "sum amount")
    #expect(try texts(shaped) == ["Oslo,20,2024-01-03"])
    #expect(try texts(shaped, section: 1) == ["Rome,30,2024-02-01"])
    #expect(try texts(table.shaped(search: "oslo")) == ["Oslo,20,2024-01-03"])
    let sums = try table.summarize(by: "city", compute: "rows, sum amount")
    #expect(try texts(sums) == [",1,5", "Oslo,1,20", "Rome,2,40"])
    #expect(try texts(table.summarize()) == ["4"] && sums.provider == "summary")
    // The texts of programs in C have the same columns as values, percentiles and stars.
    #expect(try texts(table.shaped(filters: ["amount < {amount}"])) == [])
    #expect(
      try texts(table.shaped(filters: ["city = {city}"], search: "oslo").shaped(search: "2024"))
        .count == 1)
    #expect(try texts(table.summarize(compute: "p50 amount, empty *")) == ["10,1,0,1"])
    let joined = try host.join([table, shaped])
    #expect(joined.provider == "joined")
    #expect(try texts(joined) == texts(table))
    #expect(try texts(joined, section: 2) == ["Rome,30,2024-02-01"])
  }

  /// The tables of the log and of the providers.
  @Test func providersAreListed() throws {
    let providers = try host.providers()
    let ids = try texts(providers).map { $0.split(separator: ",")[0] }
    #expect(ids.prefix(4) == ["csv", "directory", "processes", "text"])
    #expect(
      try texts(providers).allSatisfy { $0.hasSuffix(",-") } && providers.provider == "tabella")
    let empty = try EmbedHost(providers: folder.path)
    let refused = try texts(empty.providers())
    #expect(refused.count == 4 && refused[0].hasPrefix("csv,"))
    #expect(refused[0].contains("the library of the shipped provider csv is not in \(folder.path)"))
  }

  // Errors

  /// An empty string was an error in a list of filters, and the same as none elsewhere.
  @Test func emptyStringsAreAbsent() throws {
    let path = try sales()
    let table = try host.open(path, provider: "", flags: 0)
    let view = try table.shaped(
      filters: ["", "city = Rome"], search: "", sectionBy: "", sort: "", sectionsBy: "")
    #expect(try texts(view) == ["Rome,10,2024-01-02", "Rome,30,2024-02-01"])
    #expect(try texts(table.summarize(by: "", compute: "")) == ["4"])
    _ = try host.open(path).set(0, 1, "11")
    #expect(try texts(host.log("")).count == 1)
    #expect(try EmbedHost(receipts: "", providers: "", worker: "").open(path).provider == "csv")
  }

  /// A message about an empty location began with ": ".
  @Test func noMessageBeginsWithAnEmptySubject() throws {
    for call in [{ _ = try host.open("") }, { _ = try host.undo("") }] as [() throws -> Void] {
      let error = try embedError(call)
      #expect(error.code == TABELLA_INVALID_ARGUMENT && error.message == "the location is empty")
    }
    let command = try run(buildFolder + "/tabella", ["show", ""])
    #expect(command.errors == "tabella: the location is empty\n", "\(command.errors)")
    let filter = try run(buildFolder + "/tabella", ["show", try sales(), "--filter", ""])
    #expect(filter.errors.hasPrefix("tabella: show: a condition must be COLUMN OP VALUE"))
  }

  /// Text in a column that is summed was an error of reading.
  @Test func textThatIsNoNumberIsWrongData() throws {
    let error = try embedError { _ = try host.open(try sales()).summarize(compute: "sum city") }
    #expect(error.code == TABELLA_EMBED_WRONG_DATA && error.row == 0 && error.column == 0)
    #expect(error.message.contains("no sum of city: \"Rome\" is not a number"), "\(error)")
  }

  /// Arguments that make no sense are errors, with a message that names the location.
  @Test func senselessArgumentsAreErrors() throws {
    let path = try sales()
    let table = try host.open(path, flags: 0)
    func code(_ body: () throws -> Void) throws -> Int32 { try embedError(body).code }
    let invalid = TABELLA_INVALID_ARGUMENT
    #expect(try code { _ = try EmbedHost(receipts: "relative") } == invalid)
    #expect(try code { _ = try EmbedHost(isolation: 7) } == invalid)
    #expect(try code { _ = try EmbedHost(flags: 2) } == invalid)
    #expect(try code { _ = try host.open("") } == invalid)
    #expect(try code { _ = try host.open(path, options: ["no-such": "1"]) } == invalid)
    #expect(try code { _ = try host.open(path, options: ["": "1"]) } == invalid)
    #expect(try code { _ = try host.open(path, flags: 8) } == invalid)
    #expect(try code { _ = try host.join([]) } == invalid)
    // A change of the table reached only one of its places, and the other one showed wrong rows.
    #expect(try code { _ = try host.join([table, table]) } == invalid)
    #expect(try code { _ = try host.join([table, EmbedHost().open(path)]) } == invalid)
    // The length of an id was said to break the contract, as if a provider had chosen it.
    let editable = try host.open(path)
    var edit = tabella_edit()
    edit.kind = TABELLA_EDIT_SET
    try [UInt8](repeating: 65, count: 4).withUnsafeBytes { (bytes) throws -> Void in
      edit.id = tabella_string(
        bytes: bytes.baseAddress!.assumingMemoryBound(to: CChar.self), length: -3)
      #expect(try code { _ = try editable.commit([edit]) } == invalid)
    }
    #expect(try code { _ = try table.shaped(filters: ["nothing"]) } == invalid)
    #expect(try code { _ = try table.shaped(sort: "none:desc") } == invalid)
    #expect(try code { _ = try table.shaped(flags: 2) } == invalid)
    #expect(try code { _ = try table.summarize(compute: "total amount") } == invalid)
    let requests: [tabella_embed_stream_request] = [
      .init { $0.section = -2 }, .init { $0.first = -1 }, .init { $0.count = -2 },
      .init { $0.rows_per_batch = 65537 }, .init { $0.column_count = -1 },
      .init { $0.column_count = 1 }, .init(16), .init(3),
    ]
    for request in requests { #expect(try code { _ = try table.stream(request) } == invalid) }
    let columns: [Int64] = [0, 9, 0, 0]
    for start in [0, 2] {
      let found = try columns.withUnsafeBufferPointer { columns in
        let request = tabella_embed_stream_request {
          ($0.columns, $0.column_count) = (columns.baseAddress! + start, 2)
        }
        return try code { _ = try table.stream(request) }
      }
      #expect(found == invalid)
    }
    #expect(
      try code { _ = try table.stream(.init { $0.section = 1 }) } == TABELLA_NOT_FOUND)
    let absent = try embedError { _ = try host.open(folder.path + "/none.csv") }
    #expect(absent.code == TABELLA_NOT_FOUND)
    #expect(absent.message.hasPrefix("\(folder.path)/none.csv: "))
    #expect(try code { _ = try host.undo(path) } == TABELLA_NOT_FOUND)
    #expect(try code { _ = try host.undo("receipt:x") } == invalid)
    #expect(
      try code { _ = try host.undo("receipt:20261121T150733.000000Z-1f3a9c") }
        == TABELLA_NOT_FOUND)
    let unknown = try embedError { _ = try host.open(path, provider: "none") }
    #expect(unknown.code == TABELLA_EMBED_NO_PROVIDER)
    EmbedLibrary.shared.releaseHost(nil)
    EmbedLibrary.shared.releaseTable(nil)
    EmbedLibrary.shared.releaseFollower(nil)
  }

  /// A foreign provider runs in a worker. Its crash is an error of the call.
  @Test func aCrashingProviderIsAnError() throws {
    let planets = packageFolder + "/Examples/provider-c/planets"
    var code = try String(contentsOfFile: planets + ".c", encoding: .utf8)
    let rows = try #require(code.range(of: "static int32_t rows("))
    let body = try #require(code.range(of: "{", range: rows.upperBound..<code.endIndex))
    code.insert(contentsOf: " __builtin_trap();", at: body.upperBound)
    _ = try compileLibrary(
      folder.write("planets.c", code), into: folder, name: "planets.so",
      flags: ["-Wno-unused-function"])
    try FileManager.default.copyItem(
      atPath: planets + ".tabella.json", toPath: folder.path + "/planets.tabella.json")
    let host = try EmbedHost(providers: folder.path)
    let table = try host.open("planets:", flags: 0)
    let stream = try table.stream()
    do {
      _ = try stream.next()
      Issue.record("a crash was not reported")
    } catch let failed as EmbedStream.Failed {
      #expect(failed.number == EIO && failed.message.hasPrefix("planets:: "), "\(failed)")
      #expect(failed.message.contains("SIGILL") || failed.message.contains("SIGTRAP"), "\(failed)")
    }
    // Every later call says so, too, and this process goes on.
    #expect(throws: (any Error).self) { try readAll(table.source()) }
    #expect(try EmbedHost().open(try sales()).stream().all().rows.count == 4)
  }

  // Edits

  @Test func anEditIsListedAndUndone() throws {
    let path = try sales()
    let table = try host.open(path)
    let dry = try table.set(0, 1, "11", flags: TABELLA_EDITS_DRY_RUN)
    #expect(dry.receipt == nil && dry.codes == [0])
    let edit = try table.set(0, 1, "11", version: try table.source().version()?.token)
    let receipt = try #require(edit.receipt)
    #expect(try texts(table)[0] == "Rome,11,2024-01-02")
    let log = try texts(host.log(path))
    #expect(log.count == 1 && log[0].hasPrefix(receipt))
    #expect(log[0].hasSuffix("csv,changed 1 row (amount): Rome,true,false"))
    // The program reads the same receipts, and undoes the edit.
    let state = folder.path + "/state"
    try FileManager.default.createDirectory(
      atPath: state + "/tabella", withIntermediateDirectories: true)
    #expect(rename(folder.path + "/receipts", state + "/tabella/receipts") == 0)
    let program = try run(
      buildFolder + "/tabella", ["undo", "receipt:\(receipt)"],
      environment: ["XDG_STATE_HOME": state])
    #expect(program.status == 0, "\(program.errors)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == EmbedTests.sales)
    let other = try EmbedHost(receipts: state + "/tabella/receipts")
    #expect(try texts(other.log()).count == 2)
    #expect(try embedError { _ = try other.undo(path) }.code == TABELLA_NOT_FOUND)
    let again = try host.open(path)
    let second = try again.shaped(filters: ["city = Oslo"]).set(0, 1, "21")
    #expect(try host.undo(path, isDryRun: true).receipt == nil)
    #expect(try host.undo("receipt:\(second.receipt ?? "")").codes == [0])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == EmbedTests.sales)
  }

  /// The log has ids of receipts, which `undo` took only after "receipt:".
  @Test func undoTakesTheIDsOfTheLog() throws {
    let path = try sales()
    let edit = try host.open(path).set(0, 1, "11")
    let id = try #require(try texts(host.log(path))[0].split(separator: ",").first.map(String.init))
    #expect(id == edit.receipt)
    _ = try host.undo(id)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == EmbedTests.sales)
  }

  @Test func conflictsAndRefusalsAreErrors() throws {
    let path = try sales()
    let readOnly = try host.open(path, flags: 0)
    #expect(try embedError { _ = try readOnly.set(0, 1, "x") }.code == TABELLA_READ_ONLY)
    #expect(try readOnly.source().editing == nil && readOnly.source().undoing == nil)
    let table = try host.open(path)
    #expect(
      try embedError { _ = try table.set(0, 1, "x", version: "old") }.code == TABELLA_CONFLICT)
    #expect(try embedError { _ = try table.set(99, 1, "x") }.code == TABELLA_NOT_FOUND)
    let summary = try table.summarize()
    #expect(try embedError { _ = try summary.set(0, 0, "x") }.code == TABELLA_READ_ONLY)
    // Another program changes the file.
    try folder.write("sales.csv", "city,amount,date\nBonn,1,\n")
    let late = try embedError { _ = try table.set(0, 1, "x") }
    #expect(late.code == TABELLA_CONFLICT && late.message.hasPrefix(path))
    // The provider refuses a row.
    let ledgers = try Ledgers()
    let ledger = try EmbedHost(
      receipts: folder.path + "/ledger", providers: ledgers.folder.path)
    let refusing = try ledger.open(ledgers.file, options: ["refuse": "Ada", "code": "7"])
    #expect(try refusing.set(0, 0, "Eve").codes == [TABELLA_CONSTRAINT])
    let failing = try ledger.open(ledgers.file, options: ["fails": "7"])
    let refused = try embedError { _ = try failing.set(0, 0, "Eve") }
    #expect(refused.code == TABELLA_CONSTRAINT, "\(refused)")
    #expect(try texts(failing)[0] == "Ada,1")
  }

  /// After an edit through one table, the others of the same source answer with a conflict, and their streams end.
  @Test func tablesOfOneSourceDoNotMixVersions() throws {
    let path = try folder.write("a.csv", "n\n" + (0..<20).map { "\($0)\n" }.joined())
    let table = try host.open(path)
    let view = try table.shaped(filters: ["n > 3"])
    let joined = try host.join([table, view])
    let source = try view.source()
    let small = tabella_embed_stream_request { $0.rows_per_batch = 5 }
    let streams = try [table, view, joined].map { try $0.stream(small) }
    for stream in streams { #expect(try stream.next()?.count == 5) }
    let follower = try view.follow()
    _ = try table.set(19, 0, "x")
    for stream in streams {
      let failed = #expect(throws: EmbedStream.Failed.self) { try stream.next() }
      #expect(failed?.number == EIO && failed?.message.contains("edited or pulled") == true)
      // The error stays.
      #expect(throws: EmbedStream.Failed.self) { try stream.next() }
    }
    #expect(try texts(table).last == "x")
    for other in [view, joined] {
      #expect(try embedError { _ = try other.stream() }.code == TABELLA_CONFLICT)
      // There is a source, which a pull makes current. Until then its calls fail.
      #expect(throws: TableError.self) { _ = try other.source() }
      #expect(try embedError { _ = try other.set(0, 0, "y") }.code != 0)
    }
    #expect(throws: TableError.self) { try readAll(source) }
    // A pull lists the edit, and the view can be used again.
    #expect(try follower.pull() == ["delete 0:15"])
    #expect(try readAll(source).count == 15 && texts(view).count == 15)
    #expect(try follower.pull() == [])
    // The pull of a table that shows the newest version does not disturb the others.
    #expect(try texts(table).count == 20)
    // A commit to an exported source counts, too.
    let exported = try table.source()
    let commit = EditBatch([.set(.path(Tabella.IndexPath(section: 0, row: 19)), cells: [0: "100"])])
    _ = try exported.editing?.commit(commit)
    #expect(try embedError { _ = try view.stream() }.code == TABELLA_CONFLICT)
    #expect(try follower.pull() == ["insert 0:15"])
  }

  // Changes

  @Test func changesAreListedAndAnnounced() throws {
    let file = try ForeignFile(folder.path + "/live.csv", "n\n1\n2\n")
    let table = try host.open(file.path, flags: 0)
    let view = try table.shaped(filters: ["n > 1"])
    let (whole, part) = (try table.follow(), try view.follow())
    final class Calls: Sendable {
      let count = Atomic(0)
      func waitForMore(than old: Int) -> Bool {
        for _ in 0..<2000 where count.load(ordering: .acquiring) <= old { usleep(5000) }
        return count.load(ordering: .acquiring) > old
      }
    }
    let calls = [Calls(), Calls()]
    let notify: tabella_notify = { context in
      _ = Unmanaged<Calls>.fromOpaque(context!).takeUnretainedValue().count.add(
        1, ordering: .acquiringAndReleasing)
    }
    // Both followers of one source are told.
    for (follower, calls) in zip([whole, part], calls) {
      try follower.listen(notify, Unmanaged.passUnretained(calls).toOpaque())
    }
    let before = calls.map { $0.count.load(ordering: .acquiring) }
    file.append("3\n")
    for (calls, before) in zip(calls, before) { #expect(calls.waitForMore(than: before)) }
    #expect(try whole.pull() == ["insert 0:2"])
    #expect(try part.pull() == ["insert 0:1"])
    #expect(try texts(view) == ["2", "3"])
    // A removed listener is not called any more, and the other one still is.
    try whole.listen(nil)
    let still = calls.map { $0.count.load(ordering: .acquiring) }
    file.append("4\n")
    #expect(calls[1].waitForMore(than: still[1]))
    #expect(calls[0].count.load(ordering: .acquiring) == still[0])
    #expect(try part.pull() == ["insert 0:2"] && whole.pull() == ["insert 0:3"])
    let sums = try table.summarize(compute: "sum n")
    let follower = try sums.follow()
    file.append("5\n")
    #expect(try follower.pull() == ["reconfigure 0:0"] || texts(sums) == ["15"])
    let fixed = try host.log()
    #expect(try embedError { _ = try fixed.follow() }.code == TABELLA_NOT_SUPPORTED)
    for table in [fixed, sums, try host.providers()] {
      let ids = tabella_embed_stream_request(TABELLA_EMBED_WITH_ID)
      #expect(try embedError { _ = try table.stream(ids) }.code == TABELLA_NOT_SUPPORTED)
    }
  }

  /// The id of a row in a file contains its offset. So an edit that changes a length is a reload of all later rows.
  @Test func anEditThatChangesALengthReloadsLaterRows() throws {
    let table = try host.open(try folder.write("a.csv", "n\n1\n2\n3\n"))
    let follower = try table.follow()
    _ = try table.set(1, 0, "7")
    #expect(try follower.pull() == ["reload 0:1"])
    _ = try table.set(1, 0, "70")
    #expect(try follower.pull() == ["reload 0:1", "reload 0:2"])
  }
}
