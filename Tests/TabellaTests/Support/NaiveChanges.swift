import Tabella

/// The content of a table as text, for replays of changes.
struct NaiveTable: Equatable {
  struct Row: Equatable {
    var id: String?
    var cells: [Cell]
  }

  struct Section: Equatable {
    var title: String?
    var rows: [Row]
  }

  var sections: [Section] = []

  init(_ sections: [Section]) { self.sections = sections }

  /// Reads all rows of a source, with all columns.
  init(of source: any TableDataSource) throws {
    for number in 0..<(try source.numberOfSections(knowing: .max).value) {
      var section = Section(
        title: try source.sections?.title(.header, ofSection: number), rows: [])
      while true {
        let batch = try source.rows(
          RowRequest(
            section: number, first: section.rows.count, count: 1000,
            columns: Array(source.columns.indices), includesIDs: source.identity != nil))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount {
          section.rows.append(Row(id: batch.id(row), cells: batch.columns.map { $0[row] }))
        }
      }
      sections.append(section)
    }
  }

  /// The table after changes, computed naively. Content that changes do not tell comes from `new`.
  ///
  /// Returns nil if a change names an element that does not exist, or if two changes name one element.
  func applying(_ changes: [ChangeBatch.Change], content new: NaiveTable) -> NaiveTable? {
    typealias Path = Tabella.IndexPath
    var rowsGone: Set<Path> = []
    var rowsChanged: Set<Path> = []
    var rowsIn: [Path: Path?] = [:]
    var sectionsGone: Set<Int> = []
    var sectionsChanged: Set<Int> = []
    var sectionsReloaded: Set<Int> = []
    var sectionsIn: [Int: Int?] = [:]
    for change in changes {
      var isNew = true
      switch change {
      case .delete(let path) where path.isSection:
        isNew = sectionsGone.insert(path.section).inserted
      case .insert(let path) where path.isSection:
        isNew = sectionsIn.updateValue(Int?.none, forKey: path.section) == nil
      case .move(let from, let to) where from.isSection:
        isNew =
          sectionsGone.insert(from.section).inserted
          && sectionsIn.updateValue(from.section, forKey: to.section) == nil
      case .reload(let path) where path.isSection: sectionsReloaded.insert(path.section)
      case .reconfigure(let path) where path.isSection: sectionsChanged.insert(path.section)
      case .delete(let path): isNew = rowsGone.insert(path).inserted
      case .insert(let path): isNew = rowsIn.updateValue(Path?.none, forKey: path) == nil
      case .move(let from, let to):
        isNew =
          rowsGone.insert(from).inserted && rowsIn.updateValue(.some(from), forKey: to) == nil
      case .reload(let path), .reconfigure(let path): rowsChanged.insert(path)
      }
      guard isNew else { return nil }
    }
    // The order of sections after the changes, by their old numbers; nil is an inserted section.
    var order: [Int?] = sections.indices.filter { !sectionsGone.contains($0) }
    for (to, from) in sectionsIn.sorted(by: { $0.key < $1.key }) {
      guard to <= order.count else { return nil }
      order.insert(from, at: to)
    }
    guard order.count == new.sections.count else { return nil }
    var result: [Section] = []
    for (number, old) in order.enumerated() {
      guard let old, !sectionsReloaded.contains(old) else {
        result.append(new.sections[number])
        continue
      }
      var rows: [(row: Row, isChanged: Bool)] = []
      for (row, content) in sections[old].rows.enumerated() {
        let path = Path(section: old, row: row)
        if !rowsGone.contains(path) { rows.append((content, rowsChanged.contains(path))) }
      }
      for (to, from) in rowsIn.sorted(by: { $0.key < $1.key }) where to.section == number {
        guard to.row <= rows.count else { return nil }
        guard let from else {
          rows.insert((Row(cells: []), true), at: to.row)
          continue
        }
        guard sections.indices.contains(from.section),
          sections[from.section].rows.indices.contains(from.row)
        else { return nil }
        rows.insert((sections[from.section].rows[from.row], rowsChanged.contains(from)), at: to.row)
      }
      let fresh = new.sections[number].rows
      guard rows.count == fresh.count else { return nil }
      result.append(
        Section(
          title: sectionsChanged.contains(old) ? new.sections[number].title : sections[old].title,
          rows: zip(rows, fresh).map { $0.isChanged ? $1 : $0.row }))
    }
    return NaiveTable(result)
  }
}
