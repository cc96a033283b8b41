import Tabella
import TabellaFiles
import Testing

@testable import TabellaCSV

/// The reader against the naive way: all of the text in one piece.
@Suite struct RecordReaderTests {
  final class ArrayBytes: ByteSource {
    let bytes: [UInt8]
    /// How much one read gives at most.
    let portion: Int

    init(_ bytes: [UInt8], portion: Int) {
      self.bytes = bytes
      self.portion = portion
    }

    var version: Version? { nil }
    func checkUnchanged() {}

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      let count = max(0, min(buffer.count, portion, bytes.count - offset))
      if count > 0 { buffer.copyBytes(from: bytes[offset..<offset + count]) }
      return count
    }
  }

  static func randomText(_ generator: inout SeededGenerator, _ length: Int) -> [UInt8] {
    let alphabet = Array("ab,\"\n\r\\".utf8)
    return (0..<length).map { _ in alphabet.randomElement(using: &generator)! }
  }

  static func records(_ text: [UInt8], window: Int, portion: Int, dialect: Dialect) throws
    -> [[UInt8]]
  {
    let reader = RecordReader(
      ArrayBytes(text, portion: portion), from: 0, dialect: dialect, windowSize: window)
    var cells: [[UInt8]] = []
    try reader.read(from: 0) { record throws(TableError) in
      for field in record.fields {
        var cell: [UInt8] = []
        reader.unquote(
          UnsafeRawBufferPointer(rebasing: record.bytes[field.start..<field.end]), into: &cell)
        cells.append(cell)
      }
      cells.append([UInt8](repeating: 0, count: 1 + record.number % 7))
      return true
    }
    return cells
  }

  /// A window that ends at any byte must change nothing.
  @Test(arguments: 0..<300)
  func windowBordersDoNotMatter(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.randomText(&generator, Int.random(in: 0...60, using: &generator))
    for dialect in [Dialect(), Dialect(escape: UInt8(ascii: "\\")), Dialect(quote: nil)] {
      let whole = try Self.records(text, window: 4096, portion: 4096, dialect: dialect)
      for window in 1...8 {
        for portion in [1, 2, 3, 64] {
          let cut = try Self.records(text, window: window, portion: portion, dialect: dialect)
          #expect(cut == whole, "window \(window), portion \(portion), \(text)")
        }
      }
    }
  }

  /// Any record is found by number, in any order, as a read from the start finds it.
  @Test func recordsByNumber() throws {
    var generator = SeededGenerator(seed: 7)
    var text: [UInt8] = []
    for index in 0..<5000 {
      text += Array((index % 3 == 0 ? "\"\(index)\n\",x\r\n" : "\(index),y\n").utf8)
    }
    let reader = RecordReader(
      ArrayBytes(text, portion: 1000), from: 0, dialect: Dialect(), windowSize: 512)
    var offsets: [Int] = []
    try reader.read(from: 0) { record throws(TableError) in
      offsets.append(record.offset)
      return true
    }
    #expect(offsets.count == 5000)
    #expect(reader.isComplete && reader.known == 5000)
    for _ in 0..<300 {
      let number = Int.random(in: 0..<5000, using: &generator)
      let fresh = Bool.random(using: &generator)
      let used =
        fresh
        ? RecordReader(
          ArrayBytes(text, portion: 1000), from: 0, dialect: Dialect(), windowSize: 512) : reader
      var found: Int?
      try used.read(from: number) { record throws(TableError) in
        found = record.offset
        return false
      }
      #expect(found == offsets[number])
      #expect(try used.number(ofRecordAt: offsets[number]) == number)
      #expect(try used.number(ofRecordAt: offsets[number] + 1) == nil)
    }
  }

  /// The first rows of a huge file need no full scan.
  @Test func firstRowsReadLittle() throws {
    final class Endless: ByteSource {
      var furthest = 0
      var version: Version? { nil }
      func checkUnchanged() {}
      func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        for index in 0..<buffer.count { buffer[index] = (offset + index) % 10 == 9 ? 10 : 65 }
        furthest = max(furthest, offset + buffer.count)
        return buffer.count
      }
    }
    let bytes = Endless()
    let reader = RecordReader(bytes, from: 0, dialect: Dialect())
    try reader.read(from: 0) { record throws(TableError) in record.number < 20 }
    #expect(bytes.furthest <= 1 << 18)
    try reader.know(100_000)
    #expect(reader.known == 100_000 && !reader.isComplete)
    #expect(bytes.furthest <= 1_000_000 + 1 << 18)
  }
}
