import Tabella
import TabellaFiles

/// Reads records by number out of bytes, and learns how many there are on the way.
///
/// Positions of every 1,024th record are kept, so that any record is reached by scanning at most that
/// many; nothing is read beyond what is asked for.
final class RecordReader {
  static let stride = 1024

  /// A record as the parser found it; its bytes are valid until the next one.
  struct Record {
    var number: Int
    /// Where it begins in the text.
    var offset: Int
    var bytes: UnsafeRawBufferPointer
    var fields: [RecordParser.Field]
    var unclosedQuote: Int?
  }

  private let window: Window
  private var parser: RecordParser
  private var checkpoints: [Int]
  /// The record that comes next in a sequential read.
  private var cursor: (number: Int, offset: Int)
  /// How many records are known to be there.
  private(set) var known = 0
  /// Whether ``known`` is all.
  private(set) var isComplete = false
  /// The position just behind the last known record.
  private var frontier: Int

  /// A reader of the records from `start` on. The window may be any size; a small one finds what
  /// breaks at its borders.
  init(
    _ source: any ByteSource, from start: Int, dialect: Dialect, windowSize: Int = 1 << 18
  ) {
    window = Window(source, capacity: windowSize)
    parser = RecordParser(dialect)
    checkpoints = [start]
    cursor = (0, start)
    frontier = start
  }

  /// Where the record that comes next begins.
  var position: Int { cursor.offset }

  /// Makes ``known`` at least `minimum`, or all.
  func know(_ minimum: Int) throws(TableError) {
    guard known < minimum, !isComplete else { return }
    cursor = (known, frontier)
    while known < minimum, try next(wantsFields: false) != nil {}
  }

  /// Calls `body` with each record from number `first` on until it returns false or none is left.
  func read(
    from first: Int, _ body: (Record) throws(TableError) -> Bool
  ) throws(TableError) {
    if cursor.number > first || first - cursor.number >= RecordReader.stride {
      let nearest = min(first / RecordReader.stride, checkpoints.count - 1)
      if cursor.number > first || nearest * RecordReader.stride > cursor.number {
        cursor = (nearest * RecordReader.stride, checkpoints[nearest])
      }
    }
    while cursor.number < first {
      guard try next(wantsFields: false) != nil else { return }
    }
    while let record = try next(wantsFields: true) {
      guard try body(record) else { return }
    }
  }

  /// The number of the record that begins at `offset`; nil if none does.
  func number(ofRecordAt offset: Int) throws(TableError) -> Int? {
    guard offset >= checkpoints[0] else { return nil }
    while frontier <= offset, !isComplete { try know(known + RecordReader.stride) }
    var low = 0
    var high = checkpoints.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if checkpoints[middle] <= offset { low = middle } else { high = middle }
    }
    cursor = (low * RecordReader.stride, checkpoints[low])
    while cursor.offset < offset {
      guard try next(wantsFields: false) != nil else { return nil }
    }
    return cursor.offset == offset && cursor.number < known ? cursor.number : nil
  }

  /// The cell that a field of the last record holds, appended to `cell`.
  func unquote(_ field: UnsafeRawBufferPointer, into cell: inout [UInt8]) {
    parser.unquote(field, into: &cell)
  }

  private func next(wantsFields: Bool) throws(TableError) -> Record? {
    let offset = cursor.offset
    var (bytes, isLast) = try window.bytes(from: offset)
    while true {
      switch parser.parse(bytes, isLast: isLast, wantsFields: wantsFields) {
      case .incomplete:
        // No batch could hold it, and no memory should.
        guard bytes.count <= Int(Int32.max) else {
          throw TableError(
            .constraint,
            "the row at byte \(offset) is larger than 2 GiB (is a quote never closed? see -o quote)",
            section: 0, row: cursor.number)
        }
        (bytes, isLast) = try window.more(from: offset)
      case .nothing:
        isComplete = true
        return nil
      case .record(let end, let next):
        let record = Record(
          number: cursor.number, offset: offset,
          bytes: UnsafeRawBufferPointer(rebasing: bytes[..<end]), fields: parser.fields,
          unclosedQuote: parser.unclosedQuote)
        cursor = (cursor.number + 1, offset + next)
        if cursor.number > known {
          known = cursor.number
          frontier = cursor.offset
          if known % RecordReader.stride == 0 { checkpoints.append(frontier) }
        }
        if next == bytes.count, isLast { isComplete = known == cursor.number }
        return record
      }
    }
  }
}
