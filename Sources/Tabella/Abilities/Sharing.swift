// Reading a table with several threads. This is no ability of the contract: it only saves time, and only between a host
// and the providers that were built with it.

/// A source whose rows several threads can read at the same time, each a share of them.
package protocol RowSharing: AnyObject {
  /// Whether the source can divide its rows. The answer stays the same.
  var canShare: Bool { get }

  /// Divides the rows of a section from `first` on into shares of about `size` bytes. Returns nil if that is impossible, or
  /// not worth a thread.
  ///
  /// `first` is a row that the caller has reached by reading, or the end of the section.
  func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)?

  /// Reads rows of a section in any order, and divides them into shares of about `size` bytes. Returns nil if that is
  /// impossible, or not worth a thread.
  ///
  /// The shares may have only the first of the rows. Each row is the number of one that the caller has reached by reading.
  /// `rows` is valid during the call.
  func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)?
}

/// Rows of a section, divided into shares.
///
/// A share is a source of one section. Its rows are numbered from 0. It never reports diagnostics. The borders of
/// shares can be guesses. So a share can fail, and then the caller reads on from the source itself.
package protocol RowShares: AnyObject {
  /// The number of shares. Some of them can be empty.
  var count: Int { get }
  /// The number of rows, once all shares were taken; nil if the section ends with them.
  var rowCount: Int? { get }

  /// Returns a share. Several threads may call this at the same time, and each may use the shares that it received.
  func share(_ number: Int) throws(TableError) -> any TableDataSource

  /// Takes over what a share has found out while all of its rows were read.
  ///
  /// The owner of the source calls this for one share after the other, from the first on. Throws ``TableError`` if the
  /// share does not begin where the previous one ended, or does not end with a row. Its rows are then wrong.
  func take(_ share: any TableDataSource) throws(TableError)
}

extension RowSharing {
  package var canShare: Bool { true }

  package func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? { nil }
}

extension RowShares {
  package var rowCount: Int? { nil }
}

extension TableDataSource {
  /// The part of this source that divides its rows; nil if the source cannot do so.
  package var sharing: (any RowSharing)? {
    // A cast to a class is cheap, and most sources are of these classes.
    let sharer: (any RowSharing)?
    switch self {
    case let source as CheckedSource: sharer = source.sharer
    case let source as FilteredSource: sharer = source
    case let source as JoinedSource: sharer = source
    case let source as SortedSource: sharer = source
    case let source as SummarizedSource: sharer = source
    case is MappedSource: sharer = nil
    default: sharer = self as? any RowSharing
    }
    return sharer?.canShare == true ? sharer : nil
  }
}
