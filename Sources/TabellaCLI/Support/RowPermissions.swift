import Tabella

/// Whether rows can be edited and moved. The rows of many short sections are asked about together, because a view asks
/// its base about them in one pass.
struct RowPermissions {
  typealias Answers = (editable: [RowEditability]?, movable: [Bool]?)

  /// The number of rows from which no further section is asked about at once.
  private static let enoughRows = 1 << 16

  private let source: any TableDataSource
  /// The sections whose answers were not used yet, and the answers.
  private var next: ArraySlice<TableReader.Run> = []
  private var answers: Answers = (nil, nil)
  /// The number of answers that were used.
  private var used = 0

  init(_ source: any TableDataSource) { self.source = source }

  /// The answers for rows of a section. Nil means that the source cannot edit or move rows at all.
  mutating func of(
    _ run: TableReader.Run, together: ArraySlice<TableReader.Run>
  ) throws(TableError) -> Answers {
    func begins(_ runs: ArraySlice<TableReader.Run>) -> Bool {
      runs.first.map { $0 == run } ?? false
    }
    if !begins(next) { try ask(begins(together) ? together : [run]) }
    next.removeFirst()
    let rows = used..<used + run.rows.count
    used = rows.upperBound
    return (
      answers.editable.map { Array($0[rows]) }, answers.movable.map { Array($0[rows]) }
    )
  }

  private mutating func ask(_ runs: ArraySlice<TableReader.Run>) throws(TableError) {
    (next, used) = ([], 0)
    var paths: [IndexPath] = []
    var count = 0
    for run in runs where paths.count < RowPermissions.enoughRows {
      paths += run.rows.map { IndexPath(section: run.section, row: $0) }
      count += 1
    }
    answers = (
      source.editing == nil ? nil : try source.editability(at: paths),
      source.moving == nil ? nil : try source.movability(at: paths)
    )
    next = runs.prefix(count)
  }
}
