import CTabellaSystem
import Glibc
import TabellaSystem
import Testing

@testable import TabellaTestSupport

/// The owner of a descriptor, and the readers of files and folders.
@Suite struct DescriptorTests {
  /// A pipe shows whether its writing end is closed: reading then returns 0 bytes.
  private func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(tabella_system_make_pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  @Test func theEndOfTheLifetimeCloses() throws {
    let ends = try pipe()
    let reading = Descriptor(owning: ends.reading)
    var byte: UInt8 = 7
    do {
      let writing = Descriptor(owning: ends.writing)
      let number = writing.raw
      // The last use of the value is above, but its lifetime ends below.
      #expect(write(number, &byte, 1) == 1)
    }
    #expect(read(reading.raw, &byte, 1) == 1 && byte == 7)
    #expect(read(reading.raw, &byte, 1) == 0)
  }

  @Test func aReleasedDescriptorStaysOpen() throws {
    let ends = try pipe()
    let reading = Descriptor(owning: ends.reading)
    let number = Descriptor(owning: ends.writing).release()
    var byte: UInt8 = 7
    #expect(number == ends.writing && write(number, &byte, 1) == 1)
    close(number)
    #expect(read(reading.raw, &byte, 1) == 1)
  }

  @Test func closingKeepsTheErrorNumber() {
    errno = EDOM
    _ = Descriptor(owning: -1)
    let number = errno
    #expect(number == EDOM)
  }

  @Test func aFailureKeepsItsNumber() {
    let isMissing = Descriptor(opening: "/nothing", O_RDONLY) == nil
    let number = errno
    #expect(isMissing && number == ENOENT)
    let isRefused = Descriptor(-1) == nil
    #expect(isRefused)
  }

  @Test func readingStopsAtTheLimit() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("file", "abc")
    for (limit, count, isAll) in [(0, 0, false), (2, 2, false), (3, 3, false), (4, 3, true)] {
      let file = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      let read = try #require(readAll(file, upTo: limit))
      #expect(read.bytes == Array("abc".utf8.prefix(count)) && read.isAll == isAll)
    }
  }

  @Test func foldersAreListedWithoutDots() throws {
    let folder = try TemporaryFolder()
    for name in ["a", ".b", "..c"] { try folder.write(name, "") }
    for includesDots in [false, true] {
      var names: Set<String> = []
      var entries = FolderEntries(of: Array(folder.path.utf8), includesDots: includesDots)
      while let name = entries?.next() { names.insert(String(decoding: name, as: UTF8.self)) }
      #expect(names == Set(["a", ".b", "..c"] + (includesDots ? [".", ".."] : [])))
    }
  }

  @Test func transferredBytesGrow() throws {
    let before = try #require(TransferredBytes())
    let after = try #require(TransferredBytes(of: getpid()))
    #expect(after.read > before.read && after.written >= before.written)
  }
}
