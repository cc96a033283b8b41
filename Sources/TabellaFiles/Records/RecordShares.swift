import Tabella

extension RecordReader {
  /// Divides a stored text into at most `count` shares of about equal size, for threads. Each begins with a record and has
  /// at least about `least` bytes.
  ///
  /// Returns the offsets of the shares, or nothing if there is only one share. Otherwise, it first finds all records.
  /// - Complexity: O(bytes), on all processors.
  public func shares(_ count: Int, least: Int) throws(TableError) -> [Range<Int>] {
    guard let size = source.size else { return [] }
    let first = index.position(before: 0).offset
    let count = min(count, (size - first) / least)
    guard count > 1 else { return [] }
    try index.know(.max)
    let borders = (0..<count).compactMap { number in
      index.position(beforeOffset: first + (size - first) / count * number)?.offset
    }
    return borders.indices.map { number in
      borders[number]..<(number + 1 < borders.count ? borders[number + 1] : size)
    }.filter { !$0.isEmpty }
  }

  /// A reader of the records from the beginning of a share on. Its numbers count from 0.
  ///
  /// Several threads can read a stored text at the same time, each with a reader of its own.
  public func reader(of share: Range<Int>) -> RecordReader {
    RecordReader(
      source, RecordIndex(source, from: share.lowerBound, rules: rules), rules: rules,
      sizes: sizes)
  }
}
