import CTabellaScan
import Tabella
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport

/// The scanning kernel, the index and the reader, compared with naive reading byte by byte.
@Suite struct RecordReaderTests {
  /// Bytes that arrive in small portions.
  final class Portions: ByteSource {
    let bytes: [UInt8]
    /// The maximum size of one read.
    let portion: Int
    let size: Int?
    /// The number of reads.
    var reads = 0
    /// The highest offset that was read.
    var furthest = 0
    /// The size of the text for reads of less than 100 bytes.
    var shrunk: Int?

    init(_ bytes: [UInt8], portion: Int, isStream: Bool = false) {
      self.bytes = bytes
      self.portion = portion
      size = isStream ? nil : bytes.count
    }

    var version: Version? { nil }
    func checkUnchanged() {}

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      reads += 1
      let size = buffer.count < 100 ? shrunk ?? bytes.count : bytes.count
      let count = max(0, min(buffer.count, portion, size - offset))
      if count > 0 { buffer.copyBytes(from: bytes[offset..<offset + count]) }
      return count
    }
  }

  static let rules: [RecordRules] = {
    let comma = UInt8(ascii: ",")
    let quote = UInt8(ascii: "\"")
    let escape = UInt8(ascii: "\\")
    return [
      RecordRules(delimiter: comma, quote: quote, endsAtCarriageReturn: true),
      RecordRules(delimiter: comma, quote: quote, escape: escape, endsAtCarriageReturn: true),
      RecordRules(delimiter: comma, escape: escape, endsAtCarriageReturn: true),
      RecordRules(delimiter: comma, endsAtCarriageReturn: true),
      RecordRules(quote: quote),
      .lines,
    ]
  }()

  static func randomText(_ generator: inout SeededGenerator, _ length: Int) -> [UInt8] {
    // Some texts are full of special characters, and others mostly plain, so that whole blocks contain none.
    let special = Array("ab,\"\n\r\\".utf8)
    let plain = Int.random(in: 0...60, using: &generator)
    return (0..<length).map { _ in
      Int.random(in: 0...64, using: &generator) < plain
        ? UInt8(ascii: "x") : special.randomElement(using: &generator)!
    }
  }

  /// Realistic text: whole groups of the kernel in which quotes open and close, with an occasional stray quote or
  /// different line end.
  static func orderlyText(_ generator: inout SeededGenerator, _ length: Int) -> [UInt8] {
    let strays = Int.random(in: 0...3, using: &generator)
    let returns = Int.random(in: 0...3, using: &generator)
    let quoted = Int.random(in: 0...10, using: &generator)
    let inside = [
      "a", "word", "\"\"", ",", "\n", "\r\n", "\r", "what is longer than a block's half",
    ]
    var text = ""
    while text.utf8.count < length {
      for cell in 0..<Int.random(in: 1...6, using: &generator) {
        if cell > 0 { text += "," }
        if Int.random(in: 0..<10, using: &generator) < quoted {
          let parts = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
            inside.randomElement(using: &generator)!
          }
          text += "\"" + parts.joined() + "\""
        } else {
          text += Int.random(in: 0..<40, using: &generator) < strays ? "5\" disk" : "plain"
        }
      }
      text += Int.random(in: 0..<20, using: &generator) < returns ? "\r\n" : "\n"
    }
    return Array(text.utf8)
  }

  static func cuts(
    block: Int = 16, spacing: Int = 8, segment: Int = 32, sample: Int = 24, positions: Int = 8,
    threads: Int = 3
  ) -> RecordIndex.Cuts {
    var cuts = RecordIndex.Cuts()
    cuts.near = block
    cuts.block = 2 * block
    cuts.spacing = spacing
    cuts.segment = segment
    cuts.leastSegment = segment / 2
    cuts.sample = sample
    cuts.positions = positions
    cuts.threads = threads
    return cuts
  }

  /// All records, read page by page.
  static func read(
    _ source: any ByteSource, _ rules: RecordRules, from start: Int = 0, first: Int = 64 << 10,
    next: Int = 256 << 10, cuts: RecordIndex.Cuts = .init()
  ) throws -> [NaiveRecord] {
    var sizes = RecordReader.Sizes()
    sizes.first = first
    sizes.next = next
    sizes.ahead = 3 * next
    sizes.room = 512
    let index = RecordIndex(source, from: start, rules: rules, cuts: cuts)
    let reader = RecordReader(source, index, rules: rules, sizes: sizes)
    var records: [NaiveRecord] = []
    while let page = try reader.page(with: records.count) {
      #expect(page.numbers.lowerBound == records.count)
      for number in page.numbers { records.append(record(page, number)) }
    }
    #expect(index.isComplete && index.known == records.count)
    // The reader frees its buffers behind the last record, and can still be used.
    reader.shrink(atEnd: records.count)
    for number in [records.count - 1, 0] where records.indices.contains(number) {
      let page = try reader.page(with: number)
      #expect(page.map { record($0, number) } == records[number])
    }
    return records
  }

  static func record(_ page: RecordPage, _ number: Int) -> NaiveRecord {
    let fields = page.fields(of: number).map { field in
      page.offset + page.start(ofField: field)..<page.offset
        + (field + 1 == page.fields(of: number).upperBound
          ? page.end(ofLastField: field) : page.end(ofField: field))
    }
    return NaiveRecord(
      start: page.offset(of: number), end: page.offset + page.end(of: number), fields: fields)
  }

  /// Texts of several hundred bytes, which cross the kernel's blocks and groups.
  @Test(arguments: 0..<60)
  func pagesAreTheNaiveRecords(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 0...1600, using: &generator))
    for rules in Self.rules {
      let naive = naiveRecords(text, rules)
      #expect(try Self.read(MemoryBytes(text), rules) == naive, "\(rules) \(text)")
      let small = Int.random(in: 1...700, using: &generator)
      #expect(
        try Self.read(Portions(text, portion: 100), rules, first: small, next: small) == naive)
    }
  }

  /// The boundaries of pages, portions and streams at any byte must not matter.
  @Test(arguments: 0..<120)
  func bordersDoNotMatter(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 0...60, using: &generator))
    for rules in Self.rules {
      let naive = naiveRecords(text, rules)
      for size in 1...8 {
        for portion in [1, 3, 64] {
          for isStream in [false, true] {
            let source = Portions(text, portion: portion, isStream: isStream)
            let found = try Self.read(source, rules, first: size, next: size + 1)
            #expect(found == naive, "size \(size), portion \(portion), \(isStream), \(text)")
          }
        }
      }
    }
  }

  /// Counting on one and several threads, with segments that begin at every byte.
  @Test(arguments: 0..<80)
  func countsAreTheNaiveCounts(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 0...700, using: &generator))
    for rules in Self.rules {
      let naive = naiveRecords(text, rules)
      for threads in [1, 3] {
        for _ in 0..<6 {
          let cuts = Self.cuts(
            block: Int.random(in: 2...40, using: &generator),
            spacing: Int.random(in: 1...40, using: &generator),
            segment: Int.random(in: 8...90, using: &generator),
            sample: Int.random(in: 2...60, using: &generator), threads: threads)
          let index = RecordIndex(MemoryBytes(text), from: 0, rules: rules, cuts: cuts)
          try index.know(.max)
          #expect(index.known == naive.count && index.isComplete, "\(cuts) \(rules) \(text)")
          for number in naive.indices {
            let position = index.position(before: number)
            #expect(position.number <= number)
            #expect(position.offset == naive[position.number].start, "\(cuts) \(text)")
          }
        }
      }
    }
  }

  /// A text can become shorter while several threads count. Counting then ends with the records that are left.
  @Test(arguments: 0..<60)
  func countsEndWithAShorterText(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 0...700, using: &generator))
    for rules in Self.rules {
      // Only the borders of segments are searched with reads of 100 bytes and more.
      let cuts = Self.cuts(segment: Int.random(in: 8...90, using: &generator), sample: 1000)
      let source = Portions(text, portion: 1000)
      let size = Int.random(in: 0...text.count, using: &generator)
      source.shrunk = size
      let index = RecordIndex(source, from: 0, rules: rules, cuts: cuts)
      try index.know(.max)
      let count = naiveRecords(Array(text[..<size]), rules).count
      #expect(index.known == count && index.isComplete, "\(cuts) \(rules) \(size) \(text)")
    }
  }

  /// Threads that search a record do not read the whole text behind it.
  @Test func countsEndWithTheRequestedRecord() throws {
    let text = Array(repeating: UInt8(ascii: "\n"), count: 10_000)
    let index = RecordIndex(
      MemoryBytes(text), from: 0, rules: .lines, cuts: Self.cuts(segment: 100))
    try index.know(1000)
    #expect(1000...5000 ~= index.known && !index.isComplete)
  }

  /// Whole groups that the kernel processes at once, when reading and counting, at all alignments.
  @Test(arguments: 0..<60)
  func orderlyTextIsTheNaiveRecords(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.orderlyText(&generator, Int.random(in: 600...6000, using: &generator))
    for rules in Self.rules {
      let naive = naiveRecords(text, rules)
      #expect(try Self.read(MemoryBytes(text), rules) == naive, "\(rules) \(text)")
      let small = Int.random(in: 500...3000, using: &generator)
      #expect(
        try Self.read(Portions(text, portion: 1000), rules, first: small, next: small) == naive)
      for threads in [1, 3] {
        let cuts = Self.cuts(
          block: Int.random(in: 600...3000, using: &generator),
          spacing: Int.random(in: 500...1500, using: &generator),
          segment: Int.random(in: 700...2000, using: &generator), sample: 600, threads: threads)
        let index = RecordIndex(MemoryBytes(text), from: 0, rules: rules, cuts: cuts)
        try index.know(.max)
        #expect(index.known == naive.count && index.isComplete, "\(cuts) \(rules) \(text)")
      }
    }
  }

  /// Every partial index is a prefix of the complete one. Known counts are never too high and never fall.
  @Test(arguments: 0..<40)
  func growthIsSteady(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, 400)
    for rules in Self.rules {
      let naive = naiveRecords(text, rules)
      let index = RecordIndex(MemoryBytes(text), from: 0, rules: rules, cuts: Self.cuts())
      var sizes = RecordReader.Sizes()
      (sizes.first, sizes.next, sizes.room) = (20, 30, 512)
      let reader = RecordReader(MemoryBytes(text), index, rules: rules, sizes: sizes)
      var last = 0
      for _ in 0..<40 where !naive.isEmpty {
        let number = Int.random(in: 0..<naive.count + 1, using: &generator)
        if Bool.random(using: &generator) {
          try index.know(number)
          #expect(index.known >= min(number, naive.count))
        } else if let page = try reader.page(with: number) {
          #expect(Self.record(page, number) == naive[number])
          #expect(try reader.number(ofRecordAt: naive[number].start) == number)
          if naive[number].end > naive[number].start {
            #expect(try reader.number(ofRecordAt: naive[number].start + 1) == nil)
          }
        } else {
          #expect(number == naive.count)
        }
        #expect(index.known >= last && index.known <= naive.count)
        last = index.known
      }
    }
  }

  /// Cells equal the naive cells, regardless of the surrounding bytes.
  @Test(arguments: 0..<40)
  func cellsAreTheNaiveCells(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, 500) + Self.orderlyText(&generator, 2000)
    for rules in Self.rules {
      for field in naiveRecords(text, rules).flatMap(\.fields) {
        let bytes = Array(text[field])
        // The bytes after the field must not matter.
        let padded = bytes + [UInt8](repeating: UInt8(ascii: "\""), count: 64)
        var cell = [UInt8](repeating: 0, count: bytes.count + RecordPage.slack)
        let count = padded.withUnsafeBytes { padded in
          cell.withUnsafeMutableBytes {
            Cells(rules).write(padded.baseAddress!, bytes.count, to: $0.baseAddress!)
          }
        }
        #expect(Array(cell[..<count]) == naiveCell(bytes, rules), "\(bytes)")
      }
    }
  }

  /// Records gathered in any order, some twice, equal the naive records, with their numbers and offsets.
  @Test(arguments: 0..<60)
  func gatheredRecordsAreTheNaiveRecords(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 1...1900, using: &generator))
    for rules in Self.rules {
      let all = naiveRecords(text, rules)
      // The first records are outside of the table: a header, or skipped lines.
      let naive = Array(all.dropFirst(Int.random(in: 0..<min(3, all.count), using: &generator)))
      let index = RecordIndex(
        MemoryBytes(text), from: naive[0].start, rules: rules, cuts: Self.cuts())
      var sizes = RecordReader.Sizes()
      if seed.isMultiple(of: 2) {
        (sizes.next, sizes.ahead) = (100, 512)
        (sizes.gathered, sizes.given, sizes.page) = (1200, 100, 50)
        // Threads share the copying of a few records.
        sizes.part = [1, 800].randomElement(using: &generator)!
      }
      let reader = RecordReader(MemoryBytes(text), index, rules: rules, sizes: sizes)
      let withOffsets = seed.isMultiple(of: 3)
      let numbers = (0..<30).map { _ in Int.random(in: naive.indices, using: &generator) }
      var cells: [[[UInt8]]] = []
      var offsets: [Int] = []
      var textNumbers: [Int] = []
      func take(_ page: RecordPage, _ records: Range<Int>) {
        for record in records {
          let fields = page.fields(of: record)
          cells.append(
            fields.map { field in
              let start = page.start(ofField: field)
              let end =
                field + 1 == fields.upperBound
                ? page.end(ofLastField: field) : page.end(ofField: field)
              let bytes = UnsafeRawBufferPointer(start: page.bytes + start, count: end - start)
              return naiveCell(Array(bytes), rules)
            })
          if withOffsets { offsets.append(page.offset(of: record)) }
          textNumbers.append(page.textNumber(of: record))
        }
      }
      // The next call returns the records that one call left, even if other records are requested in between.
      var count = 0
      while count < numbers.count {
        // A few more, or all of them: the first one that did not fit is read again.
        let end = Bool.random(using: &generator) ? numbers.count : count + 1
        let given = try reader.gather(
          Array(numbers[count..<end]), withOffsets: withOffsets, take)
        #expect(given > 0)
        count += given
        if Int.random(in: 0..<4, using: &generator) == 0 {
          _ = try reader.gather([0], withOffsets: Bool.random(using: &generator)) { _, _ in }
        }
      }
      #expect(textNumbers == numbers)
      if withOffsets { #expect(offsets == numbers.map { naive[$0].start }) }
      let wanted = numbers.map { naive[$0].fields.map { naiveCell(Array(text[$0]), rules) } }
      let isSame = cells == wanted
      #expect(isSame, "\(rules) \(text)")
      #expect(throws: TableError.self) {
        try reader.gather([0, naive.count], withOffsets: false) { _, _ in }
      }
    }
  }

  /// Records that are larger than the average do not fit at once. An error while threads read them is an error.
  @Test func largeRecordsAreGatheredInParts() throws {
    final class Failing: ByteSource {
      let base: MemoryBytes
      var fails = false
      init(_ base: MemoryBytes) { self.base = base }
      var version: Version? { nil }
      var size: Int? { base.size }
      func checkUnchanged() {}
      func read(
        at offset: Int, into buffer: UnsafeMutableRawBufferPointer
      ) throws(TableError) -> Int {
        if fails, offset > 20_000 { throw TableError(.io, "the disk is broken") }
        return base.read(at: offset, into: buffer)
      }
    }
    let lines = (0..<120).map { number in
      Array(String(repeating: "\(number % 10)", count: number < 100 ? 2 : 2000).utf8)
    }
    let text = Array(lines.map { $0 + [10] }.joined())
    let rules = Self.rules[0]
    let bytes = Failing(MemoryBytes(text))
    let index = RecordIndex(bytes, from: 0, rules: rules, cuts: Self.cuts())
    var sizes = RecordReader.Sizes()
    (sizes.next, sizes.ahead, sizes.gathered, sizes.part) = (100, 512, 3650, 1)
    let reader = RecordReader(bytes, index, rules: rules, sizes: sizes)
    let wanted = Array((100..<120).reversed())
    var found: [[UInt8]] = []
    while found.count < wanted.count {
      _ = try reader.gather(Array(wanted[found.count...]), withOffsets: false) { page, records in
        for record in records { found.append(Array(page.bytes(of: record))) }
      }
    }
    #expect(found == wanted.map { lines[$0] })
    bytes.fails = true
    #expect(throws: TableError.self) {
      try reader.gather([0, 119, 101], withOffsets: false) { _, _ in }
    }
  }

  /// A quote inside an unquoted cell is plain, even if it makes a guess wrong: the text of each segment looks more
  /// plausible as quoted text.
  @Test func wrongGuessesAreMended() throws {
    let line = Array("a\",\"b,\"x\n".utf8)
    let text = Array("id,5\" disk\n".utf8) + Array((0..<200).map { _ in line }.joined())
    let rules = Self.rules[0]
    let index = RecordIndex(MemoryBytes(text), from: 0, rules: rules, cuts: Self.cuts())
    try index.know(.max)
    #expect(index.known == naiveRecords(text, rules).count)
    #expect(try Self.read(MemoryBytes(text), rules) == naiveRecords(text, rules))
  }

  /// A text of CRs alone was scanned byte by byte from the end of its first block.
  @Test func aTextIsReadOnce() throws {
    for byte in [13, 10, 34, 44] as [UInt8] {
      let source = Portions([UInt8](repeating: byte, count: 10_000), portion: .max)
      let index = RecordIndex(
        source, from: 0, rules: Self.rules[0], cuts: Self.cuts(block: 100, threads: 1))
      try index.know(.max)
      #expect(source.reads <= 210)
    }
  }

  /// The first rows of a huge text need no full scan, and the memory stays small.
  @Test func firstRowsReadLittle() throws {
    final class Endless: ByteSource {
      var furthest = 0
      var version: Version? { nil }
      var size: Int? { nil }
      func checkUnchanged() {}
      func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        for index in 0..<buffer.count { buffer[index] = (offset + index) % 10 == 9 ? 10 : 65 }
        furthest = max(furthest, offset + buffer.count)
        return buffer.count
      }
    }
    let bytes = Endless()
    let index = RecordIndex(bytes, from: 0, rules: .lines)
    let reader = RecordReader(bytes, index, rules: .lines)
    #expect(try reader.page(with: 19)?.numbers.contains(19) == true)
    #expect(bytes.furthest <= 1 << 18)
    try index.know(100_000)
    #expect(index.known >= 100_000 && !index.isComplete)
    #expect(bytes.furthest <= 1_000_000 + 1 << 18)
  }

  @Test func aCancelledCountEnds() throws {
    let cancel = CancelFlag()
    let index = RecordIndex(
      MemoryBytes([UInt8](repeating: 10, count: 1000)), from: 0, rules: .lines, cancel: cancel)
    cancel.raise()
    #expect(throws: TableError(.cancelled, "cancelled")) { try index.know(.max) }
    cancel.begin()
    try index.know(.max)
    #expect(index.known == 1000)
  }
}
