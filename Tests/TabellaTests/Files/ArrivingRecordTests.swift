import Tabella
import Testing

@testable import TabellaFiles
@testable import TabellaTestSupport

/// Records of a stream, read while it arrives, compared with naive reading of the whole text.
@Suite struct ArrivingRecordTests {
  /// A stream whose bytes arrive in chunks. A read that has to wait lets the next chunk arrive.
  final class Arriving: ByteSource {
    let bytes: [UInt8]
    private var ends: [Int]
    private(set) var arrived = 0
    /// The number of reads that waited.
    private(set) var waits = 0
    private var knowsEnd = false

    init(_ bytes: [UInt8], _ generator: inout SeededGenerator) {
      self.bytes = bytes
      let most = Int.random(in: 1...60, using: &generator)
      ends = []
      while (ends.last ?? 0) < bytes.count {
        ends.append(
          min(bytes.count, (ends.last ?? 0) + Int.random(in: 1...most, using: &generator)))
      }
    }

    var version: Version? { nil }
    var size: Int? { nil }
    func checkUnchanged() {}
    func hasArrived(at offset: Int, within milliseconds: Int32) -> Bool {
      offset < arrived || knowsEnd
    }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      while offset >= arrived, !knowsEnd {
        waits += 1
        if ends.isEmpty { knowsEnd = true } else { arrived = ends.removeFirst() }
      }
      let count = max(0, min(buffer.count, arrived - offset))
      if count > 0 { buffer.copyBytes(from: bytes[offset..<offset + count]) }
      return count
    }
  }

  private func text(_ generator: inout SeededGenerator) -> [UInt8] {
    let length = Int.random(in: 0...2000, using: &generator)
    return Bool.random(using: &generator)
      ? RecordReaderTests.randomText(&generator, length)
      : RecordReaderTests.orderlyText(&generator, length)
  }

  /// A page contains whole records that have arrived, and reading waits for no record that is not asked for.
  @Test(arguments: 0..<120)
  func recordsAreThoseOfTheWholeText(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = text(&generator)
    let rules = RecordReaderTests.rules[seed % RecordReaderTests.rules.count]
    let wanted = naiveRecords(text, rules)
    let source = Arriving(text, &generator)
    let index = RecordIndex(source, from: 0, rules: rules)
    var sizes = RecordReader.Sizes()
    (sizes.first, sizes.next) = ([8, 64, 1 << 16][seed % 3], [32, 256, 1 << 18][seed % 3])
    let reader = RecordReader(source, index, rules: rules, sizes: sizes)
    var records: [NaiveRecord] = []
    while true {
      // Without waiting, there is a page exactly if a whole record has arrived and something after it.
      let waits = source.waits
      var page = try reader.page(with: records.count, waits: false)
      #expect(source.waits == waits)
      if page == nil, records.count < wanted.count {
        #expect(wanted[records.count].end + 1 >= source.arrived || source.arrived == text.count)
      }
      if page == nil { page = try reader.page(with: records.count) }
      guard let page else { break }
      for number in page.numbers.dropFirst(records.count - page.numbers.lowerBound) {
        records.append(RecordReaderTests.record(page, number))
      }
      if Bool.random(using: &generator) {
        // Counting waits for as many records as are asked for, and not for the end.
        let minimum = records.count + Int.random(in: 0...3, using: &generator)
        let before = source.arrived
        try reader.know(minimum)
        #expect(index.known >= minimum || index.isComplete)
        if minimum < wanted.count {
          // A chunk has at most 60 bytes, and a CR needs the byte after it.
          let end = wanted[max(0, minimum - 1)].end
          #expect(source.arrived <= max(before, end + 130))
        }
      }
    }
    #expect(records == wanted)
    #expect(index.isComplete && index.known == wanted.count)
  }

  /// Rows that were read are gathered without waiting for others.
  @Test(arguments: 0..<30)
  func gatheringDoesNotWait(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let lines = (0..<200).map { "line \($0) " + String(repeating: "x", count: $0 % 50) + "\n" }
    let source = Arriving(Array(lines.joined().utf8), &generator)
    let reader = RecordReader(
      source, RecordIndex(source, from: 0, rules: .lines), rules: .lines)
    _ = try reader.page(with: 100)
    let waits = source.waits
    var found: [Int] = []
    let count = try reader.gather([99, 3, 50, 0], withOffsets: false) {
      page, records throws(TableError) in
      found += records.map { page.bytes(of: $0).count + 1 }
    }
    #expect(count == 4 && found == [99, 3, 50, 0].map { lines[$0].utf8.count })
    #expect(source.waits == waits)
  }

  /// The first bytes of a stream are those in front of a pause.
  @Test func samplesEndAtAPause() throws {
    var generator = SeededGenerator(seed: 1)
    let source = Arriving(Array("ab\ncd\n".utf8), &generator)
    let first = try source.firstBytes(100)
    #expect(first.count == source.arrived && source.waits == 1)
    let sample = try source.sampleEnd(from: 0, upTo: 100, includesLine: true)
    #expect(sample.end == source.arrived && sample.end >= 3)
    #expect(try source.sampleEnd(from: 0, upTo: 2) == (2, false))
    while source.read(at: source.arrived, into: .init(start: nil, count: 0)) > 0 {}
    #expect(try MemoryBytes([1, 2]).sampleEnd(from: 0, upTo: 2) == (2, true))
    #expect(try MemoryBytes([1, 2]).sampleEnd(from: 0, upTo: 1) == (1, false))
  }
}
