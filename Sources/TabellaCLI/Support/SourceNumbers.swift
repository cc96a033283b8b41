import Tabella

/// The numbers of shown rows in their sources: the line if the source knows it, otherwise the position of the row.
struct SourceNumbers {
  private let source: any TableDataSource
  /// The elements of rows, if some source knows lines.
  private let lines: (any TableSupplementary)?
  /// For each source below the views, the number of rows in front of each section, as far as it was needed.
  private var starts: [ObjectIdentifier: [Int]] = [:]

  init(_ source: any TableDataSource) throws(TableError) {
    self.source = source
    let supplementary = source.supplementary
    lines =
      try supplementary?.supplementaryKinds().contains(SupplementaryKind.line) == true
      ? supplementary : nil
  }

  /// The numbers of rows of a section of the shown table.
  ///
  /// Lines are asked for in the order of the source, which then counts them once.
  mutating func numbers(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Int] {
    var order = rows.map { IndexPath(section: section, row: $0) }
    if lines != nil, !order.isEmpty {
      let origins = try order.map { path throws(TableError) in try source.origin(of: path) }
      let isOrdered = zip(origins, origins.dropFirst()).allSatisfy { $0.path < $1.path }
      if !isOrdered {
        order.sort {
          origins[$0.row - rows.lowerBound].path < origins[$1.row - rows.lowerBound].path
        }
      }
    }
    var numbers = [Int](repeating: 0, count: rows.count)
    for path in order { numbers[path.row - rows.lowerBound] = try number(of: path) }
    return numbers
  }

  /// The number of the row at a path of the shown table.
  private mutating func number(of path: IndexPath) throws(TableError) -> Int {
    if case .text(let line)? = try lines?.supplementaryElement(
      ofKind: SupplementaryKind.line, at: path),
      let line = TableNumber.read(String(decoding: line.bytes, as: UTF8.self))
    {
      return line
    }
    let origin = try source.origin(of: path)
    return try start(ofSection: origin.path.section, in: origin.source) + origin.path.row
  }

  /// The number of rows in front of a section.
  private mutating func start(
    ofSection section: Int, in source: any TableDataSource
  ) throws(TableError) -> Int {
    if section == 0 { return 0 }
    var known = starts.removeValue(forKey: ObjectIdentifier(source)) ?? [0]
    while known.count <= section {
      let rows = try source.exactNumberOfRows(inSection: known.count - 1)
      known.append(known[known.count - 1] + rows)
    }
    starts[ObjectIdentifier(source)] = known
    return known[section]
  }
}
