/// The digests of the rows of both tables, and the keys as numbers: equal keys have equal numbers.
struct TableDigests {
  let oldRows: [RowDigest]
  let newRows: [RowDigest]
  let oldKeys: [Int32]
  let newKeys: [Int32]
  let keyCount: Int

  init(
    _ old: ComparedRows, _ new: ComparedRows, _ columns: ComparedColumns, keys: [Int]
  ) throws(TableError) {
    let pairs = columns.pairs
    let digests = try CollectedDigests.sources(old.source, new.source, pairs, keys)
    var numbers = DigestNumbers()
    func collect(
      _ side: ComparedRows, _ digests: (any TableDataSource)?,
      _ number: (ComparedColumns.Pair) -> Int
    ) throws(TableError) -> (rows: [RowDigest], keys: [Int32]) {
      var collected =
        if let digests {
          CollectedDigests(ofDigests: digests, keys)
        } else {
          CollectedDigests(side.source.columns, pairs.map { (number($0), $0.isText) }, keys)
        }
      collected.begin(numbering: numbers, count: side.count)
      // Otherwise the next addition would copy all numbers.
      numbers = DigestNumbers()
      try side.collect(rowsOf: digests ?? side.source, into: &collected)
      numbers = collected.keys.numbers ?? DigestNumbers()
      return (collected.rows, collected.keys.numbered)
    }
    (oldRows, oldKeys) = try collect(old, digests?.old, \.old)
    (newRows, newKeys) = try collect(new, digests?.new, \.new)
    keyCount = numbers.count
  }

  /// A digest of the rows of a section.
  static func digest(_ rows: ArraySlice<RowDigest>) -> RowDigest {
    var digest = RowDigest.empty
    for row in rows {
      digest.add(row.first)
      digest.add(row.second)
    }
    return digest
  }
}

extension ComparedRows {
  /// Collects the digests of all rows of the source, or of the source of their digests. Threads share the sections of
  /// which all rows are compared.
  fileprivate func collect(
    rowsOf source: any TableDataSource, into digests: inout CollectedDigests
  ) throws(TableError) {
    if let grouped = source as? GroupedSource {
      let counts = try grouped.grouped().groups.counts
      if sections == Array(counts.indices), rows == counts.map({ 0..<$0 }) {
        return try digests.append(grouped)
      }
    }
    for (section, rows) in zip(sections, rows) {
      let known = try source.numberOfRows(inSection: section, knowing: .max)
      let columns = digests.columns
      let count =
        rows == 0..<known.value
        ? try Tabella.collect(
          source, section: section, columns: columns, into: &digests, CancelFlag()
        ) { _ in }
        : try source.forEachBatch(ofSection: section, rows, columns: columns) {
          digests.append($0)
        }
      guard count == rows.count else {
        let end = rows.lowerBound + count
        throw .noRow(end, inSection: section, of: end)
      }
    }
  }
}

/// The digests of some cells of rows, and those of the keys among the cells.
struct CollectedDigests: RowCollector {
  /// The columns to read.
  let columns: [Int]
  private(set) var rows: [RowDigest] = []
  /// The keys as numbers; see ``DigestNumbers``. A part that a thread reads has digests instead, and no numbers yet.
  private(set) var keys: (digests: [RowDigest], numbered: [Int32], numbers: DigestNumbers?) = (
    [], [], nil
  )
  /// The columns of the table, and which of the read ones are compared as text. Nil if the rows are digests; see
  /// ``RowDigesting``.
  private let cells: (all: [Column], isText: [Bool])?
  /// The indices of the keys among the compared columns.
  private let keyIndices: [Int]

  /// Collects from a source of digests.
  init(ofDigests source: any TableDataSource, _ keyIndices: [Int]) {
    columns = Array(source.columns.indices)
    cells = nil
    self.keyIndices = keyIndices
  }

  /// Collects from a table with these columns.
  init(_ all: [Column], _ columns: [(number: Int, isText: Bool)], _ keyIndices: [Int]) {
    self.columns = columns.map(\.number)
    cells = (all, columns.map(\.isText))
    self.keyIndices = keyIndices
  }

  /// The sources of the digests of the rows of two tables, and of the keys; nil if one of them cannot compute digests.
  static func sources(
    _ old: any TableDataSource, _ new: any TableDataSource, _ pairs: [ComparedColumns.Pair],
    _ keys: [Int]
  ) throws(TableError) -> (old: any TableDataSource, new: any TableDataSource)? {
    let (olds, news) = (pairs.map(\.old), pairs.map(\.new))
    guard !pairs.contains(where: \.isText), let oldDigester = old.digesting(olds),
      let newDigester = new.digesting(news)
    else { return nil }
    func lists(_ columns: [Int]) -> [[Int]] {
      keys.isEmpty ? [columns] : [columns, keys.map { columns[$0] }]
    }
    return (
      try oldDigester.digests(of: lists(olds), from: .empty),
      try newDigester.digests(of: lists(news), from: .empty)
    )
  }

  var emptied: CollectedDigests {
    var part = self
    (part.rows, part.keys) = ([], ([], [], nil))
    return part
  }

  /// Begins the whole of so many rows. The numbers of other keys stay valid.
  mutating func begin(numbering numbers: DigestNumbers, count: Int) {
    keys.numbers = numbers
    rows.makeRoom(for: count)
  }

  mutating func append(_ batch: Batch) {
    guard let (all, isText) = cells else {
      CollectedDigests.add(batch.columns[0], batch.columns[1], to: &rows)
      if !keyIndices.isEmpty {
        var keys: [RowDigest] = []
        CollectedDigests.add(batch.columns[2], batch.columns[3], to: &keys)
        add(keys: keys)
      }
      return
    }
    var rows = [RowDigest](repeating: .empty, count: batch.rowCount)
    var keys = keyIndices.isEmpty ? [] : rows
    for (index, cells) in batch.columns.enumerated() {
      let column = all[columns[index]]
      column.add(cells, to: &rows, asText: isText[index])
      if keyIndices.contains(index) { column.add(cells, to: &keys, asText: isText[index]) }
    }
    self.rows += rows
    add(keys: keys)
  }

  private mutating func add(keys: [RowDigest]) {
    if self.keys.numbers == nil {
      self.keys.digests += keys
      return
    }
    self.keys.numbers!.append(keys, to: &self.keys.numbered)
  }

  private static func add(
    _ first: ColumnBatch, _ second: ColumnBatch, to digests: inout [RowDigest]
  ) {
    for row in 0..<first.count {
      digests.append(
        RowDigest(
          UInt64(bitPattern: first.integer(row)), UInt64(bitPattern: second.integer(row))))
    }
  }

  /// Adds the rows of all groups, one group after the other.
  mutating func append(_ grouped: GroupedSource) throws(TableError) {
    var part = emptied
    let index = try grouped.collectRows(columns: columns, into: &part, CancelFlag()) { _ in }
    for row in index.rows { rows.append(part.rows[Int(row)]) }
    if !keyIndices.isEmpty { add(keys: index.rows.map { part.keys.digests[Int($0)] }) }
  }

  mutating func merge(_ next: CollectedDigests) {
    rows += next.rows
    add(keys: next.keys.digests)
  }
}
