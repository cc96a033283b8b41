import Foundation
import Synchronization
import Tabella
import TabellaConformance
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// The trace has one line per call, contains no cell data, and has no other effect.
@Suite struct TraceTests {
  /// The lines of a trace.
  final class Lines: Sendable {
    private let text = Mutex("")

    var trace: Trace { Trace { [self] text in self.text.withLock { $0 += text } } }
    var all: [String] { text.withLock { $0.split(separator: "\n").map(String.init) } }
    var whole: String { text.withLock { $0 } }
  }

  private func traced(_ source: any TableDataSource, _ lines: Lines) -> any TableDataSource {
    let trace = lines.trace
    return TracedSource(source, provider: "test", trace, number: trace.numberTable())
  }

  /// A traced source behaves in the same way.
  @Test(arguments: [1, 2] as [UInt64])
  func keepsTheLaws(_ seed: UInt64) {
    let lines = Lines()
    for table in [Tables.everything, Tables.plain, Tables.empty] {
      expectConformance(seed: seed, isOwn: true) { traced(table(), lines) }
    }
    #expect(lines.all.count > 1000)
  }

  /// A traced source has exactly the abilities of its base.
  @Test func abilitiesAreTheBases() {
    let lines = Lines()
    final class Bare: TableDataSource {
      let columns = [Column("a")]
      func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
      func rows(_ request: RowRequest) -> Batch { .empty([]) }
    }
    #expect(traced(Bare(), lines).traced == "1 columns (a text); no abilities")
    let base = Tables.everything()
    #expect(traced(base, lines).traced == base.traced)
    #expect(
      base.traced.contains("sections index ids gather edit edit-sections move undo supplementary"))
  }

  @Test func aLineACall() throws {
    let lines = Lines()
    let base = Tables.everything()
    let source = traced(base, lines)
    let before = try #require(base.version())
    _ = try source.rows(RowRequest(first: 3, count: 5, columns: [0, 2], includesIDs: true))
    _ = try? source.numberOfRows(inSection: 9, knowing: 0)
    _ = try source.numberOfRows(inSection: 0, knowing: .max)
    _ = try source.editing?.commit(
      EditBatch([
        .set(.path(IndexPath(section: 0, row: 2)), cells: [0: "x"]), .delete(.id("r5")),
        .move(.path(IndexPath(section: 0, row: 9)), to: IndexPath(section: 0, row: 0)),
      ]))
    let after = try #require(base.version())
    _ = try source.supplementary?.supplementaryElement(ofKind: "preview", at: .section(0))
    source.cancellation?()
    let expected = [
      "trace of process \(getpid()), contract 0.9, Linux",
      "test#1 rows 0:3 up to 5, columns 0 2, with ids -> 5 rows × 2 columns and ids, ",
      "test#1 row_count 9 as known -> not-found: there is no section 9  (",
      "test#1 row_count 0 exactly -> 70  (",
      "test#1 editing.commit: set 0:2 columns 0, delete an id of 2 bytes, move 0:9 to 0:0 -> "
        + "3 outcomes, all done; version \(before) to \(after), 3 changes: ",
      "test#1 supplementary.element preview 0 -> a table of 1 columns  (",
    ]
    #expect(lines.all.count >= expected.count)
    for (line, expected) in zip(lines.all, expected) {
      let parts = line.split(separator: "  ", maxSplits: 1, omittingEmptySubsequences: true)
      #expect(Double(parts[0].trimmingCharacters(in: .whitespaces)) != nil, "\(line)")
      #expect(parts[1].trimmingCharacters(in: .whitespaces).hasPrefix(expected), "\(line)")
    }
    let element = try #require(
      try source.supplementary?.supplementaryElement(ofKind: "preview", at: .section(0)))
    guard case .table(let table) = element else { return }
    _ = try table.rows(RowRequest(first: 0, count: 1, columns: [0]))
    #expect(lines.whole.contains("test#3 rows 0:0 up to 1, columns 0 -> 1 rows × 1 columns"))
  }

  /// The trace contains no data from rows, titles, ids, texts or receipts.
  @Test func dataIsNotWritten() throws {
    let lines = Lines()
    let source = traced(Tables.everything(), lines)
    let findings = ConformanceSuite(open: { source }, scratch: { { source } }).run(
      ConformanceSuite.laws.filter { !$0.needsQuiet })
    let failures = findings.filter(\.isFailure)
    #expect(failures.isEmpty)
    // Refusals by the law itself contain its request.
    let text = lines.all.filter { !$0.contains("not-found: there is no ") }.joined(separator: "\n")
    for secret in ["row 12", "First", "Zuletzt", "3 new", "/etc/hosts", "test table", "r12"] {
      #expect(!text.contains(secret), "\(secret)")
    }
  }

  /// A message with any characters stays one line.
  @Test func linesAreSafe() throws {
    let lines = Lines()
    let trace = lines.trace
    trace.note("a\nb\r\u{1B}[31m\u{202E}é\t")
    do throws(TableError) {
      _ = try trace.call("call\n") { () throws(TableError) -> Int in
        throw TableError(.io, "two\nlines")
      } words: {
        "\($0)"
      }
    } catch {}
    #expect(lines.all.count == 3)
    #expect(lines.all[1].hasSuffix("  a\\nb\\r\\u{1b}[31m\\u{202e}é\\t"))
    #expect(lines.all[2].contains("  call\\n -> io: two\\nlines  ("))
  }

  /// A call is visible before it returns. Other messages during the call have their own lines.
  @Test func aCallIsSeenAtOnce() throws {
    let lines = Lines()
    let trace = lines.trace
    try trace.call("outer") { () throws(TableError) in
      #expect(lines.whole.hasSuffix("  outer"))
      trace.note("meanwhile")
    } words: {
      "done"
    }
    let words = lines.all.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(words.count == 3)
    #expect(words[0].hasSuffix("  outer") && words[1].hasSuffix("  meanwhile"))
    #expect(words[2].contains("  outer -> done  ("))
  }

  // Files

  @Test func theFileIsPrivate() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/trace"
    do {
      let trace = try Trace(path: Array(path.utf8))
      trace.note("one")
      #expect(throws: TableError.self) { try Trace(path: Array(path.utf8)) }
    }
    try Trace(path: Array(path.utf8)).note("two")
    // All tests share the umask of this process, so only another process can have none.
    let (table, other) = (try folder.write("a.csv", "a\n1\n"), folder.path + "/other")
    let counted = try run(
      "/bin/sh", ["-c", "umask 0; exec \"$0\" count \"$1\"", buildFolder + "/tabella", table],
      environment: ["TABELLA_TRACE": other])
    #expect(counted.status == 0, "\(counted)")
    for path in [path, other] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.components(separatedBy: "\n").count == 5 && text.contains("  one\n"))
  }

  /// The file stayed locked while a process that was just started still had a copy of its descriptor, so the next trace was
  /// refused.
  @Test func aCopyOfTheDescriptorLocksNothing() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/trace"
    var copies: [Int32] = []
    defer { for copy in copies { close(copy) } }
    do {
      let trace = try Trace(path: Array(path.utf8))
      trace.note("one")
      var file = stat()
      #expect(stat(path, &file) == 0)
      for number in 0..<Int32(1024) {
        var own = stat()
        if fstat(number, &own) == 0, own.st_ino == file.st_ino, own.st_dev == file.st_dev {
          copies.append(dup(number))
          break
        }
      }
      trace.note("two")
    }
    #expect(copies.count == 1)
    try Trace(path: Array(path.utf8)).note("three")
  }

  @Test func whatIsNoFileIsRefused() throws {
    let folder = try TemporaryFolder()
    try folder.write("target", "")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: "target")
    for (name, says) in [
      ("link", "cannot be written"), ("", "cannot be written"), ("no/such", "cannot be written"),
    ] {
      let error = #expect(throws: TableError.self) {
        try Trace(path: Array("\(folder.path)/\(name)".utf8))
      }
      #expect(error?.message.contains(says) == true, "\(name): \(error?.message ?? "")")
    }
    let device = #expect(throws: TableError.self) { try Trace(path: Array("/dev/null".utf8)) }
    #expect(device?.message == "is not a regular file")
    #expect(try folder.read("target").isEmpty)
  }

  // Programs

  private func tabella(
    _ arguments: String..., trace: String, in folder: TemporaryFolder
  ) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "LC_ALL": "C.UTF-8", "TABELLA_TRACE": trace, "TABELLA_PROVIDER_PATH": folder.path,
        "XDG_STATE_HOME": folder.path,
      ], directory: folder.path)
  }

  @Test func aProgramIsTraced() throws {
    let folder = try TemporaryFolder()
    try folder.write("data.csv", "name,year\nAda,1815\n")
    let plain = try tabella("show", "data.csv", trace: "", in: folder)
    let result = try tabella("show", "data.csv", trace: "trace", in: folder)
    #expect(result.status == 0 && result.errors.isEmpty && result.output == plain.output)
    let text = String(decoding: try folder.read("trace"), as: UTF8.self)
    #expect(text.contains("  csv open data.csv in this process, from "))
    #expect(text.contains("  csv#1 rows 0:0 up to ") && !text.contains("Ada"))
    // The error appears once, and everything else stays the same.
    let refused = try tabella("show", "data.csv", trace: "/no/such/trace", in: folder)
    #expect(refused.output == plain.output && refused.status == 0)
    #expect(
      refused.errors
        == "tabella: TABELLA_TRACE: /no/such/trace cannot be written: No such file or directory; no trace is written\n"
    )
  }

  /// The messages of a worker and its end appear in the trace.
  @Test func aWorkerIsTraced() throws {
    let folder = try TemporaryFolder()
    _ = try CheckTests.compile("liar.so", in: folder)
    try folder.write(
      "liar.tabella.json",
      #"{"id": "liar", "version": "1", "contract": "0.9", "library": "liar.so", "schemes": ["liar"]}"#
    )
    _ = try tabella("show", "liar:prints", trace: "trace", in: folder)
    let result = try tabella("show", "liar:crashes", "--rows", "3..4", trace: "trace", in: folder)
    #expect(result.status == 3)
    let text = String(decoding: try folder.read("trace"), as: UTF8.self)
    #expect(
      text.contains("  liar open liar:prints in a worker, from \(folder.path)/liar.so -> liar#1"))
    #expect(text.contains("  liar prints: row 0\n"))
    #expect(text.contains(" -> misbehaved: provider liar ended by SIGSEGV in rows"))
    #expect(text.contains("  liar worker ended: provider liar ended by SIGSEGV in rows\n"))
    #expect(text.components(separatedBy: "  trace of process ").count == 3)
  }
}
