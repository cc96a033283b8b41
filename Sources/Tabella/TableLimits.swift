/// How much a table may have: beyond is no table, a reader would count for ever, and sums of places could
/// overflow.
///
/// Whatever says a number of rows or sections is held to it where the number comes in: a provider, a worker,
/// a command line.
public enum TableLimits {
  public static let rows = 1 << 56
  public static let sections = 100_000_000
}

extension Count {
  /// The count. Throws ``TableError`` with `.misbehaved` if no table has as many.
  public func checked(limit: Int) throws(TableError) -> Count {
    guard 0...limit ~= value else { throw TableError(.misbehaved, "counted \(self)") }
    return self
  }
}

extension IndexPath {
  /// The place. Throws ``TableError`` with `.misbehaved` if no table has it; `mayBeSection`: it may be that of
  /// a section.
  public func checked(mayBeSection: Bool = false) throws(TableError) -> IndexPath {
    guard 0...TableLimits.sections ~= section, (mayBeSection ? -1 : 0)...TableLimits.rows ~= row
    else { throw TableError(.misbehaved, "\(section):\(row) is no place of a table") }
    return self
  }
}
