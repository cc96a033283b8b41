import CTabella
import CTabellaEmbed
import Foundation
import Tabella
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// Arrow streams of libtabella, compared with the rows of the source.
@Suite struct EmbedStreamTests {
  let folder: TemporaryFolder
  let host: EmbedHost

  init() throws {
    folder = try TemporaryFolder()
    host = try EmbedHost(receipts: folder.path + "/receipts")
  }

  /// A ledger with sections, cells of every type, missing cells and ids.
  private func ledger() throws -> EmbedTable {
    let ledgers = try Ledgers()
    let columns = "name:text count:integer share:real on:boolean at:date"
    var lines = [columns]
    for row in 0..<50 {
      if row % 7 == 0 { lines.append("# section \(row / 7)") }
      let cells = [
        "row-\(row)", row % 3 == 0 ? "\\N" : "\(row - 25)", row % 4 == 0 ? "\\N" : "\(row).5",
        row % 5 == 0 ? "\\N" : "\(row % 2 == 0)",
        row % 6 == 0 ? "\\N" : "19\(60 + row % 40)-01-01T00:00:00.\(100_000 + row)Z",
      ]
      lines.append(cells.joined(separator: "\t"))
    }
    try ledgers.folder.write("a.ledger", lines.joined(separator: "\n") + "\n")
    let host = try EmbedHost(providers: ledgers.folder.path)
    return try withExtendedLifetime(ledgers) { try host.open(ledgers.file, flags: 0) }
  }

  /// The rows of all sections.
  private func rows(_ table: EmbedTable) throws -> [(section: Int, cells: [Cell])] {
    let source = try table.source()
    let count = try source.numberOfSections(knowing: .max).value
    return try (0..<count).flatMap { section in
      try readAll(source, section: section, asValues: true).map { (section, $0) }
    }
  }

  private func trimmed(_ cell: Cell) -> Cell {
    guard case .date(let date) = cell else { return cell }
    let rest = (date.nanoseconds % 1000 + 1000) % 1000
    return .date(Timestamp(nanoseconds: date.nanoseconds - rest))
  }

  @Test func everyTypeArrives() throws {
    let table = try ledger()
    let stream = try table.stream()
    let schema = try stream.schema()
    #expect(schema.map(\.format) == ["u", "l", "g", "b", "tsu:UTC"])
    #expect(schema.map(\.name) == ["name", "count", "share", "on", "at"])
    let all = try rows(table)
    #expect(all.count == 50 && Set(all.map(\.section)).count == 8)
    #expect(try stream.all().rows == all.map { $0.cells.map(trimmed) })
    // A table can be read again.
    #expect(try table.stream().all().rows == all.map { $0.cells.map(trimmed) })
  }

  /// Random parts are those of the whole.
  @Test func partsArePartsOfTheWhole() throws {
    let table = try ledger()
    let source = try table.source()
    let all = try rows(table)
    var titles: [Cell] = []
    var ids: [Cell] = []
    for section in 0..<8 {
      let title = try source.sections?.title(.header, ofSection: section)
      let count = try source.exactNumberOfRows(inSection: section)
      let batch = try source.rows(
        RowRequest(section: section, first: 0, count: 100, columns: [], includesIDs: true))
      for row in 0..<count {
        titles.append(title.map { .text($0) } ?? .missing)
        ids.append(.text(batch.id(row) ?? ""))
      }
    }
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<60 {
      let columns = Array(
        (0..<5).shuffled(using: &generator).prefix(Int.random(in: 0...5, using: &generator)))
      let section = Bool.random(using: &generator) ? Int.random(in: 0..<8, using: &generator) : nil
      let first = Int.random(in: 0...60, using: &generator)
      let count = Bool.random(using: &generator) ? Int.random(in: 0...60, using: &generator) : nil
      let size = Int.random(in: 1...20, using: &generator)
      let views = Bool.random(using: &generator)
      let (withSection, withID) = (
        Bool.random(using: &generator), Bool.random(using: &generator)
      )
      let request = tabella_embed_stream_request(
        (views ? TABELLA_EMBED_UTF8_VIEW : 0) | (withSection ? TABELLA_EMBED_WITH_SECTION : 0)
          | (withID ? TABELLA_EMBED_WITH_ID : 0)
      ) {
        $0.section = section.map { Int64($0) } ?? -1
        $0.first = Int64(first)
        $0.count = count.map { Int64($0) } ?? -1
        $0.rows_per_batch = Int64(size)
      }
      let numbers = columns.map { Int64($0) }
      let (found, sizes) = try numbers.withUnsafeBufferPointer { numbers in
        var request = request
        // An empty list is not the same as none.
        let none: Int64 = 0
        return try withUnsafePointer(to: none) { none in
          (request.columns, request.column_count) = (
            numbers.baseAddress ?? none, Int64(numbers.count)
          )
          return try table.stream(request).all()
        }
      }
      let chosen = all.indices.filter { section == nil || all[$0].section == section }
        .dropFirst(first).prefix(count ?? .max)
      let expected = chosen.map { row -> [Cell] in
        (withSection ? [.integer(Int64(all[row].section)), titles[row]] : [])
          + columns.map { trimmed(all[row].cells[$0]) } + (withID ? [ids[row]] : [])
      }
      #expect(found == expected)
      #expect(sizes.allSatisfy { $0 <= size } && sizes.dropLast().allSatisfy { $0 == size })
    }
  }

  /// Text in its three forms: short, long, empty, missing and not ASCII.
  @Test func textHasThreeForms() throws {
    let texts = ["", "é", "twelve bytes", "thirteen byte", String(repeating: "long ", count: 100)]
    let lines = (0..<3000).map { "\"\(texts[$0 % 5])\"" + ($0 % 7 == 0 ? "" : ",\($0)") }
    let path = try folder.write("t.csv", "a,b\n" + lines.joined(separator: "\n") + "\n")
    let table = try host.open(path, flags: 0)
    let all = try readAll(table.source())
    #expect(all.contains { $0[1] == .missing })
    for (flags, format) in [
      (0, "u"), (TABELLA_EMBED_UTF8_VIEW, "vu"), (TABELLA_EMBED_TEXT_AS_BINARY, "z"),
    ] as [(UInt32, String)] {
      let stream = try table.stream(tabella_embed_stream_request(flags) { $0.rows_per_batch = 777 })
      #expect(try stream.schema().map(\.format) == [format, format])
      let rows = try stream.all().rows.map { row in
        row.map { cell -> Cell in if case .binary(let bytes) = cell { .text(bytes) } else { cell } }
      }
      #expect(rows == all)
    }
    let inferred = try host.open(path, options: ["types": "infer"], flags: 0).stream()
    #expect(try inferred.schema().map(\.format) == ["u", "l"])
    #expect(try inferred.all().rows[1][1] == .integer(1))
  }

  /// Readers of Arrow need UTF-8. Other bytes are an error with the row and the column, or binary cells.
  @Test func otherBytesAreAnError() throws {
    let path = try folder.write(
      "t.csv", Array("a,b\nx,y\nx,".utf8) + [0xFF] + Array("\nz,ü\n".utf8))
    let table = try host.open(path, flags: 0)
    let failed = #expect(throws: EmbedStream.Failed.self) { try table.stream().next() }
    #expect(failed?.number == EILSEQ)
    #expect(
      failed?.message.hasPrefix("\(path): row 1, counted from 0, has text in column \"b\"") == true)
    let first: [Int64] = [0]
    let good = try first.withUnsafeBufferPointer { columns in
      let request = tabella_embed_stream_request {
        ($0.columns, $0.column_count) = (columns.baseAddress, 1)
      }
      return try table.stream(request).all().rows
    }
    #expect(good == [["x"], ["x"], ["z"]])
    let binary = try table.stream(.init(TABELLA_EMBED_TEXT_AS_BINARY)).all().rows
    #expect(binary[1] == [.binary([0x78]), .binary([0xFF])])
    // The row counts within its section.
    let grouped = try table.shaped(sectionBy: "a", sort: "b:desc")
    let inGroup = #expect(throws: EmbedStream.Failed.self) { try grouped.stream().next() }
    #expect(
      inGroup?.message.contains(": row 0:0, counted from 0") == true, "\(inGroup?.message ?? "")")
  }

  /// Small sections arrive in large batches, and one large section in the batches of its source.
  @Test func batchesAreLarge() throws {
    let lines = (0..<30_000).map { "\($0 / 3),\($0)" }
    let path = try folder.write("t.csv", "g,n\n" + lines.joined(separator: "\n") + "\n")
    let table = try host.open(path, flags: 0)
    let whole = try table.stream().all()
    #expect(whole.rows.count == 30_000 && whole.sizes.dropLast().allSatisfy { $0 >= 8192 })
    let groups = try table.shaped(sectionBy: "g").stream().all()
    #expect(groups.rows.count == 30_000)
    #expect(groups.sizes.dropLast().allSatisfy { 8192...65536 ~= $0 })
  }

  /// Names of columns need not be unique, but readers of Arrow require it.
  @Test func columnsHaveUniqueNames() throws {
    let path = try folder.write("t.csv", "a,a,section,id\n1,2,3,4\n")
    let stream = try host.open(path, flags: 0).stream(
      .init(TABELLA_EMBED_WITH_SECTION | TABELLA_EMBED_WITH_ID))
    #expect(
      try stream.schema().map(\.name) == [
        "section", "section title", "a", "a 2", "section 2", "id", "id 2",
      ])
    #expect(try stream.next()?[0].prefix(2) == [.integer(0), .missing])
  }

  /// An empty table is a schema without batches.
  @Test func anEmptyTableHasNoBatches() throws {
    let stream = try host.open(try folder.write("t.csv", "a,b\n"), flags: 0).stream()
    #expect(try stream.schema().count == 2 && stream.next() == nil && stream.next() == nil)
  }

  /// A stream from beyond the end has no batches, as a slice of a list has no items.
  @Test func aStreamFromBeyondTheEndIsEmpty() throws {
    let table = try ledger()
    for first in [50, 51, 1_000_000] as [Int64] {
      #expect(try table.stream(.init { $0.first = first }).next() == nil)
    }
    #expect(try table.stream(.init { ($0.section, $0.first) = (0, 7) }).next() == nil)
    #expect(try table.stream(.init { $0.first = 49 }).all().rows.count == 1)
  }

  /// A cancellation while a thread of the library read ahead came late, or was lost.
  @Test func aCancellationEndsTheStreamsBeforeIt() throws {
    let lines = (0..<60_000).map { "\($0)" }
    let table = try host.open(
      try folder.write("t.csv", "n\n" + lines.joined(separator: "\n")), flags: 0)
    let small = tabella_embed_stream_request { $0.rows_per_batch = 1000 }
    let view = try table.shaped(filters: ["n > 5"])
    for read in 0..<5 {
      let (stream, other) = (try table.stream(small), try view.stream(small))
      for _ in 0..<read { #expect(try stream.next()?.count == 1000 && other.next()?.count == 1000) }
      if read.isMultiple(of: 2) { usleep(2000) }
      table.cancel()
      for _ in 0..<2 {
        let failed = #expect(throws: EmbedStream.Failed.self) { try stream.next() }
        #expect(failed?.number == ECANCELED && failed?.message.hasSuffix("cancelled") == true)
      }
      // Another table of the same source, a new stream and other calls go on.
      #expect(try other.all().rows.count == 59_994 - 1000 * read)
      #expect(try table.stream().all().rows.count == 60_000)
    }
  }

  /// A thread that read ahead and failed was joined again by the release of the stream, and the program ended.
  @Test func aFailedReadAheadIsTakenOnce() throws {
    for read in 2..<6 {
      let path = try folder.write("t.csv", "n\n" + String(repeating: "12345678\n", count: 400_000))
      let stream = try host.open(path, flags: 0)
        .stream(tabella_embed_stream_request { $0.rows_per_batch = 1000 })
      for _ in 0..<read { #expect(try stream.next()?.count == 1000) }
      try folder.write("t.csv", "n\n1\n")
      let failed = #expect(throws: EmbedStream.Failed.self) { while try stream.next() != nil {} }
      #expect(failed?.message.isEmpty == false)
    }
  }

  /// A batch lives on after its stream, its table and its host.
  @Test func batchesOutliveTheirHost() throws {
    var array = ArrowArray()
    do {
      let host = try EmbedHost()
      let table = try host.open(try folder.write("t.csv", "a\nx\n"), flags: 0)
      var stream = ArrowArrayStream()
      try embed { EmbedLibrary.shared.stream(table.raw, nil, &stream, $0) }
      #expect(stream.get_next!(&stream, &array) == 0)
      stream.release!(&stream)
      #expect(stream.release == nil && stream.private_data == nil)
    }
    let column = array.children![0]!.pointee
    #expect(column.buffers![2]!.load(as: UInt8.self) == UInt8(ascii: "x"))
    array.release!(&array)
    #expect(array.release == nil)
  }
}
