import Tabella
import Testing

@testable import TabellaFiles

/// Copying whole files, in the kernel and by hand.
@Suite struct FileWriterTests {
  /// Until its end is read, whatever size is said: of what /proc has, that is none.
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
      let new = open("\(folder.path)/copy", O_RDWR | O_CREAT | O_TRUNC, 0o600)
      #expect(old >= 0 && new >= 0)
      var writer = FileWriter(new, cancel: CancelFlag(), byHand: byHand)
      try writer.copyAll(of: old)
      #expect(try folder.read("copy") == content, "\(path)")
      close(old)
      close(new)
    }
  }

  @Test func copyingIsCancelled() throws {
    let folder = try TemporaryFolder()
    let old = open(try folder.write("a", "hello"), O_RDONLY)
    let new = open("\(folder.path)/b", O_RDWR | O_CREAT, 0o600)
    let cancel = CancelFlag()
    cancel.raise()
    var writer = FileWriter(new, cancel: cancel)
    let error = #expect(throws: TableError.self) { try writer.copyAll(of: old) }
    #expect(try error?.code == .cancelled && folder.read("b").isEmpty)
    close(old)
    close(new)
  }
}
