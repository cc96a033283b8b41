import CTabellaSystem
import Foundation
import TabellaBridge
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Editable providers in C keep the laws, and save files as docs/saving.md says.
@Suite(.serialized) struct CEditingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The laws for a provider, with edits of copies of a file.
  private func expectLaws(_ source: String, _ text: String) throws {
    let library = try loadLibrary(
      at: compileLibrary(packageFolder + "/" + source, into: folder, name: "edits.so"))
    let path = try folder.write("shown", text)
    func open(_ path: String) throws(TableError) -> any TableDataSource {
      try library.open(OpenRequest(location: Array(path.utf8)))
    }
    var copies = 0
    func scratch() throws -> () throws(TableError) -> any TableDataSource {
      copies += 1
      let copy = try folder.write("copy\(copies)", text)
      return { () throws(TableError) in try open(copy) }
    }
    for seed in 1...4 as ClosedRange<UInt64> {
      expectConformance(seed: seed, scratch: scratch) { () throws(TableError) in try open(path) }
    }
    #expect(copies > 10)
    #expect(try folder.read("shown") == Array(text.utf8))
  }

  @Test func aPlanKeepsTheLaws() throws {
    try expectLaws("Examples/provider-c/lines.c", "one\ntwo\ntwo\n\nthree\nfour")
  }

  @Test func iniFilesKeepTheLaws() throws {
    let sample = try String(
      contentsOfFile: packageFolder + "/Examples/provider-c/sample.ini", encoding: .utf8)
    try expectLaws("Examples/provider-c/ini.c", sample)
    try expectLaws("Examples/provider-c/ini.c", sample.replacing("\n", with: "\r\n"))
    try expectLaws("Examples/provider-c/ini.c", "")
    try expectLaws("Examples/provider-c/ini.c", "a=1\n# two\nb\n[s]\n[s]\nx = 1\nx = 1\n\n; end")
  }

  // Typed documents

  private func openTyped(_ text: String) throws -> any TableDataSource {
    let library = try loadLibrary(
      at: compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/typed.c", into: folder, name: "typed.so"
      ))
    let path = try folder.write("typed", text)
    return try library.open(OpenRequest(location: Array(path.utf8)))
  }

  /// A row that ended behind the file showed bytes of other memory, and one that overlapped the next row broke each edit.
  @Test(arguments: ["a\n!b", "!a\nb\n"])
  func rowsOutOfPlaceAreRefused(_ text: String) throws {
    let error = #expect(throws: TableError.self) { try openTyped(text) }
    #expect(error?.code == .internal && error?.message.contains("overlaps the row") == true)
  }

  @Test func typedDocumentsKeepTheLaws() throws {
    try expectLaws(
      "Tests/TabellaTests/Host/Libraries/typed.c",
      "Ada\t1\t1.5\ttrue\t1815-12-10\n\nBob\t\t\t\t\nCy\t-7\t1e300\tfalse\t1969-12-31T23:59:59.5Z")
  }

  /// A cell has the value that its text says. It is missing if the text says none of its type.
  @Test func textIsReadAsTheTypeOfItsColumn() throws {
    let second: Int64 = 1_000_000_000
    let day = 86400 * second
    func date(_ nanoseconds: Int64) -> Cell { .date(Timestamp(nanoseconds: nanoseconds)) }
    let cases: [[(String, Cell)]] = [
      [
        ("0", .integer(0)), ("+12", .integer(12)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775807", .integer(.max)), ("9223372036854775808", .missing),
        ("-9223372036854775809", .missing), ("1.0", .missing), ("-", .missing), ("1 ", .missing),
      ],
      [
        ("0.5", .real(0.5)), ("-0", .real(-0.0)), ("12", .real(12)), ("1e300", .real(1e300)),
        ("5e-324", .real(.leastNonzeroMagnitude)), ("1e999", .missing), ("nan", .missing),
        ("0x10", .missing), ("1,5", .missing), ("e", .missing),
      ],
      [("true", .boolean(true)), ("false", .boolean(false)), ("True", .missing), ("1", .missing)],
      [
        ("1970-01-01", date(0)), ("1969-12-31", date(-day)), ("2000-02-29", date(11016 * day)),
        ("1900-02-29", .missing), ("2000-02-30", .missing), ("2000-13-01", .missing),
        ("1970-01-02T03:04:05.25Z", date(day + (3 * 3600 + 4 * 60 + 5) * second + second / 4)),
        ("1970-01-01 00:01", date(60 * second)), ("1970-01-01T24:00", .missing),
        ("1677-09-21T00:12:44Z", date(-9_223_372_036 * second)), ("1677-01-01", .missing),
        ("2262-04-11T23:47:15.999999999Z", date(9_223_372_036 * second - 1)),
        ("2263-01-01", .missing), ("70-01-01", .missing), ("1970-01-01x", .missing),
      ],
    ]
    for (number, column) in cases.enumerated() {
      let tabs = String(repeating: "\t", count: number + 1)
      let source = try openTyped(column.map { tabs + $0.0 + "\n" }.joined())
      let rows = try source.rows(RowRequest(first: 0, count: column.count, columns: [number + 1]))
      for (row, (text, expected)) in column.enumerated() {
        #expect(rows.row(row) == [expected], "\(text) in column \(number + 1)")
      }
    }
  }

  /// Every value is written so that it is read as the same value, and other fields keep their bytes.
  @Test func valuesAreWrittenAsTheTypeOfTheirColumn() throws {
    let source = try openTyped("Ada\t007\t?\ttrue\tnever\n")
    let editing = try #require(source.editing)
    func set(_ column: Int, _ cell: Cell) throws {
      let batch = EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [column: cell])])
      _ = try editing.commit(batch)
      let now = try source.rows(RowRequest(first: 0, count: 1, columns: [column]))
      #expect(now.row(0) == [cell], "\(cell)")
    }
    func text() throws -> String { String(decoding: try folder.read("typed"), as: UTF8.self) }
    try set(0, "Bob")
    #expect(try text() == "Bob\t007\t?\ttrue\tnever\n")
    try set(1, .integer(.min))
    try set(2, .real(0.1))
    try set(3, .boolean(false))
    try set(4, .date(Timestamp(nanoseconds: -1)))
    #expect(
      try text() == "Bob\t-9223372036854775808\t0.1\tfalse\t1969-12-31T23:59:59.999999999Z\n")
    try set(4, .date(Timestamp(nanoseconds: 86_400_000_000_000)))
    #expect(try text().hasSuffix("\t1970-01-02\n"))
    try set(4, .missing)
    #expect(try text() == "Bob\t-9223372036854775808\t0.1\tfalse\t\n")
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      let real = Double(bitPattern: .random(in: 0...UInt64.max, using: &generator))
      if real.isFinite { try set(2, .real(real)) }
      // A second less than the earliest date has no text that is read.
      let date = Int64.random(in: (.min + 1_000_000_000)...(.max), using: &generator)
      try set(4, .date(Timestamp(nanoseconds: date)))
    }
    // A value of another type, and one that no text stands for, are refused.
    for (column, cell) in [(1, Cell.text([55])), (2, .real(.infinity)), (0, "a\tb")] {
      #expect(throws: TableError.self) { try set(column, cell) }
    }
  }

  /// An author who appends something else gets an error, and no other memory is read.
  @Test func aCellOfAnotherSizeIsAnError() throws {
    let source = try openTyped("Ada\tlies\n")
    do throws(TableError) {
      _ = try source.rows(RowRequest(first: 0, count: 1, columns: [1]))
      Issue.record("a cell of four bytes was taken for an integer")
    } catch { #expect(error.code == .internal) }
  }

  /// The same random batches lead to the same table in an INI file and in memory, and the lines that no edit names stay.
  @Test func iniFilesAreEditedAsTables() throws {
    let library = try loadLibrary(
      at: compileLibrary(
        packageFolder + "/Examples/provider-c/ini.c", into: folder, name: "ini.so"))
    var done = 0
    for seed in 0..<300 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let sections = (0..<Int.random(in: 1...4, using: &generator)).map { section in
        ("s\(section)", (0..<Int.random(in: 0...4, using: &generator)).map { "k\(section)\($0)" })
      }
      var text = "; a file\n\n"
      for (title, keys) in sections {
        text += "[\(title)]\n"
        for key in keys {
          if Bool.random(using: &generator) { text += "\n" }
          if Bool.random(using: &generator) { text += "; free \(key)\n\n" }
          text += "\(key)=\(key)\n"
        }
      }
      let path = try folder.write("t.ini", text)
      let source = try library.open(OpenRequest(location: Array(path.utf8)))
      let model = InMemorySource(
        [Column("key"), Column("value"), Column("comment")],
        sections: sections.map { title, keys in
          (title, nil, nil, keys.map { [.text(Array($0.utf8)), .text(Array($0.utf8)), .missing] })
        })
      let editing = try #require(source.editing)
      var keepsSections = true
      for step in 0..<3 {
        let edits = try randomEdits(of: model, step, &generator)
        let isPossible: Bool
        do throws(TableError) {
          _ = try editing.commit(EditBatch(edits))
          isPossible = true
        } catch {
          #expect([.invalidArgument, .notFound].contains(error.code), "seed \(seed): \(error)")
          isPossible = false
        }
        do throws(TableError) {
          _ = try model.commit(EditBatch(edits))
          #expect(isPossible, "seed \(seed): \(edits)")
        } catch { #expect(!isPossible, "seed \(seed): \(edits): \(error)") }
        done += isPossible ? 1 : 0
        if isPossible, edits.contains(where: \.isSectionDeletion) { keepsSections = false }
        #expect(try shown(source) == shown(model), "seed \(seed): \(edits)")
      }
      // Every comment that belongs to no row is still there, once, unless its section was deleted.
      let now = String(decoding: try folder.read("t.ini"), as: UTF8.self)
      let free = text.split(separator: "\n").filter { $0.hasPrefix("; free") }
      for line in free {
        let count = now.components(separatedBy: line + "\n").count - 1
        #expect(count == 1 || count == 0 && !keepsSections, "seed \(seed): \(line)")
      }
      #expect(now.hasPrefix("; a file\n\n"))
    }
    #expect(done > 200, "only \(done) batches were possible")
  }

  /// A random file is written as it was read, and a set is refused or read back.
  @Test func randomFilesAreWrittenAsRead() throws {
    let program = folder.path + "/documents"
    let compiled = try run(
      findProgram("clang"),
      [
        "-std=c11", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=undefined",
        "-I\(packageFolder)/Sources/CTabella/include", "-o", program,
        "\(packageFolder)/Tests/TabellaTests/Host/Programs/documents.c",
      ])
    try #require(compiled.status == 0, "\(compiled.errors)")
    let result = try run(program)
    #expect(result.status == 0, "\(result.text)\(result.errors)")
    let numbers = result.text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    #expect(numbers.count == 2 && numbers[1] > 1000 && numbers[0] - numbers[1] > 1000)
  }

  private func randomEdits(
    of model: InMemorySource, _ step: Int, _ generator: inout SeededGenerator
  ) throws -> [EditBatch.Edit] {
    let sections = model.numberOfSections(knowing: .max).value
    var edits: [EditBatch.Edit] = []
    func row(_ more: Int) throws -> Tabella.IndexPath {
      guard sections > 0 else { return IndexPath(section: 0, row: 0) }
      let section = Int.random(in: 0..<sections, using: &generator)
      let count = try model.numberOfRows(inSection: section, knowing: .max).value
      return IndexPath(
        section: section, row: Int.random(in: 0..<max(1, count + more), using: &generator))
    }
    for number in 0..<Int.random(in: 1...3, using: &generator) {
      let new = Cell.text(Array("n\(step)\(number)".utf8))
      let section = Int.random(in: 0..<max(1, sections), using: &generator)
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: edits.append(.insert(at: try row(1), cells: [0: new, 1: new]))
      case 1: edits.append(.delete(.path(try row(0))))
      case 2: edits.append(.set(.path(try row(0)), cells: [1: new]))
      case 3: edits.append(.move(.path(try row(0)), to: try row(0)))
      case 4: edits.append(.insertSection(at: section, title: "new\(step)\(number)"))
      case 5: edits.append(.renameSection(section, title: "other\(step)\(number)"))
      case 6:
        edits.append(
          .moveSection(section, to: Int.random(in: 0..<max(1, sections), using: &generator)))
      default: edits.append(.deleteSection(section))
      }
    }
    return edits
  }

  /// Titles and cells of a source, except comments.
  private func shown(_ source: any TableDataSource) throws -> [String] {
    let sections = try source.numberOfSections(knowing: .max).value
    return try (0..<sections).flatMap { section in
      let count = try source.numberOfRows(inSection: section, knowing: .max).value
      let rows = try source.rows(
        RowRequest(section: section, first: 0, count: count + 1, columns: [0, 1]))
      let title = try source.sections?.title(.header, ofSection: section)
      return ["[\(title ?? "")]"] + (0..<count).map { "\(rows.row($0))" }
    }
  }

  /// A save with tabella_save.h follows links, and keeps the mode and the attributes. It refuses files that a new file
  /// cannot replace.
  @Test func savesFollowThePolicy() throws {
    let saver = folder.path + "/saver"
    let compiled = try run(
      findProgram("clang"),
      [
        "-std=gnu11", "-O1", "-I\(packageFolder)/Sources/CTabella/include", "-o", saver,
        "\(packageFolder)/Tests/Faults/savers/header.c",
      ])
    try #require(compiled.status == 0, "\(compiled.errors)")
    func save(_ name: String) throws -> ProgramResult {
      try run(saver, ["\(folder.path)/\(name)", "2", "1", "NEW"])
    }
    let path = try folder.write("file", "abcdef")
    chmod(path, 0o640)
    let colour = Array("red".utf8)
    let file = open(path, O_RDWR | O_CLOEXEC)
    #expect(tabella_system_set_attribute(file, "user.colour", colour, colour.count) == 0)
    close(file)
    symlink("file", folder.path + "/link")
    #expect(try save("link").status == 0)
    #expect(try folder.read("file") == Array("abNEWdef".utf8))
    var status = stat()
    #expect(lstat(folder.path + "/link", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
    let saved = open(path, O_RDONLY)
    var value = [UInt8](repeating: 0, count: 3)
    #expect(tabella_system_attribute(saved, "user.colour", &value, value.count) == 3)
    #expect(value == colour)
    close(saved)
    // Refused: a second name, no write permission for anybody, no file.
    link(path, folder.path + "/second")
    let linked = try save("file")
    #expect(linked.status == 4 && linked.errors.contains("hard links"))
    unlink(folder.path + "/second")
    chmod(path, 0o440)
    let protected = try save("file")
    #expect(protected.status == 4 && protected.errors.contains("chmod u+w"))
    #expect(try save("absent").status == 1)
    #expect(try folder.read("file") == Array("abNEWdef".utf8))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy {
        !$0.hasPrefix(".tabella-")
      })
  }
}

extension EditBatch.Edit {
  fileprivate var isSectionDeletion: Bool {
    if case .delete(let reference) = self { reference.isSection } else { false }
  }
}
