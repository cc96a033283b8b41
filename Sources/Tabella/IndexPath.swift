/// The position of a row: the number of its section and its number in that section, both from 0.
///
/// As in UIKit, `IndexPath(section: 1, row: 2)`. The corresponding C type is `tabella_index_path`.
public struct IndexPath: Hashable, Sendable, Comparable {
  /// The number of the section.
  public var section: Int
  /// The number of the row in its section; -1 for the path of a section.
  public var row: Int

  /// Creates the path of a row.
  public init(section: Int, row: Int) {
    self.section = section
    self.row = row
  }

  /// The path of a section itself. Its row is -1.
  public static func section(_ section: Int) -> IndexPath {
    IndexPath(section: section, row: -1)
  }

  /// Whether the path names a section rather than a row.
  public var isSection: Bool { row < 0 }

  public static func < (left: IndexPath, right: IndexPath) -> Bool {
    (left.section, left.row) < (right.section, right.row)
  }
}

extension IndexPath: CustomStringConvertible {
  public var description: String { isSection ? "\(section)" : "\(section):\(row)" }
}
