import Tabella

/// A table as arrays of rows with keys, edited naively: the reference for edits.
struct EditModel: Equatable {
  /// A row with a unique, permanent key. Its cells are its key, a note and a kind.
  struct Row: Equatable {
    var key: Int
    var cells: [Cell]
    /// Whether it is inserted without a kind, which its group determines.
    var leavesKindOut = false

    var kind: Cell {
      get { cells[EditModel.kind] }
      set { cells[EditModel.kind] = newValue }
    }
  }

  /// The columns of a row that edits set.
  static let (note, kind) = (1, 2)

  struct Section: Equatable {
    var key: Int
    var title: String?
    var rows: [Row] = []
  }

  /// An edit that names rows and sections by key, so that its meaning does not depend on the order of rows.
  enum Edit {
    case set(Int, [Int: Cell])
    case delete(Int)
    case insert(Row, IndexPath)
    case move(Int, IndexPath)
    case deleteSection(Int)
    case insertSection(Section, Int)
    case moveSection(Int, Int)
    case renameSection(Int, String?)
  }

  var sections: [Section]

  var rows: [Row] { sections.flatMap(\.rows) }

  func path(of key: Int) -> IndexPath? {
    for (number, section) in sections.enumerated() {
      if let row = section.rows.firstIndex(where: { $0.key == key }) {
        return IndexPath(section: number, row: row)
      }
    }
    return nil
  }

  /// The model after the edits, computed step by step as in docs/editing.md: removing from the last, inserting from the
  /// first. The edits must be valid.
  func applying(_ edits: [Edit]) -> EditModel {
    var result = self
    var arrivals: [(IndexPath, Row)] = []
    var arrivingSections: [(Int, Section)] = []
    for case .set(let key, let cells) in edits {
      let path = result.path(of: key)!
      for (column, cell) in cells {
        result.sections[path.section].rows[path.row].cells[column] = cell
      }
    }
    for edit in edits {
      switch edit {
      case .delete(let key), .move(let key, _):
        let path = result.path(of: key)!
        let row = result.sections[path.section].rows.remove(at: path.row)
        if case .move(_, let target) = edit { arrivals.append((target, row)) }
      case .insert(let row, let target): arrivals.append((target, row))
      default: break
      }
    }
    for case .renameSection(let key, let title) in edits {
      result.sections[result.sections.firstIndex { $0.key == key }!].title = title
    }
    for edit in edits {
      switch edit {
      case .deleteSection(let key), .moveSection(let key, _):
        let number = result.sections.firstIndex { $0.key == key }!
        let section = result.sections.remove(at: number)
        if case .moveSection(_, let target) = edit { arrivingSections.append((target, section)) }
      case .insertSection(let section, let target): arrivingSections.append((target, section))
      default: break
      }
    }
    for (target, section) in arrivingSections.sorted(by: { $0.0 < $1.0 }) {
      result.sections.insert(section, at: target)
    }
    for (target, row) in arrivals.sorted(by: { $0.0 < $1.0 }) {
      result.sections[target.section].rows.insert(row, at: target.row)
    }
    return result
  }

  /// The content of a table of a subject, or of a view of one.
  init(reading source: any TableDataSource, of subject: EditSubject) throws {
    sections = []
    let columns = Array(source.columns.indices)
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      var rows: [Row] = []
      while true {
        let batch = try source.rows(
          RowRequest(section: section, first: rows.count, count: 100, columns: columns))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount {
          let cells = subject.modelCells(batch.row(row))
          rows.append(Row(key: Int(cells[0].description) ?? -1, cells: cells))
        }
      }
      sections.append(
        Section(
          key: section,
          title: try source.sections?.title(.header, ofSection: section), rows: rows))
    }
  }

  init(_ sections: [Section]) { self.sections = sections }

  /// The cells of all rows, with the titles of sections.
  var content: [Content] { sections.map { Content(title: $0.title, rows: $0.rows.map(\.cells)) } }

  struct Content: Equatable, CustomStringConvertible {
    var title: String?
    var rows: [[Cell]]

    var description: String {
      "\(title ?? "-"): " + rows.map { "\($0.map(\.description))" }.joined(separator: " ")
    }
  }
}
