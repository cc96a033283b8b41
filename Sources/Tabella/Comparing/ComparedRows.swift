/// Rows of a table that take part in a comparison: some consecutive rows of each section, in order.
///
/// The paths of a comparison count only these rows and sections, from 0.
public struct ComparedRows {
  /// The table.
  public let source: any TableDataSource
  /// The numbers of the sections.
  public let sections: [Int]
  /// The rows of each section.
  public let rows: [Range<Int>]
  /// The number of rows before each section, and the number of all rows.
  let starts: [Int]

  /// The maximum number of rows of a table in a comparison.
  public static let mostRows = Int(Int32.max) / 2
  /// The number of rows per request.
  private static let chunk = 1 << 14

  /// Chooses rows of a table. Throws ``TableError`` with `.notSupported` for more than ``mostRows``.
  public init(
    _ source: any TableDataSource, runs: [(section: Int, rows: Range<Int>)]
  ) throws(TableError) {
    self.source = source
    sections = runs.map(\.section)
    rows = runs.map(\.rows)
    var starts = [0]
    for run in runs {
      starts.append(starts[starts.count - 1].advancedUp(by: run.rows.count))
    }
    guard starts[starts.count - 1] <= Self.mostRows else {
      throw TableError(
        .notSupported, "has more than \(Self.mostRows) rows, so it cannot be compared")
    }
    self.starts = starts
  }

  /// Chooses all rows of a table.
  public init(_ source: any TableDataSource) throws(TableError) {
    var runs: [(section: Int, rows: Range<Int>)] = []
    let sections = try source.numberOfSections(knowing: .max).value
    for section in 0..<sections {
      runs.append((section, 0..<(try source.exactNumberOfRows(inSection: section))))
    }
    try self.init(source, runs: runs)
  }

  /// The number of all rows.
  public var count: Int { starts[starts.count - 1] }

  /// The numbers of a section's rows among all rows.
  func range(ofSection section: Int) -> Range<Int> { starts[section]..<starts[section + 1] }

  /// The title of a section.
  public func title(ofSection section: Int) throws(TableError) -> String? {
    try source.sections?.title(.header, ofSection: sections[section])
  }

  /// The path of a row in the table.
  public func pathInTable(_ path: IndexPath) -> IndexPath {
    path.isSection
      ? .section(sections[path.section])
      : IndexPath(
        section: sections[path.section], row: rows[path.section].lowerBound + path.row)
  }

  /// Reads rows at any paths, some columns of them. Calls `body` with batches that have the rows in this order.
  public func read(
    _ paths: [IndexPath], columns: [Int], includesIDs: Bool = false,
    _ body: (Batch) throws(TableError) -> Void
  ) throws(TableError) {
    var rest = paths[...]
    while !rest.isEmpty {
      let batch = try source.gather(
        rest.prefix(Self.chunk).map { pathInTable($0) }, columns: columns,
        includesIDs: includesIDs)
      try body(batch)
      rest.removeFirst(batch.rowCount)
    }
  }
}
