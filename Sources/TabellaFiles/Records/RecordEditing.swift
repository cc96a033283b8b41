import Tabella

/// A source whose rows are records of a file, so that edits of rows are splices of its bytes.
///
/// What is left to the source is what its records mean; everything else follows: one commit is one
/// save, all or nothing, that can be taken back.
public protocol RecordEditing: TableDataSource, TableEditing, TableMoving, TableUndoing {
  var shownFile: ShownFile { get }
  var reader: RecordReader { get }
  var cancel: CancelFlag { get }
  /// Where the first record begins, and how what stands before it ends, a header for one; nil if that is
  /// no text.
  var recordsStart: (offset: Int, prefixEnd: LineEnd?) { get }

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
  /// Throws unless the new bytes, which are text, will read as the same kind when they are opened.
  func checkReads(_ bytes: any ByteSource) throws(TableError)
  /// The text whose records are edited, if it is not the file's bytes as they are.
  func uncommented(_ bytes: any ByteSource) -> UncommentedBytes?
  /// The splices of a batch in front of the first record, and the ranges there that were read.
  func prefix(
    for edits: RecordEdits
  ) throws(TableError) -> (splices: [RecordPlan.Splice], edited: [EditedRange])
  /// Throws as ``checkReads(_:)`` does, where bytes in front of the first record changed.
  func checkReads(
    _ bytes: any ByteSource, prefix: [RecordPlan.Splice]
  ) throws(TableError)
  /// Throws unless the first record of a page has these cells.
  func check(_ page: RecordPage, has cells: [Int: Cell]) throws(TableError)
  /// Whether edits of rows change rows only, so that a list of changes tells all.
  var keepsSections: Bool { get }
  /// The source as one whose sections can be edited; nil if they cannot.
  var sectionedRecords: (any SectionedRecords)? { get }
  /// Shows a file as it was saved.
  func show(_ bytes: any ByteSource) throws(TableError)
}

extension RecordEditing {
  public func uncommented(_ bytes: any ByteSource) -> UncommentedBytes? { nil }

  public func prefix(
    for edits: RecordEdits
  ) throws(TableError) -> (splices: [RecordPlan.Splice], edited: [EditedRange]) { ([], []) }

  public func checkReads(
    _ bytes: any ByteSource, prefix: [RecordPlan.Splice]
  ) throws(TableError) { try checkReads(bytes) }

  public var sectionedRecords: (any SectionedRecords)? { nil }

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
    try check(rows: rows, inSection: section)
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
    let stored = file.bytes()
    let uncommented = uncommented(stored)
    let bytes: any ByteSource = uncommented ?? stored
    let size = try uncommented?.count() ?? file.fingerprint.size
    let sectioned = sectionedRecords
    let edits = try RecordEdits(batch, of: self, sectioned) { path throws(TableError) in
      try record(at: path)
    }
    if edits.ofSections { try sectioned?.check(edits) }
    let prefix = try prefix(for: edits)
    let plan = try RecordPlan(
      edits, reader, bytes, size: size, prefixEnd: recordsStart.prefixEnd, prefix: prefix.splices,
      content: { arrival throws(TableError) in
        try about(edits.places[arrival.edit]) { () throws(TableError) in
          try record(of: arrival.cells, before: arrival.place)
        }
      },
      heading: { edit, neighbours throws(TableError) in
        try about(edits.places[edit]) { () throws(TableError) in
          try sectioned?.heading(titled: batch.edits[edit].title, like: neighbours) ?? []
        }
      },
      splices: { number, cells throws(TableError) in
        let edit = edits.sets[number]?.edit
        return try about(edit.map { edits.places[$0] }) { () throws(TableError) in
          guard let edit, batch.edits[edit].isOfSection else {
            return try splices(inRecord: number, setting: cells)
          }
          return try sectioned?.splices(inHeading: number, title: batch.edits[edit].title) ?? []
        }
      })
    try checkEncoding(of: batch, in: bytes, plan)
    var ids: [Int: String] = [:]
    let (table, edited) = (plan.table, plan.edited + prefix.edited)
    let saved = try shownFile.save(cancel: cancel).save(
      try uncommented?.whole(table) ?? table, edited: uncommented?.whole(edited) ?? edited,
      isDryRun: batch.isDryRun
    ) { bytes throws(TableError) in
      ids = try readBack(plan, batch, edits.places, self.uncommented(bytes) ?? bytes)
      try ShownFile.checkStaysEditable(bytes)
      try checkReads(bytes, prefix: prefix.splices)
      if edits.ofSections { try sectioned?.checkReads(bytes, as: edits) }
    }
    var result = try self.result(
      of: saved, from: before, isDryRun: batch.isDryRun, count: batch.edits.count)
    // Where the columns are others now, all is; and where something went wrong, who knows.
    let isWell = result.outcomes.allSatisfy { $0.message == nil } && columns == columnsBefore
    // Sections that were edited were looked at before they were saved.
    let isKnown =
      edits.ofSections ? batch.edits.allSatisfy(\.isOfSection) : keepsSections
    if result.changes.changes == nil, isWell, isKnown { result.changes.changes = edits.changes }
    if !batch.isDryRun { for (edit, id) in ids { result.outcomes[edit].id = id } }
    return result
  }

  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    cancel.begin()
    let before = try version()
    try checkEditable()
    let save = shownFile.save(cancel: cancel, isUndo: true)
    let saved = try save.save(save.undoing(receipt), edited: [], isDryRun: isDryRun) { _ in }
    var result = try result(of: saved, from: before, isDryRun: isDryRun, count: 1)
    // A receipt beside a code would take back the rest of an undo; all of this one was done.
    if result.outcomes[0].code != nil { result.receipt = nil }
    return result
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
      } catch {
        // An error that this read gives is of no interest: these are another's bytes.
        if error.code == .conflict || (try? saved.file.bytes().checkUnchanged()) == nil {
          remark = "was saved, and was changed again by another program since"
        } else {
          trouble = trouble ?? "was saved, but cannot be read again: \(error.message)"
        }
      }
    }
    let outcome = EditResult.Outcome(
      code: trouble.map { _ in .io }, message: trouble ?? remark)
    let after =
      isSaved ? shownFile.version(of: saved.file.fingerprint.version) : before
    return EditResult(
      outcomes: Array(repeating: outcome, count: count),
      changes: ChangeBatch(from: before, to: after, changes: isSaved || isDryRun ? nil : []),
      receipt: saved.receipt)
  }

  /// Reads what was written as it will be read, record by record; returns the ids of the rows that
  /// edits made or changed.
  private func readBack(
    _ plan: RecordPlan, _ batch: EditBatch, _ places: [IndexPath], _ bytes: any ByteSource
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
        let place = places[touched.edit]
        throw TableError(
          .constraint, "would not read back as one row; nothing was changed",
          section: place.section, row: place.isSection ? nil : place.row)
      }
      if batch.edits[touched.edit].isOfSection { continue }
      switch batch.edits[touched.edit] {
      case .set(_, let cells), .insert(_, let cells):
        try about(places[touched.edit]) { () throws(TableError) in try check(page, has: cells) }
      case .delete, .move: break
      }
      ids[touched.edit] = page.id(of: 0)
    }
    return ids
  }

  /// Has an error say which row it is about.
  private func about<R>(
    _ place: IndexPath?, _ body: () throws(TableError) -> R
  ) throws(TableError) -> R {
    do throws(TableError) {
      return try body()
    } catch {
      var error = error
      error.section = place?.section
      error.row = place?.isSection == true ? nil : place?.row
      throw error
    }
  }

  /// Throws if a new cell is UTF-8 where the file is in another encoding, as far as it was looked at: its
  /// first MiB and the rows that are edited. The file would then be in neither.
  private func checkEncoding(
    of batch: EditBatch, in bytes: any ByteSource, _ plan: RecordPlan
  ) throws(TableError) {
    guard batch.edits.contains(where: \.bringsUTF8) else { return }
    var tally = EncodingTally()
    tally.add(try bytes.bytes(at: 0, count: EncodingTally.sampleSize))
    for edited in plan.edited where edited.range.upperBound > EncodingTally.sampleSize {
      tally.add(
        try bytes.bytes(
          at: edited.range.lowerBound, count: min(edited.range.count, EncodingTally.sampleSize)))
    }
    guard tally.isOther else { return }
    throw TableError(
      .constraint,
      "a cell is UTF-8 and the file is not, so that it would be in no encoding; convert the file with iconv"
    )
  }
}

extension EditBatch.Edit {
  /// Whether it has text with characters that are UTF-8 and not ASCII.
  fileprivate var bringsUTF8: Bool {
    switch self {
    case .insert(_, let cells), .set(_, let cells):
      cells.values.contains { cell in
        guard case .text(let text) = cell else { return false }
        return text.contains { $0 >= 0x80 } && text.withUnsafeBytes { $0.isUTF8 }
      }
    case .delete, .move: false
    }
  }
}
