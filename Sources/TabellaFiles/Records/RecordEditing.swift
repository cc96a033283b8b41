import Tabella

/// A source whose rows are records of a file, so that edits of rows are splices of its bytes.
///
/// What is left to the source is what its records mean; everything else follows: one commit is one
/// save, all or nothing, that can be taken back.
public protocol RecordEditing: TableDataSource, TableEditing, TableMoving, TableUndoing {
  var shownFile: ShownFile { get }
  var reader: RecordReader { get }
  var cancel: CancelFlag { get }
  /// Where the first record begins, and whether text stands before it, a header for one.
  var recordsStart: (offset: Int, hasPrefix: Bool) { get }

  /// Throws why nothing can be edited at all, if so it is.
  func checkEditable() throws(TableError)
  /// The number of the record that is a row, or that stands behind the last row of a section.
  func record(at path: IndexPath) throws(TableError) -> Int
  /// The bytes of a new record that is put before the record `place`.
  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8]
  /// What changes within a record so that it has these cells; nothing where it has them.
  func splices(
    inRecord number: Int, setting cells: [Int: Cell]
  ) throws(TableError) -> [RecordPlan.Splice]
  /// Throws unless the new bytes will read as the same kind of text when they are opened.
  func checkReads(_ bytes: any ByteSource) throws(TableError)
  /// Throws unless the first record of a page has these cells.
  func check(_ page: RecordPage, has cells: [Int: Cell]) throws(TableError)
  /// Whether edits of rows change rows only, so that a list of changes tells all.
  var keepsSections: Bool { get }
  /// Shows a file as it was saved.
  func show(_ bytes: any ByteSource) throws(TableError)
}

extension RecordEditing {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    let isEditable = (try? checkEditable()) != nil
    return try answers(isEditable ? [.editable, .delete] : [], for: rows, section)
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try answers((try? checkEditable()) != nil, for: rows, section)
  }

  private func answers<Answer>(
    _ answer: Answer, for rows: Range<Int>, _ section: Int
  ) throws(TableError) -> [Answer] {
    let count = try numberOfRows(inSection: section, knowing: rows.upperBound).value
    guard rows.lowerBound >= 0, rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
    return Array(repeating: answer, count: rows.count)
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    cancel.begin()
    let (before, columnsBefore) = (try version(), columns)
    guard batch.version == nil || batch.version == before else {
      throw TableError(
        .conflict,
        "was changed: it is at version \(before?.token ?? "none"), not \(batch.version?.token ?? "none")"
      )
    }
    try checkEditable()
    let file = shownFile.file
    let bytes = file.bytes()
    let edits = try RecordEdits(batch, of: self) { path throws(TableError) in
      try record(at: path)
    }
    let start = recordsStart
    let plan = try RecordPlan(
      edits, reader, bytes, size: file.fingerprint.size,
      from: start.offset, hasPrefix: start.hasPrefix,
      content: { arrival throws(TableError) in
        try record(of: arrival.cells, before: arrival.place)
      },
      splices: { number, cells throws(TableError) in
        try splices(inRecord: number, setting: cells)
      })
    var ids: [Int: String] = [:]
    let saved = try shownFile.save(cancel: cancel).save(
      plan.table, edited: plan.edited, isDryRun: batch.isDryRun
    ) { bytes throws(TableError) in
      ids = try readBack(plan, batch, bytes)
      try checkReads(bytes)
    }
    var result = try self.result(
      of: saved, from: before, isDryRun: batch.isDryRun, count: batch.edits.count)
    // Where the columns are others now, all is; and where something went wrong, who knows.
    let isWell = result.outcomes.allSatisfy { $0.message == nil } && columns == columnsBefore
    if result.changes.changes == nil, isWell, keepsSections {
      result.changes.changes = edits.changes
    }
    if !batch.isDryRun { for (edit, id) in ids { result.outcomes[edit].id = id } }
    return result
  }

  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    cancel.begin()
    let before = try version()
    try checkEditable()
    let save = shownFile.save(cancel: cancel, isUndo: true)
    let saved = try save.save(save.undoing(receipt), edited: [], isDryRun: isDryRun) { _ in }
    return try result(of: saved, from: before, isDryRun: isDryRun, count: 1)
  }

  /// Shows what was saved. From here on nothing is thrown: the edits are done.
  private func result(
    of saved: FileSave.Saved, from before: Version?, isDryRun: Bool, count: Int
  ) throws(TableError) -> EditResult {
    var (trouble, remark) = (saved.trouble, String?.none)
    let isSaved = saved.file !== shownFile.file
    if isSaved {
      shownFile.show(saved.file)
      do throws(TableError) {
        try show(saved.file.bytes())
        try saved.file.bytes().checkUnchanged()
      } catch  where error.code == .conflict {
        remark = "was saved, and was changed again by another program since"
      } catch {
        trouble = trouble ?? "was saved, but cannot be read again: \(error.message)"
      }
    }
    let outcome = EditResult.Outcome(
      code: trouble.map { _ in .io }, message: trouble ?? remark)
    let after = isSaved ? saved.file.fingerprint.version : before
    return EditResult(
      outcomes: Array(repeating: outcome, count: count),
      changes: ChangeBatch(from: before, to: after, changes: isSaved || isDryRun ? nil : []),
      receipt: saved.receipt)
  }

  /// Reads what was written as it will be read, record by record; returns the ids of the rows that
  /// edits made or changed.
  private func readBack(
    _ plan: RecordPlan, _ batch: EditBatch, _ bytes: any ByteSource
  ) throws(TableError) -> [Int: String] {
    var sizes = RecordReader.Sizes()
    sizes.first = 1 << 10
    let written = RecordReader(
      bytes, RecordIndex(bytes, from: 0, rules: reader.rules), rules: reader.rules, sizes: sizes)
    var ids: [Int: String] = [:]
    for touched in plan.touched {
      guard let page = try written.page(at: touched.content.lowerBound),
        page.span(of: 0).content == touched.content
      else {
        throw TableError(
          .constraint,
          "edit \(touched.edit) would not read back as one row; nothing was changed")
      }
      switch batch.edits[touched.edit] {
      case .set(_, let cells), .insert(_, let cells): try check(page, has: cells)
      case .delete, .move: break
      }
      ids[touched.edit] = page.id(of: 0)
    }
    return ids
  }
}
