import CTabellaScan
import Tabella

/// The rules that divide a text into records, and records into fields.
///
/// A record ends at LF or CRLF outside quotes. A quote opens only at the start of a field. Inside quotes, a doubled
/// quote means one quote. docs/providers/csv.md has all rules.
public struct RecordRules: Hashable, Sendable {
  /// The byte between the fields of a record; nil if a record is one field.
  public var delimiter: UInt8?
  /// The byte that encloses fields; nil if there is none.
  public var quote: UInt8?
  /// The byte that makes the next byte literal; nil if there is none.
  public var escape: UInt8?
  /// Whether a CR alone also ends a record.
  public var endsAtCarriageReturn: Bool
  /// A digest of the reading, if the text is not the file's own bytes (converted, or without comments); otherwise
  /// 0.
  ///
  /// It makes ids differ between readings of a file, because offsets mean other records in another reading.
  public var reading: UInt64 = 0

  /// Creates rules.
  public init(
    delimiter: UInt8? = nil, quote: UInt8? = nil, escape: UInt8? = nil,
    endsAtCarriageReturn: Bool = false
  ) {
    self.delimiter = delimiter
    self.quote = quote
    self.escape = escape
    self.endsAtCarriageReturn = endsAtCarriageReturn
  }

  /// The rules for plain lines.
  public static let lines = RecordRules()

  /// The error for a record that is too large for a batch.
  func tooLarge(_ number: Int, at offset: Int) -> TableError {
    TableError(
      .constraint,
      "the row at byte \(offset) is larger than 2 GiB"
        + (quote == nil ? "" : " (if a quote is not closed, see -o quote)"),
      section: 0, row: number)
  }

  /// The rules in the format of the C scanner.
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
