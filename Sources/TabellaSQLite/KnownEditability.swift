import Tabella

/// Answers about rows that statements change one after the other. Asking about each row alone took a quarter of the
/// time of a statement that changes many rows.
///
/// The answers can be old. The provider decides again when it commits the batch.
struct KnownEditability {
  private var section = 0
  private var rows = 0..<0
  private var answers: [RowEditability] = []

  /// The maximum number of rows to ask about at once.
  private static let most = 256
  /// A row follows the known ones if at most so many rows, or as many as are known, lie between them.
  private static let gap = 8

  /// Whether a row can be edited and deleted. If the row is close behind the known ones, asks about further rows.
  mutating func of(
    _ path: IndexPath, _ editing: any TableEditing, in source: any TableDataSource
  ) throws(TableError) -> RowEditability {
    if path.section != section || !rows.contains(path.row) {
      let distance = path.row - rows.upperBound
      let follows =
        path.section == section && !rows.isEmpty
        && 0...max(KnownEditability.gap, rows.count) ~= distance
      let wanted = follows ? min(2 * rows.count, KnownEditability.most) : 1
      let count = try source.numberOfRows(
        inSection: path.section, knowing: path.row.advancedUp(by: wanted)
      ).value
      let asked = path.row..<max(path.row + 1, min(path.row.advancedUp(by: wanted), count))
      answers = try editing.editability(ofRows: asked, inSection: path.section)
      (section, rows) = (path.section, asked)
    }
    let index = path.row - rows.lowerBound
    return answers.indices.contains(index) ? answers[index] : []
  }
}
