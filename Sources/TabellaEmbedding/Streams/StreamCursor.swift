import Tabella

/// Reads the rows of a stream, section after section.
struct StreamCursor {
  /// Rows of one section.
  struct Part {
    var section: Int
    /// The number of the first row in the section.
    var first: Int
    var rows: Batch
  }

  /// The number of rows from which a batch is delivered as the source returned it, without copying cells.
  private static let enoughRows = 8192
  /// The number of bytes from which a batch is delivered even if it has few rows.
  private static let enoughBytes = 16 << 20
  /// A section with so many rows is read alone.
  private static let manyRows = 1024
  /// The maximum number of rows of several sections that are gathered at once.
  private static let mostGathered = 1 << 16

  private let source: any TableDataSource
  private let request: StreamRequest
  private var section: Int
  /// The next row of the section.
  private var row = 0
  /// The number of rows to pass over.
  private var skipped: Int
  /// The number of rows that may follow.
  private var left: Int
  private var isAtEnd = false
  /// Rows that did not fit into the last batch.
  private var held: [Part] = []
  /// The number of rows of several sections to gather at once. It grows, so that the first rows come soon.
  private var mostGathered = StreamCursor.manyRows

  init(_ source: any TableDataSource, _ request: StreamRequest) {
    self.source = source
    self.request = request
    section = request.section ?? 0
    skipped = request.first
    left = request.count
  }

  /// The next rows, at most as many as fit into one batch; empty at the end.
  mutating func next(flag: CancelFlag) throws(TableError) -> [Part] {
    var parts: [Part] = []
    var (rows, bytes) = (0, 0)
    // The bytes of each column. There can be thousands of parts.
    var sizes: [Int] = []
    func add(_ part: Part) {
      let more = part.rows.columns.map(\.byteCount)
      sizes = parts.isEmpty ? more : zip(sizes, more).map { $0 + $1 }
      parts.append(part)
      rows += part.rows.rowCount
      bytes += more.reduce(0, +)
    }
    // The columns of a batch are joined with those of the other parts: offsets of cells have 31 bits.
    func fits(_ batch: Batch) -> Bool {
      parts.isEmpty || zip(sizes, batch.columns).allSatisfy { $0 + $1.byteCount <= Int32.max }
    }
    for part in held { add(part) }
    held = []
    let enough = min(StreamCursor.enoughRows, request.rowsPerBatch)
    while rows < enough, bytes < StreamCursor.enoughBytes, left > 0, !isAtEnd {
      try flag.check()
      guard try skip() else { continue }
      let most = min(left, request.rowsPerBatch - rows)
      let paths = try pathsOfShortSections(min(most, mostGathered))
      let batch =
        try paths.isEmpty
        ? source.rows(
          RowRequest(
            section: section, first: row, count: most, columns: request.columns,
            includesIDs: request.includesID))
        : source.gather(paths, columns: request.columns, includesIDs: request.includesID)
      guard batch.rowCount > 0 else {
        if let path = paths.first { throw .noRow(path.row, inSection: path.section, of: path.row) }
        try nextSection()
        continue
      }
      let read =
        paths.isEmpty
        ? [Part(section: section, first: row, rows: batch)]
        : StreamCursor.parts(of: batch, paths)
      if let last = read.last { (section, row) = (last.section, last.first + last.rows.rowCount) }
      left -= batch.rowCount
      guard fits(batch) else {
        held = read
        break
      }
      for part in read { add(part) }
    }
    return parts
  }

  /// The paths of the next rows if they belong to several short sections of a view, otherwise none.
  ///
  /// The rows of a group are scattered over its table, so rows of many groups are read together.
  private mutating func pathsOfShortSections(_ most: Int) throws(TableError) -> [IndexPath] {
    // Counting the rows of the only section would delay the first rows of a filter.
    guard source is MappedSource, request.section == nil, source.sections != nil,
      try source.numberOfSections(knowing: 2).value > 1
    else { return [] }
    var paths: [IndexPath] = []
    var next = IndexPath(section: section, row: row)
    while paths.count < most,
      try source.numberOfSections(knowing: next.section + 1).value > next.section
    {
      let end = next.row + min(most - paths.count, StreamCursor.manyRows)
      let count = try source.numberOfRows(inSection: next.section, knowing: end).value
      guard count < end else { break }
      for row in next.row..<max(next.row, count) {
        paths.append(IndexPath(section: next.section, row: row))
      }
      next = IndexPath(section: next.section + 1, row: 0)
    }
    guard let first = paths.first, first.section != paths.last?.section else { return [] }
    mostGathered = min(2 * mostGathered, StreamCursor.mostGathered)
    return paths
  }

  /// Divides gathered rows by their sections.
  private static func parts(of batch: Batch, _ paths: [IndexPath]) -> [Part] {
    var parts: [Part] = []
    var start = 0
    while start < batch.rowCount {
      let path = paths[start]
      var end = start + 1
      while end < batch.rowCount, paths[end].section == path.section { end += 1 }
      parts.append(Part(section: path.section, first: path.row, rows: batch[start..<end]))
      start = end
    }
    return parts
  }

  /// Passes over rows of the section. Returns whether the next row is in this section.
  private mutating func skip() throws(TableError) -> Bool {
    guard skipped > 0 else { return try hasSection() }
    guard try hasSection() else { return false }
    let known = try source.numberOfRows(
      inSection: section, knowing: skipped == .max ? .max : skipped + 1
    ).value
    guard known <= skipped else {
      (row, skipped) = (skipped, 0)
      return true
    }
    skipped -= known
    try nextSection()
    return false
  }

  /// Whether the section exists. Otherwise the stream is at its end.
  private mutating func hasSection() throws(TableError) -> Bool {
    guard row == 0, request.section == nil else { return true }
    isAtEnd = try source.numberOfSections(knowing: section + 1).value <= section
    return !isAtEnd
  }

  private mutating func nextSection() throws(TableError) {
    (section, row) = (section + 1, 0)
    isAtEnd = request.section != nil
  }
}

extension ColumnBatch {
  /// The number of bytes of text and binary cells.
  var byteCount: Int {
    withUnsafeLayout { layout in
      guard let offsets = layout.offsets, count > 0 else { return 0 }
      return Int(offsets[layout.start + count]) - Int(offsets[layout.start])
    }
  }
}
