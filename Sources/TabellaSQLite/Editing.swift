import CTabellaSQLite
import Tabella
import TabellaHost

// The edits of rows, which a transaction stages.

extension VirtualTable {
  /// Stages the edit of a row. Returns the row id of a new row.
  func update(_ values: [OpaquePointer]) throws(TableError) -> Int64? {
    guard let live = declared else {
      throw TableError(
        .readOnly,
        "tabella() is read-only; edit a table of CREATE VIRTUAL TABLE … USING tabella(…)")
    }
    let api = connection.api
    return try live.running { () throws(TableError) in
      let old = api.value(values[0]).wholeNumber
      // An INSERT starts no scan, so it looks for the newest version itself.
      if old == nil, values.count > 1 { try live.refreshIfUnused() }
      try live.checkColumns()
      guard values.count > 1 else {
        if let old { try live.stageDeletion(of: old) }
        return nil
      }
      let new = api.value(values[1])
      guard let old else {
        guard new == .null else {
          throw TableError(.constraint, "the provider names its rows; leave out the row id")
        }
        return try live.stageInsertion(
          try cells(values, live, isNew: true), inSection: try section(values))
      }
      guard new.wholeNumber == old else {
        throw TableError(.constraint, "the row id of a row cannot be changed")
      }
      try live.stage(try cells(values, live, isNew: false), of: old)
      return nil
    }
  }

  /// The cells that a statement sets.
  private func cells(
    _ values: [OpaquePointer], _ live: LiveTable, isNew: Bool
  ) throws(TableError) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    let api = connection.api
    for (slot, raw) in zip(slots, values.dropFirst(2)) where api.pointee.value_nochange(raw) == 0 {
      let value = api.value(raw)
      switch slot {
      case .cell(let number):
        if isNew, value == .null { continue }
        cells[number] = try live.storing(number).cell(of: value)
      case .section, .sectionTitle:
        guard isNew else {
          throw TableError(
            .readOnly,
            "the section of a row cannot be changed; instead of UPDATE … FROM, use SET column = (SELECT …)"
          )
        }
        guard slot == .section || value == .null else {
          throw TableError(.readOnly, "section_title is read-only; name the section by its number")
        }
      case .location, .option: break
      }
    }
    return cells
  }

  /// The section of a new row; nil if the statement names none.
  private func section(_ values: [OpaquePointer]) throws(TableError) -> Int? {
    guard let place = slots.firstIndex(of: .section) else { return nil }
    let value = connection.api.value(values[place + 2])
    guard value != .null else { return nil }
    guard let number = value.wholeNumber.flatMap({ Int(exactly: $0) }) else {
      throw TableError(.constraint, "the section of a row is a number")
    }
    return number
  }
}

extension Column {
  /// The cell that stores a value of SQL.
  fileprivate func cell(of value: SQLValue) throws(TableError) -> Cell {
    let plain: Cell =
      switch value {
      case .null: .missing
      case .integer(let number) where valueType == .boolean && (number == 0 || number == 1):
        .boolean(number == 1)
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let bytes): .text(bytes)
      case .blob(let bytes): .binary(bytes)
      }
    guard let cell = cell(storing: plain) else {
      throw TableError(
        .constraint,
        "column \"\(name)\" has the type \(valueType.name) and cannot store \"\(plain)\"")
    }
    return cell
  }
}

extension LiveTable {
  /// The column that stores a value. If it was declared as text, it stores any text, whatever it reads as now.
  fileprivate func storing(_ number: Int) -> Column {
    var column = source.columns[number]
    if declared[number].reads == nil { column.reads = nil }
    return column
  }

  /// The row with a row id, even if the transaction has deleted it.
  ///
  /// Throws ``TableError`` with `.conflict` for a row of another version, or of another transaction.
  func row(_ rowID: Int64) throws(TableError) -> StagedSource.Row? {
    guard rowID < 0 else { return try rowNumbering().path(of: rowID).map { .base($0) } }
    let number = Int(-max(rowID, -.max))
    guard staged.inserted[number] != nil else {
      throw TableError(
        .conflict, "the row id \(rowID) is from a transaction that is over; read the row again")
    }
    return .inserted(number)
  }

  private func editing() throws(TableError) -> any TableEditing {
    guard let editing = source.editing else {
      throw TableError(.readOnly, "is read-only: provider \(opened.manifest.id) cannot edit it")
    }
    if source.identity == nil, try source.version() == nil {
      throw TableError(.readOnly, "is read-only in SQL, because its rows have no ids")
    }
    return editing
  }

  private func editability(
    of path: IndexPath, _ editing: any TableEditing
  ) throws(TableError) -> RowEditability {
    try knownEditability.of(path, editing, in: source)
  }

  func stageDeletion(of rowID: Int64) throws(TableError) {
    let editing = try editing()
    switch try row(rowID) {
    case nil: break
    case .inserted(let number): staged.replaceInserted(number, by: nil)
    case .base(let path):
      guard try editability(of: path, editing).style == .delete else {
        throw TableError(
          .readOnly, "the row cannot be deleted", section: path.section, row: path.row)
      }
      staged.delete(path)
    }
  }

  func stage(_ cells: [Int: Cell], of rowID: Int64) throws(TableError) {
    let editing = try editing()
    guard !cells.isEmpty else { return }
    switch try row(rowID) {
    case nil: break
    case .inserted(let number):
      guard var row = staged.inserted[number] else { return }
      row.cells.merge(cells) { $1 }
      staged.replaceInserted(number, by: row)
    case .base(let path):
      guard try editability(of: path, editing).contains(.editable) else {
        throw TableError(
          .readOnly, "the row cannot be changed", section: path.section, row: path.row)
      }
      try check(cells, editing)
      staged.set(path, cells)
    }
  }

  func stageInsertion(
    _ cells: [Int: Cell], inSection wanted: Int?
  ) throws(TableError) -> Int64 {
    // The provider checks the cells, because a new row can choose cells that are fixed later: the kind of a file.
    _ = try editing()
    let count = try source.numberOfSections(knowing: wanted.map { $0.advancedUp(by: 1) } ?? .max)
    let section = wanted ?? count.value - 1
    guard (0..<count.value).contains(section) else { throw .noSection(section) }
    let number = nextInserted
    nextInserted += 1
    staged.replaceInserted(number, by: StagedEdits.Inserted(section: section, cells: cells))
    return -Int64(number)
  }

  private func check(_ cells: [Int: Cell], _ editing: any TableEditing) throws(TableError) {
    guard let allowed = try editing.editableColumns() else { return }
    for number in cells.keys.sorted() where !allowed[number] {
      throw TableError(
        .readOnly, "column \"\(source.columns[number].name)\" is read-only", column: number)
    }
  }
}
