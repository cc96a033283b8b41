import Tabella

/// A table in memory that moves on by random batches, and lists them when it is pulled.
final class LiveTable: TableDataSource, TableSections, TableIdentity, TableGathering, TableChanges {
  struct Row {
    var id: String
    var cells: [Cell]
  }

  struct Section {
    var title: String?
    var rows: [Row]
  }

  let columns = [
    Column("n", .integer), Column("kind"), Column("amount", reads: .real), Column("tag"),
  ]
  private var content: [Section]
  /// The newest content, and the changes that lead to it; nil if they are more than one batch.
  private var newest: (content: [Section], list: [ChangeBatch.Change]?)?
  private var number = 0
  private var nextID = 0

  var hasVersions = true
  var hasVolatileOrder = false
  var gathers = true
  /// The maximum number of rows per batch.
  var batchLimit = Int.max
  /// The number of reads that fail with a conflict.
  var conflicts = 0
  /// Whether the next pull fails.
  var failsToPull = false
  /// The number of rows that were returned.
  private(set) var rowsRead = 0

  init(_ generator: inout SeededGenerator, sections: Range<Int> = 0..<4, rows: Range<Int> = 0..<9) {
    content = []
    content = (0..<Int.random(in: sections, using: &generator)).map { _ in
      section(&generator, rows)
    }
  }

  private init(_ content: [Section], _ number: Int) {
    self.content = content
    self.number = number
  }

  /// One section of many rows.
  init(count: Int) {
    content = []
    content = [
      Section(
        title: nil,
        rows: (0..<count).map { number in
          Row(
            id: "r\(number)",
            cells: [
              .integer(Int64(number * 7919 % 1000)), .text("k\(number * 31 % (count / 20))"), "1",
              .text("t\(number * 104_729 % count)"),
            ])
        })
    ]
    nextID = count
  }

  // Drawing

  private func section(_ generator: inout SeededGenerator, _ rows: Range<Int> = 0..<4) -> Section {
    Section(
      title: ["x", "y", nil].randomElement(using: &generator)!,
      rows: (0..<Int.random(in: rows, using: &generator)).map { _ in row(&generator) })
  }

  private func row(_ generator: inout SeededGenerator) -> Row {
    nextID += 1
    return Row(id: "r\(nextID)", cells: columns.indices.map { cell($0, &generator) })
  }

  private func cell(_ column: Int, _ generator: inout SeededGenerator) -> Cell {
    func pick(_ cells: [Cell]) -> Cell { cells.randomElement(using: &generator)! }
    switch column {
    case 0: return pick([.missing] + (0..<6).map { Cell.integer(Int64($0)) })
    case 1: return pick(["a", "b", "B", "", "c 10", "c 9", .missing])
    case 2: return pick(["1", "2", "2.0", "10", "-3.25", "", "9223372036854775807", .missing])
    default: return pick(["ant", "bee", "cat", "dog", "elk", "fox", "1", "é"])
    }
  }

  /// The same row with other cells. Sometimes no cell differs.
  private func changed(_ row: Row, _ generator: inout SeededGenerator) -> Row {
    var row = row
    for _ in 0..<Int.random(in: 1...2, using: &generator) {
      let column = Int.random(in: 0..<columns.count, using: &generator)
      row.cells[column] = cell(column, &generator)
    }
    return row
  }

  /// Draws a batch, which the next pull returns. A second batch before that pull makes one batch of both.
  func move(_ generator: inout SeededGenerator, calm: Bool = false) {
    let (next, list) = drawBatch(newest?.content ?? content, calm, &generator)
    newest = (next, newest == nil ? list : nil)
  }

  /// Sets the next content with one change.
  func change(_ path: IndexPath, cells: [Cell]) {
    var next = content
    next[path.section].rows[path.row].cells = cells
    newest = (next, [.reconfigure(path)])
  }

  func insert(_ cells: [Cell], at path: IndexPath) {
    var next = content
    nextID += 1
    next[path.section].rows.insert(Row(id: "r\(nextID)", cells: cells), at: path.row)
    newest = (next, [.insert(path)])
  }

  func delete(_ path: IndexPath) {
    var next = content
    next[path.section].rows.remove(at: path.row)
    newest = (next, [.delete(path)])
  }

  private struct Arriving {
    var row: Row
    var origin: IndexPath?
  }

  /// A batch by UIKit's rules, built from its result: which rows and sections stay, and where the others arrive.
  private func drawBatch(
    _ old: [Section], _ calm: Bool, _ generator: inout SeededGenerator
  ) -> ([Section], [ChangeBatch.Change]) {
    var changes: [ChangeBatch.Change] = []
    func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    func path(_ section: Int, _ row: Int) -> IndexPath { IndexPath(section: section, row: row) }
    // Sections: the number before the batch, or nil.
    var order: [Int?] = []
    var (moving, reloaded): ([Int], Set<Int>) = ([], [])
    for section in old.indices {
      switch calm ? 99 : Int.random(in: 0..<12, using: &generator) {
      case 0: changes.append(.delete(.section(section)))
      case 1: moving.append(section)
      case 2:
        reloaded.insert(section)
        changes.append(.reload(.section(section)))
        order.append(section)
      default: order.append(section)
      }
    }
    var arriving: [Int?] = moving.map { $0 }
    if !calm, chance(6) { arriving.append(nil) }
    for section in arriving {
      order.insert(section, at: Int.random(in: 0...order.count, using: &generator))
    }
    for (now, section) in order.enumerated() {
      if let section, moving.contains(section) {
        changes.append(.move(from: .section(section), to: .section(now)))
      }
      if section == nil { changes.append(.insert(.section(now))) }
    }
    // Rows
    let kept = order.indices.filter { now in order[now].map { !reloaded.contains($0) } ?? false }
    var next: [Section] = order.map { section in
      section.map { Section(title: old[$0].title, rows: []) } ?? self.section(&generator)
    }
    var arrivals: [Int: [Arriving]] = [:]
    for now in order.indices {
      guard let section = order[now] else { continue }
      guard !reloaded.contains(section) else {
        next[now] = self.section(&generator)
        continue
      }
      if chance(10) {
        next[now].title = ["x", "z", nil].randomElement(using: &generator)!
        changes.append(.reconfigure(.section(section)))
      }
      for (number, row) in old[section].rows.enumerated() {
        let from = path(section, number)
        switch Int.random(in: 0..<14, using: &generator) {
        case 0: changes.append(.delete(from))
        case 1:
          changes.append(.reload(from))
          next[now].rows.append(self.row(&generator))
        case 2:
          changes.append(.reconfigure(from))
          next[now].rows.append(changed(row, &generator))
        case 3:
          var row = row
          if chance(2) {
            changes.append(.reconfigure(from))
            row = changed(row, &generator)
          }
          let target = chance(2) ? now : kept.randomElement(using: &generator)!
          arrivals[target, default: []].append(Arriving(row: row, origin: from))
        default: next[now].rows.append(row)
        }
      }
    }
    for now in kept where chance(2) {
      for _ in 0..<Int.random(in: 1...2, using: &generator) {
        arrivals[now, default: []].append(Arriving(row: row(&generator)))
      }
    }
    for now in kept {
      var rows: [Arriving?] = next[now].rows.map { _ in nil }
      for arrival in arrivals[now] ?? [] {
        rows.insert(arrival, at: Int.random(in: 0...rows.count, using: &generator))
      }
      var stays = next[now].rows[...]
      next[now].rows = rows.enumerated().map { number, arrival in
        guard let arrival else { return stays.removeFirst() }
        let to = path(now, number)
        if let origin = arrival.origin {
          changes.append(.move(from: origin, to: to))
        } else {
          changes.append(.insert(to))
        }
        return arrival.row
      }
    }
    return (next, changes.shuffled(using: &generator))
  }

  // The source

  var sections: (any TableSections)? { self }
  var identity: (any TableIdentity)? { self }
  var gathering: (any TableGathering)? { gathers ? self : nil }
  var changes: (any TableChanges)? { self }

  func version() -> Version? { hasVersions ? Version("v\(number)") : nil }
  func numberOfSections(knowing minimum: Int) -> Count { .exact(content.count) }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try rows(ofSection: section)
    return place == .header ? content[section].title : nil
  }

  @discardableResult
  private func rows(ofSection section: Int) throws(TableError) -> [Row] {
    guard content.indices.contains(section) else {
      throw TableError(.notFound, "there is no section \(section)")
    }
    return content[section].rows
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    .exact(try rows(ofSection: section).count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let all = try rows(ofSection: request.section)
    guard request.first <= all.count else {
      throw TableError(.notFound, "there is no row \(request.first)")
    }
    let end = request.first + min(request.count, batchLimit, all.count - request.first)
    return try batch(all[request.first..<end], request.columns, request.includesIDs)
  }

  func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let some = try paths.prefix(batchLimit).map { path throws(TableError) in
      let rows = try rows(ofSection: path.section)
      guard rows.indices.contains(path.row) else {
        throw TableError(.notFound, "there is no row \(path)")
      }
      return rows[path.row]
    }
    return try batch(some[...], columns, includesIDs)
  }

  private func batch(
    _ rows: ArraySlice<Row>, _ columns: [Int], _ includesIDs: Bool
  ) throws(TableError) -> Batch {
    if conflicts > 0 {
      conflicts -= 1
      throw TableError(.conflict, "the table moved on")
    }
    rowsRead += rows.count
    let builder = BatchBuilder(columns.map { self.columns[$0].type }, ids: includesIDs)
    for row in rows {
      for (cells, column) in zip(builder.columns, columns) { cells.append(row.cells[column]) }
      builder.ids?.append(row.id)
    }
    return builder.finish(rowCount: rows.count)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    for (section, content) in content.enumerated() {
      if let row = content.rows.firstIndex(where: { $0.id == id }) {
        return IndexPath(section: section, row: row)
      }
    }
    throw TableError(.notFound, "there is no row with the id \(id)")
  }

  func listen(_ notify: (@Sendable () -> Void)?) {}

  func pull() throws(TableError) -> ChangeBatch {
    if failsToPull {
      failsToPull = false
      throw TableError(.io, "the table cannot be read now")
    }
    let before = version()
    guard let newest else { return ChangeBatch(from: before, to: before, changes: []) }
    self.newest = nil
    number += 1
    var list = newest.list
    if list == nil { list = try comparedChanges(to: newest.content) }
    content = newest.content
    return ChangeBatch(from: before, to: version(), changes: list)
  }

  /// The changes of several batches as one batch.
  private func comparedChanges(
    to next: [Section]
  ) throws(TableError) -> [ChangeBatch.Change] {
    let all = Array(columns.indices)
    return try TableSnapshot(of: LiveTable(content, 0), columns: all)
      .changes(to: TableSnapshot(of: LiveTable(next, 0), columns: all))
  }
}
