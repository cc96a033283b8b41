import Tabella
import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// Small reads through a buffer.
@Suite struct BufferedBytesTests {
  typealias Portions = RecordReaderTests.Portions

  /// Reads anywhere give the bytes of the source: forwards, backwards, across the end, and larger than the buffer.
  @Test(arguments: [Int.max, 1000]) func theBytesAreThoseOfTheSource(_ most: Int) throws {
    var generator = SeededGenerator(seed: 7)
    let content = (0..<700_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let bytes = BufferedBytes(Portions(content, portion: most))
    var offset = 0
    for _ in 0..<3000 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: offset = Int.random(in: 0...content.count + 10, using: &generator)
      case 1: offset = max(0, offset - Int.random(in: 0...100, using: &generator))
      default: offset += Int.random(in: 0...5000, using: &generator)
      }
      let size =
        Int.random(in: 0..<50, using: &generator) == 0
        ? Int.random(in: 0...400_000, using: &generator)
        : Int.random(in: 0...300, using: &generator)
      let start = min(offset, content.count)
      let end = min(offset + size, content.count)
      let read = try bytes.bytes(at: offset, count: size)
      #expect(read.elementsEqual(content[start..<max(start, end)]), "\(size) at \(offset)")
    }
  }

  /// Edits of many rows made several system calls per row.
  @Test func closeReadsAreFewCalls() throws {
    let content = [UInt8](repeating: 1, count: 8 << 20)
    let dense = Portions(content, portion: .max)
    let bytes = BufferedBytes(dense)
    for offset in stride(from: 0, to: content.count, by: 100) {
      _ = try bytes.bytes(at: offset, count: 50)
    }
    #expect(dense.reads < 50)
    // Reads that are far apart read little: one call each.
    let sparse = Portions(content, portion: .max)
    let others = BufferedBytes(sparse)
    for offset in stride(from: 0, to: content.count, by: 1 << 20) {
      _ = try others.bytes(at: offset, count: 50)
    }
    #expect(sparse.reads == 8)
  }
}
