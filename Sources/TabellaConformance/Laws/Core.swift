import Tabella

// The laws of columns, counts and rows, which every source has.

extension Law {
  static let columnsHold = Law(
    "columns-hold", "The columns are the same at every call and have names without NUL.",
    hint: "schema must not depend on earlier reads"
  ) { trial in
    let source = try trial.open()
    let columns = source.columns
    for column in columns {
      try require(!column.name.utf8.contains(0), "the name of column \(column.name) contains a NUL")
    }
    for section in try trial.sections(source) { _ = try trial.rowCount(source, section) }
    try require(
      source.columns == columns, "the columns changed from \(columns) to \(source.columns)")
    let other = try trial.open().columns
    try require(other == columns, "a second opening has the columns \(other), not \(columns)")
  }

  static let textReads = Law(
    "text-reads",
    "Text that a column declares as readable as another type can be read as that type.",
    hint:
      "declare it (tabella.reads; in Swift, reads) only if all cells except empty ones have a form of the type: "
      + "-12, 1.5, true, 2026-11-24, 2026-11-24 10:00, 2026-11-24T10:00:00Z"
  ) { trial in
    let source = try trial.open()
    let numbers = source.columns.indices.filter { source.columns[$0].reads != nil }
    guard !numbers.isEmpty else { throw Skipped(reason: "no text reads as another type") }
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let rows = try trial.read(source, section: section, rows: 0..<count, columns: numbers)
      for (row, cells) in rows.enumerated() {
        for (number, cell) in zip(numbers, cells) {
          try requireReads(cell, source.columns[number], at: IndexPath(section: section, row: row))
        }
      }
    }
  }

  static let countsHold = Law(
    "counts-hold",
    "At-least counts never decrease, exact counts never change, and both agree with the rows.",
    hint:
      "row_count may return less than the number of rows, as at-least, but never more, and never less than before"
  ) { trial in
    let source = try trial.open()
    for section in try trial.sections(source) {
      var last = try source.numberOfRows(inSection: section, knowing: 0)
      for minimum in [1, 0, 3, 2, trial.draw(0..<50), 0, Trial.rowLimit, 0] {
        let count = try source.numberOfRows(inSection: section, knowing: minimum)
        try require(count.value >= 0, "section \(section) has \(count) rows")
        try require(
          count.isExact || count.value >= minimum,
          "section \(section) was reported with \(count) rows; \(minimum) were requested")
        try requireFollows(last, count, "section \(section) had \(last) rows, then \(count)")
        last = count
      }
      try requireEnd(of: source, section, last, trial)
    }
  }

  static let sectionsCounted = Law(
    "sections-counted",
    "Section counts obey the rules of row counts, and every counted section exists.",
    hint: "sections.count must agree with what row_count accepts"
  ) { trial in
    let source = try trial.open()
    var last = try source.numberOfSections(knowing: 0)
    for minimum in [1, 0, 4, Trial.sectionLimit, 0] {
      let count = try source.numberOfSections(knowing: minimum)
      try require(
        count.isExact || count.value >= minimum,
        "\(count) sections were reported; \(minimum) were requested")
      try requireFollows(last, count, "there were \(last) sections, then \(count)")
      last = count
    }
    for section in try trial.sections(source) {
      _ = try source.numberOfRows(inSection: section, knowing: 0)
    }
  }

  static let batchesValid = Law(
    "batches-valid", "Every batch has the layout of Arrow and contains the requested data.",
    hint: "check lengths, offsets, null counts, validity bits and the UTF-8 flag"
  ) { trial in
    let source = try trial.open()
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      for size in [1, 7, 64, Trial.rowLimit] {
        _ = try trial.read(source, section: section, rows: 0..<count, size: size)
      }
    }
  }

  static let cutsAgree = Law(
    "cuts-agree", "The cells are the same for every division of the rows into batches.",
    hint: "a batch must begin with the requested row, and no row may be returned twice or left out"
  ) { trial in
    let source = try trial.open()
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let whole = try trial.read(source, section: section, rows: 0..<count)
      for size in [1, 2, 3, 5, 1 + trial.draw(0..<40)] {
        let cut = try trial.read(source, section: section, rows: 0..<count, size: size)
        try require(
          same(whole, cut),
          "section \(section) cut into \(size) rows differs: \(firstDifference(whole, cut))")
      }
      for _ in 0..<10 where count > 0 {
        let first = trial.draw(0..<count)
        let end = first + 1 + trial.draw(0..<count - first)
        let part = try trial.read(source, section: section, rows: first..<end)
        try require(
          same(Array(whole[first..<end]), part),
          "section \(section), rows \(first)..<\(end) differ: \(firstDifference(Array(whole[first..<end]), part))"
        )
      }
    }
  }

  static let projectionAgrees = Law(
    "projection-agrees", "A request for some columns returns the full batch without the others.",
    hint: "return columns in the requested order"
  ) { trial in
    let source = try trial.open()
    let all = Array(source.columns.indices)
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let whole = try trial.read(source, section: section, rows: 0..<count)
      var choices = all.prefix(20).map { [$0] } + [Array(all.reversed()), []]
      for _ in 0..<5 where !all.isEmpty {
        choices.append(
          all.filter { _ in trial.draw(0..<2) == 0 }.sorted { _, _ in trial.draw(0..<2) == 0 })
      }
      for columns in choices {
        let part = try trial.read(source, section: section, rows: 0..<count, columns: columns)
        let expected = whole.map { row in columns.map { row[$0] } }
        try require(
          same(expected, part),
          "columns \(columns) differ from the full rows: \(firstDifference(expected, part))")
      }
    }
  }

  static let cellsHold = Law(
    "cells-hold", "A row that is requested twice, or from two openings, is the same row.",
    hint: "within a version a source is a snapshot: keep the data that you returned"
  ) { trial in
    let source = try trial.open()
    for section in try trial.sections(source) {
      let count = try trial.rowCount(source, section)
      let first = try trial.read(source, section: section, rows: 0..<count)
      let second = try trial.read(source, section: section, rows: 0..<count)
      try require(
        same(first, second), "section \(section) changed: \(firstDifference(first, second))")
    }
  }

  /// A call that the law `order-is-free` makes in between.
  private enum OtherCall: CaseIterable { case sectionCount, rowCount, title, version, rows }

  static let orderIsFree = Law(
    "order-is-free", "Calls may come in any order.",
    hint: "a result must not depend on earlier calls"
  ) { trial in
    let reference = try trial.open()
    var rows: [[[Cell]]] = []
    for section in try trial.sections(reference) {
      let count = try trial.rowCount(reference, section)
      rows.append(try trial.read(reference, section: section, rows: 0..<count))
    }
    // Uses the same source, since live data is only comparable with itself. The last rows come first.
    for _ in 0..<60 where !rows.isEmpty {
      let section = trial.draw(0..<rows.count)
      switch trial.draw(OtherCall.self) {
      case .sectionCount: _ = try reference.numberOfSections(knowing: trial.draw(0..<3))
      case .rowCount:
        _ = try reference.numberOfRows(inSection: section, knowing: trial.draw(0..<30))
      case .title: _ = try reference.sections?.title(.header, ofSection: section)
      case .version: _ = try reference.version()
      case .rows:
        let count = rows[section].count
        guard count > 0 else { continue }
        let first = trial.draw(0..<count)
        let end = min(count, first + 1 + trial.draw(0..<20))
        let part = try trial.read(reference, section: section, rows: first..<end)
        try require(
          same(Array(rows[section][first..<end]), part),
          "section \(section), rows \(first)..<\(end) differ after other calls: \(firstDifference(Array(rows[section][first..<end]), part))"
        )
      }
    }
    // The first call of a new source asks for the last row.
    let fresh = try trial.open()
    for (section, cells) in rows.enumerated().reversed() where !cells.isEmpty {
      do {
        _ = try trial.read(fresh, section: section, rows: cells.count - 1..<cells.count)
      } catch {
        // Live data may have fewer rows or sections by now.
        guard fresh.hasVolatileOrder,
          try section >= fresh.numberOfSections(knowing: section + 1).value
            || trial.rowCount(fresh, section) < cells.count
        else { throw error }
      }
    }
  }

  static let endIsEmpty = Law(
    "end-is-empty", "A request for rows at the end of a section returns an empty batch.",
    hint: "first == count is not an error"
  ) { trial in
    let source = try trial.open()
    for section in try trial.sections(source) {
      guard case .exact(let count) = try source.numberOfRows(inSection: section, knowing: 1 << 16)
      else { continue }
      let batch = try trial.fetch(
        source,
        RowRequest(
          section: section, first: count, count: 5, columns: Array(source.columns.indices)))
      try require(
        batch.rowCount == 0, "section \(section) has \(count) rows, but returned more after them")
    }
  }

  static let refusals = Law(
    "refusals", "A call out of range is refused with the right error code and has no other effect.",
    hint: "return not-found beyond the end, and invalid-argument for arguments that are never valid"
  ) { trial in
    let source = try trial.open()
    let sections = try source.numberOfSections(knowing: 1 << 16)
    let before = try trial.sections(source).map { section in
      try trial.read(source, section: section, rows: 0..<trial.rowCount(source, section))
    }
    let columns = Array(source.columns.indices)
    if sections.isExact {
      try trial.expectRefusal("row_count of section \(sections.value)", [.notFound]) {
        _ = try source.numberOfRows(inSection: sections.value, knowing: 0)
      }
      try trial.expectRefusal("rows of section \(sections.value)", [.notFound]) {
        _ = try source.rows(
          RowRequest(section: sections.value, first: 0, count: 1, columns: columns))
      }
    }
    try trial.expectRefusal("row_count of section -1", [.notFound, .invalidArgument]) {
      _ = try source.numberOfRows(inSection: -1, knowing: 0)
    }
    for section in try trial.sections(source) {
      guard case .exact(let count) = try source.numberOfRows(inSection: section, knowing: 1 << 16)
      else { continue }
      for first in [count + 1, count + 1000, Int(Int32.max), .max / 2, .max] where first > count {
        try trial.expectRefusal("row \(first) of \(count)", [.notFound]) {
          _ = try source.rows(
            RowRequest(section: section, first: first, count: 1, columns: columns))
        }
      }
    }
    for request in [
      RowRequest(first: -1, count: 1, columns: columns),
      RowRequest(section: -1, first: 0, count: 1, columns: columns),
      RowRequest(first: 0, count: 0, columns: columns),
      RowRequest(first: 0, count: -1, columns: columns),
      RowRequest(first: 0, count: 1, columns: [source.columns.count]),
      RowRequest(first: 0, count: 1, columns: [-1]),
    ] where sections.value > 0 {
      try trial.expectRefusal("\(request)", [.invalidArgument]) { _ = try source.rows(request) }
    }
    let after = try trial.sections(source).map { section in
      try trial.read(source, section: section, rows: 0..<trial.rowCount(source, section))
    }
    for (left, right) in zip(before, after) {
      try require(
        same(left, right), "refused calls changed the data: \(firstDifference(left, right))")
    }
  }
}

/// Throws unless the text of a cell reads as the type that its column declares.
private func requireReads(_ cell: Cell, _ column: Column, at path: IndexPath) throws {
  guard let reads = column.reads, case .text(let text) = cell, !text.isEmpty else { return }
  try require(
    text.withUnsafeBytes { column.value(of: $0, as: reads) != nil },
    "row \(path) has \(cell.description.debugDescription) in column \"\(column.name)\", which "
      + "cannot be read as \(reads.name)")
}

/// Throws if a later count contradicts an earlier one.
private func requireFollows(
  _ earlier: Count, _ later: Count, _ what: @autoclosure () -> String
) throws {
  switch (earlier, later) {
  case (.exact(let before), .exact(let after)): try require(before == after, what())
  case (.exact, .atLeast): throw LawBroken(what())
  case (.atLeast(let before), _): try require(later.value >= before, what())
  }
}

/// Reads around the end of a section and compares the number of rows with the count.
private func requireEnd(
  of source: any TableDataSource, _ section: Int, _ count: Count, _ trial: Trial
) throws {
  let looked = try trial.rowCount(source, section)
  let rows = try trial.read(source, section: section, rows: 0..<looked)
  try require(rows.count == looked, "section \(section) has \(rows.count) rows, not \(looked)")
  guard case .exact(let total) = try source.numberOfRows(inSection: section, knowing: 1 << 16)
  else { return }
  if total > 0 {
    _ = try trial.read(source, section: section, rows: total - 1..<total)
  }
  let behind = try source.rows(
    RowRequest(section: section, first: total, count: 1, columns: []))
  try require(
    behind.rowCount == 0, "section \(section) has \(total) rows by its count, but returned more")
  let again = try source.numberOfRows(inSection: section, knowing: .max)
  try require(
    again == .exact(total), "section \(section) has exactly \(total) rows, then \(again)")
}
