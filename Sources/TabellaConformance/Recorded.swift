import Tabella

/// The answers of a source to calls in a fixed order: the model for calls in any order.
struct Recorded {
  struct Row {
    var cells: [Cell]
    var id: String?
    var editability: RowEditability?
    var isMovable: Bool?
  }

  struct Section {
    var rows: [Row]
    /// The headers and footers, if the source has sections.
    var titles: [TitlePlace: String?] = [:]
    /// The locations of the first rows.
    var locations: [[UInt8]?] = []
  }

  /// The maximum number of rows whose location is requested, since each may cost a system call.
  private static let locationLimit = 20

  var sections: [Section] = []
  var version: Version?
  var kinds: [String] = []
  /// The titles of the section index and their index paths.
  var index: [(title: String, path: IndexPath)] = []

  init(_ source: any TableDataSource, _ trial: Trial) throws {
    version = try source.version()
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let cells = try trial.read(source, section: section, rows: 0..<count)
      let ids =
        source.identity == nil ? nil : try trial.ids(source, section: section, rows: 0..<count)
      let styles = try source.editing?.editability(ofRows: 0..<count, inSection: section)
      let moves = try source.moving?.movability(ofRows: 0..<count, inSection: section)
      for (what, answers) in [("editable", styles?.count), ("movable", moves?.count)] {
        try require(
          answers ?? count == count, "\(what) returned \(answers ?? 0) answers for \(count) rows")
      }
      var recorded = Section(
        rows: cells.enumerated().map { row, cells in
          Row(
            cells: cells, id: ids?[row], editability: styles?[row], isMovable: moves?[row])
        })
      for place in TitlePlace.allCases {
        recorded.titles[place] = try source.sections?.title(place, ofSection: section)
      }
      if let accessories = source.accessories {
        recorded.locations = try (0..<min(count, Recorded.locationLimit)).map { row in
          try accessories.location(forRowAt: IndexPath(section: section, row: row))
        }
      }
      sections.append(recorded)
    }
    kinds = try source.supplementary?.supplementaryKinds() ?? []
    for (number, title) in (try source.sectionIndex?.sectionIndexTitles() ?? []).enumerated() {
      let path = try source.sectionIndex?.indexPath(forIndexTitle: title, at: number)
      index.append((title, path ?? .section(0)))
    }
  }

  /// The sections that have rows.
  var filled: [Int] { sections.indices.filter { !sections[$0].rows.isEmpty } }

  /// The index path of a random row; nil if there are no rows.
  func drawRow(_ trial: Trial) -> IndexPath? {
    let filled = filled
    guard !filled.isEmpty else { return nil }
    let section = filled[trial.draw(0..<filled.count)]
    return IndexPath(section: section, row: trial.draw(0..<sections[section].rows.count))
  }

  subscript(_ path: IndexPath) -> Row { sections[path.section].rows[path.row] }

  /// Reads a few rows from `path` on and compares them with the record.
  func requireRows(
    from path: IndexPath, of source: any TableDataSource, _ trial: Trial,
    after what: @autoclosure () -> String
  ) throws {
    let rows = sections[path.section].rows
    let end = min(rows.count, path.row + 1 + trial.draw(0..<20))
    let all = Array(source.columns.indices)
    // Half of the time, the columns are reversed and some are left out.
    var columns = all
    if trial.draw(0..<2) == 0 { columns = all.reversed().filter { _ in trial.draw(0..<3) > 0 } }
    let part = try trial.read(
      source, section: path.section, rows: path.row..<end, columns: columns,
      size: 1 + trial.draw(0..<30))
    let expected = rows[path.row..<end].map { row in columns.map { row.cells[$0] } }
    try require(
      same(expected, part),
      "section \(path.section), rows \(path.row)..<\(end), columns \(columns), differ after \(what()): \(firstDifference(expected, part))"
    )
  }
}
