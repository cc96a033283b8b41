/// Finds records and their fields in bytes; the rules are in docs/providers/csv.md.
///
/// Pure: it knows no files. ``RecordReader`` feeds it.
struct RecordParser {
  /// A field as it stands in the text.
  struct Field {
    var start: Int
    var end: Int
    /// Whether quotes or escapes must be taken out to get the cell.
    var isRaw: Bool
  }

  enum Outcome {
    /// A record whose text ends at `end`; the next one begins at `next`.
    case record(end: Int, next: Int)
    /// The bytes end before the record does.
    case incomplete
    /// There is no record: nothing is left.
    case nothing
  }

  let dialect: Dialect
  /// The fields of the last record, if they were wanted.
  private(set) var fields: [Field] = []
  /// Where the quote stands that the last record does not close.
  private(set) var unclosedQuote: Int?
  /// What a byte means outside quotes.
  private let kinds: [Kind]

  private enum Kind: UInt8 {
    case plain, delimiter, lineFeed, carriageReturn, escape
  }

  init(_ dialect: Dialect) {
    self.dialect = dialect
    var kinds = [Kind](repeating: .plain, count: 256)
    kinds[10] = .lineFeed
    kinds[13] = .carriageReturn
    kinds[Int(dialect.delimiter)] = .delimiter
    if let escape = dialect.escape { kinds[Int(escape)] = .escape }
    self.kinds = kinds
  }

  /// Parses one record at the start of `bytes`. `isLast` says that nothing follows them.
  ///
  /// - Complexity: O(bytes of the record).
  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, isLast: Bool, wantsFields: Bool
  ) -> Outcome {
    fields.removeAll(keepingCapacity: true)
    unclosedQuote = nil
    guard let start = bytes.baseAddress, !bytes.isEmpty else {
      return isLast ? .nothing : .incomplete
    }
    let text = start.assumingMemoryBound(to: UInt8.self)
    let count = bytes.count
    return kinds.withUnsafeBufferPointer { kinds in
      var at = 0
      while true {
        let fieldStart = at
        var isRaw = false
        if at < count, text[at] == dialect.quote {
          isRaw = true
          guard let end = afterQuoted(text, count, at + 1, isLast) else { return .incomplete }
          if end > count { unclosedQuote = fieldStart }
          at = min(end, count)
        }
        while at < count {
          let kind = kinds[Int(text[at])]
          if kind == .plain {
            at += 1
          } else if kind == .escape {
            isRaw = true
            if at + 1 == count, !isLast { return .incomplete }
            at = min(at + 2, count)
          } else {
            break
          }
        }
        if at == count, !isLast { return .incomplete }
        if wantsFields { fields.append(Field(start: fieldStart, end: at, isRaw: isRaw)) }
        if at == count { return .record(end: at, next: at) }
        switch kinds[Int(text[at])] {
        case .delimiter: at += 1
        case .lineFeed: return .record(end: at, next: at + 1)
        default:
          if at + 1 == count, !isLast { return .incomplete }
          let isPair = at + 1 < count && text[at + 1] == 10
          return .record(end: at, next: at + (isPair ? 2 : 1))
        }
      }
    }
  }

  /// Where a quoted part ends, just behind its closing quote; beyond `count` if it never closes; nil
  /// if more bytes are needed to tell.
  private func afterQuoted(
    _ text: UnsafePointer<UInt8>, _ count: Int, _ start: Int, _ isLast: Bool
  ) -> Int? {
    var at = start
    while at < count {
      let byte = text[at]
      if byte == dialect.escape {
        if at + 1 == count, !isLast { return nil }
        at += 2
      } else if byte == dialect.quote {
        if at + 1 == count, !isLast { return nil }
        guard at + 1 < count, text[at + 1] == dialect.quote else { return at + 1 }
        at += 2
      } else {
        at += 1
      }
    }
    return isLast ? count + 1 : nil
  }

  /// Appends the cell that a raw field holds to `cell`.
  func unquote(_ field: UnsafeRawBufferPointer, into cell: inout [UInt8]) {
    var at = 0
    var isQuoted = false
    if let quote = dialect.quote, field.first == quote {
      isQuoted = true
      at = 1
    }
    while at < field.count {
      let byte = field[at]
      if byte == dialect.escape, at + 1 < field.count {
        cell.append(field[at + 1])
        at += 2
      } else if isQuoted, byte == dialect.quote {
        if at + 1 < field.count, field[at + 1] == dialect.quote {
          cell.append(byte)
          at += 2
        } else {
          isQuoted = false
          at += 1
        }
      } else {
        cell.append(byte)
        at += 1
      }
    }
  }
}
