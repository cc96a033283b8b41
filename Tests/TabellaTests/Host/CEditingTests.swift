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
    let file = open(path, O_RDWR)
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
