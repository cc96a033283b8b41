import Tabella
import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// Copying whole files, in the kernel and manually.
@Suite struct FileWriterTests {
  /// The descriptor of an empty file with the name `new`.
  private func emptyFile(in folder: TemporaryFolder) throws -> Int32 {
    let new = open("\(folder.path)/new", O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC, 0o600)
    try #require(new >= 0)
    return new
  }

  /// Copies until the end of the file, regardless of its reported size. Files of /proc report 0.
  @Test(arguments: [true, false])
  func allBytesAreCopied(_ byHand: Bool) throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 1)
    var contents: [[UInt8]] = [[], [7]]
    for size in [(1 << 18) - 1, 1 << 18, (1 << 20) + 3] {
      contents.append((0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
    var paths = try contents.enumerated().map { try folder.write("\($0.offset)", $0.element) }
    paths.append("/proc/version")
    contents.append(
      try OpenFile(path: Array("/proc/version".utf8)).bytes().bytes(at: 0, count: 1000))
    #expect(contents.last!.count > 10)
    for (path, content) in zip(paths, contents) {
      let old = open(path, O_RDONLY)
      let new = open("\(folder.path)/copy", O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC, 0o600)
      #expect(old >= 0 && new >= 0)
      var writer = FileWriter(new, cancel: CancelFlag(), byHand: byHand)
      try writer.copyAll(of: old)
      #expect(try folder.read("copy") == content, "\(path)")
      close(old)
      close(new)
    }
  }

  /// Copied bytes are flushed to the disk and dropped from memory during the copy: forwards, backwards and twice.
  @Test(arguments: [true, false])
  func piecesAreCopiedInAnyOrder(_ byHand: Bool) throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 2)
    let content = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let old = try OpenFile(path: Array(folder.write("old", content).utf8))
    for round in 0..<60 {
      var table = PieceTable()
      var expected: [UInt8] = []
      var next = 0
      for _ in 0..<Int.random(in: 0...8, using: &generator) {
        if Bool.random(using: &generator) { next = Int.random(in: 0..<50_000, using: &generator) }
        let end = Int.random(in: next...content.count, using: &generator)
        let inserted = Array(
          repeating: UInt8(round), count: Int.random(in: 0...3000, using: &generator))
        table.append(old: next..<end)
        table.append(new: inserted)
        expected += content[next..<end] + inserted
        next = end
      }
      let new = try emptyFile(in: folder)
      defer { close(new) }
      var writer = FileWriter(
        new, cancel: CancelFlag(), byHand: byHand, replacesOld: !round.isMultiple(of: 3), step: 5000
      )
      try writer.write(table, old: old)
      #expect(try folder.read("new") == expected)
    }
    #expect(try folder.read("old") == content)
  }

  /// Small pieces are gathered and large ones are not, with sizes around both limits and thousands of pieces in a row.
  @Test(arguments: [true, false])
  func smallAndLargePiecesAreWritten(_ byHand: Bool) throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 3)
    let content = (0..<2_000_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let old = try OpenFile(path: Array(folder.write("old", content).utf8))
    for round in 0..<12 {
      var table = PieceTable()
      var expected: [UInt8] = []
      for _ in 0..<(round.isMultiple(of: 2) ? 4000 : 30) {
        let limit = (32 << 10) + Int.random(in: -1...1, using: &generator)
        let count =
          round.isMultiple(of: 2) && Int.random(in: 0..<200, using: &generator) > 0
          ? Int.random(in: 1...200, using: &generator) : limit
        let start = Int.random(in: 0...content.count - count, using: &generator)
        if Bool.random(using: &generator) {
          table.append(old: start..<start + count)
        } else {
          table.append(new: content[start..<start + count])
        }
        expected += content[start..<start + count]
      }
      let new = try emptyFile(in: folder)
      defer { close(new) }
      var writer = FileWriter(new, cancel: CancelFlag(), byHand: byHand, step: 100_000)
      try writer.write(table, old: old)
      #expect(try folder.read("new") == expected)
    }
  }

  /// A file that becomes shorter is a conflict, for gathered pieces too.
  @Test func aShorterFileIsAConflict() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("old", [UInt8](repeating: 65, count: 1000))
    for isCut in [false, true] {
      let old = try OpenFile(path: Array(path.utf8))
      var table = PieceTable()
      table.append(old: 500..<900)
      if isCut { #expect(truncate(path, 600) == 0) } else { table.append(old: 950..<1001) }
      let new = try emptyFile(in: folder)
      defer { close(new) }
      var writer = FileWriter(new, cancel: CancelFlag())
      let error = #expect(throws: TableError.self) { try writer.write(table, old: old) }
      #expect(error?.code == .conflict, "\(error!)")
    }
  }

  @Test func copyingIsCancelled() throws {
    let folder = try TemporaryFolder()
    let old = open(try folder.write("a", "hello"), O_RDONLY)
    let new = open("\(folder.path)/b", O_RDWR | O_CLOEXEC | O_CREAT, 0o600)
    let cancel = CancelFlag()
    cancel.raise()
    var writer = FileWriter(new, cancel: cancel)
    let error = #expect(throws: TableError.self) { try writer.copyAll(of: old) }
    #expect(try error?.code == .cancelled && folder.read("b").isEmpty)
    close(old)
    close(new)
  }
}
