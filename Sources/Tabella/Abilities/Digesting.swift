// Comparing rows without reading their cells. This is no ability of the contract: it only saves time, and only between a
// host and the providers that were built with it.

/// A source that computes digests of its rows itself, which takes less time than to return their cells.
///
/// Equal rows of two such sources have equal digests. A row of text has the digest of one text: its cells with the byte
/// ``DigestBytes/separator`` between them, in which ``DigestBytes/mark`` stands in front of both bytes; and `N` after the
/// mark is a missing cell. So most rows of a stored text can be digested as they are stored.
package protocol RowDigesting: AnyObject {
  /// Whether the source can compute the digests of these columns.
  func canDigest(_ columns: [Int]) -> Bool

  /// Returns the digests as a source with the same sections and rows. It is valid as long as this source.
  ///
  /// For each list of columns, it has two columns of integers: the words of the row's ``RowDigest`` of these cells, in this
  /// order, computed from `empty`.
  func digests(
    of lists: [[Int]], from empty: RowDigest
  ) throws(TableError) -> any TableDataSource
}

/// The special bytes of the text that stands for a row; see ``RowDigesting``.
package enum DigestBytes {
  package static let separator: UInt8 = 0x1F
  package static let mark: UInt8 = 0x10
}

extension TableDataSource {
  /// The part of this source that computes the digests of these columns; nil if the source cannot do so.
  func digesting(_ columns: [Int]) -> (any RowDigesting)? {
    let digester: (any RowDigesting)?
    switch self {
    case let source as CheckedSource: digester = source.digester
    case is MappedSource: digester = nil
    default: digester = self as? any RowDigesting
    }
    return digester?.canDigest(columns) == true ? digester : nil
  }
}

extension [Column] {
  /// The columns of a source of digests of so many lists of columns.
  package init(digestsOf lists: Int) {
    self = (0..<2 * lists).map { Column("digest \($0)", .integer) }
  }
}
