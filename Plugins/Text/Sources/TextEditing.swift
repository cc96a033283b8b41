import Tabella
import TabellaFiles

// Edits of lines, as splices of the file.

extension TextSource: RecordEditing {
  var editing: (any TableEditing)? { file.version != nil ? self : nil }
  var moving: (any TableMoving)? { editing == nil ? nil : self }
  var undoing: (any TableUndoing)? { editing == nil ? nil : self }

  var recordsStart: (offset: Int, hasPrefix: Bool) { (decoded.start, false) }

  func checkEditable() throws(TableError) {
    guard decoded.bytes === file else {
      throw TableError(
        .readOnly,
        "is not stored as UTF-8 or a like encoding, and what is converted cannot be edited; convert the file with iconv"
      )
    }
  }

  func number(ofRow reference: RowReference) throws(TableError) -> Int {
    let path: IndexPath
    switch reference {
    case .id(let id): path = try indexPath(forID: id)
    case .path(let named): path = named
    }
    let count = try numberOfRows(
      inSection: path.section, knowing: path.row.advancedUp(by: 1)
    ).value
    guard 0..<count ~= path.row else {
      throw .noRow(path.row, inSection: path.section, of: count)
    }
    return try line(at: path)
  }

  func places(of edits: RecordEdits) throws(TableError) -> [Int] {
    var places: [Int] = []
    var rest = edits.arrivals[...]
    while let section = rest.first?.target.section {
      let here = rest.prefix { $0.target.section == section }
      rest = rest.dropFirst(here.count)
      // A place may be the one behind the last line, which is known by then.
      let furthest = (here.last?.target.row ?? 0).advancedUp(by: edits.gone.count + 1)
      let count = try numberOfRows(inSection: section, knowing: furthest).value
      let lines = sectioning == .none ? 0..<count : try lines(ofSection: section, knowing: count)
      let gone = edits.gone.filter { lines.contains($0) }.map { $0 - lines.lowerBound }
      for place in RecordEdits.places(of: here.map(\.target.row), without: gone) {
        guard place <= lines.count else {
          throw TableError(
            .notFound,
            "there is no place for a row behind row \(place - 1) of section \(section); there are \(lines.count)"
          )
        }
        places.append(lines.lowerBound + place)
      }
    }
    return places
  }

  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8] {
    try line(of: cells) ?? []
  }

  func splices(
    inRecord number: Int, setting cells: [Int: Cell]
  ) throws(TableError) -> [RecordPlan.Splice] {
    guard let line = try line(of: cells), let page = try reader.page(with: number),
      !page.bytes(of: number).elementsEqual(line)
    else { return [] }
    return [.init(page.span(of: number).content, line)]
  }

  private func line(of cells: [Int: Cell]) throws(TableError) -> [UInt8]? {
    if let column = cells.keys.first(where: { $0 != 0 }) {
      throw TableError(.invalidArgument, "there is no column \(column)", column: column)
    }
    switch cells[0] {
    case nil: return nil
    case .text(let line):
      guard !line.contains(10), line.last != 13 else {
        throw TableError(.constraint, "a line cannot hold a line end", column: 0)
      }
      return line
    default: throw TableError(.constraint, "line must be text", column: 0)
    }
  }

  func checkReads(_ bytes: any ByteSource) throws(TableError) {
    let new = try DecodedText(bytes, encoding: encoding)
    let isText = encoding != nil ? true : try bytes.looksLikeText()
    guard isText, new.bytes === bytes, new.start == decoded.start else {
      throw TableError(.constraint, "the file would no longer be read as the same kind of text")
    }
  }

  func check(_ page: RecordPage, has cells: [Int: Cell]) throws(TableError) {
    guard try page.bytes(of: 0).elementsEqual(line(of: cells) ?? []) else {
      throw TableError(
        .constraint, "the line would not read back as it was set; nothing was changed", column: 0)
    }
  }

  func changes(of batch: EditBatch, _ edits: RecordEdits) -> [ChangeBatch.Change]? {
    sectioning == .none ? edits.changes(of: batch) : nil
  }
}
