/// Where a row is: its section and its number in it, both from 0.
///
/// As in UIKit, `IndexPath(section: 1, row: 2)`. The corresponding C type is `tabella_index_path`.
public struct IndexPath: Hashable, Sendable, Comparable {
  public var section: Int
  public var row: Int

  public init(section: Int, row: Int) {
    self.section = section
    self.row = row
  }

  /// The path of a section as such: its row is -1.
  public static func section(_ section: Int) -> IndexPath {
    IndexPath(section: section, row: -1)
  }

  /// Whether the path names a section only.
  public var isSection: Bool { row < 0 }

  public static func < (left: IndexPath, right: IndexPath) -> Bool {
    (left.section, left.row) < (right.section, right.row)
  }
}

extension IndexPath: CustomStringConvertible {
  public var description: String { isSection ? "\(section)" : "\(section):\(row)" }
}
