import Tabella

/// The numbers of shown rows in their sources: the line if the source knows it, otherwise the position of the row.
struct SourceNumbers {
  private let source: any TableDataSource
  /// The elements of rows, if some source knows lines.
  private let lines: (any TableSupplementary)?
  /// For each source below the views, the number of rows in front of each section, as far as it was needed.
  private var starts: [ObjectIdentifier: [Int]] = [:]
  /// The maximum number of rows that are passed over at once.
  private static let longestStep = 4096

  init(_ source: any TableDataSource) throws(TableError) {
    self.source = source
    let supplementary = source.supplementary
    lines =
      try supplementary?.supplementaryKinds().contains(SupplementaryKind.line) == true
      ? supplementary : nil
  }

  /// The numbers of rows of a section of the shown table.
  ///
  /// Lines are asked for in the order of the source, which then counts them once. If as many lines as rows lie between
  /// two rows, each of these rows has one line, and is not asked for.
  mutating func numbers(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Int] {
    let paths = rows.map { IndexPath(section: section, row: $0) }
    guard lines != nil, !paths.isEmpty else {
      return try paths.map { path throws(TableError) in try number(of: path) }
    }
    let origins = try paths.map { path throws(TableError) in try source.origin(of: path) }
    var order = Array(paths.indices)
    let isOrdered = zip(origins, origins.dropFirst()).allSatisfy { $0.path < $1.path }
    if !isOrdered { order.sort { origins[$0].path < origins[$1].path } }
    var numbers = [Int](repeating: 0, count: rows.count)
    numbers[order[0]] = try number(of: paths[order[0]])
    var (at, step) = (0, 1)
    while at + 1 < order.count {
      let end = min(at + step, order.count - 1)
      let (first, last) = (order[at], order[end])
      numbers[last] = try number(of: paths[last])
      let lineCount = numbers[last] - numbers[first]
      if origins[first].hasLines(lineCount, upTo: origins[last]) {
        for row in order[at + 1..<end + 1] {
          numbers[row] = numbers[first] + origins[row].path.row - origins[first].path.row
        }
        step = min(2 * step, SourceNumbers.longestStep)
      } else {
        for row in order[at + 1..<end] { numbers[row] = try number(of: paths[row]) }
        step = 1
      }
      at = end
    }
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

extension RowOrigin {
  /// Whether each row up to a later one takes one line, if that one begins so many lines below this one.
  fileprivate func hasLines(_ count: Int, upTo last: RowOrigin) -> Bool {
    source === last.source && path.section == last.path.section
      && count == last.path.row - path.row
  }
}
