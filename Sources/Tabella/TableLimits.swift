/// The maximum numbers of rows and sections. They prevent endless counting and overflows: the rows of all sections together
/// are fewer than 2^63.
///
/// Every number of rows or sections is checked where it enters: from a provider, a worker or a command line.
public enum TableLimits {
  /// The maximum number of rows in a section.
  public static let rows = 1 << 36
  /// The maximum number of sections.
  public static let sections = 100_000_000
}

extension IndexPath {
  /// Returns the path. Throws ``TableError`` with `code` if it is outside the limits.
  ///
  /// `mayBeSection` allows the path of a section.
  @discardableResult
  public func checked(
    mayBeSection: Bool = false, else code: TableError.Code = .misbehaved
  ) throws(TableError) -> IndexPath {
    guard 0...TableLimits.sections ~= section, (mayBeSection ? -1 : 0)...TableLimits.rows ~= row
    else { throw TableError(code, "\(section):\(row) is not a position in a table") }
    return self
  }
}
