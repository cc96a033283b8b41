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

  /// The number of the row at a path of the shown table.
  mutating func number(of path: IndexPath) throws(TableError) -> Int {
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
