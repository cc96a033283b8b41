import Tabella
import TabellaTerminal

/// The colours of cells by the roles of their columns: names of files by kind and permissions, states of processes.
///
/// A name gets its colour from other cells of its row. Columns that are not shown are read for this purpose only.
struct CellColours {
  /// A column of a row: a shown one, or one that is read for colours only.
  private enum Place {
    case shown(Int)
    case extra(Int)
  }

  private let name: Int?
  private let state: Int?
  private var kind: Place?
  private var mode: Place?
  private let files: FileColours
  /// The numbers of the columns that are read for colours only.
  private(set) var extra: [Int] = []

  /// Chooses the columns of a table of which the first `count` are shown; nil if no column has a colour. `setting` is the
  /// value of LS_COLORS.
  init?(_ table: ShownTable, shown count: Int, _ setting: String?) {
    let source = table.table.source.columns
    let numbers = table.table.columns.prefix(count)
    // Other columns may precede those of the source.
    let before = table.columns.count - table.table.columns.count
    func shown(_ role: ColumnRole) -> Int? {
      numbers.firstIndex { source[$0].role == role }.map { $0 + before }
    }
    name = shown(.fileName)
    state = shown(.processState)
    guard name != nil || state != nil else { return nil }
    files = FileColours(name == nil ? nil : setting)
    guard name != nil else { return }
    func place(_ role: ColumnRole, _ extra: inout [Int]) -> Place? {
      if let index = shown(role) { return .shown(index) }
      guard let number = source.firstIndex(where: { $0.role == role }) else { return nil }
      extra.append(number)
      return .extra(extra.count - 1)
    }
    kind = place(.fileKind, &extra)
    mode = place(.fileMode, &extra)
  }

  /// The colour of a cell that is not missing.
  func rendition(_ rows: ShownRows, _ row: Int, column: Int) -> Rendition? {
    if column == name { return fileRendition(rows, row, column) }
    if column == state { return stateRendition(rows.batch.columns[column], row) }
    return nil
  }

  private func fileRendition(_ rows: ShownRows, _ row: Int, _ column: Int) -> Rendition? {
    with(rows, row, .shown(column)) { name in
      with(rows, row, kind) { kind in
        with(rows, row, mode) { mode in files.rendition(name, kind: kind, mode: mode) }
      }
    }
  }

  /// Calls `body` with the bytes of a cell; with none if the cell is missing or not text.
  private func with<R>(
    _ rows: ShownRows, _ row: Int, _ place: Place?, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R {
    let cells: ColumnBatch? =
      switch place {
      case .shown(let index): rows.batch.columns[index]
      case .extra(let index): rows.extra[index]
      case nil: nil
      }
    guard let cells, cells.type == .text, !cells.isMissing(row) else {
      return body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return cells.withBytes(at: row, body)
  }

  private func stateRendition(_ cells: ColumnBatch, _ row: Int) -> Rendition? {
    guard cells.type == .text else { return nil }
    let letter = cells.withBytes(at: row) { $0.first.map { Unicode.Scalar($0) } }
    let style: TextStyle? =
      switch letter {
      case "R": .active
      case "D", "T", "t": .warning
      case "Z", "X": .error
      case "I": .faint
      default: nil
      }
    return style?.rendition
  }
}
