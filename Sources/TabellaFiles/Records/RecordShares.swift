import Tabella
import TabellaThreads

/// The records of a stored text from one of them on, divided into shares for threads.
///
/// The border between two shares is where a record probably begins. Whether that is right is known once the share in front
/// of it has been read: it then ends there with a line end. ``take(_:)`` checks this.
///
/// Several threads may call ``reader(of:)``. Everything else belongs to the owner of the reader.
package final class RecordShares {
  /// The least size of a share for which threads pay off, in bytes, unless the caller needs smaller ones.
  fileprivate static let least = 1 << 20

  /// The number of shares. Some can be empty, if records are long.
  package let count: Int
  private let whole: RecordReader
  private let size: Int
  /// The sizes of reads and pages of a share.
  private let sizes: RecordReader.Sizes
  private let end: Int
  /// The buffers of readers that have read their shares, for the readers of other shares.
  let spares = Pool<RecordReader.Buffers>(limit: Cores.count) {
    $0.text.deallocate()
    $0.separatorOffsets.deallocate()
  }
  /// The number of bytes that decide where a share starts. A wrong start is noticed, so few bytes are enough.
  private var sample: Int { min(max(size / 16, 4 << 10), 16 << 10) }
  /// The number of bytes in which the start of a share is searched. Long records need many.
  private let searched: Int
  private let first: Int
  /// The number and the offset of the record after the shares that were taken.
  package private(set) var taken: (number: Int, offset: Int)

  fileprivate init(
    _ whole: RecordReader, from number: Int, at offset: Int, to end: Int, size: Int
  ) {
    self.whole = whole
    self.size = size
    sizes = whole.sizes.fitting(size)
    self.end = end
    first = offset
    searched = min(size / 2, 4 * whole.index.averageSize)
    count = (end - offset + size - 1) / size
    taken = (number, offset)
  }

  /// The offset at which a share begins; nil if it is empty.
  private func start(of number: Int) throws(TableError) -> Int? {
    if number == 0 { return first }
    let start = try whole.index.likelyRecord(
      after: first + size * number, within: max(sample, searched), readingBy: sample)
    guard let start, start < end else { return nil }
    return start
  }

  /// Returns a reader of the records of a share, whose numbers count from 0. Returns nil if the share is empty.
  package func reader(of number: Int) throws(TableError) -> RecordReader? {
    guard let start = try start(of: number) else { return nil }
    var next = number + 1
    var end = self.end
    while next < count {
      if let border = try self.start(of: next) {
        end = border
        break
      }
      next += 1
    }
    let bytes = try BytesUpTo(end, of: whole.source)
    return RecordReader(
      bytes, RecordIndex(bytes, from: start, rules: whole.rules), rules: whole.rules,
      sizes: sizes, spares: spares)
  }

  /// Whether the records of a reader of this text, which has been read to its end, are right as far as the share itself
  /// shows.
  package func isWhole(_ reader: RecordReader) -> Bool {
    reader.index.isComplete && (!reader.index.endsOpen || reader.source.size == end)
  }

  /// Whether a share begins where the previous one ended.
  package func continues(with reader: RecordReader) -> Bool { reader.index.start == taken.offset }

  /// Adds the records of the next share to the index of the text. Shares are taken one after the other.
  ///
  /// Throws ``TableError`` with `.conflict` if they do not begin where the last share ended, or do not end with a line end.
  package func take(_ reader: RecordReader) throws(TableError) {
    guard isWhole(reader), continues(with: reader) else { throw .wrongShare }
    let index = whole.index
    index.append(reader.index, from: taken.number)
    taken = (taken.number + reader.index.known, reader.index.frontier)
    if taken.offset == end { index.note(number: taken.number, at: end, isEnd: true) }
  }
}

extension TableError {
  /// The error of a share whose borders were guessed wrong. Its reader then reads the source itself.
  package static let wrongShare = TableError(.conflict, "the borders of a share are no records")
}

extension RecordReader {
  /// Divides a stored text from a record on into shares of about `size` bytes, or less if there were too few of them.
  /// Returns nil if there is only one share, or if the text is a stream. The record must have been reached by reading.
  package func shares(from number: Int, size: Int) throws(TableError) -> RecordShares? {
    guard let end = source.size else { return nil }
    let offset: Int
    if number == index.known {
      offset = index.frontier
    } else if let page = try page(with: number) {
      offset = page.offset(of: number)
    } else {
      return nil
    }
    // The last shares rarely end at the same time. So each thread gets several.
    let size = max(
      min(size, max(RecordShares.least, (end - offset) / (4 * Cores.count))), sizes.share)
    let shares = RecordShares(self, from: number, at: offset, to: end, size: size)
    guard shares.count > 1 else { return nil }
    // The shares have buffers of their own.
    shrink()
    return shares
  }
}
