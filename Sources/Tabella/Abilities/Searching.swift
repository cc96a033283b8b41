// Skipping rows that cannot satisfy a filter. This is no ability of the contract: it only saves time, and only between
// a host and the providers that were built with it.

/// Text that a row must contain: at least one of several texts, within one cell of a text column.
package struct SearchTerm: Hashable, Sendable {
  /// The texts, none of them empty. If the case of ASCII letters is ignored, these letters are in lower case.
  package var texts: [[UInt8]]
  /// Whether the case of ASCII letters is ignored.
  package var ignoresCase: Bool

  /// Creates a term.
  package init(_ texts: [[UInt8]], ignoresCase: Bool = false) {
    self.texts = texts
    self.ignoresCase = ignoresCase
  }
}

/// The rows that a source found.
package struct FoundRows {
  /// The requested columns, followed by a column of integers: the number of each row, in ascending order.
  package var batch: Batch
  /// The number of the first row that was not examined. If it is the first requested row, the section ends there.
  package var next: Int

  /// Creates an answer.
  package init(_ batch: Batch, next: Int) {
    self.batch = batch
    self.next = next
  }

  /// An answer with all rows of a batch that begins with the row `first`.
  package init(_ batch: Batch, from first: Int) {
    let rows = first..<first + batch.rowCount
    self.init(batch, numbers: Array(rows), next: rows.upperBound)
  }

  /// An answer with the rows of a batch, which have these numbers.
  package init(_ batch: Batch, numbers: [Int], next: Int) {
    let column = BatchBuilder([.integer], capacity: numbers.count)
    for number in numbers { column.columns[0].append(Int64(number)) }
    self.init(
      Batch(
        rowCount: batch.rowCount,
        columns: batch.columns + [column.finish(rowCount: numbers.count).columns[0]],
        ids: batch.ids, isUTF8: batch.isUTF8), next: next)
  }

  /// The column of the numbers.
  static let numbers = Column("number", .integer)

  /// The numbers of the rows.
  var numbers: [Int] {
    guard let column = batch.columns.last else { return [] }
    return (0..<batch.rowCount).map { Int(column.integer($0)) }
  }
}

/// A source that finds rows by text faster than a caller who reads all rows.
package protocol RowSearching: AnyObject {
  /// Whether the source can search. The answer stays the same.
  var canSearch: Bool { get }

  /// Returns rows from `request.first` on that may contain all terms, and leaves out rows that lack one.
  ///
  /// The source may also return rows that lack a term, so the caller must test each row. It examines as many rows as it
  /// likes, at least one unless the section ends there, and returns at most `request.count` rows. Columns, ids and errors
  /// are as in ``TableDataSource/rows(_:)``.
  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows
}

extension RowSearching {
  package var canSearch: Bool { true }
}

extension RowRequest {
  /// The same request with the column of numbers, for a source with `count` columns.
  package func numbered(of columns: [Column]) -> (request: RowRequest, columns: [Column]) {
    var request = self
    request.columns.append(columns.count)
    return (request, columns + [FoundRows.numbers])
  }
}

extension TableDataSource {
  /// The part of this source that searches; nil if the source cannot do so.
  package var searching: (any RowSearching)? {
    // A cast to a class is cheap, and most sources are of these classes.
    let searcher: (any RowSearching)?
    switch self {
    case let source as CheckedSource: searcher = source
    case let source as JoinedSource: searcher = source
    case is MappedSource: searcher = nil
    default: searcher = self as? any RowSearching
    }
    return searcher?.canSearch == true ? searcher : nil
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource: RowSearching {
  package var canSearch: Bool { searcher?.canSearch == true }

  package func rows(
    _ request: RowRequest, containing terms: [SearchTerm]
  ) throws(TableError) -> FoundRows {
    try check(request)
    return try call("searching.rows") { _ throws(TableError) in
      let found = try offered(searcher).rows(request, containing: terms)
      let asked = request.numbered(of: columns)
      try found.batch.validate(answering: asked.request, of: asked.columns)
      try found.checkNumbers(from: request.first)
      return found
    }
  }
}

extension FoundRows {
  /// Throws ``TableError`` with `.misbehaved` unless the numbers ascend and belong to examined rows.
  fileprivate func checkNumbers(from first: Int) throws(TableError) {
    guard next >= first, next <= TableLimits.rows else {
      throw TableError(.misbehaved, "examined the rows \(first) to \(next)")
    }
    guard batch.columns.last?.missingCount == 0 else {
      throw TableError(.misbehaved, "returned a row without a number")
    }
    var least = first
    for number in numbers {
      guard number >= least, number < next else {
        throw TableError(.misbehaved, "returned row \(number) among \(least) to \(next)")
      }
      least = number + 1
    }
  }
}
