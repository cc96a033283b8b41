import Tabella

/// The line end of a record.
public enum LineEnd: Hashable, Sendable {
  /// The record ends with the text.
  case none
  case lineFeed, carriageReturn, both

  var bytes: [UInt8] {
    switch self {
    case .none: []
    case .lineFeed: [10]
    case .carriageReturn: [13]
    case .both: [13, 10]
    }
  }

  /// The line end that consists of exactly these bytes; `.none` for other bytes.
  public init(_ bytes: some Collection<UInt8>) {
    switch (bytes.first, bytes.count) {
    case (10, 1): self = .lineFeed
    case (13, 1): self = .carriageReturn
    case (13, 2): self = .both
    default: self = .none
    }
  }
}

/// An open construct at the end of a text. A line end after it would not end a record.
public enum OpenEnd: Hashable, Sendable {
  /// A quote that is never closed.
  case quote
  /// An escape without a byte after it.
  case escape
}

/// The location of a record in the text.
public struct RecordSpan: Hashable, Sendable {
  /// The range of the record without its line end.
  public var content: Range<Int>
  /// The line end of the record.
  public var lineEnd: LineEnd
  /// The open construct at the end of the record, if the text ends with it.
  var openEnd: OpenEnd?
  var digest: UInt64

  /// The offset of the next record.
  var next: Int { content.upperBound + lineEnd.bytes.count }
}

extension RecordPage {
  /// The location of a record in the text. The page must not be gathered.
  public func span(of number: Int) -> RecordSpan {
    let (start, end) = (start(of: number), end(of: number))
    let next = min(filled, Int(separators[fields(of: number).upperBound - 1]) + 1)
    return RecordSpan(
      content: offset + start..<offset + end,
      lineEnd: LineEnd(UnsafeRawBufferPointer(start: bytes + end, count: next - end)),
      openEnd: number == numbers.upperBound - 1 ? openEnd : nil,
      digest: digest64(bytes(of: number)))
  }
}

extension RecordReader {
  /// The location of a record; nil if there is no such record.
  func span(of number: Int) throws(TableError) -> RecordSpan? {
    guard number >= 0 else { return nil }
    return try page(with: number)?.span(of: number)
  }

  /// The record that begins at an offset: a page, and the number of the record in the page. Nil if none begins there.
  ///
  /// The numbers of each page count from 0, so use a separate reader. The pages grow while the offsets are close to each
  /// other and ascend.
  func record(at offset: Int) throws(TableError) -> (page: RecordPage, number: Int)? {
    if let page, (page.offset..<page.end).contains(offset) {
      let number = page.numbers.partitioningIndex { page.offset(of: $0) >= offset }
      guard number < page.numbers.upperBound, page.offset(of: number) == offset else { return nil }
      return (page, number)
    }
    var size = sizes.first
    if let page, (page.end..<page.end + BufferedBytes.near).contains(offset) {
      size = min(sizes.next, 4 * max(size, page.end - page.offset))
    }
    return try load(0, at: offset, size).map { ($0, 0) }
  }
}
