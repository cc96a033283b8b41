import Tabella

/// A source whose rows are records of a file. Edits of rows are splices of the file's bytes.
///
/// The source defines the meaning of its records. The protocol provides everything else: each commit is one save,
/// which is atomic and can be undone.
public protocol RecordEditing: TableDataSource, TableEditing, TableMoving, TableUndoing {
  /// The file, with the options for saving it.
  var shownFile: ShownFile { get }
  /// The reader of the file's records.
  var reader: RecordReader { get }
  /// The flag that cancels the running call.
  var cancel: CancelFlag { get }
  /// The offset of the first record, and the line end of the text in front of it, such as a header.
  ///
  /// The line end is nil if there is no such text.
  var recordsStart: (offset: Int, prefixEnd: LineEnd?) { get }

  /// Throws if the file cannot be edited at all.
  func checkEditable() throws(TableError)
  /// The number of the record at a path. The path after the last row of a section gives the next record.
  func record(at path: IndexPath) throws(TableError) -> Int
  /// The bytes of a new record that is inserted in front of the record `place`.
  func record(of cells: [Int: Cell], before place: Int) throws(TableError) -> [UInt8]
  /// The splices that set these cells in a record; empty if the record already has them.
  func splices(
    inRecord number: Int, setting cells: [Int: Cell]
  ) throws(TableError) -> [RecordPlan.Splice]
  /// Throws unless the new bytes, which are text, will be read as the same kind of file.
  func checkReads(_ bytes: any ByteSource) throws(TableError)
  /// The text without comments, if the edited text is not identical to the file's bytes.
  func uncommented(_ bytes: any ByteSource) -> UncommentedBytes?
  /// The splices in front of the first record, and the ranges that were read there.
  func prefix(
    for edits: RecordEdits
  ) throws(TableError) -> (splices: [RecordPlan.Splice], edited: [EditedRange])
  /// Throws like ``checkReads(_:)`` if bytes in front of the first record have changed.
  func checkReads(
    _ bytes: any ByteSource, prefix: [RecordPlan.Splice]
  ) throws(TableError)
  /// Throws unless a record of a page has these cells.
  func check(_ number: Int, of page: RecordPage, has cells: [Int: Cell]) throws(TableError)
  /// Whether edits of rows never change sections, so that a list of row changes is complete.
  var keepsSections: Bool { get }
  /// The source as one with editable sections; nil if its sections cannot be edited.
  var sectionedRecords: (any SectionedRecords)? { get }
  /// Shows the file in its saved form.
  func show(_ bytes: any ByteSource) throws(TableError)
}

extension RecordEditing {
  /// Returns nil: the edited text is the file.
  public func uncommented(_ bytes: any ByteSource) -> UncommentedBytes? { nil }

  public func prefix(
    for edits: RecordEdits
  ) throws(TableError) -> (splices: [RecordPlan.Splice], edited: [EditedRange]) { ([], []) }

  public func checkReads(
    _ bytes: any ByteSource, prefix: [RecordPlan.Splice]
  ) throws(TableError) { try checkReads(bytes) }

  /// Returns nil: sections cannot be edited.
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
        "was changed: it has version \(before?.token ?? "none"), not \(batch.version?.token ?? "none")"
      )
    }
    try checkEditable()
    let file = shownFile.file
    let stored = file.bytes()
    let uncommented = uncommented(stored)
    let bytes = BufferedBytes(uncommented ?? stored)
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
      splices: { set throws(TableError) in
        try about(edits.places[set.edit]) { () throws(TableError) in
          guard batch.edits[set.edit].isOfSection else {
            return try splices(inRecord: set.record, setting: set.cells)
          }
          return try sectioned?.splices(inHeading: set.record, title: batch.edits[set.edit].title)
            ?? []
        }
      })
    try checkEncoding(of: batch, in: bytes, plan)
    var ids: [(edit: Int, id: String)] = []
    let (table, edited) = (plan.table, plan.edited + prefix.edited)
    let saved = try shownFile.save(cancel: cancel).save(
      try uncommented?.whole(table) ?? table, edited: uncommented?.whole(edited) ?? edited,
      isDryRun: batch.isDryRun
    ) { bytes throws(TableError) in
      let written = self.uncommented(bytes)
      if let written, try written.count() < table.size { throw .mergedComment }
      ids = try readBack(plan, batch, edits.places, written ?? bytes)
      try ShownFile.checkStaysEditable(bytes)
      try checkReads(bytes, prefix: prefix.splices)
      if edits.ofSections { try sectioned?.checkReads(bytes, as: edits) }
    }
    var result = try self.result(
      of: saved, from: before, isDryRun: batch.isDryRun, isFinal: saved.isFinal,
      count: batch.edits.count)
    // If the columns changed, all rows have changed. After a problem, the list of changes could be wrong.
    let isWell = result.outcomes.allSatisfy { $0.message == nil } && columns == columnsBefore
    // Edits of sections were checked before the save.
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
    var result = try result(
      of: saved, from: before, isDryRun: isDryRun, isFinal: false, count: 1)
    // A receipt beside a code would undo the rest of an undo. This undo was complete.
    if result.outcomes[0].code != nil { result.receipt = nil }
    return result
  }

  /// Shows the saved file. It throws nothing, because the edits are done.
  private func result(
    of saved: FileSave.Saved, from before: Version?, isDryRun: Bool, isFinal: Bool, count: Int
  ) throws(TableError) -> EditResult {
    var (problem, notice) = (saved.problem, String?.none)
    let isSaved = saved.file !== shownFile.file
    if isSaved {
      shownFile.show(saved.file, isRead: false)
      do throws(TableError) {
        try show(saved.file.growingBytes())
        shownFile.show(saved.file)
        try saved.file.bytes().checkUnchanged()
      } catch {
        // An error of this read is irrelevant, because another program wrote these bytes.
        if error.code == .conflict || (try? saved.file.bytes().checkUnchanged()) == nil {
          notice = "was saved, and then changed again by another program"
        } else {
          problem = problem ?? "was saved, but cannot be read again: \(error.message)"
        }
      }
    }
    let outcome = EditResult.Outcome(
      code: problem.map { _ in .io }, message: problem ?? notice, isFinal: isFinal)
    let after =
      isSaved ? shownFile.version(of: saved.file.fingerprint.version) : before
    return EditResult(
      outcomes: Array(repeating: outcome, count: count),
      changes: ChangeBatch(from: before, to: after, changes: isSaved || isDryRun ? nil : []),
      receipt: saved.receipt)
  }

  /// Reads the new records as a later reader will. Returns the ids of the rows that edits made or changed.
  private func readBack(
    _ plan: RecordPlan, _ batch: EditBatch, _ places: [IndexPath], _ bytes: any ByteSource
  ) throws(TableError) -> [(edit: Int, id: String)] {
    var sizes = RecordReader.Sizes()
    sizes.first = 1 << 10
    let written = RecordReader(
      bytes, RecordIndex(bytes, from: 0, rules: reader.rules), rules: reader.rules, sizes: sizes)
    var ids: [(edit: Int, id: String)] = []
    for touched in plan.touched {
      guard let (page, number) = try written.record(at: touched.content.lowerBound),
        page.span(of: number).content == touched.content
      else {
        let place = places[touched.edit]
        throw TableError(
          .constraint, "would not be read back as one row; nothing was changed",
          section: place.section, row: place.isSection ? nil : place.row)
      }
      if batch.edits[touched.edit].isOfSection { continue }
      switch batch.edits[touched.edit] {
      case .set(_, let cells), .insert(_, let cells):
        try about(places[touched.edit]) { () throws(TableError) in
          try check(number, of: page, has: cells)
        }
      case .delete, .move: break
      }
      ids.append((touched.edit, page.id(of: number)))
    }
    return ids
  }

  /// Adds the row to an error of `body`.
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

  /// Throws if a new cell is UTF-8 but the file has another encoding. The file would then have mixed encodings.
  ///
  /// The file's encoding is judged by its first MiB and by the edited rows.
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
      "the new cell is UTF-8 and the file is not, so the file would mix encodings; convert the file with iconv"
    )
  }
}

extension TableError {
  /// The error for an edit that would put the LF of an empty row behind a comment that ends with CR. The comment would take
  /// the LF, and the row would be gone.
  fileprivate static let mergedComment = TableError(
    .constraint,
    "an empty row would become the line end of the comment in front of it; nothing was changed; convert the line ends, for example with mac2unix"
  )
}

extension EditBatch.Edit {
  /// Whether the edit has text with UTF-8 characters outside ASCII.
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
