import Foundation
import Tabella
import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// The file of a provider that keeps all bytes in memory: saves, undos, conflicts and pulls.
@Suite struct EditableFileTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func open(_ text: String, options: [String: String] = [:]) throws -> EditableFile {
    try EditableFile(path: Array(try folder.write("a", text).utf8), options: options)
  }

  func code(_ body: () throws -> Void) -> TableError.Code? {
    do { try body() } catch { return (error as? TableError)?.code }
    return nil
  }

  @Test func aSaveAndItsUndo() throws {
    let file = try open("one two three")
    let version = file.version
    let pieces: [EditableFile.Piece] = [.old(8..<13), .new(Array(" and ".utf8)), .old(0..<3)]
    #expect(file.bytes(of: pieces) == Array("three and one".utf8))
    #expect(try file.save(pieces, isDryRun: true).receipt == nil)
    #expect(try folder.read("a") == Array("one two three".utf8))
    let saved = try file.save(pieces)
    #expect(saved.problem == nil && saved.outcome == .init())
    #expect(try folder.read("a") == Array("three and one".utf8))
    #expect(file.bytes == Array("three and one".utf8) && file.version != version)
    // Another object, as in a later process, undoes it.
    let later = try EditableFile(path: file.path)
    let receipt = try #require(saved.receipt)
    _ = try later.undo(receipt, isDryRun: true)
    #expect(try folder.read("a") == Array("three and one".utf8))
    let undone = try later.undo(receipt)
    #expect(try folder.read("a") == Array("one two three".utf8) && later.version == version)
    #expect(code { _ = try later.undo(receipt) } == .conflict)
    _ = try later.undo(try #require(undone.receipt))
    #expect(try folder.read("a") == Array("three and one".utf8))
    #expect(code { _ = try later.undo([1, 2, 3]) } == .invalidArgument)
  }

  @Test func otherBytesAreAConflictAndEqualBytesAreNot() throws {
    let file = try open("one")
    // Another program replaces the file by an equal one, as `touch` or a sync does.
    try FileManager.default.removeItem(atPath: folder.path + "/a")
    try folder.write("a", "one")
    _ = try file.save([.old(0..<3), .new([0x21])])
    #expect(try folder.read("a") == Array("one!".utf8))
    try folder.write("a", "two!")
    for isDryRun in [true, false] {
      #expect(code { _ = try file.save([.new([0x30])], isDryRun: isDryRun) } == .conflict)
    }
    #expect(try folder.read("a") == Array("two!".utf8) && file.bytes == Array("one!".utf8))
  }

  @Test func aPullTakesOnlyAcceptedBytes() throws {
    let file = try open("one")
    #expect(try !file.pull { _ in Issue.record("nothing changed") })
    try folder.write("a", "two")
    #expect(
      code {
        _ = try file.pull { _ throws(TableError) in throw TableError(.constraint, "not accepted") }
      } == .constraint)
    #expect(file.bytes == Array("one".utf8))
    var accepted: [UInt8] = []
    #expect(try file.pull { accepted = $0 })
    #expect(accepted == Array("two".utf8) && file.bytes == accepted)
    try FileManager.default.removeItem(atPath: folder.path + "/a")
    #expect(code { _ = try file.pull { _ in } } == .notFound)
  }

  @Test func optionsOfSaving() throws {
    let file = try open("one", options: ["backup": "~", "other": "ignored"])
    let receipt = try #require(try file.save([.new([0x32])]).receipt)
    #expect(try folder.read("a~") == Array("one".utf8))
    _ = try file.undo(receipt)
    #expect(try folder.read("a~") == Array("one".utf8) && folder.read("a") == Array("one".utf8))
  }

  @Test func aPipeCanBeReadAndNotSaved() throws {
    let path = folder.path + "/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    let writer = Thread { try? Data("one".utf8).write(to: URL(fileURLWithPath: path)) }
    writer.start()
    let file = try EditableFile(path: Array(path.utf8))
    #expect(file.bytes == Array("one".utf8) && !file.isStored)
    #expect(code { _ = try file.save([.new([0x32])]) } == .readOnly)
  }

  /// A file that was empty when it was opened, and then was written, was taken for a stream, and so for read-only.
  @Test func aFileThatFillsWhileItIsOpenedIsStored() throws {
    let path = try folder.write("a", "")
    let file = try OpenFile(path: Array(path.utf8))
    try "one".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(file.isStored)
    #expect(code { try file.bytes().checkUnchanged() } == .conflict)
    #expect(try !OpenFile(path: Array("/proc/self/status".utf8)).isStored)
  }

  @Test func aListenerHearsOfAChange() throws {
    let file = try open("one")
    let heard = DispatchSemaphore(value: 0)
    try file.listen { heard.signal() }
    try folder.write("a", "two")
    #expect(heard.wait(timeout: .now() + 60) == .success)
    #expect(try file.pull { _ in })
    try file.listen(nil)
  }
}
