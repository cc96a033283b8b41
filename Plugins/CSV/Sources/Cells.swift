import CTabellaScan
import Tabella
import TabellaFiles

/// Decodes fields into cells by removing quotes and escapes.
struct Cells {
  private let quote: UInt8?
  private let escape: UInt8?
  /// Whether escapes are those of C, such as `\t`, and `\N` is a missing cell.
  private let hasCodes: Bool

  init(_ rules: RecordRules, hasEscapes: Bool = false) {
    quote = rules.quote
    escape = hasEscapes ? UInt8(ascii: "\\") : rules.escape
    hasCodes = hasEscapes
  }

  /// Calls `body` with the cell of a column, or with nil if the record has none. `width` is the number of columns.
  @inline(__always)
  func withCell<R>(
    _ column: Int, _ page: RecordPage, _ record: Int, width: Int,
    _ body: (UnsafeRawBufferPointer?) -> R
  ) -> R {
    guard let (range, isSurplus) = page.bounds(column, record, width: width) else {
      return body(nil)
    }
    let field = UnsafeRawBufferPointer(start: page.bytes + range.lowerBound, count: range.count)
    if isSurplus { return body(field) }
    return withUnsafeTemporaryAllocation(byteCount: field.count + RecordPage.slack, alignment: 16) {
      place in
      let count = write(field.baseAddress!, field.count, to: place.baseAddress!)
      if count < 0 { return body(nil) }
      return body(UnsafeRawBufferPointer(rebasing: place[..<count]))
    }
  }

  /// Decodes a field into `place`. Returns the length of the cell, or -1 if the cell is missing.
  ///
  /// `place` needs room for `count` and ``RecordPage/slack`` bytes. As many bytes must be readable at `field`.
  @inline(__always)
  func write(_ field: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) -> Int {
    if let quote, count > 0, field.load(as: UInt8.self) == quote {
      return escape == nil
        ? unquote(field, count, quote, to: place) : unescape(field, count, to: place)
    }
    if let escape, memchr(field, Int32(escape), count) != nil {
      return hasCodes ? decode(field, count, to: place) : unescape(field, count, to: place)
    }
    copy(field, count, to: place)
    return count
  }

  /// How the text for a digest (``Tabella/RowDigesting``) is made from records with a cell for each column.
  enum DigestForm {
    /// It is the stored text with other separators.
    case stored
    /// It is the stored text without quotes.
    case unquoted
    /// The cells are written one after the other.
    case written
  }

  /// The form for all records of a page in a range.
  func digestForm(_ page: RecordPage, _ records: Range<Int>) -> DigestForm {
    let text = page.bytes(of: records)
    if DigestText.isMarked(text) { return .written }
    guard let first = text.baseAddress, quote != nil || escape != nil else { return .stored }
    let (quote, escape) = (quote ?? escape!, escape ?? quote!)
    if tabella_scan_has(first, text.count, quote, escape, quote, escape) == 0 { return .stored }
    return self.escape == nil && page.hasOnlyRealQuotes ? .unquoted : .written
  }

  /// Adds the cells of a record whose form is ``DigestForm/unquoted`` to a digest.
  func addUnquoted(
    _ record: UnsafeRawBufferPointer, _ delimiter: UInt8, to digest: inout RowDigest
  ) {
    guard let quote, let first = record.assumingMemoryBound(to: UInt8.self).baseAddress else {
      return
    }
    withUnsafeTemporaryAllocation(byteCount: record.count + RecordPage.slack, alignment: 16) {
      place in
      let count = tabella_scan_join(
        first, record.count, delimiter, quote, DigestBytes.separator,
        place.assumingMemoryBound(to: UInt8.self).baseAddress!)
      digest.add(text: UnsafeRawBufferPointer(rebasing: place[..<count]))
    }
  }

  /// Copies in one move of fixed size if possible. Most cells are short, and a call of `memcpy` costs more.
  @inline(__always)
  private func copy(_ from: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) {
    if count <= 32 {
      place.storeBytes(
        of: from.loadUnaligned(as: SIMD32<UInt8>.self), as: SIMD32<UInt8>.self)
    } else {
      memcpy(place, from, count)
    }
  }

  /// Decodes a quoted field without escapes. Bytes after the closing quote stay as they are.
  ///
  /// The result equals that of ``unescape(_:_:to:)``; the tests compare both.
  private func unquote(
    _ field: UnsafeRawPointer, _ count: Int, _ quote: UInt8, to place: UnsafeMutableRawPointer
  ) -> Int {
    var read = 0
    let written = tabella_scan_unquote(
      field.assumingMemoryBound(to: UInt8.self) + 1, count - 1, quote,
      place.assumingMemoryBound(to: UInt8.self), &read)
    let rest = count - 1 - read
    if rest > 0 { copy(field + 1 + read, rest, to: place + written) }
    return written + rest
  }

  /// Decodes a field with escapes. It removes the opening and the closing quote and halves doubled quotes in between.
  /// It removes an escape if a byte follows.
  private func unescape(
    _ field: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer
  ) -> Int {
    var at = 0
    var written = 0
    var isQuoted = false
    if let quote, field.load(as: UInt8.self) == quote {
      isQuoted = true
      at = 1
    }
    func take(_ count: Int) {
      copy(field + at, count, to: place + written)
      at += count
      written += count
    }
    while at < count {
      let plain = next(field, at, count, isQuoted)
      take(plain - at)
      if at == count { break }
      let byte = field.load(fromByteOffset: at, as: UInt8.self)
      at += 1
      if byte == escape {
        // An escape at the end is an ordinary byte.
        if at == count { at -= 1 }
        take(1)
      } else if at < count, field.load(fromByteOffset: at, as: UInt8.self) == byte {
        take(1)
      } else {
        isQuoted = false
      }
    }
    return written
  }

  /// Decodes C's escapes: `\t`, `\n`, `\r`, `\\`, and `\xFF` for any byte. Any other backslash is an ordinary byte.
  ///
  /// Returns -1 for a field that is just `\N`, a missing cell.
  private func decode(
    _ field: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer
  ) -> Int {
    let text = UnsafeRawBufferPointer(start: field, count: count)
    if count == 2, text[1] == UInt8(ascii: "N") { return -1 }
    var (at, written) = (0, 0)
    while at < count {
      let code = text[at] == escape && at + 1 < count ? text[at + 1] : 0
      let byte: UInt8
      switch code {
      case UInt8(ascii: "t"): (byte, at) = (9, at + 2)
      case UInt8(ascii: "n"): (byte, at) = (10, at + 2)
      case UInt8(ascii: "r"): (byte, at) = (13, at + 2)
      case UInt8(ascii: "\\"): (byte, at) = (code, at + 2)
      case UInt8(ascii: "x"):
        if at + 3 < count, let high = Cells.digit(text[at + 2]), let low = Cells.digit(text[at + 3])
        {
          (byte, at) = (high << 4 | low, at + 4)
        } else {
          (byte, at) = (text[at], at + 1)
        }
      default: (byte, at) = (text[at], at + 1)
      }
      place.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
      written += 1
    }
    return written
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }

  /// The offset of the next quote or escape; `count` if there is none.
  private func next(_ field: UnsafeRawPointer, _ start: Int, _ count: Int, _ isQuoted: Bool) -> Int
  {
    func first(_ byte: UInt8?) -> Int {
      guard let byte, let found = memchr(field + start, Int32(byte), count - start) else {
        return count
      }
      return UnsafeRawPointer(found) - field
    }
    let escaped = first(escape)
    return isQuoted ? min(escaped, first(quote)) : escaped
  }
}
