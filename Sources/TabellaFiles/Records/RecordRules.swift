import CTabellaScan
import Tabella

/// What divides a text into records, and those into fields.
///
/// A record ends at LF or CRLF, outside quotes. A quote opens only at the start of a field; inside, a
/// doubled one stands for itself. docs/providers/csv.md has the whole.
public struct RecordRules: Hashable, Sendable {
  /// What separates the fields of a record; nil if a record is one field.
  public var delimiter: UInt8?
  /// What encloses fields; nil if nothing does.
  public var quote: UInt8?
  /// What makes the next byte plain; nil if nothing does.
  public var escape: UInt8?
  /// Whether a CR alone ends a record too.
  public var endsAtCarriageReturn: Bool
  /// Tells the ids of records in a text that is not the file's own bytes (converted, without comments) from
  /// those in another reading of the file, where other records lie at the same places; 0 for the bytes.
  public var reading: UInt64 = 0

  public init(
    delimiter: UInt8? = nil, quote: UInt8? = nil, escape: UInt8? = nil,
    endsAtCarriageReturn: Bool = false
  ) {
    self.delimiter = delimiter
    self.quote = quote
    self.escape = escape
    self.endsAtCarriageReturn = endsAtCarriageReturn
  }

  /// Lines, and nothing else.
  public static let lines = RecordRules()

  /// The error for a record that no batch could hold, and no memory should.
  func tooLarge(_ number: Int, at offset: Int) -> TableError {
    TableError(
      .constraint,
      "the row at byte \(offset) is larger than 2 GiB"
        + (quote == nil ? "" : " (is a quote never closed? see -o quote)"),
      section: 0, row: number)
  }

  /// The form that the kernel takes.
  var scan: tabella_scan_rules {
    var uses: UInt32 = 0
    if delimiter != nil { uses |= TABELLA_SCAN_DELIMITER }
    if quote != nil { uses |= TABELLA_SCAN_QUOTE }
    if escape != nil { uses |= TABELLA_SCAN_ESCAPE }
    if endsAtCarriageReturn { uses |= TABELLA_SCAN_CARRIAGE_RETURN }
    return tabella_scan_rules(
      delimiter: delimiter ?? 0, quote: quote ?? 0, escape: escape ?? 0, uses: UInt8(uses))
  }
}
