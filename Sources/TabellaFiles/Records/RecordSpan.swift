import Tabella

/// How a record ends.
public enum LineEnd: Hashable, Sendable {
  /// With the text.
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

  /// The line end that some bytes are, all of them.
  public init(_ bytes: some Collection<UInt8>) {
    switch (bytes.first, bytes.count) {
    case (10, 1): self = .lineFeed
    case (13, 1): self = .carriageReturn
    case (13, 2): self = .both
    default: self = .none
    }
  }
}

/// What a text ends in the middle of, so that a line end behind it would end no record.
public enum OpenEnd: Hashable, Sendable {
  /// Quotes that are never closed.
  case quote
  /// An escape with nothing behind it.
  case escape
}

/// Where a record lies in the text.
public struct RecordSpan: Hashable, Sendable {
  /// The record without its line end.
  public var content: Range<Int>
  public var lineEnd: LineEnd
  /// What it ends in the middle of, with the text.
  var openEnd: OpenEnd?
  var digest: UInt64

  /// Where the next record begins.
  var next: Int { content.upperBound + lineEnd.bytes.count }
}

extension RecordPage {
  /// Where a record lies in the text; of a page that was not gathered.
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
  /// Where a record lies; nil if there is none of this number.
  func span(of number: Int) throws(TableError) -> RecordSpan? {
    guard number >= 0 else { return nil }
    return try page(with: number)?.span(of: number)
  }

  /// The record that begins at a place, wherever others begin: for a reader of its own.
  public func page(at offset: Int) throws(TableError) -> RecordPage? {
    try load(0, at: offset, sizes.first)
  }
}
