import Tabella

/// A table that shows a new content after each pull.
final class MovingTable: TableDataSource, TableSections, TableIdentity, TableChanges {
  private(set) var columns: [Column]
  let hasIDs: Bool
  private let hasSections: Bool
  var content: NaiveTable
  /// The contents to come, each with the list that its pull reports.
  var coming: [(content: NaiveTable, list: [ChangeBatch.Change]?)] = []
  /// The number of reads that fail with a conflict before the table can be read.
  var conflicts = 0
  /// Whether the last content has no columns, as an empty file has none.
  var losesColumns = false
  /// The number of rows that were returned.
  var rowsRead = 0
  /// The function that the table was given to notify.
  private(set) var notify: (@Sendable () -> Void)?
  private var number = 0

  init(_ content: NaiveTable, hasIDs: Bool, hasSections: Bool = true, columns: Int = 2) {
    self.content = content
    self.hasIDs = hasIDs
    self.hasSections = hasSections
    self.columns = (0..<columns).map { Column("c\($0)") }
  }

  var sections: (any TableSections)? { hasSections ? self : nil }
  var identity: (any TableIdentity)? { hasIDs ? self : nil }
  var changes: (any TableChanges)? { self }

  func version() -> Version? { Version("v\(number)") }
  func numberOfSections(knowing minimum: Int) -> Count { .exact(content.sections.count) }
  func title(_ place: TitlePlace, ofSection section: Int) -> String? {
    content.sections[section].title
  }
  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    .exact(content.sections[section].rows.count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    if conflicts > 0 {
      conflicts -= 1
      throw TableError(.conflict, "the table moved on")
    }
    let all = content.sections[request.section].rows
    guard request.first <= all.count else {
      throw .noRow(request.first, inSection: request.section, of: all.count)
    }
    let builder = BatchBuilder(for: request, of: columns)
    let rows = all.dropFirst(request.first).prefix(request.count)
    for row in rows {
      for (cells, column) in zip(builder.columns, request.columns) {
        cells.append(row.cells[column])
      }
      builder.ids?.append(row.id ?? "")
    }
    rowsRead += rows.count
    return builder.finish(rowCount: rows.count)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    throw TableError(.notFound, "not asked in these tests")
  }

  func listen(_ notify: (@Sendable () -> Void)?) { self.notify = notify }

  func pull() -> ChangeBatch {
    let before = version()
    guard !coming.isEmpty else { return ChangeBatch(from: before, to: before, changes: []) }
    let next = coming.removeFirst()
    content = next.content
    number += 1
    if losesColumns, coming.isEmpty { columns = [] }
    return ChangeBatch(from: before, to: version(), changes: next.list)
  }
}

extension NaiveTable {
  private static func row(
    _ generator: inout SeededGenerator, _ ids: ClosedRange<Int>
  ) -> Row {
    Row(
      id: "i\(Int.random(in: ids, using: &generator))",
      cells: [
        .text(Array("a\(Int.random(in: 0..<3, using: &generator))".utf8)),
        .text(Array("b\(Int.random(in: 0..<2, using: &generator))".utf8)),
      ])
  }

  /// A random table. Ids repeat if `ids` is a small range.
  static func random(
    _ generator: inout SeededGenerator, ids: ClosedRange<Int> = 0...1_000_000
  ) -> NaiveTable {
    NaiveTable(
      (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
        Section(
          title: ["x", "y", "z", nil].randomElement(using: &generator)!,
          rows: (0..<Int.random(in: 0..<7, using: &generator)).map { _ in row(&generator, ids) })
      })
  }

  /// The table changed at random: rows and sections come, go, move, and get other cells.
  func changed(
    _ generator: inout SeededGenerator, ids: ClosedRange<Int> = 0...1_000_000
  ) -> NaiveTable {
    var table = self
    for _ in 0..<Int.random(in: 0..<5, using: &generator) {
      guard let section = table.sections.indices.randomElement(using: &generator) else { break }
      let rows = table.sections[section].rows.indices
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: table.sections.remove(at: section)
      case 1:
        table.sections.insert(
          Section(title: "n", rows: [Self.row(&generator, ids)]), at: section)
      case 2: table.sections.shuffle(using: &generator)
      case 3:
        guard let row = rows.randomElement(using: &generator) else { continue }
        let moved = table.sections[section].rows.remove(at: row)
        let target = table.sections.indices.randomElement(using: &generator)!
        let end = table.sections[target].rows.count
        table.sections[target].rows.insert(moved, at: Int.random(in: 0...end, using: &generator))
      case 4:
        guard let row = rows.randomElement(using: &generator) else { continue }
        table.sections[section].rows.remove(at: row)
      case 5:
        guard let number = rows.randomElement(using: &generator) else { continue }
        table.sections[section].rows[number].cells = Self.row(&generator, ids).cells
      default:
        table.sections[section].rows.insert(
          Self.row(&generator, ids), at: Int.random(in: 0...rows.count, using: &generator))
      }
    }
    return table
  }

  /// The table without ids.
  var withoutIDs: NaiveTable {
    NaiveTable(
      sections.map { section in
        Section(
          title: section.title, rows: section.rows.map { Row(id: nil, cells: $0.cells) })
      })
  }
}
