import Tabella

/// Changes as JSON objects with the members of `apply`; see ``EditLines``.
struct DiffLines {
  enum Use {
    /// Edits for `apply`, which names rows by their ids or by their positions.
    case edits(byID: Bool)
    /// Members of a document, with the old cells, the id and the new position of each row.
    case document
  }

  private let run: DiffRun
  private let comparison: TableComparison
  private let oldNames: [String]
  private let newNames: [String]

  init(_ run: DiffRun, _ comparison: TableComparison) {
    self.run = run
    self.comparison = comparison
    oldNames = ColumnNames(run.old.source.columns).names
    newNames = ColumnNames(run.new.source.columns).names
  }

  private var columns: ComparedColumns { run.columns }

  /// Appends a change as an object.
  func append(
    _ detail: TableComparison.Detail, as use: Use, to text: inout [UInt8]
  ) throws(Failure) {
    let change = detail.change
    text += Array("{\"op\":\"\(change.op)\"".utf8)
    if let path = change.old { append("row", rowName(path, detail.id, use), to: &text) }
    switch change {
    case .insert(let path): append("at", try target(path, use), to: &text)
    case .move(_, let path): append("to", try target(path, use), to: &text)
    case .set(_, let path): if case .document = use { append("at", path.name, to: &text) }
    case .delete: break
    }
    if case .document = use, let id = detail.id { append("id", id, to: &text) }
    if change.isOfSection {
      try appendTitles(change, use, to: &text)
    } else {
      try appendCells(detail, use, to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }

  private func append(_ member: String, _ value: String, to text: inout [UInt8]) {
    text += Array(",\"\(member)\":".utf8)
    JSONValue.append(string: value, to: &text)
  }

  private func rowName(_ path: IndexPath, _ id: String?, _ use: Use) -> String {
    if case .edits(byID: true) = use, let id { return "id:\(id)" }
    return path.name
  }

  /// The name of a target. If the order changes by itself, it is the end of the section.
  private func target(_ path: IndexPath, _ use: Use) throws(Failure) -> String {
    guard case .edits(byID: true) = use, !path.isSection else { return path.name }
    let title = try Failure.about(run.new.subject) { () throws(TableError) in
      try comparison.new.title(ofSection: path.section)
    }
    return "\(title.map { "\(SectionArgument.text(ofTitle: $0)):" } ?? "")end"
  }

  // Sections

  private func appendTitles(
    _ change: TableComparison.Change, _ use: Use, to text: inout [UInt8]
  ) throws(Failure) {
    let (before, after) = try Failure.about(run.subject) { () throws(TableError) in
      (
        try change.old.flatMap { path throws(TableError) in
          try comparison.old.title(ofSection: path.section)
        },
        try change.new.flatMap { path throws(TableError) in
          try comparison.new.title(ofSection: path.section)
        }
      )
    }
    switch change {
    case .insert, .set: if let after { append("cells", title: after, to: &text) }
    case .delete, .move: break
    }
    if case .document = use, let before { append("before", title: before, to: &text) }
  }

  private func append(_ member: String, title: String, to text: inout [UInt8]) {
    text += Array(",\"\(member)\":".utf8)
    JSONValue.object(["title": .string(title)]).append(to: &text)
  }

  // Rows

  private func appendCells(
    _ detail: TableComparison.Detail, _ use: Use, to text: inout [UInt8]
  ) throws(Failure) {
    let old = columns.pairs.map(\.name) + columns.deleted.map { oldNames[$0] }
    let new = columns.pairs.map(\.name) + columns.inserted.map { newNames[$0] }
    switch detail.change {
    case .insert:
      try append("cells", detail.newCells, new, Array(new.indices), use, to: &text)
    case .set:
      let changed = columns.changed(detail)
      try append("cells", detail.newCells, new, changed, use, to: &text)
      if case .document = use {
        try append("before", detail.oldCells, old, changed, use, to: &text)
      }
    case .delete:
      if case .document = use {
        try append("before", detail.oldCells, old, Array(old.indices), use, to: &text)
      }
    case .move: break
    }
  }

  private func append(
    _ member: String, _ cells: TableComparison.Row, _ names: [String], _ numbers: [Int], _ use: Use,
    to text: inout [UInt8]
  ) throws(Failure) {
    text += Array(",\"\(member)\":{".utf8)
    for (position, number) in numbers.enumerated() {
      if position > 0 { text.append(UInt8(ascii: ",")) }
      JSONValue.append(string: names[number], to: &text)
      text.append(UInt8(ascii: ":"))
      try json(cells, number, use).append(to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }

  /// The JSON value of a cell. An edit keeps the digits of a number and the form of a date, if both tables store text.
  private func json(
    _ cells: TableComparison.Row, _ number: Int, _ use: Use
  ) throws(Failure) -> JSONValue {
    let cell = try value(cells[number], number, use)
    guard case .edits = use, columns.pairs.indices.contains(number) else { return cellJSON(cell) }
    let pair = columns.pairs[number]
    guard run.old.source.columns[pair.old].type == .text, let stored = cells.storedText(number)
    else { return cellJSON(cell) }
    switch cell {
    case .integer, .real:
      // Text that reads as a number has the syntax of JSON, except for the decimal separator.
      let hasComma = run.new.source.columns[pair.new].hasDecimalComma
      let point = UInt8(ascii: ".")
      return .number(
        String(
          decoding: stored.map { hasComma && $0 == UInt8(ascii: ",") ? point : $0 }, as: UTF8.self))
    case .date: return .string(String(decoding: stored, as: UTF8.self))
    case .missing, .text, .boolean, .binary: return cellJSON(cell)
    }
  }

  /// The cell as a value of the old table's column. Throws if the column cannot hold it.
  private func value(_ cell: Cell, _ number: Int, _ use: Use) throws(Failure) -> Cell {
    guard case .edits = use, columns.pairs.indices.contains(number), cell != .missing else {
      return cell
    }
    let pair = columns.pairs[number]
    let type = run.old.source.columns[pair.old].valueType
    func refusal(_ reason: String) -> Failure {
      .of(
        TableError(
          .constraint,
          "the column \(pair.name) cannot hold the value \(cellJSON(cell).text): \(reason)",
          column: pair.old), subject: run.old.subject)
    }
    if case .real(let number) = cell, !number.isFinite {
      throw refusal("JSON has no such number")
    }
    guard cell.type != type else { return cell }
    let text = Array(cell.description.utf8)
    // Cells whose text says no value are missing in a column of values.
    if text.isEmpty, !type.isBytes { return .missing }
    guard let value = type == .text ? Cell.text(text) : Cell(text, as: type) else {
      throw refusal("its cells are \(type.name)")
    }
    // Columns of different types are compared by their texts: `01067` differs from 1067.
    guard value.description.utf8.elementsEqual(text) else {
      throw refusal("its cells are \(type.name), so it would become \(value.description)")
    }
    return value
  }
}

extension TableComparison.Change {
  /// The name of the edit in a batch.
  fileprivate var op: String {
    switch self {
    case .delete: RequestedEdit.Kind.delete.rawValue
    case .insert: RequestedEdit.Kind.insert.rawValue
    case .set: RequestedEdit.Kind.set.rawValue
    case .move: RequestedEdit.Kind.move.rawValue
    }
  }
}
