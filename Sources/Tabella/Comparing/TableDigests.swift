/// The digests of the rows of both tables, as numbers: equal rows have equal numbers.
struct TableDigests {
  let oldRows: [Int32]
  let newRows: [Int32]
  let oldKeys: [Int32]
  let newKeys: [Int32]
  let rowCount: Int
  let keyCount: Int

  init(
    _ old: ComparedRows, _ new: ComparedRows, _ columns: ComparedColumns, keys: [Int]
  ) throws(TableError) {
    let pairs = columns.pairs
    var numbering = RowNumbering(keys)
    if let digests = try RowNumbering.digests(old.source, new.source, pairs, keys) {
      numbering.begin(digests.old)
      try old.number(rowsOf: digests.old, by: &numbering)
      (oldRows, oldKeys) = (numbering.rows, numbering.keys)
      numbering.begin(digests.new)
      try new.number(rowsOf: digests.new, by: &numbering)
    } else {
      numbering.begin(old.source.columns, pairs.map { ($0.old, $0.isText) })
      try old.number(rowsOf: old.source, by: &numbering)
      (oldRows, oldKeys) = (numbering.rows, numbering.keys)
      numbering.begin(new.source.columns, pairs.map { ($0.new, $0.isText) })
      try new.number(rowsOf: new.source, by: &numbering)
    }
    (newRows, newKeys) = (numbering.rows, numbering.keys)
    (rowCount, keyCount) = (numbering.rowCount, numbering.keyCount)
  }

  /// A digest of the rows of a section.
  static func digest(_ numbers: ArraySlice<Int32>) -> RowDigest {
    var digest = RowDigest.empty
    for number in numbers { digest.add(UInt64(number)) }
    return digest
  }
}

extension ComparedRows {
  /// Numbers all rows of the source, or of the source of their digests. Threads share the sections of which all rows are
  /// compared.
  fileprivate func number(
    rowsOf source: any TableDataSource, by numbering: inout RowNumbering
  ) throws(TableError) {
    if let grouped = source as? GroupedSource {
      let counts = try grouped.grouped().groups.counts
      if sections == Array(counts.indices), rows == counts.map({ 0..<$0 }) {
        return try numbering.append(grouped)
      }
    }
    for (section, rows) in zip(sections, rows) {
      let known = try source.numberOfRows(inSection: section, knowing: .max)
      let columns = numbering.columns
      let count =
        rows == 0..<known.value
        ? try collect(source, section: section, columns: columns, into: &numbering, CancelFlag()) {
          _ in
        }
        : try source.forEachBatch(ofSection: section, rows, columns: columns) {
          numbering.append($0)
        }
      guard count == rows.count else {
        let end = rows.lowerBound + count
        throw .noRow(end, inSection: section, of: end)
      }
    }
  }
}

/// Numbers rows by the digests of some cells, and by those of the keys among them.
///
/// A part that a thread reads has only digests, and the whole numbers them.
struct RowNumbering: RowCollector {
  /// The columns to read.
  private(set) var columns: [Int] = []
  private var all: [Column] = []
  private var isText: [Bool] = []
  /// The indices of the keys among the compared columns.
  private let keyIndices: [Int]
  /// Whether the rows are digests; see ``RowDigesting``.
  private var hasDigests = false
  private var isPart = false
  private var digests: (rows: [RowDigest], keys: [RowDigest]) = ([], [])
  private var numbers = (rows: DigestNumbers(), keys: DigestNumbers())
  private(set) var rows: [Int32] = []
  private(set) var keys: [Int32] = []

  init(_ keyIndices: [Int]) { self.keyIndices = keyIndices }

  /// The digests of the rows of both sources, and of the keys; nil if one of the sources cannot compute them.
  static func digests(
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

  /// Begins the rows of a source of digests. The numbers of other sources stay valid.
  mutating func begin(_ digests: any TableDataSource) {
    hasDigests = true
    columns = Array(digests.columns.indices)
    (rows, keys) = ([], [])
  }

  /// Begins the rows of a table. The numbers of other tables stay valid.
  mutating func begin(_ all: [Column], _ columns: [(number: Int, isText: Bool)]) {
    hasDigests = false
    self.all = all
    self.columns = columns.map(\.number)
    isText = columns.map(\.isText)
    (rows, keys) = ([], [])
  }

  /// The number of different rows, and of different keys.
  var rowCount: Int { numbers.rows.count }
  var keyCount: Int { numbers.keys.count }

  var emptied: RowNumbering {
    var part = self
    part.isPart = true
    part.numbers = (DigestNumbers(), DigestNumbers())
    (part.rows, part.keys, part.digests) = ([], [], ([], []))
    return part
  }

  mutating func append(_ batch: Batch) {
    if hasDigests {
      return add(
        digests(batch.columns[0], batch.columns[1]),
        keyIndices.isEmpty ? [] : digests(batch.columns[2], batch.columns[3]))
    }
    var rows = [RowDigest](repeating: .empty, count: batch.rowCount)
    var keys = keyIndices.isEmpty ? [] : rows
    for (index, cells) in batch.columns.enumerated() {
      let values = isText[index] ? cells : all[columns[index]].values(of: cells)
      values.add(to: &rows, asText: isText[index])
      if keyIndices.contains(index) { values.add(to: &keys, asText: isText[index]) }
    }
    add(rows, keys)
  }

  private func digests(_ first: ColumnBatch, _ second: ColumnBatch) -> [RowDigest] {
    (0..<first.count).map { row in
      RowDigest(
        UInt64(bitPattern: first.integer(row)), UInt64(bitPattern: second.integer(row)))
    }
  }

  /// Adds the rows of all groups, one group after the other.
  mutating func append(_ grouped: GroupedSource) throws(TableError) {
    var part = emptied
    let index = try grouped.collectRows(columns: columns, into: &part, CancelFlag()) { _ in }
    let (rows, keys) = part.digests
    add(
      index.rows.map { rows[Int($0)] }, keyIndices.isEmpty ? [] : index.rows.map { keys[Int($0)] })
  }

  mutating func merge(_ next: RowNumbering) { add(next.digests.rows, next.digests.keys) }

  private mutating func add(_ rows: [RowDigest], _ keys: [RowDigest]) {
    if isPart {
      digests.rows += rows
      digests.keys += keys
      return
    }
    numbers.rows.append(rows, to: &self.rows)
    numbers.keys.append(keys, to: &self.keys)
  }
}
